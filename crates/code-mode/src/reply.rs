//! The program in a model's reply.

use serde_json::Value;

use crate::python::{Unparsed, parse};

/// Longest program, in bytes.
pub const MAX_PROGRAM_BYTES: usize = 64 * 1024;

/// A reply without a program; the message is for the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoProgram {
    /// Nothing.
    #[error("the reply is empty; answer with the program")]
    Empty,
    /// Sentences.
    #[error(
        "the reply holds sentences and no program; answer with the program alone, whose last expression is the answer"
    )]
    Prose,
    /// More than one program.
    #[error("the reply holds {0} programs; answer with one")]
    Several(usize),
    /// One that is too long.
    #[error("the program is longer than {MAX_PROGRAM_BYTES} bytes; write a shorter one")]
    TooLong,
    /// One that nobody reads.
    #[error("an expression of the program is nested too deeply; split it into steps")]
    TooDeep,
}

/// The program: the value of `program` in a JSON object, the one fenced block, or the text itself where it is Python.
pub fn program_of(reply: &str) -> Result<String, NoProgram> {
    let text = reply.trim();
    if text.is_empty() {
        return Err(NoProgram::Empty);
    }
    let program = match field_of(text) {
        Some(program) => unfenced(&program)?,
        None => unfenced(text)?,
    };
    if program.trim().is_empty() {
        return Err(NoProgram::Empty);
    }
    if program.len() > MAX_PROGRAM_BYTES {
        return Err(NoProgram::TooLong);
    }
    if matches!(parse(&program), Err(Unparsed::TooDeep(_))) {
        return Err(NoProgram::TooDeep);
    }
    Ok(program)
}

fn field_of(text: &str) -> Option<String> {
    let inner = blocks(text);
    let json = match inner.as_slice() {
        [(_, only)] => only.as_str(),
        _ => text,
    };
    let value: Value = serde_json::from_str(json).ok()?;
    value.get("program")?.as_str().map(str::to_owned)
}

fn unfenced(text: &str) -> Result<String, NoProgram> {
    let mut blocks = blocks(text);
    if blocks.len() > 1 {
        // Other languages beside it, as the output that a model expects.
        let python: Vec<_> = blocks
            .iter()
            .filter(|(language, _)| is_python(language))
            .cloned()
            .collect();
        if python.len() == 1 {
            blocks = python;
        }
    }
    match blocks.as_slice() {
        [] if !matches!(parse(text), Err(Unparsed::Syntax(_))) => Ok(text.to_owned()),
        // What has the shape of a program is run, so that its fault is named with its line.
        [] if text.lines().any(is_statement) => Ok(text.to_owned()),
        [] => Err(NoProgram::Prose),
        [(_, only)] => Ok(only.clone()),
        several => Err(NoProgram::Several(several.len())),
    }
}

fn is_python(language: &str) -> bool {
    ["python", "py", "python3"].contains(&language.to_ascii_lowercase().as_str())
}

fn is_statement(line: &str) -> bool {
    [
        "import ",
        "from ",
        "def ",
        "async def ",
        "for ",
        "result = ",
        "await ",
    ]
    .iter()
    .any(|start| line.starts_with(start))
}

/// The fenced blocks of a text, with what is said of their language.
fn blocks(text: &str) -> Vec<(String, String)> {
    let mut blocks = Vec::new();
    let mut open: Option<(String, String)> = None;
    for line in text.lines() {
        match (line.trim_start().strip_prefix("```"), open.as_mut()) {
            (Some(language), None) => open = Some((language.trim().to_owned(), String::new())),
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (None, Some((_, block))) => {
                block.push_str(line);
                block.push('\n');
            }
            (None, None) => {}
        }
    }
    // A block that is not closed goes to the end.
    blocks.extend(open);
    blocks
}
