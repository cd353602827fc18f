//! Compares what a program wrote with what a case expects, by the type of the output.

pub(crate) mod scalar;
pub(crate) mod table;

mod document;

use crate::api::case::{Check, Expectation};
use crate::api::values::{FileFormat, ValueType};
use crate::pipeline::bounds::cut;

use self::scalar::{Tolerance, number, same, seconds};

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

/// How an output is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// One value.
    Value(ValueType),
    /// Delimited text with named columns.
    Table,
    /// A JSON document.
    Json,
    /// One JSON value a line.
    JsonLines,
    /// Text.
    Text,
    /// Nothing that is compared here.
    Bytes,
}

impl Shape {
    /// The shape of an output, as far as its declaration tells; `None` for a file that may be anything.
    pub(crate) fn declared(type_: ValueType, format: Option<FileFormat>) -> Option<Self> {
        match (type_, format) {
            (ValueType::File, Some(FileFormat::CSV | FileFormat::TSV)) => Some(Self::Table),
            (ValueType::File, Some(FileFormat::JSON)) => Some(Self::Json),
            (ValueType::File, Some(FileFormat::JSONLines)) => Some(Self::JsonLines),
            (ValueType::File, Some(FileFormat::Text)) => Some(Self::Text),
            (ValueType::File, Some(FileFormat::Parquet | FileFormat::Excel | FileFormat::Binary)) => {
                Some(Self::Bytes)
            }
            (ValueType::File | ValueType::Dir, None) | (ValueType::Dir, Some(_)) => None,
            (value, _) => Some(Self::Value(value)),
        }
    }

    /// The shape of a file by the ending of its name.
    pub(crate) fn of_name(name: &str) -> Option<Self> {
        let (_, ending) = name.rsplit_once('.')?;
        match ending.to_ascii_lowercase().as_str() {
            "csv" | "tsv" => Some(Self::Table),
            "json" => Some(Self::Json),
            "jsonl" | "ndjson" => Some(Self::JsonLines),
            "txt" | "md" | "log" => Some(Self::Text),
            "parquet" | "xlsx" | "xls" | "png" | "gz" | "zip" | "pdf" => Some(Self::Bytes),
            _ => None,
        }
    }

    /// The shape that an expectation takes for granted.
    pub(crate) fn assumed(expectation: &Expectation) -> Self {
        match expectation.check {
            _ if expectation.at.starts_with('/') => Self::Json,
            _ if !expectation.at.is_empty() => Self::Table,
            Check::Columns | Check::Ordered | Check::Total | Check::SameRows => Self::Table,
            Check::Equals | Check::Rows | Check::Contains | Check::Lacks | Check::Between => Self::Text,
        }
    }

    /// Why an expectation cannot be read as one of such an output; `None` when it can.
    pub(crate) fn refuses(self, expectation: &Expectation) -> Option<String> {
        let Expectation {
            check,
            at,
            value,
            tolerance,
            output,
        } = expectation;
        if Tolerance::parse(tolerance).is_none() {
            return Some(format!("the tolerance {tolerance} is no number"));
        }
        let fits = match (self, check) {
            (Self::Bytes, _) => {
                return Some(format!(
                    "{output} is neither text nor a table: nothing of it is compared"
                ));
            }
            (Self::Value(_) | Self::Text, _) if !at.is_empty() => {
                return Some(format!("{output} is one value: leave `at` empty"));
            }
            (Self::Value(_), Check::Equals | Check::Contains | Check::Lacks | Check::Between)
            | (Self::Text, Check::Equals | Check::Rows | Check::Contains | Check::Lacks) => true,
            (Self::Value(_) | Self::Text, _) => false,
            (Self::Table, Check::Rows | Check::Columns) => at.is_empty(),
            (Self::Table, Check::Between) => at.contains('/'),
            (Self::Table, Check::Ordered | Check::Total) => !at.is_empty(),
            (Self::Table, _) => true,
            (Self::Json | Self::JsonLines, _) => at.is_empty() || at.starts_with('/'),
        };
        if !fits {
            return Some(format!("check {check:?} with `at` {at:?} does not fit {output}"));
        }
        let is_bad = match check {
            Check::Rows => value.trim().parse::<usize>().is_err(),
            Check::Between => bounds(value).is_none(),
            Check::Ordered => !matches!(value.trim(), "ascending" | "descending"),
            Check::Total => number(value).is_none(),
            Check::Equals if let Self::Value(type_) = self => !reads_as(type_, value),
            Check::Equals | Check::SameRows | Check::Columns | Check::Contains | Check::Lacks => false,
        };
        (is_bad && !value.starts_with('$')).then(|| format!("{value:?} is no value of check {check:?}"))
    }
}

fn reads_as(type_: ValueType, value: &str) -> bool {
    match type_ {
        ValueType::Int | ValueType::Float => number(value).is_some(),
        ValueType::Bool => matches!(value, "true" | "false"),
        ValueType::Timedelta => seconds(value).is_some(),
        ValueType::String | ValueType::Datetime | ValueType::File | ValueType::Dir => true,
    }
}

/// Compares the text of an output with one expectation; `expected` is its value with references resolved.
pub(crate) fn compare(
    shape: Shape,
    expectation: &Expectation,
    expected: &str,
    text: &str,
) -> Result<(), Mismatch> {
    let Expectation { check, at, .. } = expectation;
    let tolerance = Tolerance::parse(&expectation.tolerance).unwrap_or_default();
    match shape {
        Shape::Value(type_) => value(
            type_,
            *check,
            expected,
            text.trim_end_matches(['\n', '\r']),
            tolerance,
        ),
        Shape::Table => table::check(text, *check, at, expected, tolerance),
        Shape::Json | Shape::JsonLines => {
            let is_lines = shape == Shape::JsonLines;
            let document = document::parse(text, is_lines)
                .map_err(|error| Mismatch::new("JSON", format!("text that is none ({error})")))?;
            document::check(&document, is_lines, *check, at, expected, tolerance)
        }
        Shape::Text => plain(*check, expected, text, tolerance),
        Shape::Bytes => Err(Mismatch::new(expected, "bytes that are not compared")),
    }
}

fn value(
    type_: ValueType,
    check: Check,
    expected: &str,
    actual: &str,
    tolerance: Tolerance,
) -> Result<(), Mismatch> {
    match (check, type_) {
        (Check::Equals, ValueType::Timedelta) => {
            let holds = matches!((seconds(expected), seconds(actual)), (Some(one), Some(other)) if tolerance.covers(one, other));
            Mismatch::unless(holds, expected, actual)
        }
        (Check::Equals, ValueType::String) => {
            Mismatch::unless(expected.trim_end() == actual.trim_end(), expected, actual)
        }
        (Check::Equals, _) => Mismatch::unless(same(expected, actual.trim(), tolerance), expected, actual),
        (Check::Between, _) => between(expected, actual.trim()),
        _ => plain(check, expected, actual, tolerance),
    }
}

fn plain(check: Check, expected: &str, text: &str, tolerance: Tolerance) -> Result<(), Mismatch> {
    match check {
        Check::Rows => {
            let count = text.lines().count();
            let holds = expected.trim().parse() == Ok(count);
            Mismatch::unless(holds, &format!("{expected} lines"), &format!("{count} lines"))
        }
        Check::Contains | Check::Lacks => {
            let stands = text.contains(expected);
            Mismatch::unless(
                stands == (check == Check::Contains),
                &presence(check, expected),
                text,
            )
        }
        Check::Between => between(expected, text.trim()),
        _ => {
            let lines = |text: &str| -> Vec<String> {
                let lines = text.trim_end().lines();
                lines.map(|line| line.trim_end().to_owned()).collect()
            };
            let (wanted, actual) = (lines(expected), lines(text));
            let one_value = wanted.len() == 1 && actual.len() == 1 && same(&wanted[0], &actual[0], tolerance);
            Mismatch::unless(one_value || wanted == actual, expected, text)
        }
    }
}

fn bounds(text: &str) -> Option<(f64, f64)> {
    let (low, high) = text.split_once(',')?;
    Some((number(low.trim())?, number(high.trim())?))
}

fn between(expected: &str, actual: &str) -> Result<(), Mismatch> {
    let holds = matches!((bounds(expected), number(actual)), (Some((low, high)), Some(actual)) if low <= actual && actual <= high);
    Mismatch::unless(holds, &format!("a number between {expected}"), actual)
}

fn total(expected: &str, sum: Option<f64>, tolerance: Tolerance) -> Result<(), Mismatch> {
    let holds = matches!((number(expected), sum), (Some(one), Some(other)) if tolerance.covers(one, other));
    let sum = sum.map_or_else(|| "cells that are no numbers".to_owned(), |sum| sum.to_string());
    Mismatch::unless(holds, &format!("a total of {expected}"), &sum)
}

fn presence(check: Check, expected: &str) -> String {
    if check == Check::Lacks {
        format!("no {expected}")
    } else {
        expected.to_owned()
    }
}

#[cfg(test)]
mod tests;
