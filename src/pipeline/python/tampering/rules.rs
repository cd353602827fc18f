//! Rules on single nodes: objects that equal everything, skips that always happen, the registry of modules.

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{self as ast, Expr, Stmt};

use super::super::syntax::{Aliases, literal};
use super::paths::is_runner;

/// Whether a method decides whether an assertion on equality holds.
pub(super) fn is_equality(name: &str) -> bool {
    matches!(name, "__eq__" | "__ne__")
}

/// Whether a function gives an answer without using its second parameter. To ask whether that is an `object` is no use,
/// and `NotImplemented` no answer.
pub(super) fn answers_blindly(name: &str, parameters: &ast::Parameters, body: Body<'_>) -> bool {
    let Some(operand) = parameters.iter().nth(1) else {
        return false;
    };
    let mut look = TamperingVisitor {
        operand: operand.name().as_str(),
        reads_operand: false,
        answers: false,
        differs: name == "__ne__",
    };
    match body {
        Body::Statements(body) => look.visit_body(body),
        Body::Value(value) => {
            look.answer(value);
            look.visit_expr(value);
        }
    }
    look.answers && !look.reads_operand
}

/// What a function does: statements, or the value of a lambda.
#[derive(Clone, Copy)]
pub(super) enum Body<'a> {
    Statements(&'a [Stmt]),
    Value(&'a Expr),
}

struct TamperingVisitor<'a> {
    operand: &'a str,
    reads_operand: bool,
    answers: bool,
    differs: bool,
}

impl TamperingVisitor<'_> {
    /// An answer by which assertions hold, for all that can be seen.
    fn answer(&mut self, value: &Expr) {
        let is_harmless = match value {
            Expr::BooleanLiteral(answer) => answer.value == self.differs,
            Expr::Name(name) => name.id.as_str() == "NotImplemented",
            _ => false,
        };
        self.answers |= !is_harmless;
    }
}

impl<'a> Visitor<'a> for TamperingVisitor<'_> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        if let Stmt::Return(ast::StmtReturn {
            value: Some(value), ..
        }) = stmt
        {
            self.answer(value);
        }
        visitor::walk_stmt(self, stmt);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            // `isinstance(other, object)` names the operand and asks nothing of it.
            Expr::Call(call)
                if is_name(&call.func, "isinstance")
                    && call
                        .arguments
                        .args
                        .get(1)
                        .is_some_and(|kind| is_name(kind, "object")) => {}
            Expr::Name(name) => self.reads_operand |= name.id.as_str() == self.operand,
            _ => visitor::walk_expr(self, expr),
        }
    }
}

fn is_name(expr: &Expr, name: &str) -> bool {
    expr.as_name_expr().is_some_and(|found| found.id.as_str() == name)
}

/// Whether a call of `type` makes a class whose objects equal everything.
pub(super) fn makes_equal_class(call: &ast::ExprCall) -> bool {
    let Some(members) = call.arguments.args.get(2).and_then(Expr::as_dict_expr) else {
        return false;
    };
    members.items.iter().any(|item| {
        let name = item
            .key
            .as_ref()
            .and_then(literal)
            .filter(|name| is_equality(name));
        name.zip(item.value.as_lambda_expr())
            .is_some_and(|(name, lambda)| is_blind_lambda(name, lambda))
    })
}

/// As [`answers_blindly`], of a lambda.
pub(super) fn is_blind_lambda(name: &str, lambda: &ast::ExprLambda) -> bool {
    lambda
        .parameters
        .as_deref()
        .is_some_and(|parameters| answers_blindly(name, parameters, Body::Value(&lambda.body)))
}

/// How a mark or call takes a test out of a session.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Out {
    /// In every session.
    Always,
    /// Where it is reached.
    Here,
}

/// What a path takes tests out of the session by.
pub(super) fn takes_out(path: &str) -> Option<Out> {
    match path {
        "pytest.exit" => Some(Out::Always),
        "pytest.mark.skip"
        | "pytest.mark.xfail"
        | "unittest.skip"
        | "unittest.expectedFailure"
        | "unittest.SkipTest"
        | "pytest.skip"
        | "pytest.xfail"
        | "self.skipTest" => Some(Out::Here),
        _ => None,
    }
}

/// Whether a mark names the condition that it depends on: `xfail(sys.platform == "win32", reason="...")`.
pub(super) fn has_condition(path: &str, call: &ast::ExprCall) -> bool {
    let condition = call.arguments.args.first().or_else(|| {
        call.arguments
            .find_keyword("condition")
            .map(|keyword| &keyword.value)
    });
    matches!(
        path,
        "pytest.mark.xfail" | "pytest.mark.skipif" | "unittest.skipIf" | "unittest.skipUnless"
    ) && condition.is_some_and(|condition| !condition.is_boolean_literal_expr())
}

/// The name of a part of the test runner that is read from, or put into, the registry of modules.
pub(super) fn runner_in_registry<'a>(aliases: &Aliases, expr: &'a Expr) -> Option<&'a str> {
    let is_registry = |expr: &Expr| aliases.path(expr).as_deref() == Some("sys.modules");
    let key = match expr {
        Expr::Subscript(subscript) if is_registry(&subscript.value) => Some(subscript.slice.as_ref()),
        Expr::Compare(compare) if compare.comparators.iter().any(is_registry) => Some(compare.left.as_ref()),
        Expr::Call(call) => {
            let of_registry = call
                .func
                .as_attribute_expr()
                .is_some_and(|method| is_registry(&method.value));
            let args = &call.arguments.args;
            match args.first() {
                Some(first) if is_registry(first) => args.get(1),
                first => first.filter(|_| of_registry),
            }
        }
        _ => None,
    };
    literal(key?).filter(|name| is_runner(name))
}
