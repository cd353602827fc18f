//! Words of a script, and what of them is put together when it runs.

use serde::{Deserialize, Serialize};

use super::Statement;

/// One argument.
#[derive(Serialize, Deserialize, Debug, Clone, PartialEq, Eq)]
#[serde(untagged)]
pub enum Argument {
    /// A literal.
    Text(String),
    /// Something that is put together when the command runs.
    Parts(Vec<Part>),
}

/// A part of an argument.
#[derive(Serialize, Deserialize, Debug, Clone, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub enum Part {
    /// A literal.
    Text(String),
    /// A part of a pattern. The argument becomes the paths that match the whole, below the workspace and the inputs alone.
    Pattern(String),
    /// `$?`.
    Status,
    /// `${PIPESTATUS[n]}`.
    PipeStatus(u8),
    /// `$PWD`.
    Folder,
    /// A variable of the script.
    Variable(String),
    /// `$(...)`: what commands print, without the line ends after it.
    Output(Vec<Statement>),
    /// `$((...))`.
    Arithmetic(Expression),
    /// `<(...)`: a path at which it is read what commands print.
    Process(Vec<Statement>),
    /// A part that is not quoted: it is split at blanks, and what it has of patterns counts.
    Fields(Box<Part>),
    /// The path of a program: the first at which there is a file.
    Program(Vec<String>),
}

/// An expression of whole numbers.
#[derive(Serialize, Deserialize, Debug, Clone, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub enum Expression {
    /// A number.
    Number(i64),
    /// The number that a variable holds; nothing in it is evaluated.
    Variable(String),
    /// An operator, as it is written, and what it stands before or between.
    Operation(String, Vec<Expression>),
}

impl Part {
    /// Whether it is what commands print.
    pub(crate) fn has_commands(&self) -> bool {
        match self {
            Self::Fields(part) => part.has_commands(),
            part => matches!(part, Self::Output(_)),
        }
    }
}

impl Argument {
    /// The literal, where it is one.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Parts(_) => None,
        }
    }

    /// Whether it becomes the paths that match it.
    #[must_use]
    pub fn is_pattern(&self) -> bool {
        matches!(self, Self::Parts(parts) if parts.iter().any(|part| matches!(part, Part::Pattern(_))))
    }

    /// Whether it begins with what commands print.
    pub(crate) fn begins_with_output(&self) -> bool {
        let Self::Parts(parts) = self else { return false };
        let first = parts
            .iter()
            .find(|part| !matches!(part, Part::Text(text) if text.is_empty()));
        first.is_some_and(Part::has_commands)
    }

    /// The literal that it begins with, and whether that is all of it.
    pub(crate) fn beginning(&self) -> (&str, bool) {
        match self {
            Self::Text(text) => (text, true),
            Self::Parts(parts) => match parts.first() {
                Some(Part::Text(text)) => (text, false),
                _ => ("", false),
            },
        }
    }
}

impl From<&str> for Argument {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}
