//! Values of Parquet columns by their logical type: a classified cell and its text.

mod convert;

use std::fmt::Write as _;

use parquet::basic::{ConvertedType, LogicalType, Type as Physical};
use parquet::schema::types::ColumnDescriptor;

use super::text::{push_bytes, push_clock, push_date};
use super::unit::Unit;
use super::{ColumnEntry, Values};
use crate::column::cell::Cell;
use crate::profile::ColumnType;
use convert::{big_endian, decimal, float, half, int, int96, timestamp, truth, typed};

/// Digits of the widest decimal that is read as a number.
const WIDEST_DECIMAL: usize = 16;
const LARGEST_SCALE: i32 = 76;

/// Type of the values of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Logical {
    /// Truth values.
    Bool,
    /// Whole numbers of this many bits.
    Int(u8),
    /// Whole numbers from 0 of this many bits.
    Uint(u8),
    /// Floating point numbers of 16 bits.
    Half,
    /// Floating point numbers of 32 bits.
    Float,
    /// Floating point numbers of 64 bits.
    Double,
    /// Exact decimal numbers.
    Decimal {
        /// Digits.
        precision: i32,
        /// Digits after the point.
        scale: i32,
    },
    /// Days.
    Date,
    /// Times of day.
    Time(Unit),
    /// Moments.
    Timestamp {
        /// Their resolution.
        unit: Unit,
        /// True where they are moments in UTC and no local times.
        utc: bool,
    },
    /// Moments in the old form of 96 bits.
    Int96,
    /// Text in UTF-8.
    Text,
    /// JSON in UTF-8.
    Json,
    /// UUIDs.
    Uuid,
    /// Bytes.
    Binary,
}

impl Logical {
    pub(super) fn of(column: &ColumnDescriptor) -> Self {
        let physical = column.physical_type();
        let annotated = column
            .logical_type_ref()
            .and_then(|logical| Self::of_logical(logical, column))
            .or_else(|| Self::of_converted(column));
        annotated
            .filter(|logical| logical.fits(physical, column.type_length()))
            .unwrap_or(match physical {
                Physical::BOOLEAN => Self::Bool,
                Physical::INT32 => Self::Int(32),
                Physical::INT64 => Self::Int(64),
                Physical::INT96 => Self::Int96,
                Physical::FLOAT => Self::Float,
                Physical::DOUBLE => Self::Double,
                Physical::BYTE_ARRAY | Physical::FIXED_LEN_BYTE_ARRAY => Self::Binary,
            })
    }

    fn of_logical(logical: &LogicalType, column: &ColumnDescriptor) -> Option<Self> {
        Some(match logical {
            LogicalType::String | LogicalType::Enum => Self::Text,
            LogicalType::Json => Self::Json,
            LogicalType::Uuid => Self::Uuid,
            LogicalType::Float16 => Self::Half,
            LogicalType::Date => Self::Date,
            LogicalType::Decimal(_) => Self::decimal(column)?,
            LogicalType::Time(time) => Self::Time(Unit::of(time.unit)),
            LogicalType::Timestamp(timestamp) => Self::Timestamp {
                unit: Unit::of(timestamp.unit),
                utc: timestamp.is_adjusted_to_u_t_c,
            },
            LogicalType::Integer(int) => {
                let bits = u8::try_from(int.bit_width).ok()?;
                if int.is_signed {
                    Self::Int(bits)
                } else {
                    Self::Uint(bits)
                }
            }
            _ => return None,
        })
    }

    fn of_converted(column: &ColumnDescriptor) -> Option<Self> {
        let timestamp = |unit| Self::Timestamp { unit, utc: true };
        Some(match column.converted_type() {
            ConvertedType::UTF8 | ConvertedType::ENUM => Self::Text,
            ConvertedType::JSON => Self::Json,
            ConvertedType::DECIMAL => Self::decimal(column)?,
            ConvertedType::DATE => Self::Date,
            ConvertedType::TIME_MILLIS => Self::Time(Unit::Millis),
            ConvertedType::TIME_MICROS => Self::Time(Unit::Micros),
            ConvertedType::TIMESTAMP_MILLIS => timestamp(Unit::Millis),
            ConvertedType::TIMESTAMP_MICROS => timestamp(Unit::Micros),
            ConvertedType::UINT_8 => Self::Uint(8),
            ConvertedType::UINT_16 => Self::Uint(16),
            ConvertedType::UINT_32 => Self::Uint(32),
            ConvertedType::UINT_64 => Self::Uint(64),
            ConvertedType::INT_8 => Self::Int(8),
            ConvertedType::INT_16 => Self::Int(16),
            ConvertedType::INT_32 => Self::Int(32),
            ConvertedType::INT_64 => Self::Int(64),
            _ => return None,
        })
    }

    fn decimal(column: &ColumnDescriptor) -> Option<Self> {
        let (precision, scale) = (column.type_precision(), column.type_scale());
        (0..=LARGEST_SCALE)
            .contains(&scale)
            .then_some(Self::Decimal { precision, scale })
    }

    /// Reports whether values of this type can stand in the physical one; a hostile schema may say otherwise.
    fn fits(self, physical: Physical, length: i32) -> bool {
        match self {
            Self::Bool => physical == Physical::BOOLEAN,
            Self::Int(_) | Self::Uint(_) => matches!(physical, Physical::INT32 | Physical::INT64),
            Self::Half => physical == Physical::FIXED_LEN_BYTE_ARRAY && length == 2,
            Self::Uuid => physical == Physical::FIXED_LEN_BYTE_ARRAY && length == 16,
            Self::Float => physical == Physical::FLOAT,
            Self::Double => physical == Physical::DOUBLE,
            Self::Int96 => physical == Physical::INT96,
            Self::Date | Self::Time(Unit::Millis) => physical == Physical::INT32,
            Self::Time(_) | Self::Timestamp { .. } => physical == Physical::INT64,
            Self::Text | Self::Json => physical == Physical::BYTE_ARRAY,
            Self::Decimal { .. } => !matches!(
                physical,
                Physical::BOOLEAN | Physical::INT96 | Physical::FLOAT | Physical::DOUBLE
            ),
            Self::Binary => true,
        }
    }

    /// Reports whether its times may differ by less than a microsecond.
    #[must_use]
    pub(crate) const fn has_nanos(self) -> bool {
        matches!(
            self,
            Self::Int96
                | Self::Timestamp {
                    unit: Unit::Nanos,
                    ..
                }
        )
    }

    /// The type in words (`decimal(10, 2)`, `timestamp[us, UTC]`).
    #[must_use]
    pub(crate) fn describe(self) -> String {
        match self {
            Self::Bool => "bool".to_owned(),
            Self::Int(bits) => format!("int{bits}"),
            Self::Uint(bits) => format!("uint{bits}"),
            Self::Half => "float16".to_owned(),
            Self::Float => "float32".to_owned(),
            Self::Double => "float64".to_owned(),
            Self::Decimal { precision, scale } => format!("decimal({precision}, {scale})"),
            Self::Date => "date".to_owned(),
            Self::Time(unit) => format!("time[{}]", unit.as_str()),
            Self::Timestamp { unit, utc: true } => format!("timestamp[{}, UTC]", unit.as_str()),
            Self::Timestamp { unit, utc: false } => format!("timestamp[{}]", unit.as_str()),
            Self::Int96 => "timestamp[ns]".to_owned(),
            Self::Text => "string".to_owned(),
            Self::Json => "json".to_owned(),
            Self::Uuid => "uuid".to_owned(),
            Self::Binary => "binary".to_owned(),
        }
    }

    /// The type of its values, as far as the schema alone says it.
    #[must_use]
    pub(crate) const fn column_type(self) -> ColumnType {
        match self {
            Self::Bool => ColumnType::Bool,
            Self::Int(_) | Self::Uint(_) => ColumnType::Int,
            Self::Half | Self::Float | Self::Double | Self::Decimal { .. } => ColumnType::Float,
            Self::Date => ColumnType::Date,
            Self::Timestamp { .. } | Self::Int96 => ColumnType::Datetime,
            Self::Time(_) | Self::Text | Self::Json | Self::Uuid | Self::Binary => ColumnType::Text,
        }
    }

    /// The value at a position, its text in `scratch` where it has none of its own.
    pub(crate) fn value<'a>(
        self,
        values: &'a Values,
        position: usize,
        scratch: &'a mut String,
    ) -> ColumnEntry<'a> {
        scratch.clear();
        let found = match values {
            Values::Bool(values) => values.get(position).map(|value| truth(*value)),
            Values::Int32(values) => values.get(position).map(|value| match self {
                #[expect(clippy::cast_sign_loss, reason = "the schema says that there is no sign")]
                Self::Uint(_) => int(i64::from(*value as u32), scratch),
                other => other.whole(i64::from(*value), scratch),
            }),
            Values::Int64(values) => values.get(position).map(|value| self.whole(*value, scratch)),
            Values::Int96(values) => values.get(position).map(|value| int96(value, scratch)),
            Values::Float(values) => values.get(position).map(|value| {
                let _ = write!(scratch, "{value}");
                float(f64::from(*value), scratch)
            }),
            Values::Double(values) => values.get(position).map(|value| {
                let _ = write!(scratch, "{value}");
                float(*value, scratch)
            }),
            Values::Bytes(values) => values
                .get(position)
                .map(|value| self.bytes(value.data(), scratch)),
            Values::Fixed(values) => values
                .get(position)
                .map(|value| self.bytes(value.data(), scratch)),
        };
        found.unwrap_or(ColumnEntry::Null)
    }

    /// A value of 32 bits outside of a page: its place among the others, and its text.
    #[must_use]
    pub(crate) fn int32(self, value: i32) -> (f64, String) {
        self.alone(&Values::Int32(vec![value]))
    }

    /// A value of 64 bits outside of a page: its place among the others, and its text.
    #[must_use]
    pub(crate) fn int64(self, value: i64) -> (f64, String) {
        self.alone(&Values::Int64(vec![value]))
    }

    fn alone(self, values: &Values) -> (f64, String) {
        match self.value(values, 0, &mut String::new()) {
            ColumnEntry::Value(cell, text) => {
                let place = match cell {
                    Cell::Int(value) => value as f64,
                    Cell::Float(value) => value,
                    Cell::Date(days) => days as f64,
                    Cell::Datetime { micros, .. } => micros as f64,
                    _ => f64::NAN,
                };
                (place, text.to_owned())
            }
            ColumnEntry::Lossy(_) | ColumnEntry::Null => (f64::NAN, String::new()),
        }
    }

    fn whole(self, value: i64, scratch: &mut String) -> ColumnEntry<'_> {
        match self {
            #[expect(clippy::cast_sign_loss, reason = "the schema says that there is no sign")]
            Self::Uint(_) if value < 0 => {
                let value = value as u64;
                let _ = write!(scratch, "{value}");
                ColumnEntry::Value(Cell::Float(value as f64), scratch)
            }
            Self::Decimal { scale, .. } => decimal(i128::from(value), scale, scratch),
            Self::Date => {
                push_date(value, scratch);
                ColumnEntry::Value(Cell::Date(value), scratch)
            }
            Self::Time(unit) => {
                push_clock(value, unit, scratch);
                ColumnEntry::Value(Cell::Text(scratch), scratch)
            }
            Self::Timestamp { unit, utc } => timestamp(value, unit, utc, scratch),
            _ => int(value, scratch),
        }
    }

    fn bytes<'a>(self, bytes: &'a [u8], scratch: &'a mut String) -> ColumnEntry<'a> {
        match self {
            Self::Text | Self::Json => {
                if let Ok(text) = std::str::from_utf8(bytes) {
                    return ColumnEntry::Value(typed(text), text);
                }
                scratch.push_str(&String::from_utf8_lossy(bytes));
                ColumnEntry::Lossy(scratch)
            }
            Self::Decimal { scale, .. } if bytes.len() <= WIDEST_DECIMAL => {
                decimal(big_endian(bytes), scale, scratch)
            }
            Self::Half => {
                let value = half(bytes);
                let _ = write!(scratch, "{value}");
                float(value, scratch)
            }
            Self::Uuid => {
                for (position, byte) in bytes.iter().enumerate() {
                    if matches!(position, 4 | 6 | 8 | 10) {
                        scratch.push('-');
                    }
                    let _ = write!(scratch, "{byte:02x}");
                }
                ColumnEntry::Value(Cell::Text(scratch), scratch)
            }
            _ => {
                push_bytes(bytes, scratch);
                ColumnEntry::Value(Cell::Text(scratch), scratch)
            }
        }
    }
}
