//! Texts of numbers, days, times of day and bytes, appended to a buffer that is used again.

use std::fmt::Write as _;

use super::unit::Unit;
use crate::calendar::civil_day;

/// Writes a whole number.
pub(super) fn push_int(value: i64, text: &mut String) {
    let mut digits = [0; 20];
    let mut start = digits.len();
    let mut rest = value.unsigned_abs();
    loop {
        start -= 1;
        digits[start] = b'0' + u8::try_from(rest % 10).unwrap_or(0);
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if value < 0 {
        text.push('-');
    }
    text.push_str(std::str::from_utf8(&digits[start..]).unwrap_or(""));
}

fn push_padded(value: i64, width: usize, text: &mut String) {
    let start = text.len();
    push_int(value, text);
    for _ in text.len() - start..width {
        text.insert(start, '0');
    }
}

/// Writes a day counted from 1970 (`2026-01-31`), by the civil calendar before 1582 too.
pub(super) fn push_date(days: i64, text: &mut String) {
    let (year, month, day) = civil_day(days);
    if year < 0 {
        text.push('-');
    }
    push_padded(year.abs(), 4, text);
    text.push('-');
    push_padded(month, 2, text);
    text.push('-');
    push_padded(day, 2, text);
}

/// Writes a time of day (`12:30:00.5`), its fraction without trailing zeros.
pub(super) fn push_clock(value: i64, unit: Unit, text: &mut String) {
    let (seconds, fraction) = (
        value.div_euclid(unit.per_second()),
        value.rem_euclid(unit.per_second()),
    );
    push_padded(seconds / 3_600, 2, text);
    text.push(':');
    push_padded(seconds / 60 % 60, 2, text);
    text.push(':');
    push_padded(seconds % 60, 2, text);
    if fraction > 0 {
        text.push('.');
        push_padded(fraction, unit.digits(), text);
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
