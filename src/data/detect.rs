//! What a file is: by its content first and its name second.

use std::io::{self, BufRead as _, Read as _};

use serde_json::Value;
use serde_json::error::Category;

use crate::format::FileFormat;

use super::source::{Encoding, Fault, HEAD_BYTES, LARGEST_UNPACKED, Scan, Source};
use crate::format::dialect::{self, Dialect};
use crate::format::excel::{self, WorkbookError};
use crate::format::format_name;
use crate::format::json::nonfinite;

/// Share of control characters from which bytes are no text.
const BINARY_SHARE: usize = 10;
/// The same where the bytes are not UTF-8 either.
const STRAY_BINARY_SHARE: usize = 50;
/// Longest first line that is judged, bytes.
const LONGEST_FIRST_LINE: usize = 1024 * 1024;
/// Lines of which one must be JSON in what is named JSON Lines.
const JUDGED_LINES: usize = 20;
const GZIP_ENDING: &str = ".gz";

/// Names of streams in the directory of a workbook of Excel before 2007, or of an encrypted one, in UTF-16.
const OLD_WORKBOOK: [&[u8]; 2] = [
    b"W\0o\0r\0k\0b\0o\0o\0k\0",
    b"E\0n\0c\0r\0y\0p\0t\0e\0d\0P\0a\0c\0k\0a\0g\0e\0",
];

/// What a file was found to be.
#[derive(Clone, Debug)]
pub(crate) struct Detection {
    /// Its format.
    pub format: FileFormat,
    /// How its text is encoded; `None` where it is no text.
    pub encoding: Option<Encoding>,
    /// How its fields are written; `None` unless CSV or TSV.
    pub dialect: Option<Dialect>,
    /// What its bytes are, where they are no text.
    pub what: Option<String>,
    /// Doubts, one sentence each.
    pub remarks: Vec<String>,
    /// The scan over all of it.
    pub scan: Scan,
    /// The first character that is no blank.
    pub first_character: Option<char>,
}

/// What the name of a file says; the ending of packed data says nothing of what is in it.
fn ending(file_name: &str) -> String {
    let file_name = file_name.to_ascii_lowercase();
    let file_name = file_name.strip_suffix(GZIP_ENDING).unwrap_or(&file_name);
    file_name
        .rsplit_once('.')
        .map_or(String::new(), |(_, ending)| ending.to_owned())
}

/// Finds out what a file is.
pub(crate) fn detect(source: &Source, file_name: &str) -> io::Result<Detection> {
    let (scan, encoding) = Scan::of(source)?;
    let packed = source.compression()?.is_some();
    let ending = ending(file_name);
    let mut remarks = packing_remarks(packed, source.fault(), scan.bytes, file_name);
    // Only a file that is not packed can be a workbook: its directory is read from the end.
    let is_workbook = !packed && is_workbook(source, &scan)?;
    if let Some((format, what)) = opaque_kind(&scan, encoding, &ending, is_workbook, packed, source.fault()) {
        let is_misnamed = (is_text_ending(&ending) && source.fault() != Some(Fault::TooLarge))
            || (is_workbook_ending(&ending) && format != FileFormat::Excel)
            || (ending == "parquet" && format != FileFormat::Parquet);
        if is_misnamed {
            remarks.insert(0, format!("named .{ending}, but its content is {what}"));
        }
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
    remarks.extend(text_remarks(&scan, encoding));
    let is_cut = head.len() >= HEAD_BYTES;
    let (format, dialect) = text_format(&head, is_cut, &ending, &scan, &mut remarks);
    if (is_workbook_ending(&ending) || ending == "parquet") && format != FileFormat::Text {
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

fn packing_remarks(packed: bool, fault: Option<Fault>, content: u64, file_name: &str) -> Vec<String> {
    let mut remarks = Vec::new();
    let is_named = file_name.to_ascii_lowercase().ends_with(GZIP_ENDING);
    if packed && !is_named {
        remarks.push("gzip-compressed, which its name does not say (pandas: compression=\"gzip\")".into());
    } else if !packed && is_named && content > 0 {
        remarks.push("named .gz, but not compressed (pandas: compression=None)".into());
    }
    remarks.extend(fault.map(Fault::remark));
    remarks
}

fn is_workbook_ending(ending: &str) -> bool {
    matches!(ending, "xlsx" | "xlsm" | "xlsb" | "xls" | "ods")
}

/// Whether an archive is a workbook by its parts.
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
    packed: bool,
    fault: Option<Fault>,
) -> Option<(FileFormat, String)> {
    if fault == Some(Fault::TooLarge) {
        let gibibytes = LARGEST_UNPACKED >> 30;
        return Some((
            FileFormat::Binary,
            format!("gzip data that unpacks to more than {gibibytes} GiB"),
        ));
    }
    if scan.bytes == 0 {
        return fault.map(|_| (FileFormat::Binary, "gzip data".to_owned()));
    }
    let (format, what) = binary_kind(scan, encoding, ending, is_workbook)?;
    // Nothing that is read at random places is unpacked.
    Some(if packed {
        (FileFormat::Binary, format!("gzip data that holds {what}"))
    } else {
        (format, what.to_owned())
    })
}

fn binary_kind(
    scan: &Scan,
    encoding: Encoding,
    ending: &str,
    is_workbook: bool,
) -> Option<(FileFormat, &'static str)> {
    let known = match scan.start.as_slice() {
        [b'P', b'A', b'R', b'1', ..] => (FileFormat::Parquet, "Parquet"),
        [b'P', b'K', 3, 4, ..] if is_workbook || is_workbook_ending(ending) => (FileFormat::Excel, "Excel"),
        [b'P', b'K', 3, 4, ..] => (FileFormat::Binary, "a ZIP archive"),
        [0xd0, 0xcf, 0x11, 0xe0, ..] if is_workbook_ending(ending) => (FileFormat::Excel, "Excel"),
        [0xd0, 0xcf, 0x11, 0xe0, ..] if OLD_WORKBOOK.iter().any(|name| contains(&scan.start, name)) => {
            (FileFormat::Excel, "Excel")
        }
        [0xd0, 0xcf, 0x11, 0xe0, ..] => (FileFormat::Binary, "an OLE document"),
        [0x1f, 0x8b, 8, ..] => (FileFormat::Binary, "gzip data"),
        [b'B', b'Z', b'h', b'1'..=b'9', ..] => (FileFormat::Binary, "bzip2 data"),
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => (FileFormat::Binary, "xz data"),
        [b'%', b'P', b'D', b'F', ..] => (FileFormat::Binary, "a PDF document"),
        [0x89, b'P', b'N', b'G', ..] => (FileFormat::Binary, "a PNG image"),
        [0xff, 0xd8, 0xff, ..] => (FileFormat::Binary, "a JPEG image"),
        [b'S', b'Q', b'L', b'i', b't', b'e', ..] => (FileFormat::Binary, "an SQLite database"),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => (FileFormat::Binary, "zstd data"),
        start => {
            let is_control =
                |byte: &&u8| **byte < 0x20 && !matches!(**byte, b'\t' | b'\n' | b'\r' | 0x0c | 0x1b);
            let controls = start.iter().filter(is_control).count();
            let share = if std::str::from_utf8(start).is_err_and(|error| error.error_len().is_some()) {
                STRAY_BINARY_SHARE
            } else {
                BINARY_SHARE
            };
            let is_binary = !encoding.is_wide() && controls * share > start.len();
            return is_binary.then_some((FileFormat::Binary, "binary data"));
        }
    };
    Some(known)
}

fn contains(bytes: &[u8], needle: &[u8]) -> bool {
    bytes.windows(needle.len()).any(|window| window == needle)
}

fn text_remarks(scan: &Scan, encoding: Encoding) -> Vec<String> {
    let mut remarks = Vec::new();
    let (name, python) = (encoding.name(), encoding.python_name());
    let (count, place) = (scan.invalid.count, scan.invalid.place());
    match encoding {
        Encoding::Utf8 => {}
        Encoding::Utf8Bom => {
            remarks.push(format!("starts with a UTF-8 byte order mark (Python: encoding=\"{python}\")"));
        }
        Encoding::Utf8Lossy => remarks.push(format!(
            "byte sequences that are not valid UTF-8: {count} ({place}); read as replacement characters (Python: encoding=\"{python}\", errors=\"replace\")"
        )),
        Encoding::Latin1 | Encoding::Windows1252 => remarks.push(format!(
            "byte sequences that are not UTF-8: {count} ({place}); read as {name} (Python: encoding=\"{python}\")"
        )),
        wide => {
            remarks.push(format!("encoded in {name} (Python: encoding=\"{python}\")"));
            if wide.is_wide() && count > 0 {
                remarks.push(format!("replacement characters, or what is not valid {name}: {count} ({place})"));
            }
        }
    }
    if scan.nuls.count > 0 {
        remarks.push(format!("NUL bytes: {} ({})", scan.nuls.count, scan.nuls.place()));
    }
    if scan.lone_returns > 0 {
        remarks.push(format!(
            "line ends that are a carriage return alone: {} of {}",
            scan.lone_returns, scan.line_breaks
        ));
    }
    remarks
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

/// Where the name of a file says of JSON what its content does not.
fn json_remark(found: Option<FileFormat>, ending: &str) -> Option<String> {
    match found {
        Some(FileFormat::JSONLines) if ending == "json" => {
            Some("named .json, but it is JSON Lines: one JSON value a line".to_owned())
        }
        Some(FileFormat::JSON) if matches!(ending, "jsonl" | "ndjson") => Some(format!(
            "named .{ending}, but it is one JSON document on several lines"
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

/// Whether a text is one JSON document or a value a line, judged by its first values.
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
    (ending == "json").then_some(FileFormat::JSON)
}

/// What is named JSON Lines: that, unless it is one document on several lines.
fn json_lines_format(head: &str, is_cut: bool) -> Option<FileFormat> {
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
