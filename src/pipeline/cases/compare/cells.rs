//! Tables against what is expected of them.

use bigdecimal::BigDecimal;

use super::matching::unmatched;
use super::order::are_in_order;
use super::scalar::{Scalar, Tolerance, number, same};
use super::table::{Table, count_in_header, delimiter};
use super::{Asked, Mismatch, Separator, list, rows};
use crate::api::case::Check;

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
    // A comma is what a table has by default, so it asks for nothing in particular.
    let is_asked_for =
        found != b',' && asked.is_whole() && found == delimiter_of_expected(asked.expected, separator);
    if is_asked_for { found } else { declared }
}

/// Compares a table with what is expected of it.
pub(super) fn check(text: &str, separator: Separator, asked: &Asked<'_>) -> Result<(), Mismatch> {
    let used = delimiter_of_actual(text, separator, asked);
    let found = delimiter(text);
    part(text, used, separator, asked).map_err(|mut mismatch| {
        // A table read with the wrong separator has one column; the message names the cause and not its consequence.
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
    let table = read(text, used)?;
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
                // Empty cells add nothing, as in a sum of pandas.
                .filter(|cell| !cell.is_empty())
                .map(|cell| number(cell));
            super::total(expected, numbers.sum::<Option<BigDecimal>>(), tolerance)
        }
    }
}

/// The table of an output, in which no row has more cells than there are columns.
fn read(text: &str, delimiter: u8) -> Result<Table, Mismatch> {
    let table = Table::read(text, delimiter)
        .map_err(|error| Mismatch::new("a table", format!("text that is none ({error})")))?;
    let Some(row) = table.overlong_row() else {
        return Ok(table);
    };
    let cells = &table.rows[row - 1];
    Err(Mismatch::new(
        format!("{} cells in row {row}", table.columns.len()),
        format!("{} cells: {}", cells.len(), cells.join(",")),
    ))
}

/// Whether a column has the listed values in any order; an empty list is no value, or one empty cell.
fn same_cells(cells: &[&str], expected: &str, tolerance: Tolerance) -> Result<(), Mismatch> {
    let listed = list(expected);
    let wanted: Vec<Scalar<'_>> = listed.iter().map(|value| Scalar::read(value)).collect();
    let actual: Vec<Scalar<'_>> = cells.iter().map(|cell| Scalar::read(cell)).collect();
    let is_same = |one: &Scalar<'_>, other: &Scalar<'_>| one.is_same(other, tolerance);
    let are_none = cells.is_empty() && expected.trim().is_empty();
    let holds = are_none || unmatched(&wanted, &actual, Scalar::key, is_same).is_none();
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
