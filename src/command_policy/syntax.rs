//! From text to the tree of the grammar, within bounds that keep the parser's time and stack small.

use brush_parser::ast::Program;
use brush_parser::word::{self, WordPieceWithSource};
use brush_parser::{ParserOptions, Token, parse_tokens, uncached_tokenize_str};

use crate::denial::Denial;
use crate::quiet::without_panic;
use crate::scan;

/// Longest command, in bytes.
const LONGEST: usize = 128 * 1024;
/// Commands within commands. The parser tries several readings at each.
const MOST_NESTED: usize = 24;
/// Tokens of a command.
const MOST_TOKENS: usize = 5_000;
/// Places at which the parser reads all that follows twice, within each other: so often is the innermost read.
const MOST_READINGS: usize = 5;
/// Brackets of a word that begins as an element of an array does. The parser tries several readings at each.
const MOST_BRACKETS: usize = 4;

const NESTING: [&str; 12] = [
    "{", "if", "elif", "for", "while", "until", "case", "select", "coproc", "function", "[[", "time",
];

pub(crate) fn options() -> ParserOptions {
    ParserOptions {
        enable_extended_globbing: false,
        ..ParserOptions::default()
    }
}

/// Reads a command.
pub(crate) fn parse(command: &str) -> Result<Program, Denial> {
    check_text(command)?;
    scan::check_command(command)?;
    let options = options();
    let tokens = protected(|| uncached_tokenize_str(command, &options.tokenizer_options()))?;
    let tokens = tokens.map_err(|error| unreadable(&error))?;
    check_tokens(&tokens)?;
    let program = protected(|| parse_tokens(&tokens, &options))?;
    program.map_err(|error| unreadable(&error))
}

/// The pieces of a word of a command.
pub(crate) fn pieces(text: &str) -> Result<Vec<WordPieceWithSource>, Denial> {
    check_word(text)?;
    let pieces = protected(|| word::parse(text, &options()))?;
    pieces.map_err(|error| unreadable(&error))
}

/// The pieces of a here-document whose delimiter is not quoted.
pub(crate) fn here_document(text: &str) -> Result<Vec<WordPieceWithSource>, Denial> {
    scan::check_document(text)?;
    let pieces = protected(|| word::parse_heredoc(text, &options()))?;
    pieces.map_err(|error| unreadable(&error))
}

/// The parser is not ours: what makes it panic is not understood.
fn protected<T>(parse: impl FnOnce() -> T) -> Result<T, Denial> {
    without_panic(parse).ok_or_else(|| {
        Denial::syntax("the command cannot be read: write it more simply, or as a small Python file")
    })
}

fn unreadable(error: &dyn std::fmt::Display) -> Denial {
    Denial::syntax(format!(
        "the command is not one that bash would read ({error}): correct its syntax"
    ))
}

fn check_text(command: &str) -> Result<(), Denial> {
    if command.len() > LONGEST {
        return Err(Denial::syntax(format!(
            "the command has {} bytes, and {LONGEST} are read: write the file with the tool Write",
            command.len()
        )));
    }
    if command.trim().is_empty() {
        return Err(Denial::syntax("there is no command"));
    }
    let is_bidirectional =
        |c: char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}');
    let hidden = |c: &char| c.is_control() && !matches!(c, '\n' | '\t') || is_bidirectional(*c);
    if let Some(found) = command.chars().find(hidden) {
        return Err(Denial::syntax(format!(
            "the command has the control character {}: leave it out, or write it as an escape such as $'\\t'",
            found.escape_unicode()
        )));
    }
    Ok(())
}

fn check_tokens(tokens: &[Token]) -> Result<(), Denial> {
    let nests = |token: &&Token| match token {
        Token::Operator(operator, _) => operator == "(",
        Token::Word(word, _) => NESTING.contains(&word.as_str()),
    };
    let is_deep = |token: &Token| {
        let word = token.to_str();
        let after = word.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_');
        after.len() < word.len() && after.starts_with('[') && after.matches('[').count() > MOST_BRACKETS
    };
    if tokens.iter().any(is_deep) {
        return Err(Denial::syntax(
            "a word has too many brackets: quote it, or write fewer",
        ));
    }
    if tokens.len() > MOST_TOKENS || tokens.iter().filter(nests).count() > MOST_NESTED {
        return Err(Denial::syntax(
            "the command has too many parts: run them one after the other, or write a small Python file",
        ));
    }
    check_readings(tokens)
}

/// A parenthesis opens arithmetic or a subshell, an item of `case` ends or goes on: on failure the parser reads again from there.
fn check_readings(tokens: &[Token]) -> Result<(), Denial> {
    let (mut open, mut cases) = (0_usize, 0_usize);
    for token in tokens {
        match token {
            Token::Operator(operator, _) if operator == "(" => open += 1,
            Token::Operator(operator, _) if operator == ")" => open = open.saturating_sub(1),
            Token::Word(word, _) if word == "case" => cases += 1,
            _ => {}
        }
        if open + cases > MOST_READINGS {
            return Err(Denial::syntax(format!(
                "more than {MOST_READINGS} parentheses or cases lie within each other: write the commands one after the other, or a small Python file"
            )));
        }
    }
    Ok(())
}

/// What the parser does not read as a tilde.
fn check_word(text: &str) -> Result<(), Denial> {
    let after_tilde = text.strip_prefix('~').and_then(|rest| rest.chars().next());
    if after_tilde.is_some_and(|c| c.is_ascii_digit() || matches!(c, '+' | '-')) {
        return Err(Denial::syntax(
            "~ with a number or sign is not settled: write the path",
        ));
    }
    Ok(())
}
