//! Which functions of a program its suite calls, as far as that can be seen for certain: a function that is taken for called and is
//! not has mutants that no suite can notice.

use std::collections::BTreeSet;

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{Alias, Expr, ExprContext, Parameter, Stmt};

use super::{Module, once, qualname};
use crate::pipeline::python::functions::definitions;
use crate::pipeline::python::syntax::{Aliases, dotted, literal};

const PROGRAM: &str = "solution";

/// Methods of Python's own types: an attribute of such a name says nothing of whose it is.
const OF_BUILTINS: &[&str] = &[
    "add",
    "append",
    "clear",
    "close",
    "copy",
    "count",
    "decode",
    "discard",
    "encode",
    "endswith",
    "exists",
    "extend",
    "find",
    "flush",
    "format",
    "get",
    "index",
    "insert",
    "items",
    "join",
    "keys",
    "lower",
    "mkdir",
    "name",
    "open",
    "pop",
    "read",
    "remove",
    "replace",
    "reverse",
    "seek",
    "sort",
    "split",
    "startswith",
    "stem",
    "strip",
    "suffix",
    "union",
    "update",
    "upper",
    "values",
    "write",
];

/// Qualified names of the functions and methods that the suite calls by their own name.
pub(super) fn by(suite: &Module, program: &Module) -> BTreeSet<String> {
    let mut seen = Seen {
        aliases: Aliases::of(suite.body()),
        modules: BTreeSet::new(),
        paths: BTreeSet::new(),
        attributes: BTreeSet::new(),
        replaced: BTreeSet::new(),
        bound: stars(suite).then(|| bound(suite)),
    };
    seen.modules = modules(suite, &seen.aliases);
    seen.visit_body(suite.body());
    let names = once(program).into_iter().map(|(name, _)| name);
    names.filter(|name| seen.calls(name)).collect()
}

/// Names that stand for the program beside what is imported: variables, and fixtures that return it.
fn modules(suite: &Module, aliases: &Aliases) -> BTreeSet<String> {
    let mut found = Bound {
        aliases,
        names: BTreeSet::new(),
    };
    found.visit_body(suite.body());
    for (class, function, _) in definitions(suite) {
        let returns_it = |stmt: &Stmt| {
            let value = match stmt {
                Stmt::Return(returned) => returned.value.as_deref(),
                Stmt::Expr(expr) => expr
                    .value
                    .as_yield_expr()
                    .and_then(|given| given.value.as_deref()),
                _ => None,
            };
            value.is_some_and(|value| found.is_program(value))
        };
        if function.body.iter().any(returns_it) {
            let name = qualname(class.as_deref(), function.name.as_str());
            found
                .names
                .insert(name.rsplit('.').next().unwrap_or(&name).to_owned());
        }
    }
    found.names
}

/// Whether the suite has every name of the program without naming any.
fn stars(suite: &Module) -> bool {
    suite
        .body()
        .iter()
        .filter_map(Stmt::as_import_from_stmt)
        .any(|import| {
            import.module.as_deref() == Some(PROGRAM)
                && import.names.iter().any(|alias| alias.name.as_str() == "*")
        })
}

/// Names that the suite binds itself: functions and classes, parameters, variables, what else it imports.
fn bound(suite: &Module) -> BTreeSet<String> {
    let mut own = Own::default();
    own.visit_body(suite.body());
    own.0
}

#[derive(Default)]
struct Own(BTreeSet<String>);

impl<'a> Visitor<'a> for Own {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::FunctionDef(function) => {
                self.0.insert(function.name.to_string());
            }
            Stmt::ClassDef(class) => {
                self.0.insert(class.name.to_string());
            }
            _ => {}
        }
        visitor::walk_stmt(self, stmt);
    }

    fn visit_alias(&mut self, alias: &'a Alias) {
        self.0
            .insert(alias.asname.as_ref().unwrap_or(&alias.name).to_string());
    }

    fn visit_parameter(&mut self, parameter: &'a Parameter) {
        self.0.insert(parameter.name.to_string());
        visitor::walk_parameter(self, parameter);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Expr::Name(name) = expr
            && name.ctx == ExprContext::Store
        {
            self.0.insert(name.id.to_string());
        }
        visitor::walk_expr(self, expr);
    }
}

struct Bound<'a> {
    aliases: &'a Aliases,
    names: BTreeSet<String>,
}

impl Bound<'_> {
    fn is_program(&self, expr: &Expr) -> bool {
        let is_bound = expr
            .as_name_expr()
            .is_some_and(|name| self.names.contains(name.id.as_str()));
        is_bound || self.aliases.path(expr).as_deref() == Some(PROGRAM)
    }
}

impl<'a> Visitor<'a> for Bound<'_> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        if let Stmt::Assign(assign) = stmt
            && let [Expr::Name(target)] = assign.targets.as_slice()
            && self.is_program(&assign.value)
        {
            self.names.insert(target.id.to_string());
        }
        visitor::walk_stmt(self, stmt);
    }
}

/// What a suite mentions.
struct Seen {
    aliases: Aliases,
    modules: BTreeSet<String>,
    /// Dotted names within the program.
    paths: BTreeSet<String>,
    /// Attributes of anything.
    attributes: BTreeSet<String>,
    /// Names that it replaces in the program, so that what is called is not the program's.
    replaced: BTreeSet<String>,
    /// Names of its own, where every other one may be the program's.
    bound: Option<BTreeSet<String>>,
}

impl Seen {
    fn calls(&self, name: &str) -> bool {
        let last = name.rsplit('.').next().unwrap_or(name);
        // A replaced function is not what runs: mutants of it would all survive.
        if self.replaced.contains(last) {
            return false;
        }
        if self.paths.contains(name) {
            return true;
        }
        let Some((class, method)) = name.rsplit_once('.') else {
            return false;
        };
        let has_class = self
            .paths
            .iter()
            .any(|path| path == class || path.strip_prefix(class).is_some_and(|rest| rest.starts_with('.')));
        let is_called = match method {
            // A class that is called calls these.
            "__init__" | "__post_init__" => true,
            _ => self.attributes.contains(method) && !OF_BUILTINS.contains(&method),
        };
        has_class && is_called
    }

    fn path(&self, expr: &Expr) -> Option<String> {
        let path = self.aliases.path(expr)?;
        let (first, rest) = path.split_once('.').unwrap_or((&path, ""));
        if !rest.is_empty() && (first == PROGRAM || self.modules.contains(first)) {
            return Some(rest.to_owned());
        }
        let bound = self.bound.as_ref()?;
        (!bound.contains(first)).then_some(path)
    }

    /// `monkeypatch.setattr(solution, "fetch", ...)`, `mock.patch("solution.fetch")`.
    fn note_replaced(&mut self, call: &ruff_python_ast::ExprCall) {
        let function = dotted(&call.func).unwrap_or_default();
        if !function.contains("patch") && !function.ends_with("setattr") {
            return;
        }
        let texts = call.arguments.args.iter().filter_map(literal);
        let names = texts
            .filter_map(|text| text.rsplit('.').next())
            .map(str::to_owned);
        self.replaced.extend(names);
    }
}

impl<'a> Visitor<'a> for Seen {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        if let Stmt::Assign(assign) = stmt {
            let targets = assign.targets.iter().filter_map(|target| self.path(target));
            let names: Vec<String> = targets
                .filter_map(|path| path.rsplit('.').next().map(str::to_owned))
                .collect();
            self.replaced.extend(names);
        }
        visitor::walk_stmt(self, stmt);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Call(call) => self.note_replaced(call),
            Expr::Name(name) if name.ctx == ExprContext::Load => self.paths.extend(self.path(expr)),
            Expr::Attribute(attribute) if attribute.ctx == ExprContext::Load => {
                self.paths.extend(self.path(expr));
                self.attributes.insert(attribute.attr.to_string());
            }
            _ => {}
        }
        visitor::walk_expr(self, expr);
    }
}
