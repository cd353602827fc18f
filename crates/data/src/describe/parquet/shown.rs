//! The text of the records that are shown: read again by their numbers, so that no other record is ever printed.

use std::fmt::Write as _;

use crate::column::cell::ValueKind;
use crate::format::parquet::{ColumnEntry, Leaf, ParquetFile};
use crate::profile::SampleRow;
use crate::remark::Remark;
use crate::rows::shorten;

use super::Part;
use crate::describe::line::push_field;

/// Longest text of a value that is kept, bytes.
const LONGEST_VALUE: usize = 16 * 1024;

/// Fills in the texts of `rows`, whose numbers count the records that were read, and numbers them as in the file.
pub(super) fn fill(
    file: &ParquetFile,
    columns: usize,
    parts: &[(u64, Part)],
    rows: &mut [SampleRow],
    remarks: &mut Vec<Remark>,
) {
    let leaves = &file.leaves()[..columns];
    let is_flat = leaves.iter().all(|leaf| leaf.is_flat);
    rows.sort_by_key(|row| row.number);
    let places: Vec<_> = rows.iter().map(|row| place(parts, row.number - 1)).collect();
    for (column, leaf) in leaves.iter().enumerate() {
        if let Err(reason) = column_texts(file, column, leaf, is_flat, &places, rows) {
            remarks.push(format!("some rows are shown in part: {reason}").into());
        }
    }
    for (row, (part, offset)) in rows.iter_mut().zip(&places) {
        row.number = part.start + offset + 1;
        if !is_flat {
            row.text = format!("{{{}}}", row.text);
        }
        row.text = shorten(&row.text, is_flat.then_some(','));
    }
}

/// The row group of a record and its place there.
fn place(parts: &[(u64, Part)], record: u64) -> (Part, u64) {
    let position = parts.partition_point(|(before, _)| *before <= record).max(1) - 1;
    let (before, part) = parts[position];
    (part, record - before)
}

fn column_texts(
    file: &ParquetFile,
    column: usize,
    leaf: &Leaf,
    is_flat: bool,
    places: &[(Part, u64)],
    rows: &mut [SampleRow],
) -> Result<(), String> {
    let mut open = None;
    let mut next = 0;
    for ((part, offset), row) in places.iter().zip(rows) {
        let mut reader = match open.take() {
            Some((group, reader)) if group == part.group => reader,
            _ => {
                next = 0;
                file.read_group(part.group, &[column])?
            }
        };
        reader.skip(usize::try_from(offset - next).unwrap_or(usize::MAX))?;
        reader.next_one()?;
        next = offset + 1;
        if is_flat {
            if column > 0 {
                row.text.push(',');
            }
            reader.record(0, |found| push_flat(&mut row.text, &found));
        } else {
            let mut values = Vec::new();
            reader.record(0, |found| values.push(json(&found)));
            push_path(&mut row.text, leaf, &values);
        }
        open = Some((part.group, reader));
    }
    Ok(())
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
