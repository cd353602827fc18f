//! Tests that cannot fail: no assertion, one that always holds, one whose failure is caught.

use std::collections::BTreeMap;

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::{Ranged, TextSize};

use super::Module;
use super::functions::definitions;
use super::suite::test_functions;
use super::syntax::{dotted, same};
use super::tampering::Finding;

/// Findings on the tests of a suite, by line.
pub(super) fn findings(module: &Module) -> Vec<Finding> {
    let tests: Vec<String> = test_functions(module)
        .into_iter()
        .map(|test| test.qualname)
        .collect();
    let mut functions: BTreeMap<String, (Checks, TextSize)> = BTreeMap::new();
    let mut found = Vec::new();
    for (class, function, _) in definitions(module) {
        let mut checks = Checks::default();
        checks.visit_body(&function.body);
        let place = |at: &TextSize, what: &str| Finding {
            line: module.line(*at),
            what: what.to_owned(),
        };
        found.extend(checks.always.iter().map(|at| {
            place(
                at,
                "The assertion always holds; compare a result with what is expected.",
            )
        }));
        found.extend(checks.swallowed.iter().map(|at| {
            place(
                at,
                "The failure of an assertion is caught here; let it fail the test.",
            )
        }));
        let qualname = class.map_or_else(
            || function.name.to_string(),
            |class| format!("{class}.{}", function.name),
        );
        functions.insert(qualname, (checks, function.name.start()));
    }
    for test in tests {
        let Some((checks, at)) = functions.get(&test) else {
            continue;
        };
        // A test whose only assertion always holds is reported for that already.
        if checks.always.is_empty() && !asserts(&functions, &test, 0) {
            found.push(Finding {
                line: module.line(*at),
                what: format!("The test `{test}` asserts nothing; compare a result with what is expected."),
            });
        }
    }
    found
}

/// Whether a function asserts, itself or by a function of the same file.
fn asserts(functions: &BTreeMap<String, (Checks, TextSize)>, name: &str, depth: u32) -> bool {
    let Some((checks, _)) = functions.get(name) else {
        return false;
    };
    checks.real
        || depth < 8
            && checks.calls.iter().any(|called| {
                let is_named =
                    |other: &&String| other.rsplit('.').next() == Some(called) && other.as_str() != name;
                functions
                    .keys()
                    .filter(is_named)
                    .any(|helper| asserts(functions, helper, depth + 1))
            })
}

/// The checks in one function.
#[derive(Default)]
struct Checks {
    /// Whether one of them can fail.
    real: bool,
    /// Assertions that always hold.
    always: Vec<TextSize>,
    /// Handlers that catch a failed assertion and go on.
    swallowed: Vec<TextSize>,
    /// Last names of what is called.
    calls: Vec<String>,
}

impl<'a> Visitor<'a> for Checks {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::Assert(assert) if always_true(&assert.test) => self.always.push(assert.start()),
            Stmt::Assert(_) => self.real = true,
            Stmt::Raise(raise)
                if raise
                    .exc
                    .as_deref()
                    .and_then(|exc| dotted(ast::helpers::map_callable(exc)))
                    .as_deref()
                    == Some("AssertionError") =>
            {
                self.real = true;
            }
            Stmt::Try(attempt) => {
                let mut inner = Self::default();
                inner.visit_body(&attempt.body);
                if inner.real {
                    self.swallowed.extend(
                        attempt
                            .handlers
                            .iter()
                            .filter(|handler| swallows(handler))
                            .map(Ranged::start),
                    );
                }
            }
            _ => {}
        }
        visitor::walk_stmt(self, stmt);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Expr::Call(call) = expr
            && let Some(name) = match call.func.as_ref() {
                Expr::Attribute(attribute) => Some(attribute.attr.as_str()),
                Expr::Name(name) => Some(name.id.as_str()),
                _ => None,
            }
        {
            let path = dotted(&call.func).unwrap_or_default();
            let by_pytest = matches!(
                path.as_str(),
                "pytest.raises"
                    | "pytest.warns"
                    | "pytest.fail"
                    | "pytest.deprecated_call"
                    | "raises"
                    | "warns"
            );
            // Of unittest, mock, numpy and pandas.
            let by_name = name.starts_with("assert") || matches!(name, "fail" | "validate_call");
            self.real |= by_pytest || by_name && name != "assert_never";
            self.calls.push(name.to_owned());
        }
        visitor::walk_expr(self, expr);
    }
}

/// Literals that are true, texts with a message in a tuple, a thing compared with itself.
fn always_true(test: &Expr) -> bool {
    match test {
        Expr::BooleanLiteral(literal) => literal.value,
        Expr::NumberLiteral(_) | Expr::StringLiteral(_) => true,
        Expr::Tuple(tuple) => !tuple.elts.is_empty(),
        Expr::Compare(compare) => match (compare.ops.as_ref(), compare.comparators.as_ref()) {
            ([ast::CmpOp::Eq | ast::CmpOp::Is | ast::CmpOp::GtE | ast::CmpOp::LtE], [right]) => {
                same(&compare.left, right) && is_plain(right)
            }
            _ => false,
        },
        Expr::BoolOp(operation) => match operation.op {
            ast::BoolOp::Or => operation.values.iter().any(always_true),
            ast::BoolOp::And => operation.values.iter().all(always_true),
        },
        _ => false,
    }
}

/// Whether two evaluations give one value: names and literals, no calls.
fn is_plain(expr: &Expr) -> bool {
    matches!(
        expr,
        Expr::Name(_)
            | Expr::NumberLiteral(_)
            | Expr::StringLiteral(_)
            | Expr::BooleanLiteral(_)
            | Expr::NoneLiteral(_)
    )
}

/// A handler that takes a failed assertion and does nothing with it.
fn swallows(handler: &ast::ExceptHandler) -> bool {
    let ast::ExceptHandler::ExceptHandler(handler) = handler;
    let catches = |expr: &Expr| {
        dotted(expr)
            .is_some_and(|name| matches!(name.as_str(), "AssertionError" | "Exception" | "BaseException"))
    };
    let is_caught = match handler.type_.as_deref() {
        None => true,
        Some(Expr::Tuple(tuple)) => tuple.elts.iter().any(catches),
        Some(single) => catches(single),
    };
    is_caught
        && handler.body.iter().all(|stmt| {
            matches!(stmt, Stmt::Pass(_) | Stmt::Return(_) | Stmt::Continue(_))
                || stmt
                    .as_expr_stmt()
                    .is_some_and(|expr| ast::helpers::is_constant(&expr.value))
        })
}
