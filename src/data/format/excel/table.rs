//! The table of a sheet: its header row, found among the first rows, and the records below.

use super::SheetRow;

/// Rows that are looked at to find the header.
const HEAD_ROWS: usize = 20;

/// The header of a sheet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
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

/// Who wants the records of a sheet.
pub trait Visit {
    /// The header; comes before all records.
    fn header(&mut self, header: &Header);
    /// A record.
    fn record(&mut self, row: &SheetRow);
}

/// Turns rows into a header and records.
pub struct Tabular<V> {
    visitor: V,
    head: Vec<SheetRow>,
    is_started: bool,
}

impl<V: Visit> Tabular<V> {
    /// Nothing read yet.
    pub const fn new(visitor: V) -> Self {
        Self {
            visitor,
            head: Vec::new(),
            is_started: false,
        }
    }

    /// Takes in a row.
    pub fn row(&mut self, row: &SheetRow) {
        if self.is_started {
            self.visitor.record(row);
            return;
        }
        self.head.push(row.clone());
        if self.head.len() == HEAD_ROWS {
            self.start();
        }
    }

    /// Ends the sheet.
    pub fn finish(mut self) -> V {
        if !self.is_started {
            self.start();
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
        self.visitor.header(&header);
        for row in &head[first_record..] {
            self.visitor.record(row);
        }
    }
}

/// The header and the position of the first record. Rows of few cells above wider ones are titles; a row without any text is
/// no header.
fn header(head: &[SheetRow]) -> (Header, usize) {
    let widest = head.iter().map(|row| row.cells.len()).max().unwrap_or(0);
    let position = head
        .iter()
        .position(|row| row.cells.len() * 2 > widest)
        .unwrap_or(0);
    let (first, table) = (&head[position], &head[position..]);
    let columns = || table.iter().flat_map(|row| &row.cells).map(|cell| cell.column);
    let first_column = columns().min().unwrap_or(0);
    let width = columns().max().unwrap_or(0) - first_column + 1;
    let is_header = first.cells.iter().any(super::SheetCell::is_text);
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
    let header = Header {
        row: is_header.then_some(first.number),
        first_row: first.number,
        first_column,
        names,
        titles: position as u64,
        typed_names,
    };
    (header, position + usize::from(is_header))
}
