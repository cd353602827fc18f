//! JSON Schema as types of Python.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::lines::{cut, in_one_line};
use crate::names::class_name;
use crate::types::{Field, Object, Type};

/// Objects in objects beyond this depth are of any type.
const MAX_DEPTH: usize = 6;
/// Fields of one object that the model reads; one with more is a mapping.
const MAX_FIELDS: usize = 64;
/// Values of an enumeration that the model reads.
const MAX_LITERALS: usize = 32;
/// Characters of a description.
const DESCRIPTION_CHARS: usize = 120;

/// The format that says that a string is the handle of a file.
pub const FILE_FORMAT: &str = "codegen-file";

/// The type that `schema` describes. What no type of Python says is `Any`: the schema itself is what arguments and results are checked
/// against, and what a reference that is left stands for is anything. `name` is what objects in it are named after (`["exchange_rate", "result"]`), and
/// `classes` the names that are taken.
#[must_use]
pub fn type_of(schema: &Value, name: &[&str], classes: &mut BTreeSet<String>) -> Type {
    let mut reader = Reader { classes };
    let mut place = name.iter().map(|part| (*part).to_owned()).collect();
    reader.read(schema, &mut place, 0)
}

struct Reader<'c> {
    classes: &'c mut BTreeSet<String>,
}

impl Reader<'_> {
    fn read(&mut self, schema: &Value, place: &mut Vec<String>, depth: usize) -> Type {
        if depth > MAX_DEPTH {
            return Type::Any;
        }
        if let Some(values) = schema["enum"].as_array() {
            return literals(values);
        }
        if let Some(value) = schema.get("const") {
            return literals(std::slice::from_ref(value));
        }
        for of in ["anyOf", "oneOf"] {
            if let Some(schemas) = schema[of].as_array() {
                return union(schemas.iter().map(|one| self.read(one, place, depth + 1)));
            }
        }
        if let Some([only]) = schema["allOf"].as_array().map(Vec::as_slice) {
            return self.read(only, place, depth + 1);
        }
        match &schema["type"] {
            Value::String(kind) => self.read_kind(kind, schema, place, depth),
            Value::Array(kinds) => union(kinds.iter().map(|kind| {
                let kind = kind.as_str().unwrap_or_default();
                self.read_kind(kind, schema, place, depth)
            })),
            // A schema that says nothing of the type, as many servers write them.
            _ if schema["properties"].is_object() => self.read_object(schema, place, depth),
            _ => Type::Any,
        }
    }

    fn read_kind(&mut self, kind: &str, schema: &Value, place: &mut Vec<String>, depth: usize) -> Type {
        match kind {
            "null" => Type::None,
            "boolean" => Type::Bool,
            "integer" => Type::Int,
            "number" => Type::Float,
            "string" => match schema["format"].as_str() {
                Some("date") => Type::Date,
                Some("date-time") => Type::DateTime,
                _ => Type::Str,
            },
            "array" => match schema.get("items") {
                Some(items) => {
                    place.push("item".to_owned());
                    let items = self.read(items, place, depth + 1);
                    place.pop();
                    Type::List(Box::new(items))
                }
                None => Type::List(Box::new(Type::Any)),
            },
            "object" => self.read_object(schema, place, depth),
            _ => Type::Any,
        }
    }

    fn read_object(&mut self, schema: &Value, place: &mut Vec<String>, depth: usize) -> Type {
        if schema["format"].as_str() == Some(FILE_FORMAT) {
            return Type::File;
        }
        let properties = schema["properties"].as_object();
        let is_shown = |count: usize| (1..=MAX_FIELDS).contains(&count);
        let Some(properties) = properties.filter(|properties| is_shown(properties.len())) else {
            let values = &schema["additionalProperties"];
            let values = if values.is_object() {
                self.read(values, place, depth + 1)
            } else {
                Type::Any
            };
            return Type::Dict(Box::new(values));
        };
        let is_required = |name: &str| {
            let required = schema["required"].as_array();
            required.is_some_and(|names| names.iter().any(|required| required == name))
        };
        let mut fields = Vec::with_capacity(properties.len());
        for (name, schema) in properties {
            place.push(name.clone());
            let type_ = self.read(schema, place, depth + 1);
            place.pop();
            fields.push(Field {
                name: name.clone(),
                type_,
                is_required: is_required(name),
                description: one_line(schema["description"].as_str().unwrap_or_default()),
            });
        }
        let name = self.class(place);
        Type::Object(Object { name, fields })
    }

    /// A name for the class at `place` that nothing else has.
    fn class(&mut self, place: &[String]) -> String {
        let parts: Vec<_> = place.iter().map(String::as_str).collect();
        let name = class_name(&parts);
        let mut free = name.clone();
        let mut number = 2;
        while !self.classes.insert(free.clone()) {
            free = format!("{name}{number}");
            number += 1;
        }
        free
    }
}

/// A description in one line, cut.
#[must_use]
pub fn one_line(text: &str) -> String {
    let line = in_one_line(text).split_whitespace().collect::<Vec<_>>().join(" ");
    cut(&line, DESCRIPTION_CHARS, " ...")
}

fn literals(values: &[Value]) -> Type {
    let is_scalar = |value: &Value| value.is_string() || value.is_i64() || value.is_boolean();
    let scalars: Vec<_> = values.iter().filter(|value| is_scalar(value)).cloned().collect();
    let has_none = values.iter().any(Value::is_null);
    if scalars.len() + usize::from(has_none) != values.len() || scalars.len() > MAX_LITERALS {
        return Type::Any;
    }
    match (scalars.is_empty(), has_none) {
        (true, true) => Type::None,
        (true, false) => Type::Any,
        (false, false) => Type::Literal(scalars),
        (false, true) => Type::Union(vec![Type::Literal(scalars), Type::None]),
    }
}

/// One of these types, each said once, `None` last.
pub(crate) fn union(types: impl Iterator<Item = Type>) -> Type {
    let mut of: Vec<Type> = Vec::new();
    for one in types {
        let parts = match one {
            Type::Union(parts) => parts,
            other => vec![other],
        };
        for part in parts {
            if part == Type::Any {
                return Type::Any;
            }
            if !of.contains(&part) {
                of.push(part);
            }
        }
    }
    of.sort_by_key(|one| *one == Type::None);
    match of.len() {
        0 => Type::Any,
        1 => of.remove(0),
        _ => Type::Union(of),
    }
}
