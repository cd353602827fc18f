//! Readers of the formats: each streams the records of a file and knows nothing of statistics.

pub(crate) mod columnar;
pub(crate) mod delimited;
pub(crate) mod dialect;
pub(crate) mod excel;
pub(crate) mod header;
pub(crate) mod json;
pub(crate) mod lead;
pub(crate) mod names;
pub(crate) mod places;
pub(crate) mod quotes;
pub(crate) mod shape;
pub(crate) mod table;
pub(crate) mod units;

use std::panic::{AssertUnwindSafe, catch_unwind};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{EnumString, VariantNames};

/// Format of a file.
#[derive(
    Serialize,
    Deserialize,
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    JsonSchema,
    EnumString,
    VariantNames,
)]
#[schemars(description = "")]
#[strum(ascii_case_insensitive)]
pub enum FileFormat {
    /// Comma-separated values.
    CSV,
    /// Tab-separated values.
    TSV,
    /// One JSON document.
    JSON,
    /// One JSON value per line.
    JSONLines,
    /// Apache Parquet.
    Parquet,
    /// An Excel workbook.
    Excel,
    /// An Arrow file, also called Feather.
    Arrow,
    /// Text of no further structure.
    Text,
    /// Bytes of no known structure.
    Binary,
}

impl FileFormat {
    /// The ending of its files (`.csv`).
    #[must_use]
    pub const fn ending(self) -> &'static str {
        match self {
            Self::CSV => ".csv",
            Self::TSV => ".tsv",
            Self::JSON => ".json",
            Self::JSONLines => ".jsonl",
            Self::Parquet => ".parquet",
            Self::Excel => ".xlsx",
            Self::Arrow => ".arrow",
            Self::Text => ".txt",
            Self::Binary => ".bin",
        }
    }
}

/// The name of a format as the spec writes it (`JSONLines`).
#[must_use]
pub const fn format_name(format: FileFormat) -> &'static str {
    match format {
        FileFormat::CSV => "CSV",
        FileFormat::TSV => "TSV",
        FileFormat::JSON => "JSON",
        FileFormat::JSONLines => "JSON Lines",
        FileFormat::Parquet => "Parquet",
        FileFormat::Excel => "Excel",
        FileFormat::Arrow => "Arrow",
        FileFormat::Text => "text",
        FileFormat::Binary => "binary",
    }
}

/// Runs a step of a reader that may panic on malformed bytes; the error says what it panicked with. The step is not used
/// again after a panic, so nothing half-changed is seen.
pub(crate) fn catching<T>(step: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(step)).map_err(|panic| {
        let message = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&str>().copied())
            .unwrap_or("no message");
        let line = message.lines().next().unwrap_or_default();
        format!("its reader gave up: {}", &line[..line.floor_char_boundary(200)])
    })
}
