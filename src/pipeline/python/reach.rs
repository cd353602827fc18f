//! Tests that never call the program, nor run it as a child.
//!
//! Names are followed without their scope and everything in doubt reaches the program: only a test is found from which no name
//! that it mentions, over helpers, fixtures and constants, leads there.

use std::collections::{BTreeMap, BTreeSet};

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::Ranged;

use super::Module;
use super::functions::definitions;
use super::rule::{Finding, Rule};
use super::suite::{heirs, test_functions};
use super::syntax::{assigned, literal};

/// The name of the program's module and, with its ending, of its file.
const PROGRAM: &str = "solution";

/// Tests of a suite that never reach the program.
pub(super) fn findings(module: &Module) -> Vec<Finding> {
    let parts = Parts::of(module);
    // After `from solution import *` any name may be the program's.
    if parts.everything {
        return Vec::new();
    }
    let tests: BTreeSet<String> = test_functions(module)
        .into_iter()
        .map(|test| test.qualname)
        .collect();
    let mut found = Vec::new();
    for (class, function, _) in definitions(module) {
        let qualname = class.as_deref().map_or_else(
            || function.name.to_string(),
            |class| format!("{class}.{}", function.name),
        );
        if !tests.contains(&qualname) {
            continue;
        }
        let mut start = Words::default();
        start.visit_stmt_function(function);
        let class = class.as_deref().and_then(|class| class.split('.').next());
        start.names.extend(class);
        // What a test of a base class uses may stand in the classes that inherit it.
        start
            .names
            .extend(class.into_iter().flat_map(|class| heirs(module, class)));
        if !parts.reach(start) {
            found.push(Finding {
                line: module.line(function.name.start()),
                rule: Rule::TestsCallTheProgram,
                what: format!(
                    "The test `{qualname}` never calls the program; import what it tests from `{PROGRAM}`, or run `{PROGRAM}.py`."
                ),
            });
        }
    }
    found
}

/// Whether a suite uses the program in its own process, by an import or by the module's name, rather than running it. To ask the
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
    /// What the module is called.
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

/// Names and texts of a piece of code.
#[derive(Default)]
struct Words<'a> {
    names: BTreeSet<&'a str>,
    /// Whether the program is named: by an import or in a text.
    program: bool,
}

impl<'a> Words<'a> {
    fn visit_stmt_function(&mut self, function: &'a ast::StmtFunctionDef) {
        for decorator in &function.decorator_list {
            self.visit_decorator(decorator);
        }
        // A fixture is asked for by the name of a parameter.
        self.names.extend(
            function
                .parameters
                .iter()
                .map(|parameter| parameter.name().as_str()),
        );
        self.visit_parameters(&function.parameters);
        self.visit_body(&function.body);
    }
}

impl<'a> Visitor<'a> for Words<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::Import(import) => {
                self.program |= import
                    .names
                    .iter()
                    .any(|alias| alias.name.as_str().starts_with(PROGRAM));
            }
            Stmt::ImportFrom(import) => {
                self.program |= import
                    .module
                    .as_ref()
                    .is_some_and(|module| module.as_str().starts_with(PROGRAM));
            }
            Stmt::FunctionDef(function) => self.visit_stmt_function(function),
            _ => visitor::walk_stmt(self, stmt),
        }
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Name(name) => {
                self.names.insert(name.id.as_str());
            }
            Expr::Attribute(attribute) => {
                self.names.insert(attribute.attr.as_str());
            }
            Expr::StringLiteral(text) => {
                // `usefixtures("table")`, and a function by its name.
                self.names.insert(text.value.to_str());
                self.program |= text.value.to_str().contains(PROGRAM);
            }
            Expr::FString(text) => {
                let parts = text.value.f_strings().flat_map(|part| part.elements.literals());
                self.program |= parts.into_iter().any(|part| part.value.contains(PROGRAM));
            }
            _ => {}
        }
        visitor::walk_expr(self, expr);
    }
}

/// The parts of a suite by the names that they bind, tests left out.
struct Parts<'a> {
    by_name: BTreeMap<&'a str, Words<'a>>,
    /// What happens before and after every test.
    fixtures: Vec<&'a str>,
    /// Whether the program's names are all in sight, so that nothing can be said.
    everything: bool,
}

impl<'a> Parts<'a> {
    fn of(module: &'a Module) -> Self {
        let mut parts = Self {
            by_name: BTreeMap::new(),
            fixtures: Vec::new(),
            everything: false,
        };
        for stmt in module.body() {
            parts.take(stmt);
        }
        parts
    }

    fn take(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::Import(import) => {
                for alias in &import.names {
                    let bound = alias.asname.as_ref().unwrap_or(&alias.name).as_str();
                    let words = self.by_name.entry(bound).or_default();
                    words.program |= alias.name.as_str().starts_with(PROGRAM);
                }
            }
            Stmt::ImportFrom(import) => {
                let program = import
                    .module
                    .as_ref()
                    .is_some_and(|module| module.as_str().starts_with(PROGRAM));
                for alias in &import.names {
                    self.everything |= program && alias.name.as_str() == "*";
                    let bound = alias.asname.as_ref().unwrap_or(&alias.name).as_str();
                    self.by_name.entry(bound).or_default().program |= program;
                }
            }
            Stmt::FunctionDef(function) if !function.name.starts_with("test") => self.function(function),
            Stmt::FunctionDef(_) => {}
            Stmt::ClassDef(class) => {
                let words = self.by_name.entry(class.name.as_str()).or_default();
                for base in class.bases() {
                    words.visit_expr(base);
                }
                for decorator in &class.decorator_list {
                    words.visit_decorator(decorator);
                }
                for member in class.body.iter().filter(|member| !is_test(member)) {
                    words.visit_stmt(member);
                }
                for method in class.body.iter().filter_map(Stmt::as_function_def_stmt) {
                    if !method.name.starts_with("test") {
                        self.function(method);
                    }
                }
            }
            _ => self.other(stmt),
        }
    }

    fn function(&mut self, function: &'a ast::StmtFunctionDef) {
        let mut words = Words::default();
        words.visit_stmt_function(function);
        let name = function.name.as_str();
        let is_fixture = name.to_lowercase().starts_with("setup");
        let uses_itself = function.decorator_list.iter().any(|decorator| {
            decorator
                .expression
                .as_call_expr()
                .is_some_and(|call| call.arguments.find_keyword("autouse").is_some())
        });
        if is_fixture || uses_itself {
            self.fixtures.push(name);
        }
        let known = self.by_name.entry(name).or_default();
        known.program |= words.program;
        known.names.extend(words.names);
    }

    /// Assignments, also those below a condition.
    fn other(&mut self, stmt: &'a Stmt) {
        let mut words = Words::default();
        words.visit_stmt(stmt);
        let mut bound = assigned(stmt);
        if bound.is_empty() {
            // A loop, a condition: whatever it binds is among its names.
            bound = words.names.iter().copied().collect();
        }
        for name in bound {
            let known = self.by_name.entry(name).or_default();
            known.program |= words.program;
            known.names.extend(&words.names);
        }
    }

    /// Whether the program is among what can be reached from here.
    fn reach(&self, start: Words<'a>) -> bool {
        // `setup_method`, `setUp` and autouse fixtures run for a test without being named.
        let mut pending: Vec<&str> = start
            .names
            .into_iter()
            .chain(self.fixtures.iter().copied())
            .collect();
        let mut seen = BTreeSet::new();
        if start.program {
            return true;
        }
        while let Some(name) = pending.pop() {
            if !seen.insert(name) {
                continue;
            }
            let Some(words) = self.by_name.get(name) else {
                continue;
            };
            if words.program {
                return true;
            }
            pending.extend(&words.names);
        }
        false
    }
}

fn is_test(member: &Stmt) -> bool {
    member
        .as_function_def_stmt()
        .is_some_and(|function| function.name.starts_with("test"))
}

#[cfg(test)]
mod tests;
