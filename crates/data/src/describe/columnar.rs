//! Describes files of columns in one pass over their row groups or record batches; of a file that is too large for that,
//! over a share of them.

mod shown;

use std::collections::BTreeSet;

use crate::DataError;
use crate::column::cell::Cell;
use crate::column::distinct::{DistinctCount, ValueHashes};
use crate::format::columnar::{ColumnEntry, Columnar, Leaf, OPEN_BYTES, Rows, Span};
use crate::format::places::LISTED_PLACES;
use crate::format::{FileFormat, format_name};
use crate::profile::{ColumnProfile, Content, Layout, PlainColumn, TableProfile};
use crate::remark::Remark;
use crate::rows::{DESCRIBED_COLUMNS, TableBuilder};
use crate::source::Source;

use super::DescribeOptions;
use super::line;
use super::pandas_index::{index_columns, index_remark};

/// Bounds on the part of a file that is read.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    /// Values of all columns.
    values: u64,
    /// Bytes of all columns without compression.
    bytes: u64,
    /// Bytes of the pages that are open at once.
    open_bytes: u64,
}

const WHOLE: Bounds = Bounds {
    values: 200_000_000,
    bytes: 2 * 1024 * 1024 * 1024,
    open_bytes: OPEN_BYTES,
};

/// The table of a file of columns; where it has no footer that can be read, a remark says why.
pub(super) fn columnar(
    source: &Source,
    format: FileFormat,
    file_name: &str,
    options: DescribeOptions,
    remarks: &mut Vec<Remark>,
) -> Result<Content, DataError> {
    match Columnar::open(source, format).map_err(DataError::read(file_name))? {
        Ok(file) => Ok(Content::Table(table(&file, options, WHOLE, remarks))),
        Err(reason) => {
            let name = format_name(format);
            remarks.push(format!("not readable as {name}: {reason}").into());
            Ok(Content::Opaque(name.to_owned()))
        }
    }
}

/// Share of a file that is read: every n-th part, and the first rows of each.
#[derive(Clone, Copy, Debug)]
struct Share {
    step: usize,
    most: Option<usize>,
}

impl Share {
    fn of(file: &Columnar, columns: usize, bounds: Bounds) -> Self {
        let parts = file.parts();
        let sum = |sum: u64, count: u64| sum.saturating_add(count);
        let rows = parts.iter().map(|part| part.rows).fold(0, sum);
        let bytes = parts.iter().map(|part| part.bytes).fold(0, sum);
        let values = rows.saturating_mul(columns as u64);
        let times = (values / bounds.values.max(1)).max(bytes / bounds.bytes.max(1));
        if times == 0 {
            return Self { step: 1, most: None };
        }
        let step = usize::try_from(times + 1).map_or(parts.len(), |step| step.min(parts.len()));
        let read = parts.len().div_ceil(step) as u64;
        let most = usize::try_from(rows / (times + 1) / read).unwrap_or(usize::MAX);
        Self {
            step,
            most: Some(most.max(1)),
        }
    }
}

/// A row group or record batch that was read.
#[derive(Clone, Copy, Debug)]
struct ReadPart {
    /// Its position among all.
    number: usize,
    /// Records that were read before.
    before: u64,
    /// Records that stand before it in the file.
    start: u64,
}

/// Observations made while records are read.
#[derive(Default)]
struct Reading {
    builder: TableBuilder,
    present: Vec<u64>,
    lossy: Vec<u64>,
    finer: BTreeSet<usize>,
    parts: Vec<ReadPart>,
    faults: Vec<String>,
    /// Records of the whole file: counted where it was read, and as the footer says where that is more.
    total: u64,
}

fn table(
    file: &Columnar,
    options: DescribeOptions,
    bounds: Bounds,
    remarks: &mut Vec<Remark>,
) -> TableProfile {
    let leaves = file.leaves();
    let described = leaves.len().min(DESCRIBED_COLUMNS);
    let share = Share::of(file, described, bounds);
    let spans = file.spans(described, bounds.open_bytes);
    let is_flat = leaves.iter().all(|leaf| leaf.is_flat);
    let mut table = TableProfile {
        layout: layout(file, is_flat.then_some(described)),
        records: 0,
        longer_records: 0,
        columns: Vec::new(),
        further: leaves[described..]
            .iter()
            .map(|leaf| PlainColumn::declared(&leaf.path, leaf.type_, leaf.declared.clone()))
            .collect(),
        column_count: leaves.len() as u64,
        duplicate_records: None,
        rows: Vec::new(),
    };
    let mut found = Vec::new();
    let (mut parts, mut read_records, mut is_whole) = (Vec::new(), 0, share.most.is_none());
    for (position, span) in spans.iter().enumerate() {
        let leaves = &leaves[span.leaves.clone()];
        let reading = read(file, leaves, span, share, position == 0 && options.max_rows > 0);
        found.extend(reading.remarks(leaves));
        is_whole &= reading.faults.is_empty();
        let records = reading.builder.records();
        let present = (!is_flat).then_some(reading.present.as_slice());
        let built = reading.builder.finish(options.max_rows, present);
        table.columns.extend(built.columns);
        found.extend(built.remarks);
        if position == 0 {
            (parts, read_records) = (reading.parts, records);
            (table.records, table.rows) = (reading.total, built.rows);
            // Equal in the columns of one span is not equal in all.
            table.duplicate_records = built.duplicate_records.filter(|_| spans.len() == 1);
        }
    }
    for remark in found {
        if !remarks.contains(&remark) {
            remarks.push(remark);
        }
    }
    declare_types(leaves, &mut table.columns);
    shown::fill(file, &spans, &parts, &mut table.rows, remarks);
    if !is_whole {
        table.duplicate_records = None;
        table.columns.iter_mut().for_each(only_of_a_share);
        let total = table.records;
        let text = format!("not read whole: all statistics are of {read_records} of {total} rows");
        remarks.push(text.into());
    } else if read_records == 0 {
        remarks.push("it has columns and no rows".into());
    }
    if let Layout::Parquet { index, .. } | Layout::Arrow { index, .. } = &table.layout {
        remarks.extend(index_remark(index));
    }
    table
}

/// Takes away what a share of the records does not show.
fn only_of_a_share(column: &mut ColumnProfile) {
    column.is_unique = false;
    column.value_hashes = ValueHashes::default();
    if let DistinctCount::Exact(count) = column.distinct {
        column.distinct = DistinctCount::About(count);
    }
}

/// Lays the types of the schema over what was found.
fn declare_types(leaves: &[Leaf], columns: &mut [ColumnProfile]) {
    for (column, leaf) in columns.iter_mut().zip(leaves) {
        column.declared = Some(leaf.declared.clone());
        // Bytes have no length in characters, and lengths of time are no moments.
        if leaf.declared.ends_with("binary") {
            column.lengths = None;
        } else if leaf.declared.starts_with("duration") {
            column.times = None;
        }
    }
}

/// The layout; its header has the names of the first `named` columns, where rows are flat.
fn layout(file: &Columnar, named: Option<usize>) -> Layout {
    let paths = || file.leaves().iter().map(|leaf| leaf.path.as_str());
    let header = named.map(|most| line::header(paths().take(most)));
    let index = index_columns(file.pandas_metadata(), |name| paths().any(|path| path == name));
    let parts = file.parts().len() as u64;
    match file.compression() {
        Some(compression) => Layout::Parquet {
            row_groups: parts,
            compression,
            header,
            index,
        },
        None => Layout::Arrow {
            batches: parts,
            header,
            index,
        },
    }
}

fn read(file: &Columnar, leaves: &[Leaf], span: &Span, share: Share, keeps_rows: bool) -> Reading {
    let mut reading = Reading {
        builder: TableBuilder::new(Some(','), keeps_rows),
        present: vec![0; leaves.len()],
        lossy: vec![0; leaves.len()],
        ..Reading::default()
    };
    for leaf in leaves {
        reading.builder.add_column(leaf.path.clone());
    }
    let first = share.most.map(|most| 0..most);
    for (number, part) in file.parts().iter().enumerate() {
        let (before, start) = (reading.builder.records(), reading.total);
        if number % share.step == 0 {
            reading.parts.push(ReadPart {
                number,
                before,
                start,
            });
            let ranges = first.as_ref().map(std::slice::from_ref);
            let read = file.read(number, &span.fields, ranges, |rows| reading.rows(leaves, rows));
            reading.faults.extend(read.err());
        }
        let read = reading.builder.records() - before;
        reading.total = start.saturating_add(part.rows.max(read));
    }
    reading
}

impl Reading {
    fn rows(&mut self, leaves: &[Leaf], rows: &Rows<'_>) {
        let mut scratch = String::new();
        let fields: Vec<_> = leaves.iter().map(|leaf| rows.field_of(leaf)).collect();
        for row in 0..rows.count() {
            for (position, (leaf, field)) in leaves.iter().zip(&fields).enumerate() {
                let mut is_present = false;
                leaf.each(field, row, &mut scratch, &mut |entry| {
                    is_present = true;
                    self.entry(position, &entry);
                });
                self.present[position] += u64::from(is_present);
            }
            self.builder.end_record("");
        }
    }

    fn entry(&mut self, column: usize, entry: &ColumnEntry<'_>) {
        match *entry {
            ColumnEntry::Value(cell, text) => {
                if matches!(cell, Cell::Datetime { .. }) && has_nanos(text) {
                    self.finer.insert(column);
                }
                self.builder.cell(column, cell, text);
            }
            ColumnEntry::Lossy(text) => {
                self.lossy[column] += 1;
                self.builder.cell(column, Cell::Text(text), text);
            }
            ColumnEntry::Null => self.builder.cell(column, Cell::Null("null"), ""),
        }
    }

    /// Returns remarks on what could not be read as it stands.
    fn remarks(&self, leaves: &[Leaf]) -> Vec<Remark> {
        let faults = self.faults.iter().take(LISTED_PLACES);
        let mut remarks: Vec<Remark> = faults
            .map(|fault| format!("not readable: {fault}").into())
            .collect();
        if self.faults.len() > LISTED_PLACES {
            remarks.push(format!("parts of it that are not readable: {}", self.faults.len()).into());
        }
        let path = |position: usize| leaves[position].path.as_str();
        let lossy = (0..leaves.len()).filter(|position| self.lossy[*position] > 0);
        let count: u64 = self.lossy.iter().sum();
        remarks.extend(Remark::listing(
            &format!("{count} values are not valid UTF-8 and are read with replacement characters, in"),
            lossy.map(path),
        ));
        remarks.extend(Remark::listing(
            "times with nanoseconds, which the statistics cut to microseconds, in",
            self.finer.iter().copied().map(path),
        ));
        remarks
    }
}

/// Reports whether a moment is written with more digits than microseconds have.
fn has_nanos(text: &str) -> bool {
    text.split_once('.')
        .is_some_and(|(_, fraction)| fraction.trim_end_matches("+00:00").len() > 6)
}

#[cfg(test)]
mod tests;
