//! Mutants of a program: small changes of the functions that its suite calls, which the suite should notice.
//!
//! Chosen from the syntax tree alone, the same for the same sources. What cannot be noticed is left out: `return None` as `None`,
//! what is printed or logged, what a function says while it raises.

mod called;
mod changes;

use std::collections::{BTreeMap, BTreeSet};

use ruff_python_ast as ast;

use super::Module;
use super::functions::definitions;
use super::imports::{Guard, imports};
use crate::pipeline::mutants::{MOST_RUN, Mutant, MutantPhase};
use changes::{Change, Kind};

/// Functions that get mutants. So few that some of the mutants that are run are left for one whose first is not noticed.
const MOST_FUNCTIONS: usize = 5;
/// So many of one function must survive before that says something of its suite.
pub const SHOWN_PER_FUNCTION: usize = 3;

/// Mutants of the functions that the suite calls: functions with many changes first, of each the most distinctive change first.
#[must_use]
pub fn mutants(program: &Module, suite: &Module) -> Vec<Mutant> {
    let called = called::by(suite, program);
    let mut functions: Vec<(String, Vec<Change>)> = once(program)
        .into_iter()
        .filter(|(name, _)| called.contains(name))
        .map(|(name, function)| (name, by_worth(changes::of(program, function))))
        .filter(|(_, changes)| !changes.is_empty())
        .collect();
    functions.sort_by_key(|(_, changes)| std::cmp::Reverse(changes.len().min(MOST_RUN as usize)));
    functions.truncate(MOST_FUNCTIONS);
    let of_each = (MOST_RUN as usize / functions.len().max(1)).max(SHOWN_PER_FUNCTION + 1);
    let chosen = functions.into_iter().flat_map(|(function, changes)| {
        let changes = changes.into_iter().take(of_each);
        changes.map(move |change| (function.clone(), change))
    });
    chosen
        .enumerate()
        .map(|(number, (function, change))| Mutant {
            id: format!("m{}", number + 1),
            line: program.line(change.range.start()),
            function,
            what: change.what,
            start: change.range.start().to_usize(),
            end: change.range.end().to_usize(),
            replacement: change.replacement,
        })
        .collect()
}

/// The run of a suite against mutants of a program; `None` where there are none.
#[must_use]
pub fn mutant_phase(program: &Module, suite: &Module, decides: bool) -> Option<MutantPhase> {
    let mutants = mutants(program, suite);
    if mutants.is_empty() {
        return None;
    }
    let modules: BTreeSet<String> = [suite, program]
        .into_iter()
        .flat_map(imports)
        .filter(|import| import.guard == Guard::Required && import.module != "solution")
        .map(|import| import.module)
        .collect();
    Some(MutantPhase {
        solution: program.source().to_owned(),
        tests: BTreeMap::from([("test_solution.py".to_owned(), suite.source().to_owned())]),
        mutants,
        most: MOST_RUN,
        preload: modules.into_iter().collect(),
        decides,
    })
}

/// Functions that are defined once: of two with one name, nobody knows which is called.
fn once(program: &Module) -> Vec<(String, &ast::StmtFunctionDef)> {
    let all: Vec<_> = definitions(program)
        .into_iter()
        .map(|(class, function, _)| (qualname(class.as_deref(), function.name.as_str()), function))
        .collect();
    let mut times: BTreeMap<String, usize> = BTreeMap::new();
    for (name, _) in &all {
        *times.entry(name.clone()).or_default() += 1;
    }
    all.into_iter()
        .filter(|(name, _)| times.get(name) == Some(&1))
        .collect()
}

fn qualname(class: Option<&str>, name: &str) -> String {
    class.map_or_else(|| name.to_owned(), |class| format!("{class}.{name}"))
}

/// The changes of a function, each kind in turn so that the first few differ; constants last, in handlers of errors later.
fn by_worth(changes: Vec<Change>) -> Vec<Change> {
    let mut of_kind: BTreeMap<Kind, Vec<Change>> = BTreeMap::new();
    for change in changes {
        of_kind.entry(change.kind).or_default().push(change);
    }
    if let Some(returns) = of_kind.get_mut(&Kind::Return) {
        // The last one ends the way that most calls take, those before it leave early.
        returns.reverse();
    }
    let mut ranked: Vec<((bool, usize, Kind), Change)> = Vec::new();
    for (kind, mut changes) in of_kind {
        changes.sort_by_key(|change| change.is_rare);
        let ranks = changes.into_iter().enumerate().map(|(turn, change)| {
            (
                (
                    kind == Kind::Constant,
                    turn + 2 * usize::from(change.is_rare),
                    kind,
                ),
                change,
            )
        });
        ranked.extend(ranks);
    }
    ranked.sort_by_key(|(rank, _)| *rank);
    ranked.into_iter().map(|(_, change)| change).collect()
}

#[cfg(test)]
mod tests;
