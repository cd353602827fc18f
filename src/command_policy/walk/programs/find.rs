//! Expressions of find: those that test and print, have programs read what was found, and remove what a name finds.

use super::{Call, check_target, checks};
use crate::denial::Denial;
use crate::rules::{Found, Reading, Rules};
use crate::scope::Scope;
use crate::script::{Argument, Check, Part, Requirement};

const ALONE: [&str; 36] = [
    "-print",
    "-print0",
    "-empty",
    "-true",
    "-false",
    "-not",
    "-and",
    "-a",
    "-or",
    "-o",
    "-prune",
    "-quit",
    "-depth",
    "-d",
    "-mount",
    "-xdev",
    "-readable",
    "-writable",
    "-executable",
    "-ls",
    "-daystart",
    "-noleaf",
    "-nouser",
    "-nogroup",
    "-follow",
    "!",
    "(",
    ")",
    ",",
    "-H",
    "-L",
    "-P",
    "-help",
    "--help",
    "-version",
    "--version",
];
const VALUED: [&str; 35] = [
    "-name",
    "-iname",
    "-path",
    "-ipath",
    "-wholename",
    "-iwholename",
    "-regex",
    "-iregex",
    "-regextype",
    "-type",
    "-xtype",
    "-size",
    "-mtime",
    "-mmin",
    "-atime",
    "-amin",
    "-ctime",
    "-cmin",
    "-newer",
    "-anewer",
    "-cnewer",
    "-newermt",
    "-maxdepth",
    "-mindepth",
    "-perm",
    "-user",
    "-group",
    "-uid",
    "-gid",
    "-inum",
    "-links",
    "-lname",
    "-ilname",
    "-printf",
    "-fstype",
];

/// What makes of tests something else than all of them together, or leads out through links.
const OPERATORS: [&str; 10] = ["-o", "-or", "-not", "!", "(", ")", ",", "-L", "-H", "-follow"];
/// Tests of which a removal needs one.
const NAMES: [&str; 7] = [
    "-name",
    "-iname",
    "-path",
    "-ipath",
    "-wholename",
    "-regex",
    "-iregex",
];

/// What is done with what was found, at the end of all tests.
pub(super) enum Action {
    /// It is printed.
    Print,
    /// `-delete`, which stands there.
    Delete(usize),
    /// `-exec rm ... {} +`, whose `rm` stands there.
    Remove(usize),
    /// `-exec PROGRAM ... {} +` with a program that nothing can make do harm, which stands there.
    Read(usize),
}

impl Action {
    pub(super) fn of(arguments: &[Argument], rules: &Rules) -> Self {
        if arguments.last().and_then(Argument::text) == Some("-delete") {
            return Self::Delete(arguments.len() - 1);
        }
        let Some(exec) = arguments
            .iter()
            .rposition(|argument| argument.text() == Some("-exec"))
        else {
            return Self::Print;
        };
        let texts: Option<Vec<&str>> = arguments[exec + 1..].iter().map(Argument::text).collect();
        let Some([name, options @ .., "{}", ";" | "+"]) = texts.as_deref() else {
            return Self::Print;
        };
        let Found::Safe(rule) = rules.program(name) else {
            return Self::Print;
        };
        match (*name, options) {
            ("rm", [] | ["-f" | "-r" | "-rf" | "-fr"]) => Self::Remove(exec + 1),
            _ if rule.arguments == Reading::Any && !options.contains(&";") && !options.contains(&"{}") => {
                Self::Read(exec + 1)
            }
            _ => Self::Print,
        }
    }

    /// Where it begins.
    const fn begin(&self) -> Option<usize> {
        match self {
            Self::Print => None,
            Self::Delete(at) => Some(*at),
            Self::Remove(at) | Self::Read(at) => Some(*at - 1),
        }
    }
}

/// The arguments with the program of an action by its path.
pub(super) fn with_path(mut arguments: Vec<Argument>, action: &Action, rules: &Rules) -> Vec<Argument> {
    if let Action::Remove(at) | Action::Read(at) = action
        && let Some(name) = arguments[*at].text()
    {
        arguments[*at] = Argument::Parts(vec![Part::Program(rules.paths(name))]);
    }
    arguments
}

pub(super) fn check(call: &Call<'_>, action: &Action, scope: &Scope) -> Result<Vec<Check>, Denial> {
    let tests = &call.arguments[..action.begin().unwrap_or(call.arguments.len())];
    let (roots, tests) = expression(tests)?;
    let mut required = Vec::new();
    if matches!(action, Action::Delete(_) | Action::Remove(_)) {
        check_removal(roots, &tests)?;
        for root in roots {
            check_target(call.name, root, Requirement::Writable, scope)?;
            required.push((root, Requirement::Writable));
        }
    }
    checks::of(call.name, &call.arguments, &required, scope)
}

/// Only what all tests find is removed, and a name is one of them.
fn check_removal(roots: &[Argument], tests: &[&str]) -> Result<(), Denial> {
    let has = |texts: &[&str]| tests.iter().any(|test| texts.contains(test));
    if roots.is_empty() || has(&OPERATORS) || !has(&NAMES) {
        return Err(Denial::new(
            "find",
            "find removes by name in a folder that is written out, without -o, ! and links: write find FOLDER -name '*.pyc' -delete",
        ));
    }
    Ok(())
}

/// The folders, and the tests after them without their values: each is listed.
fn expression(arguments: &[Argument]) -> Result<(&[Argument], Vec<&str>), Denial> {
    let begins = |argument: &Argument| argument.beginning().0.starts_with(['-', '(', '!', ',', ')']);
    let begin = arguments.iter().position(begins).unwrap_or(arguments.len());
    let (roots, tests) = arguments.split_at(begin);
    let mut rest = tests.iter();
    let mut tests = Vec::new();
    while let Some(argument) = rest.next() {
        let (beginning, is_whole) = argument.beginning();
        tests.push(beginning);
        if is_whole && ALONE.contains(&beginning) {
            continue;
        }
        if !is_whole || !VALUED.contains(&beginning) {
            let instead = if beginning == "-exec" {
                "it stands last, once, before a program that only reads, as in -exec head -2 {} \\;; for others write find ... | while read -r f; do ... \"$f\"; done"
            } else {
                "print the names, as in find ... | xargs grep -n WORD, or use a small Python file"
            };
            return Err(Denial::new(
                "find",
                format!("find is not run with {beginning} here: {instead}"),
            ));
        }
        if rest.next().is_none_or(Argument::is_pattern) {
            return Err(Denial::new(
                "find",
                format!("quote the value of {beginning}, as in {beginning} '*.py'"),
            ));
        }
    }
    Ok((roots, tests))
}
