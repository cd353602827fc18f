//! Small questions about nodes that several modules ask.

use std::collections::{BTreeMap, BTreeSet};

use ruff_python_ast::comparable::ComparableStmt;
use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{self as ast, Expr, Stmt};

/// `a.b.c` of names and attributes.
pub(super) fn dotted(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Name(name) => Some(name.id.to_string()),
        Expr::Attribute(attribute) => Some(format!("{}.{}", dotted(&attribute.value)?, attribute.attr)),
        _ => None,
    }
}

/// The text of a string literal.
pub(super) fn literal(expr: &Expr) -> Option<&str> {
    expr.as_string_literal_expr().map(|string| string.value.to_str())
}

/// Reports whether the statement is `if __name__ == "__main__":`.
pub(super) fn is_main_guard(stmt: &Stmt) -> bool {
    let Stmt::If(branch) = stmt else { return false };
    let Expr::Compare(compare) = branch.test.as_ref() else {
        return false;
    };
    let [right] = compare.comparators.as_ref() else {
        return false;
    };
    let is_name = |expr: &Expr| expr.as_name_expr().is_some_and(|name| name.id == "__name__");
    let is_main = |expr: &Expr| literal(expr) == Some("__main__");
    compare.ops.as_ref() == [ast::CmpOp::Eq]
        && (is_name(&compare.left) && is_main(right) || is_main(&compare.left) && is_name(right))
}

/// Reports whether the statement is an import.
pub(super) const fn is_import(stmt: &Stmt) -> bool {
    matches!(stmt, Stmt::Import(_) | Stmt::ImportFrom(_))
}

/// Names that a plain assignment binds.
pub(super) fn assigned(stmt: &Stmt) -> Vec<&str> {
    fn targets<'a>(expr: &'a Expr, names: &mut Vec<&'a str>) {
        match expr {
            Expr::Name(name) => names.push(name.id.as_str()),
            Expr::Tuple(tuple) => tuple.elts.iter().for_each(|element| targets(element, names)),
            Expr::List(list) => list.elts.iter().for_each(|element| targets(element, names)),
            _ => {}
        }
    }
    let mut names = Vec::new();
    match stmt {
        Stmt::Assign(assign) => assign
            .targets
            .iter()
            .for_each(|target| targets(target, &mut names)),
        Stmt::AnnAssign(assign) => targets(&assign.target, &mut names),
        Stmt::TypeAlias(alias) => targets(&alias.name, &mut names),
        _ => {}
    }
    names
}

/// The docstring of a body.
pub(super) fn docstring(body: &[Stmt]) -> Option<&ast::ExprStringLiteral> {
    match body.first()? {
        Stmt::Expr(expr) => expr.value.as_string_literal_expr(),
        _ => None,
    }
}

/// Statements of a tree in a form that is equal for equal trees: comments and formatting do not count.
pub(super) fn shape(stmt: &Stmt) -> String {
    format!("{:?}", ComparableStmt::from(stmt))
}

/// Every name (and attribute) that a node mentions.
#[derive(Default)]
pub(super) struct Mentions<'a> {
    pub(super) names: BTreeSet<&'a str>,
    pub(super) attributes: BTreeSet<&'a str>,
    /// True where bodies of functions are left aside.
    pub(super) skip_bodies: bool,
}

impl<'a> Mentions<'a> {
    pub(super) fn of(stmts: &'a [Stmt]) -> Self {
        let mut mentions = Self::default();
        mentions.visit_body(stmts);
        mentions
    }

    /// Collects what is evaluated while the statement itself runs: decorators, defaults, bases, but no bodies of functions.
    pub(super) fn at_import(stmt: &'a Stmt) -> Self {
        let mut mentions = Self {
            skip_bodies: true,
            ..Self::default()
        };
        mentions.visit_stmt(stmt);
        mentions
    }
}

impl<'a> Visitor<'a> for Mentions<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::FunctionDef(function) if self.skip_bodies => {
                function
                    .decorator_list
                    .iter()
                    .for_each(|decorator| self.visit_decorator(decorator));
                self.visit_parameters(&function.parameters);
                if let Some(returns) = &function.returns {
                    self.visit_annotation(returns);
                }
            }
            _ => visitor::walk_stmt(self, stmt),
        }
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Name(name) => {
                self.names.insert(name.id.as_str());
            }
            Expr::Attribute(attribute) => {
                self.attributes.insert(attribute.attr.as_str());
            }
            _ => {}
        }
        visitor::walk_expr(self, expr);
    }
}

/// Names that imports bind: `np` to `numpy`, `bye` to `os._exit`.
#[derive(Default)]
pub(super) struct Aliases(BTreeMap<String, String>);

impl Aliases {
    pub(super) fn of(body: &[Stmt]) -> Self {
        let mut aliases = Self::default();
        aliases.visit_body(body);
        aliases
    }

    /// The last part of what a bound name stands for.
    pub(super) fn original(&self, name: &str) -> String {
        let path = self.0.get(name).map_or(name, String::as_str);
        path.rsplit('.').next().unwrap_or(path).to_owned()
    }

    /// The dotted path behind an expression: aliases, `getattr` with a literal, `__import__("os")` and `vars(os)["x"]` seen through.
    pub(super) fn path(&self, expr: &Expr) -> Option<String> {
        match expr {
            Expr::Name(name) => Some(
                self.0
                    .get(name.id.as_str())
                    .cloned()
                    .unwrap_or_else(|| name.id.to_string()),
            ),
            Expr::Attribute(attribute) if attribute.attr.as_str() == "__dict__" => {
                self.path(&attribute.value)
            }
            Expr::Attribute(attribute) => {
                Some(format!("{}.{}", self.path(&attribute.value)?, attribute.attr))
            }
            Expr::Subscript(subscript) => {
                let is_namespace = match subscript.value.as_ref() {
                    Expr::Call(call) => self.path(&call.func).as_deref() == Some("vars"),
                    Expr::Attribute(attribute) => attribute.attr.as_str() == "__dict__",
                    _ => false,
                };
                let key = literal(&subscript.slice).filter(|_| is_namespace)?;
                Some(format!("{}.{key}", self.path(&subscript.value)?))
            }
            Expr::Call(call) => {
                let first = call.arguments.args.first();
                match self.path(&call.func)?.as_str() {
                    "__import__" | "importlib.import_module" | "builtins.__import__" => {
                        literal(first?).map(str::to_owned)
                    }
                    "vars" => self.path(first?),
                    "getattr" => Some(format!(
                        "{}.{}",
                        self.path(first?)?,
                        literal(call.arguments.args.get(1)?)?
                    )),
                    _ => None,
                }
            }
            _ => None,
        }
    }
}

impl<'a> Visitor<'a> for Aliases {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::Import(import) => {
                for alias in &import.names {
                    let module = alias.name.as_str();
                    let root = module.split('.').next().unwrap_or(module);
                    let (bound, path) = alias
                        .asname
                        .as_ref()
                        .map_or((root, root), |name| (name.as_str(), module));
                    self.0.insert(bound.to_owned(), path.to_owned());
                }
            }
            Stmt::ImportFrom(import) if import.level == 0 => {
                let module = import.module.as_ref().map_or("", |module| module.as_str());
                for alias in &import.names {
                    let bound = alias.asname.as_ref().unwrap_or(&alias.name);
                    self.0
                        .insert(bound.to_string(), format!("{module}.{}", alias.name));
                }
            }
            _ => visitor::walk_stmt(self, stmt),
        }
    }
}
