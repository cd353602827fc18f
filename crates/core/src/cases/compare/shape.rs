//! The shapes in which outputs are read.

use super::scalar::number;
use super::table::{Table, delimiter};
use super::value::Value;
use codegen_api::case::{Check, Expectation};
use codegen_api::values::{FileFormat, ValueType};

/// The shape of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputShape {
    /// One value.
    Value(ValueType),
    /// Delimited text with named columns, and what separates them where a format says so; else whatever the first line has most of.
    Table(Option<u8>),
    /// A JSON document.
    Json,
    /// One JSON value a line.
    JsonLines,
    /// Text.
    Text,
    /// Nothing that is compared here.
    Bytes,
}

impl OutputShape {
    /// The shape of an output, as far as its declaration says; `None` for a file that may be anything.
    #[must_use]
    pub fn declared(type_: ValueType, format: Option<FileFormat>) -> Option<Self> {
        Some(match (type_, format) {
            (ValueType::File, Some(FileFormat::CSV)) => Self::Table(Some(b',')),
            (ValueType::File, Some(FileFormat::TSV)) => Self::Table(Some(b'\t')),
            (ValueType::File, Some(FileFormat::JSON)) => Self::Json,
            (ValueType::File, Some(FileFormat::JSONLines)) => Self::JsonLines,
            (ValueType::File, Some(FileFormat::Text)) => Self::Text,
            (
                ValueType::File,
                Some(FileFormat::Parquet | FileFormat::Arrow | FileFormat::Excel | FileFormat::Binary),
            ) => Self::Bytes,
            (ValueType::File, None) | (ValueType::Dir, _) => return None,
            (value, _) => Self::Value(value),
        })
    }

    /// The shape of a file by the ending of its name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        let (_, ending) = name.rsplit_once('.')?;
        Some(match ending.to_ascii_lowercase().as_str() {
            "csv" => Self::Table(Some(b',')),
            "tsv" => Self::Table(Some(b'\t')),
            "json" => Self::Json,
            "jsonl" | "ndjson" => Self::JsonLines,
            "txt" | "md" | "log" => Self::Text,
            "parquet" | "arrow" | "feather" | "xlsx" | "xls" | "png" | "gz" | "zip" | "pdf" => Self::Bytes,
            _ => return None,
        })
    }

    /// The shape that an expectation takes for granted.
    #[must_use]
    pub fn assumed(expectation: &Expectation) -> Self {
        let table = Self::Table(None);
        match expectation.check {
            // A pointer begins with a slash, and no name of a column needs to.
            _ if expectation.at.starts_with('/') => Self::Json,
            _ if !expectation.at.is_empty() => table,
            Check::Equals => Self::of_value(&expectation.value).unwrap_or(Self::Text),
            Check::SameRows => Self::of_value(&expectation.value).unwrap_or(table),
            Check::Columns | Check::Ordered | Check::Total => table,
            Check::Rows | Check::Contains | Check::Lacks | Check::Between => Self::Text,
        }
    }

    /// That of a text, which is a JSON document where the expectation takes one for granted.
    #[must_use]
    pub fn of_text(text: Self, expectation: &Expectation) -> Self {
        match Self::assumed(expectation) {
            Self::Json => Self::Json,
            _ => text,
        }
    }

    /// The shape of a whole expected value: what it reads as, the same text reads as too.
    fn of_value(value: &str) -> Option<Self> {
        if matches!(Value::parse(value, false), Ok(Value::List(_) | Value::Record(_))) {
            return Some(Self::Json);
        }
        if value.trim_start().starts_with(['{', '[']) && Value::parse(value, true).is_ok() {
            return Some(Self::JsonLines);
        }
        is_table(value).then_some(Self::Table(None))
    }
}

/// Recognises a text that is a table for sure: at least two columns with names of their own, and rows of as many cells.
fn is_table(text: &str) -> bool {
    let Ok(table) = Table::read(text, delimiter(text)) else {
        return false;
    };
    let width = table.columns.len();
    let is_name = |(index, name): (usize, &String)| {
        // A text with commas is no table: names that are empty, numbers or the same twice are none.
        !name.is_empty() && number(name).is_none() && !table.columns[..index].contains(name)
    };
    width > 1
        && !table.rows.is_empty()
        && table.columns.iter().enumerate().all(is_name)
        && table
            .rows
            .iter()
            .all(|row| row.list().map(<[Value]>::len) == Some(width))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::super::tests::expectation;
    use super::*;

    #[rstest]
    #[case::json_object(Check::Equals, r#"{"a": 2, "b": 1}"#, OutputShape::Json)]
    #[case::json_array(Check::SameRows, "[1, 2]", OutputShape::Json)]
    #[case::json_lines(Check::Equals, "{\"a\": 1}\n{\"a\": 2}\n", OutputShape::JsonLines)]
    #[case::table(Check::Equals, "item,units\na,1\n", OutputShape::Table(None))]
    #[case::rows(Check::SameRows, "item\na\n", OutputShape::Table(None))]
    #[case::text(Check::Equals, "first line\nsecond line\n", OutputShape::Text)]
    #[case::prose(Check::Equals, "Dear all,\nregards, x\n", OutputShape::Text)]
    #[case::number(Check::Equals, "12", OutputShape::Text)]
    #[case::broken_json(Check::Equals, "{\"a\": 1", OutputShape::Text)]
    fn a_file_without_a_format_is_what_is_expected_of_it(
        #[case] check: Check,
        #[case] value: &str,
        #[case] shape: OutputShape,
    ) {
        assert_eq!(OutputShape::assumed(&expectation(check, "", value)), shape);
    }
}
