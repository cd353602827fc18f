//! Checks on Parquet, Arrow and the sheets of a workbook, streaming.

use std::collections::BTreeSet;

use crate::DataError;
use crate::checks::running::{RunningCheck, ValuePlace};
use crate::format::columnar::{ColumnEntry, Columnar, Leaf};
use crate::format::excel::{SheetHeader, SheetRow, Tabular, Visit, Workbook};
use crate::format::{FileFormat, format_name};
use crate::source::Source;

fn malformed(file_name: &str, format: FileFormat) -> impl Fn(String) -> DataError {
    move |reason| DataError::Malformed {
        file: file_name.to_owned(),
        format: format_name(format).to_owned(),
        reason,
    }
}

/// Checks every value of the columns that checks name; only those are read.
pub(super) fn columns(
    source: &Source,
    format: FileFormat,
    runs: &mut [RunningCheck<'_>],
    file_name: &str,
) -> Result<u64, DataError> {
    let fault = malformed(file_name, format);
    let file = Columnar::open(source, format)
        .map_err(DataError::read(file_name))?
        .map_err(&fault)?;
    let mut bound: Vec<(&Leaf, &mut RunningCheck<'_>)> = Vec::new();
    for run in runs {
        let mut leaves = file.leaves().iter();
        if let Some(leaf) = leaves.find(|leaf| leaf.path == run.check.column) {
            run.is_bound = true;
            bound.push((leaf, run));
        }
    }
    let mut fields: BTreeSet<usize> = bound.iter().map(|(leaf, _)| leaf.field).collect();
    if fields.is_empty() {
        // Some column has to be read to count the records.
        fields.extend(file.leaves().first().map(|leaf| leaf.field));
    }
    let fields: Vec<_> = fields.into_iter().collect();
    let (mut records, mut scratch) = (0, String::new());
    for part in 0..file.parts().len() {
        file.read(part, &fields, None, |rows| {
            for (leaf, run) in &mut bound {
                let (field, is_list) = (rows.field_of(leaf), leaf.path.contains("[]"));
                for (record, row) in (records + 1..).zip(0..rows.count()) {
                    let mut is_present = false;
                    leaf.each(field, row, &mut scratch, &mut |entry| {
                        is_present = true;
                        check(run, record, &entry);
                    });
                    // A record without the field misses its value; inside a list nothing is expected.
                    if !is_present && !is_list {
                        check(run, record, &ColumnEntry::Null);
                    }
                }
            }
            records += rows.count() as u64;
        })
        .map_err(&fault)?;
    }
    Ok(records)
}

fn check(run: &mut RunningCheck<'_>, record: u64, entry: &ColumnEntry<'_>) {
    let value = match entry {
        ColumnEntry::Value(cell, text) => cell.kind().map(|_| *text),
        ColumnEntry::Lossy(text) => Some(*text),
        ColumnEntry::Null => None,
    };
    run.check_value(ValuePlace { record, line: record }, value);
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
