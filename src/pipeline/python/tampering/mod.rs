//! Code that a run would take for something else than it is: a program that knows of tests, a test that always holds.
//!
//! A finding is sent back to the model before anything runs. The verdict does not rest on it: what is written plainly is found,
//! and whoever hides it meets the run.

mod paths;
mod rules;

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::{Ranged, TextSize};

use self::rules::{Body, Out};
use super::fold::Bindings;
use super::rule::{Finding, Rule};
use super::syntax::{Aliases, Mentions, docstring, is_main_guard, literal};
use super::{Module, reach, vacuous};

/// Which file is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Solution,
    Suite,
}

/// Findings in a program, by line.
#[must_use]
pub fn solution_findings(module: &Module) -> Vec<Finding> {
    search(module, Kind::Solution)
}

/// Findings in a suite, by line: what a program must not do either, tests that never run, check nothing or never call the program.
#[must_use]
pub fn suite_findings(module: &Module) -> Vec<Finding> {
    let mut found = search(module, Kind::Suite);
    found.extend(vacuous::findings(module));
    found.extend(reach::findings(module));
    found.sort();
    found.dedup();
    found
}

fn search(module: &Module, kind: Kind) -> Vec<Finding> {
    let mut search = Search {
        module,
        kind,
        aliases: Aliases::of(module.body()),
        bindings: Bindings::of(module.body()),
        forks: Mentions::of(module.body()).attributes.contains("fork"),
        function: None,
        branches: 0,
        found: Vec::new(),
    };
    for stmt in module.body() {
        // How a suite ends when it is started by hand is its own affair.
        if kind == Kind::Solution || !is_main_guard(stmt) {
            search.visit_stmt(stmt);
        }
    }
    search.found.sort();
    search.found.dedup();
    search.found
}

struct Search<'a> {
    module: &'a Module,
    kind: Kind,
    aliases: Aliases,
    bindings: Bindings<'a>,
    /// Whether the file forks: its children have to end by `os._exit`.
    forks: bool,
    /// The enclosing function of the node.
    function: Option<&'a str>,
    /// Conditions that enclose the node, within its function.
    branches: u32,
    found: Vec<Finding>,
}

impl<'a> Search<'a> {
    fn add(&mut self, at: TextSize, rule: Rule, what: impl Into<String>) {
        self.found.push(Finding {
            line: self.module.line(at),
            rule,
            what: what.into(),
        });
    }

    /// A dotted path that is read, written or called.
    fn path(&mut self, path: &str, at: TextSize) {
        let in_suite = self.kind == Kind::Suite;
        let broken = paths::forbidden(path, in_suite)
            .or_else(|| paths::forbidden(paths::of_another_module(path)?, in_suite));
        let Some((rule, reason)) = broken else { return };
        if path.ends_with("os._exit") && self.forks {
            return;
        }
        self.add(at, rule, format!("`{path}` {reason}."));
    }

    fn import(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Import(import) => {
                for alias in &import.names {
                    self.path(alias.name.as_str(), import.start());
                    self.plugins(
                        alias.asname.as_ref().map_or("", ast::Identifier::as_str),
                        import.start(),
                    );
                }
            }
            Stmt::ImportFrom(from) => {
                let module = from.module.as_ref().map_or("", ast::Identifier::as_str);
                for alias in &from.names {
                    self.path(&format!("{module}.{}", alias.name), from.start());
                    let bound = alias.asname.as_ref().unwrap_or(&alias.name);
                    self.plugins(bound.as_str(), from.start());
                }
            }
            _ => {}
        }
    }

    /// A name that gets a value: the one by which a file makes others a part of pytest.
    fn plugins(&mut self, name: &str, at: TextSize) {
        if name == "pytest_plugins" {
            let what =
                "`pytest_plugins` changes how every test of the session is run; use fixtures of this file.";
            self.add(at, Rule::NoTestAwareness, what);
        }
    }

    fn equality(&mut self, name: &str, is_blind: bool, at: TextSize) {
        if rules::is_equality(name) && is_blind {
            let what = format!("`{name}` never looks at what it compares; compare the values.");
            self.add(at, Rule::NoUniversalEquality, what);
        }
    }

    fn assignment(&mut self, targets: &[Expr], value: &Expr) {
        for target in targets {
            let owner = match target {
                Expr::Attribute(attribute) => self.aliases.path(&attribute.value),
                Expr::Subscript(subscript) => self.aliases.path(&subscript.value),
                Expr::Name(name) => {
                    let is_blind = value
                        .as_lambda_expr()
                        .is_some_and(|lambda| rules::is_blind_lambda(name.id.as_str(), lambda));
                    self.equality(name.id.as_str(), is_blind, target.start());
                    None
                }
                _ => None,
            };
            self.replaced(&owner.unwrap_or_default(), target.start());
        }
    }

    /// Something of a module that is shared with the tests gets another value.
    fn replaced(&mut self, owner: &str, at: TextSize) {
        let is_shared = matches!(
            owner,
            "builtins" | "__builtins__" | "pytest" | "unittest" | "unittest.TestCase" | "pluggy"
        );
        if is_shared {
            let what =
                format!("A part of `{owner}` is replaced, for all code of the process; leave it as it is.");
            self.add(at, Rule::NoTracing, what);
        }
    }

    fn call(&mut self, call: &'a ast::ExprCall) {
        let at = call.start();
        let path = self.aliases.path(&call.func).unwrap_or_default();
        let first = call.arguments.args.first();
        match path.trim_start_matches("builtins.") {
            "exec" | "eval" | "compile" => self.literal_code(call),
            "__import__" | "importlib.import_module" => {
                for module in first.map(|name| self.bindings.strings(name)).unwrap_or_default() {
                    self.path(&module, at);
                }
            }
            "type" if rules::makes_equal_class(call) => self.equality("__eq__", true, at),
            "setattr" | "delattr" => {
                let owner = first
                    .and_then(|object| self.aliases.path(object))
                    .unwrap_or_default();
                self.replaced(&owner, at);
                self.lookup(&owner, call);
            }
            "getattr" | "hasattr" => {
                let owner = first
                    .and_then(|object| self.aliases.path(object))
                    .unwrap_or_default();
                self.lookup(&owner, call);
            }
            "sys.exit" | "exit" | "quit" => self.exit(&path, at),
            _ => {}
        }
    }

    /// Text that is code and stands here.
    fn literal_code(&mut self, call: &'a ast::ExprCall) {
        let text = call.arguments.args.first().and_then(literal);
        if let Some(Ok(inner)) = text.map(Module::parse) {
            let line = self.module.line(call.start());
            let found = search(&inner, self.kind);
            self.found
                .extend(found.into_iter().map(|finding| Finding { line, ..finding }));
        }
    }

    /// `getattr` and its relatives with a name that stands here.
    fn lookup(&mut self, owner: &str, call: &'a ast::ExprCall) {
        if let Some(name) = call.arguments.args.get(1) {
            for name in self.bindings.strings(name) {
                self.path(&format!("{owner}.{name}"), call.start());
            }
        }
    }

    /// What ends the process as soon as the file is imported.
    fn exit(&mut self, path: &str, at: TextSize) {
        if self.function.is_none() && self.branches == 0 {
            let what =
                format!("`{path}` is called while the module is imported; call it under the main guard.");
            self.add(at, Rule::Importable, what);
        }
    }

    /// Something that takes tests out of the session, whatever the circumstances.
    fn takes_out(&mut self, path: &str, at: TextSize) {
        let Some(out) = rules::takes_out(path) else { return };
        // A helper is called, or not, by somebody.
        let is_always = self.branches == 0
            && self
                .function
                .is_none_or(|name| name.starts_with("test") || name.to_lowercase().starts_with("setup"));
        if out == Out::Always || is_always {
            let what = format!(
                "`{path}` takes tests out of every session, and a test that did not run proves nothing; name the condition, or let it run."
            );
            self.add(at, Rule::EveryTestRuns, what);
        }
    }

    fn raise(&mut self, raise: &ast::StmtRaise) {
        let exception = raise.exc.as_deref().map(ast::helpers::map_callable);
        if exception
            .and_then(|exception| self.aliases.path(exception))
            .as_deref()
            == Some("SystemExit")
        {
            self.exit("SystemExit", raise.start());
        }
    }

    fn text(&mut self, text: &str, at: TextSize) {
        let asks = ["PYTEST_CURRENT_TEST", "PYTEST_VERSION"]
            .into_iter()
            .find(|name| text.contains(name));
        if let Some(name) = asks.filter(|_| self.kind == Kind::Solution) {
            let what = format!("`{name}` says whether tests run; behave the same in every case.");
            self.add(at, Rule::NoTestAwareness, what);
        }
    }

    fn inside(&mut self, function: Option<&'a str>, visit: impl FnOnce(&mut Self)) {
        let outer = (self.function, self.branches);
        (self.function, self.branches) = (function, 0);
        visit(self);
        (self.function, self.branches) = outer;
    }

    fn in_branch(&mut self, visit: impl FnOnce(&mut Self)) {
        self.branches += 1;
        visit(self);
        self.branches -= 1;
    }
}

impl<'a> Visitor<'a> for Search<'a> {
    fn visit_body(&mut self, body: &'a [Stmt]) {
        // Prose may name anything.
        let skip = usize::from(docstring(body).is_some());
        visitor::walk_body(self, &body[skip..]);
    }

    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        self.import(stmt);
        match stmt {
            Stmt::FunctionDef(function) => {
                let name = function.name.as_str();
                self.plugins(name, function.name.start());
                let body = Body::Statements(&function.body);
                let is_blind = rules::answers_blindly(name, &function.parameters, body);
                self.equality(name, is_blind, function.name.start());
                for decorator in &function.decorator_list {
                    self.visit_decorator(decorator);
                }
                self.visit_parameters(&function.parameters);
                return self.inside(Some(name), |search| search.visit_body(&function.body));
            }
            Stmt::If(_) | Stmt::Try(_) | Stmt::Match(_) | Stmt::While(_) | Stmt::For(_) => {
                return self.in_branch(|search| visitor::walk_stmt(search, stmt));
            }
            Stmt::Assign(assign) => self.assignment(&assign.targets, &assign.value),
            Stmt::Raise(raise) => self.raise(raise),
            Stmt::Expr(expr) if expr.value.is_string_literal_expr() => return,
            _ => {}
        }
        visitor::walk_stmt(self, stmt);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Some(name) = rules::runner_in_registry(&self.aliases, expr) {
            let what = format!("`{name}` is looked up among the modules; behave the same in every case.");
            self.add(expr.start(), Rule::NoTestAwareness, what);
        }
        match expr {
            Expr::Attribute(_) | Expr::Name(_) | Expr::Subscript(_) => {
                let path = self.aliases.path(expr).unwrap_or_default();
                self.path(&path, expr.start());
                if self.kind == Kind::Suite {
                    self.takes_out(&path, expr.start());
                }
                if let Expr::Name(name) = expr
                    && name.ctx.is_store()
                {
                    self.plugins(name.id.as_str(), expr.start());
                }
            }
            Expr::Call(call) => {
                self.call(call);
                let path = self.aliases.path(&call.func).unwrap_or_default();
                let has_constant_condition =
                    matches!(path.as_str(), "pytest.mark.skipif" | "unittest.skipIf")
                        && !rules::has_condition(&path, call);
                if self.kind == Kind::Suite && has_constant_condition {
                    self.takes_out("pytest.mark.skip", expr.start());
                }
                if rules::has_condition(&path, call) {
                    // Its name alone says nothing.
                    return self.in_branch(|search| visitor::walk_expr(search, expr));
                }
            }
            Expr::StringLiteral(string) => self.text(string.value.to_str(), string.start()),
            Expr::If(_) | Expr::BoolOp(_) => {
                return self.in_branch(|search| visitor::walk_expr(search, expr));
            }
            // A lambda runs later.
            Expr::Lambda(_) => {
                return self.inside(Some("<lambda>"), |search| visitor::walk_expr(search, expr));
            }
            _ => {}
        }
        visitor::walk_expr(self, expr);
    }
}

#[cfg(test)]
mod tests;
