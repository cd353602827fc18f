//! A file without its bodies: as an outline for a prompt, and as a stub that a suite is run against.

use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::{Ranged, TextRange};

use super::Module;
use super::functions::definitions;
use super::syntax::{assigned, docstring};

/// Longest value of a constant that an outline shows, bytes.
const MAX_VALUE: usize = 60;

/// Signatures, docstrings and constants in order; bodies as `...`, imports left out.
#[must_use]
pub fn outline(module: &Module) -> String {
    let mut lines = Vec::new();
    for stmt in module.body() {
        describe(module, stmt, "", &mut lines);
    }
    lines.push(String::new());
    if lines.len() == 1 {
        String::new()
    } else {
        lines.join("\n")
    }
}

fn describe(module: &Module, stmt: &Stmt, indent: &str, lines: &mut Vec<String>) {
    match stmt {
        Stmt::FunctionDef(function) => describe_function(module, function, indent, lines),
        Stmt::ClassDef(class) => describe_class(module, class, indent, lines),
        Stmt::Assign(ast::StmtAssign { value, .. }) => describe_constant(module, stmt, value, indent, lines),
        Stmt::AnnAssign(assign) => match &assign.value {
            Some(value) => describe_constant(module, stmt, value, indent, lines),
            None => lines.push(format!("{indent}{}", compact(module.text(assign)))),
        },
        _ => {}
    }
}

fn describe_constant(module: &Module, stmt: &Stmt, value: &Expr, indent: &str, lines: &mut Vec<String>) {
    let names = assigned(stmt);
    if names.is_empty() {
        return;
    }
    let text = module.text(value);
    let shown = if text.len() <= MAX_VALUE && !text.contains('\n') {
        text
    } else {
        "..."
    };
    let annotation = match stmt {
        Stmt::AnnAssign(assign) => format!(": {}", compact(module.text(assign.annotation.as_ref()))),
        _ => String::new(),
    };
    lines.push(format!("{indent}{}{annotation} = {shown}", names.join(", ")));
}

fn describe_function(
    module: &Module,
    function: &ast::StmtFunctionDef,
    indent: &str,
    lines: &mut Vec<String>,
) {
    decorators(module, &function.decorator_list, indent, lines);
    let keyword = if function.is_async { "async def" } else { "def" };
    let generics = function
        .type_params
        .as_deref()
        .map(|params| module.text(params))
        .unwrap_or_default();
    let parameters = compact(module.text(function.parameters.as_ref()));
    let returns = function
        .returns
        .as_deref()
        .map(|returns| format!(" -> {}", compact(module.text(returns))))
        .unwrap_or_default();
    let head = format!(
        "{indent}{keyword} {}{generics}{parameters}{returns}:",
        function.name
    );
    match docstring(&function.body) {
        Some(text) => lines.extend([
            head,
            format!("{indent}    {}", module.text(text)),
            format!("{indent}    ..."),
        ]),
        None => lines.push(format!("{head} ...")),
    }
}

fn describe_class(module: &Module, class: &ast::StmtClassDef, indent: &str, lines: &mut Vec<String>) {
    decorators(module, &class.decorator_list, indent, lines);
    let generics = class
        .type_params
        .as_deref()
        .map(|params| module.text(params))
        .unwrap_or_default();
    let bases = class
        .arguments
        .as_deref()
        .map(|bases| compact(module.text(bases)))
        .unwrap_or_default();
    lines.push(format!("{indent}class {}{generics}{bases}:", class.name));
    let inner = format!("{indent}    ");
    let before = lines.len();
    if let Some(text) = docstring(&class.body) {
        lines.push(format!("{inner}{}", module.text(text)));
    }
    for stmt in &class.body {
        describe(module, stmt, &inner, lines);
    }
    if lines.len() == before {
        lines.push(format!("{inner}..."));
    }
}

fn decorators(module: &Module, list: &[ast::Decorator], indent: &str, lines: &mut Vec<String>) {
    lines.extend(
        list.iter()
            .map(|decorator| format!("{indent}{}", compact(module.text(decorator)))),
    );
}

/// A signature on one line; as it is where that could change its meaning.
fn compact(text: &str) -> String {
    if !text.contains('\n') || text.contains(['#', '"', '\'', '\\']) {
        return text.to_owned();
    }
    let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
    joined
        .replace("( ", "(")
        .replace("[ ", "[")
        .replace(", )", ")")
        .replace(" )", ")")
        .replace(", ]", "]")
        .replace(" ]", "]")
}

/// The same file with every body of a function replaced by `...`; docstrings, classes, constants and the main guard stay.
#[must_use]
pub fn stub(module: &Module) -> String {
    let mut source = module.source().to_owned();
    for (_, function, _) in definitions(module).into_iter().rev() {
        let (Some(first), Some(last)) = (function.body.first(), function.body.last()) else {
            continue;
        };
        let body = TextRange::new(first.start(), last.end());
        match (docstring(&function.body), function.body.get(1)) {
            (Some(_), None) => {}
            (Some(_), Some(second)) => {
                source.replace_range(TextRange::new(second.start(), last.end()).to_std_range(), "...");
            }
            (None, _) => source.replace_range(body.to_std_range(), "..."),
        }
    }
    source
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    const PROGRAM: &str = r#"#!/usr/bin/env python3
"""Mean mass."""
from __future__ import annotations

import csv
from functools import lru_cache

LIMIT = 10
NAMES: list[str] = ["a"]
TABLE = {
    "a": 1,
}


@lru_cache(maxsize=None)
def mean(
    rows: list[float],
    *,
    decimals: int = 2,
) -> float:
    """Mean of the rows.

    Empty rows give 0.
    """
    # The sum first.
    total = sum(rows)
    return round(total / len(rows), decimals)


def short(): return 1


class Table:
    """Rows."""

    width: int
    kind = "plain"

    def __init__(self, rows):
        self.rows = rows

    async def load(self): await self.rows


class Empty(Exception):
    pass


if __name__ == "__main__":
    print(mean([1.0]))
"#;

    #[test]
    fn an_outline_has_signatures_docstrings_and_constants() {
        let expected = r#"LIMIT = 10
NAMES: list[str] = ["a"]
TABLE = ...
@lru_cache(maxsize=None)
def mean(rows: list[float], *, decimals: int = 2) -> float:
    """Mean of the rows.

    Empty rows give 0.
    """
    ...
def short(): ...
class Table:
    """Rows."""
    width: int
    kind = "plain"
    def __init__(self, rows): ...
    async def load(self): ...
class Empty(Exception):
    ...
"#;
        assert_eq!(outline(&Module::parse(PROGRAM).unwrap()), expected);
    }

    #[test]
    fn an_outline_is_python() {
        assert!(Module::parse(&outline(&Module::parse(PROGRAM).unwrap())).is_ok());
    }

    #[test]
    fn a_stub_keeps_everything_but_bodies() {
        let stub = stub(&Module::parse(PROGRAM).unwrap());
        assert!(Module::parse(&stub).is_ok());
        assert!(!stub.contains("sum(rows)") && !stub.contains("self.rows") && !stub.contains("return"));
        for kept in [
            "import csv",
            "LIMIT = 10",
            "\"\"\"Mean of the rows.",
            "class Empty(Exception):",
            "print(mean([1.0]))",
        ] {
            assert!(stub.contains(kept), "{kept}");
        }
    }

    #[rstest]
    #[case("def f():\n    '''Doc.'''\n", "def f():\n    '''Doc.'''\n")]
    #[case(
        "def f():\n    '''Doc.'''\n    return 1\n",
        "def f():\n    '''Doc.'''\n    ...\n"
    )]
    #[case(
        "def f():\n    def g():\n        return 1\n    return g\n",
        "def f():\n    ...\n"
    )]
    #[case(
        "class A:\n    def f(self):\n        return '''\n  x'''\n",
        "class A:\n    def f(self):\n        ...\n"
    )]
    #[case(
        "if True:\n    def f():\n        return 1\n",
        "if True:\n    def f():\n        ...\n"
    )]
    fn bodies_of_any_form_are_replaced(#[case] source: &str, #[case] expected: &str) {
        assert_eq!(stub(&Module::parse(source).unwrap()), expected);
    }
}
