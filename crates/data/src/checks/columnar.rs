//! Checks on Parquet, Arrow and the sheets of a workbook, streaming.

use crate::DataError;
use crate::checks::running::{RunningCheck, ValuePlace};
use crate::format::arrow::ArrowFile;
use crate::format::excel::{SheetHeader, SheetRow, Tabular, Visit, Workbook};
use crate::format::format_name;
use crate::format::parquet::{ColumnEntry, ParquetFile};
use crate::source::Source;

use crate::format::FileFormat;

fn malformed(file_name: &str, format: FileFormat) -> impl Fn(String) -> DataError {
    move |reason| DataError::Malformed {
        file: file_name.to_owned(),
        format: format_name(format).to_owned(),
        reason,
    }
}

/// Checks every value of the columns that checks name; only those are read.
pub(super) fn parquet(
    source: &Source,
    runs: &mut [RunningCheck<'_>],
    file_name: &str,
) -> Result<u64, DataError> {
    let fault = malformed(file_name, FileFormat::Parquet);
    let file = ParquetFile::open(source)
        .map_err(DataError::read(file_name))?
        .map_err(&fault)?;
    let mut columns: Vec<usize> = Vec::new();
    let mut bound: Vec<(usize, &mut RunningCheck<'_>)> = Vec::new();
    for run in runs {
        let Some(leaf) = file
            .leaves()
            .iter()
            .position(|leaf| leaf.path == run.check.column)
        else {
            continue;
        };
        run.is_bound = true;
        let position = columns.iter().position(|column| *column == leaf);
        let position = position.unwrap_or_else(|| {
            columns.push(leaf);
            columns.len() - 1
        });
        bound.push((position, run));
    }
    // Some column has to be read to count the records.
    if columns.is_empty() && !file.leaves().is_empty() {
        columns.push(0);
    }
    let mut records = 0;
    for group in 0..file.metadata().num_row_groups() {
        let place = |error| fault(format!("row group {}: {error}", group + 1));
        let mut reader = file.read_group(group, &columns).map_err(place)?;
        loop {
            let batch = reader.next_batch().map_err(place)?;
            if batch == 0 {
                break;
            }
            for _ in 0..batch {
                records += 1;
                for (position, column) in columns.iter().enumerate() {
                    let is_list = file.leaves()[*column].path.contains("[]");
                    let bound = bound.iter_mut().filter(|(other, _)| *other == position);
                    let mut runs: Vec<&mut RunningCheck<'_>> = bound.map(|(_, run)| &mut **run).collect();
                    let mut is_present = false;
                    reader.record(position, |found| {
                        is_present = true;
                        check_all(&mut runs, records, &found);
                    });
                    // A record without the field misses its value; inside a list nothing is expected.
                    if !is_present && !is_list {
                        check_all(&mut runs, records, &ColumnEntry::Null);
                    }
                }
            }
        }
    }
    Ok(records)
}

/// Checks every value of the columns that checks name.
pub(super) fn arrow(
    source: &Source,
    runs: &mut [RunningCheck<'_>],
    file_name: &str,
) -> Result<u64, DataError> {
    let fault = malformed(file_name, FileFormat::Arrow);
    let file = ArrowFile::open(source)
        .map_err(DataError::read(file_name))?
        .map_err(&fault)?;
    let names: Vec<_> = file.columns().map(|(name, _)| name).collect();
    let mut bound: Vec<(usize, &mut RunningCheck<'_>)> = Vec::new();
    for run in runs {
        if let Some(column) = names.iter().position(|name| *name == run.check.column) {
            run.is_bound = true;
            bound.push((column, run));
        }
    }
    let columns: Vec<_> = bound.iter().map(|(column, _)| *column).collect();
    let (mut records, mut scratch) = (0, String::new());
    file.each_batch(&columns, |decoded, count| {
        for row in 0..count {
            records += 1;
            for (column, (_, run)) in decoded.iter().zip(&mut bound) {
                check_all(&mut [&mut **run], records, &column.found(row, &mut scratch));
            }
        }
    })
    .map_err(fault)?;
    Ok(records)
}

fn check_all(runs: &mut [&mut RunningCheck<'_>], record: u64, found: &ColumnEntry<'_>) {
    let value = match found {
        ColumnEntry::Value(cell, text) => cell.kind().map(|_| *text),
        ColumnEntry::Lossy(text) => Some(*text),
        ColumnEntry::Null => None,
    };
    let place = ValuePlace { record, line: record };
    for run in runs {
        run.check_value(place, value);
    }
}

/// Checks every value of the columns that checks name, in each sheet that has such a column. A place is the row as its
/// sheet counts; a value of a workbook of several sheets is shown with the name of its sheet.
pub(super) fn excel(
    source: &Source,
    runs: &mut [RunningCheck<'_>],
    file_name: &str,
) -> Result<u64, DataError> {
    let fault = malformed(file_name, FileFormat::Excel);
    let mut workbook = Workbook::open(source)
        .map_err(DataError::read(file_name))?
        .map_err(|error| fault(error.to_string()))?;
    let sheets = workbook.sheets().to_vec();
    let is_only = sheets.len() == 1;
    let mut records = 0;
    for sheet in sheets.iter().filter(|sheet| sheet.has_cells) {
        let mut reader = Tabular::new(SheetChecks {
            sheet: (!is_only).then_some(sheet.name.as_str()),
            runs: &mut *runs,
            bound: Vec::new(),
            above: 0,
            records: 0,
        });
        let read = workbook.each_row(&sheet.name, |row| reader.row(row));
        records += reader.finish().records;
        read.map_err(|reason| fault(format!("sheet {:?}: {reason}", sheet.name)))?;
    }
    Ok(records)
}

/// Checks under way on a sheet.
struct SheetChecks<'s, 'r, 'c> {
    sheet: Option<&'s str>,
    runs: &'r mut [RunningCheck<'c>],
    /// Column of the sheet, counted from 0, and position of the check.
    bound: Vec<(u32, usize)>,
    /// Rows above the records.
    above: u64,
    records: u64,
}

impl Visit for SheetChecks<'_, '_, '_> {
    fn header(&mut self, header: &SheetHeader) {
        self.above = header.row.unwrap_or(header.first_row.saturating_sub(1));
        for (position, run) in self.runs.iter_mut().enumerate() {
            let column = (header.first_column..)
                .zip(&header.names)
                .find(|(_, name)| **name == run.check.column);
            if let Some((column, _)) = column {
                run.is_bound = true;
                self.bound.push((column, position));
            }
        }
    }

    fn record(&mut self, row: &SheetRow) {
        self.records += 1;
        let place = ValuePlace {
            // pandas reads empty rows as records.
            record: row.number.saturating_sub(self.above),
            line: row.number,
        };
        for (column, position) in &self.bound {
            let cell = row.cells.iter().find(|cell| cell.column == *column);
            let value = cell.and_then(|cell| cell.cell().kind().map(|_| cell.text.as_str()));
            self.runs[*position].check_in_sheet(self.sheet, place, value);
        }
    }

    fn notes(&mut self, _: &[SheetRow]) {}
}
