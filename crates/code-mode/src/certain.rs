//! Faults of a program that its source shows: names and modules that are not there, arguments that no tool takes, calls that nothing awaits.
//! A program that has one calls nothing. What may be right is let pass, for a run shows it.

use std::collections::BTreeSet;

use ruff_python_ast::visitor::{
    Visitor, walk_comprehension, walk_except_handler, walk_expr, walk_parameter, walk_pattern, walk_stmt,
};
use ruff_python_ast::{
    Alias, Comprehension, ExceptHandler, Expr, ExprCall, Identifier, Number, Parameter as Named, Pattern,
    Stmt,
};
use ruff_python_stdlib::builtins::{is_python_builtin, python_magic_globals};
use serde_json::{Map, Value, json};

use crate::arguments::bind;
use crate::python::{Unparsed, parse};
use crate::signature::{Parameter, Signature, Toolbox};
use crate::types::{self, Position, Type};

/// Modules that the interpreter has.
pub const MODULES: [&str; 16] = [
    "asyncio",
    "base64",
    "binascii",
    "collections",
    "dataclasses",
    "datetime",
    "functools",
    "itertools",
    "json",
    "math",
    "os",
    "pathlib",
    "re",
    "sys",
    "typing",
    "unicodedata",
];
/// Functions of `asyncio` that only wrap what they are given.
const WRAPPING: [&str; 1] = ["gather"];
/// The minor version of Python whose builtins a name may be.
const MINOR_VERSION: u8 = 14;
/// Faults of one program that are told.
const MOST_FAULTS: usize = 50;
/// Characters of an argument that are shown.
const SHOWN: usize = 60;

/// A fault that a program is sure to have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertainFault {
    /// The line of the program, from 1.
    pub line: u32,
    /// The fault, for the model.
    pub message: String,
}

/// Finds what is wrong with a program that has these tools, by line; nothing where it may be right.
#[must_use]
pub fn certain_faults(code: &str, tools: &Toolbox) -> Vec<CertainFault> {
    let parsed = match parse(code) {
        Ok(parsed) => parsed,
        Err(error) => {
            let offset = match &error {
                Unparsed::TooDeep(offset) => *offset,
                Unparsed::Syntax(error) => error.location.start().to_usize(),
            };
            return vec![fault(code, offset, error.to_string())];
        }
    };
    let mut seen = Seen::default();
    seen.visit_body(&parsed.syntax().body);
    let found = [
        seen.unknown_modules(),
        seen.unknown_names(tools),
        seen.wrong_calls(tools),
        seen.never_awaited(tools),
    ];
    let found: BTreeSet<At> = found.into_iter().flatten().collect();
    found
        .into_iter()
        .take(MOST_FAULTS)
        .map(|(offset, message)| fault(code, offset, message))
        .collect()
}

fn fault(code: &str, offset: usize, message: String) -> CertainFault {
    let before = code.get(..offset).unwrap_or(code);
    CertainFault {
        line: u32::try_from(before.matches('\n').count() + 1).unwrap_or(u32::MAX),
        message,
    }
}

/// The place of a fault, in bytes, and its message.
type At = (usize, String);

/// A call that is not awaited where it stands.
struct Begun<'a> {
    name: &'a str,
    /// The variable that has its coroutine.
    target: Option<&'a str>,
    /// True where the variable is the coroutine itself, and nothing that holds it.
    is_itself: bool,
    offset: usize,
}

/// The names, calls and imports of a program. What stands in a `try` is only bound there: an exception of it may be caught.
#[derive(Default)]
struct Seen<'a> {
    /// Names of its `async def`s.
    own: BTreeSet<&'a str>,
    /// All others that it binds but for those that it imports.
    bound: BTreeSet<&'a str>,
    imported: BTreeSet<&'a str>,
    /// It may bind any name.
    binds_anything: bool,
    /// Names that it reads.
    used: BTreeSet<&'a str>,
    /// Those that it does not only read as an operand, where a coroutine is a fault.
    used_freely: BTreeSet<&'a str>,
    operands: BTreeSet<usize>,
    tries: usize,
    names: Vec<(&'a str, usize)>,
    modules: Vec<(&'a str, usize)>,
    calls: Vec<&'a ExprCall>,
    begun: Vec<Begun<'a>>,
}

impl<'a> Seen<'a> {
    fn unknown_modules(&self) -> Vec<At> {
        let unknown = self.modules.iter().filter_map(|(module, offset)| {
            let (root, _) = module.split_once('.').unwrap_or((module, ""));
            let is_known = MODULES.contains(&root);
            (!is_known).then(|| (*offset, format!("there is no module `{module}` here")))
        });
        unknown.collect()
    }

    fn unknown_names(&self, tools: &Toolbox) -> Vec<At> {
        if self.binds_anything {
            return Vec::new();
        }
        let is_known = |name: &str| {
            self.binds(name)
                || tools.find(name).is_some()
                || is_python_builtin(name, MINOR_VERSION, false)
                || python_magic_globals(MINOR_VERSION).any(|global| global == name)
        };
        let unknown = self.names.iter().filter(|(name, _)| !is_known(name));
        unknown
            .map(|(name, offset)| (*offset, format!("there is no `{name}`")))
            .collect()
    }

    fn wrong_calls(&self, tools: &Toolbox) -> Vec<At> {
        let wrong = self.calls.iter().filter_map(|call| {
            let name = called(call).filter(|name| !self.binds(name))?;
            let message = wrong_arguments(call, tools.find(name)?)?;
            Some((call.arguments.range.start().to_usize(), message))
        });
        wrong.collect()
    }

    fn never_awaited(&self, tools: &Toolbox) -> Vec<At> {
        let is_async = |name: &str| {
            let is_tool = tools.find(name).is_some() && !self.imported.contains(name);
            !self.bound.contains(name) && (self.own.contains(name) || is_tool)
        };
        let is_lost = |begun: &&Begun<'_>| match begun.target {
            Some(target) if begun.is_itself => !self.used_freely.contains(target),
            Some(target) => !self.used.contains(target),
            None => true,
        };
        let lost = self.begun.iter().filter(|begun| is_async(begun.name));
        lost.filter(is_lost)
            .map(|begun| {
                let name = begun.name;
                let message = format!(
                    "call of {name} is never awaited, so nothing of it runs; write `await {name}(...)`"
                );
                (begun.offset, message)
            })
            .collect()
    }

    /// Reports whether the program gives the name to something.
    fn binds(&self, name: &str) -> bool {
        self.bound.contains(name) || self.own.contains(name) || self.imported.contains(name)
    }

    /// Notes the calls whose coroutines are a value, or in one.
    fn begin(&mut self, value: &'a Expr, target: Option<&'a str>, is_itself: bool) {
        let mut all = |items: &'a [Expr]| items.iter().for_each(|item| self.begin(item, target, false));
        match value {
            Expr::Call(call) => match &*call.func {
                Expr::Name(function) => self.begun.push(Begun {
                    name: function.id.as_str(),
                    target,
                    is_itself,
                    offset: call.arguments.range.start().to_usize(),
                }),
                Expr::Attribute(function) if WRAPPING.contains(&function.attr.as_str()) => {
                    all(&call.arguments.args);
                }
                _ => {}
            },
            Expr::Starred(starred) => self.begin(&starred.value, target, false),
            Expr::ListComp(list) => self.begin(&list.elt, target, false),
            Expr::List(list) => all(&list.elts),
            Expr::Tuple(tuple) => all(&tuple.elts),
            _ => {}
        }
    }

    /// Notes what only a value can be, and no coroutine.
    fn operate(&mut self, operand: &'a Expr) {
        match operand {
            Expr::Name(name) => {
                self.operands.insert(name.range.start().to_usize());
            }
            Expr::Call(call) if called(call).is_some() => self.begin(operand, None, true),
            _ => {}
        }
    }

    fn import(&mut self, alias: &'a Alias, whole: bool) {
        if alias.name.as_str() == "*" {
            self.binds_anything = true;
            return;
        }
        let name = alias.asname.as_ref().unwrap_or(&alias.name).as_str();
        let (root, _) = name.split_once('.').unwrap_or((name, ""));
        self.imported.insert(root);
        if whole && self.tries == 0 {
            let offset = alias.range.start().to_usize();
            self.modules.push((alias.name.as_str(), offset));
        }
    }

    fn bind(&mut self, name: Option<&'a Identifier>) {
        self.bound.extend(name.map(Identifier::as_str));
    }
}

impl<'a> Visitor<'a> for Seen<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::FunctionDef(function) if function.is_async => {
                self.own.insert(function.name.as_str());
            }
            Stmt::FunctionDef(function) => self.bind(Some(&function.name)),
            Stmt::ClassDef(class) => self.bind(Some(&class.name)),
            Stmt::Import(import) => import.names.iter().for_each(|alias| self.import(alias, true)),
            Stmt::ImportFrom(import) => {
                import.names.iter().for_each(|alias| self.import(alias, false));
                if let Some(module) = import.module.as_ref().filter(|_| self.tries == 0) {
                    let offset = module.range.start().to_usize();
                    self.modules.push((module.as_str(), offset));
                }
            }
            Stmt::Expr(statement) => self.begin(&statement.value, None, true),
            Stmt::Assign(assign) => {
                if let [Expr::Name(target)] = assign.targets.as_slice() {
                    self.begin(&assign.value, Some(target.id.as_str()), true);
                }
            }
            Stmt::For(for_) if !for_.is_async => self.operate(&for_.iter),
            Stmt::AugAssign(assign) => self.operate(&assign.value),
            Stmt::Try(try_) => {
                self.tries += 1;
                self.visit_body(&try_.body);
                self.tries -= 1;
                for handler in &try_.handlers {
                    self.visit_except_handler(handler);
                }
                self.visit_body(&try_.orelse);
                self.visit_body(&try_.finalbody);
                return;
            }
            _ => {}
        }
        walk_stmt(self, stmt);
    }

    /// The interpreter reads none.
    fn visit_annotation(&mut self, _: &'a Expr) {}

    fn visit_except_handler(&mut self, handler: &'a ExceptHandler) {
        let ExceptHandler::ExceptHandler(caught) = handler;
        self.bind(caught.name.as_ref());
        walk_except_handler(self, handler);
    }

    fn visit_parameter(&mut self, parameter: &'a Named) {
        self.bind(Some(&parameter.name));
        walk_parameter(self, parameter);
    }

    fn visit_pattern(&mut self, pattern: &'a Pattern) {
        self.binds_anything = true;
        walk_pattern(self, pattern);
    }

    fn visit_comprehension(&mut self, comprehension: &'a Comprehension) {
        if !comprehension.is_async {
            self.operate(&comprehension.iter);
        }
        walk_comprehension(self, comprehension);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Name(name) => {
                let (text, offset) = (name.id.as_str(), name.range.start().to_usize());
                if !name.ctx.is_load() {
                    self.bound.insert(text);
                    return;
                }
                self.used.insert(text);
                if !self.operands.contains(&offset) {
                    self.used_freely.insert(text);
                }
                if self.tries == 0 {
                    self.names.push((text, offset));
                }
            }
            Expr::Attribute(attribute) => self.operate(&attribute.value),
            Expr::Subscript(subscript) => self.operate(&subscript.value),
            Expr::BinOp(operation) => {
                self.operate(&operation.left);
                self.operate(&operation.right);
            }
            Expr::Compare(comparison) => {
                self.operate(&comparison.left);
                comparison.comparators.iter().for_each(|one| self.operate(one));
            }
            Expr::Call(call) if self.tries == 0 => self.calls.push(call),
            _ => {}
        }
        walk_expr(self, expr);
    }
}

/// The name that is called.
fn called(call: &ExprCall) -> Option<&str> {
    call.func.as_name_expr().map(|name| name.id.as_str())
}

/// Says why a tool does not take the arguments of a call, as far as they are written out.
fn wrong_arguments(call: &ExprCall, tool: &Signature) -> Option<String> {
    let arguments = &call.arguments;
    let is_open = arguments.args.iter().any(Expr::is_starred_expr)
        || arguments.keywords.iter().any(|keyword| keyword.arg.is_none());
    if is_open {
        return None;
    }
    let positional = vec![Value::Null; arguments.args.len()];
    let named = arguments
        .keywords
        .iter()
        .filter_map(|keyword| Some((keyword.arg.as_ref()?.as_str(), &keyword.value)));
    let keywords: Map<_, _> = named
        .clone()
        .map(|(name, _)| (name.to_owned(), Value::Null))
        .collect();
    if let Err(error) = bind(tool, positional, keywords) {
        return Some(error.to_string());
    }
    let by_place = tool.parameters.iter().zip(&arguments.args);
    let by_name = named.filter_map(|(name, value)| {
        let mut parameters = tool.parameters.iter();
        Some((parameters.find(|parameter| parameter.name == name)?, value))
    });
    let mut given = by_place.chain(by_name);
    given.find_map(|(parameter, value)| {
        let value = literal(value)?;
        let message = || {
            let (tool, name) = (&tool.tool.name, &parameter.name);
            let type_ = parameter.type_.python(Position::Parameter);
            let shown: String = types::literal(&value).chars().take(SHOWN).collect();
            format!("{tool}(): the argument {name} is {type_}, and {shown} is not")
        };
        (!may_be_given(&value, parameter)).then(message)
    })
}

/// The value that an expression is, or one of its kind.
fn literal(value: &Expr) -> Option<Value> {
    Some(match value {
        Expr::NoneLiteral(_) => Value::Null,
        Expr::BooleanLiteral(literal) => json!(literal.value),
        Expr::StringLiteral(literal) => json!(literal.value.to_str()),
        Expr::NumberLiteral(literal) => match &literal.value {
            Number::Int(number) => json!(number.as_i64()?),
            Number::Float(number) => json!(number),
            Number::Complex { .. } => return None,
        },
        Expr::List(_) => json!([]),
        Expr::Dict(_) => json!({}),
        _ => return None,
    })
}

fn may_be_given(value: &Value, parameter: &Parameter) -> bool {
    (value.is_null() && !parameter.is_required) || may_be(value, &parameter.type_)
}

fn may_be(value: &Value, type_: &Type) -> bool {
    match type_ {
        // The last two may be of a schema that allows what is no object.
        Type::Any | Type::Dict(_) | Type::Object(_) => true,
        Type::None => value.is_null(),
        Type::Bool => value.is_boolean(),
        // `True` and `3.0` are let pass.
        Type::Int | Type::Float => value.is_number() || value.is_boolean(),
        Type::Str | Type::Date | Type::DateTime => value.is_string(),
        Type::Literal(values) => values.contains(value) || value.is_number() || value.is_boolean(),
        Type::List(_) => value.is_array(),
        Type::File => value.is_object(),
        Type::Union(of) => of.iter().any(|one| may_be(value, one)),
    }
}

#[cfg(test)]
mod tests;
