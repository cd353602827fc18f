//! Timestamps as logs write them, with their format for Python's `strptime`.

mod cursor;

use std::fmt::Write as _;

use cursor::Cursor;

const MICROS: i64 = 1_000_000;

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
    /// `01/02/2026`: day and month cannot be told apart.
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
pub struct Format {
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
pub struct Stamp {
    /// Its length, bytes.
    pub length: usize,
    /// How it is written.
    pub format: Format,
    /// Its moment in microseconds, comparable with others of its format; `None` where day and month are in doubt.
    pub micros: Option<i64>,
}

impl Format {
    /// The format in the words of `strptime` (`%Y-%m-%dT%H:%M:%S`).
    pub fn in_words(self) -> String {
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
pub fn stamp(bytes: &[u8]) -> Option<Stamp> {
    let mut cursor = Cursor { bytes, at: 0 };
    let (mut date, year, month, day) = cursor.date()?;
    let mut between = "";
    let mut clock = None;
    if date == Date::None {
        clock = Some(cursor.clock()?);
    } else {
        let before = cursor.at;
        for (text, shown) in [(", ", ", "), ("T", "T"), (" ", " "), (":", ":")] {
            if cursor.take_text(text.as_bytes()) {
                clock = cursor.clock();
                if clock.is_some() {
                    between = shown;
                    break;
                }
                cursor.at = before;
            }
        }
    }
    if clock.is_none()
        && matches!(
            date,
            Date::NameDay { .. } | Date::WeekdayDayName | Date::ShortYearFirst
        )
    {
        return None;
    }
    let (fraction, micros, is_finer) = clock.map_or((0, 0, false), |_| cursor.fraction());
    let (zone, offset) = clock.map_or((Zone::None, 0), |_| cursor.zone());
    let mut year = year;
    if let Date::NameDay { has_weekday, .. } = date {
        let before = cursor.at;
        let found = if cursor.take(b' ') { cursor.number(4) } else { None };
        match found.filter(|found| (1900..2200).contains(found) && !cursor.in_word()) {
            Some(found) => {
                year = found;
                date = Date::NameDay {
                    has_weekday,
                    has_year: true,
                };
            }
            None => cursor.at = before,
        }
    }
    if cursor.in_word() {
        return None;
    }
    let seconds = days(year, month, day) * 86_400 + clock.unwrap_or(0) - offset;
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
        micros: (date != Date::DayOrMonthFirst).then_some(seconds * MICROS + micros),
    })
}

/// A number of 10 or 13 digits that is a moment between 2001 and 2033, in seconds or milliseconds.
pub fn epoch(bytes: &[u8]) -> Option<Stamp> {
    let digits = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (epoch, unit) = match digits {
        10 => (Epoch::Seconds, MICROS),
        13 => (Epoch::Millis, MICROS / 1_000),
        _ => return None,
    };
    let mut cursor = Cursor { bytes, at: 0 };
    let value = cursor.number(digits)? * unit;
    let (fraction, micros, _) = if epoch == Epoch::Seconds {
        cursor.fraction()
    } else {
        (0, 0, false)
    };
    if cursor.in_word() || fraction == b',' || !(1_000_000_000..2_000_000_000).contains(&(value / MICROS)) {
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

/// Days since 1970 of a date of the Gregorian calendar.
const fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests;
