//! Tables of delimited text: CSV, TSV and their kin.

use bigdecimal::BigDecimal;

use super::matching::unmatched;
use super::order::are_in_order;
use super::scalar::{Scalar, Tolerance, number, same};
use super::{Asked, Mismatch, Separator, list, rows, unix_lines};
use crate::api::case::Check;

/// Delimiters, the likeliest first.
const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// A table with named columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Table {
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
}

impl Table {
    /// Reads a table; its first line names the columns.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        Self::read(text, delimiter(text))
    }

    /// Reads a table whose cells are separated by `delimiter`.
    pub(super) fn read(text: &str, delimiter: u8) -> Result<Self, String> {
        let text = unix_lines(text.strip_prefix('\u{feff}').unwrap_or(text));
        let mut reader = csv::ReaderBuilder::new()
            .delimiter(delimiter)
            .flexible(true)
            .from_reader(text.as_bytes());
        let fields =
            |record: &csv::StringRecord| -> Vec<String> { record.iter().map(str::to_owned).collect() };
        let columns = reader.headers().map(fields).map_err(|error| error.to_string())?;
        let mut rows = Vec::new();
        for record in reader.records() {
            let record = record.map_err(|error| error.to_string())?;
            if columns.len() == 1 {
                // Where there is but one column, an empty line is how many a program writes an empty cell.
                rows.extend((0..empty_lines_before(&record, &text)).map(|_| vec![String::new()]));
            }
            rows.push(fields(&record));
        }
        Ok(Self { columns, rows })
    }

    /// The table as comma-separated text.
    #[allow(dead_code, reason = "the reverse of parse")]
    pub(crate) fn print(&self, delimiter: u8) -> Option<String> {
        let mut writer = csv::WriterBuilder::new()
            .delimiter(delimiter)
            .flexible(true)
            .from_writer(Vec::new());
        writer.write_record(&self.columns).ok()?;
        for row in &self.rows {
            writer.write_record(row).ok()?;
        }
        String::from_utf8(writer.into_inner().ok()?).ok()
    }

    /// The first row, counted from 1, that has more cells than there are columns: readers refuse it or shift the columns.
    pub(super) fn overlong_row(&self) -> Option<usize> {
        let place = self.rows.iter().position(|row| row.len() > self.columns.len());
        place.map(|index| index + 1)
    }

    fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column == name)
    }

    fn cells(&self, name: &str) -> Result<Vec<&str>, Mismatch> {
        let Some(index) = self.column(name) else {
            return Err(Mismatch::new(
                format!("a column {name}"),
                format!("the columns {}", self.columns.join(", ")),
            ));
        };
        Ok(self
            .rows
            .iter()
            .map(|row| row.get(index).map_or("", String::as_str))
            .collect())
    }

    /// The cell at `ROW/COLUMN`, where a row is a number from 1 or `column=value`. A column's name may hold slashes.
    pub(crate) fn cell(&self, at: &str) -> Result<&str, Mismatch> {
        let mut places = at
            .match_indices('/')
            .map(|(slash, _)| (&at[..slash], &at[slash + 1..]));
        let found = places.find_map(|(row, column)| Some((row, self.column(column)?)));
        let Some((row, column)) = found else {
            let name = at.rsplit_once('/').map_or(at, |(_, column)| column);
            self.cells(name)?;
            return Err(Mismatch::new(
                format!("a cell at {at}"),
                "no such place".to_owned(),
            ));
        };
        self.row(row)
            .map(|row| row.get(column).map_or("", String::as_str))
            .ok_or_else(|| {
                Mismatch::new(
                    format!("a row for {at}"),
                    format!("{} rows without it", self.rows.len()),
                )
            })
    }

    fn row(&self, place: &str) -> Option<&Vec<String>> {
        if let Ok(number) = place.parse::<usize>() {
            return self.rows.get(number.checked_sub(1)?);
        }
        let (key, value) = place.split_once('=')?;
        let key = self.column(key)?;
        let is_it = |cell: &String| same(value, cell, Tolerance::default());
        self.rows.iter().find(|row| row.get(key).is_some_and(is_it))
    }
}

fn empty_lines_before(record: &csv::StringRecord, text: &str) -> usize {
    let start = record
        .position()
        .and_then(|position| usize::try_from(position.byte()).ok());
    let rest = start.and_then(|start| text.as_bytes().get(start..));
    rest.map_or(0, |rest| rest.iter().take_while(|byte| **byte == b'\n').count())
}

/// The delimiter of a table: what its first line holds most of outside of quotes.
pub(crate) fn delimiter(text: &str) -> u8 {
    let counts = DELIMITERS.map(|delimiter| count_in_header(text, delimiter));
    let most = counts.iter().max().copied().unwrap_or_default();
    let first = counts.iter().position(|count| *count == most).unwrap_or_default();
    DELIMITERS[first]
}

fn count_in_header(text: &str, delimiter: u8) -> usize {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let header = text.trim_start_matches(['\n', '\r']).lines().next();
    let mut is_quoted = false;
    let is_outside = |byte: &u8| {
        is_quoted ^= *byte == b'"';
        !is_quoted && *byte == delimiter
    };
    header
        .unwrap_or_default()
        .as_bytes()
        .iter()
        .copied()
        .filter(is_outside)
        .count()
}

/// The delimiter of an expected table: that of the declared format where its header has it.
pub(super) fn delimiter_of_expected(expected: &str, separator: Separator) -> u8 {
    match separator.byte() {
        Some(declared) if count_in_header(expected, declared) > 0 => declared,
        _ => delimiter(expected),
    }
}

/// The delimiter with which the text of an output is read: that of the declared format, since whoever reads such a file uses it.
/// Where the case states the whole table with another one than that, or than a comma, the task asks for that one.
fn delimiter_of_actual(text: &str, separator: Separator, asked: &Asked<'_>) -> u8 {
    let found = delimiter(text);
    let Some(declared) = separator.byte() else {
        return found;
    };
    let is_asked_for =
        found != b',' && asked.is_whole() && found == delimiter_of_expected(asked.expected, separator);
    if is_asked_for { found } else { declared }
}

/// Compares a table with what is expected of it.
pub(super) fn check(text: &str, separator: Separator, asked: &Asked<'_>) -> Result<(), Mismatch> {
    let used = delimiter_of_actual(text, separator, asked);
    let found = delimiter(text);
    part(text, used, separator, asked).map_err(|mut mismatch| {
        if found != used && count_in_header(text, used) == 0 && count_in_header(text, found) > 0 {
            mismatch.actual = format!(
                "a table separated by {} in place of {}: {}",
                name(found),
                name(used),
                mismatch.actual
            );
        }
        mismatch
    })
}

fn name(delimiter: u8) -> &'static str {
    match delimiter {
        b';' => "semicolons",
        b'\t' => "tabs",
        b'|' => "bars",
        _ => "commas",
    }
}

fn part(text: &str, used: u8, separator: Separator, asked: &Asked<'_>) -> Result<(), Mismatch> {
    let Asked {
        check,
        at,
        expected,
        tolerance,
    } = *asked;
    let table = Table::read(text, used)
        .map_err(|error| Mismatch::new("a table", format!("text that is none ({error})")))?;
    if let Some(row) = table.overlong_row() {
        return Err(Mismatch::new(
            format!("{} cells in row {row}", table.columns.len()),
            format!(
                "{} cells: {}",
                table.rows[row - 1].len(),
                table.rows[row - 1].join(",")
            ),
        ));
    }
    match check {
        Check::Equals | Check::SameRows if at.is_empty() => {
            let expected = Table::read(expected, delimiter_of_expected(expected, separator))
                .map_err(|error| Mismatch::new(format!("a table ({error})"), String::new()))?;
            rows::compare(&expected, &table, check == Check::SameRows, tolerance)
        }
        Check::Equals => {
            let actual = table.cell(at)?;
            Mismatch::unless(same(expected, actual, tolerance), expected, actual)
        }
        Check::SameRows => same_cells(&table.cells(at)?, expected, tolerance),
        Check::Rows => Mismatch::unless(
            expected.trim().parse() == Ok(table.rows.len()),
            &format!("{expected} rows"),
            &format!("{} rows", table.rows.len()),
        ),
        Check::Columns => Mismatch::unless(
            list(expected) == table.columns,
            expected,
            &table.columns.join(","),
        ),
        Check::Contains | Check::Lacks if at.is_empty() => {
            super::found(asked, super::stands_in(text, expected), text)
        }
        Check::Contains | Check::Lacks => {
            let cells = table.cells(at)?;
            let stands = cells.iter().any(|cell| same(expected, cell, tolerance));
            super::found(asked, stands, &cells.join(","))
        }
        Check::Between => super::between(expected, table.cell(at)?),
        Check::Ordered => {
            let cells = table.cells(at)?;
            let holds = are_in_order(&cells, expected.trim() == "descending");
            Mismatch::unless(holds, expected, &cells.join(","))
        }
        Check::Total => {
            let cells = table.cells(at)?;
            let numbers = cells
                .iter()
                .filter(|cell| !cell.is_empty())
                .map(|cell| number(cell));
            super::total(expected, numbers.sum::<Option<BigDecimal>>(), tolerance)
        }
    }
}

/// Whether a column has the listed values in any order; an empty list is no value, or one empty cell.
fn same_cells(cells: &[&str], expected: &str, tolerance: Tolerance) -> Result<(), Mismatch> {
    let listed = list(expected);
    let wanted: Vec<Scalar<'_>> = listed.iter().map(|value| Scalar::read(value)).collect();
    let actual: Vec<Scalar<'_>> = cells.iter().map(|cell| Scalar::read(cell)).collect();
    let is_same = |one: usize, other: usize| wanted[one].is_same(&actual[other], tolerance);
    let are_none = cells.is_empty() && expected.trim().is_empty();
    let holds = are_none || unmatched(wanted.len(), actual.len(), is_same).is_none();
    Mismatch::unless(holds, expected, &cells.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_with_another_separator_is_called_so() {
        let asked = Asked {
            check: Check::Equals,
            at: "1/b",
            expected: "2",
            tolerance: Tolerance::default(),
        };
        let mismatch = check("a;b\n1;2\n", Separator::Comma, &asked).unwrap_err();
        assert_eq!(
            mismatch.actual,
            "a table separated by semicolons in place of commas: the columns a;b"
        );
    }
}
