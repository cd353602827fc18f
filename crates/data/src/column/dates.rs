//! Dates and times in other spellings than ISO 8601, and whole numbers that look like moments. The type of such a column
//! stays what a reader of the file gives it; this is a hint beside it.

use jiff::fmt::rfc2822;

use crate::calendar::strptime::{self, Moment};
use crate::calendar::{MICROS_PER_DAY, MICROS_PER_SECOND, date_of, days_of};
use crate::column::temporal::{RFC_2822, TimeStats, Times};

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
/// Months without a day.
const MONTHS: [&str; 5] = ["%b %Y", "%B %Y", "%m/%Y", "%Y-%m", "%Y/%m"];
const LONGEST: usize = 32;
/// Texts in the form of dates that are none, from which a column of such texts alone holds no dates.
const MOST_IMPOSSIBLE: u64 = 3;
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
    /// Dates, each in some format, and no format fits them all.
    Contradicting,
}

/// The formats that all texts of a column have had so far, but for those that have the form of dates and are none.
#[derive(Clone, Debug)]
pub(super) struct TextDates {
    formats: Vec<(String, Times)>,
    /// The first text with its digits and letters left out.
    form: String,
    impossible: u64,
    is_contradicting: bool,
    limit: usize,
    seed: u64,
}

impl TextDates {
    /// The formats of a first text; `None` where it is neither date nor time.
    pub(super) fn of(text: &str, limit: usize, seed: u64) -> Option<Self> {
        let mut found = Self {
            formats: Vec::new(),
            form: form(text.trim()),
            impossible: 0,
            is_contradicting: false,
            limit,
            seed,
        };
        found.push(text).then_some(found)
    }

    /// Takes in a text; false where no format fits any more.
    pub(super) fn push(&mut self, text: &str) -> bool {
        let text = text.trim();
        let parsed: Vec<_> = self
            .formats
            .iter()
            .map(|(format, _)| parse(format, text))
            .collect();
        if parsed.iter().all(Option::is_none) {
            return self.push_foreign(text);
        }
        let mut parsed = parsed.into_iter();
        self.formats
            .retain_mut(|(_, times)| match parsed.next().flatten() {
                Some(moment) => {
                    times.push_moment(moment, text);
                    true
                }
                None => false,
            });
        true
    }

    /// Takes in a text that has none of the formats: the first one, one that no format fits, or one in another format.
    fn push_foreign(&mut self, text: &str) -> bool {
        let formats = formats_of(text);
        if formats.is_empty() {
            self.impossible += 1;
            let has_dates = self.is_contradicting || !self.formats.is_empty();
            return is_form_of_date(&self.form)
                && form(text) == self.form
                && (has_dates || self.impossible <= MOST_IMPOSSIBLE);
        }
        if self.is_contradicting {
            return true;
        }
        if !self.formats.is_empty() {
            self.formats.clear();
            self.is_contradicting = form(text) == self.form && is_form_of_date(&self.form);
            return self.is_contradicting;
        }
        self.formats = formats
            .into_iter()
            .map(|format| (format, Times::new(self.limit, self.seed)))
            .collect();
        self.push(text)
    }

    /// Texts that have the form of its dates and are none.
    pub(super) const fn impossible(&self) -> u64 {
        self.impossible
    }

    /// The dates that the column seems to hold.
    pub(super) fn finish(self) -> InferredDates {
        if self.is_contradicting {
            return InferredDates::Contradicting;
        }
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

/// All formats that fit a text.
fn formats_of(text: &str) -> Vec<String> {
    // Cheap tests first: each format is tried.
    let is_plausible = text.len() <= LONGEST
        && text.len() >= 4
        && text.is_ascii()
        && text.bytes().filter(u8::is_ascii_digit).count() >= 3;
    if !is_plausible {
        return Vec::new();
    }
    DATES
        .iter()
        .flat_map(|date| CLOCKS.iter().map(move |clock| format!("{date}{clock}")))
        .chain(TIMES.iter().chain(&MONTHS).map(|format| (*format).to_owned()))
        .chain([RFC_2822.to_owned()])
        .filter(|format| parse(format, text).is_some())
        .collect()
}

/// Returns the form of a text: each run of digits or of letters becomes one sign, and everything else stays.
fn form(text: &str) -> String {
    let mut form = String::new();
    for character in text.chars().take(LONGEST + 1) {
        let sign = match character {
            _ if character.is_ascii_digit() => '9',
            _ if character.is_alphabetic() => 'a',
            other => other,
        };
        let is_run = matches!(sign, '9' | 'a');
        if !is_run || !form.ends_with(sign) {
            form.push(sign);
        }
    }
    form
}

fn is_form_of_date(form: &str) -> bool {
    ["9.9.9", "9/9/9", "9-9-9", "9-a-9", "9 a 9", "a 9, 9"]
        .iter()
        .any(|date| {
            form.strip_prefix(date)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
        })
}

fn parse(format: &str, text: &str) -> Option<Moment> {
    if text.len() > LONGEST || !text.is_ascii() {
        return None;
    }
    if format == RFC_2822 {
        // Nothing shorter has a day, a month, a year, a time and a zone.
        let is_plausible = text.len() >= 20 && text.contains(':');
        let moment = is_plausible.then(|| rfc2822::DateTimeParser::new().parse_timestamp(text).ok())??;
        return Some(Moment {
            micros: moment.as_microsecond(),
            is_zoned: true,
        });
    }
    // Numbers of two parts are codes more often than months of other centuries.
    let is_month = MONTHS.contains(&format);
    let is_plausible =
        |found: &Moment| date_of(found.micros).is_some_and(|date| YEARS.contains(&date.year().into()));
    strptime::parse(format, text).filter(|found| !is_month || is_plausible(found))
}

/// Dates that the whole numbers of a column may mean, as long as every one of them may.
#[derive(Clone, Debug)]
pub(super) struct IntDates {
    compact: Option<Times>,
    seconds: Option<Times>,
    millis: Option<Times>,
}

impl IntDates {
    /// Starts with the meanings of a first number; `None` where it is no moment.
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
    let date = strptime::date(year, value / 100 % 100, value % 100).filter(|_| YEARS.contains(&year))?;
    Some(days_of(date) * MICROS_PER_DAY)
}

fn moment(seconds: i64) -> Option<i64> {
    SECONDS.contains(&seconds).then(|| seconds * MICROS_PER_SECOND)
}

#[cfg(test)]
mod tests;
