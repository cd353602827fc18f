//! Expressions of find: those that test and print, and remove what a name finds.

use super::{Call, check_written, checks};
use crate::denial::Denial;
use crate::rules::{Found, Rules};
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

/// The arguments with `rm` after `-exec` by its path.
pub(super) fn with_paths(mut arguments: Vec<Argument>, rules: &Rules) -> Vec<Argument> {
    let is_rm = |argument: &Argument| argument.text() == Some("rm");
    if let Removal::ByRm(at) = removal(&arguments, is_rm)
        && matches!(rules.program("rm"), Found::Safe(_))
    {
        arguments[at] = Argument::Parts(vec![Part::Program(rules.paths("rm"))]);
    }
    arguments
}

pub(super) fn check(call: &Call<'_>, scope: &Scope) -> Result<Vec<Check>, Denial> {
    let is_rm = |argument: &Argument| matches!(argument, Argument::Parts(parts) if matches!(parts.as_slice(), [Part::Program(_)]));
    let removal = removal(&call.arguments, is_rm);
    let tests = &call.arguments[..removal.begin().unwrap_or(call.arguments.len())];
    let (roots, tests) = expression(tests)?;
    let mut required = Vec::new();
    if removal.begin().is_some() {
        check_removal(roots, &tests)?;
        for root in roots {
            check_written(call.name, root, Requirement::Writable, scope)?;
            required.push((root, Requirement::Writable));
        }
    }
    checks::of(call.name, &call.arguments, &required, scope)
}

/// How what was found is removed, at the end of all tests.
enum Removal {
    None,
    /// `-delete`, which stands there.
    Delete(usize),
    /// `-exec rm ... {} +`, whose `rm` stands there.
    ByRm(usize),
}

impl Removal {
    fn begin(&self) -> Option<usize> {
        match self {
            Self::None => None,
            Self::Delete(at) => Some(*at),
            Self::ByRm(at) => Some(at - 1),
        }
    }
}

fn removal(arguments: &[Argument], is_rm: impl Fn(&Argument) -> bool) -> Removal {
    let is = |argument: &Argument, texts: &[&str]| argument.text().is_some_and(|text| texts.contains(&text));
    let count = arguments.len();
    match arguments {
        [.., last] if is(last, &["-delete"]) => Removal::Delete(count - 1),
        [.., exec, rm, flags, found, end]
            if is(exec, &["-exec"])
                && is_rm(rm)
                && is(flags, &["-f", "-r", "-rf", "-fr"])
                && is(found, &["{}"])
                && is(end, &[";", "+"]) =>
        {
            Removal::ByRm(count - 4)
        }
        [.., exec, rm, found, end]
            if is(exec, &["-exec"]) && is_rm(rm) && is(found, &["{}"]) && is(end, &[";", "+"]) =>
        {
            Removal::ByRm(count - 3)
        }
        _ => Removal::None,
    }
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
            return Err(Denial::new(
                "find",
                format!(
                    "find is not run with {beginning}: print the names, as in find ... | xargs grep -n WORD, or use a small Python file"
                ),
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
