//! Representative rows, in the order of the file.

use std::fmt::Write as _;

use crate::data::profile::{Layout, SampleRow, TableProfile};
use crate::data::rows::shorten;

/// At most `most` rows with their header.
pub(super) fn print_rows(text: &mut String, table: &TableProfile, most: usize) {
    let mut rows: Vec<&SampleRow> = table.rows.iter().take(most).collect();
    if rows.is_empty() {
        return;
    }
    rows.sort_by_key(|row| row.number);
    let _ = match &table.layout {
        Layout::JsonDocument => writeln!(text, "The document without blanks:"),
        Layout::JsonArray => writeln!(
            text,
            "{} of {} records without blanks:",
            rows.len(),
            table.records
        ),
        Layout::JsonLines => writeln!(
            text,
            "{} of {} records as in the file:",
            rows.len(),
            table.records
        ),
        Layout::Delimited { .. } => {
            writeln!(text, "{} of {} rows as in the file:", rows.len(), table.records)
        }
        Layout::Sheet { .. } => {
            writeln!(text, "{} of {} rows, here as CSV:", rows.len(), table.records)
        }
        Layout::Parquet { header, .. } => {
            let form = if header.is_some() { "CSV" } else { "JSON by path" };
            writeln!(text, "{} of {} rows, here as {form}:", rows.len(), table.records)
        }
    };
    let header = match &table.layout {
        Layout::Delimited {
            delimiter,
            header: Some(header),
            ..
        } => Some((header, *delimiter)),
        Layout::Parquet {
            header: Some(header), ..
        }
        | Layout::Sheet {
            header: Some(header), ..
        } => Some((header, ',')),
        _ => None,
    };
    if let Some((header, delimiter)) = header {
        let _ = writeln!(text, "{}", shorten(header, Some(delimiter)));
    }
    for row in rows {
        let _ = writeln!(text, "{}", row.text);
    }
}
