//! Describes an Arrow file in one pass over its record batches.

use crate::DataError;
use crate::column::cell::Cell;
use crate::format::arrow::{ArrowFile, DecodedColumn};
use crate::format::parquet::ColumnEntry;
use crate::format::shape::LISTED_PLACES;
use crate::profile::{ColumnType, Content, Layout, PlainColumn, TableProfile};
use crate::remark::Remark;
use crate::rows::{DESCRIBED_COLUMNS, TableBuilder};
use crate::source::Source;

use super::DescribeOptions;
use super::line::{self, push_field};
use super::pandas_index::{index_columns, index_remark};

/// The table of an Arrow file; where its footer cannot be read, a remark says why.
pub(super) fn arrow(
    source: &Source,
    file_name: &str,
    options: DescribeOptions,
    remarks: &mut Vec<Remark>,
) -> Result<Content, DataError> {
    match ArrowFile::open(source).map_err(DataError::read(file_name))? {
        Ok(file) => Ok(Content::Table(table(&file, options, remarks))),
        Err(reason) => {
            remarks.push(format!("not readable as Arrow: {reason}").into());
            Ok(Content::Opaque("Arrow".to_owned()))
        }
    }
}

fn table(file: &ArrowFile, options: DescribeOptions, remarks: &mut Vec<Remark>) -> TableProfile {
    let (names, types): (Vec<_>, Vec<_>) = file.columns().unzip();
    let described = names.len().min(DESCRIBED_COLUMNS);
    let mut rows = Rows::new(&names[..described], options.max_rows > 0);
    let columns: Vec<_> = (0..described).collect();
    let read = file.each_batch(&columns, |columns, count| {
        for row in 0..count {
            rows.push(columns, row);
        }
    });
    let records = rows.builder.records();
    match read {
        Err(reason) => remarks.push(
            format!("not readable beyond row {records} ({reason}); only what stands before is described")
                .into(),
        ),
        Ok(()) if records == 0 => remarks.push("it has columns and no rows".into()),
        Ok(()) => {}
    }
    let built = rows.builder.finish(options.max_rows, None);
    let mut columns = built.columns;
    for (column, type_) in columns.iter_mut().zip(&types) {
        // Bytes have no length in characters.
        column.lengths = column.lengths.filter(|_| !type_.ends_with("binary"));
        column.declared = Some(type_.clone());
    }
    let further = names.iter().zip(types).skip(described);
    remarks.extend(built.remarks);
    let finer = names.iter().zip(&rows.finer).filter(|(_, is_finer)| **is_finer);
    remarks.extend(finer_remark(finer.map(|(name, _)| *name)));
    let index = index_columns(file.pandas_metadata(), |name| names.contains(&name));
    remarks.extend(index_remark(&index));
    TableProfile {
        layout: Layout::Arrow {
            batches: file.batches(),
            header: line::header(names[..described].iter().copied()),
            index,
        },
        records,
        longer_records: 0,
        columns,
        further: further
            .map(|(name, type_)| PlainColumn::declared(name, ColumnType::Mixed, type_))
            .collect(),
        column_count: names.len() as u64,
        duplicate_records: built.duplicate_records,
        rows: built.rows,
    }
}

/// Says which columns have times that are finer than the statistics.
pub(super) fn finer_remark<'n>(names: impl Iterator<Item = &'n str>) -> Option<Remark> {
    let finer: Vec<_> = names.take(LISTED_PLACES).collect();
    let text = format!(
        "times with nanoseconds, which the statistics cut to microseconds, in: {}",
        finer.join(", ")
    );
    (!finer.is_empty()).then(|| Remark::naming(text, finer))
}

/// The records as they are met.
struct Rows {
    builder: TableBuilder,
    finer: Vec<bool>,
    line: String,
    scratch: String,
}

impl Rows {
    fn new(names: &[&str], keeps_rows: bool) -> Self {
        let mut builder = TableBuilder::new(Some(','), keeps_rows);
        for name in names {
            builder.add_column((*name).to_owned());
        }
        Self {
            builder,
            finer: vec![false; names.len()],
            line: String::new(),
            scratch: String::new(),
        }
    }

    fn push(&mut self, columns: &[DecodedColumn], row: usize) {
        self.line.clear();
        for (position, column) in columns.iter().enumerate() {
            if position > 0 {
                self.line.push(',');
            }
            match column.found(row, &mut self.scratch) {
                ColumnEntry::Value(cell, text) => {
                    self.finer[position] |= matches!(cell, Cell::Datetime { .. }) && has_nanos(text);
                    push_field(&mut self.line, text);
                    self.builder.cell(position, cell, text);
                }
                ColumnEntry::Lossy(text) => {
                    push_field(&mut self.line, text);
                    self.builder.cell(position, Cell::Text(text), text);
                }
                ColumnEntry::Null => self.builder.cell(position, Cell::Null("null"), ""),
            }
        }
        self.builder.end_record(&self.line);
    }
}

/// Reports whether a moment is written with more digits than microseconds have.
pub(super) fn has_nanos(text: &str) -> bool {
    text.split_once('.')
        .is_some_and(|(_, fraction)| fraction.trim_end_matches("+00:00").len() > 6)
}
