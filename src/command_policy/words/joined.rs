//! The parts of a word, joined to the argument that it is.

use super::{Expansion, Unit};
use crate::denial::Denial;
use crate::script::{Argument, Part};

/// A word without braces as an argument; nothing where it vanishes.
pub(super) fn argument(units: Vec<Unit>, expansion: Expansion) -> Result<Option<Argument>, Denial> {
    let is_pattern = match expansion {
        Expansion::Full => matches_files(&units) && !is_long_option(&units),
        Expansion::Pattern => matches_files(&units),
        Expansion::Single | Expansion::Quoted => false,
    };
    let is_single = matches!(expansion, Expansion::Single | Expansion::Quoted);
    let has_signs = units.iter().any(|unit| matches!(unit, Unit::Bare('*' | '?')));
    if is_single && has_signs || expansion == Expansion::Quoted && matches_files(&units) {
        return Err(Denial::syntax(
            "a pattern here is not settled before the command runs: write the name",
        ));
    }
    let first = units.iter().find(|unit| **unit != Unit::Quotes);
    if is_pattern
        && expansion == Expansion::Full
        && matches!(first, Some(Unit::Bare('-') | Unit::Quoted('-')))
    {
        return Err(Denial::syntax(
            "a pattern that begins with a dash could match an option: begin it with ./",
        ));
    }
    if units.is_empty() {
        return Ok(None);
    }
    let is_split = |unit: &Unit| matches!(unit.part(), Some(Part::Fields(_)));
    let has_fields = units.iter().any(is_split);
    if has_fields && expansion == Expansion::Quoted {
        return Err(Denial::syntax(
            "a value that is not written out is not split here: quote it, as in \"$NAME\"",
        ));
    }
    let mut parts: Vec<Part> = Vec::new();
    for unit in units {
        match unit {
            Unit::Quotes if has_fields => push_text(&mut parts, ""),
            Unit::Later(Part::Fields(part)) if is_single => parts.push(*part),
            Unit::Bare('*') if is_pattern => push_pattern(&mut parts, '*'),
            Unit::Bare(c @ ('?' | '[' | ']' | '!' | '^' | '-')) if is_pattern => push_pattern(&mut parts, c),
            Unit::Bare(c) | Unit::Quoted(c) => push_text(&mut parts, c.encode_utf8(&mut [0; 4])),
            Unit::Quotes => {}
            Unit::Later(part) => parts.push(part),
        }
    }
    // It is nothing where the pipeline is shorter: what follows would begin the word.
    if let [Part::PipeStatus(_), next, ..] = parts.as_slice()
        && !matches!(next, Part::Text(text) if !text.starts_with('-'))
    {
        return Err(Denial::syntax(
            "${PIPESTATUS[n]} before a dash or another expansion is not settled: write them as separate words",
        ));
    }
    let word = match parts.as_mut_slice() {
        [] => Argument::Text(String::new()),
        [Part::Text(text)] => Argument::Text(std::mem::take(text)),
        _ => Argument::Parts(parts),
    };
    Ok(Some(word))
}

/// Whether a word is `--NAME=VALUE`. No file is called so: its value is meant for the program.
fn is_long_option(units: &[Unit]) -> bool {
    let mut characters = units.iter().map(|unit| match unit {
        Unit::Bare(c) | Unit::Quoted(c) => Some(*c),
        Unit::Quotes | Unit::Later(_) => None,
    });
    let has_dashes = characters.next() == Some(Some('-')) && characters.next() == Some(Some('-'));
    let is_name = |c: &Option<char>| c.is_some_and(|c| c.is_ascii_lowercase() || c == '-');
    has_dashes && characters.find(|c| !is_name(c)) == Some(Some('='))
}

/// Whether a word is a pattern: brackets count when they are closed.
fn matches_files(units: &[Unit]) -> bool {
    let opened = units.iter().position(|unit| *unit == Unit::Bare('['));
    let closed = units.iter().rposition(|unit| *unit == Unit::Bare(']'));
    let has_brackets = opened
        .zip(closed)
        .is_some_and(|(opened, closed)| closed > opened + 1);
    has_brackets || units.iter().any(|unit| matches!(unit, Unit::Bare('*' | '?')))
}

fn push_text(parts: &mut Vec<Part>, added: &str) {
    match parts.last_mut() {
        Some(Part::Text(text)) => text.push_str(added),
        _ => parts.push(Part::Text(added.to_owned())),
    }
}

fn push_pattern(parts: &mut Vec<Part>, c: char) {
    match parts.last_mut() {
        Some(Part::Pattern(text)) => text.push(c),
        _ => parts.push(Part::Pattern(c.to_string())),
    }
}
