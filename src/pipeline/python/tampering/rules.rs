//! Rules on single nodes: attributes, texts, comparisons that always hold.

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{self as ast, Expr, Stmt};

use super::super::syntax::{Aliases, Mentions, docstring, literal};

/// Why an attribute must not be used on any object.
pub(super) fn forbidden_attribute(name: &str) -> Option<&'static str> {
    match name {
        "__subclasses__" | "__bases__" | "__mro__" | "__globals__" | "__code__" | "__closure__"
        | "__builtins__" => Some("walks from an object to the interpreter; leave it out"),
        "f_back" | "f_globals" | "f_locals" | "f_builtins" | "tb_frame" | "gi_frame" | "cr_frame"
        | "ag_frame" => Some("looks at the frames of the caller; leave it out"),
        _ => None,
    }
}

/// Why a text must not be in the code.
pub(super) fn forbidden_text(text: &str, in_suite: bool) -> Option<&'static str> {
    let name = text.rsplit('/').next().unwrap_or(text);
    if matches!(
        name,
        "conftest.py" | "sitecustomize.py" | "usercustomize.py" | "pytest.ini"
    ) {
        return Some("names a file that changes the session; leave it out");
    }
    if text.starts_with("/proc/self/fd") || text.starts_with("/proc/self/mem") || text.starts_with("/dev/fd/")
    {
        return Some("reaches for open files of the process; leave it out");
    }
    let asks = matches!(text, "pytest" | "_pytest" | "conftest")
        || text.contains("PYTEST_CURRENT_TEST")
        || text.contains("PYTEST_VERSION");
    (asks && !in_suite).then_some("asks whether tests run; behave the same in every case")
}

/// Whether a method decides how objects compare.
pub(super) fn is_comparison(name: &str) -> bool {
    matches!(
        name,
        "__eq__"
            | "__ne__"
            | "__lt__"
            | "__le__"
            | "__gt__"
            | "__ge__"
            | "__bool__"
            | "__contains__"
            | "__instancecheck__"
            | "__subclasscheck__"
            | "__hash__"
    )
}

/// Whether the only answer of a comparison is the one that lets assertions pass.
pub(super) fn always_holds(name: &str, body: &[Stmt]) -> bool {
    match &body[usize::from(docstring(body).is_some())..] {
        [Stmt::Return(only)] => only
            .value
            .as_deref()
            .is_some_and(|value| is_constant_answer(name, value)),
        _ => false,
    }
}

/// Whether a comparison looks at what it compares: at more of the other object than its type, or at `self` where there is
/// no other.
pub(super) fn looks_at_operand(function: &ast::StmtFunctionDef) -> bool {
    let operand = function.parameters.iter().take(2).last();
    operand.is_none_or(|operand| {
        let mut look = Look {
            operand: operand.name().as_str(),
            found: false,
        };
        look.visit_body(&function.body);
        look.found
    })
}

struct Look<'a> {
    operand: &'a str,
    found: bool,
}

impl<'a> Visitor<'a> for Look<'_> {
    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Call(call)
                if call
                    .func
                    .as_name_expr()
                    .is_some_and(|name| matches!(name.id.as_str(), "isinstance" | "type")) => {}
            Expr::Name(name) => self.found |= name.id.as_str() == self.operand,
            _ => visitor::walk_expr(self, expr),
        }
    }
}

/// Whether a call of `type` makes no class, or one without special methods.
pub(super) fn makes_plain_class(call: &ast::ExprCall) -> bool {
    let Some(members) = call.arguments.args.get(2) else {
        return true;
    };
    let is_plain = |key: &Expr| literal(key).is_some_and(|name| !ast::helpers::is_dunder(name));
    members.as_dict_expr().is_some_and(|members| {
        members
            .items
            .iter()
            .all(|item| item.key.as_ref().is_some_and(is_plain))
    })
}

/// Whether an attribute name is one that only code uses that looks for the interpreter or the way out of it.
pub(super) fn is_telling_attribute(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or(name);
    forbidden_attribute(last).is_some()
        || matches!(
            last,
            "modules" | "_exit" | "_getframe" | "settrace" | "setprofile" | "get_objects" | "get_referrers"
        )
}

/// `True`, or for `__ne__` `False`.
pub(super) fn is_constant_answer(name: &str, value: &Expr) -> bool {
    value
        .as_boolean_literal_expr()
        .is_some_and(|answer| answer.value != (name == "__ne__"))
}

/// Whether an expression ends the process.
pub(super) fn mentions_exit(expr: &Expr) -> bool {
    let mut mentions = Mentions::default();
    mentions.visit_expr(expr);
    mentions.attributes.contains("exit")
        || mentions.attributes.contains("_exit")
        || mentions.names.contains("exit")
        || mentions.names.contains("quit")
}

/// `sys.modules["solution"]`, `sys.modules.pop("solution", None)`, `"pandas" in sys.modules`: one module that is no part of the runner.
pub(super) fn is_harmless_registry_use(aliases: &Aliases, expr: &Expr) -> bool {
    let is_registry = |expr: &Expr| aliases.path(expr).as_deref() == Some("sys.modules");
    let is_plain = |key: &Expr| match key {
        Expr::Attribute(attribute) => {
            attribute.attr.as_str() == "name" || attribute.attr.as_str() == "__name__"
        }
        _ => literal(key).is_some_and(|name| {
            !matches!(
                name.split('.').next(),
                Some("pytest" | "_pytest" | "pluggy" | "builtins" | "sys")
            )
        }),
    };
    match expr {
        Expr::Subscript(subscript) => is_registry(&subscript.value) && is_plain(&subscript.slice),
        Expr::Compare(compare) => compare.comparators.iter().any(is_registry) && is_plain(&compare.left),
        Expr::Call(call) => {
            let args = &call.arguments.args;
            let on_registry = call.func.as_attribute_expr().is_some_and(|method| {
                matches!(method.attr.as_str(), "pop" | "get" | "setdefault")
                    && is_registry(&method.value)
                    && args.first().is_some_and(is_plain)
            });
            let patched = call.func.as_attribute_expr().is_some_and(|method| {
                matches!(method.attr.as_str(), "setitem" | "delitem")
                    && args.first().is_some_and(is_registry)
                    && args.get(1).is_some_and(is_plain)
            });
            let dict = call.func.as_attribute_expr().is_some_and(|method| {
                let entries = args.get(1).and_then(Expr::as_dict_expr);
                method.attr.as_str() == "dict"
                    && args.first().is_some_and(is_registry)
                    && entries.is_some_and(|entries| {
                        entries
                            .items
                            .iter()
                            .all(|item| item.key.as_ref().is_some_and(is_plain))
                    })
            });
            on_registry || patched || dict
        }
        _ => false,
    }
}
