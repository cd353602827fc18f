//! Two tests of ours among those of a suite, by which a session shows that its report is true: one passes and one fails,
//! whatever the program does.
//!
//! They lie where tests lie, are called as tests are called, and no line of the suite moves: each fills two blank lines
//! between top-level statements, or follows the last one.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use ruff_python_ast::Stmt;
use ruff_text_size::Ranged as _;

use super::Module;
use super::suite::test_functions;
use super::syntax::{docstring, is_import};
use crate::pipeline::digest::sha256_hex_of_parts;
use crate::pipeline::sandbox::{Job, Phase, PhaseReport, Report, Sentinels};

/// What decides about other tests of a file as well: there, a test that takes nothing may not be called as it is.
const DECIDES_FOR_ALL: [&str; 3] = ["pytestmark", "pytest_generate_tests", "autouse"];
/// Words of names where a suite has none.
const WORDS: [&str; 4] = ["result", "values", "empty", "order"];
/// Names that are tried before one gets a number.
const TRIES: u32 = 64;

/// The suite with two more tests, and which these are. The same `secret` plants the same.
#[must_use]
pub fn plant(tests: &BTreeMap<String, String>, secret: &str) -> (BTreeMap<String, String>, Sentinels) {
    let mut planted = tests.clone();
    let names: Vec<&String> = tests.keys().collect();
    let mut draw = Draw { secret, count: 0 };
    let must_pass = put(&mut planted, names.first().copied(), true, &mut draw);
    let must_fail = put(&mut planted, names.last().copied(), false, &mut draw);
    (planted, Sentinels { must_pass, must_fail })
}

/// Takes them out of what people and models are shown: nobody knows these tests.
pub fn take_out(job: &Job, report: &mut Report) {
    for (phase, done) in job.phases.iter().zip(&mut report.phases) {
        if let Phase::Tests(asked) = phase {
            take_out_of(&asked.sentinels, done);
        }
    }
}

fn take_out_of(sentinels: &Sentinels, done: &mut PhaseReport) {
    let ours = [&sentinels.must_pass, &sentinels.must_fail];
    if let Some(tests) = &mut done.tests {
        tests.collected.retain(|id| !ours.contains(&id));
        tests.results.retain(|result| !ours.contains(&&result.id));
    }
    let name = sentinels.must_fail.rsplit("::").next().unwrap_or_default();
    done.stdout = without_section(&done.stdout, name);
}

/// pytest's words without its section on one test: `____ test_mean ____` and what follows.
fn without_section(words: &str, test: &str) -> String {
    let is_rule = |line: &str| line.starts_with("__") || line.starts_with("==");
    let mut kept = String::new();
    let mut is_ours = false;
    for line in words.lines() {
        if is_rule(line) {
            is_ours = line.starts_with("__") && line.trim_matches(['_', ' ']) == test.trim_matches('_');
        }
        if !is_ours {
            let _ = writeln!(kept, "{line}");
        }
    }
    kept
}

/// Puts one into `file`, or into a file of its own; its node id.
fn put(
    tests: &mut BTreeMap<String, String>,
    file: Option<&String>,
    passes: bool,
    draw: &mut Draw<'_>,
) -> String {
    let text = file.and_then(|file| tests.get(file)).cloned().unwrap_or_default();
    let module = Module::parse(&text).ok();
    let name = name(module.as_ref(), tests, draw);
    let is_shared = !DECIDES_FOR_ALL.iter().any(|word| text.contains(word));
    if let (Some(file), Some(module), true) = (file, &module, is_shared) {
        let body = assertion(module, passes, draw);
        if let Some(planted) = insert(module, &name, &body, draw) {
            tests.insert(file.clone(), planted);
            return format!("{file}::{name}");
        }
    }
    let own = format!("{name}.py");
    let body = assertion_without_names(passes, draw);
    tests.insert(own.clone(), format!("def {name}():\n    {body}\n"));
    format!("{own}::{name}")
}

/// Numbers that follow from a secret.
struct Draw<'a> {
    secret: &'a str,
    count: u32,
}

impl Draw<'_> {
    /// A number below `end`.
    fn below(&mut self, end: usize) -> usize {
        self.count += 1;
        let digest = sha256_hex_of_parts(&[self.secret, &self.count.to_string()]);
        let number = u64::from_str_radix(&digest[..15], 16).unwrap_or_default();
        usize::try_from(number % end.max(1) as u64).unwrap_or_default()
    }

    fn one_of<'b, T: ?Sized>(&mut self, all: &[&'b T]) -> Option<&'b T> {
        let index = self.below(all.len());
        all.get(index).copied()
    }
}

/// A name of the suite's own words: no list of words distinguishes it from the others.
fn name(module: Option<&Module>, tests: &BTreeMap<String, String>, draw: &mut Draw<'_>) -> String {
    let is_taken = |name: &str| {
        tests.contains_key(&format!("{name}.py")) || tests.values().any(|text| text.contains(name))
    };
    let functions = module.map(test_functions).unwrap_or_default();
    let mut known: Vec<&str> = functions
        .iter()
        .filter_map(|test| test.qualname.rsplit('.').next())
        .filter_map(|name| name.strip_prefix("test_"))
        .filter(|name| !name.is_empty())
        .collect();
    if known.is_empty() {
        known.extend(WORDS);
    }
    let mut name = String::new();
    for _ in 0..TRIES {
        let start: Vec<&str> = draw.one_of(&known).unwrap_or_default().split('_').collect();
        let end: Vec<&str> = draw.one_of(&known).unwrap_or_default().split('_').collect();
        let first = draw.below(start.len());
        let last = draw.below(end.len());
        let words = [&start[..=first], &end[last..]].concat();
        name = format!("test_{}", words.join("_"));
        if !is_taken(&name) {
            return name;
        }
    }
    let mut numbered = (2..10_000).map(|number| format!("{name}_{number}"));
    let free = numbered.find(|name| !is_taken(name));
    free.unwrap_or_default()
}

/// An assertion whose truth hangs on nothing that a program does, though it names what the program has.
fn assertion(module: &Module, passes: bool, draw: &mut Draw<'_>) -> String {
    let names: Vec<&str> = module
        .body()
        .iter()
        .filter_map(Stmt::as_import_from_stmt)
        .filter(|import| import.module.as_ref().is_some_and(|from| from == "solution"))
        .flat_map(|import| &import.names)
        .filter(|alias| &alias.name != "*")
        .map(|alias| alias.asname.as_ref().unwrap_or(&alias.name).as_str())
        .collect();
    match draw.one_of(&names) {
        Some(name) => assertion_on(name, passes, draw),
        None => assertion_without_names(passes, draw),
    }
}

fn assertion_without_names(passes: bool, draw: &mut Draw<'_>) -> String {
    let number = 2 + draw.below(90);
    assertion_on(&number.to_string(), passes, draw)
}

fn assertion_on(value: &str, passes: bool, draw: &mut Draw<'_>) -> String {
    let (number, more) = (2 + draw.below(90), 2 + draw.below(9));
    let wrong = if passes { 0 } else { more };
    match draw.below(3) {
        0 => format!("assert [{value}, {number}][1] == {}", number + wrong),
        1 => format!(
            "assert ({number}, {value})[0] + {more} == {}",
            number + more + wrong
        ),
        _ => format!(
            "assert {{{number}: {more}, \"a\": {value}}}[{number}] == {}",
            more + wrong
        ),
    }
}

/// The file with this test in it: where it was drawn, else at its end. What is no longer the same file with one statement more is none.
fn insert(module: &Module, name: &str, assertion: &str, draw: &mut Draw<'_>) -> Option<String> {
    let gaps = gaps(module);
    let choice = draw.below(gaps.len() + 1);
    let text = module.source();
    let inside = gaps.get(choice).map(|line| fill(text, *line, name, assertion));
    let end = if text.is_empty() || text.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    let appended = format!("{text}{end}\n\ndef {name}():\n    {assertion}\n");
    let is_whole =
        |text: &String| Module::parse(text).is_ok_and(|after| after.body().len() == module.body().len() + 1);
    inside.into_iter().chain([appended]).find(is_whole)
}

/// The test on this line and the next, both of which are blank and keep their ends.
fn fill(text: &str, line: usize, name: &str, assertion: &str) -> String {
    let lines = text.split_inclusive('\n').enumerate();
    let filled = lines.map(|(at, text)| match at.checked_sub(line) {
        Some(0) => format!("def {name}():{}", line_end(text)),
        Some(1) => format!("    {assertion}{}", line_end(text)),
        _ => text.to_owned(),
    });
    filled.collect()
}

fn line_end(blank: &str) -> String {
    blank.trim_start_matches([' ', '\t', '\u{c}']).to_owned()
}

/// The first of each two blank lines between statements at the top, after the imports at the beginning; counted from 0.
fn gaps(module: &Module) -> Vec<usize> {
    let lines: Vec<&str> = module.source().split_inclusive('\n').collect();
    let body = module.body();
    let head = usize::from(docstring(body).is_some());
    let head = head + body[head..].iter().take_while(|stmt| is_import(stmt)).count();
    let taken: BTreeSet<usize> = body
        .iter()
        .flat_map(|stmt| {
            let range = stmt.range();
            (module.line(range.start()) as usize)..=(module.line(range.end()) as usize)
        })
        .collect();
    let Some(first) = head.checked_sub(1).and_then(|last| body.get(last)) else {
        return Vec::new();
    };
    let start = module.line(first.range().end()) as usize;
    let end = body
        .last()
        .map_or(0, |stmt| module.line(stmt.range().end()) as usize);
    let is_blank = |line: usize| {
        !taken.contains(&(line + 1)) && lines.get(line).is_some_and(|line| line.trim().is_empty())
    };
    let mut gaps = Vec::new();
    let mut line = start;
    while line + 1 < end {
        if is_blank(line) && is_blank(line + 1) {
            gaps.push(line);
            line += 1;
        }
        line += 1;
    }
    gaps
}

#[cfg(test)]
mod tests;
