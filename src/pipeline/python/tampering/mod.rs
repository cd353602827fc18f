//! Code that reaches for the runner instead of doing its work, and tests that test nothing (B03).
//!
//! A finding is sent back to the model before anything runs. The verdict does not rest on this: the harness has its own proofs.

mod paths;
mod rules;

use std::collections::BTreeSet;

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::{Ranged, TextSize};

use super::fold::Bindings;
use super::syntax::{Aliases, Mentions, docstring, is_main_guard, literal};
use super::{Module, vacuous};

/// One place that must change.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// Line, counted from 1.
    pub line: u32,
    /// What is there, as a sentence for the model.
    pub what: String,
}

/// Which file is looked at.
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

/// Findings in a suite, by line: what a program must not do either, ends and skips of the session, tests without an assertion.
#[must_use]
pub fn suite_findings(module: &Module) -> Vec<Finding> {
    let mut found = search(module, Kind::Suite);
    found.extend(vacuous::findings(module));
    found.sort();
    found.dedup();
    found
}

fn search(module: &Module, kind: Kind) -> Vec<Finding> {
    let aliases = Aliases::of(module.body());
    let bindings = Bindings::of(module.body());
    let mut search = Search {
        module,
        kind,
        aliases,
        bindings,
        depth: 0,
        found: Vec::new(),
    };
    for stmt in module.body() {
        search.top_level(stmt);
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
    /// Functions around the node.
    depth: u32,
    found: Vec<Finding>,
}

impl<'a> Search<'a> {
    fn add(&mut self, at: TextSize, what: impl Into<String>) {
        self.found.push(Finding {
            line: self.module.line(at),
            what: what.into(),
        });
    }

    fn top_level(&mut self, stmt: &'a Stmt) {
        if is_main_guard(stmt) {
            // How a file ends when it is started by hand is its own affair.
            self.depth += 1;
            if self.kind == Kind::Solution {
                self.visit_stmt(stmt);
            }
            self.depth -= 1;
        } else {
            self.visit_stmt(stmt);
        }
    }

    /// A dotted path that is read, written or called.
    fn path(&mut self, path: &str, at: TextSize) {
        let in_suite = self.kind == Kind::Suite;
        let reason = paths::forbidden(path, in_suite)
            .or_else(|| paths::forbidden(paths::of_another_module(path)?, in_suite));
        if let Some(reason) = reason {
            self.add(at, format!("`{path}` {reason}."));
        }
    }

    fn import(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Import(import) => {
                for alias in &import.names {
                    self.path(alias.name.as_str(), import.start());
                    self.binding(
                        alias.asname.as_ref().map_or("", |name| name.as_str()),
                        import.start(),
                    );
                }
            }
            Stmt::ImportFrom(from) => {
                let module = from.module.as_ref().map_or("", |module| module.as_str());
                if paths::forbidden(module, self.kind == Kind::Suite).is_some() {
                    self.path(module, from.start());
                    return;
                }
                for alias in &from.names {
                    self.path(&format!("{module}.{}", alias.name), from.start());
                    self.binding(
                        alias.asname.as_ref().unwrap_or(&alias.name).as_str(),
                        from.start(),
                    );
                }
            }
            _ => {}
        }
    }

    fn function(&mut self, function: &'a ast::StmtFunctionDef) {
        let name = function.name.as_str();
        self.binding(name, function.name.start());
        if rules::is_comparison(name) && rules::always_holds(name, &function.body) {
            self.add(
                function.name.start(),
                format!("`{name}` always gives the same answer; compare the values."),
            );
        }
        let compares = matches!(name, "__eq__" | "__ne__" | "__bool__");
        if compares && !rules::always_holds(name, &function.body) && !rules::looks_at_operand(function) {
            self.add(
                function.name.start(),
                format!("`{name}` never looks at what it compares; compare the values."),
            );
        }
        let exits_late = function
            .decorator_list
            .iter()
            .any(|decorator| self.aliases.path(&decorator.expression).as_deref() == Some("atexit.register"));
        if exits_late && mentions_exit(&function.body) {
            self.add(
                function.name.start(),
                "An exit handler that ends the process hides the result; leave it out.",
            );
        }
    }

    /// A name that gets a value, in whatever way.
    fn binding(&mut self, name: &str, at: TextSize) {
        if name.starts_with("pytest_") {
            let what = format!(
                "`{name}` is a hook of pytest, or its list of plugins; the session is not the code's to change."
            );
            self.add(at, what);
        }
    }

    fn assignment(&mut self, targets: &[Expr], value: &Expr) {
        let given = self.aliases.path(value).unwrap_or_default();
        if matches!(
            given.as_str(),
            "exec" | "eval" | "compile" | "__import__" | "importlib.import_module"
        ) {
            self.add(
                value.start(),
                format!("`{given}` gets another name; call it by its own."),
            );
        }
        for target in targets {
            let at = target.start();
            if let Expr::Attribute(attribute) = target {
                let root = self.aliases.path(&attribute.value).unwrap_or_default();
                if matches!(
                    root.as_str(),
                    "builtins" | "pytest" | "unittest" | "unittest.TestCase" | "pluggy"
                ) {
                    self.add(
                        at,
                        format!(
                            "`{root}.{}` is replaced; leave `{root}` as it is.",
                            attribute.attr
                        ),
                    );
                }
                if attribute.attr.as_str() == "__class__" {
                    self.add(
                        at,
                        "The class of an object is replaced; make an object of the right class.",
                    );
                }
            }
            if let Expr::Name(name) = target {
                let gives_true = value
                    .as_lambda_expr()
                    .is_some_and(|lambda| rules::is_constant_answer(name.id.as_str(), &lambda.body));
                if rules::is_comparison(name.id.as_str()) && gives_true {
                    self.add(
                        at,
                        format!("`{}` always gives the same answer; compare the values.", name.id),
                    );
                }
            }
        }
    }

    fn call(&mut self, call: &'a ast::ExprCall) {
        let at = call.start();
        let path = self.aliases.path(&call.func).unwrap_or_default();
        let first = call.arguments.args.first();
        match path.as_str() {
            "exec" | "eval" | "compile" | "builtins.exec" | "builtins.eval" | "builtins.compile" => {
                self.dynamic_code(&path, call);
            }
            "__import__" | "builtins.__import__" | "importlib.import_module"
                if first.is_some_and(|name| literal(name).is_none()) =>
            {
                let known = first.map(|name| self.bindings.strings(name)).unwrap_or_default();
                if known.is_empty() {
                    self.add(
                        at,
                        "A module is imported by a computed name; import it by its name.",
                    );
                }
                for module in &known {
                    self.path(module, at);
                }
            }
            "__import__" | "importlib.import_module" => {
                first
                    .and_then(literal)
                    .map(str::to_owned)
                    .into_iter()
                    .for_each(|module| self.path(&module, at));
            }
            "operator.attrgetter" | "operator.methodcaller" => self.lookup(&path, call),
            "vars"
                if first
                    .and_then(|object| self.aliases.path(object))
                    .is_some_and(|root| paths::is_sensitive_module(&root)) =>
            {
                self.add(at, "The names of a module are looked up in bulk; write the name.");
            }
            "type" | "builtins.type" if self.kind == Kind::Solution && !rules::makes_plain_class(call) => {
                self.add(at, "A class is made by a call of `type`; write the class.");
            }
            "getattr" | "builtins.getattr" | "setattr" | "delattr" | "builtins.setattr" | "hasattr" => {
                self.reflection(&path, call);
            }
            "sys.exit" | "exit" | "quit" | "builtins.exit" | "builtins.quit" => self.exit(&path, at),
            "atexit.register" => {
                let ends = match first {
                    Some(Expr::Lambda(lambda)) => rules::mentions_exit(&lambda.body),
                    Some(Expr::Name(name)) => {
                        let named = |stmt: &&Stmt| {
                            stmt.as_function_def_stmt()
                                .is_some_and(|function| function.name.as_str() == name.id.as_str())
                        };
                        self.module
                            .body()
                            .iter()
                            .find(named)
                            .is_some_and(|stmt| mentions_exit(std::slice::from_ref(stmt)))
                    }
                    Some(other) => self.aliases.path(other).is_some_and(|path| path == "sys.exit"),
                    None => false,
                };
                if ends {
                    self.add(
                        at,
                        "An exit handler that ends the process hides the result; leave it out.",
                    );
                }
            }
            "pytest.exit" | "pytest.skip" | "pytest.xfail" if self.kind == Kind::Suite => {
                self.add(
                    at,
                    format!("`{path}` takes tests out of the session; every test must run."),
                );
            }
            _ => {}
        }
    }

    fn dynamic_code(&mut self, function: &str, call: &'a ast::ExprCall) {
        let at = call.start();
        let text = call.arguments.args.first().and_then(literal);
        match text.map(Module::parse) {
            Some(Ok(inner)) => {
                let line = self.module.line(at);
                self.found.extend(
                    search(&inner, self.kind)
                        .into_iter()
                        .map(|finding| Finding { line, ..finding }),
                );
            }
            _ => self.add(
                at,
                format!("`{function}` runs text that is not visible here; write the code itself."),
            ),
        }
    }

    /// `operator.attrgetter` and `methodcaller`: the name must be in the text, and not one that reaches for the interpreter.
    fn lookup(&mut self, function: &str, call: &'a ast::ExprCall) {
        let at = call.start();
        let names = if function == "operator.attrgetter" {
            &call.arguments.args[..]
        } else {
            &call.arguments.args[..call.arguments.args.len().min(1)]
        };
        for name in names {
            let known = self.bindings.strings(name);
            if known.is_empty() || known.iter().any(|name| rules::is_telling_attribute(name)) {
                self.add(
                    at,
                    format!("`{function}` looks up a name that is computed or not the program's; write the attribute."),
                );
            }
        }
    }

    /// `getattr` and its relatives with a name that says what is reached for.
    fn reflection(&mut self, function: &str, call: &'a ast::ExprCall) {
        let (Some(object), Some(name)) = (call.arguments.args.first(), call.arguments.args.get(1)) else {
            return;
        };
        let at = call.start();
        let root = self.aliases.path(object).unwrap_or_default();
        let names = self.bindings.strings(name);
        if names.is_empty() && paths::is_sensitive_module(&root) {
            self.add(
                at,
                format!("An attribute of `{root}` is looked up by a computed name; write the name."),
            );
        }
        for name in &names {
            self.path(&format!("{root}.{name}"), at);
            if let Some(reason) = rules::forbidden_attribute(name) {
                self.add(at, format!("`{name}` {reason}."));
            }
        }
        if function.ends_with("setattr")
            && matches!(root.as_str(), "builtins" | "pytest" | "unittest" | "__builtins__")
        {
            self.add(
                at,
                format!("An attribute of `{root}` is replaced; leave it as it is."),
            );
        }
    }

    fn exit(&mut self, path: &str, at: TextSize) {
        match self.kind {
            Kind::Suite => self.add(
                at,
                format!("`{path}` ends the session; a test fails by an assertion."),
            ),
            Kind::Solution if self.depth == 0 => {
                self.add(
                    at,
                    format!("`{path}` is called while the module is imported; call it under the main guard."),
                );
            }
            Kind::Solution => {}
        }
    }

    fn raise(&mut self, raise: &ast::StmtRaise) {
        let Some(exception) = raise.exc.as_deref() else {
            return;
        };
        if self
            .aliases
            .path(ast::helpers::map_callable(exception))
            .as_deref()
            == Some("SystemExit")
        {
            self.exit("SystemExit", raise.start());
        }
    }

    fn attribute(&mut self, attribute: &'a ast::ExprAttribute) {
        if let Some(reason) = rules::forbidden_attribute(attribute.attr.as_str()) {
            self.add(attribute.attr.start(), format!("`{}` {reason}.", attribute.attr));
        }
        let owner = self.aliases.path(&attribute.value).unwrap_or_default();
        if attribute.attr.as_str() == "__dict__" && paths::is_sensitive_module(&owner) {
            self.add(
                attribute.attr.start(),
                format!("The names of `{owner}` are looked up in bulk; write the name."),
            );
        }
    }

    /// `globals()["__x__"]` and `vars(os)["_exit"]`.
    fn subscript(&mut self, subscript: &'a ast::ExprSubscript) {
        let Expr::Call(call) = subscript.value.as_ref() else {
            return;
        };
        let is_namespace = matches!(
            self.aliases.path(&call.func).as_deref(),
            Some("globals" | "locals" | "vars")
        );
        let names = if is_namespace {
            self.bindings.strings(&subscript.slice)
        } else {
            BTreeSet::new()
        };
        if names.iter().any(|name| ast::helpers::is_dunder(name)) {
            self.add(
                subscript.start(),
                "A special name is looked up in a namespace; leave it alone.",
            );
        }
    }

    fn text(&mut self, text: &str, at: TextSize) {
        if let Some(reason) = rules::forbidden_text(text, self.kind == Kind::Suite) {
            self.add(
                at,
                format!(
                    "The text `{}` {reason}.",
                    text.chars().take(40).collect::<String>()
                ),
            );
        }
    }
}

fn mentions_exit(body: &[Stmt]) -> bool {
    let mentions = Mentions::of(body);
    mentions
        .attributes
        .iter()
        .any(|name| matches!(*name, "exit" | "_exit"))
        || mentions
            .names
            .iter()
            .any(|name| matches!(*name, "exit" | "quit" | "SystemExit"))
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
                self.function(function);
                function
                    .decorator_list
                    .iter()
                    .for_each(|decorator| self.visit_decorator(decorator));
                self.visit_parameters(&function.parameters);
                self.depth += 1;
                self.visit_body(&function.body);
                self.depth -= 1;
                return;
            }
            Stmt::Assign(assign) => self.assignment(&assign.targets, &assign.value),
            Stmt::Raise(raise) => self.raise(raise),
            Stmt::Expr(expr) if expr.value.is_string_literal_expr() => return,
            _ => {}
        }
        visitor::walk_stmt(self, stmt);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        let is_named = matches!(expr, Expr::Attribute(_) | Expr::Name(_) | Expr::Subscript(_));
        // What a test does to the registry of modules by a plain name is how it loads the program anew.
        let is_reload = self.kind == Kind::Suite && rules::is_harmless_registry_use(&self.aliases, expr);
        if is_reload {
            return;
        }
        if is_named && let Some(path) = self.aliases.path(expr) {
            self.path(&path, expr.start());
        }
        match expr {
            Expr::Name(name) if name.ctx.is_store() => self.binding(name.id.as_str(), expr.start()),
            Expr::Attribute(attribute) => self.attribute(attribute),
            Expr::Subscript(subscript) => self.subscript(subscript),
            Expr::Call(call) => self.call(call),
            Expr::StringLiteral(string) => self.text(string.value.to_str(), string.start()),
            // A lambda runs later.
            Expr::Lambda(_) => {
                self.depth += 1;
                visitor::walk_expr(self, expr);
                self.depth -= 1;
                return;
            }
            _ => {}
        }
        visitor::walk_expr(self, expr);
    }
}

#[cfg(test)]
mod tests;
