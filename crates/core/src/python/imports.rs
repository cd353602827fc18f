//! Imports of a file, at any depth, with what guards each.

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::{Ranged, TextSize};

use super::Module;
use super::syntax::{Aliases, dotted, literal};

/// One imported module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Import {
    /// Dotted path as written (`google.cloud`).
    pub module: String,
    /// Names taken from it (`storage`); empty for `import module`.
    pub names: Vec<String>,
    /// Line, counted from 1.
    pub line: u32,
    /// Guard of the import.
    pub guard: Guard,
}

/// Condition under which an import happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guard {
    /// Always.
    Required,
    /// In a `try` that catches the error: the alternative of a chain, 0 is tried first.
    Optional {
        /// Number of the chain in the file.
        chain: u32,
        /// Position in the chain.
        alternative: u32,
    },
    /// Never at run time (`if TYPE_CHECKING`).
    TypeChecking,
}

/// Every import in order of the source; relative ones are left out.
#[must_use]
pub fn imports(module: &Module) -> Vec<Import> {
    let aliases = Aliases::of(module.body());
    let mut collector = Collector {
        module,
        aliases,
        guard: Guard::Required,
        chains: 0,
        found: Vec::new(),
    };
    collector.visit_body(module.body());
    collector.found
}

struct Collector<'a> {
    module: &'a Module,
    aliases: Aliases,
    guard: Guard,
    chains: u32,
    found: Vec<Import>,
}

impl Collector<'_> {
    fn add(&mut self, module: &str, names: Vec<String>, at: TextSize) {
        self.found.push(Import {
            module: module.to_owned(),
            names,
            line: self.module.line(at),
            guard: self.guard,
        });
    }

    fn visit_guarded(&mut self, guard: Guard, body: &[Stmt]) {
        let outer = std::mem::replace(&mut self.guard, guard);
        self.visit_body(body);
        self.guard = outer;
    }

    fn visit_try(&mut self, attempt: &ast::StmtTry) {
        if self.guard == Guard::TypeChecking || !attempt.handlers.iter().any(catches_import_error) {
            visitor::walk_body(self, &attempt.body);
            for ast::ExceptHandler::ExceptHandler(handler) in &attempt.handlers {
                self.visit_body(&handler.body);
            }
        } else {
            self.visit_chain(attempt);
        }
        self.visit_body(&attempt.orelse);
        self.visit_body(&attempt.finalbody);
    }

    /// A `try` within a handler goes on with the chain of that handler.
    fn visit_chain(&mut self, attempt: &ast::StmtTry) {
        let (chain, first) = match self.guard {
            Guard::Optional { chain, alternative } if alternative > 0 => (chain, alternative),
            _ => {
                self.chains += 1;
                (self.chains - 1, 0)
            }
        };
        self.visit_guarded(
            Guard::Optional {
                chain,
                alternative: first,
            },
            &attempt.body,
        );
        for (next, ast::ExceptHandler::ExceptHandler(handler)) in (first + 1..).zip(&attempt.handlers) {
            self.visit_guarded(
                Guard::Optional {
                    chain,
                    alternative: next,
                },
                &handler.body,
            );
        }
    }
}

impl<'a> Visitor<'a> for Collector<'_> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::Import(import) => {
                for alias in &import.names {
                    self.add(alias.name.as_str(), Vec::new(), alias.start());
                }
            }
            Stmt::ImportFrom(import) if import.level == 0 => {
                if let Some(name) = &import.module {
                    let names = import.names.iter().map(|alias| alias.name.to_string()).collect();
                    self.add(name.as_str(), names, import.start());
                }
            }
            Stmt::Try(attempt) => self.visit_try(attempt),
            Stmt::If(branch) if is_type_checking(&branch.test) => {
                self.visit_guarded(Guard::TypeChecking, &branch.body);
                branch
                    .elif_else_clauses
                    .iter()
                    .for_each(|clause| self.visit_elif_else_clause(clause));
            }
            _ => visitor::walk_stmt(self, stmt),
        }
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Expr::Call(call) = expr
            && let Some(name) = call.arguments.args.first().and_then(literal)
            && let Some(function) = self.aliases.path(&call.func)
            && matches!(
                function.as_str(),
                "importlib.import_module" | "__import__" | "pytest.importorskip"
            )
            && is_dotted_name(name)
        {
            self.add(name, Vec::new(), call.range().start());
        }
        visitor::walk_expr(self, expr);
    }
}

fn is_dotted_name(name: &str) -> bool {
    !name.is_empty()
        && name
            .split('.')
            .all(|part| !part.is_empty() && part.chars().all(|c| c.is_alphanumeric() || c == '_'))
}

fn is_type_checking(test: &Expr) -> bool {
    dotted(test).is_some_and(|path| path == "TYPE_CHECKING" || path.ends_with(".TYPE_CHECKING"))
}

fn catches_import_error(handler: &ast::ExceptHandler) -> bool {
    let ast::ExceptHandler::ExceptHandler(handler) = handler;
    let catches = |expr: &Expr| {
        dotted(expr).is_some_and(|name| {
            matches!(
                name.as_str(),
                "ImportError" | "ModuleNotFoundError" | "Exception" | "BaseException"
            )
        })
    };
    match handler.type_.as_deref() {
        None => true,
        Some(Expr::Tuple(tuple)) => tuple.elts.iter().any(catches),
        Some(single) => catches(single),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    const fn optional(chain: u32, alternative: u32) -> Guard {
        Guard::Optional { chain, alternative }
    }

    #[rstest]
    #[case("import pandas as pd", &[("pandas", Guard::Required)])]
    #[case("import os.path, sys", &[("os.path", Guard::Required), ("sys", Guard::Required)])]
    #[case("def f():\n    if x:\n        from PIL import Image", &[("PIL", Guard::Required)])]
    #[case("from . import helpers\nfrom .a import b", &[])]
    #[case("try:\n    import ujson as json\nexcept ImportError:\n    import json", &[("ujson", optional(0, 0)), ("json", optional(0, 1))])]
    #[case("try:\n    import a\nexcept:\n    a = None", &[("a", optional(0, 0))])]
    #[case("try:\n    import a\nexcept (ImportError, OSError):\n    a = None", &[("a", optional(0, 0))])]
    #[case("try:\n    import a\nexcept ValueError:\n    import b", &[("a", Guard::Required), ("b", Guard::Required)])]
    #[case(
        "try:\n    import a\nexcept ImportError:\n    try:\n        import b\n    except ModuleNotFoundError:\n        import c",
        &[("a", optional(0, 0)), ("b", optional(0, 1)), ("c", optional(0, 2))]
    )]
    #[case("try:\n    import a\nexcept ImportError:\n    pass\nelse:\n    import b\nfinally:\n    import c",
        &[("a", optional(0, 0)), ("b", Guard::Required), ("c", Guard::Required)])]
    #[case("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import polars\nelse:\n    import b",
        &[("typing", Guard::Required), ("polars", Guard::TypeChecking), ("b", Guard::Required)])]
    #[case("import typing as t\nif t.TYPE_CHECKING:\n    import polars", &[("typing", Guard::Required), ("polars", Guard::TypeChecking)])]
    #[case("import importlib\nx = importlib.import_module('yaml')", &[("importlib", Guard::Required), ("yaml", Guard::Required)])]
    #[case("from importlib import import_module\nimport_module('yaml')", &[("importlib", Guard::Required), ("yaml", Guard::Required)])]
    #[case("x = __import__('numpy')", &[("numpy", Guard::Required)])]
    #[case("x = __import__(name)", &[])]
    fn imports_are_found_with_their_guards(#[case] source: &str, #[case] expected: &[(&str, Guard)]) {
        let found = imports(&Module::parse(source).unwrap());
        let found: Vec<_> = found
            .iter()
            .map(|import| (import.module.as_str(), import.guard))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn names_and_lines_are_preserved() {
        let found = imports(&Module::parse("\nfrom google.cloud import storage, bigquery as bq\n").unwrap());
        assert_eq!(found[0].names, ["storage", "bigquery"]);
        assert_eq!(found[0].line, 2);
    }
}
