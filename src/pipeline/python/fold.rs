//! Which strings an expression may evaluate to, over constants, loops on literals and arguments of local calls.
//!
//! Names are resolved without their scope: the answer may hold more than can happen, never less of what is written plainly.

mod bindings;

use std::cell::Cell;
use std::collections::BTreeSet;

use ruff_python_ast::{self as ast, Expr, Operator};

pub(super) use bindings::Bindings;
use bindings::Source;

use super::syntax::dotted;

/// Most values of one expression.
const MAX_VALUES: usize = 256;
/// Most steps to find them.
const MAX_STEPS: u32 = 4_000;
/// Deepest nesting of expressions and names that is followed.
const MAX_DEPTH: u32 = 40;

impl Bindings<'_> {
    /// Every string that the expression may be; empty when that cannot be seen.
    pub(super) fn strings(&self, expr: &Expr) -> BTreeSet<String> {
        Folder::new(self).strings(expr)
    }
}

struct Folder<'b, 'a> {
    bindings: &'b Bindings<'a>,
    steps: Cell<u32>,
    depth: Cell<u32>,
}

impl<'b, 'a> Folder<'b, 'a> {
    const fn new(bindings: &'b Bindings<'a>) -> Self {
        Self {
            bindings,
            steps: Cell::new(MAX_STEPS),
            depth: Cell::new(0),
        }
    }

    /// Runs one step, unless the search has become too long or too deep.
    fn step(&self, work: impl FnOnce() -> BTreeSet<String>) -> BTreeSet<String> {
        if self.steps.get() == 0 || self.depth.get() == MAX_DEPTH {
            return BTreeSet::new();
        }
        self.steps.update(|steps| steps - 1);
        self.depth.update(|depth| depth + 1);
        let values = work();
        self.depth.update(|depth| depth - 1);
        values
    }

    fn strings(&self, expr: &Expr) -> BTreeSet<String> {
        self.step(|| self.strings_of(expr))
    }

    fn strings_of(&self, expr: &Expr) -> BTreeSet<String> {
        match expr {
            Expr::StringLiteral(string) => BTreeSet::from([string.value.to_str().to_owned()]),
            Expr::FString(string) => self.fstring(string),
            Expr::Name(name) => self.named(name.id.as_str()),
            Expr::Attribute(attribute) => {
                let mut values = self.named(&format!(".{}", attribute.attr));
                values.extend(self.named(attribute.attr.as_str()));
                values
            }
            Expr::BinOp(operation) => match operation.op {
                Operator::Add => product(
                    &self.strings(&operation.left),
                    &self.strings(&operation.right),
                    |a, b| a + b,
                ),
                Operator::Div => product(
                    &self.strings(&operation.left),
                    &self.strings(&operation.right),
                    |a, b| join(&a, b),
                ),
                Operator::Mod => product(
                    &self.strings(&operation.left),
                    &self.strings(&operation.right),
                    |a, b| a.replacen("%s", b, 1),
                ),
                _ => BTreeSet::new(),
            },
            Expr::If(branch) => union(self.strings(&branch.body), self.strings(&branch.orelse)),
            Expr::BoolOp(operation) => operation
                .values
                .iter()
                .fold(BTreeSet::new(), |values, expr| union(values, self.strings(expr))),
            Expr::Named(named) => self.strings(&named.value),
            Expr::Subscript(subscript) => self.subscript(subscript),
            Expr::Call(call) => self.call(call),
            _ => BTreeSet::new(),
        }
    }

    fn fstring(&self, string: &ast::ExprFString) -> BTreeSet<String> {
        let mut values = BTreeSet::from([String::new()]);
        for part in &string.value {
            match part {
                ast::FStringPart::Literal(literal) => {
                    values = product(&values, &one(&literal.value), |a, b| a + b);
                }
                ast::FStringPart::FString(part) => {
                    for element in &part.elements {
                        let next = match element {
                            ast::InterpolatedStringElement::Literal(literal) => one(&literal.value),
                            ast::InterpolatedStringElement::Interpolation(inner)
                                if inner.format_spec.is_none() =>
                            {
                                self.strings(&inner.expression)
                            }
                            ast::InterpolatedStringElement::Interpolation(_) => BTreeSet::new(),
                        };
                        values = product(&values, &next, |a, b| a + b);
                    }
                }
            }
        }
        values
    }

    fn named(&self, name: &str) -> BTreeSet<String> {
        let mut values = BTreeSet::new();
        for source in self.bindings.sources.get(name).into_iter().flatten() {
            match *source {
                Source::Value(expr) => values.extend(self.strings(expr)),
                Source::Element(iter, position) => values.extend(self.elements(iter, position)),
            }
            if values.len() > MAX_VALUES || self.steps.get() == 0 {
                break;
            }
        }
        values
    }

    /// Strings among the elements of an iterable.
    fn elements(&self, iter: &Expr, position: Option<usize>) -> BTreeSet<String> {
        self.step(|| self.elements_of(iter, position))
    }

    fn elements_of(&self, iter: &Expr, position: Option<usize>) -> BTreeSet<String> {
        let part = |element: &Expr| match (position, element) {
            (None, _) => self.strings(element),
            (Some(at), Expr::Tuple(ast::ExprTuple { elts, .. }) | Expr::List(ast::ExprList { elts, .. })) => {
                elts.get(at)
                    .map(|element| self.strings(element))
                    .unwrap_or_default()
            }
            (Some(_), _) => BTreeSet::new(),
        };
        match iter {
            Expr::List(ast::ExprList { elts, .. }) | Expr::Tuple(ast::ExprTuple { elts, .. }) => {
                elts.iter().flat_map(part).collect()
            }
            Expr::Set(set) => set.elts.iter().flat_map(part).collect(),
            Expr::Dict(dict) => dict
                .items
                .iter()
                .filter_map(|item| item.key.as_ref())
                .flat_map(part)
                .collect(),
            Expr::Name(name) => self.through(name.id.as_str(), |expr| self.elements(expr, position)),
            Expr::Attribute(attribute) => self.through(&format!(".{}", attribute.attr), |expr| {
                self.elements(expr, position)
            }),
            Expr::Call(call) => self.elements_of_call(call, position),
            _ => BTreeSet::new(),
        }
    }

    fn elements_of_call(&self, call: &ast::ExprCall, position: Option<usize>) -> BTreeSet<String> {
        match call.func.as_ref() {
            Expr::Attribute(method) if method.attr.as_str() == "items" => match position {
                Some(0) => self.elements(&method.value, None),
                Some(1) => self.dict_values(&method.value),
                _ => BTreeSet::new(),
            },
            Expr::Attribute(method) if method.attr.as_str() == "keys" => self.elements(&method.value, None),
            Expr::Attribute(method) if method.attr.as_str() == "values" => self.dict_values(&method.value),
            Expr::Name(name)
                if matches!(name.id.as_str(), "sorted" | "list" | "tuple" | "set" | "reversed") =>
            {
                call.arguments
                    .args
                    .first()
                    .map(|iter| self.elements(iter, position))
                    .unwrap_or_default()
            }
            Expr::Name(name) if name.id.as_str() == "dict" => call
                .arguments
                .keywords
                .iter()
                .filter_map(|keyword| keyword.arg.as_ref())
                .map(ToString::to_string)
                .collect(),
            _ => BTreeSet::new(),
        }
    }

    fn dict_values(&self, expr: &Expr) -> BTreeSet<String> {
        match expr {
            Expr::Dict(dict) => dict
                .items
                .iter()
                .flat_map(|item| self.strings(&item.value))
                .collect(),
            Expr::Name(name) => self.through(name.id.as_str(), |expr| match expr {
                Expr::Dict(dict) => dict
                    .items
                    .iter()
                    .flat_map(|item| self.strings(&item.value))
                    .collect(),
                _ => BTreeSet::new(),
            }),
            _ => BTreeSet::new(),
        }
    }

    fn through(&self, name: &str, follow: impl Fn(&Expr) -> BTreeSet<String>) -> BTreeSet<String> {
        let sources = self.bindings.sources.get(name).into_iter().flatten();
        sources
            .filter_map(|source| {
                if let Source::Value(expr) = source {
                    Some(*expr)
                } else {
                    None
                }
            })
            .flat_map(follow)
            .collect()
    }

    fn subscript(&self, subscript: &ast::ExprSubscript) -> BTreeSet<String> {
        let keys = self.strings(&subscript.slice);
        let pick = |expr: &Expr| match expr {
            Expr::Dict(dict) => dict
                .items
                .iter()
                .filter(|item| {
                    item.key
                        .as_ref()
                        .is_some_and(|key| !self.strings(key).is_disjoint(&keys))
                })
                .flat_map(|item| self.strings(&item.value))
                .collect(),
            _ => BTreeSet::new(),
        };
        match subscript.value.as_ref() {
            Expr::Name(name) => self.through(name.id.as_str(), pick),
            other => pick(other),
        }
    }

    fn call(&self, call: &ast::ExprCall) -> BTreeSet<String> {
        let args = &call.arguments.args;
        let joined = |first: BTreeSet<String>, rest: &[Expr]| {
            rest.iter().fold(first, |paths, part| {
                product(&paths, &self.strings(part), |a, b| join(&a, b))
            })
        };
        if let Expr::Attribute(method) = call.func.as_ref() {
            match method.attr.as_str() {
                "joinpath" => return joined(self.strings(&method.value), args),
                "resolve" | "absolute" | "expanduser" | "as_posix" => return self.strings(&method.value),
                "format" => {
                    let texts = self.strings(&method.value);
                    let filled = args.iter().fold(texts, |texts, arg| {
                        product(&texts, &self.strings(arg), |a, b| a.replacen("{}", b, 1))
                    });
                    return call.arguments.keywords.iter().fold(filled, |texts, keyword| {
                        match &keyword.arg {
                            Some(name) => product(&texts, &self.strings(&keyword.value), |a, b| {
                                a.replace(&format!("{{{name}}}"), b)
                            }),
                            None => texts,
                        }
                    });
                }
                _ => {}
            }
        }
        let (Some(function), Some(first)) = (dotted(&call.func), args.first()) else {
            return BTreeSet::new();
        };
        match function.rsplit('.').next().unwrap_or_default() {
            "Path" | "PurePath" | "PosixPath" | "PurePosixPath" | "join" => {
                joined(self.strings(first), &args[1..])
            }
            "str" | "fspath" | "normpath" | "abspath" | "realpath" => self.strings(first),
            "getenv" | "get" => args
                .get(1)
                .map(|default| self.strings(default))
                .unwrap_or_default(),
            _ => BTreeSet::new(),
        }
    }
}

fn one(text: &str) -> BTreeSet<String> {
    BTreeSet::from([text.to_owned()])
}

fn union(mut left: BTreeSet<String>, right: BTreeSet<String>) -> BTreeSet<String> {
    left.extend(right);
    left
}

fn product(
    left: &BTreeSet<String>,
    right: &BTreeSet<String>,
    combine: impl Fn(String, &str) -> String,
) -> BTreeSet<String> {
    left.iter()
        .flat_map(|a| right.iter().map(|b| combine(a.clone(), b)).collect::<Vec<_>>())
        .take(MAX_VALUES)
        .collect()
}

fn join(base: &str, part: &str) -> String {
    if part.starts_with('/') {
        part.to_owned()
    } else {
        format!("{}/{part}", base.trim_end_matches('/'))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Module;
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("x = '/var/outputs/mean'", &["/var/outputs/mean"])]
    #[case("A = '/var'\nx = f'{A}/outputs'", &["/var/outputs"])]
    #[case("A = '/var'\nx = A + '/outputs'", &["/var/outputs"])]
    #[case("A = Path('/var')\nx = A / 'outputs' / 'mean'", &["/var/outputs/mean"])]
    #[case("A = Path('/var')\nx = A.joinpath('outputs', 'mean')", &["/var/outputs/mean"])]
    #[case("import os\nA = '/var/outputs/'\nx = os.path.join(A, 'mean')", &["/var/outputs/mean"])]
    #[case("for n in ['a', 'b']:\n    x = '/o/' + n", &["/o/a", "/o/b"])]
    #[case("R = {'a': 1, 'b': 2}\nfor n, v in R.items():\n    x = f'/o/{n}'", &["/o/a", "/o/b"])]
    #[case("for n, t in [('a', int), ('b', str)]:\n    x = f'--{n}'", &["--a", "--b"])]
    #[case("def w(name, value):\n    x = f'/o/{name}'\nw('a', 1)\nw(name='b', value=2)", &["/o/a", "/o/b"])]
    #[case("def w(out='/o'):\n    x = out + '/a'", &["/o/a"])]
    #[case("x = '/o/{}'.format('a')", &["/o/a"])]
    #[case("x = '/o/%s' % 'a'", &["/o/a"])]
    #[case("P = {'a': '/o/a'}\nx = P['a']", &["/o/a"])]
    #[case("class C:\n    D = '/o'\nx = C.D + '/a'", &["/o/a"])]
    #[case("class C:\n    def __init__(self):\n        self.d = Path('/o')\n    def r(self):\n        x = self.d / 'a'", &["/o/a"])]
    #[case("x = read()", &[])]
    #[case("x = x + 'a'", &[])]
    #[case("x = y\ny = x\nfor x in x:\n    pass", &[])]
    fn strings_are_found(#[case] source: &str, #[case] expected: &[&str]) {
        let module = Module::parse(source).unwrap();
        let bindings = Bindings::of(module.body());
        let values = Folder::new(&bindings).named("x");
        assert_eq!(values, expected.iter().map(|text| (*text).to_owned()).collect());
    }
}
