//! Representative rows, in the order of the file.

use crate::exposure::Exposure;
use crate::profile::{Layout, SampleRow, TableProfile};
use crate::rows::shorten;

use super::quote::Quoted;
use super::{Detail, put};

/// Some rows with their header.
pub(super) fn print_rows(text: &mut String, table: &TableProfile, detail: Detail) {
    let mut rows: Vec<&SampleRow> = table.rows.iter().take(detail.rows).collect();
    if rows.is_empty() {
        return;
    }
    rows.sort_by_key(|row| row.number);
    let (shown, all) = (rows.len(), table.records);
    let header = header(&table.layout);
    let lines = header.iter().map(String::as_str);
    let lines = Quoted::new(lines.chain(rows.iter().map(|row| row.text.as_str())));
    let (masked, escapes) = (masking(detail.exposure), lines.escapes());
    let what = match &table.layout {
        Layout::JsonDocument => "The document without blanks".to_owned(),
        Layout::JsonArray | Layout::JsonValues => format!("{shown} of {all} records without blanks"),
        Layout::JsonLines => format!("{shown} of {all} records as in the file"),
        Layout::Delimited { .. } => format!("{shown} of {all} rows as in the file"),
        Layout::Sheet { .. } => format!("{shown} of {all} rows, here as CSV"),
        Layout::Parquet { header, .. } | Layout::Arrow { header, .. } => {
            let form = if header.is_some() { "CSV" } else { "JSON by path" };
            format!("{shown} of {all} rows, here as {form}")
        }
    };
    put(text, format_args!("{what}{masked}{escapes}:"));
    lines.print(text);
}

/// The header of rows that are shown as delimited text.
fn header(layout: &Layout) -> Option<String> {
    match layout {
        Layout::Delimited {
            delimiter,
            header: Some(header),
            ..
        } => Some(shorten(header, Some(*delimiter))),
        Layout::Parquet {
            header: Some(header), ..
        }
        | Layout::Sheet {
            header: Some(header), ..
        }
        | Layout::Arrow {
            header: Some(header), ..
        } => Some(shorten(header, Some(','))),
        _ => None,
    }
}

/// Returns the words of a heading about text in which the values are masked.
pub(super) fn masking(exposure: Exposure) -> &'static str {
    if exposure < Exposure::Rows {
        ", but each letter shown as x or X and each digit as 9"
    } else {
        ""
    }
}
