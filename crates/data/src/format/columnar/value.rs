//! Values of Arrow arrays: a classified cell and its text.

use std::fmt::{Display, Write as _};

use arrow_array::cast::AsArray as _;
use arrow_array::types::{
    Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, DurationMicrosecondType,
    DurationMillisecondType, DurationNanosecondType, DurationSecondType, Float16Type, Float32Type,
    Float64Type,
};
use arrow_array::{Array, downcast_integer_array, downcast_temporal_array};
use arrow_schema::{DataType, TimeUnit};

use super::text::{push_bytes, push_clock, push_date, push_uuid};
use crate::calendar::{MICROS_PER_SECOND, SECONDS_PER_DAY};
use crate::column::cell::{Cell, ValueKind};

const MILLIS_PER_DAY: i64 = SECONDS_PER_DAY * 1_000;

/// One entry of a column in a record.
pub(crate) enum ColumnEntry<'a> {
    /// A value and its text.
    Value(Cell<'a>, &'a str),
    /// A text that is not valid UTF-8, with replacement characters.
    Lossy(&'a str),
    /// No value, where there could be one.
    Null,
}

/// Form of texts and bytes, which stand alike in an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextForm {
    /// Text in UTF-8.
    Text,
    /// UUIDs.
    Uuid,
    /// Bytes.
    Bytes,
}

/// Returns the value of a row; its text is in `scratch` where it has none of its own.
pub(super) fn value<'a>(
    array: &'a dyn Array,
    row: usize,
    form: TextForm,
    scratch: &'a mut String,
) -> ColumnEntry<'a> {
    if array.is_null(row) {
        return ColumnEntry::Null;
    }
    scratch.clear();
    macro_rules! decimal {
        ($type:ty) => {{
            scratch.push_str(&array.as_primitive::<$type>().value_as_string(row));
            decimal(scratch)
        }};
    }
    macro_rules! duration {
        ($type:ty) => {
            int(array.as_primitive::<$type>().value(row).into(), scratch)
        };
    }
    match array.data_type() {
        DataType::Null => ColumnEntry::Null,
        DataType::Boolean => {
            let truth = array.as_boolean().value(row);
            ColumnEntry::Value(Cell::Bool(truth), if truth { "True" } else { "False" })
        }
        whole if whole.is_integer() => {
            let value = downcast_integer_array!(
                array => i128::from(array.value(row)),
                _ => 0
            );
            int(value, scratch)
        }
        DataType::Float16 => float(array.as_primitive::<Float16Type>().value(row).to_f32(), scratch),
        DataType::Float32 => float(array.as_primitive::<Float32Type>().value(row), scratch),
        DataType::Float64 => float(array.as_primitive::<Float64Type>().value(row), scratch),
        DataType::Decimal32(..) => decimal!(Decimal32Type),
        DataType::Decimal64(..) => decimal!(Decimal64Type),
        DataType::Decimal128(..) => decimal!(Decimal128Type),
        DataType::Decimal256(..) => decimal!(Decimal256Type),
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            let key = match value(dictionary.keys(), row, form, scratch) {
                ColumnEntry::Value(Cell::Int(key), _) => usize::try_from(key).ok(),
                _ => None,
            };
            match key.filter(|key| *key < dictionary.values().len()) {
                Some(key) => value(dictionary.values(), key, form, scratch),
                None => ColumnEntry::Null,
            }
        }
        DataType::Utf8 => bytes(array.as_string::<i32>().value(row).as_bytes(), form, scratch),
        DataType::LargeUtf8 => bytes(array.as_string::<i64>().value(row).as_bytes(), form, scratch),
        DataType::Utf8View => bytes(array.as_string_view().value(row).as_bytes(), form, scratch),
        DataType::Binary => bytes(array.as_binary::<i32>().value(row), form, scratch),
        DataType::LargeBinary => bytes(array.as_binary::<i64>().value(row), form, scratch),
        DataType::BinaryView => bytes(array.as_binary_view().value(row), form, scratch),
        DataType::FixedSizeBinary(_) => bytes(array.as_fixed_size_binary().value(row), form, scratch),
        DataType::Duration(TimeUnit::Second) => duration!(DurationSecondType),
        DataType::Duration(TimeUnit::Millisecond) => duration!(DurationMillisecondType),
        DataType::Duration(TimeUnit::Microsecond) => duration!(DurationMicrosecondType),
        DataType::Duration(TimeUnit::Nanosecond) => duration!(DurationNanosecondType),
        type_ => downcast_temporal_array!(
            array => time(array.value(row), type_, scratch),
            _ => {
                let _ = write!(scratch, "a value of type {type_}");
                ColumnEntry::Value(Cell::Text(scratch), scratch)
            }
        ),
    }
}

fn int(value: i128, scratch: &mut String) -> ColumnEntry<'_> {
    let cell = if let Ok(value) = i64::try_from(value) {
        let _ = write!(scratch, "{value}");
        Cell::Int(value)
    } else {
        let _ = write!(scratch, "{value}");
        Cell::Float(value as f64)
    };
    ColumnEntry::Value(cell, scratch)
}

/// `NaN` is a missing value, as pandas has it; infinities are texts, for no mean exists with them.
fn float(value: impl Into<f64> + Display, scratch: &mut String) -> ColumnEntry<'_> {
    let _ = write!(scratch, "{value}");
    let value = value.into();
    let cell = if value.is_nan() {
        Cell::Null("NaN")
    } else if value.is_finite() {
        Cell::Float(value)
    } else {
        Cell::Text(scratch)
    };
    ColumnEntry::Value(cell, scratch)
}

fn decimal(text: &str) -> ColumnEntry<'_> {
    let whole = text.parse().map(Cell::Int);
    let cell = whole.unwrap_or_else(|_| text.parse().map_or(Cell::Text(text), Cell::Float));
    ColumnEntry::Value(cell, text)
}

/// The schema says what is a number, so of texts only dates are recognized.
fn typed(text: &str) -> Cell<'_> {
    let is_dated = text.len() >= 10 && text.as_bytes()[4] == b'-' && text.as_bytes()[0].is_ascii_digit();
    match is_dated.then(|| Cell::of(text)) {
        Some(cell) if matches!(cell.kind(), Some(ValueKind::Date | ValueKind::Datetime)) => cell,
        _ => Cell::Text(text),
    }
}

fn bytes<'a>(bytes: &'a [u8], form: TextForm, scratch: &'a mut String) -> ColumnEntry<'a> {
    match form {
        TextForm::Text => {
            if let Ok(text) = std::str::from_utf8(bytes) {
                return ColumnEntry::Value(typed(text), text);
            }
            scratch.push_str(&String::from_utf8_lossy(bytes));
            return ColumnEntry::Lossy(scratch);
        }
        TextForm::Uuid => push_uuid(bytes, scratch),
        TextForm::Bytes => push_bytes(bytes, scratch),
    }
    ColumnEntry::Value(Cell::Text(scratch), scratch)
}

const fn per_second(unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    }
}

/// Returns a day, a time of day or a moment.
fn time<'a>(value: impl Into<i64>, type_: &DataType, scratch: &'a mut String) -> ColumnEntry<'a> {
    let value = value.into();
    let cell = match type_ {
        DataType::Date32 | DataType::Date64 => {
            let per_day = if *type_ == DataType::Date64 {
                MILLIS_PER_DAY
            } else {
                1
            };
            let days = value.div_euclid(per_day);
            push_date(days, scratch);
            Cell::Date(days)
        }
        DataType::Timestamp(unit, zone) => {
            let (per_second, zoned) = (per_second(*unit), zone.is_some());
            let per_day = per_second * SECONDS_PER_DAY;
            let (days, clock) = (value.div_euclid(per_day), value.rem_euclid(per_day));
            push_date(days, scratch);
            scratch.push(' ');
            push_clock(clock, per_second, scratch);
            if zoned {
                scratch.push_str("+00:00");
            }
            let micros =
                (i128::from(value) * i128::from(MICROS_PER_SECOND)).div_euclid(i128::from(per_second));
            let micros = i64::try_from(micros);
            micros.map_or(Cell::Text(scratch), |micros| Cell::Datetime { micros, zoned })
        }
        DataType::Time32(unit) | DataType::Time64(unit) => {
            push_clock(value, per_second(*unit), scratch);
            Cell::Text(scratch)
        }
        _ => return ColumnEntry::Null,
    };
    ColumnEntry::Value(cell, scratch)
}
