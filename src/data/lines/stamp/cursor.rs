//! Reads the parts of a timestamp one after another.

use super::{Date, Zone};
use crate::calendar::{micros_of_fraction, seconds_of_day};

const MONTHS: [&[u8]; 12] = [
    b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec",
];
const WEEKDAYS: [&[u8]; 7] = [b"Mon", b"Tue", b"Wed", b"Thu", b"Fri", b"Sat", b"Sun"];

/// Bytes, and how far they are read.
pub(super) struct Cursor<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) at: usize,
}

impl Cursor<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    pub(super) fn take(&mut self, byte: u8) -> bool {
        let is_there = self.peek() == Some(byte);
        self.at += usize::from(is_there);
        is_there
    }

    pub(super) fn take_text(&mut self, text: &[u8]) -> bool {
        let is_there = self.bytes[self.at..].starts_with(text);
        if is_there {
            self.at += text.len();
        }
        is_there
    }

    /// Exactly so many digits.
    pub(super) fn number(&mut self, digits: usize) -> Option<i64> {
        let text = self.bytes.get(self.at..self.at + digits)?;
        let mut value = 0;
        for byte in text {
            if !byte.is_ascii_digit() {
                return None;
            }
            value = value * 10 + i64::from(byte - b'0');
        }
        self.at += digits;
        Some(value)
    }

    /// Whether the bytes go on as the same word or number.
    pub(super) fn in_word(&self) -> bool {
        self.peek()
            .is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            || (matches!(self.peek(), Some(b'.' | b'-' | b'/' | b':'))
                && self.bytes.get(self.at + 1).is_some_and(u8::is_ascii_digit))
    }

    fn named(&mut self, names: &[&[u8]]) -> Option<i64> {
        let text = self.bytes.get(self.at..self.at + 3)?;
        let position = names.iter().position(|name| *name == text)?;
        self.at += 3;
        i64::try_from(position + 1).ok()
    }

    /// The style of a date with its year, month and day; without a date the style `None`.
    pub(super) fn date(&mut self) -> Option<(Date, i64, i64, i64)> {
        let found = match self.peek()? {
            byte if byte.is_ascii_digit() => self.date_of_digits(),
            byte if byte.is_ascii_uppercase() => self.date_of_names(),
            _ => return None,
        };
        found.filter(|(_, _, month, day)| (1..=12).contains(month) && (1..=31).contains(day))
    }

    fn date_of_digits(&mut self) -> Option<(Date, i64, i64, i64)> {
        let digits = self.bytes[self.at..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        let first = self.number(digits.min(4))?;
        let sign = self.peek()?;
        match (digits, sign) {
            (4, b'-' | b'/' | b'.') => {
                self.at += 1;
                let month = self.number(2)?;
                let is_same = self.take(sign);
                let day = self.number(2).filter(|_| is_same)?;
                Some((Date::YearFirst(sign), first, month, day))
            }
            (1 | 2, b':') => {
                self.at = 0;
                Some((Date::None, 1970, 1, 1))
            }
            (1 | 2, b'/' | b'.' | b'-' | b' ') => {
                self.at += 1;
                if self.peek()?.is_ascii_uppercase() {
                    let month = self.named(&MONTHS)?;
                    let is_same = self.take(sign);
                    let year = self.number(4).filter(|_| is_same)?;
                    return Some((Date::DayName(sign), year, month, first));
                }
                self.date_of_short_numbers(first, digits, sign)
            }
            _ => None,
        }
    }

    fn date_of_short_numbers(
        &mut self,
        first: i64,
        digits: usize,
        sign: u8,
    ) -> Option<(Date, i64, i64, i64)> {
        let length = self.bytes[self.at..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        let second = self.number(length.clamp(1, 2))?;
        let is_same = self.take(sign);
        let before = self.at;
        if let Some(year) = self.number(4).filter(|_| is_same) {
            return match sign {
                b'.' | b'-' => Some((Date::DayFirst(sign), year, second, first)),
                b'/' if first > 12 => Some((Date::DayFirst(sign), year, second, first)),
                b'/' if second > 12 => Some((Date::MonthFirst, year, first, second)),
                b'/' => Some((Date::DayOrMonthFirst, year, first, second)),
                _ => None,
            };
        }
        self.at = before;
        let third = self
            .number(2)
            .filter(|_| is_same && sign == b'/' && digits == 2)?;
        Some((Date::ShortYearFirst, 2000 + first, second, third))
    }

    fn date_of_names(&mut self) -> Option<(Date, i64, i64, i64)> {
        let has_weekday = self.named(&WEEKDAYS).is_some();
        if has_weekday && self.take(b',') {
            let is_apart = self.take(b' ');
            let day = self.number(2).filter(|_| is_apart)?;
            let is_apart = self.take(b' ');
            let month = self.named(&MONTHS).filter(|_| is_apart)?;
            let is_apart = self.take(b' ');
            let year = self.number(4).filter(|_| is_apart)?;
            return Some((Date::WeekdayDayName, year, month, day));
        }
        if has_weekday && !self.take(b' ') {
            return None;
        }
        let month = self.named(&MONTHS)?;
        let is_apart = self.take(b' ');
        let is_padded = self.take(b' ');
        let day = if is_padded {
            self.number(1)
        } else {
            self.number(2).or_else(|| self.number(1))
        };
        let day = day.filter(|_| is_apart)?;
        let date = Date::NameDay {
            has_weekday,
            has_year: false,
        };
        // No year: months of one year compare among each other.
        Some((date, 1972, month, day))
    }

    /// Hours, minutes and seconds, as seconds.
    pub(super) fn clock(&mut self) -> Option<i64> {
        let hours = self.number(2)?;
        let is_apart = self.take(b':');
        let minutes = self.number(2).filter(|_| is_apart)?;
        let is_apart = self.take(b':');
        let seconds = self.number(2).filter(|_| is_apart)?;
        (hours < 24 && minutes < 60 && seconds <= 60).then(|| seconds_of_day(hours, minutes, seconds))
    }

    /// The sign before a fraction of a second, its microseconds, and whether it has more digits than those.
    pub(super) fn fraction(&mut self) -> (u8, i64, bool) {
        let Some(sign @ (b'.' | b',')) = self.peek() else {
            return (0, 0, false);
        };
        let digits = self.bytes[self.at + 1..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        if digits == 0 || digits > 9 {
            return (0, 0, false);
        }
        let text = &self.bytes[self.at + 1..=self.at + digits];
        self.at += 1 + digits;
        (sign, micros_of_fraction(text), digits > 6)
    }

    /// The zone and its offset in seconds.
    pub(super) fn zone(&mut self) -> (Zone, i64) {
        let before = self.at;
        if self.take(b'Z') {
            return (Zone::Utc, 0);
        }
        let after_blank = self.take(b' ');
        if after_blank {
            for name in ["UTC", "GMT"] {
                if self.take_text(name.as_bytes()) && !self.in_word() {
                    return (Zone::Name, 0);
                }
            }
        }
        if let Some(sign @ (b'+' | b'-')) = self.peek() {
            self.at += 1;
            let hours = self.number(2);
            let has_colon = self.take(b':');
            let minutes = self.number(2);
            if let (Some(hours), Some(minutes), false) =
                (hours, minutes, self.in_word() || (after_blank && has_colon))
            {
                let offset = seconds_of_day(hours, minutes, 0);
                return (
                    Zone::Offset { after_blank },
                    if sign == b'-' { -offset } else { offset },
                );
            }
        }
        self.at = before;
        (Zone::None, 0)
    }
}
