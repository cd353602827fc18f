//! The one reader of dates and times: in the forms of Python's `strptime`, and in the parts of ISO 8601.

use jiff::civil;

use super::{MICROS_PER_DAY, MICROS_PER_SECOND, days_of, micros_of_fraction, seconds_of_day};

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
/// Digits of a year from which on two of them mean the last century, as POSIX has it.
const LAST_CENTURY: i64 = 69;

/// A moment that a text gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moment {
    /// Microseconds since 1970, in UTC where a zone is given; of 1972 where no year is, and of its first day where no day is.
    pub micros: i64,
    /// True where an offset from UTC is given.
    pub is_zoned: bool,
}

/// Reads a text in a form of `strptime`. Years have all their digits, minutes and seconds have two.
pub(crate) fn parse(form: &str, text: &str) -> Option<Moment> {
    // Versions like 1.2.10 are no dates.
    let least = if form.contains("%y") && !form.contains('/') {
        2
    } else {
        1
    };
    // A leap year: the last of February is a day.
    let (mut year, mut month, mut day) = (1972, 1, 1);
    let (mut hours, mut minutes, mut seconds, mut micros) = (0, 0, 0, 0);
    let mut offset = None;
    let mut reader = TimeReader::new(text);
    let mut signs = form.bytes();
    while let Some(sign) = signs.next() {
        if sign != b'%' {
            reader.sign(sign)?;
            continue;
        }
        match signs.next()? {
            b'Y' => year = reader.number(4, 4)?,
            b'y' => {
                let of_century = reader.number(2, 2)?;
                year = of_century + if of_century < LAST_CENTURY { 2000 } else { 1900 };
            }
            b'm' => month = reader.number(least, 2)?,
            b'B' => month = reader.month(usize::MAX)?,
            b'b' => month = reader.month(3)?,
            b'd' => {
                // A day of one digit may have a blank before it.
                let _ = reader.sign(b' ');
                day = reader.number(least, 2)?;
            }
            b'H' => hours = reader.number(1, 2).filter(|hours| *hours <= 23)?,
            b'I' => hours = reader.number(1, 2).filter(|hours| (1..=12).contains(hours))? % 12,
            b'p' if reader.word("AM").is_some() => {}
            b'p' => {
                reader.word("PM")?;
                hours += 12;
            }
            b'M' => minutes = reader.number(2, 2).filter(|minutes| *minutes <= 59)?,
            b'S' => seconds = reader.number(2, 2).filter(|seconds| *seconds <= 60)?,
            b'f' => micros = reader.fraction()?,
            b'z' => offset = Some(reader.offset()?),
            b'Z' => reader.word("UTC").or_else(|| reader.word("GMT"))?,
            b'a' => reader.0 = reader.0.get(3..)?,
            _ => return None,
        }
    }
    let date = date(year, month, day)?;
    let seconds = seconds_of_day(hours, minutes, seconds) - offset.unwrap_or(0);
    reader.is_at_end().then_some(Moment {
        micros: days_of(date) * MICROS_PER_DAY + seconds * MICROS_PER_SECOND + micros,
        is_zoned: offset.is_some(),
    })
}

/// A date of the calendar.
pub(crate) fn date(year: i64, month: i64, day: i64) -> Option<civil::Date> {
    let (year, month, day) = (
        year.try_into().ok()?,
        month.try_into().ok()?,
        day.try_into().ok()?,
    );
    civil::Date::new(year, month, day).ok()
}

/// The rest of a text. A step that fails may have read something.
pub(crate) struct TimeReader<'a>(&'a [u8]);

impl<'a> TimeReader<'a> {
    pub(crate) const fn new(text: &'a str) -> Self {
        Self(text.as_bytes())
    }

    pub(crate) const fn is_at_end(&self) -> bool {
        self.0.is_empty()
    }

    /// Reads a number of at least and at most so many digits.
    pub(crate) fn number(&mut self, least: usize, most: usize) -> Option<i64> {
        let digits = self.digits(most);
        let value = |value, digit: &u8| value * 10 + i64::from(digit - b'0');
        (digits.len() >= least).then(|| digits.iter().fold(0, value))
    }

    fn digits(&mut self, most: usize) -> &'a [u8] {
        let digits = self.0.iter().take(most).take_while(|byte| byte.is_ascii_digit());
        let (digits, rest) = self.0.split_at(digits.count());
        self.0 = rest;
        digits
    }

    pub(crate) fn sign(&mut self, sign: u8) -> Option<()> {
        let (first, rest) = self.0.split_first()?;
        (*first == sign).then(|| self.0 = rest)
    }

    fn word(&mut self, word: &str) -> Option<()> {
        let (start, rest) = self.0.split_at_checked(word.len())?;
        start.eq_ignore_ascii_case(word.as_bytes()).then(|| self.0 = rest)
    }

    /// Reads the name of a month, or its first letters.
    fn month(&mut self, most: usize) -> Option<i64> {
        let mut names = MONTHS.iter().map(|name| &name[..name.len().min(most)]);
        let position = names.position(|name| self.word(name).is_some())?;
        i64::try_from(position + 1).ok()
    }

    /// Reads the digits of a fraction of a second as microseconds; nanoseconds are the finest that pandas has.
    pub(crate) fn fraction(&mut self) -> Option<i64> {
        let digits = self.digits(9);
        (!digits.is_empty()).then(|| micros_of_fraction(digits))
    }

    /// Reads the seconds east of UTC of `Z`, `+01:00`, `+0100` or `+01`.
    pub(crate) fn offset(&mut self) -> Option<i64> {
        if self.word("Z").is_some() {
            return Some(0);
        }
        let is_west = self.sign(b'-').is_some();
        if !is_west {
            self.sign(b'+')?;
        }
        let hours = self.number(2, 2).filter(|hours| *hours <= 23)?;
        let has_colon = self.sign(b':').is_some();
        let minutes = match self.number(2, 2) {
            Some(minutes) => minutes,
            None if has_colon => return None,
            None => 0,
        };
        let offset = seconds_of_day(hours, minutes, 0);
        (minutes <= 59).then_some(if is_west { -offset } else { offset })
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::calendar::SECONDS_PER_DAY;

    #[rstest]
    #[case("%Y-%m-%d", "1970-01-02", SECONDS_PER_DAY)]
    #[case("%d/%b/%Y:%H:%M:%S %z", "01/Jan/1970:01:00:05 +0100", 5)]
    #[case("%Y-%m-%dT%H:%M:%SZ", "1970-01-01T00:00:60Z", 60)]
    #[case("%a, %d %b %Y %H:%M:%S %Z", "Thu, 01 Jan 1970 00:00:01 GMT", 1)]
    #[case("%B %d, %Y", "january 1, 1970", 0)]
    #[case("%d.%m.%y", "01.01.70", 0)]
    #[case("%m/%d/%Y %I:%M %p", "1/1/1970 12:05 AM", 300)]
    #[case("%m/%d/%Y %I:%M %p", "1/1/1970 12:05 pm", 43_500)]
    #[case("%b %d %Y", "Jan  3 1970", 2 * SECONDS_PER_DAY)]
    fn a_text_is_read_in_its_form(#[case] form: &str, #[case] text: &str, #[case] seconds: i64) {
        let found = parse(form, text).unwrap();
        assert_eq!(found.micros, seconds * MICROS_PER_SECOND);
        assert_eq!(found.is_zoned, form.ends_with("%z"));
    }

    #[rstest]
    #[case("%Y-%m-%d", "2026-02-30")]
    #[case("%d.%m.%Y", "31.12.02025")]
    #[case("%d.%m.%y", "1.2.10")]
    #[case("%H:%M", "24:05")]
    #[case("%H:%M", "9:5")]
    #[case("%I:%M %p", "13:05 PM")]
    #[case("%H:%M:%S.%f", "10:00:00.")]
    #[case("%b %Y", "January 2026")]
    #[case("%z", "+01:")]
    #[case("%q", "1")]
    fn what_is_not_of_the_form_is_no_moment(#[case] form: &str, #[case] text: &str) {
        assert_eq!(parse(form, text), None);
    }
}
