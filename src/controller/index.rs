//! Names of documents, in little room: those that differ in a number alone are one entry with ranges of numbers.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Stands for the number; no name has one.
const NUMBER: char = '*';

/// `calls/0001-plan.json` and `calls/0002-plan.json` as `calls/*-plan.json: 1-2`. Names without a number have none.
#[must_use]
pub fn grouped(names: &BTreeSet<String>) -> BTreeMap<String, String> {
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

/// The names of which [`grouped`] made `groups`. What cannot be read is left out.
#[must_use]
pub fn names(groups: &BTreeMap<String, String>) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (pattern, ranges) in groups {
        let Some((before, after)) = pattern.split_once(NUMBER) else {
            names.insert(pattern.clone());
            continue;
        };
        for range in ranges.split(',') {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            if let (Ok(first), Ok(last)) = (first.parse::<u64>(), last.parse::<u64>()) {
                names.extend((first..=last).map(|number| format!("{before}{number:04}{after}")));
            }
        }
    }
    names
}

/// A name as its pattern and its number, where it has one that is written with four digits or as many as it needs.
fn split(name: &str) -> Option<(String, u64)> {
    let start = name.find(|character: char| character.is_ascii_digit())?;
    let digits = name[start..].find(|character: char| !character.is_ascii_digit());
    let end = digits.map_or(name.len(), |digits| start + digits);
    let number: u64 = name[start..end].parse().ok()?;
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
        assert_eq!(groups["calls/*-plan.json"], "1,12345");
        assert_eq!(groups["calls/*-fix_code.json"], "4,6-7");
        assert_eq!(groups["documents/context.txt"], "");
        assert_eq!(groups.len(), 6, "{groups:?}");
        assert_eq!(names(&groups), all);
    }
}
