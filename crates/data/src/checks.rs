//! Constraints checked on the values of a file, streaming.

mod columnar;
pub mod rule;
mod running;
pub mod text;
pub(crate) mod value;

use std::cell::Cell;
use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::checks::rule::ColumnCheck;
use crate::format::FileFormat;

use super::DataError;
use super::describe::{Json, json_layout};
use super::detect::{Detection, detect};
use super::format::format_name;
use super::source::{Encoding, Source};
use crate::checks::running::{RunningCheck, ValuePlace};
use crate::format::json::keys::{ANY_KEY, DataKeys};
use crate::format::json::{self, JsonRecord};
use crate::format::table::{read_columns, record_reader};

/// Report of the checks on one file.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct CheckReport {
    /// Records of the file.
    pub records: u64,
    /// One result a check, in order.
    pub results: Vec<CheckResult>,
}

/// Result of one check.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct CheckResult {
    /// The check.
    pub check: ColumnCheck,
    /// Outcome of the check.
    pub outcome: CheckOutcome,
}

/// Outcome of a check.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub enum CheckOutcome {
    /// The file has no such column.
    ColumnMissing,
    /// Its values were checked.
    Checked {
        /// Values that were checked, missing ones counted.
        values: u64,
        /// Values that break the rule.
        violations: u64,
        /// The first five of them.
        first: Vec<Violation>,
    },
}

/// A value that breaks a rule.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Violation {
    /// Number of the record, counted from 1: its position in a data frame is one less.
    pub record: u64,
    /// Line of the record (of JSON and Parquet: its number; of a workbook: the row of its sheet), counted from 1.
    pub line: u64,
    /// The value, cut to 80 characters; empty when missing.
    pub value: String,
    /// Its sheet, where the file is a workbook of several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sheet: Option<String>,
}

/// Checks every value of a file. `format` is the declared one; otherwise the content decides.
pub fn evaluate(
    source: &Source,
    file_name: &str,
    format: Option<FileFormat>,
    checks: &[ColumnCheck],
) -> Result<CheckReport, DataError> {
    let mut runs = started(checks)?;
    let records = match open(source, file_name, format)? {
        Table::Delimited(encoding, found) => {
            delimited(source, encoding, &found, &mut runs).map_err(DataError::read(file_name))?
        }
        Table::Json(encoding, found) => {
            match from_json(source, encoding, &found, &mut runs, file_name, false) {
                // Once more, with words that only Python's reader takes for numbers.
                Err(DataError::Malformed { .. }) => {
                    runs = started(checks)?;
                    from_json(source, encoding, &found, &mut runs, file_name, true)?
                }
                read => read?,
            }
        }
        Table::Columnar(format) => columnar::columns(source, format, &mut runs, file_name)?,
        Table::Excel => columnar::excel(source, &mut runs, file_name)?,
    };
    // The checks read the file in passes; it must not have changed between them.
    source.settle().map_err(DataError::read(file_name))?;
    let results = runs.into_iter().map(RunningCheck::finish).collect();
    Ok(CheckReport { records, results })
}

fn started(checks: &[ColumnCheck]) -> Result<Vec<RunningCheck<'_>>, DataError> {
    checks.iter().map(RunningCheck::new).collect()
}

/// A file with columns.
enum Table {
    Delimited(Encoding, Detection),
    Json(Encoding, Detection),
    Columnar(FileFormat),
    Excel,
}

fn open(source: &Source, file_name: &str, format: Option<FileFormat>) -> Result<Table, DataError> {
    // Detection asks the name only where the content leaves a choice: there the declared format is the name.
    let judged_name = match format {
        Some(FileFormat::CSV) => "declared.csv",
        Some(FileFormat::TSV) => "declared.tsv",
        Some(FileFormat::JSON) => "declared.json",
        Some(FileFormat::JSONLines) => "declared.jsonl",
        _ => file_name,
    };
    let found = detect(source, judged_name).map_err(DataError::read(file_name))?;
    match (found.format, found.encoding) {
        (FileFormat::CSV | FileFormat::TSV, Some(encoding)) => Ok(Table::Delimited(encoding, found)),
        (FileFormat::JSON | FileFormat::JSONLines, Some(encoding)) => Ok(Table::Json(encoding, found)),
        (format @ (FileFormat::Parquet | FileFormat::Arrow), None) => Ok(Table::Columnar(format)),
        (FileFormat::Excel, None) => Ok(Table::Excel),
        // A file without a byte is JSON Lines of no record, as long as that is what was declared.
        (FileFormat::Text, Some(encoding))
            if found.scan.bytes == 0 && format == Some(FileFormat::JSONLines) =>
        {
            Ok(Table::Json(
                encoding,
                Detection {
                    format: FileFormat::JSONLines,
                    ..found
                },
            ))
        }
        (FileFormat::Text, _) if found.scan.bytes == 0 => Err(DataError::Empty {
            file: file_name.to_owned(),
        }),
        (other, _) => Err(DataError::NotATable {
            file: file_name.to_owned(),
            format: format_name(other).to_owned(),
        }),
    }
}

fn delimited(
    source: &Source,
    encoding: Encoding,
    found: &Detection,
    runs: &mut [RunningCheck<'_>],
) -> std::io::Result<u64> {
    let Some(dialect) = &found.dialect else {
        return Ok(0);
    };
    let mut reader = record_reader(source.open_decoded(encoding)?, dialect);
    let Some(columns) = read_columns(&mut reader, dialect)? else {
        return Ok(0);
    };
    let mut bound: Vec<_> = runs
        .iter_mut()
        .filter_map(|run| {
            let position = columns.names.iter().position(|name| *name == run.check.column)?;
            run.is_bound = true;
            run.set_decimal(dialect.decimal);
            Some((position, run))
        })
        .collect();
    let mut records = 0;
    while let Some(record) = reader.read()? {
        records += 1;
        for (position, run) in &mut bound {
            let place = ValuePlace {
                record: records,
                line: record.line,
            };
            run.check_cell(place, record.field(*position).unwrap_or(""));
        }
    }
    Ok(records)
}

fn from_json(
    source: &Source,
    encoding: Encoding,
    found: &Detection,
    runs: &mut [RunningCheck<'_>],
    file_name: &str,
    is_lenient: bool,
) -> Result<u64, DataError> {
    let mut by_path: HashMap<&str, Vec<usize>> = HashMap::new();
    for (position, run) in runs.iter().enumerate() {
        by_path
            .entry(run.check.column.as_str())
            .or_default()
            .push(position);
    }
    let keys = DataKeys::of_paths(by_path.keys().copied());
    let mut seen = vec![0; runs.len()];
    let mut records = 0;
    each_record(source, encoding, found, file_name, is_lenient, |value, line| {
        records += 1;
        let place = ValuePlace {
            record: records,
            line,
        };
        json::each_value(value, &keys, &mut |path, scalar| {
            for position in by_path.get(path).into_iter().flatten() {
                seen[*position] = records;
                runs[*position].is_bound = true;
                let text = json::scalar_text(scalar);
                runs[*position].check_value(place, (!scalar.is_null()).then_some(text.as_str()));
            }
        });
        // A record without the path misses its value, unless a list stands there; inside a list or under any key
        // nothing is expected.
        for (run, last) in runs.iter_mut().zip(&seen) {
            let path = &run.check.column;
            if *last != records && !path.contains("[]") && !path.contains(ANY_KEY) {
                let list = json::list_at(value, path).map(ToString::to_string);
                run.check_value(place, list.as_deref());
            }
        }
    })?;
    Ok(records)
}

fn each_record(
    source: &Source,
    encoding: Encoding,
    found: &Detection,
    file_name: &str,
    is_lenient: bool,
    mut take: impl FnMut(&Value, u64),
) -> Result<(), DataError> {
    let is_lines = found.format == FileFormat::JSONLines;
    let mut fault = None;
    let unpack = |record: JsonRecord<'_>| match record.value {
        Ok(value) => take(&value, record.place),
        Err(error) if fault.is_none() => {
            let noun = if is_lines { "line" } else { "record" };
            fault = Some(format!("{noun} {}: {error}", record.place));
        }
        Err(_) => {}
    };
    let layout = json_layout(source, encoding, found).map_err(DataError::read(file_name))?;
    let count = Cell::new(0);
    let json = Json {
        source,
        encoding,
        layout: &layout,
        non_finite: is_lenient.then_some(&count),
    };
    let syntax = json.each(unpack).map_err(DataError::read(file_name))?;
    match syntax.or(fault) {
        None => Ok(()),
        Some(reason) => Err(DataError::Malformed {
            file: file_name.to_owned(),
            format: format_name(found.format).to_owned(),
            reason,
        }),
    }
}

#[cfg(test)]
mod tests;
