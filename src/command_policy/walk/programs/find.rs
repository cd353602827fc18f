//! Expressions of find: those that test and print.

use super::Call;
use crate::denial::Denial;
use crate::rules::{Found, Reading};
use crate::script::{Argument, Part};
use crate::walk::Walk;

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

impl Walk<'_> {
    /// Commands of `-exec` are those that nothing can make do harm, and are started from where they lie.
    pub(super) fn find(&self, call: &mut Call<'_>) -> Result<(), Denial> {
        let mut at = 0;
        let mut is_expression = false;
        while let Some(argument) = call.arguments.get(at) {
            at += 1;
            let (beginning, is_whole) = argument.beginning();
            is_expression |= beginning.starts_with(['-', '(', '!', ',', ')']);
            if !is_expression || is_whole && ALONE.contains(&beginning) {
                continue;
            }
            if is_whole && beginning == "-exec" {
                let program = self.executed(call.arguments.get(at))?;
                let end = end_of_command(&call.arguments[at..]).ok_or_else(unended)?;
                call.arguments[at] = program;
                at += end + 1;
                continue;
            }
            if !is_whole || !VALUED.contains(&beginning) {
                return Err(refused(beginning));
            }
            if call.arguments.get(at).is_none_or(Argument::is_pattern) {
                return Err(Denial::new(
                    "find",
                    format!("quote the value of {beginning}, as in {beginning} '*.py'"),
                ));
            }
            at += 1;
        }
        Ok(())
    }

    fn executed(&self, name: Option<&Argument>) -> Result<Argument, Denial> {
        let name = name.and_then(Argument::text).unwrap_or_default();
        match self.rules.program(name) {
            Found::Safe(rule) if rule.arguments == Reading::Any => {
                Ok(Argument::Parts(vec![Part::Program(self.rules.paths(name))]))
            }
            _ => Err(refused(&format!("-exec {name}"))),
        }
    }
}

fn refused(what: &str) -> Denial {
    Denial::new(
        "find",
        format!(
            "find is not run with {what}: print the names, as in find ... | xargs grep -n WORD, or use a small Python file"
        ),
    )
}

fn unended() -> Denial {
    Denial::new(
        "find",
        "the command after -exec is written out and ends with \\; or {} +: write it so",
    )
}

/// Where the command of `-exec` ends, after its name; nothing where a word is not written out, which could be its end.
fn end_of_command(command: &[Argument]) -> Option<usize> {
    let words: Vec<Option<&str>> = command.iter().map(Argument::text).collect();
    let is_end = |at: usize| match words[at] {
        Some("+") => words[at - 1] == Some("{}"),
        word => word == Some(";") || word.is_none(),
    };
    let end = (1..words.len()).find(|at| is_end(*at))?;
    words[end].map(|_| end)
}
