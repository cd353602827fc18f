//! Values of Arrow columns: a classified cell and its text, as of Parquet; what nests stands as JSON.

use arrow_array::cast::AsArray as _;
use arrow_array::types::{
    Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type, DurationMicrosecondType,
    DurationMillisecondType, DurationNanosecondType, DurationSecondType, Float16Type, Float32Type,
    Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, Time32MillisecondType, Time32SecondType,
    Time64MicrosecondType, Time64NanosecondType, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_buffer::NullBuffer;
use arrow_schema::{ArrowError, DataType, TimeUnit};
use arrow_select::take::take;
use parquet::data_type::{ByteArray, FixedLenByteArray};
use serde_json::Value;

use crate::column::cell::{Cell, ValueKind};
use crate::format::parquet::{ColumnEntry, Logical, Unit, Values};

/// Most elements of a list that are shown.
const MOST_ELEMENTS: usize = 1_000;
const MILLIS_PER_DAY: i64 = 24 * 60 * 60 * 1_000;

/// Decoded values of some rows of a column.
pub(crate) struct DecodedColumn {
    nulls: Option<NullBuffer>,
    values: Form,
}

enum Form {
    Typed(Logical, Values),
    Texts(Vec<String>),
}

impl DecodedColumn {
    /// Returns the value of a row; its text is in `scratch` where it has none of its own.
    pub(crate) fn found<'a>(&'a self, row: usize, scratch: &'a mut String) -> ColumnEntry<'a> {
        if self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
            return ColumnEntry::Null;
        }
        match &self.values {
            Form::Typed(logical, values) => logical.value(values, row, scratch),
            Form::Texts(texts) => texts.get(row).map_or(ColumnEntry::Null, |text| {
                ColumnEntry::Value(Cell::Text(text), text)
            }),
        }
    }
}

/// The type in words (`decimal(10, 2)`, `timestamp[us, UTC]`).
pub(super) fn declared(type_: &DataType) -> String {
    let unit = |unit: &TimeUnit| match unit {
        TimeUnit::Second => "s",
        TimeUnit::Millisecond => "ms",
        TimeUnit::Microsecond => "us",
        TimeUnit::Nanosecond => "ns",
    };
    match type_ {
        DataType::Timestamp(at, None) => format!("timestamp[{}]", unit(at)),
        DataType::Timestamp(at, Some(zone)) => format!("timestamp[{}, {zone}]", unit(at)),
        DataType::Time32(at) | DataType::Time64(at) => format!("time[{}]", unit(at)),
        DataType::Duration(at) => format!("duration[{}]", unit(at)),
        DataType::Dictionary(_, values) => format!("categories of {}", declared(values)),
        DataType::Null => "null".to_owned(),
        DataType::List(_)
        | DataType::LargeList(_)
        | DataType::ListView(_)
        | DataType::LargeListView(_)
        | DataType::FixedSizeList(..) => "list".to_owned(),
        DataType::Struct(_) => "struct".to_owned(),
        DataType::Map(..) => "map".to_owned(),
        other => logical(other).map_or_else(|| other.to_string().to_lowercase(), Logical::describe),
    }
}

fn logical(type_: &DataType) -> Option<Logical> {
    let unit = |unit: &TimeUnit| match unit {
        TimeUnit::Second | TimeUnit::Millisecond => Unit::Millis,
        TimeUnit::Microsecond => Unit::Micros,
        TimeUnit::Nanosecond => Unit::Nanos,
    };
    let decimal = |precision: u8, scale: i8| Logical::Decimal {
        precision: i32::from(precision),
        scale: i32::from(scale),
    };
    Some(match type_ {
        DataType::Boolean => Logical::Bool,
        DataType::Int8 => Logical::Int(8),
        DataType::Int16 => Logical::Int(16),
        DataType::Int32 => Logical::Int(32),
        DataType::Int64 | DataType::Duration(_) => Logical::Int(64),
        DataType::UInt8 => Logical::Uint(8),
        DataType::UInt16 => Logical::Uint(16),
        DataType::UInt32 => Logical::Uint(32),
        DataType::UInt64 => Logical::Uint(64),
        DataType::Float16 => Logical::Half,
        DataType::Float32 => Logical::Float,
        DataType::Float64 => Logical::Double,
        DataType::Decimal32(precision, scale)
        | DataType::Decimal64(precision, scale)
        | DataType::Decimal128(precision, scale)
            if *scale >= 0 =>
        {
            decimal(*precision, *scale)
        }
        DataType::Date32 | DataType::Date64 => Logical::Date,
        DataType::Time32(at) | DataType::Time64(at) => Logical::Time(unit(at)),
        DataType::Timestamp(at, zone) => Logical::Timestamp {
            unit: unit(at),
            utc: zone.is_some(),
        },
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Logical::Text,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
            Logical::Binary
        }
        _ => return None,
    })
}

/// Decodes the values of an array.
pub(super) fn decode(array: &ArrayRef) -> Result<DecodedColumn, ArrowError> {
    if let Some(dictionary) = array.as_any_dictionary_opt() {
        return decode(&take(dictionary.values(), dictionary.keys(), None)?);
    }
    let form = match logical(array.data_type()).zip(typed(array)) {
        Some((logical, values)) => Form::Typed(logical, values),
        None => Form::Texts(
            (0..array.len())
                .map(|row| json(array, row, 0).to_string())
                .collect(),
        ),
    };
    Ok(DecodedColumn {
        nulls: array.logical_nulls(),
        values: form,
    })
}

/// The values of an array that does not nest.
fn typed(array: &ArrayRef) -> Option<Values> {
    macro_rules! values {
        ($form:path, $type:ty, $convert:expr) => {{
            let values = array.as_primitive::<$type>().values().iter();
            $form(values.map($convert).collect())
        }};
    }
    Some(match array.data_type() {
        DataType::Boolean => Values::Bool(array.as_boolean().values().iter().collect()),
        DataType::Int8 => values!(Values::Int32, Int8Type, |value| i32::from(*value)),
        DataType::Int16 => values!(Values::Int32, Int16Type, |value| i32::from(*value)),
        DataType::Int32 => values!(Values::Int32, Int32Type, |value| *value),
        DataType::Int64 => values!(Values::Int64, Int64Type, |value| *value),
        DataType::UInt8 => values!(Values::Int32, UInt8Type, |value| i32::from(*value)),
        DataType::UInt16 => values!(Values::Int32, UInt16Type, |value| i32::from(*value)),
        DataType::UInt32 => values!(Values::Int64, UInt32Type, |value| i64::from(*value)),
        // As Parquet has them: the bits of a number without sign.
        DataType::UInt64 => values!(Values::Int64, UInt64Type, |value| value.cast_signed()),
        DataType::Float16 => values!(Values::Float, Float16Type, |value| value.to_f32()),
        DataType::Float32 => values!(Values::Float, Float32Type, |value| *value),
        DataType::Float64 => values!(Values::Double, Float64Type, |value| *value),
        DataType::Decimal32(..) => values!(Values::Int32, Decimal32Type, |value| *value),
        DataType::Decimal64(..) => values!(Values::Int64, Decimal64Type, |value| *value),
        DataType::Decimal128(..) => {
            values!(Values::Fixed, Decimal128Type, |value| fixed(&value.to_be_bytes()))
        }
        DataType::Date32 => values!(Values::Int32, Date32Type, |value| *value),
        DataType::Date64 => values!(Values::Int64, Date64Type, |value| value
            .div_euclid(MILLIS_PER_DAY)),
        _ => return timed(array).or_else(|| bytes(array)),
    })
}

/// Times of day, moments and durations.
fn timed(array: &ArrayRef) -> Option<Values> {
    macro_rules! whole {
        ($type:ty, $factor:expr) => {{
            let values = array.as_primitive::<$type>().values().iter();
            Values::Int64(
                values
                    .map(|value| i64::from(*value).saturating_mul($factor))
                    .collect(),
            )
        }};
    }
    Some(match array.data_type() {
        DataType::Time32(TimeUnit::Second) => whole!(Time32SecondType, 1_000),
        DataType::Time32(_) => whole!(Time32MillisecondType, 1),
        DataType::Time64(TimeUnit::Microsecond) => whole!(Time64MicrosecondType, 1),
        DataType::Time64(_) => whole!(Time64NanosecondType, 1),
        DataType::Timestamp(TimeUnit::Second, _) => whole!(TimestampSecondType, 1_000),
        DataType::Timestamp(TimeUnit::Millisecond, _) => whole!(TimestampMillisecondType, 1),
        DataType::Timestamp(TimeUnit::Microsecond, _) => whole!(TimestampMicrosecondType, 1),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => whole!(TimestampNanosecondType, 1),
        DataType::Duration(TimeUnit::Second) => whole!(DurationSecondType, 1),
        DataType::Duration(TimeUnit::Millisecond) => whole!(DurationMillisecondType, 1),
        DataType::Duration(TimeUnit::Microsecond) => whole!(DurationMicrosecondType, 1),
        DataType::Duration(TimeUnit::Nanosecond) => whole!(DurationNanosecondType, 1),
        _ => return None,
    })
}

/// Texts and bytes; what a missing value has instead is not looked at.
fn bytes(array: &ArrayRef) -> Option<Values> {
    macro_rules! bytes {
        ($array:expr) => {
            Values::Bytes(
                $array
                    .iter()
                    .map(|value| {
                        value.map_or_else(ByteArray::new, |value| {
                            AsRef::<[u8]>::as_ref(value).to_vec().into()
                        })
                    })
                    .collect(),
            )
        };
    }
    Some(match array.data_type() {
        DataType::Utf8 => bytes!(array.as_string::<i32>()),
        DataType::LargeUtf8 => bytes!(array.as_string::<i64>()),
        DataType::Utf8View => bytes!(array.as_string_view()),
        DataType::Binary => bytes!(array.as_binary::<i32>()),
        DataType::LargeBinary => bytes!(array.as_binary::<i64>()),
        DataType::BinaryView => bytes!(array.as_binary_view()),
        DataType::FixedSizeBinary(_) => bytes!(array.as_fixed_size_binary()),
        _ => return None,
    })
}

fn fixed(bytes: &[u8]) -> FixedLenByteArray {
    ByteArray::from(bytes.to_vec()).into()
}

/// A value as JSON; lists are cut.
fn json(array: &ArrayRef, row: usize, depth: usize) -> Value {
    if array.is_null(row) || depth > crate::format::json::DEEPEST {
        return Value::Null;
    }
    let elements = |elements: &ArrayRef| {
        let shown = elements.len().min(MOST_ELEMENTS);
        Value::Array(
            (0..shown)
                .map(|element| json(elements, element, depth + 1))
                .collect(),
        )
    };
    match array.data_type() {
        DataType::List(_) => elements(&array.as_list::<i32>().value(row)),
        DataType::LargeList(_) => elements(&array.as_list::<i64>().value(row)),
        DataType::FixedSizeList(..) => elements(&array.as_fixed_size_list().value(row)),
        DataType::Map(..) => {
            let entries: ArrayRef = std::sync::Arc::new(array.as_map().value(row));
            elements(&entries)
        }
        DataType::Struct(fields) => fields
            .iter()
            .zip(array.as_struct().columns())
            .map(|(field, column)| (field.name().clone(), json(column, row, depth + 1)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
        _ => scalar(array, row),
    }
}

/// A value that does not nest, as JSON.
fn scalar(array: &ArrayRef, row: usize) -> Value {
    let one = array.slice(row, 1);
    // What has no type of its own here would be asked for its JSON again.
    let is_typed = logical(one.data_type()).is_some() && typed(&one).is_some();
    if one.as_any_dictionary_opt().is_none() && !is_typed {
        return Value::from(format!("a value of type {}", declared(one.data_type())));
    }
    let Ok(decoded) = decode(&one) else {
        return Value::Null;
    };
    match decoded.found(0, &mut String::new()) {
        ColumnEntry::Null => Value::Null,
        ColumnEntry::Lossy(text) => Value::from(text),
        ColumnEntry::Value(cell, text) => match cell.kind() {
            Some(ValueKind::Int | ValueKind::Float) => {
                serde_json::from_str(text).unwrap_or_else(|_| Value::from(text))
            }
            Some(ValueKind::Bool) => Value::from(text == "True"),
            _ => Value::from(text),
        },
    }
}
