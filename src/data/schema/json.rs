//! The schema of JSON: how Python's own reader reads it, since pandas guesses dates and types, and the types of its values.

use std::collections::HashSet;

use crate::format::json::keys::ANY_KEY;
use crate::profile::{ColumnProfile, ColumnType, FurtherColumn, Layout, SampleProfile, TableProfile};

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
    let described = table.columns.iter().map(|column| &column.name);
    let all = described.chain(table.further.iter().map(|column| &column.name));
    let outer: HashSet<&str> = all.flat_map(|name| ways_to(name)).collect();
    let column = |name: &str, type_: ColumnType, whole: Option<&str>, values: u64| SchemaColumn {
        name: name.to_owned(),
        type_,
        // A path that is a scalar here and an object or list there holds anything.
        dtype: dtype(type_, whole)
            .filter(|_| !outer.contains(name))
            .map(str::to_owned),
        nullable: values < table.records,
    };
    let described = |one: &ColumnProfile| column(&one.name, one.type_, whole_dtype(one), one.values);
    let further = |one: &FurtherColumn| {
        let whole = if one.is_wide { "UInt64" } else { "Int64" };
        column(&one.name, one.type_, Some(whole), one.values)
    };
    let is_one_value = |column: &SchemaColumn| !column.name.contains("[]") && !column.name.contains(ANY_KEY);
    let columns = table.columns.iter().map(described);
    columns
        .chain(table.further.iter().map(further))
        .filter(is_one_value)
        .collect()
}

fn dtype(type_: ColumnType, whole: Option<&str>) -> Option<&str> {
    match type_ {
        ColumnType::Int => whole,
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
