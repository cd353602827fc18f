//! Range of the dates and times of a column.

use serde::{Deserialize, Serialize};

use crate::data::column::numeric::Extreme;

/// Range of the dates or times of a column.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct TimeStats {
    /// How many values are dates or times.
    pub count: u64,
    /// Earliest, as the file writes it.
    pub min: String,
    /// Latest, as the file writes it.
    pub max: String,
    /// How many of them give a zone.
    pub zoned: u64,
    /// How they are written: directives of Python's `strptime`, `ISO 8601` where several of its spellings stand, or
    /// `Unix seconds` and `Unix milliseconds`.
    pub format: String,
    /// The most frequent difference between neighbours, in the order of the file.
    pub step: Option<TimeStep>,
    /// Values in each of 16 equal bins from the earliest to the latest; scaled from a sample unless `is_exact`.
    pub histogram: Vec<u64>,
    /// Whether the histogram counts all values.
    pub is_exact: bool,
}

/// The most frequent difference between neighbours.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct TimeStep {
    /// The difference (`1 h`, `-1 day`, `1 month`).
    pub step: String,
    /// Neighbours with this difference.
    pub count: u64,
    /// All neighbours.
    pub of: u64,
}

/// Dates and times as they are met.
#[derive(Clone, Debug, Default)]
pub struct Times {
    count: u64,
    zoned: u64,
    min: Option<(i64, String)>,
    max: Option<(i64, String)>,
}

impl Times {
    /// Takes in a moment by its microseconds since 1970.
    pub fn push(&mut self, micros: i64, zoned: bool, text: &str) -> Extreme {
        self.count += 1;
        self.zoned += u64::from(zoned);
        let is_min = self.min.as_ref().is_none_or(|(earliest, _)| micros < *earliest);
        let is_max = self.max.as_ref().is_none_or(|(latest, _)| micros > *latest);
        if is_min {
            self.min = Some((micros, text.trim().to_owned()));
        }
        if is_max {
            self.max = Some((micros, text.trim().to_owned()));
        }
        Extreme { is_min, is_max }
    }

    /// The range; `None` when there was no date.
    pub fn finish(self) -> Option<TimeStats> {
        Some(TimeStats {
            count: self.count,
            min: self.min?.1,
            max: self.max?.1,
            zoned: self.zoned,
            format: String::new(),
            step: None,
            histogram: Vec::new(),
            is_exact: true,
        })
    }
}
