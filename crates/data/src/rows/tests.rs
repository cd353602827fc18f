//! Tests of the choice of records that are shown.

use super::*;

fn rows(lines: &[&str], most: usize) -> Vec<u64> {
    let mut builder = TableBuilder::new(Some(','), true);
    for position in 0..lines[0].split(',').count() {
        builder.add_column(format!("c{position}"));
    }
    for line in lines {
        for (position, value) in line.split(',').enumerate() {
            builder.cell(position, Cell::of(value), value);
        }
        builder.end_record(line);
    }
    builder
        .finish(most, None)
        .rows
        .into_iter()
        .map(|row| row.number)
        .collect()
}

#[test]
fn rows_stop_when_nothing_new_appears() {
    assert_eq!(rows(&["a,x"; 50], 100), [1]);
}

#[test]
fn a_null_a_category_and_the_extremes_are_shown() {
    let lines = ["5,a", "6,a", "7,a", "1,a", "6,b", ",a", "9,a", "6,a", "6,b"];
    let mut found = rows(&lines, 100);
    found.sort_unstable();
    assert_eq!(found, [1, 4, 5, 6, 7]);
}

#[test]
fn a_record_without_values_comes_last() {
    let found = rows(&["a,1,x,p", "b,2,y,q", ",,,", "a,1,x,p"], 9);
    assert_eq!(found.last(), Some(&3), "{found:?}");
}

#[test]
fn the_maximum_before_a_broken_rise_is_shown() {
    // More values than a category has: none of them is kept for being new.
    let rise: Vec<_> = (1..=20).map(|number| format!("{number},a")).collect();
    for after in ["4,a", ",a"] {
        let mut lines: Vec<_> = rise.iter().map(String::as_str).collect();
        lines.extend([after; 3]);
        assert!(rows(&lines, 100).contains(&20), "{after}");
    }
}

#[test]
fn the_upper_bound_may_be_zero_or_one() {
    assert!(rows(&["1,a", "2,b"], 0).is_empty());
    assert_eq!(rows(&["1,a", "2,b"], 1).len(), 1);
}

#[test]
fn long_cells_are_cut_and_the_rest_stands() {
    let raw = format!("1,\"{}\",tail", "x,".repeat(1_000));
    let short = shorten(&raw, Some(','));
    assert!(
        short.starts_with("1,\"x,x,") && short.ends_with("more characters],tail"),
        "{short}"
    );
    assert!(short.len() < 200);
}
