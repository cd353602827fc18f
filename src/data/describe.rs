//! One pass over a file gives its profile.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::api::values::FileFormat;

use super::DataError;
use super::cell::{Cell, null_spelling};
use super::delimited::{MOST_FIELDS, Record, RecordReader};
use super::detect::{Detection, detect};
use super::dialect::Dialect;
use super::json::{self, JsonTable};
use super::profile::{ColumnProfile, Content, Layout, SampleProfile, TableProfile, TextProfile};
use super::rows::{DESCRIBED_COLUMNS, TableBuilder, cut_with_marker};
use super::shape::{LISTED_PLACES, Places, Shape};
use super::source::{Encoding, Scan, Source};

const SHOWN_LINES: usize = 5;
const LONGEST_SHOWN_LINE: usize = 200;

/// What a description shall hold.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Options {
    /// Upper bound of representative rows; they stop earlier when they show nothing new.
    pub max_rows: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { max_rows: 100 }
    }
}

/// Describes a file; equal bytes give equal profiles.
pub fn describe(
    path: &Path,
    name: &str,
    file_name: &str,
    options: &Options,
) -> Result<SampleProfile, DataError> {
    describe_source(&Source::path(path), name, file_name, options)
}

/// Describes bytes from anywhere.
pub fn describe_source(
    source: &Source,
    name: &str,
    file_name: &str,
    options: &Options,
) -> Result<SampleProfile, DataError> {
    let mut found = detect(source, file_name).map_err(DataError::read(file_name))?;
    let mut remarks = std::mem::take(&mut found.remarks);
    let content = match (found.format, found.encoding) {
        (format, None) => Content::Opaque(found.what.unwrap_or(format_name(format)).to_owned()),
        (FileFormat::CSV | FileFormat::TSV, Some(encoding)) => {
            let dialect = found.dialect.unwrap_or(Dialect {
                delimiter: b',',
                has_header: true,
            });
            delimited(source, encoding, dialect, *options, &mut remarks)
                .and_then(|table| {
                    table.map_or_else(
                        || text(source, encoding, &found.scan),
                        |table| Ok(Content::Table(table)),
                    )
                })
                .map_err(DataError::read(file_name))?
        }
        (FileFormat::JSON | FileFormat::JSONLines, Some(encoding)) => {
            json_content(source, encoding, &found, *options, &mut remarks)
                .map_err(DataError::read(file_name))?
        }
        (_, Some(encoding)) => text(source, encoding, &found.scan).map_err(DataError::read(file_name))?,
    };
    let format = if matches!(content, Content::Text(_)) {
        FileFormat::Text
    } else {
        found.format
    };
    Ok(SampleProfile {
        name: name.to_owned(),
        file_name: file_name.to_owned(),
        format,
        bytes: found.scan.bytes,
        encoding: found.encoding,
        remarks,
        content,
    })
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
        FileFormat::Text => "text",
        FileFormat::Binary => "binary",
    }
}

fn text(source: &Source, encoding: Encoding, scan: &Scan) -> std::io::Result<Content> {
    use std::io::Read as _;
    let mut head = Vec::new();
    source
        .open_decoded(encoding)?
        .take(super::source::HEAD_BYTES as u64)
        .read_to_end(&mut head)?;
    let head = String::from_utf8_lossy(&head);
    let first_lines = head
        .lines()
        .take(SHOWN_LINES)
        .map(|line| shown_line(line, head.len(), scan))
        .collect();
    Ok(Content::Text(TextProfile {
        lines: scan.lines(),
        longest_line: scan.longest_line,
        first_lines,
    }))
}

/// A line of a text; of one that fills the head it is not known here how long it is.
fn shown_line(line: &str, head: usize, scan: &Scan) -> String {
    if line.len() == head && scan.longest_line > head as u64 {
        return format!("{}…[cut]", super::distinct::cut_at(line, LONGEST_SHOWN_LINE));
    }
    cut_with_marker(line, LONGEST_SHOWN_LINE)
}

/// Column names of a delimited file: its header, or `column_1`, `column_2`, ...
#[must_use]
pub fn column_names(first: &Record<'_>, has_header: bool) -> Vec<String> {
    let name = |(position, field): (usize, &str)| {
        if has_header {
            field.to_owned()
        } else {
            format!("column_{}", position + 1)
        }
    };
    first.fields().enumerate().map(name).collect()
}

/// The table of a delimited file; `None` with a remark where its first record is too large for one.
fn delimited(
    source: &Source,
    encoding: Encoding,
    dialect: Dialect,
    options: Options,
    remarks: &mut Vec<String>,
) -> std::io::Result<Option<TableProfile>> {
    let mut reader = RecordReader::new(source.open_decoded(encoding)?, dialect.delimiter);
    let delimiter = char::from(dialect.delimiter);
    let Some(first) = reader.read()? else {
        return Ok(None);
    };
    if first.is_cut || first.width > MOST_FIELDS {
        remarks.push(format!(
            "its first record has {} fields: not read as a table",
            first.width
        ));
        return Ok(None);
    }
    let width = first.width;
    let names = column_names(&first, dialect.has_header);
    let header = dialect.has_header.then(|| first.raw.to_owned());
    let mut builder = TableBuilder::new(Some(delimiter), options.max_rows > 0);
    for name in names.iter().take(DESCRIBED_COLUMNS) {
        builder.add_column(name.clone());
    }
    let mut shape = Shape::new(width);
    if dialect.has_header {
        header_remarks(&names, remarks);
    } else {
        remarks.push(
            "no header: the first record looks like data; columns are named column_1, column_2 and so on"
                .into(),
        );
        push_record(&mut builder, &first, &mut shape);
    }
    while let Some(record) = reader.read()? {
        push_record(&mut builder, &record, &mut shape);
    }
    let records = builder.records();
    shape.remarks(records, remarks);
    if records == 0 {
        remarks.push("it has a header and no records".into());
    }
    let (columns, rows) = builder.finish(options.max_rows, None);
    value_remarks(&columns, remarks);
    Ok(Some(TableProfile {
        layout: Layout::Delimited { delimiter, header },
        records,
        longer_records: shape.longer.count,
        columns,
        column_count: width as u64,
        rows,
    }))
}

fn push_record(builder: &mut TableBuilder, record: &Record<'_>, shape: &mut Shape) {
    shape.push(record);
    for column in 0..shape.width.min(DESCRIBED_COLUMNS) {
        let text = record.field(column).unwrap_or("");
        builder.cell(column, Cell::of(text), text);
    }
    builder.end_record(record.raw);
}

fn header_remarks(names: &[String], remarks: &mut Vec<String>) {
    let mut sorted: Vec<_> = names
        .iter()
        .map(String::as_str)
        .filter(|name| !name.is_empty())
        .collect();
    sorted.sort_unstable();
    let mut twice: Vec<_> = sorted
        .windows(2)
        .filter(|pair| pair[0] == pair[1])
        .map(|pair| pair[0])
        .collect();
    twice.dedup();
    if !twice.is_empty() {
        twice.truncate(LISTED_PLACES);
        remarks.push(format!("several columns share a name: {}", twice.join(", ")));
    }
    let unnamed = names
        .iter()
        .filter(|name| null_spelling(name) == Some(""))
        .count();
    if unnamed > 0 {
        let ends = if names.last().is_some_and(String::is_empty) {
            " (the header ends with a delimiter)"
        } else {
            ""
        };
        remarks.push(format!("columns without a name: {unnamed}{ends}"));
    }
}

fn value_remarks(columns: &[ColumnProfile], remarks: &mut Vec<String>) {
    let padded: Vec<_> = columns
        .iter()
        .filter(|column| column.padded > 0)
        .take(LISTED_PLACES)
        .map(|column| column.name.as_str())
        .collect();
    if !padded.is_empty() {
        remarks.push(format!(
            "values with blanks around them in: {}",
            padded.join(", ")
        ));
    }
}

/// The records of JSON as a table; a text with a remark where they cannot be read.
fn json_content(
    source: &Source,
    encoding: Encoding,
    found: &Detection,
    options: Options,
    remarks: &mut Vec<String>,
) -> std::io::Result<Content> {
    let mut table = JsonTable::new(options.max_rows > 0);
    let mut faults = Places::default();
    let mut fault = String::new();
    let is_lines = found.format == FileFormat::JSONLines;
    let is_array = found.first_character == Some('[');
    let mut take = |record: json::JsonRecord<'_>| match record.value {
        Ok(value) => table.push(
            &value,
            &if is_lines {
                record.raw.to_owned()
            } else {
                json::compact(record.raw)
            },
        ),
        Err(error) => {
            faults.push(record.place);
            fault = error;
        }
    };
    if !is_lines && !is_array && found.scan.bytes > json::LARGEST_DOCUMENT {
        remarks.push("one JSON value that is no array and larger than 32 MiB: not read whole".into());
        return text(source, encoding, &found.scan);
    }
    let input = source.open_decoded(encoding)?;
    let syntax = if is_lines {
        json::each_line(input, &mut take).map(|()| None)?
    } else {
        json::each_element(input, is_array, &mut take)
    };
    if let Some(error) = syntax {
        remarks.push(format!(
            "not valid JSON ({error}); only what stands before is described"
        ));
    }
    if faults.count > 0 {
        let noun = if is_lines {
            faults.list()
        } else {
            faults.list().replace("line", "record")
        };
        remarks.push(format!(
            "{} values cannot be read ({fault}): {noun}",
            faults.count
        ));
    }
    if table.too_deep > 0 {
        remarks.push(format!(
            "{} records nest deeper than {} levels; what lies deeper is not described",
            table.too_deep,
            json::DEEPEST
        ));
    }
    if table.records() == 0 && (faults.count > 0 || !remarks.is_empty()) {
        return text(source, encoding, &found.scan);
    }
    let layout = match (is_lines, is_array) {
        (true, _) => Layout::JsonLines,
        (false, true) => Layout::JsonArray,
        (false, false) => Layout::JsonDocument,
    };
    let (records, column_count) = (table.records(), table.path_count());
    let (columns, rows) = table.finish(options.max_rows);
    Ok(Content::Table(TableProfile {
        layout,
        records,
        longer_records: 0,
        columns,
        column_count,
        rows,
    }))
}
