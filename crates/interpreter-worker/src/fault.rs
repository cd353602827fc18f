//! An exception that ended a program, as the host has it.

use codegen_interpreter::protocol::Raised;
use monty_types::{MontyException, StackFrame};

use crate::values::cut;

/// Bytes of a message and of a traceback that are sent.
const MOST_TEXT: usize = 16 * 1024;
/// Frames of a traceback that are sent, from its end.
const MOST_FRAMES: usize = 50;

/// The exception with the program's own lines, of which so many stand before the first. A call that was not awaited explains many
/// others: what it gave was no value.
pub(crate) fn raised(
    error: &MontyException,
    lines_before: u32,
    never_awaited: Option<&str>,
    printed: String,
) -> Raised {
    let kind = error.exc_type().to_string();
    let mut message = cut(error.message().unwrap_or_default(), MOST_TEXT);
    if let Some(name) = never_awaited.filter(|_| matches!(kind.as_str(), "TypeError" | "AttributeError")) {
        message = format!("{message} ({})", advice(name));
    }
    let frames = own_frames(error.traceback(), lines_before);
    let line = frames.last().map(|frame| frame.start.line);
    let traceback =
        MontyException::with_traceback(error.exc_type(), Some(message.clone()), frames).to_string();
    Raised {
        kind,
        message,
        traceback: cut(&traceback, MOST_TEXT),
        line,
        printed,
    }
}

/// Returns the exception that ends a program which came to its end without awaiting a call that it made.
pub(crate) fn forgotten(name: &str, printed: String) -> Raised {
    let message = advice(name);
    Raised {
        kind: "RuntimeWarning".to_owned(),
        traceback: format!("RuntimeWarning: {message}"),
        message,
        line: None,
        printed,
    }
}

fn advice(name: &str) -> String {
    format!("call of {name} was never awaited; write `await {name}(...)`")
}

/// The frames of the program itself, with its lines.
fn own_frames(frames: &[StackFrame], lines_before: u32) -> Vec<StackFrame> {
    let own = frames.iter().filter(|frame| frame.start.line > lines_before);
    let mut own: Vec<StackFrame> = own.cloned().collect();
    own.drain(..own.len().saturating_sub(MOST_FRAMES));
    for frame in &mut own {
        frame.start.line -= lines_before;
        frame.end.line = frame.end.line.saturating_sub(lines_before);
    }
    own
}
