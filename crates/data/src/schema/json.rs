//! The schema of JSON: how Python's own reader reads it, since pandas guesses dates and types, and the types of its values.

use std::collections::HashSet;

use crate::format::json::keys::ANY_KEY;
use crate::profile::{ColumnType, Layout, PlainColumn, SampleProfile, TableProfile};

use super::packed::open_text;
use super::{SchemaColumn, whole_dtype};

/// Reads one value after another, with blanks between them.
const VALUES: &str = "content = text.read()\n    \
    decoder, records, position = json.JSONDecoder(), [], 0\n    \
    while content[position:position + 1].isspace():\n        position += 1\n    \
    while position < len(content):\n        \
    record, position = decoder.raw_decode(content, position)\n        \
    records.append(record)\n        \
    while content[position:position + 1].isspace():\n            position += 1\n    \
    return pandas.json_normalize(records)";

/// The body of the function that reads the records.
pub(super) fn reader(profile: &SampleProfile, layout: &Layout) -> String {
    let open = open_text(profile);
    match layout {
        Layout::JsonLines => {
            format!("{open}return pandas.json_normalize([json.loads(line) for line in text if line.strip()])")
        }
        Layout::JsonValues => format!("{open}{VALUES}"),
        _ => format!("{open}return pandas.json_normalize(json.load(text))"),
    }
}

/// Only paths without `[]` and `{key}`: a list stays one value of a data frame, and keys that are data are not known. Dates stay
/// text, as JSON has them.
pub(super) fn columns(table: &TableProfile) -> Vec<SchemaColumn> {
    let columns: Vec<_> = table.all_columns().collect();
    let outer: HashSet<&str> = columns.iter().flat_map(|column| ways_to(&column.name)).collect();
    let is_one_value = |column: &&PlainColumn| !column.name.contains("[]") && !column.name.contains(ANY_KEY);
    let described = columns.iter().filter(is_one_value).map(|column| SchemaColumn {
        name: column.name.clone(),
        type_: column.type_,
        // A path that is a scalar here and an object or list there holds anything.
        dtype: dtype(column)
            .filter(|_| !outer.contains(column.name.as_str()))
            .map(str::to_owned),
        nullable: column.values < table.records,
    });
    described.collect()
}

const fn dtype(column: &PlainColumn) -> Option<&'static str> {
    match column.type_ {
        ColumnType::Int => Some(whole_dtype(column)),
        ColumnType::Float => Some("Float64"),
        ColumnType::Bool => Some("boolean"),
        ColumnType::Date | ColumnType::Datetime | ColumnType::Text => Some("string"),
        ColumnType::Mixed | ColumnType::Empty => None,
    }
}

/// The paths that lead to a path (`a` and `a.b` to `a.b[]`).
fn ways_to(path: &str) -> impl Iterator<Item = &str> {
    path.char_indices()
        .filter(|(_, character)| matches!(character, '.' | '['))
        .map(move |(end, _)| &path[..end])
}
