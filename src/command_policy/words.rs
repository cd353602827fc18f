//! A word of the grammar as the arguments that it stands for.

mod ansi;
mod braces;
mod joined;

use brush_parser::word::{
    Parameter, ParameterExpr, SpecialParameter, TildeExpr, WordPiece, WordPieceWithSource,
};

use crate::arithmetic;
use crate::denial::Denial;
use crate::paths::HOME;
use crate::scope::{Content, Scope};
use crate::script::{Argument, Part, Statement};
use crate::syntax;
use joined::argument;

/// Who settles the commands in a word.
pub(crate) trait Commands {
    /// The commands of `$(...)`, by its text.
    fn substitution(&mut self, text: &str, scope: &Scope) -> Result<Vec<Statement>, Denial>;
}

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

impl Unit {
    /// A part that is split where it is not quoted.
    fn later(part: Part, is_quoted: bool) -> Self {
        Self::Later(if is_quoted {
            part
        } else {
            Part::Fields(Box::new(part))
        })
    }

    fn part(&self) -> Option<&Part> {
        match self {
            Self::Later(part) => Some(part),
            _ => None,
        }
    }
}

/// How a word is expanded where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expansion {
    /// As an argument: braces, patterns.
    Full,
    /// As a value or an operand of `[[`: one argument, no braces, nothing is split; a pattern there is not settled.
    Single,
    /// As a target: as a value, and what would be split there is not settled.
    Quoted,
    /// As what a text is compared with: one argument, whose pattern is one of texts.
    Pattern,
}

/// The arguments of a word: none (an empty variable), one, or several (braces).
pub(crate) fn arguments(
    text: &str,
    scope: &Scope,
    commands: &mut dyn Commands,
) -> Result<Vec<Argument>, Denial> {
    scope.count(text.len())?;
    if is_plain(text) {
        return Ok(vec![Argument::Text(text.to_owned())]);
    }
    let mut units = Vec::new();
    read(&syntax::pieces(text)?, scope, false, commands, &mut units)?;
    let has_commands = units
        .iter()
        .any(|unit| unit.part().is_some_and(Part::has_commands));
    let expanded = braces::expand(units)?;
    if has_commands && expanded.len() > 1 {
        return Err(Denial::syntax(
            "braces beside $(...) are not settled: write NAME=$(...) before, and \"$NAME\" here",
        ));
    }
    let mut words = Vec::new();
    for word in expanded {
        scope.count(word.len())?;
        words.extend(argument(word, Expansion::Full)?);
    }
    Ok(words)
}

/// The one argument of a word that is a value.
pub(crate) fn value(text: &str, scope: &Scope, commands: &mut dyn Commands) -> Result<Argument, Denial> {
    single(text, Expansion::Single, scope, commands)
}

/// The pattern that a word is for texts.
pub(crate) fn pattern(text: &str, scope: &Scope, commands: &mut dyn Commands) -> Result<Argument, Denial> {
    single(text, Expansion::Pattern, scope, commands)
}

/// The one argument of a word that is a target.
pub(crate) fn quoted(text: &str, scope: &Scope, commands: &mut dyn Commands) -> Result<Argument, Denial> {
    single(text, Expansion::Quoted, scope, commands)
}

fn single(
    text: &str,
    expansion: Expansion,
    scope: &Scope,
    commands: &mut dyn Commands,
) -> Result<Argument, Denial> {
    scope.count(text.len())?;
    if is_plain(text) {
        return Ok(Argument::Text(text.to_owned()));
    }
    let mut units = Vec::new();
    read(&syntax::pieces(text)?, scope, false, commands, &mut units)?;
    let word = argument(units, expansion)?;
    Ok(word.unwrap_or_else(|| Argument::Text(String::new())))
}

/// The text of a here-document.
pub(crate) fn document(
    text: &str,
    is_expanded: bool,
    scope: &Scope,
    commands: &mut dyn Commands,
) -> Result<Argument, Denial> {
    scope.count(text.len())?;
    if !is_expanded || !text.contains(['$', '`', '\\']) {
        return Ok(Argument::Text(text.to_owned()));
    }
    let mut units = Vec::new();
    read(&syntax::here_document(text)?, scope, true, commands, &mut units)?;
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
    commands: &mut dyn Commands,
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
                read(inner, scope, true, commands, units)?;
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
            WordPiece::CommandSubstitution(text) => {
                let part = Part::Output(commands.substitution(text, scope)?);
                units.push(Unit::later(part, is_quoted));
            }
            // A number is neither split nor a pattern.
            WordPiece::ArithmeticExpression(expression) => {
                let part = Part::Arithmetic(arithmetic::parse(&expression.value, scope)?);
                units.push(Unit::Later(part));
            }
            WordPiece::BackquotedCommandSubstitution(_) => {
                return Err(Denial::syntax("a command in backquotes is not run: write $(...)"));
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
    let variable = || Part::Variable(name.to_owned());
    // `$_` is the last argument of the command before.
    match scope.variables.get(name).filter(|_| name != "_") {
        Some(Content::Any) => units.push(Unit::later(variable(), is_quoted)),
        Some(Content::Path(_)) => units.push(Unit::Later(variable())),
        Some(Content::Text(value)) => {
            if !is_quoted && value.contains([' ', '\t', '\n', '*', '?', '[']) {
                return Err(Denial::syntax(format!(
                    "${name} would be split into words or match files: quote it, as in \"${name}\""
                )));
            }
            scope.count(value.len())?;
            units.extend(value.chars().map(Unit::Quoted));
        }
        None if name == "PWD" => units.push(Unit::Later(Part::Folder)),
        None if name == "HOME" => units.extend(HOME.chars().map(Unit::Quoted)),
        None => {
            return Err(Denial::syntax(format!(
                "${name} is not set by this command, and its value is not settled before the command runs: write the value; quote a $ that is meant as it stands, as in '${name}'"
            )));
        }
    }
    Ok(())
}
