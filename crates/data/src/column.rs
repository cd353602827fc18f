//! One column as its values are met: kinds, missing values, distinct values, numbers, dates, lengths.

pub(crate) mod cell;
mod dates;
mod decimal;
mod hash;
pub(crate) mod distinct;
pub(crate) mod numeric;
mod oddities;
pub(crate) mod oddity;
mod patterns;
pub(crate) mod quantiles;
pub(crate) mod style;
pub(crate) mod tally;
pub(crate) mod temporal;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
mod texts;

use std::collections::{BTreeMap, HashSet};

use hash::shape;
pub(crate) use hash::{hash, mix};

use super::calendar::MICROS_PER_DAY;
use super::profile::{ColumnProfile, ColumnType, LengthStats};
use super::remark::Remark;
use crate::column::cell::{Cell, ValueKind, has_leading_zero};
use crate::column::distinct::{Distinct, DistinctCount};
use crate::column::numeric::{Extreme, Numbers};
use crate::column::oddities::Oddities;
use crate::column::oddity::Oddity;
use crate::column::temporal::Times;
use crate::column::texts::{Counts, Texts};

/// Distinct values up to which a repeating column counts as a category.
pub(crate) const CATEGORY_LIMIT: usize = 12;
/// Beyond the limit of exact counts a value is listed when at least one of so many is that value.
const FREQUENT_SHARE: u64 = 100;
const PATTERN_LIMIT: usize = 8;

/// Observations on one value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ObservedValue {
    /// Hash of the value; 0 for a missing one.
    pub hash: u64,
    /// Hash of the shape of a text; 0 for everything else.
    pub shape: u64,
    /// True where it showed something that the column had not shown.
    pub is_new: bool,
    /// True where it is an extreme so far.
    pub extreme: Extreme,
    /// True where the values had risen strictly until this one, which does not rise.
    pub broke_rise: bool,
}

/// Uniqueness of a column, as far as the column itself knows it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Uniqueness {
    /// True where no value was seen twice and none is missing, as far as the hashes show.
    pub may_be_unique: bool,
    /// True where that is certain.
    pub is_proven: bool,
}

/// The profile of a column when everything is read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyCandidate {
    /// True where the column itself knows that every record has a value and no two are equal.
    pub is_unique: bool,
    /// True where every record has exactly one value.
    pub is_whole: bool,
}

/// A column when all its values are met.
#[derive(Debug)]
pub(crate) struct FinishedColumn {
    /// Its profile.
    pub profile: ColumnProfile,
    /// Doubts about it alone.
    pub remarks: Vec<Remark>,
    /// Oddities of its values.
    pub oddities: Vec<Oddity>,
}

/// A column as its values are met.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    name: String,
    values: u64,
    nulls: BTreeMap<&'static str, u64>,
    kinds: [u64; ValueKind::ALL.len()],
    leading_zeros: u64,
    padded: u64,
    distinct: Distinct,
    numbers: Numbers,
    times: Times,
    lengths: Lengths,
    shapes: HashSet<u64>,
    rise: Rise,
    texts: Texts,
    oddities: Oddities,
    /// True where a number is beyond `i64`: no integer of pandas holds such a one and a negative one.
    has_wide: bool,
    has_negative: bool,
    /// Record of the smallest number or date.
    pub min_record: Option<u64>,
    /// Record of the largest number or date.
    pub max_record: Option<u64>,
}

#[derive(Clone, Debug, Default)]
struct Lengths {
    min: u64,
    max: u64,
    total: u64,
    count: u64,
}

/// Course of numbers and dates, which are unique as long as they have risen strictly, however many there are.
#[derive(Clone, Copy, Debug)]
enum Rise {
    Untested,
    From(f64),
    Ended,
}

impl Column {
    /// A column that counts distinct values exactly up to `limit`, and retains as many numbers for its quartiles.
    #[must_use]
    pub(crate) fn new(name: String, limit: usize, seed: u64) -> Self {
        Self {
            name,
            values: 0,
            nulls: BTreeMap::new(),
            kinds: [0; ValueKind::ALL.len()],
            leading_zeros: 0,
            padded: 0,
            distinct: Distinct::new(limit),
            numbers: Numbers::new(limit, seed),
            times: Times::new(limit, seed),
            lengths: Lengths::default(),
            shapes: HashSet::new(),
            rise: Rise::Untested,
            texts: Texts::new(limit, seed),
            oddities: Oddities::default(),
            has_wide: false,
            has_negative: false,
            min_record: None,
            max_record: None,
        }
    }

    /// Takes in the value of a record.
    pub(crate) fn push(&mut self, record: u64, cell: Cell<'_>, text: &str) -> ObservedValue {
        let Some(kind) = cell.kind() else {
            return self.push_null(cell);
        };
        self.values += 1;
        let is_new_kind = self.kinds[kind as usize] == 0;
        self.kinds[kind as usize] += 1;
        self.padded += u64::from(text.len() != text.trim_ascii().len());
        self.oddities.push(cell, text);
        let hash = hash(cell, text);
        let is_new_value = self.distinct.push(hash, text, kind == ValueKind::Text);
        let mut seen = ObservedValue {
            hash,
            is_new: is_new_kind,
            ..ObservedValue::default()
        };
        // Only while the values are few: a new one among thousands says nothing of which rows are worth showing.
        seen.is_new |= is_new_value && self.distinct.exact().is_some_and(|count| count <= CATEGORY_LIMIT);
        match cell {
            Cell::Int(value) => {
                self.has_negative |= value < 0;
                self.texts.push_int(value.into(), text);
                seen.extreme = self.numbers.push_int(value.into(), text);
                // Beyond 2^53 neighbours become one float, which can only end a rise too early.
                seen.broke_rise = self.follow(value as f64);
            }
            Cell::Uint(value) => {
                self.has_wide = true;
                self.texts.push_int(value.into(), text);
                seen.extreme = self.numbers.push_int(value.into(), text);
                seen.broke_rise = self.follow(value as f64);
            }
            Cell::Float(value) => {
                self.texts.push_float(value, text, &self.numbers);
                seen.extreme = self.numbers.push_float(value, text);
                seen.broke_rise = self.follow(value);
            }
            Cell::Date(days) => {
                seen.extreme = self.times.push_iso(days * MICROS_PER_DAY, false, text);
                seen.broke_rise = self.follow((days * MICROS_PER_DAY) as f64);
            }
            Cell::Datetime { micros, zoned } => {
                seen.extreme = self.times.push_iso(micros, zoned, text);
                seen.broke_rise = self.follow(micros as f64);
            }
            Cell::Text(text) => self.push_text(text, is_new_value, &mut seen),
            Cell::Bool(_) | Cell::Null(_) => seen.broke_rise = self.end_rise(),
        }
        if seen.extreme.is_min {
            self.min_record = Some(record);
        }
        if seen.extreme.is_max {
            self.max_record = Some(record);
        }
        seen
    }

    fn push_null(&mut self, cell: Cell<'_>) -> ObservedValue {
        let Cell::Null(spelling) = cell else {
            return ObservedValue::default();
        };
        let count = self.nulls.entry(spelling).or_default();
        *count += 1;
        let is_new = *count == 1;
        ObservedValue {
            is_new,
            broke_rise: self.is_rising(),
            ..ObservedValue::default()
        }
    }

    fn push_text(&mut self, text: &str, is_new_value: bool, seen: &mut ObservedValue) {
        seen.broke_rise = self.end_rise();
        self.leading_zeros += u64::from(has_leading_zero(text.trim_ascii()));
        self.lengths.push(text);
        let float = self.kinds[ValueKind::Float as usize];
        self.texts.push_text(text, &self.numbers, float > 0);
        if is_new_value && self.shapes.len() <= PATTERN_LIMIT {
            seen.shape = shape(text);
            seen.is_new |= self.shapes.insert(seen.shape);
        }
    }

    /// Returns whether a strict rise ended with this value.
    fn follow(&mut self, value: f64) -> bool {
        match self.rise {
            Rise::Untested => self.rise = Rise::From(value),
            Rise::From(last) if value > last => self.rise = Rise::From(value),
            // Equal values end it too: a rise is strict, or it would prove no uniqueness.
            Rise::From(_) => return self.end_rise(),
            Rise::Ended => {}
        }
        false
    }

    /// Returns whether there was a rise to end.
    const fn end_rise(&mut self) -> bool {
        let was_rising = self.is_rising();
        self.rise = Rise::Ended;
        was_rising
    }

    /// Reports whether its numbers or dates have risen strictly so far.
    #[must_use]
    pub(crate) const fn is_rising(&self) -> bool {
        matches!(self.rise, Rise::From(_))
    }

    /// Reports whether its values are few and repeat.
    #[must_use]
    pub(crate) fn is_category(&self) -> bool {
        self.distinct
            .exact()
            .is_some_and(|count| count <= CATEGORY_LIMIT && count as u64 * 2 <= self.values)
    }

    /// Reports whether the shapes of its texts are few enough to distinguish rows.
    #[must_use]
    pub(crate) fn has_patterns(&self) -> bool {
        (2..=PATTERN_LIMIT).contains(&self.shapes.len())
    }

    /// Returns the column's knowledge of its own uniqueness.
    #[must_use]
    pub(crate) fn uniqueness(&self) -> Uniqueness {
        Uniqueness {
            may_be_unique: self.nulls.is_empty() && !self.distinct.has_repetition(),
            is_proven: self.is_rising(),
        }
    }

    /// Reports whether it is a key after `records` records.
    #[must_use]
    pub(crate) fn candidate(&self, records: u64, present: Option<u64>) -> KeyCandidate {
        let is_whole = self.values == records
            && self.nulls.is_empty()
            && present.is_none_or(|present| present == records);
        let exact = self.distinct.exact().map(|count| count as u64);
        KeyCandidate {
            // A strict rise proves uniqueness without the values: they need not all be held.
            is_unique: is_whole && records > 1 && (exact == Some(self.values) || self.is_rising()),
            is_whole,
        }
    }

    /// The only decimal sign with which its numbers can be read: a separator of thousands stands before three digits.
    #[must_use]
    pub(crate) const fn proves_decimal(&self) -> Option<char> {
        self.texts.proves_decimal()
    }

    /// The result. `decimal` is the decimal sign of the table, where it was detected.
    #[must_use]
    pub(crate) fn finish(
        mut self,
        present: Option<u64>,
        is_unique: bool,
        decimal: Option<char>,
    ) -> FinishedColumn {
        let distinct = if is_unique {
            DistinctCount::Exact(self.values)
        } else {
            self.distinct.count()
        };
        let top = self.frequent_values(distinct);
        let value_hashes = self.distinct.hashes();
        let (patterns, has_more_patterns) = self.distinct.patterns();
        let found_type = self.type_();
        let counts = self.counts();
        let is_telephone = self.oddities.are_telephones(self.values);
        let found = self.texts.finish(&self.name, counts, decimal);
        let (type_, style, numbers) = match found.numbers {
            // Digits that nobody counts with.
            _ if is_telephone => (ColumnType::Text, None, None),
            Some((style, numbers)) => (ColumnType::Text, Some(style), Some(*numbers)),
            None => (found_type, None, self.numbers.finish()),
        };
        let oddities = self.oddities.finish(type_, self.kinds, found.impossible);
        let profile = ColumnProfile {
            value_hashes,
            type_,
            declared: None,
            unit: None,
            is_unique,
            name: self.name,
            present,
            values: self.values,
            nulls: self
                .nulls
                .into_iter()
                .map(|(spelling, count)| (spelling.to_owned(), count))
                .collect(),
            kinds: ValueKind::ALL
                .into_iter()
                .zip(self.kinds)
                .filter(|(_, count)| *count > 0)
                .collect(),
            leading_zeros: self.leading_zeros,
            padded: self.padded,
            distinct,
            numbers,
            style,
            times: self.times.finish_iso().or(found.times).filter(|_| !is_telephone),
            patterns,
            has_more_patterns,
            lengths: self.lengths.finish(),
            top,
        };
        FinishedColumn {
            profile,
            remarks: found.remarks,
            oddities,
        }
    }

    /// The most frequent values, unless no value repeats.
    fn frequent_values(&self, distinct: DistinctCount) -> Vec<(String, u64)> {
        if matches!(distinct, DistinctCount::Exact(count) if count == self.values) {
            return Vec::new();
        }
        let is_exact = self.distinct.exact().is_some();
        let is_frequent = |(_, count): &(String, u64)| {
            // Beyond the limit there may be values that are as frequent as the rarer ones of those that are counted.
            is_exact || *count * FREQUENT_SHARE >= self.values
        };
        let ranked = self.distinct.ranked().into_iter();
        ranked.filter(is_frequent).take(CATEGORY_LIMIT).collect()
    }

    const fn counts(&self) -> Counts {
        let [int, float, bool, date, datetime, text] = self.kinds;
        Counts {
            int,
            float,
            text,
            other: bool + date + datetime,
        }
    }

    fn type_(&self) -> ColumnType {
        type_of(
            self.kinds,
            self.leading_zeros > 0,
            self.has_wide,
            self.has_negative,
        )
    }
}

/// The type of a column with so many values of each kind. `is_code` says that some are digits with leading zeros, `has_wide` that
/// a number is beyond `i64`.
fn type_of(
    kinds: [u64; ValueKind::ALL.len()],
    is_code: bool,
    has_wide: bool,
    has_negative: bool,
) -> ColumnType {
    let values = kinds.iter().sum::<u64>();
    let [int, float, bool, date, datetime, text] = kinds;
    let groups = [int + float, bool, date + datetime, text];
    let whole = |group: u64| group == values;
    match groups {
        _ if values == 0 => ColumnType::Empty,
        // Codes: the ones without leading zeros are codes too.
        [numbers, _, _, text] if is_code && whole(numbers + text) => ColumnType::Text,
        // Neither of the two types of 64 bits holds both its smallest and its largest number.
        [numbers, ..] if whole(numbers) && float == 0 && has_wide && has_negative => ColumnType::Text,
        [numbers, ..] if whole(numbers) && float == 0 => ColumnType::Int,
        [numbers, ..] if whole(numbers) => ColumnType::Float,
        [_, bools, ..] if whole(bools) => ColumnType::Bool,
        [_, _, times, _] if whole(times) && datetime == 0 => ColumnType::Date,
        [_, _, times, _] if whole(times) => ColumnType::Datetime,
        [_, _, _, texts] if whole(texts) => ColumnType::Text,
        _ => ColumnType::Mixed,
    }
}

impl Lengths {
    fn push(&mut self, text: &str) {
        let length = text.chars().count() as u64;
        self.min = if self.count == 0 {
            length
        } else {
            self.min.min(length)
        };
        self.max = self.max.max(length);
        self.total += length;
        self.count += 1;
    }

    fn finish(self) -> Option<LengthStats> {
        (self.count > 0).then(|| LengthStats {
            min: self.min,
            max: self.max,
            mean: self.total as f64 / self.count as f64,
        })
    }
}
