//! The table of a sheet: its header row, found among the first rows, the records below, and notes at the end.

use super::{SheetCell, SheetRow};
use crate::format::header::{HEAD_ROWS, HeadCell, HeadRow, header_position};

/// Rows at the end that are held back until it is known whether they are notes.
const HELD_ROWS: usize = 20;
/// Records from which on a row that is no record is recognized.
const SUFFICIENT_RECORDS: u64 = 3;
/// Columns of a table of which a note fills too few to be a record.
const SUFFICIENT_COLUMNS: usize = 3;

/// The header of a sheet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SheetHeader {
    /// Its row, counted from 1; `None` where the first row is data.
    pub row: Option<u64>,
    /// The row of the first record where there is no header.
    pub first_row: u64,
    /// The leftmost column, counted from 0.
    pub first_column: u32,
    /// A name for each column from there on; empty where there is none.
    pub names: Vec<String>,
    /// Rows with values above it.
    pub titles: u64,
    /// Its cells that are no text.
    pub typed_names: u64,
}

/// Receiver of the records of a sheet.
pub(crate) trait Visit {
    /// The header; comes before all records.
    fn header(&mut self, header: &SheetHeader);
    /// A record.
    fn record(&mut self, row: &SheetRow);
    /// Rows of text below the table, which are no records; comes after all records.
    fn notes(&mut self, rows: &[SheetRow]);
}

/// Turns rows into a header and records.
pub(crate) struct Tabular<V> {
    visitor: V,
    head: Vec<SheetRow>,
    is_started: bool,
    held: Vec<SheetRow>,
    body: Body,
}

impl<V: Visit> Tabular<V> {
    /// Nothing read yet.
    pub(crate) const fn new(visitor: V) -> Self {
        Self {
            visitor,
            head: Vec::new(),
            is_started: false,
            held: Vec::new(),
            body: Body::new(),
        }
    }

    /// Takes in a row.
    pub(crate) fn row(&mut self, row: &SheetRow) {
        if self.is_started {
            self.record(row);
            return;
        }
        self.head.push(row.clone());
        if self.head.len() == HEAD_ROWS {
            self.start();
        }
    }

    /// Ends the sheet.
    pub(crate) fn finish(mut self) -> V {
        if !self.is_started {
            self.start();
        }
        if self.body.is_followed_by_notes(&self.held) {
            self.visitor.notes(&self.held);
        } else {
            self.release();
        }
        self.visitor
    }

    fn start(&mut self) {
        self.is_started = true;
        let head = std::mem::take(&mut self.head);
        if head.is_empty() {
            return;
        }
        let (header, first_record) = header(&head);
        self.body.begin(&header);
        self.visitor.header(&header);
        for row in &head[first_record..] {
            self.record(row);
        }
    }

    fn record(&mut self, row: &SheetRow) {
        if self.held.len() < HELD_ROWS && self.body.may_be_note(row) {
            self.held.push(row.clone());
            return;
        }
        self.release();
        self.body.take(row);
        self.visitor.record(row);
    }

    /// Hands on the rows that were held back, which are records after all.
    fn release(&mut self) {
        for row in std::mem::take(&mut self.held) {
            self.body.take(&row);
            self.visitor.record(&row);
        }
    }
}

/// Properties that the records of a table have in common, by which a row is none of them.
struct Body {
    first_column: u32,
    records: u64,
    last_row: u64,
    has_gaps: bool,
    /// True where a record fills half of the columns or fewer.
    has_sparse: bool,
    columns: Vec<Values>,
}

/// Values of one column.
#[derive(Clone, Copy, Default)]
struct Values {
    texts: u64,
    others: u64,
    /// Bytes of the longest.
    longest: usize,
}

impl Body {
    const fn new() -> Self {
        Self {
            first_column: 0,
            records: 0,
            last_row: 0,
            has_gaps: false,
            has_sparse: false,
            columns: Vec::new(),
        }
    }

    fn begin(&mut self, header: &SheetHeader) {
        self.first_column = header.first_column;
        self.last_row = header.row.unwrap_or(header.first_row.saturating_sub(1));
        self.columns = vec![Values::default(); header.names.len()];
    }

    fn is_sparse(&self, row: &SheetRow) -> bool {
        row.cells.len() * 2 <= self.columns.len()
    }

    fn take(&mut self, row: &SheetRow) {
        self.records += 1;
        self.has_gaps |= row.number > self.last_row + 1;
        self.last_row = row.number;
        self.has_sparse |= self.is_sparse(row);
        if self.has_sparse {
            return;
        }
        for cell in &row.cells {
            let position = cell.column.checked_sub(self.first_column);
            if let Some(values) = position.and_then(|position| self.columns.get_mut(position as usize)) {
                values.texts += u64::from(cell.is_text());
                values.others += u64::from(!cell.is_text());
                values.longest = values.longest.max(cell.text.len());
            }
        }
    }

    /// Reports whether a row is text alone and fills so few columns as no record does.
    fn may_be_note(&self, row: &SheetRow) -> bool {
        self.records >= SUFFICIENT_RECORDS
            && self.columns.len() >= SUFFICIENT_COLUMNS
            && !self.has_sparse
            && self.is_sparse(row)
            && row.cells.iter().all(is_words)
    }

    /// Reports whether rows that may be notes are: text stands where no record has any, or they are sentences longer than any value above,
    /// below a gap where the records have none.
    fn is_followed_by_notes(&self, rows: &[SheetRow]) -> bool {
        let Some(first) = rows.first() else { return false };
        let values = |cell: &SheetCell| {
            let position = cell.column.checked_sub(self.first_column);
            position.and_then(|position| self.columns.get(position as usize))
        };
        let is_foreign = |cell: &SheetCell| {
            values(cell).is_some_and(|values| values.texts == 0 && values.others >= SUFFICIENT_RECORDS)
        };
        let is_sentence = |cell: &SheetCell| {
            cell.text.trim().contains(' ')
                && values(cell).is_some_and(|values| cell.text.len() > values.longest)
        };
        let is_apart = !self.has_gaps && first.number > self.last_row + 1;
        let mut cells = rows.iter().flat_map(|row| &row.cells);
        cells.clone().any(is_foreign)
            || (is_apart && rows.iter().all(|row| row.cells.len() == 1) && cells.all(is_sentence))
    }
}

fn is_words(cell: &SheetCell) -> bool {
    head_cell(cell).is_words()
}

fn head_cell(cell: &SheetCell) -> HeadCell<'_> {
    HeadCell {
        column: cell.column,
        text: &cell.text,
        is_text: cell.is_text(),
    }
}

fn head_row(row: &SheetRow) -> HeadRow<'_> {
    HeadRow {
        cells: row.cells.iter().map(head_cell).collect(),
    }
}

/// The header and the position of the first record; a row without any text is no header.
fn header(head: &[SheetRow]) -> (SheetHeader, usize) {
    let rows: Vec<_> = head.iter().map(head_row).collect();
    let position = header_position(&rows);
    let (first, table) = (&head[position], &head[position..]);
    let columns = || table.iter().flat_map(|row| &row.cells).map(|cell| cell.column);
    let first_column = columns().min().unwrap_or(0);
    let width = columns().max().unwrap_or(0) - first_column + 1;
    let is_header = first.cells.iter().any(SheetCell::is_text);
    let mut names: Vec<String> = (1..=width)
        .take(super::super::delimited::MOST_FIELDS)
        .map(|number| {
            if is_header {
                String::new()
            } else {
                format!("column_{number}")
            }
        })
        .collect();
    let mut typed_names = 0;
    for cell in first.cells.iter().filter(|_| is_header) {
        if let Some(name) = names.get_mut((cell.column - first_column) as usize) {
            name.clone_from(&cell.text);
            typed_names += u64::from(!cell.is_text());
        }
    }
    let header = SheetHeader {
        row: is_header.then_some(first.number),
        first_row: first.number,
        first_column,
        names,
        titles: position as u64,
        typed_names,
    };
    (header, position + usize::from(is_header))
}
