//! Scalars as programs print them: finite numbers, RFC 3339 and ISO 8601, and what Python's `str` makes of times.

use jiff::fmt::temporal::{DateTimeParser, Pieces};
use jiff::tz::Offset;
use jiff::{SignedDuration, Span, SpanRelativeTo};

use crate::calendar::{SECONDS_PER_DAY, seconds_of_day};

/// Reads a finite float as Python prints it. Rust would also take `inf`, `nan` and `infinity`.
pub(crate) fn float(text: &str) -> Option<f64> {
    text.parse().ok().filter(|value: &f64| value.is_finite())
}

/// RFC 3339 with or without zone, as Python's `isoformat` and `str` print it; a date alone is its midnight.
#[must_use]
pub fn datetime(text: &str) -> Option<String> {
    let pieces: Pieces<'_> = DateTimeParser::new().parse_pieces(text).ok()?;
    let is_extended = text.as_bytes().get(4) == Some(&b'-') && pieces.time_zone_annotation().is_none();
    let has_bare_offset = pieces.time().is_none() && pieces.offset().is_some();
    if !is_extended || has_bare_offset {
        return None;
    }
    let moment = pieces.date().to_datetime(pieces.time().unwrap_or_default());
    let zone = pieces.to_numeric_offset().map_or(String::new(), zone);
    Some(format!("{moment}{zone}"))
}

/// A truth value as Python, JSON or pandas writes it.
#[must_use]
pub fn truth(text: &str) -> Option<bool> {
    match text {
        "true" | "True" | "TRUE" => Some(true),
        "false" | "False" | "FALSE" => Some(false),
        _ => None,
    }
}

fn zone(offset: Offset) -> String {
    let seconds = offset.seconds();
    if seconds == 0 {
        return "Z".to_owned();
    }
    let (sign, minutes) = (if seconds < 0 { '-' } else { '+' }, seconds.abs() / 60);
    format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60)
}

/// ISO 8601 without months and years, seconds, or what Python prints of a `timedelta` (`1 day, 2:03:04`).
#[must_use]
pub fn timedelta(text: &str) -> Option<SignedDuration> {
    if let Some(seconds) = float(text) {
        return SignedDuration::try_from_secs_f64(seconds).ok();
    }
    if text.trim_start_matches(['-', '+']).starts_with(['P', 'p']) {
        let span: Span = text.parse().ok()?;
        return span.to_duration(SpanRelativeTo::days_are_24_hours()).ok();
    }
    let (days, clock) = match text.split_once(", ") {
        Some((days, clock)) => {
            let days = days.strip_suffix(" days").or_else(|| days.strip_suffix(" day"))?;
            (days.parse::<i64>().ok()?, clock)
        }
        None => (0, text),
    };
    SignedDuration::from_secs(days.checked_mul(SECONDS_PER_DAY)?).checked_add(clock_time(clock)?)
}

/// `H:MM:SS` with or without fraction.
fn clock_time(text: &str) -> Option<SignedDuration> {
    let mut parts = text.split(':');
    let (hours, minutes, seconds) = (parts.next()?, parts.next()?, parts.next()?);
    let is_plain = |part: &str| part.starts_with(|first: char| first.is_ascii_digit());
    if parts.next().is_some() || ![hours, minutes, seconds].into_iter().all(is_plain) {
        return None;
    }
    let (hours, minutes): (i64, i64) = (hours.parse().ok()?, minutes.parse().ok()?);
    let seconds = float(seconds).filter(|seconds| *seconds < 60.0)?;
    if hours > 23 || minutes > 59 {
        return None;
    }
    SignedDuration::from_secs(seconds_of_day(hours, minutes, 0))
        .checked_add(SignedDuration::try_from_secs_f64(seconds).ok()?)
}
