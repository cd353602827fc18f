//! Distinct values of a column: exact with counts up to a bound, beyond it an estimate from the smallest hashes.

use std::collections::{BTreeSet, HashMap};

use serde::{Deserialize, Serialize};

/// Distinct values counted exactly in one column, where memory allows.
pub const EXACT_LIMIT: usize = 10_000;
/// Smallest hashes kept for the estimate; its standard error is about `1 / sqrt(1024)`, three per cent.
const KEPT_HASHES: usize = 1_024;
/// Longest value kept as text, bytes.
const KEPT_TEXT: usize = 64;

/// How many distinct values there are.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub enum DistinctCount {
    /// Counted.
    Exact(u64),
    /// Estimated, with a standard error of about three per cent.
    About(u64),
}

/// Distinct values as they are met.
#[derive(Clone, Debug)]
pub struct Distinct {
    limit: usize,
    counted: HashMap<u64, Counted>,
    overflowed: bool,
    smallest: BTreeSet<u64>,
}

#[derive(Clone, Debug)]
struct Counted {
    text: Box<str>,
    count: u64,
    is_cut: bool,
}

impl Distinct {
    /// Counts exactly up to `limit` values.
    pub fn new(limit: usize) -> Self {
        Self {
            limit: limit.min(EXACT_LIMIT),
            counted: HashMap::new(),
            overflowed: false,
            smallest: BTreeSet::new(),
        }
    }

    /// Takes in a value by its hash; says whether it is new (never true once counting gave up).
    pub fn push(&mut self, hash: u64, text: &str) -> bool {
        self.keep_smallest(hash);
        if self.overflowed {
            return false;
        }
        if let Some(counted) = self.counted.get_mut(&hash) {
            counted.count += 1;
            return false;
        }
        if self.counted.len() >= self.limit {
            self.overflowed = true;
            self.counted = HashMap::new();
            return false;
        }
        let kept = cut_at(text, KEPT_TEXT);
        let is_cut = kept.len() < text.len();
        self.counted.insert(
            hash,
            Counted {
                text: kept.into(),
                count: 1,
                is_cut,
            },
        );
        true
    }

    fn keep_smallest(&mut self, hash: u64) {
        if self.smallest.len() < KEPT_HASHES {
            self.smallest.insert(hash);
        } else if self.smallest.last().is_some_and(|last| hash < *last) && self.smallest.insert(hash) {
            self.smallest.pop_last();
        }
    }

    /// How many distinct values were met.
    pub fn count(&self) -> DistinctCount {
        if !self.overflowed {
            return DistinctCount::Exact(self.counted.len() as u64);
        }
        let Some(largest) = self.smallest.last() else {
            return DistinctCount::Exact(0);
        };
        let share = (*largest as f64 + 1.0) / 2f64.powi(64);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a rounded estimate of a count"
        )]
        let estimate = ((KEPT_HASHES - 1) as f64 / share).round() as u64;
        DistinctCount::About(round_to_two_digits(estimate).max(self.limit as u64))
    }

    /// Hashes of the values, for the comparison with another column.
    pub fn hashes(&self) -> ValueHashes {
        if self.overflowed {
            return ValueHashes {
                sorted: self.smallest.iter().copied().collect(),
                is_cut: true,
            };
        }
        let mut sorted: Vec<u64> = self.counted.keys().copied().collect();
        sorted.sort_unstable();
        ValueHashes {
            sorted,
            is_cut: false,
        }
    }

    /// The exact number of distinct values; `None` beyond the limit.
    pub fn exact(&self) -> Option<usize> {
        (!self.overflowed).then_some(self.counted.len())
    }

    /// Values with their counts, most frequent first, then by text; nothing beyond the limit.
    pub fn ranked(&self) -> Vec<(String, u64)> {
        let mut values: Vec<_> = self
            .counted
            .values()
            .map(|value| {
                (
                    format!("{}{}", value.text, if value.is_cut { "…" } else { "" }),
                    value.count,
                )
            })
            .collect();
        values.sort_by(|(text, count), (other, others)| others.cmp(count).then_with(|| text.cmp(other)));
        values
    }
}

/// Hashes of the distinct values of a column: all of them, or the smallest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ValueHashes {
    sorted: Vec<u64>,
    is_cut: bool,
}

impl ValueHashes {
    /// Whether every value is there.
    pub const fn is_whole(&self) -> bool {
        !self.is_cut
    }

    /// Up to which hash every value is there.
    pub fn reach(&self) -> u64 {
        self.sorted
            .last()
            .filter(|_| self.is_cut)
            .copied()
            .unwrap_or(u64::MAX)
    }

    /// The hashes up to one, sorted.
    pub fn up_to(&self, reach: u64) -> &[u64] {
        &self.sorted[..self.sorted.partition_point(|hash| *hash <= reach)]
    }

    /// Keeps the smallest hashes only, as many as an estimate takes.
    pub fn shrink(&mut self) {
        if self.sorted.len() > KEPT_HASHES {
            self.sorted.truncate(KEPT_HASHES);
            self.sorted.shrink_to_fit();
            self.is_cut = true;
        }
    }

    /// How many there are.
    pub const fn len(&self) -> usize {
        self.sorted.len()
    }
}

/// The longest prefix of at most `bytes` bytes.
pub fn cut_at(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

fn round_to_two_digits(value: u64) -> u64 {
    let unit = 10u64.pow(value.checked_ilog10().unwrap_or(0).saturating_sub(1));
    (value + unit / 2) / unit * unit
}

#[cfg(test)]
mod tests {
    use xxhash_rust::xxh3::xxh3_64;

    use super::*;

    fn of(values: impl Iterator<Item = u64>) -> Distinct {
        let mut distinct = Distinct::new(EXACT_LIMIT);
        for value in values {
            distinct.push(xxh3_64(&value.to_le_bytes()), &value.to_string());
        }
        distinct
    }

    #[test]
    fn ten_thousand_values_are_counted_exactly() {
        assert_eq!(
            of((0..10_000).chain(0..10_000)).count(),
            DistinctCount::Exact(10_000)
        );
    }

    #[test]
    fn more_values_are_estimated_within_a_tenth() {
        let DistinctCount::About(estimate) = of(0..200_000).count() else {
            panic!("not an estimate")
        };
        assert!((180_000..=220_000).contains(&estimate), "{estimate}");
    }

    #[test]
    fn values_rank_by_count_then_text() {
        let mut distinct = Distinct::new(10);
        for (hash, text) in [(1, "b"), (2, "a"), (3, "c"), (3, "c")] {
            distinct.push(hash, text);
        }
        assert_eq!(
            distinct.ranked(),
            [("c".to_owned(), 2), ("a".to_owned(), 1), ("b".to_owned(), 1)]
        );
    }

    #[test]
    fn a_cut_never_splits_a_character() {
        assert_eq!(cut_at("aöb", 2), "a");
    }
}
