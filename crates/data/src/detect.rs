//! Detection of a file's format: by its content first and its name second.

mod binary;
mod characters;
mod packing;

use std::io::{self, BufRead as _, Read as _};

use serde_json::Value;
use serde_json::error::Category;

use crate::format::FileFormat;

use super::source::{Compression, Encoding, HEAD_BYTES, Scan, Source, UnpackFault};
use crate::format::dialect::{self, Dialect};
use crate::format::excel::{self, WorkbookError};
use crate::format::format_name;
use crate::format::json::nonfinite;
use packing::PackingOddities;

/// Longest first line that is judged, bytes.
const LONGEST_FIRST_LINE: usize = 1024 * 1024;
/// Lines of which one must be JSON in what is named JSON Lines.
const JUDGED_LINES: usize = 20;

/// Properties of a file, as they were detected.
#[derive(Clone, Debug)]
pub(crate) struct Detection {
    /// Its format.
    pub format: FileFormat,
    /// Encoding of its text; `None` where it is no text.
    pub encoding: Option<Encoding>,
    /// Dialect of its fields; `None` unless CSV or TSV.
    pub dialect: Option<Dialect>,
    /// Name of the format of its bytes, where they are no text.
    pub what: Option<String>,
    /// Doubts, one sentence each.
    pub remarks: Vec<String>,
    /// The scan over all of it.
    pub scan: Scan,
    /// The first character that is no blank.
    pub first_character: Option<char>,
}

/// Returns the ending of a file's name; that of packed data says nothing of its content.
fn ending(file_name: &str) -> String {
    let stem = Compression::of_name(file_name).map_or(file_name, |(stem, _)| stem);
    stem.rsplit_once('.')
        .map_or(String::new(), |(_, ending)| ending.to_ascii_lowercase())
}

/// Finds out what a file is.
pub(crate) fn detect(source: &Source, file_name: &str) -> io::Result<Detection> {
    let (scan, encoding) = Scan::of(source)?;
    let packed = PackingOddities {
        compression: source.compression()?,
        fault: source.fault(),
        archive: source.archive()?,
    };
    let ending = ending(file_name);
    // Only a file that is not packed can be a workbook: its directory is read from the end.
    let is_workbook = packed.compression.is_none() && is_workbook(source, &scan)?;
    let kind = opaque_kind(&scan, encoding, &ending, is_workbook, &packed);
    let is_opened = is_workbook || matches!(kind, Some((FileFormat::Excel, _)));
    let packed = PackingOddities {
        // A workbook is an archive that is read as what it is.
        archive: packed.archive.filter(|_| !is_opened),
        ..packed
    };
    let mut remarks = packed.remarks(scan.bytes, file_name);
    if let Some((format, what)) = kind {
        let is_misnamed = (is_text_ending(&ending) && packed.fault != Some(UnpackFault::TooLarge))
            || (is_workbook_ending(&ending) && format != FileFormat::Excel)
            || (ending == "parquet" && format != FileFormat::Parquet)
            || (is_arrow_ending(&ending) && format != FileFormat::Arrow);
        if is_misnamed {
            remarks.insert(0, format!("named .{ending}, but its content is {what}"));
        }
        remarks.extend(binary::advice(&what).map(str::to_owned));
        return Ok(Detection {
            format,
            encoding: None,
            dialect: None,
            what: Some(what),
            remarks,
            scan,
            first_character: None,
        });
    }
    let head = head(source, encoding)?;
    remarks.extend(characters::remarks(&scan, encoding));
    let is_cut = head.len() >= HEAD_BYTES;
    let (format, dialect) = text_format(&head, is_cut, &ending, &scan, &mut remarks);
    let is_binary_ending = is_workbook_ending(&ending) || is_arrow_ending(&ending) || ending == "parquet";
    if is_binary_ending && format != FileFormat::Text {
        remarks.push(format!(
            "named .{ending}, but its content is {}",
            format_name(format)
        ));
    }
    let first_character = head.trim_start().chars().next();
    Ok(Detection {
        format,
        encoding: Some(encoding),
        dialect,
        what: None,
        remarks,
        scan,
        first_character,
    })
}

/// The start of a text: with its first line, and what follows a long one, where that is not too long.
fn head(source: &Source, encoding: Encoding) -> io::Result<String> {
    let mut input = source.open_decoded(encoding)?;
    let mut head = Vec::new();
    input.by_ref().take(HEAD_BYTES as u64).read_to_end(&mut head)?;
    // A first line longer than the start may be a header of thousands of columns, or JSON on one line.
    if head.len() == HEAD_BYTES && !head.contains(&b'\n') {
        let room = (LONGEST_FIRST_LINE - HEAD_BYTES) as u64;
        input.by_ref().take(room).read_until(b'\n', &mut head)?;
        input.take(HEAD_BYTES as u64).read_to_end(&mut head)?;
    }
    Ok(String::from_utf8_lossy(&head).into_owned())
}

fn is_workbook_ending(ending: &str) -> bool {
    matches!(ending, "xlsx" | "xlsm" | "xlsb" | "xls" | "ods")
}

fn is_arrow_ending(ending: &str) -> bool {
    matches!(ending, "arrow" | "feather" | "ipc")
}

/// Reports whether an archive is a workbook by its parts.
fn is_workbook(source: &Source, scan: &Scan) -> io::Result<bool> {
    Ok(scan.start.starts_with(b"PK\x03\x04")
        && !matches!(excel::package(source)?, Err(WorkbookError::Unreadable(_))))
}

fn is_text_ending(ending: &str) -> bool {
    matches!(
        ending,
        "csv" | "tsv" | "json" | "jsonl" | "ndjson" | "txt" | "log" | "md"
    )
}

/// Format and kind of a file whose content is no text.
fn opaque_kind(
    scan: &Scan,
    encoding: Encoding,
    ending: &str,
    is_workbook: bool,
    packed: &PackingOddities<'_>,
) -> Option<(FileFormat, String)> {
    if let Some(what) = packed.unread(scan.bytes) {
        return Some((FileFormat::Binary, what));
    }
    if scan.bytes == 0 {
        return None;
    }
    let (format, what) = binary::kind(scan, encoding, is_workbook_ending(ending), is_workbook)?;
    // Nothing that is read at random places is unpacked.
    Some(match packed.compression {
        Some(compression) => (
            FileFormat::Binary,
            format!("{} data that holds {what}", compression.name()),
        ),
        None => (format, what.to_owned()),
    })
}

fn text_format(
    head: &str,
    is_cut: bool,
    ending: &str,
    scan: &Scan,
    remarks: &mut Vec<String>,
) -> (FileFormat, Option<Dialect>) {
    let start = head.trim_start();
    if start.is_empty() && !is_cut {
        remarks.push(
            if scan.bytes == 0 {
                "the file is empty"
            } else {
                "the file holds blanks only"
            }
            .into(),
        );
        return (FileFormat::Text, None);
    }
    if let Some(markup) = markup(start) {
        if !matches!(ending, "html" | "htm" | "xml" | "xhtml" | "svg") {
            remarks.push(format!("its content is {markup}, whatever its name says"));
        }
        return (FileFormat::Text, None);
    }
    let json = json_format(&nonfinite::replaced(head), is_cut, ending);
    remarks.extend(json_remark(json, ending));
    if let Some(format) = json {
        return (format, None);
    }
    if is_json_ending(ending) {
        return (FileFormat::Text, None);
    }
    table_format(head, is_cut, ending, remarks)
}

fn is_json_ending(ending: &str) -> bool {
    matches!(ending, "json" | "jsonl" | "ndjson")
}

/// Returns a remark where the name of a file contradicts its content about JSON.
fn json_remark(found: Option<FileFormat>, ending: &str) -> Option<String> {
    match found {
        Some(FileFormat::JSONLines) if ending == "json" => {
            Some("named .json, but it is JSON Lines: one JSON value a line".to_owned())
        }
        Some(FileFormat::JSON) if matches!(ending, "jsonl" | "ndjson") => Some(format!(
            "named .{ending}, but its JSON does not have a value a line"
        )),
        None if is_json_ending(ending) => Some(format!(
            "named .{ending}, but its content is not JSON; described as text"
        )),
        _ => None,
    }
}

/// A delimited text and how its fields are written, or any other text.
fn table_format(
    head: &str,
    is_cut: bool,
    ending: &str,
    remarks: &mut Vec<String>,
) -> (FileFormat, Option<Dialect>) {
    let is_table = matches!(ending, "csv" | "tsv" | "tab");
    if is_cut && !head.contains(['\n', '\r']) {
        if is_table {
            remarks.push(format!(
                "its first line is longer than {} MiB: not read as a table",
                LONGEST_FIRST_LINE >> 20
            ));
        }
        return (FileFormat::Text, None);
    }
    let whole = if is_cut {
        &head[..head.rfind('\n').map_or(head.len(), |end| end + 1)]
    } else {
        head
    };
    let dialect = if is_table {
        Some(dialect::of_table(whole, ending != "csv"))
    } else {
        dialect::of_text(whole)
    };
    match dialect {
        Some(dialect) if dialect.delimiter == b'\t' => (FileFormat::TSV, Some(dialect)),
        Some(dialect) => (FileFormat::CSV, Some(dialect)),
        None => (FileFormat::Text, None),
    }
}

fn markup(start: &str) -> Option<&'static str> {
    let opening = start.chars().take(16).collect::<String>().to_ascii_lowercase();
    if opening.starts_with("<!doctype html") || opening.starts_with("<html") {
        Some("HTML")
    } else if opening.starts_with("<?xml") {
        Some("XML")
    } else {
        None
    }
}

/// Tells apart a text that is one JSON document and one with a value a line, judged by its first values.
fn json_format(head: &str, is_cut: bool, ending: &str) -> Option<FileFormat> {
    if matches!(ending, "jsonl" | "ndjson") {
        return json_lines_format(head, is_cut);
    }
    if !head.trim_start().starts_with(['{', '[']) {
        // Only a name makes a number or a word JSON.
        let is_scalar = ending == "json" && serde_json::from_str::<Value>(head).is_ok();
        return is_scalar.then_some(FileFormat::JSON);
    }
    let mut values = serde_json::Deserializer::from_str(head).into_iter::<Value>();
    let first = values.next()?;
    if let Err(error) = first {
        // Malformed far into the text, or too deep: still JSON, and the reader says what is wrong.
        let is_json = (is_cut && error.classify() == Category::Eof)
            || ending == "json"
            || error.to_string().starts_with("recursion limit");
        return is_json.then_some(FileFormat::JSON);
    }
    let between = values.byte_offset();
    let has_more = !head[between..].trim().is_empty();
    if !has_more {
        return Some(FileFormat::JSON);
    }
    let is_line = head[..between].trim().lines().count() == 1 && head[between..].starts_with(['\n', '\r']);
    let next = values.next();
    let is_json_next = match next {
        Some(Ok(_)) => true,
        Some(Err(error)) => is_cut && error.classify() == Category::Eof,
        None => false,
    };
    if is_line && is_json_next {
        return Some(FileFormat::JSONLines);
    }
    // One value after another is JSON whatever its name is, unless these are brackets in a text.
    let is_stream = is_json_next && head[between..].trim_start().starts_with(['{', '[']);
    (ending == "json" || is_stream).then_some(FileFormat::JSON)
}

/// Reports whether a text begins with two values that do not stand on a line each.
fn is_stream_of_values(head: &str) -> bool {
    let mut values = serde_json::Deserializer::from_str(head).into_iter::<Value>();
    let is_container = |value: Option<serde_json::Result<Value>>| {
        matches!(value, Some(Ok(Value::Object(_) | Value::Array(_))))
    };
    if !is_container(values.next()) {
        return false;
    }
    let (first, rest) = head.split_at(values.byte_offset());
    let is_line =
        !first.trim().contains('\n') && rest.trim_start_matches([' ', '\t', '\r']).starts_with('\n');
    !is_line && is_container(values.next())
}

/// Returns the format of a file that is named JSON Lines: that, unless it is one document on several lines.
fn json_lines_format(head: &str, is_cut: bool) -> Option<FileFormat> {
    if is_stream_of_values(head) {
        return Some(FileFormat::JSON);
    }
    let mut lines = head.lines().filter(|line| !line.trim().is_empty());
    let is_json = |line: &str| serde_json::from_str::<serde::de::IgnoredAny>(line).is_ok();
    if lines.by_ref().take(JUDGED_LINES).any(is_json) {
        return Some(FileFormat::JSONLines);
    }
    if !is_cut && serde_json::from_str::<Value>(head).is_ok() {
        return Some(FileFormat::JSON);
    }
    head.trim_start()
        .starts_with(['{', '['])
        .then_some(FileFormat::JSONLines)
}

#[cfg(test)]
mod tests;
