//! The statistics of random tables are those of a naive computation over all of their values.

use std::collections::HashMap;

use proptest::prelude::*;

use super::cell::Cell;
use super::distinct::DistinctCount;
use crate::rows::{BuiltRows, TableBuilder};

fn build(rows: &[Vec<String>]) -> BuiltRows {
    let mut builder = TableBuilder::new(Some(','), true);
    for position in 0..rows[0].len() {
        builder.add_column(format!("c{position}"));
    }
    for row in rows {
        for (position, value) in row.iter().enumerate() {
            builder.cell(position, Cell::of(value), value);
        }
        builder.end_record(&row.join(","));
    }
    builder.finish(10, None)
}

/// Returns the worth of a value: of numbers the value, of texts the spelling, `None` where it is missing.
fn worth(text: &str) -> Option<String> {
    match text {
        "" | "NA" => None,
        _ => Some(
            text.parse::<f64>()
                .map_or(text.to_owned(), |number| format!("{number:e}")),
        ),
    }
}

fn check_column(rows: &[Vec<String>], position: usize, built: &BuiltRows) {
    let column = &built.columns[position];
    let texts: Vec<&str> = rows.iter().map(|row| row[position].as_str()).collect();
    let values: Vec<String> = texts.iter().filter_map(|text| worth(text)).collect();
    let mut counts: HashMap<&str, u64> = HashMap::new();
    for value in &values {
        *counts.entry(value).or_default() += 1;
    }
    assert_eq!(column.values, values.len() as u64);
    assert_eq!(column.null_count(), (texts.len() - values.len()) as u64);
    assert_eq!(column.distinct, DistinctCount::Exact(counts.len() as u64));
    let is_unique = rows.len() > 1 && counts.len() == rows.len();
    assert_eq!(column.is_unique, is_unique);
    for (text, count) in &column.top {
        assert_eq!(
            Some(count),
            worth(text).and_then(|value| counts.get(value.as_str()))
        );
    }
    if let Some((_, most)) = column.top.first() {
        assert_eq!(counts.values().max(), Some(most));
    }
    let plain = |text: &&&str| !matches!(Cell::of(text), Cell::Null(_) | Cell::Text(_));
    let numbers: Vec<f64> = texts
        .iter()
        .filter(plain)
        .filter_map(|text| text.parse().ok())
        .collect();
    let Some(found) = &column.numbers else {
        assert!(numbers.is_empty());
        return;
    };
    assert_eq!(found.count, numbers.len() as u64);
    let least = numbers.iter().copied().min_by(f64::total_cmp).unwrap();
    let most = numbers.iter().copied().max_by(f64::total_cmp).unwrap();
    assert!((found.min.parse::<f64>().unwrap() - least).abs() < 1e-9);
    assert!((found.max.parse::<f64>().unwrap() - most).abs() < 1e-9);
    let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
    assert!((found.mean - mean).abs() <= 1e-9 * mean.abs().max(1.0));
    assert_eq!(found.histogram.iter().sum::<u64>(), numbers.len() as u64);
}

fn values() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => (-20i64..20).prop_map(|value| value.to_string()),
        2 => (0i64..40).prop_map(|value| format!("{}.{}", value / 4, value % 4 * 25)),
        1 => prop::sample::select(vec!["", "NA", "a", "b", "x y"]).prop_map(str::to_owned),
    ]
}

fn tables() -> impl Strategy<Value = Vec<Vec<String>>> {
    (1usize..4).prop_flat_map(|width| prop::collection::vec(prop::collection::vec(values(), width), 1..60))
}

proptest! {
    #[test]
    fn statistics_are_those_of_the_whole_table(rows in tables()) {
        let built = build(&rows);
        let mut seen = HashMap::new();
        for row in &rows {
            *seen.entry(row.iter().map(|text| worth(text)).collect::<Vec<_>>()).or_insert(0u64) += 1;
        }
        prop_assert_eq!(built.duplicate_records, Some((rows.len() - seen.len()) as u64));
        for position in 0..rows[0].len() {
            check_column(&rows, position, &built);
        }
    }
}
