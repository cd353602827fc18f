//! Walks an object along its schema: fields that are not in it, and nulls.

use serde_json::{Map, Value};

use super::SpecFault;

/// Fields that the schema does not have, each with the nearest one that it has.
pub(super) fn unknown(schema: &Value, object: &Value) -> Vec<SpecFault> {
    let mut faults = Vec::new();
    walk(schema, object, "", &Value::Null, &mut faults);
    faults
}

/// Removes fields that are `null`, as the API server does on arrival.
pub(super) fn drop_nulls(schema: &Value, value: &mut Value) {
    // Free-form content belongs to somebody else, where `null` may mean something.
    if is_free_form(schema) {
        return;
    }
    match value {
        Value::Object(fields) => {
            fields.retain(|_, field| !field.is_null());
            for (name, field) in fields {
                if let Some(schema) = member(schema, name) {
                    drop_nulls(schema, field);
                }
            }
        }
        Value::Array(items) => {
            for item in items {
                drop_nulls(&schema["items"], item);
            }
        }
        _ => {}
    }
}

/// `above` is the schema of the object that holds this one.
fn walk(schema: &Value, value: &Value, path: &str, above: &Value, faults: &mut Vec<SpecFault>) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                let here = if path.is_empty() {
                    name.clone()
                } else {
                    format!("{path}.{name}")
                };
                match member(schema, name) {
                    Some(member) => walk(member, field, &here, schema, faults),
                    None if is_free_form(schema) || !schema["properties"].is_object() => {}
                    None => {
                        let advice = file_of_this_machine(path, fields, name)
                            .or_else(|| one_level_higher(above, path, name))
                            .unwrap_or_else(|| advice(schema, name, path.is_empty()));
                        faults.push(SpecFault::new(here, advice));
                    }
                }
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                walk(&schema["items"], item, &format!("{path}[{index}]"), above, faults);
            }
        }
        _ => {}
    }
}

fn member<'a>(schema: &'a Value, name: &str) -> Option<&'a Value> {
    // A map has no properties of its own, and one schema for all of its values.
    let named = schema["properties"].get(name);
    named.or_else(|| {
        schema
            .get("additionalProperties")
            .filter(|values| values.is_object())
    })
}

fn is_free_form(schema: &Value) -> bool {
    schema["x-kubernetes-preserve-unknown-fields"] == Value::Bool(true)
}

/// Fields in which most people try to name a file of their machine first.
const FILE_FIELDS: [&str; 4] = ["path", "file", "filepath", "csv"];

/// Returns the advice for a sample or an input that is given by a path of this machine.
fn file_of_this_machine(path: &str, entry: &Map<String, Value>, name: &str) -> Option<String> {
    let option = match path.strip_prefix("spec.")?.split_once('[')?.0 {
        "samples" => "--sample",
        "inputs" => "--input",
        _ => return None,
    };
    let own = entry.get("name").and_then(Value::as_str).unwrap_or("NAME");
    FILE_FIELDS.contains(&name.to_lowercase().as_str()).then(|| {
        format!(
            "unknown field {name:?}: a manifest names no file of a machine: make a ConfigMap of it, as a kustomization's \
             configMapGenerator does, and name that with configMapKeyRef; {option} {own}=PATH then puts any file in its place"
        )
    })
}

/// Reports whether a fault is such a field of the entry at `path`, whose source is missing for that reason alone.
pub(super) fn is_file_of(fault: &SpecFault, path: &str) -> bool {
    let field = fault
        .path
        .strip_prefix(path)
        .and_then(|rest| rest.strip_prefix('.'));
    field.is_some_and(|field| FILE_FIELDS.contains(&field.to_lowercase().as_str()))
}

/// Returns the advice for a field that belongs to the object around this one.
fn one_level_higher(above: &Value, path: &str, name: &str) -> Option<String> {
    above["properties"].get(name)?;
    let place = path
        .rsplit_once('.')
        .map_or(name.to_owned(), |(outer, _)| format!("{outer}.{name}"));
    Some(format!(
        "unknown field {name:?}: write it one level higher, as {place}"
    ))
}

fn advice(schema: &Value, name: &str, at_root: bool) -> String {
    let known: Vec<&str> = schema["properties"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, _)| name.as_str())
        .collect();
    // A field of the spec may stand one level too high; its nearest name would mislead then.
    if at_root && schema["properties"]["spec"]["properties"].get(name).is_some() {
        return format!("unknown field {name:?}: write it under spec");
    }
    match nearest(&known, name) {
        Some(near) => format!("unknown field {name:?}: did you mean {near:?}?"),
        None => format!("unknown field {name:?}: the fields here are {}", known.join(", ")),
    }
}

/// The name among `known` that differs by a typing error, by case or by underscores.
pub(super) fn nearest<'a>(known: &[&'a str], name: &str) -> Option<&'a str> {
    let plain = |name: &str| name.replace(['_', '-'], "").to_lowercase();
    let name = plain(name);
    known
        .iter()
        .map(|known| (strsim::damerau_levenshtein(&plain(known), &name), *known))
        .min()
        .filter(|(distance, _)| *distance <= (name.chars().count() / 3).max(1))
        .map(|(_, known)| known)
}
