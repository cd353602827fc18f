//! Records of JSON and JSON Lines, one at a time, and their values by path (`user.city`, `items[].price`).

pub(crate) mod keys;
pub(crate) mod nonfinite;
pub(crate) mod stream;

use std::collections::HashMap;
use std::fmt;
use std::io::{self, BufRead, Read};

use serde::de::{DeserializeSeed, Deserializer, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;
use xxhash_rust::xxh3::xxh3_64;

use crate::column::cell::{Cell, ValueKind};
use crate::column::{hash, mix};
use crate::keys::RecordHash;
use crate::remark::Remark;
use crate::rows::{BuiltRows, DESCRIBED_COLUMNS, TableBuilder};

use keys::{ANY_KEY, DataKeys};

/// Longest line of JSON Lines that is read, bytes.
pub(crate) const LONGEST_LINE: usize = 4 * 1024 * 1024;
/// Largest document that is read when it is no array, bytes.
pub(crate) const LARGEST_DOCUMENT: u64 = 32 * 1024 * 1024;
/// Deepest nesting that is followed.
pub(crate) const DEEPEST: usize = 64;
/// Path of values that have none: scalars at the top.
pub(crate) const ROOT_PATH: &str = "$";
/// Paths that are counted and named.
const COUNTED_PATHS: usize = 10_200;
/// Bytes of the names of paths that are counted beyond those that are described.
const NAMED_BYTES: usize = 4 * 1024 * 1024;

/// One record, or why there is none.
pub(crate) struct JsonRecord<'a> {
    /// Line (JSON Lines) or number (JSON) of the record, counted from 1.
    pub place: u64,
    /// Its text without line break.
    pub raw: &'a str,
    /// Its value; the error says what is wrong.
    pub value: Result<Value, String>,
}

/// Describes the fault of a value, without the place of its text in the file, which is not known here.
fn fault(error: &serde_json::Error) -> String {
    let text = error.to_string();
    // The text was cut out of the file, so the place in it would mislead.
    text.split_once(" at line ")
        .map_or(text.clone(), |(what, _)| what.to_owned())
}

/// Hands every line of JSON Lines to `take`; blank lines are skipped.
pub(crate) fn each_line(mut input: impl BufRead, mut take: impl FnMut(JsonRecord<'_>)) -> io::Result<()> {
    let mut line = Vec::new();
    for place in 1.. {
        line.clear();
        let read = input
            .by_ref()
            // Bounded: a file without line breaks would otherwise be held as one line.
            .take(LONGEST_LINE as u64)
            .read_until(b'\n', &mut line)?;
        if read == 0 {
            break;
        }
        let is_cut = read == LONGEST_LINE && line.last() != Some(&b'\n');
        if is_cut {
            input.skip_until(b'\n')?;
        }
        let text = String::from_utf8_lossy(&line);
        let raw = text.trim();
        if raw.is_empty() {
            continue;
        }
        let value = if is_cut {
            Err(format!("longer than {} MiB", LONGEST_LINE / 1024 / 1024))
        } else {
            serde_json::from_str(raw)
                .map_err(|error| format!("{} at column {}", fault(&error), error.column()))
        };
        take(JsonRecord { place, raw, value });
    }
    Ok(())
}

/// Hands every element of a top-level array (or the whole document, where it is none) to `take`.
/// Returns what is wrong with the document, if anything; records before the fault were passed on.
pub(crate) fn each_element(
    input: impl BufRead,
    is_array: bool,
    mut take: impl FnMut(JsonRecord<'_>),
) -> io::Result<Option<String>> {
    let mut json = serde_json::Deserializer::from_reader(input);
    // `RawValue`: one element at a time is held, and not the whole array.
    let read = if is_array {
        Elements(&mut take).deserialize(&mut json)
    } else {
        <Box<RawValue> as serde::Deserialize>::deserialize(&mut json).map(|raw| take(element(1, &raw)))
    };
    match read.and_then(|()| json.end()) {
        Ok(()) => Ok(None),
        Err(error) if error.is_io() => Err(error.into()),
        Err(error) => Ok(Some(error.to_string())),
    }
}

fn element(place: u64, raw: &RawValue) -> JsonRecord<'_> {
    let raw = raw.get();
    JsonRecord {
        place,
        raw,
        value: serde_json::from_str(raw).map_err(|error| fault(&error)),
    }
}

struct Elements<'f, F>(&'f mut F);

impl<'de, F: FnMut(JsonRecord<'_>)> DeserializeSeed<'de> for Elements<'_, F> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de, F: FnMut(JsonRecord<'_>)> Visitor<'de> for Elements<'_, F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        let mut place = 0;
        while let Some(raw) = elements.next_element::<Box<RawValue>>()? {
            place += 1;
            (self.0)(element(place, &raw));
        }
        Ok(())
    }
}

/// Observations of a walk through a value besides its scalars.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Walked {
    /// Something lies deeper than `DEEPEST`.
    pub is_deeper: bool,
    /// A key holds a dot, so that its path reads like that of a nested value.
    pub has_dotted_key: bool,
}

/// Hands every scalar of a value to `take` with its path; keys that are data are one path.
pub(crate) fn each_value(value: &Value, keys: &DataKeys, take: &mut impl FnMut(&str, &Value)) -> Walked {
    let mut walked = Walked::default();
    walk(value, keys, &mut String::new(), 0, take, &mut walked);
    walked
}

fn walk(
    value: &Value,
    keys: &DataKeys,
    path: &mut String,
    depth: usize,
    take: &mut impl FnMut(&str, &Value),
    walked: &mut Walked,
) {
    // Values are followed recursively, and a file chooses how deep they are.
    if depth > DEEPEST {
        walked.is_deeper = true;
        return;
    }
    let length = path.len();
    match value {
        Value::Object(fields) => {
            let are_data = keys.has(path);
            for (name, field) in fields {
                if length > 0 {
                    path.push('.');
                }
                if are_data {
                    path.push_str(ANY_KEY);
                } else {
                    walked.has_dotted_key |= name.contains('.');
                    path.push_str(name);
                }
                walk(field, keys, path, depth + 1, take, walked);
                path.truncate(length);
            }
        }
        Value::Array(elements) => {
            path.push_str("[]");
            for element in elements {
                walk(element, keys, path, depth + 1, take, walked);
            }
            path.truncate(length);
        }
        scalar => take(if depth == 0 { ROOT_PATH } else { path }, scalar),
    }
}

/// The list at a path without lists on its way (`user.tags`).
#[must_use]
pub(crate) fn list_at<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    let Value::Object(fields) = value else { return None };
    fields
        .iter()
        .find_map(|(name, field)| match path.strip_prefix(name.as_str())? {
            "" => field.is_array().then_some(field),
            rest => list_at(field, rest.strip_prefix('.')?),
        })
}

/// The text of a scalar: strings without quotes.
#[must_use]
pub(crate) fn scalar_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Classifies a scalar: JSON says what is a number, so of texts only dates are recognized.
fn classify<'a>(value: &Value, text: &'a str) -> Cell<'a> {
    match value {
        Value::Null => Cell::Null("null"),
        Value::Bool(truth) => Cell::Bool(*truth),
        Value::Number(number) => number
            // As an integer first: a float keeps 53 bits only.
            .as_i64()
            .map(Cell::Int)
            .or_else(|| number.as_u64().map(Cell::Uint))
            .or_else(|| number.as_f64().map(Cell::Float))
            .unwrap_or(Cell::Text(text)),
        _ => match Cell::of(text) {
            cell if matches!(cell.kind(), Some(ValueKind::Date | ValueKind::Datetime)) => cell,
            // `"12"` is a text in JSON, and a program gets it as such.
            _ => Cell::Text(text),
        },
    }
}

/// Equal values hash alike, whatever the order of their fields.
fn value_hash(value: &Value) -> u64 {
    match value {
        Value::Object(fields) => fields.iter().fold(11, |sum, (name, field)| {
            // A sum does not depend on the order of the fields.
            sum.wrapping_add(mix(value_hash(field), xxh3_64(name.as_bytes())))
        }),
        Value::Array(elements) => elements
            .iter()
            .fold(13, |sum, element| mix(value_hash(element), sum)),
        scalar => {
            let text = scalar_text(scalar);
            hash(classify(scalar, &text), &text)
        }
    }
}

/// Paths of JSON records as columns.
#[derive(Default)]
pub(crate) struct JsonTable {
    builder: TableBuilder,
    paths: HashMap<String, usize>,
    present: Vec<u64>,
    last_seen: Vec<u64>,
    further_bytes: usize,
    numeric_texts: Vec<u64>,
    keys: DataKeys,
    /// Records that nest deeper than `DEEPEST`.
    pub too_deep: u64,
    /// Records with a key that holds a dot.
    pub dotted: u64,
    /// Numbers beyond 64 bits, of which 17 digits are kept.
    pub beyond_64_bits: u64,
}

impl JsonTable {
    /// A table without columns; keys that are data are one path.
    #[must_use]
    pub(crate) fn new(keeps_rows: bool, keys: DataKeys) -> Self {
        Self {
            builder: TableBuilder::new(None, keeps_rows),
            keys,
            ..Self::default()
        }
    }

    /// Takes in a record.
    pub(crate) fn push(&mut self, value: &Value, raw: &str) {
        let record = self.builder.records() + 1;
        // Taken out while the closure borrows the table.
        let keys = std::mem::take(&mut self.keys);
        let walked = each_value(value, &keys, &mut |path, scalar| {
            let text = scalar_text(scalar);
            let Some(column) = self.column(path) else {
                return;
            };
            if self.last_seen[column] != record {
                self.last_seen[column] = record;
                self.present[column] += 1;
            }
            self.beyond_64_bits += u64::from(is_beyond_64_bits(scalar));
            self.numeric_texts[column] += u64::from(scalar.is_string() && is_numeric(&text));
            self.builder.cell(column, classify(scalar, &text), &text);
        });
        self.keys = keys;
        self.too_deep += u64::from(walked.is_deeper);
        self.dotted += u64::from(walked.has_dotted_key);
        self.builder.end_record_as(raw, RecordHash::Of(value_hash(value)));
    }

    fn column(&mut self, path: &str) -> Option<usize> {
        if let Some(column) = self.paths.get(path) {
            return Some(*column);
        }
        if self.paths.len() >= DESCRIBED_COLUMNS {
            self.further_bytes += path.len();
            if self.paths.len() >= COUNTED_PATHS || self.further_bytes > NAMED_BYTES {
                return None;
            }
        }
        let column = self.builder.add_column(path.to_owned());
        self.paths.insert(path.to_owned(), column);
        self.present.push(0);
        self.numeric_texts.push(0);
        self.last_seen.push(0);
        Some(column)
    }

    /// Records so far.
    #[must_use]
    pub(crate) const fn records(&self) -> u64 {
        self.builder.records()
    }

    /// All paths, counted up to 10,200.
    #[must_use]
    pub(crate) fn path_count(&self) -> u64 {
        self.paths.len() as u64
    }

    /// The columns and at most `most` records; a remark names the columns whose values are all numbers in quotes.
    #[must_use]
    pub(crate) fn finish(self, most: usize) -> BuiltRows {
        let mut built = self.builder.finish(most, Some(&self.present));
        let quoted = built.columns.iter().zip(self.numeric_texts);
        let quoted = quoted.filter(|(column, numeric)| *numeric > 0 && *numeric == column.values);
        let quoted = quoted.map(|(column, _)| column.name.as_str());
        built
            .remarks
            .extend(Remark::listing("numbers written as strings in", quoted));
        built
    }
}

fn is_numeric(text: &str) -> bool {
    matches!(Cell::of(text).kind(), Some(ValueKind::Int | ValueKind::Float))
}

fn is_beyond_64_bits(value: &Value) -> bool {
    const BOUND: f64 = 18_446_744_073_709_551_616.0;
    value.is_f64() && value.as_f64().is_some_and(|number| number.abs() >= BOUND)
}

/// A JSON text without the blanks between its tokens; numbers and strings keep their spelling.
#[must_use]
pub(crate) fn compact(raw: &str) -> String {
    let mut short = String::with_capacity(raw.len());
    let (mut is_string, mut is_escaped) = (false, false);
    for character in raw.chars() {
        if is_string {
            is_string = is_escaped || character != '"';
            is_escaped = !is_escaped && character == '\\';
        } else if character.is_ascii_whitespace() {
            continue;
        } else {
            is_string = character == '"';
        }
        short.push(character);
    }
    short
}

#[cfg(test)]
mod tests;
