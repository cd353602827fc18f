//! Describes a workbook: every sheet with values as a table, in one pass over its rows.

use std::collections::BTreeMap;

use crate::DataError;
use crate::column::cell::{Cell, has_leading_zero, parse_decimal};
use crate::format::excel::{
    Package, Sheet, SheetCell, SheetHeader, SheetNotes, SheetRow, Tabular, Visit, Workbook, WorkbookError,
};
use crate::format::shape::LinePlaces;
use crate::profile::{Content, Layout, TableProfile};
use crate::remark::Remark;
use crate::rows::{DESCRIBED_COLUMNS, TableBuilder};
use crate::source::Source;

use super::DescribeOptions;
use super::line::{self, push_field};

/// Sheets that are described; further ones are counted.
const DESCRIBED_SHEETS: usize = 20;

/// The sheets of a workbook; a remark where it cannot be read, an error where it is too large to be.
pub(super) fn excel(
    source: &Source,
    file_name: &str,
    options: DescribeOptions,
    remarks: &mut Vec<Remark>,
) -> Result<Content, DataError> {
    let mut workbook = match Workbook::open(source).map_err(DataError::read(file_name))? {
        Ok(workbook) => workbook,
        Err(WorkbookError::TooLarge(reason)) => {
            return Err(DataError::Malformed {
                file: file_name.to_owned(),
                format: "Excel".to_owned(),
                reason,
            });
        }
        Err(WorkbookError::Unreadable(reason)) => {
            remarks.push(format!("not readable as a workbook: {reason}").into());
            return Ok(Content::Opaque("Excel".to_owned()));
        }
    };
    remarks.extend(package_remark(workbook.package));
    let sheets = workbook.sheets().to_vec();
    let mut tables = Vec::new();
    for sheet in &sheets {
        if !sheet.has_cells {
            remarks.push(format!("sheet {:?} is no sheet of cells", sheet.name).into());
        } else if tables.len() < DESCRIBED_SHEETS {
            tables.extend(sheet_table(&mut workbook, sheet, options, remarks));
        }
    }
    let cells = sheets.iter().filter(|sheet| sheet.has_cells).count();
    if cells > DESCRIBED_SHEETS && tables.len() == DESCRIBED_SHEETS {
        remarks.push(
            format!("of its {cells} sheets the first {DESCRIBED_SHEETS} with values are described").into(),
        );
    }
    Ok(Content::Sheets(tables))
}

/// Names the package that pandas needs for a workbook of another kind than today's.
fn package_remark(package: Package) -> Option<Remark> {
    let (kind, needed) = match package {
        Package::Xlsx => return None,
        Package::Xlsb => ("a binary workbook (.xlsb)", "pyxlsb"),
        Package::Xls => ("a workbook of Excel before 2007 (.xls)", "xlrd"),
        Package::Ods => ("an OpenDocument workbook (.ods)", "odfpy"),
    };
    Some(format!("{kind}, for which pandas needs the package {needed}").into())
}

/// The table of one sheet, as far as it can be read; `None` where it has no value. Its doubts become remarks that name it.
fn sheet_table(
    workbook: &mut Workbook,
    sheet: &Sheet,
    options: DescribeOptions,
    remarks: &mut Vec<Remark>,
) -> Option<TableProfile> {
    let name = format!("sheet {:?}", sheet.name);
    let mut reader = Tabular::new(SheetTable::new(options.max_rows > 0));
    let read = workbook.each_row(&sheet.name, |row| reader.row(row));
    let table = reader.finish();
    if sheet.is_hidden {
        remarks.push(format!("{name} is hidden").into());
    }
    let mut doubts = Vec::new();
    match read {
        Ok(notes) => note_remarks(notes, &mut doubts),
        Err(reason) => doubts.push(
            format!(
                "is not readable beyond row {} ({reason}); only what stands before is described",
                table.last_row
            )
            .into(),
        ),
    }
    let table = table.finish(&sheet.name, options, &mut doubts);
    if table.is_none() && doubts.is_empty() {
        doubts.push("is empty".into());
    }
    remarks.extend(
        doubts
            .into_iter()
            .map(|doubt| doubt.reworded(|text| format!("{name} {text}"))),
    );
    table
}

fn note_remarks(notes: SheetNotes, remarks: &mut Vec<Remark>) {
    if notes.uncomputed > 0 {
        remarks.push(
            format!(
                "has formulas without a computed value, which read as empty: {}",
                notes.uncomputed
            )
            .into(),
        );
    }
    if notes.merged > 0 {
        remarks.push(
            format!(
                "has regions of merged cells, of which only the first cell has a value: {}",
                notes.merged
            )
            .into(),
        );
    }
}

/// The table of a sheet as its rows are met.
#[derive(Default)]
struct SheetTable {
    builder: TableBuilder,
    header: Option<SheetHeader>,
    numeric_texts: Vec<u64>,
    errors: BTreeMap<&'static str, u64>,
    error_rows: LinePlaces,
    outside: LinePlaces,
    blank_rows: u64,
    last_row: u64,
    /// First and last row of the notes below.
    notes: Option<(u64, u64)>,
    line: String,
}

impl SheetTable {
    fn new(keeps_rows: bool) -> Self {
        Self {
            builder: TableBuilder::new(Some(','), keeps_rows),
            ..Self::default()
        }
    }

    /// Adds the doubts about the places of its cells.
    fn layout_doubts(&self, header: &SheetHeader, doubts: &mut Vec<Remark>) {
        if header.titles > 0 {
            doubts.push(format!("has rows with values above its table: {}", header.titles).into());
        }
        match header.row {
            Some(row) => {
                if header.typed_names > 0 {
                    doubts.push(format!(
                        "has header cells (row {row}) that are no text, which pandas keeps as numbers or dates: {}",
                        header.typed_names
                    ).into());
                }
            }
            None => doubts.push(
                "has no header: its first row holds no text; columns are named column_1, column_2 and so on"
                    .into(),
            ),
        }
        if self.blank_rows > 0 {
            doubts.push(
                format!(
                    "has empty rows between its records, which pandas reads as records: {}",
                    self.blank_rows
                )
                .into(),
            );
        }
        if let Some((first, last)) = self.notes {
            doubts.push(format!(
                "has text below its table, which pandas reads as records and which is not described: rows {first} to {last}"
            ).into());
        }
        if !self.errors.is_empty() {
            let kinds: Vec<_> = self
                .errors
                .iter()
                .map(|(error, count)| format!("{error} {count}"))
                .collect();
            doubts.push(
                format!(
                    "has formula errors, which count as missing: {} ({})",
                    kinds.join(", "),
                    self.error_rows.list_rows()
                )
                .into(),
            );
        }
        if self.outside.count > 0 {
            doubts.push(format!(
                "has rows with cells beside the columns of its first rows: {} ({}); those cells are not in the statistics",
                self.outside.count,
                self.outside.list_rows()
            ).into());
        }
        if self.builder.records() == 0 {
            doubts.push("has a header and no records".into());
        }
    }

    /// The profile of the sheet; `None` where it has no value at all. Doubts read on from the name of the sheet.
    fn finish(self, name: &str, options: DescribeOptions, doubts: &mut Vec<Remark>) -> Option<TableProfile> {
        let header = self.header.clone()?;
        self.layout_doubts(&header, doubts);
        let mut built = self.builder.finish(options.max_rows, None);
        let remarks = std::mem::take(&mut built.remarks).into_iter();
        doubts.extend(remarks.map(|remark| remark.reworded(|text| format!("({text})"))));
        let numeric = built.columns.iter().zip(&self.numeric_texts);
        let numeric = numeric.filter(|(_, count)| **count > 0);
        doubts.extend(Remark::listing(
            "has numbers stored as text, which pandas turns into numbers where a whole column is like that, in",
            numeric.map(|(column, _)| column.name.as_str()),
        ));
        let layout = Layout::Sheet {
            name: name.to_owned(),
            header_row: header.row,
            first_row: header.first_row,
            first_column: u64::from(header.first_column),
            header: header
                .row
                .map(|_| line::header(header.names.iter().map(String::as_str).take(DESCRIBED_COLUMNS))),
            blank_rows: self.blank_rows,
            note_rows: self.notes.map_or(0, |(_, last)| last - self.last_row),
        };
        Some(built.table(layout, header.names.len() as u64))
    }
}

impl Visit for SheetTable {
    fn header(&mut self, header: &SheetHeader) {
        for name in &header.names {
            self.builder.add_column(name.clone());
        }
        self.numeric_texts = vec![0; header.names.len()];
        self.last_row = header.row.unwrap_or(header.first_row - 1);
        self.header = Some(header.clone());
    }

    fn record(&mut self, row: &SheetRow) {
        let Some(header) = &self.header else { return };
        let (first, width) = (header.first_column, header.names.len());
        self.blank_rows += row.number.saturating_sub(self.last_row + 1);
        self.last_row = row.number;
        let is_inside = |cell: &SheetCell| {
            cell.column
                .checked_sub(first)
                .is_some_and(|column| (column as usize) < width)
        };
        if !row.cells.iter().all(is_inside) {
            self.outside.push(row.number);
        }
        let mut cells = row.cells.iter().filter(|cell| cell.column >= first).peekable();
        let mut has_errors = false;
        self.line.clear();
        for position in 0..width {
            let is_described = position < DESCRIBED_COLUMNS;
            if is_described && position > 0 {
                self.line.push(',');
            }
            let Some(cell) = cells.next_if(|cell| (cell.column - first) as usize == position) else {
                self.builder.cell(position, Cell::Null(""), "");
                continue;
            };
            let found = cell.cell();
            if let (Cell::Null(error), true) = (found, cell.is_error()) {
                *self.errors.entry(error).or_default() += 1;
                has_errors = true;
            }
            let is_numeric =
                cell.is_text() && (parse_decimal(&cell.text, b'.').is_some() || has_leading_zero(&cell.text));
            self.numeric_texts[position] += u64::from(is_numeric);
            if is_described {
                push_field(&mut self.line, &cell.text);
            }
            self.builder.cell(position, found, &cell.text);
        }
        if has_errors {
            self.error_rows.push(row.number);
        }
        self.builder.end_record(&self.line);
    }

    fn notes(&mut self, rows: &[SheetRow]) {
        if let [first, .., last] | [first @ last] = rows {
            self.notes = Some((first.number, last.number));
        }
    }
}

#[cfg(test)]
mod tests;
