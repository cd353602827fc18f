//! Distinct values of a column: exact with counts up to a bound, beyond it an estimate from the smallest hashes.

use std::collections::{BTreeSet, HashMap};
use std::hash::{BuildHasherDefault, Hasher};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use crate::column::patterns::Patterns;

/// Distinct values counted exactly in one column, where memory allows.
pub(crate) const EXACT_LIMIT: usize = 10_000;
/// Smallest hashes retained for the estimate; its standard error is about `1 / sqrt(1024)`, three per cent.
const MOST_KMV_HASHES: usize = 1_024;
/// Values whose counts go on beyond the limit.
const VALUE_LIMIT: usize = 1_000;
/// Longest value retained as text, bytes.
pub(crate) const TEXT_LIMIT: usize = 64;

/// Number of distinct values.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub enum DistinctCount {
    /// Counted.
    Exact(u64),
    /// Estimated, with a standard error of about three per cent.
    About(u64),
}

/// Distinct values as they are met, and the shapes of those that are texts.
#[derive(Clone, Debug)]
pub(crate) struct Distinct {
    limit: usize,
    counted: HashMap<u64, Counted, BuildHasherDefault<HashOfHash>>,
    overflowed: bool,
    has_repetition: bool,
    smallest: BTreeSet<u64>,
    largest_retained: u64,
    patterns: Patterns,
}

#[derive(Clone, Debug)]
struct Counted {
    text: Box<str>,
    count: u64,
    is_cut: bool,
    is_text: bool,
}

/// The keys are hashes already.
#[derive(Clone, Debug, Default)]
struct HashOfHash(u64);

impl Hasher for HashOfHash {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = xxh3_64(bytes);
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

impl Distinct {
    /// Counts exactly up to `limit` values.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit: limit.min(EXACT_LIMIT),
            counted: HashMap::default(),
            overflowed: false,
            has_repetition: false,
            smallest: BTreeSet::new(),
            largest_retained: u64::MAX,
            patterns: Patterns::default(),
        }
    }

    /// Takes in a value by its hash; says whether it is new (never true beyond the limit). Shapes are those of texts.
    pub(crate) fn push(&mut self, hash: u64, text: &str, is_text: bool) -> bool {
        let kept = cut_at(text, TEXT_LIMIT);
        let is_cut = kept.len() < text.len();
        if let Some(counted) = self.counted.get_mut(&hash) {
            counted.count += 1;
            self.has_repetition = true;
            // Beyond the limit shapes are counted as texts come; before it they are counted from the values.
            if self.overflowed && is_text {
                self.patterns.push(kept, is_cut, 1);
            }
            return false;
        }
        self.keep_smallest(hash);
        if !self.overflowed && self.counted.len() >= self.limit {
            self.overflow();
        }
        if self.overflowed {
            if is_text {
                self.patterns.push(kept, is_cut, 1);
            }
            return false;
        }
        self.counted.insert(
            hash,
            Counted {
                text: kept.into(),
                count: 1,
                is_cut,
                is_text,
            },
        );
        true
    }

    /// From here on only the values that are frequent so far are counted; these counts stay those of the whole file.
    fn overflow(&mut self) {
        self.overflowed = true;
        self.shape_counted();
        let mut counts: Vec<(u64, u64)> = self
            .counted
            .iter()
            .map(|(hash, value)| (value.count, *hash))
            .collect();
        counts.sort_unstable_by(|one, other| other.cmp(one));
        let frequent: Vec<u64> = counts
            .into_iter()
            .take(VALUE_LIMIT)
            // A value that came once so far is one of many.
            .filter(|(count, _)| *count > 1)
            .map(|(_, hash)| hash)
            .collect();
        let mut all = std::mem::take(&mut self.counted);
        for hash in frequent {
            if let Some(value) = all.remove(&hash) {
                self.counted.insert(hash, value);
            }
        }
    }

    /// Counts the shapes of all texts so far, in an order that is the same on every machine.
    fn shape_counted(&mut self) {
        let mut texts: Vec<_> = self.counted.iter().filter(|(_, value)| value.is_text).collect();
        // Maps have no order of their own, and equal files must give equal profiles.
        texts.sort_unstable_by_key(|(hash, _)| **hash);
        for (_, value) in texts {
            self.patterns.push(&value.text, value.is_cut, value.count);
        }
    }

    fn keep_smallest(&mut self, hash: u64) {
        if self.smallest.len() < MOST_KMV_HASHES {
            self.smallest.insert(hash);
        } else if hash < self.largest_retained && self.smallest.insert(hash) {
            self.smallest.pop_last();
            self.largest_retained = self.smallest.last().copied().unwrap_or(u64::MAX);
        }
    }

    /// Reports whether a value was met twice; not known for all of them beyond the limit.
    pub(crate) const fn has_repetition(&self) -> bool {
        self.has_repetition
    }

    /// The shapes of the texts, and whether there are more.
    pub(crate) fn patterns(&mut self) -> (Vec<(String, u64)>, bool) {
        if !self.overflowed {
            self.shape_counted();
        }
        std::mem::take(&mut self.patterns).finish()
    }

    /// Counts the distinct values that were met.
    pub(crate) fn count(&self) -> DistinctCount {
        if !self.overflowed {
            return DistinctCount::Exact(self.counted.len() as u64);
        }
        let Some(largest) = self.smallest.last() else {
            return DistinctCount::Exact(0);
        };
        // The k smallest of n evenly spread hashes reach up to k/n of their range.
        let share = (*largest as f64 + 1.0) / 2f64.powi(64);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a rounded estimate of a count"
        )]
        let estimate = ((MOST_KMV_HASHES - 1) as f64 / share).round() as u64;
        DistinctCount::About(round_to_three_digits(estimate).max(self.limit as u64))
    }

    /// Hashes of the values, for the comparison with another column.
    pub(crate) fn hashes(&self) -> ValueHashes {
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
    pub(crate) fn exact(&self) -> Option<usize> {
        (!self.overflowed).then_some(self.counted.len())
    }

    /// Values with their counts, most frequent first, then by text; beyond the limit only values whose counts are those of
    /// the whole file.
    pub(crate) fn ranked(&self) -> Vec<(String, u64)> {
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
pub(crate) struct ValueHashes {
    sorted: Vec<u64>,
    is_cut: bool,
}

impl ValueHashes {
    /// Reports whether every value is there.
    pub(crate) const fn is_whole(&self) -> bool {
        !self.is_cut
    }

    /// Up to which hash every value is there.
    pub(crate) fn reach(&self) -> u64 {
        self.sorted
            .last()
            .filter(|_| self.is_cut)
            .copied()
            .unwrap_or(u64::MAX)
    }

    /// The hashes up to one, sorted.
    pub(crate) fn up_to(&self, reach: u64) -> &[u64] {
        &self.sorted[..self.sorted.partition_point(|hash| *hash <= reach)]
    }

    /// Keeps the smallest hashes only, as many as an estimate takes.
    pub(crate) fn shrink(&mut self) {
        if self.sorted.len() > MOST_KMV_HASHES {
            self.sorted.truncate(MOST_KMV_HASHES);
            self.sorted.shrink_to_fit();
            self.is_cut = true;
        }
    }

    /// Returns their number.
    pub(crate) const fn len(&self) -> usize {
        self.sorted.len()
    }
}

/// The longest prefix of at most `bytes` bytes.
pub(crate) fn cut_at(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

fn round_to_three_digits(value: u64) -> u64 {
    let unit = 10u64.pow(value.checked_ilog10().unwrap_or(0).saturating_sub(2));
    (value + unit / 2) / unit * unit
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: impl Iterator<Item = u64>) -> Distinct {
        let mut distinct = Distinct::new(EXACT_LIMIT);
        for value in values {
            distinct.push(xxh3_64(&value.to_le_bytes()), &value.to_string(), false);
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
    fn counts_beyond_the_limit_are_those_of_the_whole_file() {
        let distinct = of((0..20_000).flat_map(|value| [value, 7, if value < 5_000 { 8 } else { 7 }]));
        let ranked = distinct.ranked();
        assert_eq!(ranked[0], ("7".to_owned(), 20_000 + 15_000 + 1));
        assert_eq!(ranked[1], ("8".to_owned(), 5_001));
        assert_eq!(ranked.len(), 2);
    }

    #[test]
    fn values_rank_by_count_then_text() {
        let mut distinct = Distinct::new(10);
        for (hash, text) in [(1, "b"), (2, "a"), (3, "c"), (3, "c")] {
            distinct.push(hash, text, true);
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
