//! Suites that check nothing: no assertion, one that is never called or always holds, one whose failure is caught.

use std::collections::BTreeMap;

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::{Ranged, TextSize};

use super::Module;
use super::functions::definitions;
use super::rule::{Finding, Rule};
use super::suite::test_functions;
use super::syntax::dotted;

/// Calls by which people check that a value is what it should be: they raise when it is not.
const RAISING: [&str; 29] = [
    "Decimal",
    "Fraction",
    "UUID",
    "b64decode",
    "check_call",
    "check_output",
    "decode",
    "float",
    "fromhex",
    "fromisoformat",
    "fromstring",
    "index",
    "int",
    "ip_address",
    "ip_network",
    "literal_eval",
    "load",
    "loads",
    "model_validate",
    "next",
    "parse",
    "parsedate_to_datetime",
    "raise_for_status",
    "read_csv",
    "safe_load",
    "strptime",
    "unpack",
    "urlopen",
    "ZoneInfo",
];
/// How names of such functions begin where people write them themselves.
const RAISING_PREFIXES: [&str; 9] = [
    "check", "ensure", "expect", "must_", "parse_", "require", "should", "validate", "verify",
];

/// Findings on the tests of a suite, by line.
pub(super) fn findings(module: &Module) -> Vec<Finding> {
    let mut functions: BTreeMap<String, (Checks, TextSize)> = BTreeMap::new();
    let mut found = Vec::new();
    let finding = |at: TextSize, what: String| Finding {
        line: module.line(at),
        rule: Rule::TestsAssert,
        what,
    };
    for (class, function, _) in definitions(module) {
        let mut checks = Checks::default();
        checks.visit_body(&function.body);
        found.extend(
            checks
                .faults
                .iter()
                .map(|(at, what)| finding(*at, (*what).to_owned())),
        );
        let qualname = class.map_or_else(
            || function.name.to_string(),
            |class| format!("{class}.{}", function.name),
        );
        functions.insert(qualname, (checks, function.name.start()));
    }
    let tests = test_functions(module);
    // One test that only has to end without an exception is none the worse for it beside others that assert.
    if !tests.iter().any(|test| asserts(&functions, &test.qualname, 0)) {
        for test in tests {
            if let Some((_, at)) = functions.get(&test.qualname) {
                let what = format!(
                    "The test `{}` asserts nothing, and no other does; compare a result with what is expected.",
                    test.qualname
                );
                found.push(finding(*at, what));
            }
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
    /// Whether one of them is an assertion, whose failure can be caught by name.
    asserted: bool,
    /// Assertions that nobody meant as they stand.
    faults: Vec<(TextSize, &'static str)>,
    /// Last names of what is called.
    calls: Vec<String>,
}

impl Checks {
    fn of(body: &[Stmt]) -> Self {
        let mut checks = Self::default();
        checks.visit_body(body);
        checks
    }

    fn assertion(&mut self) {
        self.real = true;
        self.asserted = true;
    }

    /// A handler that takes a failed assertion and lets the test pass, although nothing after it fails in its place.
    fn swallowed(&mut self, attempt: &ast::StmtTry, following: &[Stmt]) {
        let goes_on = Self::of(&attempt.orelse).real || Self::of(&attempt.finalbody).real;
        if goes_on || !Self::of(&attempt.body).asserted {
            return;
        }
        let fails_later = Self::of(following).real;
        for ast::ExceptHandler::ExceptHandler(handler) in &attempt.handlers {
            let leaves = handler
                .body
                .iter()
                .any(|stmt| matches!(stmt, Stmt::Return(_) | Stmt::Continue(_)));
            if swallows(handler) && !(leaves && fails_later) {
                self.faults.push((
                    handler.start(),
                    "The failure of an assertion is caught here; let it fail the test.",
                ));
            }
        }
    }
}

impl<'a> Visitor<'a> for Checks {
    fn visit_body(&mut self, body: &'a [Stmt]) {
        for (index, stmt) in body.iter().enumerate() {
            if let Stmt::Try(attempt) = stmt {
                self.swallowed(attempt, &body[index + 1..]);
            }
            self.visit_stmt(stmt);
        }
    }

    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::Assert(assert) => match never_fails(&assert.test) {
                Some(Meant::Nothing) => {}
                Some(Meant::Something(why)) => self.faults.push((assert.start(), why)),
                None => self.assertion(),
            },
            Stmt::Raise(raise) => {
                // Any exception fails a test.
                let name = raise
                    .exc
                    .as_deref()
                    .map(ast::helpers::map_callable)
                    .and_then(dotted);
                self.real = true;
                self.asserted |= name.as_deref() == Some("AssertionError");
            }
            Stmt::Expr(expr) if is_bare_assertion(&expr.value) => {
                self.faults.push((
                    expr.start(),
                    "The assertion is named here and never called; call it with what it compares.",
                ));
            }
            _ => {}
        }
        visitor::walk_stmt(self, stmt);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Expr::Call(call) = expr
            && let Some(name) = last_name(&call.func)
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
            let by_name = name.starts_with("assert") && name != "assert_never" || name == "fail";
            if by_pytest || by_name {
                self.assertion();
            }
            self.real |= raises(name, call);
            self.calls.push(name.to_owned());
        }
        visitor::walk_expr(self, expr);
    }
}

fn last_name(function: &Expr) -> Option<&str> {
    match function {
        Expr::Attribute(attribute) => Some(attribute.attr.as_str()),
        Expr::Name(name) => Some(name.id.as_str()),
        _ => None,
    }
}

/// Whether a call raises when a value is wrong: a conversion or validation of something that was computed, a child that must succeed.
fn raises(name: &str, call: &ast::ExprCall) -> bool {
    let checks_child = call.arguments.find_keyword("check").is_some_and(|check| {
        check
            .value
            .as_boolean_literal_expr()
            .is_some_and(|literal| literal.value)
    });
    let of_something = call
        .arguments
        .args
        .iter()
        .any(|argument| !ast::helpers::is_constant(argument))
        || name == "raise_for_status";
    let is_own = RAISING_PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    name == "run" && checks_child || of_something && (is_own || RAISING.contains(&name))
}

/// `self.assertEqual` and `mock.assert_called` without brackets.
fn is_bare_assertion(expr: &Expr) -> bool {
    expr.as_attribute_expr()
        .is_some_and(|attribute| attribute.attr.as_str().starts_with("assert"))
}

/// What an assertion that cannot fail was meant as.
enum Meant {
    /// `assert True` after a call that had to end: no check, and no mistake either.
    Nothing,
    /// A check, which is written wrongly.
    Something(&'static str),
}

fn never_fails(test: &Expr) -> Option<Meant> {
    match test {
        Expr::BooleanLiteral(literal) if literal.value => Some(Meant::Nothing),
        Expr::NumberLiteral(_) | Expr::StringLiteral(_) => Some(Meant::Nothing),
        Expr::Compare(compare) if compares_constants(compare) => Some(Meant::Nothing),
        Expr::Tuple(tuple) if !tuple.elts.is_empty() => Some(Meant::Something(
            "The assertion always holds: with its message in brackets it is a tuple; leave the brackets out.",
        )),
        Expr::BoolOp(operation) => {
            let mut parts = operation.values.iter();
            let holds = match operation.op {
                ast::BoolOp::Or => parts.any(|part| never_fails(part).is_some()),
                ast::BoolOp::And => parts.all(|part| never_fails(part).is_some()),
            };
            holds.then_some(Meant::Something(
                "The assertion always holds; compare a result with what is expected.",
            ))
        }
        _ => None,
    }
}

fn compares_constants(compare: &ast::ExprCompare) -> bool {
    ast::helpers::is_constant(&compare.left) && compare.comparators.iter().all(ast::helpers::is_constant)
}

/// A handler that takes a failed assertion and does nothing with it.
fn swallows(handler: &ast::ExceptHandlerExceptHandler) -> bool {
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
