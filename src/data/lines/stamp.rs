//! Timestamps as logs write them, with their format for Python's `strptime`.

use std::fmt::Write as _;

const MONTHS: [&[u8]; 12] = [
    b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec",
];
const WEEKDAYS: [&[u8]; 7] = [b"Mon", b"Tue", b"Wed", b"Thu", b"Fri", b"Sat", b"Sun"];
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

struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Cursor<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let is_there = self.peek() == Some(byte);
        self.at += usize::from(is_there);
        is_there
    }

    fn take_text(&mut self, text: &[u8]) -> bool {
        let is_there = self.bytes[self.at..].starts_with(text);
        if is_there {
            self.at += text.len();
        }
        is_there
    }

    /// Exactly so many digits.
    fn number(&mut self, digits: usize) -> Option<i64> {
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
    fn in_word(&self) -> bool {
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
    fn date(&mut self) -> Option<(Date, i64, i64, i64)> {
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
    fn clock(&mut self) -> Option<i64> {
        let hours = self.number(2)?;
        let is_apart = self.take(b':');
        let minutes = self.number(2).filter(|_| is_apart)?;
        let is_apart = self.take(b':');
        let seconds = self.number(2).filter(|_| is_apart)?;
        (hours < 24 && minutes < 60 && seconds <= 60).then_some(hours * 3_600 + minutes * 60 + seconds)
    }

    /// The sign before a fraction of a second, its microseconds, and whether it has more digits than those.
    fn fraction(&mut self) -> (u8, i64, bool) {
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
        let padded = text.iter().copied().chain(std::iter::repeat(b'0')).take(6);
        let micros = padded.fold(0, |value, byte| value * 10 + i64::from(byte - b'0'));
        self.at += 1 + digits;
        (sign, micros, digits > 6)
    }

    /// The zone and its offset in seconds.
    fn zone(&mut self) -> (Zone, i64) {
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
                let offset = hours * 3_600 + minutes * 60;
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

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("2026-01-01T00:00:00Z INFO", 20, "%Y-%m-%dT%H:%M:%SZ")]
    #[case("2026-01-01T00:00:00.123+01:00", 29, "%Y-%m-%dT%H:%M:%S.%f%z")]
    #[case("2026-01-01 00:00:00,123 x", 23, "%Y-%m-%d %H:%M:%S,%f")]
    #[case("2026/01/31 23:59:59 [error]", 19, "%Y/%m/%d %H:%M:%S")]
    #[case("2026-01-01 x", 10, "%Y-%m-%d")]
    #[case("10/Oct/2000:13:55:36 -0700]", 26, "%d/%b/%Y:%H:%M:%S %z")]
    #[case("Jun  9 06:06:20 combo", 15, "%b %d %H:%M:%S")]
    #[case("Jun 14 06:06:20 combo", 15, "%b %d %H:%M:%S")]
    #[case("Thu Jun 09 06:07:04 2005] x", 24, "%a %b %d %H:%M:%S %Y")]
    #[case("Sat, 31 Jan 2026 10:00:00 GMT", 29, "%a, %d %b %Y %H:%M:%S %Z")]
    #[case("17/06/09 20:10:40 INFO", 17, "%y/%m/%d %H:%M:%S")]
    #[case("31.12.2026 10:00:00", 19, "%d.%m.%Y %H:%M:%S")]
    #[case("12/31/2026 10:00:00", 19, "%m/%d/%Y %H:%M:%S")]
    #[case("01/02/2026 10:00:00", 19, "%m/%d/%Y or %d/%m/%Y %H:%M:%S")]
    #[case("10:00:00.5 x", 10, "%H:%M:%S.%f")]
    #[case(
        "2026-01-01T00:00:00.123456789Z",
        30,
        "%Y-%m-%dT%H:%M:%S.%fZ with more than 6 digits of a second"
    )]
    fn usual_timestamps_are_found_with_their_format(
        #[case] text: &str,
        #[case] length: usize,
        #[case] words: &str,
    ) {
        let found = stamp(text.as_bytes()).unwrap();
        assert_eq!((found.length, found.format.in_words().as_str()), (length, words));
    }

    #[rstest]
    #[case("2026-13-01")]
    #[case("2026-01-011")]
    #[case("1.2.3.4")]
    #[case("12/34")]
    #[case("2026")]
    #[case("May be")]
    #[case("10:00")]
    #[case("10:00:00:00")]
    #[case("25:00:00")]
    #[case("Mon")]
    #[case("17/06/09")]
    fn what_is_not_certain_is_no_timestamp(#[case] text: &str) {
        assert_eq!(stamp(text.as_bytes()), None);
    }

    #[test]
    fn zones_count_when_moments_are_compared() {
        let micros = |text: &str| stamp(text.as_bytes()).unwrap().micros.unwrap();
        assert_eq!(
            micros("2026-01-01T01:00:00+01:00"),
            micros("2025-12-31T23:00:00-01:00")
        );
        assert_eq!(micros("1970-01-02T00:00:00Z"), 86_400 * MICROS);
    }

    #[test]
    fn a_number_of_seconds_or_milliseconds_since_1970_is_a_timestamp() {
        assert_eq!(
            epoch(b"1700000000.25 x").unwrap().format.in_words(),
            "seconds since 1970"
        );
        assert_eq!(
            epoch(b"1700000000123").unwrap().format.in_words(),
            "milliseconds since 1970"
        );
        assert_eq!(epoch(b"5000000000"), None);
        assert_eq!(epoch(b"17000000001"), None);
    }
}
