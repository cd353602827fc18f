//! Typed outputs: what a program wrote, read as the type that the task declares.

use std::fmt::Display;
use std::io::{self, BufRead as _, BufReader, Read};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use super::detect::detect;
use super::format::{FileFormat, format_name};
use super::rows::cut_with_marker;
use super::scalar::{datetime, float, timedelta};
use super::source::Source;
use super::value_type::ValueType;
use crate::format::columnar::{Columnar, OPEN_BYTES};
use crate::format::delimited::RecordReader;
use crate::format::excel::Workbook;
use crate::format::json;

const LONGEST_VALUE: usize = 80;

/// Declaration of an output in a task.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Declared {
    /// Its name.
    pub name: String,
    /// Its type.
    #[serde(rename = "type")]
    pub type_: ValueType,
    /// Format of a file, where one is declared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<FileFormat>,
}

/// Content at a declared output.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub enum OutputContent {
    /// Nothing.
    Missing,
    /// A file, its bytes in base64.
    File(String),
    /// A folder: relative path and bytes in base64 of each file, sorted by path.
    Dir(Vec<(String, String)>),
    /// Larger than the job allows: its bytes.
    TooLarge(u64),
    /// Neither file nor folder (a link, a socket): what it is.
    NotAFile(String),
}

/// The value of an output.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub enum OutputValue {
    /// Text, as written.
    String(String),
    /// A whole number.
    Int(i64),
    /// A finite number.
    Float(f64),
    /// A truth value.
    Bool(bool),
    /// A moment in RFC 3339, without zone where the program gave none.
    Datetime(String),
    /// A length of time in ISO 8601 (`PT1H30M`).
    Timedelta(String),
    /// A file of this many bytes.
    File(u64),
    /// Relative paths of the files of a folder.
    Dir(Vec<String>),
}

impl OutputValue {
    /// The value as text; `None` for files and folders.
    #[must_use]
    pub fn text(&self) -> Option<String> {
        match self {
            Self::String(text) | Self::Datetime(text) | Self::Timedelta(text) => Some(text.clone()),
            Self::Int(value) => Some(value.to_string()),
            Self::Float(value) => Some(value.to_string()),
            Self::Bool(value) => Some(value.to_string()),
            Self::File(_) | Self::Dir(_) => None,
        }
    }
}

/// Reason for which the content of an output is not the declared value.
#[derive(thiserror::Error, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
#[error("output {output}: {problem}")]
pub struct OutputFault {
    /// Name of the output.
    pub output: String,
    /// Fault of the output.
    pub problem: OutputProblem,
}

/// Fault of an output.
#[derive(thiserror::Error, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub enum OutputProblem {
    /// Nothing is there.
    #[error("the program wrote nothing to it")]
    Missing,
    /// More than may be brought back.
    #[error("{0} bytes are more than may be brought back; write less")]
    TooLarge(u64),
    /// A file where a folder is declared, or the other way round.
    #[error("declared as {declared}, but {found} is there")]
    WrongKind {
        /// Kind that the task declares.
        declared: String,
        /// Kind that is there.
        found: String,
    },
    /// The text is not a value of the type.
    #[error("expected {expected}, found {found:?}")]
    NotAValue {
        /// Expected value, with an example.
        expected: String,
        /// Text that is there, cut to 80 characters.
        found: String,
    },
    /// The file does not have the declared format.
    #[error("not valid {format}: {reason}")]
    Malformed {
        /// The declared format.
        format: String,
        /// Fault with its place.
        reason: String,
    },
}

impl OutputProblem {
    /// Describes the fault without anything that the program wrote.
    #[must_use]
    pub fn without_values(&self) -> String {
        match self {
            Self::Missing | Self::WrongKind { .. } => self.to_string(),
            Self::TooLarge(_) => "it has more bytes than may be brought back; write less".to_owned(),
            Self::NotAValue { expected, found: _ } => format!("expected {expected}, found something else"),
            Self::Malformed { format, reason: _ } => format!("not valid {format}"),
        }
    }
}

/// Reads what lies at a declared output as its type. One line break at the end of a scalar is tolerated.
pub fn parse(output: &Declared, content: &OutputContent) -> Result<OutputValue, OutputFault> {
    value(output, content).map_err(|problem| OutputFault {
        output: output.name.clone(),
        problem,
    })
}

fn value(output: &Declared, content: &OutputContent) -> Result<OutputValue, OutputProblem> {
    let wrong_kind = |found: &str| OutputProblem::WrongKind {
        declared: if output.type_ == ValueType::Dir {
            "a folder"
        } else {
            "a file"
        }
        .to_owned(),
        found: found.to_owned(),
    };
    match (content, output.type_) {
        (OutputContent::Missing, _) => Err(OutputProblem::Missing),
        (OutputContent::TooLarge(bytes), _) => Err(OutputProblem::TooLarge(*bytes)),
        (OutputContent::NotAFile(what), _) => Err(wrong_kind(what)),
        (OutputContent::Dir(files), ValueType::Dir) => Ok(OutputValue::Dir(
            files.iter().map(|(path, _)| path.clone()).collect(),
        )),
        (OutputContent::Dir(_), _) => Err(wrong_kind("a folder")),
        (OutputContent::File(_), ValueType::Dir) => Err(wrong_kind("a file")),
        (OutputContent::File(encoded), type_) => {
            let bytes = STANDARD
                .decode(encoded)
                .map_err(|_| not_a_value("bytes in base64", encoded))?;
            if type_ == ValueType::File {
                check_format(output.format, &bytes)?;
                return Ok(OutputValue::File(bytes.len() as u64));
            }
            scalar(type_, &bytes)
        }
    }
}

fn not_a_value(expected: &str, found: &str) -> OutputProblem {
    OutputProblem::NotAValue {
        expected: expected.to_owned(),
        found: cut_with_marker(found, LONGEST_VALUE),
    }
}

fn scalar(type_: ValueType, bytes: &[u8]) -> Result<OutputValue, OutputProblem> {
    let text = std::str::from_utf8(bytes)
        .map_err(|_| not_a_value("text in UTF-8", &String::from_utf8_lossy(bytes)))?;
    // `print` ends a line, and on Windows with a carriage return.
    let line = text
        .strip_suffix('\n')
        .map_or(text, |line| line.strip_suffix('\r').unwrap_or(line));
    let parsed = match type_ {
        ValueType::Int => line.parse().ok().map(OutputValue::Int),
        ValueType::Float => float(line).map(OutputValue::Float),
        ValueType::Bool => match line.to_ascii_lowercase().as_str() {
            "true" => Some(OutputValue::Bool(true)),
            "false" => Some(OutputValue::Bool(false)),
            _ => None,
        },
        ValueType::Datetime => datetime(line).map(OutputValue::Datetime),
        ValueType::Timedelta => timedelta(line).map(|length| OutputValue::Timedelta(length.to_string())),
        // The text of a `String` is whole: its line break may be part of it.
        ValueType::String | ValueType::File | ValueType::Dir => Some(OutputValue::String(text.to_owned())),
    };
    parsed.ok_or_else(|| not_a_value(expectation(type_), line))
}

const fn expectation(type_: ValueType) -> &'static str {
    match type_ {
        ValueType::Int => "a whole number of 64 bits (`42`)",
        ValueType::Float => "a finite number (`0.5`)",
        ValueType::Bool => "`true` or `false`",
        ValueType::Datetime => {
            "a date and time in RFC 3339 (`2026-01-31T12:00:00Z`, the zone may be left out)"
        }
        ValueType::Timedelta => "a length of time in ISO 8601 (`PT1H30M`) or seconds (`5400`)",
        ValueType::String | ValueType::File | ValueType::Dir => "text",
    }
}

fn check_format(format: Option<FileFormat>, bytes: &[u8]) -> Result<(), OutputProblem> {
    let Some(format) = format else { return Ok(()) };
    judge_format(format, &Source::bytes(bytes)).map_err(|reason| OutputProblem::Malformed {
        format: format_name(format).to_owned(),
        reason,
    })
}

/// Reads a file as its declared format; the error says why it is none.
pub(crate) fn judge_format(format: FileFormat, source: &Source) -> Result<(), String> {
    match format {
        FileFormat::CSV => delimited(source, "output.csv"),
        FileFormat::TSV => delimited(source, "output.tsv"),
        FileFormat::JSON => json(source),
        FileFormat::JSONLines => json_lines(source),
        FileFormat::Parquet | FileFormat::Arrow => columnar(source, format),
        FileFormat::Excel => excel(source),
        FileFormat::Text => text(source),
        FileFormat::Binary => Ok(()),
    }
}

fn words(error: impl Display) -> String {
    error.to_string()
}

/// A file that a reader opened; the outer error is of the system, the inner one of the format.
fn opened<T, E: Display>(file: io::Result<Result<T, E>>) -> Result<T, String> {
    file.map_err(words)?.map_err(words)
}

fn buffered(source: &Source) -> Result<BufReader<Box<dyn Read>>, String> {
    let input = source.open().map_err(words)?;
    Ok(BufReader::with_capacity(256 * 1024, input))
}

fn json(source: &Source) -> Result<(), String> {
    serde_json::from_reader::<_, serde::de::IgnoredAny>(buffered(source)?)
        .map(drop)
        .map_err(words)
}

/// Text is UTF-8; a character may lie across two reads.
fn text(source: &Source) -> Result<(), String> {
    let mut input = buffered(source)?;
    let (mut pending, mut before) = (Vec::new(), 0);
    loop {
        let read = input.fill_buf().map_err(words)?;
        let (length, is_end) = (read.len(), read.is_empty());
        pending.extend_from_slice(read);
        input.consume(length);
        let valid = match std::str::from_utf8(&pending) {
            Ok(_) => pending.len(),
            // The end of the buffer may cut a character, which the next read completes.
            Err(error) if error.error_len().is_none() && !is_end => error.valid_up_to(),
            Err(error) => {
                let place = before + error.valid_up_to();
                return Err(format!("invalid utf-8 sequence at byte {place}"));
            }
        };
        before += valid;
        pending.drain(..valid);
        if is_end {
            return Ok(());
        }
    }
}

/// A delimited file has a header, and every record its width.
fn delimited(source: &Source, judged_name: &str) -> Result<(), String> {
    let found = detect(source, judged_name).map_err(words)?;
    let (Some(encoding), Some(dialect)) = (found.encoding, found.dialect) else {
        let what = found.remarks.into_iter().next();
        return Err(what.unwrap_or_else(|| "it is no table".to_owned()));
    };
    let input = source.open_decoded(encoding).map_err(words)?;
    let mut reader = RecordReader::new(input, dialect.delimiter);
    let mut width = None;
    while let Some(record) = reader.read().map_err(words)? {
        let width = *width.get_or_insert(record.width);
        if record.width != width {
            return Err(format!(
                "line {} has {} fields, the header {width}",
                record.line, record.width
            ));
        }
    }
    Ok(())
}

/// Every page and record batch can be read, and each row group has the rows that the footer says.
fn columnar(source: &Source, format: FileFormat) -> Result<(), String> {
    let file = opened(Columnar::open(source, format))?;
    for span in file.spans(file.leaves().len(), OPEN_BYTES) {
        for part in 0..file.parts().len() {
            file.read(part, &span.fields, None, |_| ())?;
        }
    }
    Ok(())
}

/// Every sheet of a workbook can be read.
fn excel(source: &Source) -> Result<(), String> {
    let mut workbook = opened(Workbook::open(source))?;
    let sheets = workbook.sheets().to_vec();
    // Charts and dialogs are sheets as well, and have no cells.
    for sheet in sheets.iter().filter(|sheet| sheet.has_cells) {
        workbook
            .each_row(&sheet.name, |_| ())
            .map_err(|reason| format!("sheet {:?}: {reason}", sheet.name))?;
    }
    Ok(())
}

fn json_lines(source: &Source) -> Result<(), String> {
    let mut judged = Ok(());
    json::each_line(buffered(source)?, |record| {
        // The first fault is named; the rest is read to its end, so that an error of reading is seen too.
        if let (Ok(()), Err(error)) = (&judged, record.value) {
            judged = Err(format!("line {}: {error}", record.place));
        }
    })
    .map_err(words)?;
    judged
}

#[cfg(test)]
mod tests;
