//! Tables of delimited text: CSV, TSV and their kin.

use super::Mismatch;
use super::scalar::{Tolerance, number, same};
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
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut reader = csv::ReaderBuilder::new()
            .delimiter(delimiter(text))
            .flexible(true)
            .from_reader(text.as_bytes());
        let fields = |record: &csv::StringRecord| record.iter().map(str::to_owned).collect();
        let columns = reader.headers().map(fields).map_err(|error| error.to_string())?;
        let rows = reader
            .records()
            .map(|record| record.as_ref().map(fields).map_err(ToString::to_string))
            .collect::<Result<_, _>>()?;
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
        let row = match row.parse::<usize>() {
            Ok(number) => number.checked_sub(1).and_then(|index| self.rows.get(index)),
            Err(_) => row.split_once('=').and_then(|(key, value)| {
                let key = self.column(key)?;
                self.rows.iter().find(|row| {
                    row.get(key)
                        .is_some_and(|cell| same(value, cell, Tolerance::default()))
                })
            }),
        };
        row.map(|row| row.get(column).map_or("", String::as_str))
            .ok_or_else(|| {
                Mismatch::new(
                    format!("a row for {at}"),
                    format!("{} rows without it", self.rows.len()),
                )
            })
    }
}

/// The delimiter of a table: what its first line holds most of outside of quotes.
pub(crate) fn delimiter(text: &str) -> u8 {
    let mut counts = [0_usize; DELIMITERS.len()];
    let mut is_quoted = false;
    for byte in text.lines().next().unwrap_or_default().bytes() {
        is_quoted ^= byte == b'"';
        if !is_quoted && let Some(index) = DELIMITERS.iter().position(|delimiter| *delimiter == byte) {
            counts[index] += 1;
        }
    }
    let most = counts.iter().max().copied().unwrap_or_default();
    let first = counts.iter().position(|count| *count == most).unwrap_or_default();
    DELIMITERS[first]
}

/// Compares a table with what is expected of it.
pub(super) fn check(
    text: &str,
    check: Check,
    at: &str,
    expected: &str,
    tolerance: Tolerance,
) -> Result<(), Mismatch> {
    let table = Table::parse(text)
        .map_err(|error| Mismatch::new("a table".to_owned(), format!("text that is none ({error})")))?;
    match check {
        Check::Equals | Check::SameRows if at.is_empty() => {
            let expected = Table::parse(expected)
                .map_err(|error| Mismatch::new(format!("a table ({error})"), String::new()))?;
            whole(&expected, &table, check == Check::SameRows, tolerance)
        }
        Check::Equals => {
            let actual = table.cell(at)?;
            Mismatch::unless(same(expected, actual, tolerance), expected, actual)
        }
        Check::SameRows => {
            let listed: Vec<&str> = expected.split(',').collect();
            let mut left = table.cells(at)?;
            let has_all =
                listed.len() == left.len() && listed.iter().all(|value| take(&mut left, value, tolerance));
            Mismatch::unless(has_all, expected, &table.cells(at)?.join(","))
        }
        Check::Rows => Mismatch::unless(
            expected.trim().parse() == Ok(table.rows.len()),
            &format!("{expected} rows"),
            &format!("{} rows", table.rows.len()),
        ),
        Check::Columns => {
            let listed: Vec<&str> = expected.split(',').map(str::trim).collect();
            Mismatch::unless(listed == table.columns, expected, &table.columns.join(","))
        }
        Check::Contains | Check::Lacks if at.is_empty() => {
            let stands = text.contains(expected);
            Mismatch::unless(
                stands == (check == Check::Contains),
                &super::presence(check, expected),
                text,
            )
        }
        Check::Contains | Check::Lacks => {
            let cells = table.cells(at)?;
            let stands = cells.iter().any(|cell| same(expected, cell, tolerance));
            Mismatch::unless(
                stands == (check == Check::Contains),
                &super::presence(check, expected),
                &cells.join(","),
            )
        }
        Check::Between => super::between(expected, table.cell(at)?),
        Check::Ordered => ordered(&table.cells(at)?, expected),
        Check::Total => {
            let cells = table.cells(at)?;
            let sum: Option<f64> = cells
                .iter()
                .filter(|cell| !cell.is_empty())
                .map(|cell| number(cell))
                .sum();
            super::total(expected, sum, tolerance)
        }
    }
}

fn whole(expected: &Table, actual: &Table, any_order: bool, tolerance: Tolerance) -> Result<(), Mismatch> {
    let mut order = Vec::with_capacity(expected.columns.len());
    for column in &expected.columns {
        order.push(actual.column(column));
    }
    let places: Option<Vec<usize>> = order.into_iter().collect();
    let Some(places) = places.filter(|places| places.len() == actual.columns.len()) else {
        return Err(Mismatch::new(
            format!("the columns {}", expected.columns.join(",")),
            format!("the columns {}", actual.columns.join(",")),
        ));
    };
    let rows: Vec<Vec<&str>> = actual
        .rows
        .iter()
        .map(|row| {
            let cell = |place: &usize| row.get(*place).map_or("", String::as_str);
            places.iter().map(cell).collect()
        })
        .collect();
    let line = |row: Option<&Vec<&str>>| row.map_or_else(|| "no further row".to_owned(), |row| row.join(","));
    let wanted: Vec<Vec<&str>> = expected
        .rows
        .iter()
        .map(|row| {
            let cell = |index| row.get(index).map_or("", String::as_str);
            (0..places.len()).map(cell).collect()
        })
        .collect();
    if any_order {
        let mut left: Vec<&Vec<&str>> = rows.iter().collect();
        for row in &wanted {
            let Some(found) = left.iter().position(|other| same_row(row, other, tolerance)) else {
                return Err(Mismatch::new(
                    format!("a row {}", line(Some(row))),
                    table_text(&rows),
                ));
            };
            left.swap_remove(found);
        }
        return match left.first() {
            None => Ok(()),
            Some(row) => Err(Mismatch::new(
                format!("{} rows", wanted.len()),
                format!("{} rows, one of them {}", rows.len(), line(Some(row))),
            )),
        };
    }
    for index in 0..wanted.len().max(rows.len()) {
        let (one, other) = (wanted.get(index), rows.get(index));
        let is_same = matches!((one, other), (Some(one), Some(other)) if same_row(one, other, tolerance));
        if !is_same {
            let number = index + 1;
            return Err(Mismatch::new(
                format!("row {number}: {}", line(one)),
                format!("row {number}: {}", line(other)),
            ));
        }
    }
    Ok(())
}

fn table_text(rows: &[Vec<&str>]) -> String {
    let lines: Vec<String> = rows.iter().take(8).map(|row| row.join(",")).collect();
    if lines.is_empty() {
        "no rows".to_owned()
    } else {
        lines.join("; ")
    }
}

fn same_row(expected: &[&str], actual: &[&str], tolerance: Tolerance) -> bool {
    expected.len() == actual.len()
        && expected
            .iter()
            .zip(actual)
            .all(|(one, other)| same(one, other, tolerance))
}

fn take(left: &mut Vec<&str>, value: &str, tolerance: Tolerance) -> bool {
    let found = left.iter().position(|cell| same(value.trim(), cell, tolerance));
    found.map(|index| left.swap_remove(index)).is_some()
}

fn ordered(cells: &[&str], expected: &str) -> Result<(), Mismatch> {
    let is_descending = expected.trim() == "descending";
    let numbers: Option<Vec<f64>> = cells.iter().map(|cell| number(cell)).collect();
    let in_order = |is_before: &dyn Fn(usize) -> bool| (1..cells.len()).all(is_before);
    let holds = match &numbers {
        Some(numbers) => in_order(&|index| {
            if is_descending {
                numbers[index - 1] >= numbers[index]
            } else {
                numbers[index - 1] <= numbers[index]
            }
        }),
        None => in_order(&|index| {
            if is_descending {
                cells[index - 1] >= cells[index]
            } else {
                cells[index - 1] <= cells[index]
            }
        }),
    };
    Mismatch::unless(holds, expected, &cells.join(","))
}
