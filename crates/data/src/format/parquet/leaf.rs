//! The columns of a Parquet schema as paths (`user.city`, `items[].price`) with the levels at which they have values.

use parquet::basic::{ConvertedType, LogicalType, Repetition};
use parquet::schema::types::{SchemaDescriptor, Type};

use super::value::Logical;

/// One path to values.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Leaf {
    /// Its path, as JSON records have it: `[]` for the elements of a list or of a map.
    pub path: String,
    /// Type of its values.
    pub logical: Logical,
    /// True where it is a field of the records themselves.
    pub is_flat: bool,
    /// Definition level of a value.
    pub(super) full_level: i16,
    /// Definition level from which a value could stand here, be it missing.
    pub(super) parent_level: i16,
}

/// The leaves of a schema, in its order.
pub(super) fn leaves(schema: &SchemaDescriptor) -> Vec<Leaf> {
    let mut paths = Vec::new();
    for field in schema.root_schema().get_fields() {
        walk(field, "", &mut paths);
    }
    schema
        .columns()
        .iter()
        .zip(paths)
        .map(|(column, path)| {
            let is_optional = repetition(column.self_type()) == Repetition::OPTIONAL;
            let full_level = column.max_def_level();
            Leaf {
                path,
                logical: Logical::of(column),
                is_flat: column.path().parts().len() == 1 && column.max_rep_level() == 0,
                full_level,
                parent_level: full_level - i16::from(is_optional),
            }
        })
        .collect()
}

fn repetition(field: &Type) -> Repetition {
    let info = field.get_basic_info();
    if info.has_repetition() {
        info.repetition()
    } else {
        Repetition::REQUIRED
    }
}

fn walk(field: &Type, parent: &str, paths: &mut Vec<String>) {
    let dot = if parent.is_empty() { "" } else { "." };
    let mut path = format!("{parent}{dot}{}", field.name());
    if repetition(field) == Repetition::REPEATED {
        path.push_str("[]");
    }
    descend(field, &path, paths);
}

/// Appends the paths below a field whose own path is `path`.
fn descend(field: &Type, path: &str, paths: &mut Vec<String>) {
    if field.is_primitive() {
        paths.push(path.to_owned());
        return;
    }
    let fields = field.get_fields();
    if let ([repeated], true) = (fields, is_list(field) || is_map(field))
        && repetition(repeated) == Repetition::REPEATED
    {
        let elements = format!("{path}[]");
        match repeated.is_group().then(|| repeated.get_fields()) {
            // The wrapper around an element has no name of its own; old writers leave it out.
            Some([element]) if is_list(field) && !is_bare_element(repeated, field.name()) => {
                if repetition(element) == Repetition::REPEATED {
                    walk(element, &elements, paths);
                } else {
                    descend(element, &elements, paths);
                }
            }
            _ => descend(repeated, &elements, paths),
        }
        return;
    }
    for inner in fields {
        walk(inner, path, paths);
    }
}

/// A repeated group that is itself the element of its list, by the rules for lists of old writers.
fn is_bare_element(repeated: &Type, list: &str) -> bool {
    repeated.name() == "array" || repeated.name() == format!("{list}_tuple")
}

fn is_list(field: &Type) -> bool {
    let info = field.get_basic_info();
    info.logical_type_ref() == Some(&LogicalType::List) || info.converted_type() == ConvertedType::LIST
}

fn is_map(field: &Type) -> bool {
    let info = field.get_basic_info();
    info.logical_type_ref() == Some(&LogicalType::Map)
        || matches!(
            info.converted_type(),
            ConvertedType::MAP | ConvertedType::MAP_KEY_VALUE
        )
}
