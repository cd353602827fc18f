//! Search for the header of a table among its first rows: of a sheet as of a delimited text.

use crate::column::cell::{Cell, ValueKind, has_leading_zero};

/// Rows among which a header is searched for.
pub(crate) const HEAD_ROWS: usize = 20;

/// A cell that is not empty.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HeadCell<'a> {
    /// Its column, counted from 0.
    pub column: u32,
    /// Its text.
    pub text: &'a str,
    /// True where it holds text, and no number or date.
    pub is_text: bool,
}

impl HeadCell<'_> {
    /// Reports whether it is text that is no number or date to any reader.
    #[must_use]
    pub(crate) fn is_words(&self) -> bool {
        self.is_text && Cell::of(self.text).kind() == Some(ValueKind::Text) && !has_leading_zero(self.text)
    }
}

/// A row with its cells that are not empty, from left to right.
#[derive(Clone, Debug, Default)]
pub(crate) struct HeadRow<'a> {
    /// Its cells.
    pub cells: Vec<HeadCell<'a>>,
}

/// The position of the header row. Rows of few cells above wider ones are titles.
#[must_use]
pub(crate) fn header_position(head: &[HeadRow<'_>]) -> usize {
    let widest = head.iter().map(|row| row.cells.len()).max().unwrap_or(0);
    let first = head
        .iter()
        .position(|row| row.cells.len() * 2 > widest)
        .unwrap_or(0);
    below_titles(head, first, widest).unwrap_or(first)
}

/// The row of names below titles of many cells: the first one that fills the table with different texts, where rows above it
/// begin with text and one of them fills half of it or less, and a column below it mostly holds something else than text.
fn below_titles(head: &[HeadRow<'_>], first: usize, widest: usize) -> Option<usize> {
    let is_full = |row: &HeadRow<'_>| {
        let mut names: Vec<&str> = row.cells.iter().map(|cell| cell.text).collect();
        names.sort_unstable();
        names.dedup();
        names.len() == widest && row.cells.iter().all(HeadCell::is_words)
    };
    let position = first + head[first..].iter().position(is_full)?;
    let (above, below) = (&head[first..position], &head[position + 1..]);
    let has_title = above.iter().any(|row| row.cells.len() * 2 <= widest);
    // A title may say when it was written; a record that begins with text above a row of names is rare.
    let is_text = above
        .iter()
        .filter_map(|row| row.cells.first())
        .all(|cell| cell.is_text);
    let is_set_apart = head[position].cells.iter().any(|name| {
        let values = || {
            below
                .iter()
                .flat_map(|row| &row.cells)
                .filter(|cell| cell.column == name.column)
        };
        let texts = values().filter(|cell| cell.is_text).count();
        values().count() >= 2 * texts.max(1)
    });
    (has_title && is_text && is_set_apart).then_some(position)
}
