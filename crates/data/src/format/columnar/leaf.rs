//! The columns of a schema as paths (`user.city`, `items[].price`), and their values in a row.

use std::ops::Range;

use arrow_array::cast::AsArray as _;
use arrow_array::{Array, OffsetSizeTrait};
use arrow_schema::{DataType, Fields, TimeUnit};

use crate::profile::ColumnType;

use super::value::{ColumnEntry, TextForm, value};

/// One path to values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Leaf {
    /// Its path, as JSON records have it: `[]` for the elements of a list or of a map.
    pub path: String,
    /// Type of its values in words (`decimal(10, 2)`, `timestamp[us, UTC]`).
    pub declared: String,
    /// Type of its values, as far as the schema alone says it.
    pub type_: ColumnType,
    /// Position of the field of the records that holds it.
    pub field: usize,
    /// True where it is a field of the records themselves.
    pub is_flat: bool,
    /// Form of its texts and bytes.
    pub(super) form: TextForm,
    /// Positions of the fields on the way from there.
    inner: Vec<usize>,
}

/// Lists the leaves of a schema, in its order.
pub(super) fn leaves(fields: &Fields) -> Vec<Leaf> {
    let mut found = Vec::new();
    for (position, field) in fields.iter().enumerate() {
        let leaf = Leaf {
            path: field.name().clone(),
            declared: String::new(),
            type_: ColumnType::Empty,
            field: position,
            is_flat: true,
            form: TextForm::Bytes,
            inner: Vec::new(),
        };
        descend(field.data_type(), leaf, &mut found);
    }
    found
}

fn descend(type_: &DataType, mut leaf: Leaf, found: &mut Vec<Leaf>) {
    leaf.is_flat &= !type_.is_nested();
    match type_ {
        DataType::Struct(fields) => {
            for (position, field) in fields.iter().enumerate() {
                let mut below = leaf.clone();
                below.path = format!("{}.{}", leaf.path, field.name());
                below.inner.push(position);
                descend(field.data_type(), below, found);
            }
        }
        DataType::List(element)
        | DataType::LargeList(element)
        | DataType::FixedSizeList(element, _)
        | DataType::Map(element, _) => {
            leaf.path.push_str("[]");
            descend(element.data_type(), leaf, found);
        }
        scalar => found.push(Leaf {
            declared: declared(scalar),
            type_: column_type(scalar),
            form: if is_text(scalar) {
                TextForm::Text
            } else {
                TextForm::Bytes
            },
            ..leaf
        }),
    }
}

impl Leaf {
    /// Hands its values in a row to `take`: one or none, or one for each element of a list.
    pub(crate) fn each(
        &self,
        field: &dyn Array,
        row: usize,
        scratch: &mut String,
        take: &mut impl FnMut(ColumnEntry<'_>),
    ) {
        self.walk(field, row, &self.inner, scratch, take);
    }

    fn walk(
        &self,
        array: &dyn Array,
        row: usize,
        inner: &[usize],
        scratch: &mut String,
        take: &mut impl FnMut(ColumnEntry<'_>),
    ) {
        let is_nested = array.data_type().is_nested();
        // Below a list or a record that is missing there is nothing that could lack a value.
        if is_nested && array.is_null(row) {
            return;
        }
        let (elements, rows): (&dyn Array, _) = match array.data_type() {
            DataType::Struct(_) => {
                if let Some((first, rest)) = inner.split_first() {
                    self.walk(array.as_struct().column(*first), row, rest, scratch, take);
                }
                return;
            }
            DataType::List(_) => {
                let list = array.as_list::<i32>();
                (list.values(), rows_of(list.value_offsets(), row))
            }
            DataType::LargeList(_) => {
                let list = array.as_list::<i64>();
                (list.values(), rows_of(list.value_offsets(), row))
            }
            DataType::Map(..) => {
                let map = array.as_map();
                (map.entries(), rows_of(map.value_offsets(), row))
            }
            DataType::FixedSizeList(..) => {
                let list = array.as_fixed_size_list();
                let length = usize::try_from(list.value_length()).unwrap_or_default();
                (list.values(), row * length..(row + 1) * length)
            }
            _ => return take(value(array, row, self.form, scratch)),
        };
        for element in rows {
            self.walk(elements, element, inner, scratch, take);
        }
    }
}

fn rows_of<O: OffsetSizeTrait>(offsets: &[O], row: usize) -> Range<usize> {
    offsets[row].as_usize()..offsets[row + 1].as_usize()
}

fn is_text(type_: &DataType) -> bool {
    match type_ {
        DataType::Dictionary(_, values) => is_text(values),
        other => other.is_string(),
    }
}

fn declared(type_: &DataType) -> String {
    let unit = |unit: &TimeUnit| match unit {
        TimeUnit::Second => "s",
        TimeUnit::Millisecond => "ms",
        TimeUnit::Microsecond => "us",
        TimeUnit::Nanosecond => "ns",
    };
    match type_ {
        DataType::Boolean => "bool".to_owned(),
        DataType::Decimal32(precision, scale)
        | DataType::Decimal64(precision, scale)
        | DataType::Decimal128(precision, scale)
        | DataType::Decimal256(precision, scale) => format!("decimal({precision}, {scale})"),
        DataType::Date32 | DataType::Date64 => "date".to_owned(),
        DataType::Time32(at) | DataType::Time64(at) => format!("time[{}]", unit(at)),
        DataType::Timestamp(at, Some(zone)) if is_zone(zone) => format!("timestamp[{}, {zone}]", unit(at)),
        DataType::Timestamp(at, _) => format!("timestamp[{}]", unit(at)),
        DataType::Duration(at) => format!("duration[{}]", unit(at)),
        DataType::Dictionary(_, values) => format!("categories of {}", declared(values)),
        text if text.is_string() => "string".to_owned(),
        bytes if bytes.is_binary() => "binary".to_owned(),
        other => {
            let name = other.to_string().to_lowercase();
            // Behind the name may stand fields, which anybody can name.
            name.split('(').next().unwrap_or_default().to_owned()
        }
    }
}

/// Reports whether a text has the form of a time zone (`Europe/Zurich`, `+01:00`): nothing else is repeated.
fn is_zone(text: &str) -> bool {
    text.len() <= 40
        && text.chars().all(|character| {
            character.is_ascii_alphanumeric() || matches!(character, '/' | '_' | '+' | '-' | ':')
        })
}

fn column_type(type_: &DataType) -> ColumnType {
    match type_ {
        DataType::Boolean => ColumnType::Bool,
        DataType::Date32 | DataType::Date64 => ColumnType::Date,
        DataType::Timestamp(..) => ColumnType::Datetime,
        DataType::Duration(_) => ColumnType::Int,
        whole if whole.is_integer() => ColumnType::Int,
        number if number.is_numeric() => ColumnType::Float,
        _ => ColumnType::Text,
    }
}
