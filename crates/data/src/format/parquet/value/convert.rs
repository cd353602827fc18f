//! Single values as classified cells with their text.

use std::fmt::Write as _;

use parquet::data_type::Int96;

use super::super::text::{push_clock, push_date, push_int};
use super::{ColumnEntry, Unit};
use crate::calendar::{MICROS_PER_SECOND, SECONDS_PER_DAY};
use crate::column::cell::{Cell, ValueKind};

const NANOS_PER_DAY: i64 = SECONDS_PER_DAY * 1_000_000_000;
const JULIAN_DAY_OF_1970: i64 = 2_440_588;

pub(super) const fn truth(value: bool) -> ColumnEntry<'static> {
    ColumnEntry::Value(Cell::Bool(value), if value { "True" } else { "False" })
}

/// The schema says what is a number, so of texts only dates are recognized.
pub(super) fn typed(text: &str) -> Cell<'_> {
    let is_dated = text.len() >= 10 && text.as_bytes()[4] == b'-' && text.as_bytes()[0].is_ascii_digit();
    match is_dated.then(|| Cell::of(text)) {
        Some(cell) if matches!(cell.kind(), Some(ValueKind::Date | ValueKind::Datetime)) => cell,
        _ => Cell::Text(text),
    }
}

pub(super) fn int(value: i64, scratch: &mut String) -> ColumnEntry<'_> {
    push_int(value, scratch);
    ColumnEntry::Value(Cell::Int(value), scratch)
}

/// `NaN` is a missing value, as pandas has it; infinities are texts, for no mean exists with them.
pub(super) fn float(value: f64, scratch: &str) -> ColumnEntry<'_> {
    let cell = if value.is_nan() {
        Cell::Null("NaN")
    } else if value.is_finite() {
        Cell::Float(value)
    } else {
        Cell::Text(scratch)
    };
    ColumnEntry::Value(cell, scratch)
}

pub(super) fn decimal(unscaled: i128, scale: i32, scratch: &mut String) -> ColumnEntry<'_> {
    let scale = usize::try_from(scale).unwrap_or(0);
    if unscaled < 0 {
        scratch.push('-');
    }
    let digits = unscaled.unsigned_abs().to_string();
    let whole = digits.len().saturating_sub(scale);
    scratch.push_str(if whole == 0 { "0" } else { &digits[..whole] });
    if scale > 0 {
        let _ = write!(scratch, ".{:0>scale$}", &digits[whole..]);
    }
    let cell = match i64::try_from(unscaled) {
        Ok(value) if scale == 0 => Cell::Int(value),
        _ => scratch.parse().map_or(Cell::Text(scratch), Cell::Float),
    };
    ColumnEntry::Value(cell, scratch)
}

pub(super) fn big_endian(bytes: &[u8]) -> i128 {
    let sign = if bytes.first().is_some_and(|first| *first >= 0x80) {
        -1
    } else {
        0
    };
    bytes
        .iter()
        .fold(sign, |value, byte| (value << 8) | i128::from(*byte))
}

/// A floating point number of 16 bits, little-endian.
pub(super) fn half(bytes: &[u8]) -> f64 {
    let bits = bytes.first_chunk().map_or(0, |bytes| u16::from_le_bytes(*bytes));
    let (exponent, fraction) = (i32::from(bits >> 10 & 0x1f), f64::from(bits & 0x3ff) / 1024.0);
    let magnitude = match exponent {
        0 => fraction * 2f64.powi(-14),
        0x1f if fraction > 0.0 => f64::NAN,
        0x1f => f64::INFINITY,
        _ => (1.0 + fraction) * 2f64.powi(exponent - 15),
    };
    if bits & 0x8000 == 0 { magnitude } else { -magnitude }
}

pub(super) fn int96<'a>(value: &Int96, scratch: &'a mut String) -> ColumnEntry<'a> {
    let [low, high, day] = value.data() else {
        return ColumnEntry::Null;
    };
    let days = i64::from(*day) - JULIAN_DAY_OF_1970;
    let nanos = (u64::from(*high) << 32 | u64::from(*low)) % NANOS_PER_DAY.unsigned_abs();
    let nanos = i64::try_from(nanos).unwrap_or(0);
    moment(days, nanos, false, scratch)
}

pub(super) fn timestamp(value: i64, unit: Unit, utc: bool, scratch: &mut String) -> ColumnEntry<'_> {
    let per_day = unit.per_second() * SECONDS_PER_DAY;
    let nanos = value.rem_euclid(per_day) * (1_000_000_000 / unit.per_second());
    moment(value.div_euclid(per_day), nanos, utc, scratch)
}

pub(super) fn moment(days: i64, nanos: i64, utc: bool, scratch: &mut String) -> ColumnEntry<'_> {
    push_date(days, scratch);
    scratch.push(' ');
    push_clock(nanos, Unit::Nanos, scratch);
    if utc {
        scratch.push_str("+00:00");
    }
    let micros = days
        .checked_mul(SECONDS_PER_DAY * MICROS_PER_SECOND)
        .and_then(|micros| micros.checked_add(nanos / 1_000));
    let cell = micros.map_or(Cell::Text(scratch), |micros| Cell::Datetime {
        micros,
        zoned: utc,
    });
    ColumnEntry::Value(cell, scratch)
}
