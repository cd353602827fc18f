//! Dates and times in other spellings than ISO 8601, and whole numbers that look like moments. The type of such a column
//! stays what a reader of the file gives it; this is a hint beside it.

use jiff::civil;
use jiff::fmt::strtime;

use crate::calendar::{MICROS_PER_DAY, MICROS_PER_SECOND, date_of, days_of, seconds_of_day};
use crate::column::temporal::{TimeStats, Times};

const DATES: [&str; 16] = [
    "%d.%m.%Y",
    "%d/%m/%Y",
    "%m/%d/%Y",
    "%Y/%m/%d",
    "%d-%m-%Y",
    "%m-%d-%Y",
    "%Y.%m.%d",
    "%d %b %Y",
    "%b %d, %Y",
    "%d-%b-%Y",
    "%d %B %Y",
    "%B %d, %Y",
    "%d.%m.%y",
    "%d/%m/%y",
    "%m/%d/%y",
    "%d-%b-%y",
];
const CLOCKS: [&str; 5] = ["", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p"];
const TIMES: [&str; 5] = ["%H:%M", "%H:%M:%S", "%H.%M.%S", "%I:%M %p", "%I:%M:%S %p"];
const LONGEST: usize = 32;
/// Years that whole numbers may mean.
const YEARS: std::ops::RangeInclusive<i64> = 1900..=2100;
/// 1990 to 2032 as Unix seconds; above lie the telephone numbers of ten digits.
const SECONDS: std::ops::RangeInclusive<i64> = 631_152_000..=1_988_150_399;
/// Whole numbers from which a column is long enough to be taken for dates, and for Unix time.
const FEWEST_DATES: u64 = 3;
const FEWEST_MOMENTS: u64 = 10;

/// The dates that a column seems to hold.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum InferredDates {
    /// No dates.
    Nothing,
    /// Dates or times.
    Times(Box<TimeStats>),
    /// Dates in one of these formats, and nothing decides.
    Either(String, String),
}

/// The formats that all texts of a column have had so far.
#[derive(Clone, Debug)]
pub(super) struct TextDates {
    formats: Vec<(String, Times)>,
}

impl TextDates {
    /// The formats of a first text; `None` where it is neither date nor time.
    pub(super) fn of(text: &str, limit: usize, seed: u64) -> Option<Self> {
        let text = text.trim();
        // Cheap tests first: each format is tried on each new text.
        let is_plausible = text.len() <= LONGEST
            && text.len() >= 4
            && text.is_ascii()
            && text.bytes().filter(u8::is_ascii_digit).count() >= 3;
        if !is_plausible {
            return None;
        }
        let dates = DATES
            .iter()
            .flat_map(|date| CLOCKS.iter().map(move |clock| format!("{date}{clock}")));
        let formats: Vec<_> = dates
            .chain(TIMES.iter().map(|time| (*time).to_owned()))
            .filter(|format| parse(format, text).is_some())
            .map(|format| (format, Times::new(limit, seed)))
            .collect();
        let mut found = Self { formats };
        found.push(text).then_some(found)
    }

    /// Takes in a text; false where no format fits any more.
    pub(super) fn push(&mut self, text: &str) -> bool {
        let text = text.trim();
        self.formats
            .retain_mut(|(format, times)| match parse(format, text) {
                Some(micros) => {
                    times.push(micros, text);
                    true
                }
                None => false,
            });
        !self.formats.is_empty()
    }

    /// The dates that the column seems to hold.
    pub(super) fn finish(self) -> InferredDates {
        let mut formats = self.formats.into_iter();
        let Some((format, times)) = formats.next() else {
            return InferredDates::Nothing;
        };
        // Of a short and a full month name (both `May`) the first is as good as the second.
        let other = formats.find(|(other, _)| !other.contains("%B"));
        match other {
            Some((other, _)) => InferredDates::Either(format, other),
            None => times.finish(format).map_or(InferredDates::Nothing, |times| {
                InferredDates::Times(Box::new(times))
            }),
        }
    }
}

/// Microseconds since 1970 (of a time alone since midnight).
fn parse(format: &str, text: &str) -> Option<i64> {
    if text.len() > LONGEST || !text.is_ascii() {
        return None;
    }
    let longest_run = text
        .split(|character: char| !character.is_ascii_digit())
        .map(str::len)
        .max()?;
    // jiff reads years of any width, Python those of four digits; versions like 1.2.10 are no dates.
    let has_width = if format.contains("%Y") {
        longest_run == 4
    } else {
        longest_run == 2 && is_padded(text, format)
    };
    if !has_width {
        return None;
    }
    let parsed = strtime::parse(format, text).ok()?;
    let clock = |parsed: &strtime::BrokenDownTime| {
        let time = parsed.to_time().ok()?;
        let seconds = seconds_of_day(time.hour().into(), time.minute().into(), time.second().into());
        Some(seconds * MICROS_PER_SECOND)
    };
    if !format.contains("%d") {
        return clock(&parsed);
    }
    let day = days_of(parsed.to_date().ok()?) * MICROS_PER_DAY;
    if format.contains(':') {
        return Some(day + clock(&parsed)?);
    }
    Some(day)
}

/// Whether the parts have two digits each, in formats that versions like 1.2.10 would fit otherwise.
fn is_padded(text: &str, format: &str) -> bool {
    let first = |text: &str| text.split(' ').next().unwrap_or("").len();
    match format {
        "%H.%M.%S" => (7..=8).contains(&text.len()) && text.as_bytes()[text.len() - 6] == b'.',
        _ if format.contains("%y") => first(text) == if format.contains("%b") { 9 } else { 8 },
        _ => true,
    }
}

/// What the whole numbers of a column may mean, as long as every one of them may.
#[derive(Clone, Debug)]
pub(super) struct IntDates {
    compact: Option<Times>,
    seconds: Option<Times>,
    millis: Option<Times>,
}

impl IntDates {
    /// What a first number may mean; `None` where it is no moment.
    pub(super) fn of(value: i64, text: &str, limit: usize, seed: u64) -> Option<Self> {
        let times = || Some(Times::new(limit, seed));
        let mut found = Self {
            compact: compact_date(value).and_then(|_| times()),
            seconds: moment(value).and_then(|_| times()),
            millis: moment(value / 1000).and_then(|_| times()),
        };
        found.push(value, text).then_some(found)
    }

    /// Takes in a number; false where it is none of them.
    pub(super) fn push(&mut self, value: i64, text: &str) -> bool {
        push_or_end(&mut self.compact, compact_date(value), text.trim());
        push_or_end(&mut self.seconds, moment(value), "");
        push_or_end(
            &mut self.millis,
            moment(value / 1000).and(value.checked_mul(1000)),
            "",
        );
        self.compact.is_some() || self.seconds.is_some() || self.millis.is_some()
    }

    /// The dates that a column of `values` numbers seems to hold.
    pub(super) fn finish(self, values: u64) -> Option<TimeStats> {
        // `20251231` is a date before it is a moment in 1970.
        if let Some(times) = self.compact.filter(|_| values >= FEWEST_DATES) {
            return times.finish("%Y%m%d".to_owned());
        }
        let units = [
            (self.seconds, 1_000_000, "Unix seconds"),
            (self.millis, 1_000, "Unix milliseconds"),
        ];
        let (times, unit, format) = units
            .into_iter()
            .find_map(|(times, unit, format)| Some((times?, unit, format)))?;
        let (min, max) = times.range()?;
        // Consecutive identifiers near today's Unix time look like moments; moments are spread further than one per second.
        let is_sequence = (max - min) / unit < i64::try_from(values).unwrap_or(i64::MAX);
        if values < FEWEST_MOMENTS || is_sequence {
            return None;
        }
        let day = |micros| date_of(micros).map_or(String::new(), |date| date.to_string());
        let mut stats = times.finish(format.to_owned())?;
        (stats.min, stats.max) = (day(min), day(max));
        Some(stats)
    }
}

fn push_or_end(times: &mut Option<Times>, micros: Option<i64>, text: &str) {
    match (times.as_mut(), micros) {
        (Some(times), Some(micros)) => {
            times.push(micros, text);
        }
        _ => *times = None,
    }
}

/// Microseconds of `20251231`.
fn compact_date(value: i64) -> Option<i64> {
    let year = value / 10_000;
    if !YEARS.contains(&year) {
        return None;
    }
    let part = |value: i64| i8::try_from(value % 100).ok();
    let date = civil::Date::new(i16::try_from(year).ok()?, part(value / 100)?, part(value)?).ok()?;
    Some(days_of(date) * MICROS_PER_DAY)
}

fn moment(seconds: i64) -> Option<i64> {
    SECONDS.contains(&seconds).then(|| seconds * MICROS_PER_SECOND)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn infer(values: &[&str]) -> InferredDates {
        let Some(mut dates) = TextDates::of(values[0], 100, 0) else {
            return InferredDates::Nothing;
        };
        if values[1..].iter().all(|value| dates.push(value)) {
            dates.finish()
        } else {
            InferredDates::Nothing
        }
    }

    #[rstest]
    #[case(&["31.12.2025", "01.02.2024"], "%d.%m.%Y", "01.02.2024", "31.12.2025")]
    #[case(&["31/12/2025", "01/02/2024"], "%d/%m/%Y", "01/02/2024", "31/12/2025")]
    #[case(&["01/02/2024", "12/31/2025"], "%m/%d/%Y", "01/02/2024", "12/31/2025")]
    #[case(&["2025/12/31", "2024/01/02"], "%Y/%m/%d", "2024/01/02", "2025/12/31")]
    #[case(&["31-12-2025"], "%d-%m-%Y", "31-12-2025", "31-12-2025")]
    #[case(&["31 Dec 2025", "1 Feb 2024"], "%d %b %Y", "1 Feb 2024", "31 Dec 2025")]
    #[case(&["Dec 31, 2025", "May 1, 2024"], "%b %d, %Y", "May 1, 2024", "Dec 31, 2025")]
    #[case(&["May 1, 2024", "June 2, 2024"], "%B %d, %Y", "May 1, 2024", "June 2, 2024")]
    #[case(&["May 1, 2024"], "%b %d, %Y", "May 1, 2024", "May 1, 2024")]
    #[case(&["31-Dec-2025"], "%d-%b-%Y", "31-Dec-2025", "31-Dec-2025")]
    #[case(&["31.12.25"], "%d.%m.%y", "31.12.25", "31.12.25")]
    #[case(&["31.12.2025 14:05", "01.01.2025 00:00"], "%d.%m.%Y %H:%M", "01.01.2025 00:00", "31.12.2025 14:05")]
    #[case(&["12/31/2025 2:05 PM", "12/31/2025 2:05 AM"], "%m/%d/%Y %I:%M %p", "12/31/2025 2:05 AM", "12/31/2025 2:05 PM")]
    #[case(&["14:05", "9:30"], "%H:%M", "9:30", "14:05")]
    #[case(&["14:05:33"], "%H:%M:%S", "14:05:33", "14:05:33")]
    #[case(&["18.00.00", "9.30.00"], "%H.%M.%S", "9.30.00", "18.00.00")]
    fn dates_are_recognized_by_the_format_that_fits_every_value(
        #[case] values: &[&str],
        #[case] format: &str,
        #[case] min: &str,
        #[case] max: &str,
    ) {
        let InferredDates::Times(times) = infer(values) else {
            panic!("{:?}", infer(values))
        };
        assert_eq!(
            (times.format.as_str(), times.min.as_str(), times.max.as_str()),
            (format, min, max)
        );
    }

    #[rstest]
    #[case(&["01/02/2025", "03/04/2025"], "%d/%m/%Y", "%m/%d/%Y")]
    #[case(&["01-02-2025 10:00", "03-04-2025 11:00"], "%d-%m-%Y %H:%M", "%m-%d-%Y %H:%M")]
    fn ambiguous_dates_are_reported_with_both_formats(
        #[case] values: &[&str],
        #[case] format: &str,
        #[case] other: &str,
    ) {
        assert_eq!(
            infer(values),
            InferredDates::Either(format.to_owned(), other.to_owned())
        );
    }

    #[rstest]
    #[case(&["31/12/2025", "12/31/2025"])]
    #[case(&["32.12.2025"])]
    #[case(&["31.02.2025"])]
    #[case(&["1.2.10", "1.3.11"])]
    #[case(&["10.0.0.1"])]
    #[case(&["24:05"])]
    #[case(&["Widget 2025"])]
    #[case(&["31.12.02025"])]
    fn other_texts_are_no_dates(#[case] values: &[&str]) {
        assert_eq!(infer(values), InferredDates::Nothing);
    }

    fn ints(values: impl Iterator<Item = i64>) -> Option<TimeStats> {
        let values: Vec<_> = values.collect();
        let mut dates = IntDates::of(values[0], &values[0].to_string(), 100, 0)?;
        for value in &values[1..] {
            if !dates.push(*value, &value.to_string()) {
                return None;
            }
        }
        dates.finish(values.len() as u64)
    }

    #[test]
    fn whole_numbers_that_are_all_dates_look_like_dates() {
        let found = ints([20_251_231, 20_260_101, 20_260_102].into_iter()).unwrap();
        assert_eq!(
            (found.format.as_str(), found.min.as_str()),
            ("%Y%m%d", "20251231")
        );
        assert_eq!(found.step.unwrap().step, "1 day");
        assert_eq!(ints([20_251_231, 20_260_101, 20_261_301].into_iter()), None);
    }

    #[test]
    fn whole_numbers_may_look_like_unix_time() {
        let hours = |unit: i64| (0..20).map(move |hour| (1_735_689_600 + hour * 86_400) * unit);
        for (unit, format) in [(1, "Unix seconds"), (1000, "Unix milliseconds")] {
            let found = ints(hours(unit)).unwrap();
            assert_eq!(
                (found.format.as_str(), found.min.as_str(), found.max.as_str()),
                (format, "2025-01-01", "2025-01-20")
            );
        }
        assert_eq!(ints(hours(1).take(5)), None, "too few");
        assert_eq!(ints(1_000_000_001..1_000_000_100), None, "numbers in sequence");
        assert_eq!(ints((0..20).map(|number| 100 + number)), None);
        assert_eq!(
            ints((0..20).map(|number| 2_025_550_100 + number * 31)),
            None,
            "telephone numbers"
        );
    }
}
