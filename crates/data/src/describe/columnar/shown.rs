//! The text of the records that are shown: read again by their numbers, so that no other record is ever printed.

use std::fmt::Write as _;

use crate::column::cell::ValueKind;
use crate::describe::line::push_field;
use crate::format::columnar::{ColumnEntry, Columnar, Leaf, Rows, Span};
use crate::profile::SampleRow;
use crate::remark::Remark;
use crate::rows::shorten;

use super::ReadPart;

/// Longest text of a value that is kept, bytes.
const LONGEST_VALUE: usize = 16 * 1024;

/// Fills in the texts of `rows`, whose numbers count the records that were read, and numbers them as in the file.
pub(super) fn fill(
    file: &Columnar,
    spans: &[Span],
    parts: &[ReadPart],
    rows: &mut [SampleRow],
    remarks: &mut Vec<Remark>,
) {
    let is_flat = file.leaves().iter().all(|leaf| leaf.is_flat);
    rows.sort_by_key(|row| row.number);
    let mut rest = rows;
    for (position, part) in parts.iter().enumerate() {
        let end = parts.get(position + 1).map_or(u64::MAX, |next| next.before);
        let inside = rest.partition_point(|row| row.number <= end);
        let (shown, after) = std::mem::take(&mut rest).split_at_mut(inside);
        rest = after;
        if shown.is_empty() {
            continue;
        }
        for row in &mut *shown {
            row.number -= part.before;
        }
        for span in spans {
            if let Err(reason) = read(file, part.number, span, is_flat, shown) {
                remarks.push(format!("some rows are shown in part: {reason}").into());
            }
        }
        for row in shown {
            row.number += part.start;
            if !is_flat {
                row.text = format!("{{{}}}", row.text);
            }
            row.text = shorten(&row.text, is_flat.then_some(','));
        }
    }
}

/// Appends the values of some columns to rows, whose numbers count those of a part of the file.
fn read(
    file: &Columnar,
    part: usize,
    span: &Span,
    is_flat: bool,
    shown: &mut [SampleRow],
) -> Result<(), String> {
    let offsets = shown
        .iter()
        .map(|row| usize::try_from(row.number - 1).unwrap_or(usize::MAX));
    let ranges: Vec<_> = offsets.map(|offset| offset..offset + 1).collect();
    let mut texts = shown.iter_mut().map(|row| &mut row.text);
    file.read(part, &span.fields, Some(&ranges), |rows| {
        for (row, text) in (0..rows.count()).zip(&mut texts) {
            for leaf in &file.leaves()[span.leaves.clone()] {
                push_column(text, leaf, rows, row, is_flat);
            }
        }
    })
}

fn push_column(line: &mut String, leaf: &Leaf, rows: &Rows<'_>, row: usize, is_flat: bool) {
    let (field, mut scratch) = (rows.field_of(leaf), String::new());
    if is_flat {
        if leaf.field > 0 {
            line.push(',');
        }
        leaf.each(field, row, &mut scratch, &mut |entry| push_flat(line, &entry));
    } else {
        let mut values = Vec::new();
        leaf.each(field, row, &mut scratch, &mut |entry| values.push(json(&entry)));
        push_path(line, leaf, &values);
    }
}

fn push_flat(line: &mut String, found: &ColumnEntry<'_>) {
    match found {
        ColumnEntry::Value(_, text) | ColumnEntry::Lossy(text) => push_field(line, truncated(text)),
        ColumnEntry::Null => {}
    }
}

fn push_path(line: &mut String, leaf: &Leaf, values: &[String]) {
    if values.is_empty() {
        return;
    }
    if !line.is_empty() {
        line.push(',');
    }
    let _ = write!(line, "{}:", serde_json::Value::from(leaf.path.as_str()));
    if leaf.path.contains("[]") {
        let _ = write!(line, "[{}]", values.join(","));
    } else {
        line.push_str(&values.join(","));
    }
}

fn json(found: &ColumnEntry<'_>) -> String {
    match found {
        ColumnEntry::Null => "null".to_owned(),
        ColumnEntry::Value(cell, text) => match cell.kind() {
            Some(ValueKind::Int | ValueKind::Float) => (*text).to_owned(),
            Some(ValueKind::Bool) => text.to_ascii_lowercase(),
            Some(_) => serde_json::Value::from(truncated(text)).to_string(),
            None => "null".to_owned(),
        },
        ColumnEntry::Lossy(text) => serde_json::Value::from(truncated(text)).to_string(),
    }
}

fn truncated(text: &str) -> &str {
    &text[..text.floor_char_boundary(LONGEST_VALUE)]
}
