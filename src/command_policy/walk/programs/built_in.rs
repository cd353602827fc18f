//! What bash has built in and others have as a program: it runs in the harness itself, where an argument may be of any length.

use crate::denial::Denial;
use crate::script::{Argument, Builtin, BuiltinCall, Run};

/// What a command of this name runs in bash; a program where it stands before another command.
pub(in crate::walk) fn built_in(command: &str, run: Run) -> Result<Run, Denial> {
    let call = match run {
        Run::Program(call) if call.program.name == command => call,
        run => return Ok(run),
    };
    let name = match command {
        "echo" => Builtin::Echo,
        "test" => Builtin::Test,
        "[" => Builtin::Bracket,
        "printf" if is_for_a_variable(&call.arguments) => {
            return Err(Denial::new(
                "builtins",
                "printf sets no variable with -v: write NAME=$(printf ...)",
            ));
        }
        "printf" if is_of_texts_and_whole_numbers(&call.arguments) => Builtin::Printf,
        _ => return Ok(Run::Program(call)),
    };
    let arguments = call.arguments;
    Ok(Run::Builtin(BuiltinCall { name, arguments }))
}

fn is_for_a_variable(arguments: &[Argument]) -> bool {
    let first = arguments.first().map(Argument::beginning);
    first.is_some_and(|(text, _)| text.starts_with("-v"))
}

/// What other formats print depends on the machine: they are for the program.
fn is_of_texts_and_whole_numbers(arguments: &[Argument]) -> bool {
    let has_dashes = arguments.first().and_then(Argument::text) == Some("--");
    let format = arguments.get(usize::from(has_dashes));
    // Without one it prints how it is used.
    let Some(mut rest) = format.map_or(Some(""), Argument::text) else {
        return false;
    };
    while let Some((_, conversion)) = rest.split_once('%') {
        let after = after_size(conversion.trim_start_matches(['-', '+', ' ', '#', '0']));
        let kind = after.strip_prefix('.').map_or(after, after_size);
        let is_whole = kind.starts_with(['s', 'b', 'c', 'd', 'i', 'o', 'u', 'x', 'X']);
        if !is_whole && !conversion.starts_with('%') {
            return false;
        }
        rest = if is_whole { &kind[1..] } else { &conversion[1..] };
    }
    true
}

/// What follows a width or a precision.
fn after_size(text: &str) -> &str {
    text.strip_prefix('*')
        .unwrap_or_else(|| text.trim_start_matches(|c: char| c.is_ascii_digit()))
}
