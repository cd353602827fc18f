//! How an output is read.

use super::document::parse_expected;
use super::json::Json;
use super::scalar::number;
use super::table::{Table, delimiter};
use crate::api::case::{Check, Expectation};
use crate::api::values::{FileFormat, ValueType};

/// How an output is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// One value.
    Value(ValueType),
    /// Delimited text with named columns.
    Table(Separator),
    /// A JSON document.
    Json,
    /// One JSON value a line.
    JsonLines,
    /// Text.
    Text,
    /// Nothing that is compared here.
    Bytes,
}

/// What separates the cells of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Separator {
    /// Whatever its first line has most of: no format is declared.
    Any,
    /// A comma.
    Comma,
    /// A tab.
    Tab,
}

impl Separator {
    pub(super) const fn byte(self) -> Option<u8> {
        match self {
            Self::Any => None,
            Self::Comma => Some(b','),
            Self::Tab => Some(b'\t'),
        }
    }
}

impl Shape {
    /// The shape of an output, as far as its declaration says; `None` for a file that may be anything.
    pub(crate) fn declared(type_: ValueType, format: Option<FileFormat>) -> Option<Self> {
        match (type_, format) {
            (ValueType::File, Some(FileFormat::CSV)) => Some(Self::Table(Separator::Comma)),
            (ValueType::File, Some(FileFormat::TSV)) => Some(Self::Table(Separator::Tab)),
            (ValueType::File, Some(FileFormat::JSON)) => Some(Self::Json),
            (ValueType::File, Some(FileFormat::JSONLines)) => Some(Self::JsonLines),
            (ValueType::File, Some(FileFormat::Text)) => Some(Self::Text),
            (
                ValueType::File,
                Some(FileFormat::Parquet | FileFormat::Arrow | FileFormat::Excel | FileFormat::Binary),
            ) => Some(Self::Bytes),
            (ValueType::File | ValueType::Dir, None) | (ValueType::Dir, Some(_)) => None,
            (value, _) => Some(Self::Value(value)),
        }
    }

    /// The shape of a file by the ending of its name.
    pub(crate) fn of_name(name: &str) -> Option<Self> {
        let (_, ending) = name.rsplit_once('.')?;
        match ending.to_ascii_lowercase().as_str() {
            "csv" => Some(Self::Table(Separator::Comma)),
            "tsv" => Some(Self::Table(Separator::Tab)),
            "json" => Some(Self::Json),
            "jsonl" | "ndjson" => Some(Self::JsonLines),
            "txt" | "md" | "log" => Some(Self::Text),
            "parquet" | "arrow" | "feather" | "xlsx" | "xls" | "png" | "gz" | "zip" | "pdf" => {
                Some(Self::Bytes)
            }
            _ => None,
        }
    }

    /// The shape that an expectation takes for granted.
    pub(crate) fn assumed(expectation: &Expectation) -> Self {
        let table = Self::Table(Separator::Any);
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
    pub(crate) fn of_text(text: Self, expectation: &Expectation) -> Self {
        match Self::assumed(expectation) {
            Self::Json => Self::Json,
            _ => text,
        }
    }

    /// What a whole expected value is: what it reads as, the same text reads as too.
    fn of_value(value: &str) -> Option<Self> {
        let is_of_json = |document: &Json| matches!(document, Json::Array(_) | Json::Object(_));
        if Json::parse(value).is_ok_and(|document| is_of_json(&document)) {
            return Some(Self::Json);
        }
        if parse_expected(value, true).is_ok() && value.trim_start().starts_with(['{', '[']) {
            return Some(Self::JsonLines);
        }
        is_table(value).then_some(Self::Table(Separator::Any))
    }
}

/// Whether a text is a table for sure: at least two columns with names of their own, and rows of as many cells.
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
        && table.rows.iter().all(|row| row.len() == width)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::super::tests::expectation;
    use super::*;

    #[rstest]
    #[case::json_object(Check::Equals, r#"{"a": 2, "b": 1}"#, Shape::Json)]
    #[case::json_array(Check::SameRows, "[1, 2]", Shape::Json)]
    #[case::json_lines(Check::Equals, "{\"a\": 1}\n{\"a\": 2}\n", Shape::JsonLines)]
    #[case::table(Check::Equals, "item,units\na,1\n", Shape::Table(Separator::Any))]
    #[case::rows(Check::SameRows, "item\na\n", Shape::Table(Separator::Any))]
    #[case::text(Check::Equals, "first line\nsecond line\n", Shape::Text)]
    #[case::prose(Check::Equals, "Dear all,\nregards, x\n", Shape::Text)]
    #[case::number(Check::Equals, "12", Shape::Text)]
    #[case::broken_json(Check::Equals, "{\"a\": 1", Shape::Text)]
    fn a_file_without_a_format_is_what_is_expected_of_it(
        #[case] check: Check,
        #[case] value: &str,
        #[case] shape: Shape,
    ) {
        assert_eq!(Shape::assumed(&expectation(check, "", value)), shape);
    }
}
