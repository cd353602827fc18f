//! The program with its tools before it, and exceptions that the interpreter has under another name alone. Names of builtins that the
//! program gives to something of its own are bound before it, for the interpreter would take them for the builtins in a comprehension.
//!
//! A tool is an `async def` of the program's: nothing happens until its coroutine is awaited. Its arguments are checked and recorded
//! when it is called, so calls have the order in which the program made them, and one that was never awaited is found.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::refusal::DERIVED;

/// Records a call: tool, arguments by position, arguments by name; returns its number.
pub(crate) const RECORD: &str = "__codegen_record";
/// Waits for the outcome of the call of this number: a tuple of its value, or `None` where it failed.
pub(crate) const WAIT: &str = "__codegen_wait";
/// Raises the exception of the call of this number. The interpreter would raise that of a future past the handlers of a coroutine that
/// runs beside others.
pub(crate) const RAISE: &str = "__codegen_raise";

/// Builtins whose names programs give to their own things.
const BUILTINS: &str = "abs all any ascii bin bool bytes callable chr complex dict dir divmod enumerate filter float format \
    frozenset getattr hasattr hash hex id input int isinstance iter len list map max min next object oct \
    open ord pow print property range repr reversed round set slice sorted str sum tuple type zip";
/// Names of a target: those between `for` and `in`.
const MOST_TARGETS: usize = 16;

/// A program as it is compiled.
#[derive(Debug)]
pub(crate) struct CompiledSource {
    /// Definitions, then the program.
    pub(crate) text: String,
    /// Lines before the program's first.
    pub(crate) lines_before: u32,
}

impl CompiledSource {
    pub(crate) fn new(code: &str, functions: &[String]) -> Self {
        let mut text = format!(
            "async def __codegen_call(i): return {RAISE}(i) if (r := await {WAIT}(i)) is None else r[0]\n"
        );
        let mut lines_before = 1;
        // Compiling what is not named would cost more than most programs.
        for name in functions.iter().filter(|name| code.contains(name.as_str())) {
            // Writing to a string does not fail.
            let _ = writeln!(
                text,
                "def {name}(*args, **kwargs): return __codegen_call({RECORD}('{name}', args, kwargs))"
            );
            lines_before += 1;
        }
        for (name, base) in DERIVED.iter().filter(|(name, _)| code.contains(name)) {
            let _ = writeln!(text, "{name} = {base}");
            lines_before += 1;
        }
        let own = own_names(code);
        if !own.is_empty() {
            let names: Vec<&str> = own.into_iter().collect();
            let _ = writeln!(text, "if False: {} = None", names.join(" = "));
            lines_before += 1;
        }
        text.push_str(code);
        Self { text, lines_before }
    }
}

/// The builtins among the names that loops and comprehensions bind.
fn own_names(code: &str) -> BTreeSet<&'static str> {
    let is_of_a_name = |character: char| character.is_alphanumeric() || character == '_';
    let words = code
        .split(|character: char| !is_of_a_name(character))
        .filter(|word| !word.is_empty());
    let mut own = BTreeSet::new();
    let mut targets = 0;
    for word in words {
        match word {
            "for" => targets = MOST_TARGETS,
            "in" => targets = 0,
            _ if targets > 0 => {
                targets -= 1;
                own.extend(BUILTINS.split(' ').find(|builtin| *builtin == word));
            }
            _ => {}
        }
    }
    own
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("[f(id) for id in ids]", &["id"])]
    #[case("{hash: len for hash, (max, other) in rows for min in other}", &["hash", "max", "min"])]
    #[case("for row in rows:\n    len(row)", &[])]
    #[case("format(sum(rows))", &[])]
    #[case("# one of fourteen words for each of which there may be a line like the next one\n[str(id) for id in ids]", &["id", "next", "str"])]
    #[case("sorted(rows, key=lambda id: id)", &[])]
    fn the_names_of_builtins_that_a_program_binds_in_loops_are_found(
        #[case] code: &str,
        #[case] expected: &[&str],
    ) {
        let found: Vec<&str> = own_names(code).into_iter().collect();
        assert_eq!(found, expected);
    }
}
