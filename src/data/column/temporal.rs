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
        })
    }
}
