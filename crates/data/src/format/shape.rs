//! Deviations of the records of a file from its first: their places and numbers, in words.

use crate::format::delimited::{LONGEST_RECORD, Record};
use crate::format::quotes::swallowed;
use crate::remark::Remark;

pub(crate) use crate::format::places::LinePlaces;

/// Differences of records from the width of the first.
#[derive(Default)]
pub(crate) struct Shape {
    /// Fields of the first record.
    pub width: usize,
    /// Records with more fields.
    pub longer: LinePlaces,
    delimiter: u8,
    swallowing: LinePlaces,
    swallowed_rows: u64,
    shorter: LinePlaces,
    ended_by_delimiter: u64,
    cut: LinePlaces,
    open_quote: Option<u64>,
}

impl Shape {
    /// Nothing read yet but a first record of `width` fields.
    pub(crate) fn new(width: usize, delimiter: u8) -> Self {
        Self {
            width,
            delimiter,
            ..Self::default()
        }
    }

    /// Takes in a record.
    pub(crate) fn push(&mut self, record: &Record<'_>) {
        if record.width > self.width {
            self.longer.push(record.line);
            let is_one_more = record.width == self.width + 1;
            // A delimiter at the end of each line reads as one more, empty field.
            self.ended_by_delimiter += u64::from(is_one_more && record.field(self.width) == Some(""));
        } else if record.width < self.width {
            self.shorter.push(record.line);
        }
        if record.is_cut {
            self.cut.push(record.line);
        }
        if record.is_cut || record.raw.contains('\n') {
            // An odd number of quotes: one of them is open to the end of the record.
            let quotes = record.raw.bytes().filter(|byte| *byte == b'"').count();
            self.open_quote = (quotes % 2 == 1).then_some(record.line);
            if let Some(found) = swallowed(record.raw, self.delimiter, self.width) {
                self.swallowing.push(record.line + found.lines_before);
                self.swallowed_rows += found.rows;
            }
        } else {
            self.open_quote = None;
        }
    }

    /// Adds a remark for each oddity.
    pub(crate) fn remarks(&self, records: u64, remarks: &mut Vec<Remark>) {
        if self.ended_by_delimiter > 0 && self.ended_by_delimiter == records {
            remarks.push("every record ends with a delimiter that the header does not have".into());
        } else if self.longer.count > 0 {
            let (count, lines) = (self.longer.count, self.longer.list());
            remarks.push(format!(
                "{count} of {records} rows have more fields than the first record's {}: {lines}; the excess is not in the statistics",
                self.width
            ).into());
        }
        if self.shorter.count > 0 {
            let (count, lines) = (self.shorter.count, self.shorter.list());
            remarks.push(format!(
                "{count} of {records} rows have fewer fields than the first record's {}: {lines}; what lacks counts as empty",
                self.width
            ).into());
        }
        if self.cut.count > 0 {
            remarks.push(
                format!(
                    "records longer than {} MiB are read in part: {}",
                    LONGEST_RECORD / 1024 / 1024,
                    self.cut.list()
                )
                .into(),
            );
        }
        if let Some(line) = self.open_quote {
            remarks.push(format!("a quote in the record that starts on line {line} is never closed").into());
        }
        if self.swallowing.count > 0 {
            let (rows, lines) = (self.swallowed_rows, self.swallowing.list());
            remarks.push(
                format!(
                    "a quote that opens on {lines} takes in what looks like further rows: {rows}; pandas does the same, or fails where it is never closed; with quoting=3 it takes each line as a row and quotes as text"
                )
                .into(),
            );
        }
    }
}
