//! Dates and times as ISO 8601 has them, and Python's `isoformat()`.

use std::fmt;

use monty_types::{MontyDate, MontyDateTime, MontyTime};

pub(super) struct Date<'a>(pub(super) &'a MontyDate);
pub(super) struct DateTime<'a>(pub(super) &'a MontyDateTime);
pub(super) struct Time<'a>(pub(super) &'a MontyTime);

impl fmt::Display for Date<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.0.year, self.0.month, self.0.day)
    }
}

impl fmt::Display for DateTime<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let it = self.0;
        write!(f, "{:04}-{:02}-{:02}T", it.year, it.month, it.day)?;
        clock(f, it.hour, it.minute, it.second, it.microsecond)?;
        offset(f, it.offset_seconds)
    }
}

impl fmt::Display for Time<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let it = self.0;
        clock(f, it.hour, it.minute, it.second, it.microsecond)?;
        offset(f, it.offset_seconds)
    }
}

fn clock(f: &mut fmt::Formatter<'_>, hour: u8, minute: u8, second: u8, microsecond: u32) -> fmt::Result {
    write!(f, "{hour:02}:{minute:02}:{second:02}")?;
    if microsecond > 0 {
        write!(f, ".{microsecond:06}")?;
    }
    Ok(())
}

fn offset(f: &mut fmt::Formatter<'_>, seconds: Option<i32>) -> fmt::Result {
    let Some(seconds) = seconds else { return Ok(()) };
    let sign = if seconds < 0 { '-' } else { '+' };
    let all = seconds.unsigned_abs();
    write!(f, "{sign}{:02}:{:02}", all / 3600, all / 60 % 60)?;
    if all % 60 > 0 {
        write!(f, ":{:02}", all % 60)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_formatted_as_python_formats_it() {
        let time = |microsecond, offset_seconds| MontyDateTime {
            year: 2026,
            month: 3,
            day: 7,
            hour: 4,
            minute: 5,
            second: 6,
            microsecond,
            offset_seconds,
            timezone_name: None,
        };
        for (microsecond, offset, expected) in [
            (0, None, "2026-03-07T04:05:06"),
            (120, Some(0), "2026-03-07T04:05:06.000120+00:00"),
            (0, Some(-19_800), "2026-03-07T04:05:06-05:30"),
            (0, Some(3_661), "2026-03-07T04:05:06+01:01:01"),
        ] {
            assert_eq!(DateTime(&time(microsecond, offset)).to_string(), expected);
        }
    }
}
