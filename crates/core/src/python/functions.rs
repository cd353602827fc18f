//! The functions of a file: where they are, what they call, which of them a failure touches.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Range, RangeInclusive};

use ruff_python_ast::{self as ast, Stmt};
use ruff_text_size::Ranged;

use super::Module;
use super::syntax::{Aliases, Mentions};

/// A function at the top of a file, or a method of a class there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// `mean_mass`, `Table.rows`.
    pub qualname: String,
    /// Bytes of its source, decorators included.
    pub range: Range<usize>,
    /// Lines of its source, counted from 1.
    pub lines: RangeInclusive<u32>,
    /// Names and attributes that its body mentions.
    mentions: BTreeSet<String>,
}

impl Function {
    /// Its name without the class.
    #[must_use]
    pub fn name(&self) -> &str {
        self.qualname.rsplit('.').next().unwrap_or(&self.qualname)
    }
}

/// Functions and methods in order of the source; functions within functions belong to the outer one.
#[must_use]
pub fn functions(module: &Module) -> Vec<Function> {
    let mut found = Vec::new();
    for (class, function, stmt) in definitions(module) {
        let qualname = class.map_or_else(
            || function.name.to_string(),
            |class| format!("{class}.{}", function.name),
        );
        let mentions = Mentions::of(std::slice::from_ref(stmt));
        found.push(Function {
            qualname,
            range: function.range.to_std_range(),
            lines: module.line(function.start())..=module.line(function.end()),
            mentions: mentions
                .names
                .union(&mentions.attributes)
                .map(|name| (*name).to_owned())
                .collect(),
        });
    }
    found
}

/// Every function with the class it is in; those in branches and classes within classes are found too.
pub(super) fn definitions(module: &Module) -> Vec<(Option<String>, &ast::StmtFunctionDef, &Stmt)> {
    let mut found = Vec::new();
    collect(module.body(), None, &mut found);
    found
}

fn collect<'a>(
    body: &'a [Stmt],
    class: Option<&str>,
    found: &mut Vec<(Option<String>, &'a ast::StmtFunctionDef, &'a Stmt)>,
) {
    for stmt in body {
        match stmt {
            Stmt::FunctionDef(function) => found.push((class.map(str::to_owned), function, stmt)),
            Stmt::ClassDef(inner) => {
                let name = class.map_or_else(
                    || inner.name.to_string(),
                    |outer| format!("{outer}.{}", inner.name),
                );
                collect(&inner.body, Some(&name), found);
            }
            Stmt::If(branch) => {
                collect(&branch.body, class, found);
                branch
                    .elif_else_clauses
                    .iter()
                    .for_each(|clause| collect(&clause.body, class, found));
            }
            Stmt::Try(attempt) => {
                collect(&attempt.body, class, found);
                for ast::ExceptHandler::ExceptHandler(handler) in &attempt.handlers {
                    collect(&handler.body, class, found);
                }
                collect(&attempt.orelse, class, found);
            }
            _ => {}
        }
    }
}

/// The function that a line belongs to.
#[must_use]
pub fn enclosing(functions: &[Function], line: u32) -> Option<&Function> {
    functions
        .iter()
        .filter(|function| function.lines.contains(&line))
        .min_by_key(|function| function.range.len())
}

/// Qualified names of the functions among `functions` that one of them calls, itself left out.
#[must_use]
pub fn calls_from(functions: &[Function], caller: &Function) -> BTreeSet<String> {
    let others = functions
        .iter()
        .filter(|function| function.qualname != caller.qualname);
    others
        .filter(|function| mentions(&caller.mentions, function))
        .map(|function| function.qualname.clone())
        .collect()
}

/// Making an object calls its constructor.
fn mentions(names: &BTreeSet<String>, function: &Function) -> bool {
    names.contains(function.name())
        || function
            .qualname
            .strip_suffix(".__init__")
            .is_some_and(|class| names.contains(class))
}

/// Source of a function or method, decorators included.
#[must_use]
pub fn source_of<'a>(module: &'a Module, qualname: &str) -> Option<&'a str> {
    let function = functions(module)
        .into_iter()
        .rev()
        .find(|function| function.qualname == qualname)?;
    module.source().get(function.range)
}

/// Functions of the program that a test mentions: itself, or through fixtures and helpers of the test file.
#[must_use]
pub fn referenced_by(suite: &Module, test: &str, program: &Module) -> BTreeSet<String> {
    let local: BTreeMap<String, (BTreeSet<String>, BTreeSet<String>)> = definitions(suite)
        .into_iter()
        .map(|(class, function, stmt)| {
            let qualname = class.map_or_else(
                || function.name.to_string(),
                |class| format!("{class}.{}", function.name),
            );
            let mentions = Mentions::of(std::slice::from_ref(stmt));
            let parameters = function
                .parameters
                .iter()
                .map(|parameter| parameter.name().to_string());
            let names = mentions
                .names
                .union(&mentions.attributes)
                .map(|name| (*name).to_owned());
            (qualname, (names.collect(), parameters.collect()))
        })
        .collect();
    let aliases = Aliases::of(suite.body());
    let mut reached = BTreeSet::new();
    let mut waiting = vec![test.to_owned()];
    let mut names = BTreeSet::new();
    while let Some(qualname) = waiting.pop() {
        let Some((mentioned, parameters)) = local.get(&qualname) else {
            continue;
        };
        if !reached.insert(qualname) {
            continue;
        }
        names.extend(mentioned.iter().map(|name| aliases.original(name)));
        let uses = |other: &&String| {
            let name = other.rsplit('.').next().unwrap_or(other);
            mentioned.contains(name) || parameters.contains(name)
        };
        waiting.extend(local.keys().filter(uses).cloned());
    }
    let program = functions(program)
        .into_iter()
        .filter(|function| mentions(&names, function));
    program.map(|function| function.qualname).collect()
}

/// Functions on the way to a failure, in order of the source: those of the frames (line and name) and those that the test
/// calls; where no frame lies in the program also what the called ones call.
#[must_use]
pub fn on_the_way(module: &Module, frames: &[(u32, &str)], called: &BTreeSet<String>) -> Vec<String> {
    let functions = functions(module);
    let mut way = called.clone();
    let mut has_frame = false;
    for (line, name) in frames {
        let at = enclosing(&functions, *line)
            .or_else(|| functions.iter().find(|function| function.name() == *name));
        if let Some(function) = at {
            has_frame = true;
            way.insert(function.qualname.clone());
        }
    }
    if !has_frame {
        let mut waiting: Vec<_> = called.iter().cloned().collect();
        while let Some(qualname) = waiting.pop() {
            for caller in functions.iter().filter(|function| function.qualname == qualname) {
                for next in calls_from(&functions, caller) {
                    if way.insert(next.clone()) {
                        waiting.push(next);
                    }
                }
            }
        }
    }
    let mut seen = BTreeSet::new();
    let in_order = functions.into_iter().map(|function| function.qualname);
    in_order
        .filter(|qualname| way.contains(qualname) && seen.insert(qualname.clone()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROGRAM: &str = "\
import csv

def read(path):
    with open(path) as file:
        return list(csv.DictReader(file))

class Table:
    def __init__(self, rows):
        self.rows = rows

    @property
    def size(self):
        return count(self.rows)

def count(rows):
    def one(row):
        return 1
    return sum(one(row) for row in rows)

def mean(rows):
    return total(rows) / count(rows)

def total(rows):
    return sum(rows)

def main():
    return Table(read('a')).size
";

    fn program() -> Module {
        Module::parse(PROGRAM).unwrap()
    }

    #[test]
    fn functions_and_methods_are_listed_in_order() {
        let names: Vec<_> = functions(&program())
            .into_iter()
            .map(|function| function.qualname)
            .collect();
        assert_eq!(
            names,
            [
                "read",
                "Table.__init__",
                "Table.size",
                "count",
                "mean",
                "total",
                "main"
            ]
        );
    }

    #[test]
    fn a_line_belongs_to_its_enclosing_function() {
        let functions = functions(&program());
        assert_eq!(enclosing(&functions, 5).unwrap().qualname, "read");
        assert_eq!(enclosing(&functions, 11).unwrap().qualname, "Table.size");
        assert_eq!(enclosing(&functions, 17).unwrap().qualname, "count");
        assert!(enclosing(&functions, 1).is_none());
    }

    #[test]
    fn local_calls_are_found_also_of_constructors() {
        let functions = functions(&program());
        let main = functions.last().unwrap();
        assert_eq!(
            calls_from(&functions, main).into_iter().collect::<Vec<_>>(),
            ["Table.__init__", "Table.size", "read"]
        );
    }

    #[test]
    fn the_source_of_a_method_has_its_decorators() {
        let source = source_of(&program(), "Table.size").unwrap().to_owned();
        assert_eq!(
            source,
            "@property\n    def size(self):\n        return count(self.rows)"
        );
        assert!(source_of(&program(), "missing").is_none());
    }

    #[test]
    fn a_test_refers_to_functions_also_through_fixtures_and_helpers() {
        let suite = Module::parse(
            "import pytest\nimport solution\nfrom solution import mean as average\n\
             @pytest.fixture\ndef table():\n    return solution.Table([])\n\
             def check(rows):\n    assert average(rows) == 1\n\
             class TestMean:\n    def test_a(self, table):\n        check(table.rows)\n\
             def test_b():\n    assert solution.total([]) == 0\n",
        )
        .unwrap();
        let referenced = |test| {
            referenced_by(&suite, test, &program())
                .into_iter()
                .collect::<Vec<_>>()
        };
        assert_eq!(referenced("TestMean.test_a"), ["Table.__init__", "mean"]);
        assert_eq!(referenced("test_b"), ["total"]);
        assert!(referenced("missing").is_empty());
    }

    #[test]
    fn the_way_to_a_failure_is_short() {
        let called = BTreeSet::from(["mean".to_owned()]);
        assert_eq!(
            on_the_way(&program(), &[(21, "mean"), (24, "total")], &called),
            ["mean", "total"]
        );
        assert_eq!(on_the_way(&program(), &[], &called), ["count", "mean", "total"]);
        assert_eq!(
            on_the_way(&program(), &[(9_999, "read")], &BTreeSet::new()),
            ["read"]
        );
    }
}
