//! Expressions of find: those that test and print.

use super::Call;
use crate::denial::Denial;

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

pub(super) fn check(call: &Call<'_>) -> Result<(), Denial> {
    let mut rest = call.arguments.iter();
    let mut is_expression = false;
    while let Some(argument) = rest.next() {
        let (beginning, is_whole) = argument.beginning();
        is_expression |= beginning.starts_with(['-', '(', '!', ',', ')']);
        if !is_expression {
            continue;
        }
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
        if rest.next().is_none_or(crate::script::Argument::is_pattern) {
            return Err(Denial::new(
                "find",
                format!("quote the value of {beginning}, as in {beginning} '*.py'"),
            ));
        }
    }
    Ok(())
}
