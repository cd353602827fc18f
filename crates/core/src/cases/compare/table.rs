//! Tables of delimited text: CSV, TSV and their kin.

use super::matching::{Unmatched, unmatched};
use super::scalar::Tolerance;
use super::value::Value;
use super::{Mismatch, unix_lines};

/// Delimiters, the likeliest first, and what they are called.
const DELIMITERS: [(u8, &str); 4] = [
    (b',', "commas"),
    (b';', "semicolons"),
    (b'\t', "tabs"),
    (b'|', "bars"),
];
/// Rows of a table that a message shows.
const SHOWN: usize = 8;

/// A table with named columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    pub columns: Vec<String>,
    /// Lists of cells; what is left out at the end of one is missing.
    pub(super) rows: Vec<Value>,
}

impl Table {
    /// Reads a table whose cells are separated by `delimiter`; its first line names the columns.
    pub(super) fn read(text: &str, delimiter: u8) -> Result<Self, String> {
        let text = unix_lines(text.strip_prefix('\u{feff}').unwrap_or(text));
        let mut reader = csv::ReaderBuilder::new()
            .delimiter(delimiter)
            // Rows of another width are read, too: the messages name them, where the reader would only refuse the file.
            .flexible(true)
            .from_reader(text.as_bytes());
        let headers = reader.headers().map_err(|error| error.to_string())?;
        let columns: Vec<String> = headers.iter().map(str::to_owned).collect();
        let mut rows = Vec::new();
        for record in reader.records() {
            let record = record.map_err(|error| error.to_string())?;
            if columns.len() == 1 {
                // Where there is but one column, an empty line is how many a program writes an empty cell.
                rows.extend((0..empty_lines_before(&record, &text)).map(|_| Value::List(vec![Value::Null])));
            }
            let row = Value::List(record.iter().map(Value::cell).collect());
            if record.len() > columns.len() {
                // Readers refuse it or shift the columns.
                let (number, cells, columns) = (rows.len() + 1, record.len(), columns.len());
                let row = row.line();
                return Err(format!(
                    "row {number} has {cells} cells, and there are {columns} columns: {row}"
                ));
            }
            rows.push(row);
        }
        Ok(Self { columns, rows })
    }

    /// Compares a table with this one: columns by name, rows in order or in any.
    pub(super) fn compare(
        &self,
        actual: &Self,
        is_any_order: bool,
        tolerance: &Tolerance,
    ) -> Result<(), Mismatch> {
        let columns = &self.columns;
        let (Some(wanted), Some(rows)) = (self.in_columns(columns), actual.in_columns(columns)) else {
            let named = |table: &Self| format!("the columns {}", table.columns.join(","));
            return Err(Mismatch::new(named(self), named(actual)));
        };
        let is_same = |one: &Value, other: &Value| one.is_same(other, tolerance);
        if is_any_order {
            let left = unmatched(&wanted, &rows, Value::key, is_same);
            return left.map_or(Ok(()), |left| Err(left_over(left, &wanted, &rows)));
        }
        let is_other = |index: &usize| {
            let pair = (wanted.get(*index), rows.get(*index));
            !matches!(pair, (Some(one), Some(other)) if is_same(one, other))
        };
        let Some(index) = (0..wanted.len().max(rows.len())).find(is_other) else {
            return Ok(());
        };
        let line = |rows: &[Value]| {
            let row = rows
                .get(index)
                .map_or_else(|| "no further row".to_owned(), Value::line);
            format!("row {}: {row}", index + 1)
        };
        Err(Mismatch::new(line(&wanted), line(&rows)))
    }

    /// The rows with their cells in the order of these columns, of two of the same name each its own. `None` unless they are the same columns.
    fn in_columns(&self, columns: &[String]) -> Option<Vec<Value>> {
        let mut places: Vec<usize> = Vec::with_capacity(columns.len());
        // Columns are compared by name: their order is `Columns`' matter.
        for column in columns {
            let mut same = (0..self.columns.len()).filter(|place| self.columns[*place] == *column);
            places.push(same.find(|place| !places.contains(place))?);
        }
        let ordered = |row: &Value| {
            let cells = places.iter().map(|place| cell_of(row, *place));
            Value::List(cells.collect())
        };
        (places.len() == self.columns.len()).then(|| self.rows.iter().map(ordered).collect())
    }

    fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column == name)
    }

    /// The cells of a column.
    pub(super) fn cells(&self, name: &str) -> Option<Value> {
        let column = self.column(name)?;
        Some(Value::List(
            self.rows.iter().map(|row| cell_of(row, column)).collect(),
        ))
    }

    /// The cell at `ROW/COLUMN`, where a row is a number from 1 or `column=value`.
    pub(super) fn cell(&self, at: &str) -> Option<Value> {
        // From the left, since the name of a column may hold slashes; the first split whose column exists is meant.
        let (row, column) = splits(at).find_map(|(row, column)| Some((row, self.column(column)?)))?;
        Some(cell_of(self.row(row)?, column))
    }

    fn row(&self, place: &str) -> Option<&Value> {
        if let Ok(number) = place.parse::<usize>() {
            return self.rows.get(number.checked_sub(1)?);
        }
        let (key, value) = place.split_once('=')?;
        let (key, value) = (self.column(key)?, Value::cell(value));
        let is_it = |row: &&Value| value.is_same(&cell_of(row, key), &Tolerance::default());
        self.rows.iter().find(is_it)
    }
}

/// The message of a row without a partner.
fn left_over(left: Unmatched, wanted: &[Value], rows: &[Value]) -> Mismatch {
    let wanted = match left {
        Unmatched::Wanted(row) => format!("a row {}", wanted[row].line()),
        Unmatched::Actual(row) => format!("{} rows without {}", wanted.len(), rows[row].line()),
    };
    let shown: Vec<String> = rows.iter().take(SHOWN).map(Value::line).collect();
    Mismatch::new(wanted, format!("{} rows: {}", rows.len(), shown.join("; ")))
}

/// Row and column by each slash in a place: the name of a column may hold slashes.
pub fn splits(at: &str) -> impl Iterator<Item = (&str, &str)> {
    at.match_indices('/')
        .map(|(slash, _)| (&at[..slash], &at[slash + 1..]))
}

fn cell_of(row: &Value, column: usize) -> Value {
    let cell = row.list().and_then(|cells| cells.get(column));
    cell.cloned().unwrap_or(Value::Null)
}

fn empty_lines_before(record: &csv::StringRecord, text: &str) -> usize {
    let start = record
        .position()
        .and_then(|position| usize::try_from(position.byte()).ok());
    let rest = start.and_then(|start| text.as_bytes().get(start..));
    rest.map_or(0, |rest| rest.iter().take_while(|byte| **byte == b'\n').count())
}

/// The delimiter of a table: what its first line holds most of, the likeliest of those that it holds equally often.
pub(super) fn delimiter(text: &str) -> u8 {
    // From the end, since of equals the last one is taken.
    let delimiters = DELIMITERS.iter().rev().map(|(delimiter, _)| *delimiter);
    let found = delimiters.max_by_key(|delimiter| count_in_header(text, *delimiter));
    found.unwrap_or(b',')
}

/// The delimiter of an expected table: that of the declared format where its header has it.
pub(crate) fn delimiter_of_expected(expected: &str, declared: Option<u8>) -> u8 {
    declared
        .filter(|declared| count_in_header(expected, *declared) > 0)
        .unwrap_or_else(|| delimiter(expected))
}

/// The delimiter with which the text of an output is read: that of the declared format, since whoever reads such a file uses it. Where
/// the case states the whole table with another one than that, or than a comma, the task asks for that one.
pub(super) fn delimiter_of_actual(text: &str, declared: Option<u8>, whole: Option<&str>) -> u8 {
    let found = delimiter(text);
    // A comma is what a table has by default, so it asks for nothing in particular.
    let is_asked_for =
        found != b',' && whole.is_some_and(|whole| found == delimiter_of_expected(whole, declared));
    declared.filter(|_| !is_asked_for).unwrap_or(found)
}

/// Names the separator of a table that has another one than this: the cause of a mismatch and not its consequence.
pub(super) fn other_separator(text: &str, used: u8) -> Option<String> {
    let found = delimiter(text);
    let is_other = count_in_header(text, used) == 0 && count_in_header(text, found) > 0;
    let name = |of: u8| DELIMITERS.iter().find(|(delimiter, _)| *delimiter == of);
    let (found, used) = (name(found)?.1, name(used)?.1);
    let columns = text.lines().next().filter(|_| is_other)?;
    Some(format!(
        "a table separated by {found} in place of {used}: the columns {columns}"
    ))
}

/// Counts a delimiter in the first line, outside of quotes.
fn count_in_header(text: &str, delimiter: u8) -> usize {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let header = text.trim_start_matches(['\n', '\r']).lines().next();
    // A separator in quotes is part of a name.
    let outside = header.unwrap_or_default().split('"').step_by(2);
    outside
        .map(|part| part.bytes().filter(|byte| *byte == delimiter).count())
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mismatch_says_the_first_row_that_differs() {
        let table = |rows: &str| Table::read(&format!("species,count,mass\n{rows}"), b',').unwrap();
        let expected = table("Adelie,2,3700.5\nGentoo,1,5000\n");
        let actual = table("Adelie,2,3700.5\nGentoo,1,4999\n");
        let mismatch = expected
            .compare(&actual, false, &Tolerance::default())
            .unwrap_err();
        assert_eq!(
            mismatch,
            Mismatch::new("row 2: Gentoo,1,5000", "row 2: Gentoo,1,4999")
        );
    }
}
