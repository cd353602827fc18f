//! Keys and equal records of small and large tables.

use super::*;
use crate::column::cell::Cell;
use crate::rows::{BuiltRows, TableBuilder};

fn table(columns: usize, rows: impl Iterator<Item = Vec<String>>) -> BuiltRows {
    let mut builder = TableBuilder::new(Some(','), false);
    for position in 0..columns {
        builder.add_column(format!("c{position}"));
    }
    for row in rows {
        for (position, value) in row.iter().enumerate() {
            builder.cell(position, Cell::of(value), value);
        }
        builder.end_record("");
    }
    builder.finish(0, None)
}

fn shuffled(number: u64) -> String {
    (number * 7_919 % 30_011).to_string()
}

#[test]
fn many_values_in_any_order_are_unique_only_where_they_are() {
    let once = table(1, (0..30_011).map(|row| vec![shuffled(row)]));
    assert_eq!(
        (once.columns[0].is_unique, once.duplicate_records),
        (true, Some(0))
    );
    let twice = table(1, (0..=30_011).map(|row| vec![shuffled(row)]));
    assert_eq!(
        (twice.columns[0].is_unique, twice.duplicate_records),
        (false, Some(1))
    );
}

#[test]
fn a_rise_that_breaks_late_is_followed_by_a_true_claim() {
    let rows = |last: &str| {
        (0..30_000)
            .map(|row| vec![row.to_string()])
            .chain([vec![last.to_owned()]])
            .collect::<Vec<_>>()
    };
    assert!(table(1, rows("-1").into_iter()).columns[0].is_unique);
    let repeated = table(1, rows("5").into_iter());
    assert_eq!(
        (repeated.columns[0].is_unique, repeated.duplicate_records),
        (false, Some(1))
    );
}

#[test]
fn beyond_the_limit_nothing_is_claimed_and_little_stays_in_memory() {
    let state = |may_be_unique| Uniqueness {
        may_be_unique,
        is_proven: false,
    };
    for columns in 1..=3 {
        let mut keys = KeyHashes::with_limit(1_000);
        for record in 0..5_000u64 {
            for column in 0..columns {
                keys.push(column, mix(record, 1) | 1, state(true));
            }
            keys.end_record(RecordHash::OfValues);
            let kept =
                keys.columns.iter().map(|log| log.hashes.len()).sum::<usize>() + keys.records.hashes.len();
            assert_eq!(kept, keys.retained);
            assert!(kept <= 1_000 + columns + 1, "{kept}");
        }
        let candidate = KeyCandidate {
            is_unique: false,
            is_whole: true,
        };
        let found = keys.finish(&vec![candidate; columns]);
        assert_eq!((found.unique.contains(&true), found.duplicates), (false, None));
    }
}

#[test]
fn equal_records_are_counted_whatever_the_spelling_of_their_numbers() {
    let rows = [["1", ""], ["1.0", ""], ["1", "x"], ["1", ""]];
    let rows = rows.into_iter().map(|row| row.map(str::to_owned).to_vec());
    assert_eq!(table(2, rows).duplicate_records, Some(2));
}
