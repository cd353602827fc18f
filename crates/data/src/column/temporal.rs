//! Range, step and spelling of the dates and times of a column.

use jiff::civil;
use serde::{Deserialize, Serialize};

use crate::calendar::strptime::Moment;
use crate::calendar::{MICROS_PER_DAY, date_of};
use crate::column::numeric::Extreme;
use crate::column::quantiles::Reservoir;

/// Name of the format where several spellings of ISO 8601 stand.
pub(crate) const ISO: &str = "ISO 8601";
/// Name of the format of dates in mails and HTTP.
pub(crate) const RFC_2822: &str = "RFC 2822";
/// Differences that are counted; further ones are not reported.
const COUNTED_STEPS: usize = 32;

/// Range of the dates or times of a column.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct TimeStats {
    /// Values that are dates or times.
    pub count: u64,
    /// Earliest, as the file writes it.
    pub min: String,
    /// Latest, as the file writes it.
    pub max: String,
    /// Values among them that give a zone.
    pub zoned: u64,
    /// Format of the values: directives of Python's `strptime`, `ISO 8601` where several of its spellings stand, `RFC 2822`, or
    /// `Unix seconds` and `Unix milliseconds` (there `min` and `max` are ISO 8601).
    pub format: String,
    /// The most frequent difference between neighbours that differ, in the order of the file; `None` unless more than
    /// half of them have it.
    pub step: Option<TimeStep>,
    /// Values in each of 16 equal bins from the earliest to the latest; scaled from a sample unless `is_exact`.
    pub histogram: Vec<u64>,
    /// True where the histogram counts all values.
    pub is_exact: bool,
}

/// The most frequent difference between neighbours that differ.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct TimeStep {
    /// The difference (`1 h`, `-1 day`, `1 month`).
    pub step: String,
    /// Neighbours with this difference.
    pub count: u64,
    /// All neighbours that differ.
    pub of: u64,
    /// Neighbours that are equal.
    pub equal: u64,
}

impl TimeStats {
    /// Reports whether nanoseconds in 64 bits, the only resolution that Pandera coerces to, hold every value.
    pub(crate) fn fits_nanoseconds(&self) -> bool {
        let year = |text: &str| text.get(..4).and_then(|year| year.parse::<u16>().ok());
        let fits = |text: &str| year(text).is_some_and(|year| (1678..=2261).contains(&year));
        fits(&self.min) && fits(&self.max)
    }
}

/// Dates and times as they are met.
#[derive(Clone, Debug)]
pub(crate) struct Times {
    count: u64,
    zoned: u64,
    min: Option<(i64, String)>,
    max: Option<(i64, String)>,
    spelling: Spelling,
    steps: Steps,
    reservoir: Reservoir,
}

/// Spelling of ISO 8601.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spelling {
    Unseen,
    One {
        separator: Option<u8>,
        has_seconds: bool,
        has_fraction: bool,
        has_zone: bool,
    },
    Several,
}

impl Times {
    /// Keeps at most `limit` moments for the histogram.
    pub(crate) fn new(limit: usize, seed: u64) -> Self {
        Self {
            count: 0,
            zoned: 0,
            min: None,
            max: None,
            spelling: Spelling::Unseen,
            steps: Steps::default(),
            reservoir: Reservoir::new(limit, seed),
        }
    }

    /// Takes in a moment in ISO 8601 by its microseconds since 1970.
    pub(crate) fn push_iso(&mut self, micros: i64, zoned: bool, text: &str) -> Extreme {
        self.zoned += u64::from(zoned);
        let text = text.trim();
        let spelling = Spelling::of(text, zoned);
        self.spelling = match self.spelling {
            Spelling::Unseen => spelling,
            known if known == spelling => known,
            _ => Spelling::Several,
        };
        self.push(micros, text)
    }

    /// Takes in a moment.
    pub(crate) fn push_moment(&mut self, moment: Moment, text: &str) {
        self.zoned += u64::from(moment.is_zoned);
        self.push(moment.micros, text);
    }

    /// Takes in a moment by its microseconds since 1970.
    pub(crate) fn push(&mut self, micros: i64, text: &str) -> Extreme {
        self.count += 1;
        self.steps.push(micros);
        self.reservoir.push(micros as f64);
        let is_min = self.min.as_ref().is_none_or(|(earliest, kept)| {
            micros < *earliest || (micros == *earliest && is_finer_before(text, kept))
        });
        let is_max = self.max.as_ref().is_none_or(|(latest, kept)| {
            micros > *latest || (micros == *latest && is_finer_before(kept, text))
        });
        if is_min {
            store(&mut self.min, micros, text);
        }
        if is_max {
            store(&mut self.max, micros, text);
        }
        Extreme { is_min, is_max }
    }

    /// Earliest and latest so far, microseconds.
    pub(crate) fn range(&self) -> Option<(i64, i64)> {
        Some((self.min.as_ref()?.0, self.max.as_ref()?.0))
    }

    /// Returns the statistics of moments in ISO 8601; `None` when there was none.
    pub(crate) fn finish_iso(self) -> Option<TimeStats> {
        let format = self.spelling.format();
        self.finish(format)
    }

    /// Returns the statistics of moments in `format`; `None` when there was none.
    pub(crate) fn finish(self, format: String) -> Option<TimeStats> {
        let (min, max) = (self.min?, self.max?);
        Some(TimeStats {
            count: self.count,
            zoned: self.zoned,
            format,
            step: self.steps.finish(),
            histogram: self.reservoir.histogram(min.0 as f64, max.0 as f64),
            is_exact: self.reservoir.is_exact(),
            min: min.1,
            max: max.1,
        })
    }
}

fn store(slot: &mut Option<(i64, String)>, micros: i64, text: &str) {
    match slot {
        Some((kept, spelling)) => {
            *kept = micros;
            spelling.clear();
            spelling.push_str(text);
        }
        None => *slot = Some((micros, text.to_owned())),
    }
}

impl Spelling {
    fn of(text: &str, zoned: bool) -> Self {
        let byte = |at: usize| text.as_bytes().get(at).copied();
        let has_seconds = byte(16) == Some(b':');
        Self::One {
            separator: byte(10),
            has_seconds,
            has_fraction: has_seconds && byte(19) == Some(b'.'),
            has_zone: zoned,
        }
    }

    fn format(self) -> String {
        let Self::One {
            separator,
            has_seconds,
            has_fraction,
            has_zone,
        } = self
        else {
            return ISO.to_owned();
        };
        let Some(separator) = separator else {
            return "%Y-%m-%d".to_owned();
        };
        let parts = [
            (true, "%H:%M"),
            (has_seconds, ":%S"),
            (has_fraction, ".%f"),
            (has_zone, "%z"),
        ];
        let clock: String = parts
            .into_iter()
            .filter(|(has, _)| *has)
            .map(|(_, part)| part)
            .collect();
        format!("%Y-%m-%d{}{clock}", char::from(separator))
    }
}

/// Differences between neighbours. Those that are counted are counted from their first appearance, so their counts are exact.
#[derive(Clone, Debug, Default)]
struct Steps {
    last: Option<i64>,
    equal: u64,
    differing: u64,
    counts: Vec<(i64, u64)>,
    /// Neighbours on the same day of two months, by the months between them.
    months: Vec<(i64, u64)>,
}

impl Steps {
    fn push(&mut self, micros: i64) {
        let Some(last) = self.last.replace(micros) else {
            return;
        };
        let step = micros.saturating_sub(last);
        if step == 0 {
            self.equal += 1;
            return;
        }
        self.differing += 1;
        count(&mut self.counts, step);
        if step.unsigned_abs() >= 28 * MICROS_PER_DAY.unsigned_abs()
            && let Some(months) = months_between(last, micros)
        {
            count(&mut self.months, months);
        }
    }

    fn finish(self) -> Option<TimeStep> {
        let most = |counts: &[(i64, u64)]| counts.iter().copied().max_by_key(|(step, count)| (*count, *step));
        let is_most = |found: &(i64, u64)| found.1 * 2 > self.differing && self.differing > 1;
        let plain = most(&self.counts).filter(is_most);
        let monthly = most(&self.months).filter(is_most);
        let (step, count) = match (plain, monthly) {
            (Some((_, count)), Some((months, monthly))) if monthly > count => (month_text(months), monthly),
            (None, Some((months, count))) => (month_text(months), count),
            (Some((step, count)), _) => (step_text(step), count),
            (None, None) => return None,
        };
        Some(TimeStep {
            step,
            count,
            of: self.differing,
            equal: self.equal,
        })
    }
}

fn count(counts: &mut Vec<(i64, u64)>, step: i64) {
    if let Some(position) = counts.iter().position(|(known, _)| *known == step) {
        counts[position].1 += 1;
        // The frequent ones come first.
        if position > 0 && counts[position].1 > counts[position - 1].1 {
            counts.swap(position, position - 1);
        }
    } else if counts.len() < COUNTED_STEPS {
        counts.push((step, 1));
    }
}

fn months_between(from: i64, to: i64) -> Option<i64> {
    let has_same_clock = from.rem_euclid(MICROS_PER_DAY) == to.rem_euclid(MICROS_PER_DAY);
    let (from, to) = (date_of(from)?, date_of(to)?);
    let is_end = |date: civil::Date| date.day() == date.days_in_month();
    let is_alike = from.day() == to.day() || (is_end(from) && is_end(to));
    let month = |date: civil::Date| i64::from(date.year()) * 12 + i64::from(date.month());
    (has_same_clock && is_alike).then(|| month(to) - month(from))
}

fn month_text(months: i64) -> String {
    if months % 12 == 0 {
        plural(months / 12, "year")
    } else {
        plural(months, "month")
    }
}

/// A difference in the largest unit that divides it.
fn step_text(micros: i64) -> String {
    let units = [(7 * MICROS_PER_DAY, "week"), (MICROS_PER_DAY, "day")];
    for (size, unit) in units {
        if micros % size == 0 {
            return plural(micros / size, unit);
        }
    }
    let units = [
        (3_600_000_000, "h"),
        (60_000_000, "min"),
        (1_000_000, "s"),
        (1_000, "ms"),
    ];
    let (size, unit) = units
        .into_iter()
        .find(|(size, _)| micros % size == 0)
        .unwrap_or((1, "µs"));
    format!("{} {unit}", micros / size)
}

fn plural(count: i64, unit: &str) -> String {
    let plural = if count.abs() == 1 { "" } else { "s" };
    format!("{count} {unit}{plural}")
}

/// Reports whether one of two moments of the same microsecond is before the other by its nanoseconds; both are written alike.
fn is_finer_before(one: &str, other: &str) -> bool {
    const TO_MICROSECONDS: usize = "2026-01-01T00:00:00.000000".len();
    one.len() > TO_MICROSECONDS && one.len() == other.len() && one < other
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::column::cell::Cell;

    fn stats(values: &[&str]) -> TimeStats {
        let mut times = Times::new(100, 0);
        for value in values {
            match Cell::of(value) {
                Cell::Date(days) => times.push_iso(days * MICROS_PER_DAY, false, value),
                Cell::Datetime { micros, zoned } => times.push_iso(micros, zoned, value),
                other => panic!("{other:?}"),
            };
        }
        times.finish_iso().unwrap()
    }

    #[test]
    fn the_range_of_nanoseconds_is_true_to_the_last_digit() {
        let found = stats(&[
            "2026-01-01T00:00:00.000000002Z",
            "2026-01-01T00:00:00.000000009Z",
            "2026-01-01T00:00:00.000000001Z",
        ]);
        assert!(
            found.min.ends_with("1Z") && found.max.ends_with("9Z"),
            "{found:?}"
        );
    }

    #[rstest]
    #[case(&["2026-01-01", "2026-01-02"], "%Y-%m-%d")]
    #[case(&["2026-01-01T10:00:00Z", "2026-01-02T10:00:00+01:00"], "%Y-%m-%dT%H:%M:%S%z")]
    #[case(&["2026-01-01 10:00"], "%Y-%m-%d %H:%M")]
    #[case(&["2026-01-01 10:00:00.25"], "%Y-%m-%d %H:%M:%S.%f")]
    #[case(&["2026-01-01", "2026-01-01 10:00"], "ISO 8601")]
    #[case(&["2026-01-01T10:00:00", "2026-01-01 10:00:00"], "ISO 8601")]
    #[case(&["2026-01-01T10:00:00", "2026-01-01T10:00:00Z"], "ISO 8601")]
    fn the_spelling_is_that_of_all_values(#[case] values: &[&str], #[case] format: &str) {
        assert_eq!(stats(values).format, format);
    }

    #[rstest]
    #[case(&["2026-01-01", "2026-01-02", "2026-01-03"], Some(("1 day", 2, 2, 0)))]
    #[case(&["2026-01-03", "2026-01-02", "2026-01-01"], Some(("-1 day", 2, 2, 0)))]
    #[case(&["2026-01-01T00:00", "2026-01-01T00:00", "2026-01-01T01:30", "2026-01-01T03:00"], Some(("90 min", 2, 2, 1)))]
    #[case(&["2026-01-01", "2026-02-01", "2026-03-01", "2026-04-01"], Some(("1 month", 3, 3, 0)))]
    #[case(&["2026-01-31", "2026-02-28", "2026-03-31"], Some(("1 month", 2, 2, 0)))]
    #[case(&["2020-01-01", "2021-01-01", "2022-01-01", "2024-01-01"], Some(("1 year", 2, 3, 0)))]
    #[case(&["2026-01-01", "2026-01-08", "2026-01-15", "2026-01-16"], Some(("1 week", 2, 3, 0)))]
    #[case(&["2026-01-01", "2026-01-02", "2026-01-04"], None)]
    #[case(&["2026-01-01", "2026-01-02"], None)]
    fn the_step_is_what_more_than_half_have(
        #[case] values: &[&str],
        #[case] expected: Option<(&str, u64, u64, u64)>,
    ) {
        let step = stats(values).step;
        let found = step
            .as_ref()
            .map(|step| (step.step.as_str(), step.count, step.of, step.equal));
        assert_eq!(found, expected);
    }
}
