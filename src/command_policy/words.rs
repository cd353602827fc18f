//! A word of the grammar as the arguments that it stands for.

mod ansi;
mod braces;

use brush_parser::word::{
    Parameter, ParameterExpr, SpecialParameter, TildeExpr, WordPiece, WordPieceWithSource,
};

use crate::denial::Denial;
use crate::paths::HOME;
use crate::scope::Scope;
use crate::script::{Argument, Part};
use crate::syntax;

/// One character or part of a word, before braces are expanded.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Unit {
    /// A character that may mean something.
    Bare(char),
    /// A character that stands for itself.
    Quoted(char),
    /// What makes an empty word a word.
    Quotes,
    /// What is filled in later.
    Later(Part),
}

/// How a word is expanded where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expansion {
    /// As an argument: braces, patterns.
    Full,
    /// As a value, a target or an operand of `[[`: one argument, no braces; a pattern there is not settled.
    Single,
}

/// The arguments of a word: none (an empty variable), one, or several (braces).
pub(crate) fn arguments(text: &str, scope: &Scope) -> Result<Vec<Argument>, Denial> {
    scope.count(text.len())?;
    if is_plain(text) {
        return Ok(vec![Argument::Text(text.to_owned())]);
    }
    let mut units = Vec::new();
    read(&syntax::pieces(text)?, scope, false, &mut units)?;
    let mut words = Vec::new();
    for word in braces::expand(units)? {
        scope.count(word.len())?;
        words.extend(argument(word, Expansion::Full)?);
    }
    Ok(words)
}

/// The one argument of a word that is a value or a target.
pub(crate) fn value(text: &str, scope: &Scope) -> Result<Argument, Denial> {
    scope.count(text.len())?;
    if is_plain(text) {
        return Ok(Argument::Text(text.to_owned()));
    }
    let mut units = Vec::new();
    read(&syntax::pieces(text)?, scope, false, &mut units)?;
    let word = argument(units, Expansion::Single)?;
    Ok(word.unwrap_or_else(|| Argument::Text(String::new())))
}

/// The text of a here-document.
pub(crate) fn document(text: &str, is_expanded: bool, scope: &Scope) -> Result<Argument, Denial> {
    scope.count(text.len())?;
    if !is_expanded || !text.contains(['$', '`', '\\']) {
        return Ok(Argument::Text(text.to_owned()));
    }
    let mut units = Vec::new();
    read(&syntax::here_document(text)?, scope, true, &mut units)?;
    let word = argument(units, Expansion::Single)?;
    Ok(word.unwrap_or_else(|| Argument::Text(String::new())))
}

/// Whether nothing in a word means anything but itself.
fn is_plain(text: &str) -> bool {
    let mut bytes = text.bytes();
    !text.is_empty() && bytes.all(|byte| byte.is_ascii_alphanumeric() || b"_./=,:+%@-".contains(&byte))
}

fn read(
    pieces: &[WordPieceWithSource],
    scope: &Scope,
    is_quoted: bool,
    units: &mut Vec<Unit>,
) -> Result<(), Denial> {
    for piece in pieces {
        match &piece.piece {
            WordPiece::Text(text) if is_quoted => {
                // A backslash before a line end, which the parser leaves in quotes, joins lines.
                units.extend(text.replace("\\\n", "").chars().map(Unit::Quoted));
            }
            WordPiece::Text(text) => units.extend(text.chars().map(Unit::Bare)),
            WordPiece::SingleQuotedText(text) => {
                units.push(Unit::Quotes);
                units.extend(text.chars().map(Unit::Quoted));
            }
            WordPiece::AnsiCQuotedText(text) => {
                units.push(Unit::Quotes);
                units.extend(ansi::decode(text)?.chars().map(Unit::Quoted));
            }
            WordPiece::DoubleQuotedSequence(inner) => {
                units.push(Unit::Quotes);
                read(inner, scope, true, units)?;
            }
            WordPiece::EscapeSequence(text) => {
                let escaped = text.chars().nth(1).filter(|c| *c != '\n');
                units.extend(escaped.map(Unit::Quoted));
            }
            WordPiece::TildeExpansion(TildeExpr::Home) => units.extend(HOME.chars().map(Unit::Quoted)),
            WordPiece::TildeExpansion(_) => {
                return Err(Denial::syntax("only ~ and ~/... are settled: write the path"));
            }
            WordPiece::ParameterExpansion(expression) => parameter(expression, scope, is_quoted, units)?,
            WordPiece::GettextDoubleQuotedSequence(_) => {
                return Err(Denial::syntax("$\"...\" is not settled: write \"...\""));
            }
            WordPiece::CommandSubstitution(_)
            | WordPiece::BackquotedCommandSubstitution(_)
            | WordPiece::ArithmeticExpression(_) => {
                return Err(Denial::syntax(
                    "$(...) is not settled before the command runs: run what is in it first and write its result, or write a small Python file",
                ));
            }
        }
    }
    Ok(())
}

fn parameter(
    expression: &ParameterExpr,
    scope: &Scope,
    is_quoted: bool,
    units: &mut Vec<Unit>,
) -> Result<(), Denial> {
    let ParameterExpr::Parameter {
        parameter,
        indirect: false,
    } = expression
    else {
        return Err(Denial::syntax(
            "${...} with an operator is not settled: write the value, or a small Python file",
        ));
    };
    match parameter {
        Parameter::Special(SpecialParameter::LastExitStatus) => units.push(Unit::Later(Part::Status)),
        Parameter::NamedWithIndex { name, index } if name == "PIPESTATUS" => {
            let index = index.parse().map_err(|_| {
                Denial::syntax("PIPESTATUS is settled with a number alone, as in ${PIPESTATUS[0]}")
            })?;
            units.push(Unit::Later(Part::PipeStatus(index)));
        }
        Parameter::Named(name) => named(name, scope, is_quoted, units)?,
        _ => {
            return Err(Denial::syntax(format!(
                "{parameter} is not settled before the command runs: write its value, or a small Python file"
            )));
        }
    }
    Ok(())
}

fn named(name: &str, scope: &Scope, is_quoted: bool, units: &mut Vec<Unit>) -> Result<(), Denial> {
    if scope.loops.contains_key(name) {
        units.push(Unit::Later(Part::Variable(name.to_owned())));
    } else if let Some(value) = scope.variables.get(name) {
        if !is_quoted && value.contains([' ', '\t', '\n', '*', '?', '[']) {
            return Err(Denial::syntax(format!(
                "${name} would be split into words or match files: quote it, as in \"${name}\""
            )));
        }
        scope.count(value.len())?;
        units.extend(value.chars().map(Unit::Quoted));
    } else if name == "PWD" {
        units.push(Unit::Later(Part::Folder));
    } else if name == "HOME" {
        units.extend(HOME.chars().map(Unit::Quoted));
    } else {
        return Err(Denial::syntax(format!(
            "${name} is not set by this command, and its value is not settled before the command runs: write the value; quote a $ that is meant as it stands, as in '${name}'"
        )));
    }
    Ok(())
}

/// A word without braces as an argument; nothing where it vanishes.
fn argument(units: Vec<Unit>, expansion: Expansion) -> Result<Option<Argument>, Denial> {
    let is_pattern = expansion == Expansion::Full && matches_files(&units) && !is_long_option(&units);
    if expansion == Expansion::Single && units.iter().any(|unit| matches!(unit, Unit::Bare('*' | '?'))) {
        return Err(Denial::syntax(
            "a pattern here is not settled before the command runs: write the name",
        ));
    }
    let first = units.iter().find(|unit| **unit != Unit::Quotes);
    if is_pattern && matches!(first, Some(Unit::Bare('-') | Unit::Quoted('-'))) {
        return Err(Denial::syntax(
            "a pattern that begins with a dash could match an option: begin it with ./",
        ));
    }
    if units.is_empty() {
        return Ok(None);
    }
    let mut parts: Vec<Part> = Vec::new();
    for unit in units {
        match unit {
            Unit::Bare('*') if is_pattern => push_pattern(&mut parts, '*'),
            Unit::Bare(c @ ('?' | '[' | ']' | '!' | '^' | '-')) if is_pattern => push_pattern(&mut parts, c),
            Unit::Bare(c) | Unit::Quoted(c) => push_text(&mut parts, c),
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

fn push_text(parts: &mut Vec<Part>, c: char) {
    match parts.last_mut() {
        Some(Part::Text(text)) => text.push(c),
        _ => parts.push(Part::Text(c.to_string())),
    }
}

fn push_pattern(parts: &mut Vec<Part>, c: char) {
    match parts.last_mut() {
        Some(Part::Pattern(text)) => text.push(c),
        _ => parts.push(Part::Pattern(c.to_string())),
    }
}
