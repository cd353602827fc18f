//! Representative rows, in the order of the file.

use std::fmt::Write as _;

use crate::api::common::Exposure;
use crate::data::profile::{Layout, SampleRow, TableProfile};
use crate::data::rows::shorten;

use super::Detail;

/// Some rows with their header.
pub(super) fn print_rows(text: &mut String, table: &TableProfile, detail: Detail) {
    let mut rows: Vec<&SampleRow> = table.rows.iter().take(detail.rows).collect();
    if rows.is_empty() {
        return;
    }
    rows.sort_by_key(|row| row.number);
    let (shown, all) = (rows.len(), table.records);
    let masked = masking(detail.exposure);
    let _ = match &table.layout {
        Layout::JsonDocument => writeln!(text, "The document without blanks{masked}:"),
        Layout::JsonArray => writeln!(text, "{shown} of {all} records without blanks{masked}:"),
        Layout::JsonLines => writeln!(text, "{shown} of {all} records as in the file{masked}:"),
        Layout::Delimited { .. } => writeln!(text, "{shown} of {all} rows as in the file{masked}:"),
        Layout::Sheet { .. } => writeln!(text, "{shown} of {all} rows, here as CSV{masked}:"),
        Layout::Parquet { header, .. } => {
            let form = if header.is_some() { "CSV" } else { "JSON by path" };
            writeln!(text, "{shown} of {all} rows, here as {form}{masked}:")
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

/// What a heading says of text in which the values are masked.
pub(super) fn masking(exposure: Exposure) -> &'static str {
    if exposure < Exposure::Rows {
        ", but each letter shown as x or X and each digit as 9"
    } else {
        ""
    }
}
