//! Timestamps as logs write them, with their format for Python's `strptime`.

use crate::calendar::{MICROS_PER_SECOND, SECONDS_PER_DAY, days, micros_of_fraction, seconds_of_day};

const DAY_FIRST: &str = "%d/%m/%Y";
const MONTH_FIRST: &str = "%m/%d/%Y";
/// A date of these two, and nothing decides.
const EITHER: &str = "%m/%d/%Y or %d/%m/%Y";
const MONTHS: [&[u8]; 12] = [
    b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec",
];
const WEEKDAYS: [&[u8]; 7] = [b"Mon", b"Tue", b"Wed", b"Thu", b"Fri", b"Sat", b"Sun"];

/// Format of a timestamp: its parts in the words of `strptime`, in order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct StampFormat {
    date: &'static str,
    between: &'static str,
    clock: &'static str,
    fraction: &'static str,
    zone: &'static str,
    year: &'static str,
    more: &'static str,
}

/// A timestamp at the start of some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    /// Its length, bytes.
    pub length: usize,
    /// Its format.
    pub format: StampFormat,
    /// Its moment in microseconds, comparable with others of its format; `None` where day and month are in doubt.
    pub micros: Option<i64>,
}

impl StampFormat {
    /// The format in the words of `strptime` (`%Y-%m-%dT%H:%M:%S`).
    pub(crate) fn in_words(self) -> String {
        let Self {
            date,
            between,
            clock,
            fraction,
            zone,
            year,
            more,
        } = self;
        [date, between, clock, fraction, zone, year, more].concat()
    }
}

/// The timestamp with which `bytes` start, if it is certain to be one.
pub(crate) fn stamp(bytes: &[u8]) -> Option<Stamp> {
    let mut cursor = Cursor { bytes, at: 0 };
    let mut format = StampFormat::default();
    let (mut year, month, day) = cursor.date(&mut format)?;
    let clock = if format.date.is_empty() {
        Some(cursor.clock()?)
    } else {
        cursor.clock_after_date(&mut format)
    };
    // Such a date is too short to be certain without a clock behind it.
    if clock.is_none()
        && ["%a", "%b", "%y"]
            .iter()
            .any(|short| format.date.starts_with(short))
    {
        return None;
    }
    let (mut micros, mut offset) = (0, 0);
    if clock.is_some() {
        format.clock = "%H:%M:%S";
        micros = cursor.fraction(&mut format);
        offset = cursor.zone(&mut format);
    }
    if format.date.ends_with("%b %d")
        && let Some(found) = cursor.year_after_clock()
    {
        format.year = " %Y";
        year = found;
    }
    let seconds = days(year, month, day) * SECONDS_PER_DAY + clock.unwrap_or(0) - offset;
    (!cursor.in_word()).then(|| Stamp {
        length: cursor.at,
        format,
        micros: (format.date != EITHER).then_some(seconds * MICROS_PER_SECOND + micros),
    })
}

/// A number of 10 or 13 digits that is a moment between 2001 and 2033, in seconds or milliseconds.
pub(crate) fn epoch(bytes: &[u8]) -> Option<Stamp> {
    let digits = digits(bytes);
    let (words, unit) = match digits {
        10 => ("seconds since 1970", MICROS_PER_SECOND),
        13 => ("milliseconds since 1970", MICROS_PER_SECOND / 1_000),
        _ => return None,
    };
    let mut cursor = Cursor { bytes, at: 0 };
    let mut format = StampFormat::default();
    let value = cursor.number(digits, digits)? * unit;
    let micros = if digits == 10 {
        cursor.fraction(&mut format)
    } else {
        0
    };
    // Ten digits are many things; a plausible time makes a moment likely.
    let is_plausible = (1_000_000_000..2_000_000_000).contains(&(value / MICROS_PER_SECOND));
    (is_plausible && !cursor.in_word() && !format.fraction.starts_with(',')).then(|| Stamp {
        length: cursor.at,
        format: StampFormat {
            date: words,
            ..StampFormat::default()
        },
        micros: Some(value + micros),
    })
}

fn digits(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

/// Dates as `strptime` reads them, by the sign behind their first part, and whether that is a number. Of those that fit the first
/// counts.
const fn dates(sign: u8, is_number: bool) -> &'static [&'static str] {
    match (sign, is_number) {
        (b'-', true) => &["%Y-%m-%d", "%d-%b-%Y", "%d-%m-%Y"],
        (b'.', true) => &["%Y.%m.%d", "%d.%b.%Y", "%d.%m.%Y"],
        (b'/', true) => &["%Y/%m/%d", "%d/%b/%Y", DAY_FIRST, MONTH_FIRST, "%y/%m/%d"],
        (b' ', true) => &["%d %b %Y"],
        (b' ', false) => &["%a %b %d", "%b %d"],
        (b',', false) => &["%a, %d %b %Y"],
        _ => &[],
    }
}

/// Bytes, and how far they are read.
#[derive(Clone, Copy)]
struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Cursor<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn take(&mut self, text: &[u8]) -> bool {
        let is_there = self.bytes[self.at..].starts_with(text);
        if is_there {
            self.at += text.len();
        }
        is_there
    }

    /// Returns the result of a step; where it reads nothing, none of it is read.
    fn attempt<T>(&mut self, step: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        let before = *self;
        let found = step(self);
        if found.is_none() {
            *self = before;
        }
        found
    }

    /// A number of at least and at most so many digits.
    fn number(&mut self, least: usize, most: usize) -> Option<i64> {
        let length = digits(&self.bytes[self.at..]).min(most);
        let text = &self.bytes[self.at..self.at + length];
        self.at += length;
        let value = text
            .iter()
            .fold(0, |value, byte| value * 10 + i64::from(byte - b'0'));
        (length >= least).then_some(value)
    }

    /// Reports whether the bytes go on as the same word or number.
    fn in_word(&self) -> bool {
        self.peek()
            .is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            || (matches!(self.peek(), Some(b'.' | b'-' | b'/' | b':'))
                && self.bytes.get(self.at + 1).is_some_and(u8::is_ascii_digit))
    }

    fn named(&mut self, names: &[&[u8]]) -> Option<i64> {
        let position = names.iter().position(|name| self.take(name))?;
        i64::try_from(position + 1).ok()
    }

    /// Year, month and day, in the first format that fits; where a clock stands, no format.
    fn date(&mut self, format: &mut StampFormat) -> Option<(i64, i64, i64)> {
        let is_sign = |byte: &u8| !byte.is_ascii_alphanumeric();
        let sign = self.bytes.iter().position(is_sign).filter(|at| *at <= 4)?;
        let sign = self.bytes[sign];
        if sign == b':' {
            return Some((1972, 1, 1));
        }
        let start = *self;
        let dates = dates(sign, self.bytes[0].is_ascii_digit()).iter();
        let mut fitting = dates.filter_map(|date| {
            let mut cursor = start;
            Some((*date, cursor.date_as(date)?, cursor))
        });
        let (date, found, end) = fitting.next()?;
        *self = end;
        let is_either = date == DAY_FIRST && fitting.any(|(other, ..)| other == MONTH_FIRST);
        format.date = if is_either { EITHER } else { date };
        Some(found)
    }

    fn date_as(&mut self, format: &str) -> Option<(i64, i64, i64)> {
        // No year: months of one year compare among each other.
        let (mut year, mut month, mut day) = (1972, 1, 1);
        // What has its year first or a comma is padded by zeros.
        let least = if format.starts_with("%Y") || format.contains(',') {
            2
        } else {
            1
        };
        let mut signs = format.bytes();
        while let Some(sign) = signs.next() {
            if sign != b'%' {
                self.take(&[sign]).then_some(())?;
                continue;
            }
            match signs.next()? {
                b'Y' => year = self.number(4, 4)?,
                b'y' => year = 2000 + self.number(2, 2)?,
                b'm' => month = self.number(least, 2)?,
                b'b' => month = self.named(&MONTHS)?,
                b'a' => {
                    self.named(&WEEKDAYS)?;
                }
                // A day of one digit may have a blank before it.
                _ if least == 1 && self.take(b" ") => day = self.number(1, 1)?,
                _ => day = self.number(least, 2)?,
            }
        }
        ((1..=12).contains(&month) && (1..=31).contains(&day)).then_some((year, month, day))
    }

    /// Hours, minutes and seconds, as seconds.
    fn clock(&mut self) -> Option<i64> {
        let hours = self.number(2, 2)?;
        self.take(b":").then_some(())?;
        let minutes = self.number(2, 2)?;
        self.take(b":").then_some(())?;
        let seconds = self.number(2, 2)?;
        (hours < 24 && minutes < 60 && seconds <= 60).then(|| seconds_of_day(hours, minutes, seconds))
    }

    /// The clock behind a date in seconds; where none follows, nothing is read.
    fn clock_after_date(&mut self, format: &mut StampFormat) -> Option<i64> {
        [", ", "T", " ", ":"].into_iter().find_map(|between| {
            let clock = self.attempt(|cursor| {
                cursor.take(between.as_bytes()).then_some(())?;
                cursor.clock()
            })?;
            format.between = between;
            Some(clock)
        })
    }

    /// The year behind a clock (`Jun 09 06:07:04 2005`).
    fn year_after_clock(&mut self) -> Option<i64> {
        self.attempt(|cursor| {
            cursor.take(b" ").then_some(())?;
            let year = cursor.number(4, 4)?;
            ((1900..2200).contains(&year) && !cursor.in_word()).then_some(year)
        })
    }

    /// The microseconds of a fraction of a second.
    fn fraction(&mut self, format: &mut StampFormat) -> i64 {
        let Some(sign @ (b'.' | b',')) = self.peek() else {
            return 0;
        };
        let digits = digits(&self.bytes[self.at + 1..]);
        if digits == 0 || digits > 9 {
            return 0;
        }
        format.fraction = if sign == b'.' { ".%f" } else { ",%f" };
        if digits > 6 {
            format.more = " with more than 6 digits of a second";
        }
        let text = &self.bytes[self.at + 1..=self.at + digits];
        self.at += 1 + digits;
        micros_of_fraction(text)
    }

    /// The offset of a zone in seconds.
    fn zone(&mut self, format: &mut StampFormat) -> i64 {
        if self.take(b"Z") {
            format.zone = "Z";
            return 0;
        }
        let is_named = |cursor: &mut Self| {
            let is_zone = cursor.take(b" UTC") || cursor.take(b" GMT");
            (is_zone && !cursor.in_word()).then_some(0)
        };
        let found = self
            .attempt(is_named)
            .map(|offset| (" %Z", offset))
            .or_else(|| self.attempt(Self::offset));
        let (zone, offset) = found.unwrap_or_default();
        format.zone = zone;
        offset
    }

    fn offset(&mut self) -> Option<(&'static str, i64)> {
        let after_blank = self.take(b" ");
        let is_west = self.take(b"-");
        (is_west || self.take(b"+")).then_some(())?;
        let hours = self.number(2, 2)?;
        let has_colon = self.take(b":");
        let minutes = self.number(2, 2)?;
        let offset = seconds_of_day(hours, minutes, 0);
        if self.in_word() || (after_blank && has_colon) {
            return None;
        }
        let zone = if after_blank { " %z" } else { "%z" };
        Some((zone, if is_west { -offset } else { offset }))
    }
}

#[cfg(test)]
mod tests;
