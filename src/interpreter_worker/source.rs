//! The program with its tools before it, and exceptions that the interpreter has under another name alone.
//!
//! A tool is an `async def` of the program's: nothing happens until its coroutine is awaited. Its arguments are checked and recorded
//! when it is called, so calls have the order in which the program made them, and one that was never awaited is found.

use std::fmt::Write as _;

use crate::refusal::DERIVED;

/// Records a call: tool, arguments by position, arguments by name; returns its number.
pub(crate) const RECORD: &str = "__codegen_record";
/// Waits for the outcome of the call of this number: a tuple of its value, or `None` where it failed.
pub(crate) const WAIT: &str = "__codegen_wait";
/// Raises the exception of the call of this number. The interpreter would raise that of a future past the handlers of a coroutine that
/// runs beside others.
pub(crate) const RAISE: &str = "__codegen_raise";

/// A program as it is compiled.
#[derive(Debug)]
pub(crate) struct Source {
    /// Definitions, then the program.
    pub(crate) text: String,
    /// Lines before the program's first.
    pub(crate) lines_before: u32,
}

impl Source {
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
        text.push_str(code);
        Self { text, lines_before }
    }
}
