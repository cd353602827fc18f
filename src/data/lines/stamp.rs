//! Timestamps as logs write them, with their format for Python's `strptime`.

mod cursor;

use std::fmt::Write as _;

use cursor::Cursor;

use crate::calendar::{MICROS_PER_SECOND, SECONDS_PER_DAY, days};

/// How a date is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Date {
    None,
    /// `2026-01-31`, with this separator.
    YearFirst(u8),
    /// `26/01/31`.
    ShortYearFirst,
    /// `31.01.2026`, with this separator.
    DayFirst(u8),
    /// `01/31/2026`.
    MonthFirst,
    /// `01/02/2026`: day and month are ambiguous.
    DayOrMonthFirst,
    /// `31/Jan/2026`, with this separator.
    DayName(u8),
    /// `Jan 31`, the year after the time or nowhere.
    NameDay {
        has_weekday: bool,
        has_year: bool,
    },
    /// `Sat, 31 Jan 2026`.
    WeekdayDayName,
}

/// How a time zone is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Zone {
    None,
    Utc,
    Offset { after_blank: bool },
    Name,
}

/// How a timestamp is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Format {
    date: Date,
    between: &'static str,
    has_clock: bool,
    /// The sign before the fraction of a second; 0 where there is none.
    fraction: u8,
    /// Digits of the fraction beyond the six that Python reads.
    is_finer_than_micros: bool,
    zone: Zone,
    epoch: Option<Epoch>,
}

/// Unit of a number since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Epoch {
    Seconds,
    Millis,
}

/// A timestamp at the start of some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    /// Its length, bytes.
    pub length: usize,
    /// How it is written.
    pub format: Format,
    /// Its moment in microseconds, comparable with others of its format; `None` where day and month are in doubt.
    pub micros: Option<i64>,
}

impl Format {
    /// The format in the words of `strptime` (`%Y-%m-%dT%H:%M:%S`).
    pub(crate) fn in_words(self) -> String {
        if let Some(epoch) = self.epoch {
            let unit = if epoch == Epoch::Seconds {
                "seconds"
            } else {
                "milliseconds"
            };
            return format!("{unit} since 1970");
        }
        let date = match self.date {
            Date::None => String::new(),
            Date::YearFirst(sign) => format!("%Y{0}%m{0}%d", char::from(sign)),
            Date::ShortYearFirst => "%y/%m/%d".to_owned(),
            Date::DayFirst(sign) => format!("%d{0}%m{0}%Y", char::from(sign)),
            Date::MonthFirst => "%m/%d/%Y".to_owned(),
            Date::DayOrMonthFirst => "%m/%d/%Y or %d/%m/%Y".to_owned(),
            Date::DayName(sign) => format!("%d{0}%b{0}%Y", char::from(sign)),
            Date::NameDay {
                has_weekday: true, ..
            } => "%a %b %d".to_owned(),
            Date::NameDay { .. } => "%b %d".to_owned(),
            Date::WeekdayDayName => "%a, %d %b %Y".to_owned(),
        };
        let mut words = format!("{date}{}", self.between);
        if self.has_clock {
            words.push_str("%H:%M:%S");
        }
        if self.fraction != 0 {
            let _ = write!(words, "{}%f", char::from(self.fraction));
        }
        words.push_str(match self.zone {
            Zone::None => "",
            Zone::Utc => "Z",
            Zone::Offset { after_blank: true } => " %z",
            Zone::Offset { .. } => "%z",
            Zone::Name => " %Z",
        });
        if matches!(self.date, Date::NameDay { has_year: true, .. }) {
            words.push_str(" %Y");
        }
        if self.is_finer_than_micros {
            words.push_str(" with more than 6 digits of a second");
        }
        words
    }
}

/// The timestamp with which `bytes` start, if it is certain to be one.
pub(crate) fn stamp(bytes: &[u8]) -> Option<Stamp> {
    let mut cursor = Cursor { bytes, at: 0 };
    let (mut date, mut year, month, day) = cursor.date()?;
    let (between, clock) = if date == Date::None {
        ("", Some(cursor.clock()?))
    } else {
        clock_after_date(&mut cursor)
    };
    let is_whole_with_clock_only = matches!(
        date,
        Date::NameDay { .. } | Date::WeekdayDayName | Date::ShortYearFirst
    );
    // Such a date is too short to be certain without a clock behind it.
    if clock.is_none() && is_whole_with_clock_only {
        return None;
    }
    let (fraction, micros, is_finer) = clock.map_or((0, 0, false), |_| cursor.fraction());
    let (zone, offset) = clock.map_or((Zone::None, 0), |_| cursor.zone());
    if let Date::NameDay { has_weekday, .. } = date
        && let Some(found) = year_after_clock(&mut cursor)
    {
        let has_year = true;
        (year, date) = (
            found,
            Date::NameDay {
                has_weekday,
                has_year,
            },
        );
    }
    if cursor.in_word() {
        return None;
    }
    let seconds = days(year, month, day) * SECONDS_PER_DAY + clock.unwrap_or(0) - offset;
    Some(Stamp {
        length: cursor.at,
        format: Format {
            date,
            between,
            has_clock: clock.is_some(),
            fraction,
            is_finer_than_micros: is_finer,
            zone,
            epoch: None,
        },
        micros: (date != Date::DayOrMonthFirst).then_some(seconds * MICROS_PER_SECOND + micros),
    })
}

/// What stands between a date and its clock, and the clock in seconds; where none follows, nothing is read.
fn clock_after_date(cursor: &mut Cursor<'_>) -> (&'static str, Option<i64>) {
    let before = cursor.at;
    for between in [", ", "T", " ", ":"] {
        if cursor.take_text(between.as_bytes()) {
            if let Some(clock) = cursor.clock() {
                return (between, Some(clock));
            }
            cursor.at = before;
        }
    }
    ("", None)
}

/// The year behind a clock (`Jun 09 06:07:04 2005`); where none follows, nothing is read.
fn year_after_clock(cursor: &mut Cursor<'_>) -> Option<i64> {
    let before = cursor.at;
    let found = if cursor.take(b' ') { cursor.number(4) } else { None };
    let year = found.filter(|found| (1900..2200).contains(found) && !cursor.in_word());
    if year.is_none() {
        cursor.at = before;
    }
    year
}

/// A number of 10 or 13 digits that is a moment between 2001 and 2033, in seconds or milliseconds.
pub(crate) fn epoch(bytes: &[u8]) -> Option<Stamp> {
    let digits = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (epoch, unit) = match digits {
        10 => (Epoch::Seconds, MICROS_PER_SECOND),
        13 => (Epoch::Millis, MICROS_PER_SECOND / 1_000),
        _ => return None,
    };
    let mut cursor = Cursor { bytes, at: 0 };
    let value = cursor.number(digits)? * unit;
    let (fraction, micros, _) = if epoch == Epoch::Seconds {
        cursor.fraction()
    } else {
        (0, 0, false)
    };
    if cursor.in_word()
        || fraction == b','
        // Ten digits are many things; a plausible time makes a moment likely.
        || !(1_000_000_000..2_000_000_000).contains(&(value / MICROS_PER_SECOND))
    {
        return None;
    }
    Some(Stamp {
        length: cursor.at,
        format: Format {
            date: Date::None,
            between: "",
            has_clock: false,
            fraction,
            is_finer_than_micros: false,
            zone: Zone::None,
            epoch: Some(epoch),
        },
        micros: Some(value + micros),
    })
}

#[cfg(test)]
mod tests;
