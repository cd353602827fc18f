//! Search for suites that have the program in their own process, where it can change what they find.

use std::collections::BTreeSet;

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{Expr, Stmt};

use super::Module;
use super::syntax::literal;

/// The name of the program's module and, with its ending, of its file.
const PROGRAM: &str = "solution";

/// Reports whether a suite uses the program in its own process, by an import or by the module's name, rather than running it. To ask the
/// module where its file lies (`solution.__file__`) is no such use.
#[must_use]
pub fn imports_program(source: &str) -> bool {
    let Ok(module) = Module::parse(source) else {
        return false;
    };
    let mut uses = Uses::default();
    // A name may be used above its import.
    uses.visit_body(module.body());
    uses.visit_body(module.body());
    uses.found
}

#[derive(Default)]
struct Uses<'a> {
    /// Names of the module.
    names: BTreeSet<&'a str>,
    found: bool,
}

impl<'a> Visitor<'a> for Uses<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::Import(import) => {
                for alias in import.names.iter().filter(|alias| alias.name.as_str() == PROGRAM) {
                    let bound = alias.asname.as_ref().unwrap_or(&alias.name);
                    self.names.insert(bound.as_str());
                }
            }
            Stmt::ImportFrom(import) => {
                self.found |= import
                    .module
                    .as_ref()
                    .is_some_and(|name| name.as_str() == PROGRAM);
            }
            _ => visitor::walk_stmt(self, stmt),
        }
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Attribute(attribute)
                if attribute.attr.as_str() == "__file__" && attribute.value.is_name_expr() => {}
            Expr::Name(name) => self.found |= self.names.contains(name.id.as_str()),
            // `importlib.import_module("solution")`, `mock.patch("solution.read")`.
            Expr::Call(call) => {
                let named = call.arguments.args.first().and_then(literal);
                // `"solution.py"` is a file to run, `"solution.read"` a name in the module.
                self.found |= named.is_some_and(|text| {
                    text.split('.').next() == Some(PROGRAM) && text.rsplit('.').next() != Some("py")
                });
                visitor::walk_expr(self, expr);
            }
            _ => visitor::walk_expr(self, expr),
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("import solution\nassert solution.f() == 1\n")]
    #[case("from solution import f\n")]
    #[case("def test_a():\n    import solution as program\n    assert program.f() == 1\n")]
    #[case("import importlib\nprogram = importlib.import_module('solution')\n")]
    #[case("from unittest import mock\n@mock.patch('solution.read')\ndef test_a(read):\n    pass\n")]
    #[case("import solution\ncheck(solution)\n")]
    fn a_program_that_tests_import_is_in_their_process(#[case] source: &str) {
        assert!(imports_program(source), "{source}");
    }

    #[rstest]
    #[case("def test_a(program):\n    assert program().text('mean') == '1'\n")]
    #[case("import subprocess, sys\nsubprocess.run([sys.executable, 'solution.py'])\n")]
    #[case("import subprocess, sys\nimport solution\nsubprocess.run([sys.executable, solution.__file__])\n")]
    #[case("from solutions import table\n")]
    #[case("def broken(:\n")]
    fn a_program_that_tests_run_is_not(#[case] source: &str) {
        assert!(!imports_program(source), "{source}");
    }
}
