//! Rows of the sheets of a workbook, one at a time: xlsx and xlsm as a stream of cells, other kinds a sheet at a time.

mod package;
mod table;
mod value;

use std::io::{self, BufReader};

use calamine::{Data, Ods, Reader, SheetType, SheetVisible, Sheets, Xls, Xlsb, Xlsx};

use crate::format::catching;
use crate::source::{Seekable, Source};

pub(crate) use package::{Package, package};
pub(crate) use table::{SheetHeader, Tabular, Visit};
pub(crate) use value::SheetCell;

type Input = BufReader<Seekable>;

/// A workbook whose parts are known.
pub(crate) struct Workbook {
    /// Its kind.
    pub package: Package,
    book: Sheets<Input>,
    sheets: Vec<Sheet>,
}

/// A sheet of a workbook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sheet {
    /// Its name.
    pub name: String,
    /// True where it is not shown.
    pub is_hidden: bool,
    /// True where it holds cells; a chart does not.
    pub has_cells: bool,
}

/// A row with its cells that are not empty, from left to right.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct SheetRow {
    /// Its number as the sheet counts, from 1.
    pub number: u64,
    /// Its cells.
    pub cells: Vec<SheetCell>,
}

/// Notes on a sheet beside its values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SheetNotes {
    /// Formulas without a computed value.
    pub uncomputed: u64,
    /// Regions of merged cells.
    pub merged: u64,
}

/// Reason for which a workbook is not read.
#[derive(thiserror::Error, Clone, Debug, PartialEq, Eq)]
pub(crate) enum WorkbookError {
    /// It is larger than what is read.
    #[error("{0}")]
    TooLarge(String),
    /// It is malformed, or protected by a password.
    #[error("{0}")]
    Unreadable(String),
}

impl Workbook {
    /// Reads the list of sheets, and what all of them share; the inner error says why there is none.
    pub(crate) fn open(source: &Source) -> io::Result<Result<Self, WorkbookError>> {
        let package = match package(source)? {
            Ok(package) => package,
            Err(error) => return Ok(Err(error)),
        };
        let input = BufReader::new(source.open_seekable()?);
        let opened = guarded(|| {
            Ok::<_, calamine::Error>(match package {
                Package::Xlsx => Sheets::Xlsx(Xlsx::new(input)?),
                Package::Xlsb => Sheets::Xlsb(Xlsb::new(input)?),
                Package::Xls => Sheets::Xls(Xls::new(input)?),
                Package::Ods => Sheets::Ods(Ods::new(input)?),
            })
        });
        Ok(opened
            .map(|book| Self::with_sheets(package, book))
            .map_err(WorkbookError::Unreadable))
    }

    fn with_sheets(package: Package, book: Sheets<Input>) -> Self {
        let sheets = book
            .sheets_metadata()
            .iter()
            .map(|sheet| Sheet {
                name: sheet.name.clone(),
                is_hidden: sheet.visible != SheetVisible::Visible,
                has_cells: sheet.typ == SheetType::WorkSheet,
            })
            .collect();
        Self {
            package,
            book,
            sheets,
        }
    }

    /// Its sheets, in its order.
    #[must_use]
    pub(crate) fn sheets(&self) -> &[Sheet] {
        &self.sheets
    }

    /// Passes every row of a sheet that has a value to `take`. The error says what is wrong; rows before it were passed.
    pub(crate) fn each_row(
        &mut self,
        sheet: &str,
        mut take: impl FnMut(&SheetRow),
    ) -> Result<SheetNotes, String> {
        let mut rows = Rows::new(&mut take);
        // Old and binary forms are read as a whole: their reader has no stream, and their size is bounded before.
        let notes = match &mut self.book {
            Sheets::Xlsx(book) => xlsx_rows(book, sheet, &mut rows),
            book => guarded(|| book.worksheet_range(sheet)).map(|range| rows.range(&range)),
        };
        rows.end();
        notes
    }
}

fn xlsx_rows(
    book: &mut Xlsx<Input>,
    sheet: &str,
    rows: &mut Rows<'_, impl FnMut(&SheetRow)>,
) -> Result<SheetNotes, String> {
    let mut notes = SheetNotes::default();
    let merged = guarded(|| {
        let mut cells = book.worksheet_cells_reader(sheet)?;
        while let Some(record) = cells.next_cell_with_formula_metadata()? {
            let is_empty = record.value == calamine::DataRef::Empty;
            notes.uncomputed += u64::from(is_empty && record.formula.is_some());
            if let Some(cell) = SheetCell::of(record.pos.1, record.value.into()) {
                rows.push(record.pos.0, cell);
            }
        }
        drop(cells);
        book.merge_cells_by_sheet_name(sheet)
    })?;
    notes.merged = merged.len() as u64;
    Ok(notes)
}

/// Runs a step of the workbook reader, which panics on some malformed files.
fn guarded<T, E: std::fmt::Display>(step: impl FnOnce() -> Result<T, E>) -> Result<T, String> {
    match catching(step) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(first_line(&error.to_string())),
        Err(panic) => Err(panic),
    }
}

fn first_line(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    line[..line.floor_char_boundary(200)].to_owned()
}

/// Collects cells into rows.
struct Rows<'t, F> {
    take: &'t mut F,
    row: SheetRow,
}

impl<'t, F: FnMut(&SheetRow)> Rows<'t, F> {
    fn new(take: &'t mut F) -> Self {
        Self {
            take,
            row: SheetRow::default(),
        }
    }

    fn push(&mut self, row: u32, cell: SheetCell) {
        let number = u64::from(row) + 1;
        if self.row.number != number {
            self.end();
            self.row.number = number;
        }
        self.row.cells.push(cell);
    }

    fn range(&mut self, range: &calamine::Range<Data>) -> SheetNotes {
        let (first_row, first_column) = range.start().unwrap_or_default();
        for (row, column, value) in range.used_cells() {
            let column = u32::try_from(column)
                .unwrap_or(u32::MAX)
                .saturating_add(first_column);
            let row = u32::try_from(row).unwrap_or(u32::MAX).saturating_add(first_row);
            if let Some(cell) = SheetCell::of(column, value.clone()) {
                self.push(row, cell);
            }
        }
        SheetNotes::default()
    }

    /// Passes on the row that was collected.
    fn end(&mut self) {
        if self.row.cells.is_empty() {
            return;
        }
        // Cells may come in any order, and a cell may stand in the file twice.
        self.row.cells.sort_by_key(|cell| cell.column);
        self.row.cells.dedup_by_key(|cell| cell.column);
        (self.take)(&self.row);
        self.row.cells.clear();
    }
}
