//! Whole tables: columns by name, rows in order or in any.

use super::Mismatch;
use super::matching::unmatched;
use super::scalar::{Scalar, Tolerance};
use super::table::Table;

type Row<'a> = Vec<Scalar<'a>>;

/// Rows of a table that a message shows.
const SHOWN: usize = 8;

/// Compares two tables.
pub(super) fn compare(
    expected: &Table,
    actual: &Table,
    is_any_order: bool,
    tolerance: Tolerance,
) -> Result<(), Mismatch> {
    let Some(places) = places(&expected.columns, &actual.columns) else {
        return Err(Mismatch::new(
            format!("the columns {}", expected.columns.join(",")),
            format!("the columns {}", actual.columns.join(",")),
        ));
    };
    let as_named: Vec<usize> = (0..places.len()).collect();
    let wanted = read(&expected.rows, &as_named);
    let actual = read(&actual.rows, &places);
    if is_any_order {
        in_any_order(&wanted, &actual, tolerance)
    } else {
        in_order(&wanted, &actual, tolerance)
    }
}

/// Where each expected column stands; of two of the same name each its own. `None` unless they are the same columns.
fn places(expected: &[String], actual: &[String]) -> Option<Vec<usize>> {
    let mut places: Vec<usize> = Vec::with_capacity(expected.len());
    // Columns are compared by name: their order is `Columns`' matter.
    for column in expected {
        let mut same = (0..actual.len()).filter(|place| actual[*place] == *column);
        places.push(same.find(|place| !places.contains(place))?);
    }
    (places.len() == actual.len()).then_some(places)
}

fn read<'a>(rows: &'a [Vec<String>], places: &[usize]) -> Vec<Row<'a>> {
    let cell = |row: &'a Vec<String>, place: usize| Scalar::read(row.get(place).map_or("", String::as_str));
    rows.iter()
        .map(|row| places.iter().map(|place| cell(row, *place)).collect())
        .collect()
}

fn same(expected: &Row<'_>, actual: &Row<'_>, tolerance: Tolerance) -> bool {
    expected.len() == actual.len()
        && expected
            .iter()
            .zip(actual)
            .all(|(one, other)| one.is_same(other, tolerance))
}

fn in_order(wanted: &[Row<'_>], actual: &[Row<'_>], tolerance: Tolerance) -> Result<(), Mismatch> {
    for index in 0..wanted.len().max(actual.len()) {
        let (one, other) = (wanted.get(index), actual.get(index));
        let is_same = matches!((one, other), (Some(one), Some(other)) if same(one, other, tolerance));
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

fn in_any_order(wanted: &[Row<'_>], actual: &[Row<'_>], tolerance: Tolerance) -> Result<(), Mismatch> {
    let key = |row: &Row<'_>| row.iter().map(Scalar::key).collect::<Vec<_>>().join("\u{1f}");
    let left = unmatched(wanted, actual, key, |one, other| same(one, other, tolerance));
    match (left.wanted, left.actual) {
        (None, None) => Ok(()),
        (Some(row), _) => Err(Mismatch::new(
            format!("a row {}", line(wanted.get(row))),
            text(actual),
        )),
        (None, Some(row)) => Err(Mismatch::new(
            format!("{} rows", wanted.len()),
            format!("{} rows, one of them {}", actual.len(), line(actual.get(row))),
        )),
    }
}

fn line(row: Option<&Row<'_>>) -> String {
    let Some(row) = row else {
        return "no further row".to_owned();
    };
    let cells: Vec<&str> = row.iter().map(|cell| cell.text).collect();
    cells.join(",")
}

fn text(rows: &[Row<'_>]) -> String {
    let lines: Vec<String> = rows.iter().take(SHOWN).map(|row| line(Some(row))).collect();
    if lines.is_empty() {
        "no rows".to_owned()
    } else {
        lines.join("; ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mismatch_says_the_first_row_that_differs() {
        let table = |rows: &str| Table::parse(&format!("species,count,mass\n{rows}")).unwrap();
        let expected = table("Adelie,2,3700.5\nGentoo,1,5000\n");
        let actual = table("Adelie,2,3700.5\nGentoo,1,4999\n");
        let mismatch = compare(&expected, &actual, false, Tolerance::default()).unwrap_err();
        assert_eq!(
            mismatch,
            Mismatch::new("row 2: Gentoo,1,5000", "row 2: Gentoo,1,4999")
        );
    }
}
