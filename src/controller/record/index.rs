//! Names of documents, in little room: one text a folder, and names that differ in a number alone are one entry with ranges of numbers.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Stands for the number; no name has one.
const NUMBER: char = '*';
/// Between a pattern and its numbers; no name has one.
const NUMBERS: char = '=';
/// Most names of a pattern that are read: a status that somebody else wrote may name more than there is memory for.
const MOST_NUMBERS: usize = 100_000;

/// `calls/0001-plan.json`, `calls/0002-plan.json` and `calls/prefix.json` as `calls/: *-plan.json=1-2 prefix.json`.
#[must_use]
pub fn grouped(names: &BTreeSet<String>) -> BTreeMap<String, String> {
    let mut folders: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (pattern, ranges) in patterns(names) {
        let (folder, name) = pattern.split_at(pattern.rfind('/').map_or(0, |slash| slash + 1));
        let entry = if ranges.is_empty() {
            name.to_owned()
        } else {
            format!("{name}{NUMBERS}{ranges}")
        };
        folders.entry(folder.to_owned()).or_default().push(entry);
    }
    let folders = folders.into_iter();
    folders
        .map(|(folder, entries)| (folder, entries.join(" ")))
        .collect()
}

/// Each pattern with its ranges. Names without a number have none.
fn patterns(names: &BTreeSet<String>) -> BTreeMap<String, String> {
    let mut numbers: BTreeMap<String, BTreeSet<u64>> = BTreeMap::new();
    let mut groups = BTreeMap::new();
    for name in names {
        match split(name) {
            Some((pattern, number)) => {
                numbers.entry(pattern).or_default().insert(number);
            }
            None => {
                groups.insert(name.clone(), String::new());
            }
        }
    }
    groups.extend(
        numbers
            .into_iter()
            .map(|(pattern, numbers)| (pattern, ranges(&numbers))),
    );
    groups
}

/// The names of which [`grouped`] made `groups`. What cannot be read is left out. Before version 3 each pattern had an entry of its own.
#[must_use]
pub fn names(groups: &BTreeMap<String, String>) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for (folder, entries) in groups {
        if !folder.is_empty() && !folder.ends_with('/') {
            all.extend(named(folder, entries));
            continue;
        }
        for entry in entries.split_ascii_whitespace() {
            let (name, ranges) = entry.split_once(NUMBERS).unwrap_or((entry, ""));
            all.extend(named(&format!("{folder}{name}"), ranges));
        }
    }
    all
}

/// The names of a pattern with these ranges.
fn named(pattern: &str, ranges: &str) -> Vec<String> {
    let Some((before, after)) = pattern.split_once(NUMBER) else {
        return vec![pattern.to_owned()];
    };
    let numbers = ranges.split(',').flat_map(numbers);
    numbers
        .take(MOST_NUMBERS)
        .map(|number| format!("{before}{number:04}{after}"))
        .collect()
}

/// The numbers of `1` or `1-3`.
fn numbers(range: &str) -> impl Iterator<Item = u64> {
    let (first, last) = range.split_once('-').unwrap_or((range, range));
    let numbers = first.parse().ok().zip(last.parse().ok());
    numbers.into_iter().flat_map(|(first, last)| first..=last)
}

/// A name as its pattern and its number, where it has one that is written with four digits or as many as it needs.
fn split(name: &str) -> Option<(String, u64)> {
    let start = name.find(|character: char| character.is_ascii_digit())?;
    let digits = name[start..].find(|character: char| !character.is_ascii_digit());
    let end = digits.map_or(name.len(), |digits| start + digits);
    let number: u64 = name[start..end].parse().ok()?;
    // Numbers of another width would not come back as they were, and stay part of the name.
    let is_ours = format!("{number:04}") == name[start..end];
    is_ours.then(|| (format!("{}{NUMBER}{}", &name[..start], &name[end..]), number))
}

fn ranges(numbers: &BTreeSet<u64>) -> String {
    let mut text = String::new();
    let mut numbers = numbers.iter().copied().peekable();
    while let Some(first) = numbers.next() {
        let mut last = first;
        while let Some(next) = numbers.next_if(|next| *next == last + 1) {
            last = next;
        }
        let comma = if text.is_empty() { "" } else { "," };
        let _ = if first == last {
            write!(text, "{comma}{first}")
        } else {
            write!(text, "{comma}{first}-{last}")
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn names_that_differ_in_a_number_are_one_entry() {
        let all = set(&[
            "calls/0001-plan.json",
            "calls/0004-fix_code.json",
            "calls/0006-fix_code.json",
            "calls/0007-fix_code.json",
            "calls/prefix-00a1b2.json",
            "calls/prefix-1234.json",
            "calls/12345-plan.json",
            "calls/00012-plan.json",
            "documents/context.txt",
        ]);
        let groups = grouped(&all);
        assert_eq!(
            groups["calls/"],
            "*-fix_code.json=4,6-7 *-plan.json=1,12345 00012-plan.json prefix-*.json=1234 prefix-00a1b2.json"
        );
        assert_eq!(groups["documents/"], "context.txt");
        assert_eq!(groups.len(), 2, "{groups:?}");
        assert_eq!(names(&groups), all);
    }

    #[test]
    fn of_a_range_without_an_end_a_bounded_part_is_read() {
        let groups = BTreeMap::from([("calls/".to_owned(), format!("*-plan.json=1-{}", u64::MAX))]);
        assert_eq!(names(&groups).len(), MOST_NUMBERS);
    }
}
