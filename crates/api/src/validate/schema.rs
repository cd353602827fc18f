//! Violations of the `OpenAPI` schema, in the API server's words.

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::paths::{Location, LocationSegment};
use jsonschema::{Draft, ValidationError};
use serde_json::Value;

use super::{SpecFault, patterns};

/// Values that are of the wrong type, out of bounds or missing.
pub(super) fn violations(schema: &Value, object: &Value) -> Vec<SpecFault> {
    // OpenAPI 3.0 is closest to draft 4: `exclusiveMinimum` is a boolean, 1.0 is no integer.
    match jsonschema::options().with_draft(Draft::Draft4).build(schema) {
        Ok(validator) => validator
            .iter_errors(object)
            .map(|error| fault(schema, &error))
            .collect(),
        Err(error) => vec![SpecFault::new(
            "",
            format!("the definition's schema is invalid: {error}"),
        )],
    }
}

fn fault(schema: &Value, error: &ValidationError<'_>) -> SpecFault {
    let mut path = path(error.instance_path());
    if let ValidationErrorKind::Required {
        property: Value::String(property),
    } = error.kind()
    {
        path = if path.is_empty() {
            property.clone()
        } else {
            format!("{path}.{property}")
        };
    }
    SpecFault::new(path, words(schema, error))
}

fn words(schema: &Value, error: &ValidationError<'_>) -> String {
    let given = shortened(error.instance());
    match error.kind() {
        ValidationErrorKind::Required { .. } => "Required value".to_owned(),
        ValidationErrorKind::Type {
            kind: TypeKind::Single(expected),
        } => wrong_type(
            error.instance(),
            &expected.to_string(),
            advice_beside(schema, error),
        ),
        ValidationErrorKind::Enum { options } => {
            format!("Unsupported value: {given}: supported values: {}", list(options))
        }
        ValidationErrorKind::Pattern { pattern } => {
            let advice = patterns::advice(pattern).unwrap_or_else(|| format!("should match '{pattern}'"));
            format!("Invalid value: {given}: {advice}")
        }
        ValidationErrorKind::Minimum { limit } => {
            format!(
                "Invalid value: {given}: should be greater than or equal to {}",
                number(limit)
            )
        }
        ValidationErrorKind::Maximum { limit } => {
            format!(
                "Invalid value: {given}: should be less than or equal to {}",
                number(limit)
            )
        }
        ValidationErrorKind::MinLength { limit } => {
            format!("Invalid value: {given}: should be at least {limit} chars long")
        }
        ValidationErrorKind::MaxLength { limit } => {
            format!("Too long: may not be more than {limit} chars long")
        }
        ValidationErrorKind::MaxItems { limit } => {
            let length = error.instance().as_array().map_or(0, Vec::len);
            format!("Too many: {length}: must have at most {limit} items")
        }
        ValidationErrorKind::MaxProperties { limit } => {
            let length = error.instance().as_object().map_or(0, serde_json::Map::len);
            format!("Too many: {length}: must have at most {limit} items")
        }
        _ => format!("Invalid value: {error}"),
    }
}

/// Returns the advice of the pattern that stands beside the broken type.
fn advice_beside(schema: &Value, error: &ValidationError<'_>) -> Option<String> {
    let (field, _) = error.schema_path().as_str().rsplit_once('/')?;
    let pattern = schema.pointer(field)?.get("pattern")?.as_str()?;
    patterns::advice(pattern)
}

fn wrong_type(instance: &Value, expected: &str, advice: Option<String>) -> String {
    let given = match instance {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let cure = match (expected, instance) {
        // The value is not repeated: 3.10 is the number 3.1 by now, and yes is true.
        // `n` is a name to whoever writes it.
        ("string", Value::Bool(_)) if advice.is_some() => {
            ": write it in quotes, as it stands in the file: without them y, n, yes, no, on and off are true or false".to_owned()
        }
        ("string", Value::Bool(_) | Value::Number(_)) => {
            let advice = advice.unwrap_or_else(|| "write it in quotes, as it stands in the file".to_owned());
            format!(": {advice}")
        }
        ("integer" | "number", Value::String(text)) if text.parse::<f64>().is_ok() => {
            ": write it without quotes".to_owned()
        }
        ("boolean", Value::String(_)) => ": write true or false, without quotes".to_owned(),
        ("array", _) => ": write a list".to_owned(),
        _ => String::new(),
    };
    format!("Invalid value: {given:?}: must be of type {expected}{cure}")
}

/// A bound without the point that `OpenAPI`'s floating-point bounds bring along.
fn number(limit: &Value) -> String {
    limit
        .as_f64()
        .map_or_else(|| limit.to_string(), |limit| limit.to_string())
}

fn list(options: &Value) -> String {
    options
        .as_array()
        .into_iter()
        .flatten()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(", ")
}

/// A value as JSON, cut where it would hide the message.
fn shortened(value: &Value) -> String {
    const MOST: usize = 80;
    let text = value.to_string();
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

fn path(location: &Location) -> String {
    let mut path = String::new();
    for segment in location {
        match segment {
            LocationSegment::Index(index) => path.extend(["[", &index.to_string(), "]"]),
            LocationSegment::Property(name) => {
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(&name);
            }
        }
    }
    path
}
