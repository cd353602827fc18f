//! Compares what a program wrote with what a case expects, by the type of the output.

pub(crate) mod scalar;
pub(crate) mod table;

mod cells;
mod document;
mod form;
mod json;
mod matching;
mod number;
mod order;
mod rows;
mod shape;

use std::borrow::Cow;

use bigdecimal::BigDecimal;

use crate::api::case::{Check, Expectation};
use crate::api::values::ValueType;
use crate::pipeline::bounds::cut;

use self::scalar::{Tolerance, number, same, seconds};
pub(crate) use self::shape::{Separator, Shape};

/// Bytes of an expected or actual value that a message shows.
const SHOWN: usize = 300;

/// What was expected, and what is there instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mismatch {
    pub(crate) expected: String,
    pub(crate) actual: String,
}

impl Mismatch {
    fn new(expected: impl Into<String>, actual: impl Into<String>) -> Self {
        Self {
            expected: cut(&expected.into(), SHOWN),
            actual: cut(&actual.into(), SHOWN),
        }
    }

    fn unless(holds: bool, expected: &str, actual: &str) -> Result<(), Self> {
        if holds {
            Ok(())
        } else {
            Err(Self::new(expected, actual))
        }
    }
}

/// What is asked of an output.
#[derive(Clone, Copy)]
struct Asked<'a> {
    check: Check,
    at: &'a str,
    /// The value with references resolved.
    expected: &'a str,
    tolerance: Tolerance,
}

impl Asked<'_> {
    /// Whether the value is all of the output.
    fn is_whole(&self) -> bool {
        matches!(self.check, Check::Equals | Check::SameRows) && self.at.is_empty()
    }
}

/// Compares the text of an output with one expectation; `expected` is its value with references resolved.
pub(crate) fn compare(
    shape: Shape,
    expectation: &Expectation,
    expected: &str,
    text: &str,
) -> Result<(), Mismatch> {
    let asked = Asked {
        check: expectation.check,
        at: &expectation.at,
        expected,
        tolerance: Tolerance::parse(&expectation.tolerance).unwrap_or_default(),
    };
    match shape {
        Shape::Value(type_) => value(type_, &asked, text.trim_end_matches(['\n', '\r'])),
        Shape::Table(separator) => cells::check(text, separator, &asked),
        Shape::Json | Shape::JsonLines => {
            let is_lines = shape == Shape::JsonLines;
            let document = document::parse(text, is_lines)
                .map_err(|error| Mismatch::new("JSON", format!("text that is none ({error})")))?;
            document::check(&document, is_lines, &asked)
        }
        Shape::Text => plain(&asked, text),
        Shape::Bytes => Err(Mismatch::new(expected, "bytes that are not compared")),
    }
}

fn value(type_: ValueType, asked: &Asked<'_>, actual: &str) -> Result<(), Mismatch> {
    let Asked {
        check,
        expected,
        tolerance,
        ..
    } = *asked;
    let holds = match (check, type_) {
        (Check::Equals, ValueType::Timedelta) => {
            matches!((seconds(expected.trim()), seconds(actual.trim())), (Some(one), Some(other)) if tolerance.covers(&one, &other))
        }
        (Check::Equals, ValueType::String) => {
            unix_lines(expected).trim_end() == unix_lines(actual).trim_end()
        }
        (Check::Equals, ValueType::Int | ValueType::Float) => {
            same(unsigned(expected.trim()), unsigned(actual.trim()), tolerance)
        }
        (Check::Equals, _) => same(expected.trim(), actual.trim(), tolerance),
        (Check::Between, _) => return between(expected, actual.trim()),
        _ => return plain(asked, actual),
    };
    Mismatch::unless(holds, expected, actual)
}

/// A number without its plus.
fn unsigned(text: &str) -> &str {
    text.strip_prefix('+').unwrap_or(text)
}

fn plain(asked: &Asked<'_>, text: &str) -> Result<(), Mismatch> {
    let expected = asked.expected;
    match asked.check {
        Check::Rows => {
            let count = text.lines().count();
            let holds = expected.trim().parse() == Ok(count);
            Mismatch::unless(holds, &format!("{expected} lines"), &format!("{count} lines"))
        }
        Check::Contains | Check::Lacks => found(asked, stands_in(text, expected), text),
        Check::Between => between(expected, text.trim()),
        _ => {
            let lines = |text: &str| -> Vec<String> {
                let lines = text.trim_end().lines();
                lines.map(|line| line.trim_end().to_owned()).collect()
            };
            let (wanted, actual) = (lines(expected), lines(text));
            let one_value =
                wanted.len() == 1 && actual.len() == 1 && same(&wanted[0], &actual[0], asked.tolerance);
            Mismatch::unless(one_value || wanted == actual, expected, text)
        }
    }
}

/// A text whose lines end as they do on Unix.
fn unix_lines(text: &str) -> Cow<'_, str> {
    if text.contains('\r') {
        Cow::Owned(text.replace("\r\n", "\n"))
    } else {
        Cow::Borrowed(text)
    }
}

fn stands_in(text: &str, expected: &str) -> bool {
    unix_lines(text).contains(unix_lines(expected).as_ref())
}

/// The entries of a list separated by commas; one with a comma in it stands in quotes, as in CSV.
pub(super) fn list(text: &str) -> Vec<String> {
    let mut entries = vec![String::new()];
    let mut is_quoted = false;
    for character in text.chars() {
        let entry = entries.last_mut().filter(|_| is_quoted || character != ',');
        let Some(entry) = entry else {
            entries.push(String::new());
            continue;
        };
        // A quote opens an entry, and stands for itself in one that began without.
        let is_quote =
            character == '"' && (is_quoted || entry.trim().is_empty() || entry.trim_start().starts_with('"'));
        is_quoted ^= is_quote;
        entry.push(character);
    }
    entries.iter().map(|entry| unquoted(entry.trim())).collect()
}

fn unquoted(entry: &str) -> String {
    let inner = entry.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    inner.map_or_else(|| entry.to_owned(), |inner| inner.replace("\"\"", "\""))
}

fn bounds(text: &str) -> Option<(BigDecimal, BigDecimal)> {
    let (low, high) = text.split_once(',')?;
    Some((number(low.trim())?, number(high.trim())?))
}

fn between(expected: &str, actual: &str) -> Result<(), Mismatch> {
    let holds = matches!((bounds(expected), number(actual)), (Some((low, high)), Some(actual)) if low <= actual && actual <= high);
    Mismatch::unless(holds, &format!("a number between {expected}"), actual)
}

fn total(expected: &str, sum: Option<BigDecimal>, tolerance: Tolerance) -> Result<(), Mismatch> {
    let wanted = number(expected.trim());
    let holds = matches!((&wanted, &sum), (Some(one), Some(other)) if tolerance.covers(one, other));
    let sum = sum.map_or_else(
        || "cells that are no numbers".to_owned(),
        |sum| sum.normalized().to_plain_string(),
    );
    Mismatch::unless(holds, &format!("a total of {expected}"), &sum)
}

/// Whether the value stands where it must, or does not where it must not.
fn found(asked: &Asked<'_>, stands: bool, actual: &str) -> Result<(), Mismatch> {
    let expected = asked.expected;
    if asked.check == Check::Lacks {
        Mismatch::unless(!stands, &format!("no {expected}"), actual)
    } else {
        Mismatch::unless(stands, expected, actual)
    }
}

#[cfg(test)]
mod tests;
