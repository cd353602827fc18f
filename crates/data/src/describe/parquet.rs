//! Describes Parquet in one pass over its row groups; of a file that is too large for that, a share of them and the footer.

mod footer;
mod pandas;
mod remarks;
mod shown;

use std::collections::BTreeSet;
use std::ops::Range;

use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};

use crate::DataError;
use crate::column::cell::Cell;
use crate::format::parquet::{ColumnEntry, GroupReader, Logical, ParquetFile};
use crate::profile::{ColumnProfile, Content, Layout, PlainColumn, TableProfile};
use crate::remark::Remark;
use crate::rows::{DESCRIBED_COLUMNS, TableBuilder};
use crate::source::Source;

use super::DescribeOptions;
use super::arrow::has_nanos;
use super::pandas_index::{index_columns, index_remark};
use pandas::PandasKinds;
use remarks::{empty_remark, fault_remarks, share_remark};

/// Most that the pages of the columns that are read at once take, bytes: a wide table is read some columns at a time.
const OPEN_BYTES: u64 = 64 * 1024 * 1024;
/// Most bytes of the pages of one column, where they are of usual size: a dictionary and a page.
const COLUMN_BYTES: u64 = 2 * 1024 * 1024;

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

/// The table of a Parquet file; where it has no footer that can be read, a remark says why.
pub(super) fn parquet(
    source: &Source,
    file_name: &str,
    options: DescribeOptions,
    remarks: &mut Vec<Remark>,
) -> Result<Content, DataError> {
    match ParquetFile::open(source).map_err(DataError::read(file_name))? {
        Ok(file) => Ok(Content::Table(table(&file, options, WHOLE, remarks))),
        Err(reason) => {
            remarks.push(format!("not readable as Parquet: {reason}").into());
            Ok(Content::Opaque("Parquet".to_owned()))
        }
    }
}

/// Records of a row group that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Part {
    group: usize,
    /// Number of its first record in the file, counted from 0.
    start: u64,
    /// Most records that are read.
    most: u64,
    /// Records that the footer says it has.
    claimed: u64,
}

fn claimed_records(file: &ParquetFile, group: usize) -> u64 {
    u64::try_from(file.group(group).num_rows()).unwrap_or(0)
}

/// All row groups, or as many spread over the file as the bounds allow.
fn plan(file: &ParquetFile, columns: usize, bounds: Bounds) -> Vec<Part> {
    let groups = file.metadata().num_row_groups();
    let mut start: u64 = 0;
    let mut parts = Vec::new();
    let (mut values, mut bytes) = (0u64, 0u64);
    for group in 0..groups {
        let claimed = claimed_records(file, group);
        let chunks = file.group(group).columns().iter().take(columns);
        for chunk in chunks {
            values = values.saturating_add(u64::try_from(chunk.num_values()).unwrap_or(0));
            bytes = bytes.saturating_add(u64::try_from(chunk.uncompressed_size()).unwrap_or(0));
        }
        parts.push(Part {
            group,
            start,
            most: u64::MAX,
            claimed,
        });
        start = start.saturating_add(claimed);
    }
    let times = (values / bounds.values.max(1)).max(bytes / bounds.bytes.max(1));
    if times == 0 {
        return parts;
    }
    let step = usize::try_from(times + 1)
        .unwrap_or(usize::MAX)
        .min(groups.max(1));
    let mut parts: Vec<_> = parts.into_iter().step_by(step).collect();
    let share = start / (times + 1) / (parts.len() as u64).max(1);
    for part in &mut parts {
        part.most = share.max(1);
    }
    parts
}

/// Columns that are read at once, one range after another.
fn spans(file: &ParquetFile, described: usize, open_bytes: u64) -> Vec<Range<usize>> {
    let groups = file.metadata().row_groups();
    let cost = |column: usize| {
        let sizes = groups.iter().filter_map(|group| group.columns().get(column));
        let largest = sizes
            .map(ColumnChunkMetaData::uncompressed_size)
            .max()
            .unwrap_or(0);
        u64::try_from(largest).unwrap_or(0).min(COLUMN_BYTES)
    };
    let mut spans = Vec::new();
    let (mut start, mut open) = (0, 0);
    for column in 0..described {
        let cost = cost(column);
        if open + cost > open_bytes && column > start {
            spans.push(start..column);
            (start, open) = (column, 0);
        }
        open += cost;
    }
    spans.push(start..described);
    spans
}

/// Observations made while records are read.
#[derive(Default)]
struct Reading {
    columns: Range<usize>,
    builder: TableBuilder,
    present: Vec<u64>,
    lossy: Vec<u64>,
    missing_records: Vec<u64>,
    finer: BTreeSet<usize>,
    /// For each part that was read: the records before it.
    parts: Vec<(u64, Part)>,
    faults: Vec<String>,
    /// Row groups with another number of records than the footer says.
    miscounted: Vec<usize>,
    /// Records of the whole file: counted where a row group was read to its end, taken from the footer otherwise.
    total: u64,
}

fn table(
    file: &ParquetFile,
    options: DescribeOptions,
    bounds: Bounds,
    remarks: &mut Vec<Remark>,
) -> TableProfile {
    let leaves = file.leaves();
    let described = leaves.len().min(DESCRIBED_COLUMNS);
    let parts = plan(file, described, bounds);
    let mut spans = spans(file, described, bounds.open_bytes).into_iter();
    let first = spans.next().unwrap_or_default();
    let reading = read(file, first, &parts, options.max_rows > 0);
    let is_flat = leaves.iter().all(|leaf| leaf.is_flat);
    fault_remarks(file, &reading, remarks);
    let mut is_whole = reading.faults.is_empty()
        && parts.iter().all(|part| part.most == u64::MAX)
        && parts.len() == file.metadata().num_row_groups();
    let (read_records, total) = (reading.builder.records(), reading.total);
    let present = (!is_flat).then_some(reading.present.as_slice());
    let mut built = reading.builder.finish(options.max_rows, present);
    let (mut columns, mut rows) = (built.columns, built.rows);
    remarks.append(&mut built.remarks);
    for span in spans {
        let reading = read(file, span, &parts, false);
        let mut further = Vec::new();
        fault_remarks(file, &reading, &mut further);
        is_whole &= reading.faults.is_empty();
        let present = (!is_flat).then_some(reading.present.as_slice());
        let mut rest = reading.builder.finish(0, present);
        columns.append(&mut rest.columns);
        further.append(&mut rest.remarks);
        further.retain(|remark| !remarks.contains(remark));
        remarks.append(&mut further);
        // Equal in the first columns is not equal in all.
        built.duplicate_records = None;
    }
    declare_types(file, &mut columns);
    let kinds = PandasKinds::of(file);
    kinds.apply(&mut columns);
    remarks.extend(kinds.remarks());
    shown::fill(file, described, &reading.parts, &mut rows, remarks);
    if is_whole {
        empty_remark(read_records, remarks);
    } else {
        footer::lay_over(file, total, &mut columns);
        remarks.push(share_remark(file, read_records, total, &reading.parts).into());
    }
    let index = index_columns(pandas::metadata(file), |name| pandas::is_column(file, name));
    remarks.extend(index_remark(&index));
    TableProfile {
        layout: layout(file, is_flat.then_some(described), index),
        records: if is_whole { read_records } else { total },
        longer_records: 0,
        columns,
        further: leaves
            .iter()
            .skip(described)
            .map(|leaf| {
                PlainColumn::declared(&leaf.path, leaf.logical.column_type(), leaf.logical.describe())
            })
            .collect(),
        column_count: leaves.len() as u64,
        duplicate_records: built.duplicate_records.filter(|_| is_whole),
        rows,
    }
}

/// Lays the types of the schema over what was found; bytes have no length in characters.
fn declare_types(file: &ParquetFile, columns: &mut [ColumnProfile]) {
    for (column, leaf) in columns.iter_mut().zip(file.leaves()) {
        column.declared = Some(leaf.logical.describe());
        if leaf.logical == Logical::Binary {
            column.lengths = None;
        }
    }
}

/// The layout; its header has the names of the first `named` columns, where rows are flat.
fn layout(file: &ParquetFile, named: Option<usize>, index: Vec<String>) -> Layout {
    let paths = |most| file.leaves().iter().take(most).map(|leaf| leaf.path.as_str());
    Layout::Parquet {
        row_groups: file.metadata().num_row_groups() as u64,
        compression: compression(file),
        header: named.map(|most| super::line::header(paths(most))),
        index,
    }
}

fn read(file: &ParquetFile, columns: Range<usize>, parts: &[Part], keeps_rows: bool) -> Reading {
    let described = columns.len();
    let mut reading = Reading {
        columns: columns.clone(),
        builder: TableBuilder::new(Some(','), keeps_rows),
        present: vec![0; described],
        lossy: vec![0; described],
        missing_records: vec![0; described],
        ..Reading::default()
    };
    for leaf in &file.leaves()[columns.clone()] {
        reading.builder.add_column(leaf.path.clone());
    }
    let all: Vec<_> = columns.collect();
    for group in 0..file.metadata().num_row_groups() {
        let claimed = claimed_records(file, group);
        let Some(part) = parts.iter().find(|part| part.group == group) else {
            reading.total = reading.total.saturating_add(claimed);
            continue;
        };
        let before = reading.builder.records();
        reading.parts.push((before, *part));
        let end = file
            .read_group(group, &all)
            .and_then(|mut columns| reading.group(file, &mut columns, part.most));
        let read = reading.builder.records() - before;
        let counted = match end {
            Ok(true) => {
                if read != claimed {
                    reading.miscounted.push(group + 1);
                }
                read
            }
            Ok(false) => claimed.max(read),
            Err(reason) => {
                reading
                    .faults
                    .push(format!("row group {} after {read} records: {reason}", group + 1));
                claimed.max(read)
            }
        };
        reading.total = reading.total.saturating_add(counted);
    }
    reading
}

impl Reading {
    /// Reads the records of a row group; returns whether its end was reached.
    fn group(
        &mut self,
        file: &ParquetFile,
        columns: &mut GroupReader<'_>,
        most: u64,
    ) -> Result<bool, String> {
        let mut read = 0;
        loop {
            let batch = columns.next_batch()?;
            if batch == 0 {
                return Ok(true);
            }
            for _ in 0..batch {
                if read >= most {
                    return Ok(false);
                }
                read += 1;
                self.record(file, columns);
            }
        }
    }

    fn record(&mut self, file: &ParquetFile, columns: &mut GroupReader<'_>) {
        let leaves = &file.leaves()[self.columns.clone()];
        for (position, leaf) in leaves.iter().enumerate() {
            let mut is_present = false;
            let builder = &mut self.builder;
            let (lossy, finer) = (&mut self.lossy[position], &mut self.finer);
            let has_record = columns.record(position, |found| {
                is_present = true;
                match found {
                    ColumnEntry::Value(cell, text) => {
                        if leaf.logical.has_nanos() && has_nanos(text) {
                            finer.insert(position);
                        }
                        builder.cell(position, cell, text);
                    }
                    ColumnEntry::Lossy(text) => {
                        *lossy += 1;
                        builder.cell(position, Cell::Text(text), text);
                    }
                    ColumnEntry::Null => builder.cell(position, Cell::Null("null"), ""),
                }
            });
            self.missing_records[position] += u64::from(!has_record);
            self.present[position] += u64::from(is_present);
        }
        self.builder.end_record("");
    }
}

/// The codecs of the file.
fn compression(file: &ParquetFile) -> String {
    let codecs: BTreeSet<String> = file
        .metadata()
        .row_groups()
        .iter()
        .flat_map(RowGroupMetaData::columns)
        .map(|chunk| chunk.compression_codec().to_string())
        .collect();
    match codecs.len() {
        0 => "no compression".to_owned(),
        _ => codecs.into_iter().collect::<Vec<_>>().join(" and "),
    }
}

#[cfg(test)]
mod tests;
