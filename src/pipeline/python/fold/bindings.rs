//! What each name of a file may stand for.

use std::collections::BTreeMap;

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{self as ast, Expr, Stmt};

use crate::pipeline::python::syntax::literal;

/// What a name may stand for.
#[derive(Clone, Copy)]
pub(super) enum Source<'a> {
    /// The value of an expression.
    Value(&'a Expr),
    /// An element of what is iterated over; of a tuple the part at this position.
    Element(&'a Expr, Option<usize>),
}

/// Everything a file binds, by name; attributes with a dot before them.
pub(in crate::pipeline::python) struct Bindings<'a> {
    pub(super) sources: BTreeMap<String, Vec<Source<'a>>>,
    parameters: BTreeMap<&'a str, Vec<&'a str>>,
}

impl<'a> Bindings<'a> {
    pub(in crate::pipeline::python) fn of(body: &'a [Stmt]) -> Self {
        let mut signatures = Signatures::default();
        signatures.visit_body(body);
        let mut bindings = Self {
            sources: BTreeMap::new(),
            parameters: signatures.0,
        };
        bindings.visit_body(body);
        bindings
    }

    fn bind(&mut self, target: &'a Expr, source: Source<'a>) {
        match (target, source) {
            (Expr::Name(name), _) => self.add(name.id.to_string(), source),
            (Expr::Attribute(attribute), _) => self.add(format!(".{}", attribute.attr), source),
            (
                Expr::Tuple(ast::ExprTuple { elts, .. }) | Expr::List(ast::ExprList { elts, .. }),
                Source::Element(iter, None),
            ) => {
                for (position, element) in elts.iter().enumerate() {
                    self.bind(element, Source::Element(iter, Some(position)));
                }
            }
            (Expr::Tuple(targets), Source::Value(Expr::Tuple(values))) => {
                for (target, value) in targets.elts.iter().zip(&values.elts) {
                    self.bind(target, Source::Value(value));
                }
            }
            _ => {}
        }
    }

    fn add(&mut self, name: String, source: Source<'a>) {
        self.sources.entry(name).or_default().push(source);
    }

    fn bind_call(&mut self, call: &'a ast::ExprCall) {
        let (name, is_method) = match call.func.as_ref() {
            Expr::Name(name) => (name.id.as_str(), false),
            Expr::Attribute(attribute) => (attribute.attr.as_str(), true),
            _ => return,
        };
        if name == "add_argument"
            && let Some(default) = call.arguments.find_keyword("default")
        {
            for option in call.arguments.args.iter().filter_map(literal) {
                self.add(
                    format!(".{}", option.trim_start_matches('-').replace('-', "_")),
                    Source::Value(&default.value),
                );
            }
        }
        let Some(parameters) = self.parameters.get(name).cloned() else {
            return;
        };
        let skip = usize::from(
            is_method
                && parameters
                    .first()
                    .is_some_and(|first| matches!(*first, "self" | "cls")),
        );
        for (parameter, value) in parameters.iter().skip(skip).zip(&call.arguments.args) {
            self.add((*parameter).to_owned(), Source::Value(value));
        }
        for keyword in &call.arguments.keywords {
            if let Some(parameter) = &keyword.arg {
                self.add(parameter.to_string(), Source::Value(&keyword.value));
            }
        }
    }
}

impl<'a> Visitor<'a> for Bindings<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::Assign(assign) => {
                assign
                    .targets
                    .iter()
                    .for_each(|target| self.bind(target, Source::Value(&assign.value)));
            }
            Stmt::AnnAssign(assign) => {
                if let Some(value) = &assign.value {
                    self.bind(&assign.target, Source::Value(value));
                }
            }
            Stmt::For(iteration) => self.bind(&iteration.target, Source::Element(&iteration.iter, None)),
            Stmt::FunctionDef(function) => {
                for parameter in function.parameters.iter_non_variadic_params() {
                    if let Some(default) = &parameter.default {
                        self.add(parameter.parameter.name.to_string(), Source::Value(default));
                    }
                }
            }
            _ => {}
        }
        visitor::walk_stmt(self, stmt);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Named(named) => self.bind(&named.target, Source::Value(&named.value)),
            Expr::Call(call) => self.bind_call(call),
            _ => {}
        }
        visitor::walk_expr(self, expr);
    }

    fn visit_comprehension(&mut self, comprehension: &'a ast::Comprehension) {
        self.bind(&comprehension.target, Source::Element(&comprehension.iter, None));
        visitor::walk_comprehension(self, comprehension);
    }
}

/// Names of the parameters of each function.
#[derive(Default)]
struct Signatures<'a>(BTreeMap<&'a str, Vec<&'a str>>);

impl<'a> Visitor<'a> for Signatures<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        if let Stmt::FunctionDef(function) = stmt {
            let names = function
                .parameters
                .iter_non_variadic_params()
                .map(|p| p.parameter.name.as_str())
                .collect();
            self.0.insert(function.name.as_str(), names);
        }
        visitor::walk_stmt(self, stmt);
    }
}
