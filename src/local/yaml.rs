//! YAML as kubectl and kustomize read it, by options of the library, with the place of what is wrong.
//!
//! kubectl takes a file apart at lines that begin with `---` and turns each part into JSON on its own; so does this.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use serde_saphyr::{DuplicateKeyPolicy, Error, Location, Options, UserMessageFormatter};

/// Bytes that aliases of a document may unfold to: far above a manifest, far below memory.
const MOST_UNFOLDED: usize = 16 * 1024 * 1024;

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
    let read =
        |policy| serde_saphyr::from_str_with_options::<YamlValue>(part.text, options(part, dialect, policy));
    match read(DuplicateKeyPolicy::Error) {
        Ok(node) => Ok(document(node, Vec::new())),
        Err(Error::DuplicateMappingKey { key, location }) if dialect == YamlDialect::Kubectl => {
            let node = read(DuplicateKeyPolicy::LastWins).map_err(|error| ("YAML", message(&error, part)))?;
            let key = key.unwrap_or_default();
            let place = place(&location, part);
            let notice = format!("the key {key:?} stands twice, and the last one counts ({place})");
            Ok(document(node, vec![notice]))
        }
        Err(error) => Err(("YAML", message(&error, part))),
    }
}

fn document(YamlValue(value): YamlValue, notices: Vec<String>) -> YamlDocument {
    YamlDocument { value, notices }
}

fn options(part: &Part<'_>, dialect: YamlDialect, duplicate_keys: DuplicateKeyPolicy) -> Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_total_scalar_bytes: part.text.len() + MOST_UNFOLDED,
        },
        duplicate_keys: duplicate_keys,
        legacy_octal_numbers: true,
        strict_booleans: dialect == YamlDialect::Kustomize,
        with_snippet: false,
    }
}

/// Description of a fault with its place in the file; nothing of the text, which may be a Secret, but a key.
fn message(error: &Error, part: &Part<'_>) -> String {
    let place = error.location().map(|location| place(&location, part));
    let place = place.unwrap_or_default();
    match error {
        Error::AliasError { error, .. } => message(error, part),
        Error::DuplicateMappingKey { key, .. } => {
            let key = key.as_deref().unwrap_or_default();
            format!("the key {key:?} stands twice: keep one ({place})")
        }
        Error::MultipleDocuments { .. } => {
            format!("kubectl drops what follows here: begin it with a line --- ({place})")
        }
        Error::NonFiniteFloat { .. } => {
            format!("a number is infinite or none, which JSON cannot say: put it in quotes ({place})")
        }
        error => error.render_with_options(serde_saphyr::render_options! {
            formatter: &UserMessageFormatter,
            line_offset: part.lines_before as u64,
        }),
    }
}

fn place(location: &Location, part: &Part<'_>) -> String {
    let line = part.lines_before as u64 + location.line();
    format!("line {line}, column {}", location.column())
}

/// A value of YAML as kubectl has it in JSON.
struct YamlValue(Value);

impl<'de> Deserialize<'de> for YamlValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(YamlVisitor)
    }
}

struct YamlVisitor;

impl<'de> Visitor<'de> for YamlVisitor {
    type Value = YamlValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value of YAML")
    }

    fn visit_unit<E>(self) -> Result<YamlValue, E> {
        Ok(YamlValue(Value::Null))
    }

    fn visit_bool<E>(self, value: bool) -> Result<YamlValue, E> {
        Ok(YamlValue(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<YamlValue, E> {
        Ok(YamlValue(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<YamlValue, E> {
        Ok(YamlValue(
            i64::try_from(value).map_or_else(|_| number(value as f64), Value::from),
        ))
    }

    fn visit_f64<E>(self, value: f64) -> Result<YamlValue, E> {
        Ok(YamlValue(number(value)))
    }

    fn visit_str<E>(self, value: &str) -> Result<YamlValue, E> {
        Ok(YamlValue(value.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<YamlValue, A::Error> {
        let mut list = Vec::new();
        while let Some(YamlValue(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(YamlValue(list.into()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<YamlValue, A::Error> {
        let mut fields = Map::new();
        while let Some((YamlValue(key), YamlValue(value))) = entries.next_entry()? {
            let key = match key {
                Value::String(text) => text,
                Value::Bool(_) | Value::Number(_) => key.to_string(),
                _ => return Err(A::Error::custom("a key is not a text: put it in quotes")),
            };
            fields.insert(key, value);
        }
        Ok(YamlValue(fields.into()))
    }
}

/// Reads what begins with a brace as JSON, of any number of documents, or else YAML that begins with one. When it is neither, the error is
/// that of the format of the whole text.
fn json_first(part: &Part<'_>, is_only: bool) -> Result<Vec<YamlDocument>, Failure> {
    let values = serde_json::Deserializer::from_str(part.text);
    let values: Result<Vec<YamlValue>, _> = values.into_iter().collect();
    let error = match values {
        Ok(values) => {
            return Ok(values
                .into_iter()
                .map(|value| document(value, Vec::new()))
                .collect());
        }
        Err(error) => error,
    };
    match yaml(part, YamlDialect::Kubectl) {
        Ok(document) => Ok(vec![document]),
        Err(_) if is_only => Err(("JSON", error.to_string())),
        Err(error) => Err(error),
    }
}

/// A finite number as Go writes it into JSON: a whole one within 64 bits without a point.
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
