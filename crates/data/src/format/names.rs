//! Decision whether the first record of a delimited text names its columns.

use crate::column::cell::{Cell, ValueKind};

const LONGEST_NAME: usize = 64;

/// Votes of the columns: text over typed values speaks for a header, a typed value over its like against one.
#[must_use]
pub(crate) fn votes<'r>(
    first: &[String],
    rest: &(impl Iterator<Item = &'r [String]> + Clone),
    decimal: u8,
) -> i32 {
    first
        .iter()
        .enumerate()
        .map(|(column, name)| vote(name, rest.clone(), column, decimal))
        .sum()
}

/// Reports whether the first record is a header.
#[must_use]
pub(crate) fn has_header<'r>(mut records: impl Iterator<Item = &'r [String]> + Clone, decimal: u8) -> bool {
    let Some(first) = records.next() else {
        return false;
    };
    let votes = votes(first, &records, decimal);
    votes > 0 || (votes == 0 && !(first.iter().all(String::is_empty)))
}

fn vote<'r>(name: &str, rest: impl Iterator<Item = &'r [String]>, column: usize, decimal: u8) -> i32 {
    let kinds: Vec<ValueKind> = rest
        .filter_map(|record| record.get(column))
        .filter_map(|value| Cell::with_decimal(value, decimal).kind())
        .collect();
    let typed = kinds.iter().filter(|kind| **kind != ValueKind::Text).count();
    let is_typed_column = typed * 2 > kinds.len();
    match Cell::with_decimal(name, decimal).kind() {
        Some(ValueKind::Text) => i32::from(is_typed_column),
        // Years are names of columns too.
        Some(ValueKind::Int) if is_year(name) => 0,
        Some(_) => -1,
        None => 0,
    }
}

/// Reports whether a text is a year of today's data.
#[must_use]
pub(crate) fn is_year(text: &str) -> bool {
    text.len() == 4
        && (text.starts_with("19") || text.starts_with("20"))
        && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Reports whether different names of usual form stand there, and nothing else.
#[must_use]
pub(crate) fn names_columns(names: &[String]) -> bool {
    let is_name = |name: &String| {
        !name.is_empty()
            && name.len() <= LONGEST_NAME
            && !name.starts_with(|first: char| first == ' ' || first.is_ascii_digit())
            && !name.contains('\n')
            && Cell::of(name).kind() == Some(ValueKind::Text)
    };
    let mut sorted: Vec<_> = names.iter().collect();
    sorted.sort_unstable();
    sorted.dedup();
    sorted.len() == names.len() && names.iter().all(is_name)
}
