//! YAML as kubectl and kustomize read it: rules of YAML 1.1 that no library of YAML 1.2 has, and a bound on what aliases unfold to.
//!
//! kubectl takes a file apart at lines that begin with `---` and turns each part into JSON on its own; so does this.

mod compose;
mod scalar;

use serde_json::{Map, Number, Value};

/// Dialect whose reading counts where the two differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum YamlDialect {
    /// `kubectl apply -f`: `yes` is true, and of a key that stands twice the last value counts.
    Kubectl,
    /// A resource of a kustomization: `yes` is a text, and no key stands twice.
    Kustomize,
}

/// One document of a text.
#[derive(Clone, PartialEq)]
pub struct YamlDocument {
    /// Value of the document.
    pub value: Value,
    /// Notices for a person about how it was read; no value of the document stands in it.
    pub notices: Vec<String>,
}

/// A text that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct YamlError {
    /// Number of the document, counted from 1.
    pub document: usize,
    /// `YAML` or `JSON`.
    pub format: &'static str,
    /// Description and place of the fault; never a piece of the text, which may be a Secret.
    pub message: String,
}

/// Every document of `text`; one that is empty is null.
pub fn read(text: &str, dialect: YamlDialect) -> Result<Vec<YamlDocument>, YamlError> {
    let mut documents = Vec::new();
    let parts = parts(text)?;
    let count = parts.len();
    for (index, part) in parts.into_iter().enumerate() {
        let is_only = count == 1;
        let found = match dialect {
            YamlDialect::Kubectl if part.text.trim_start().starts_with('{') => json_first(&part, is_only),
            _ => yaml(&part, dialect).map(|document| vec![document]),
        };
        let found = found.map_err(|(format, message)| YamlError {
            document: documents.len() + 1,
            format,
            message,
        })?;
        // What stands before the first separator is a document only if it says something.
        let is_nothing = |read: &YamlDocument| read.value.is_null();
        if index == 0 && !is_only && found.iter().all(is_nothing) {
            continue;
        }
        documents.extend(found);
    }
    Ok(documents)
}

/// Text between two separators.
struct Part<'a> {
    text: &'a str,
    /// Lines of the file above it.
    lines_before: usize,
}

fn parts(text: &str) -> Result<Vec<Part<'_>>, YamlError> {
    let mut parts = Vec::new();
    let (mut start, mut lines_before, mut offset) = (0, 0, 0);
    for (number, line) in (1..).zip(text.split_inclusive('\n')) {
        if let Some(rest) = line.strip_prefix("---") {
            let rest = rest.trim();
            if !rest.is_empty() && !rest.starts_with('#') {
                return Err(YamlError {
                    document: parts.len() + 1,
                    format: "YAML",
                    message: format!(
                        "a line that begins with --- holds nothing else: begin a new line after it (line {number})"
                    ),
                });
            }
            parts.push(Part {
                text: &text[start..offset],
                lines_before,
            });
            (start, lines_before) = (offset + line.len(), number);
        }
        offset += line.len();
    }
    parts.push(Part {
        text: &text[start..],
        lines_before,
    });
    Ok(parts)
}

type Failure = (&'static str, String);

fn yaml(part: &Part<'_>, dialect: YamlDialect) -> Result<YamlDocument, Failure> {
    compose::compose(part.text, part.lines_before, dialect).map_err(|message| ("YAML", message))
}

/// Reads what begins with a brace as JSON, of any number of documents, or else YAML that begins with one. When it is neither, the error is
/// that of the format of the whole text.
fn json_first(part: &Part<'_>, is_only: bool) -> Result<Vec<YamlDocument>, Failure> {
    let values: Result<Vec<Value>, _> = serde_json::Deserializer::from_str(part.text)
        .into_iter()
        .collect();
    let error = match values {
        Ok(values) => {
            let plain = |value| YamlDocument {
                value: as_in_json(value),
                notices: Vec::new(),
            };
            return Ok(values.into_iter().map(plain).collect());
        }
        Err(error) => error,
    };
    match yaml(part, YamlDialect::Kubectl) {
        Ok(document) => Ok(vec![document]),
        Err(_) if is_only => Err(("JSON", error.to_string())),
        Err(error) => Err(error),
    }
}

/// Numbers as Go writes them into JSON: whole ones without a point, and those beyond 64 bits as what is nearest.
fn as_in_json(value: Value) -> Value {
    match value {
        Value::Number(found) => found.as_i64().map_or_else(
            || found.as_f64().map_or(Value::Null, number),
            |whole| Value::Number(whole.into()),
        ),
        Value::Array(items) => items.into_iter().map(as_in_json).collect(),
        Value::Object(fields) => {
            let fields: Map<String, Value> = fields
                .into_iter()
                .map(|(name, field)| (name, as_in_json(field)))
                .collect();
            Value::Object(fields)
        }
        value => value,
    }
}

/// A finite number as JSON has it.
fn number(value: f64) -> Value {
    const BEYOND: f64 = 9_223_372_036_854_775_808.0;
    if value.fract() == 0.0 && value.abs() < BEYOND {
        #[expect(clippy::cast_possible_truncation, reason = "whole, and within 64 bits")]
        return Value::Number((value as i64).into());
    }
    Number::from_f64(value).map_or(Value::Null, Value::Number)
}

#[cfg(test)]
mod tests;
