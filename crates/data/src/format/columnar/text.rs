//! Texts of days, times of day and bytes, appended to a buffer that is used again.

use std::fmt::Write as _;

use crate::calendar::civil_day;

/// Writes a day counted from 1970 (`2026-01-31`), by the civil calendar before 1582 too.
pub(super) fn push_date(days: i64, text: &mut String) {
    let (year, month, day) = civil_day(days);
    let sign = if year < 0 { "-" } else { "" };
    let _ = write!(text, "{sign}{:04}-{month:02}-{day:02}", year.abs());
}

/// Writes a time of day (`12:30:00.5`), its fraction without trailing zeros.
pub(super) fn push_clock(value: i64, per_second: i64, text: &mut String) {
    let (seconds, fraction) = (value.div_euclid(per_second), value.rem_euclid(per_second));
    let (hours, minutes) = (seconds / 3_600, seconds / 60 % 60);
    let _ = write!(text, "{hours:02}:{minutes:02}:{:02}", seconds % 60);
    if fraction > 0 {
        let nanos = fraction * (1_000_000_000 / per_second);
        let _ = write!(text, ".{nanos:09}");
        text.truncate(text.trim_end_matches('0').len());
    }
}

/// Writes bytes as Python does (`b'\x00a'`).
pub(super) fn push_bytes(bytes: &[u8], text: &mut String) {
    text.push_str("b'");
    for byte in bytes {
        match byte {
            b'\'' | b'\\' => text.extend(['\\', char::from(*byte)]),
            b' '..=b'~' => text.push(char::from(*byte)),
            _ => {
                let _ = write!(text, "\\x{byte:02x}");
            }
        }
    }
    text.push('\'');
}

/// Writes the bytes of a UUID in groups (`12345678-9abc-def0-0102-030405060708`).
pub(super) fn push_uuid(bytes: &[u8], text: &mut String) {
    for (position, byte) in bytes.iter().enumerate() {
        if matches!(position, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        let _ = write!(text, "{byte:02x}");
    }
}
