//! The values of outputs and expectations. Numbers stay as they are written: what a float cannot hold is compared all the same.

use std::collections::HashSet;
use std::fmt;

use bigdecimal::BigDecimal;
use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::scalar::{Scalar, Tolerance};

/// Most levels of values in one another.
// Values are read and compared recursively, and a program chooses how deep they are.
const DEEPEST: usize = 128;

/// A value, as JSON has them.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Null,
    Bool(bool),
    Number(Scalar),
    Text(Scalar),
    List(Vec<Self>),
    Record(Vec<(String, Self)>),
}

impl Value {
    /// Reads a JSON document; of JSON Lines a list with a value for each line.
    pub(super) fn parse(text: &str, is_lines: bool) -> Result<Self, String> {
        // A byte order mark is no JSON, and some programs write one.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        if is_lines {
            let lines = text.lines().filter(|line| !line.trim().is_empty());
            let values = lines.map(|line| Self::parse(line, false));
            return values.collect::<Result<_, _>>().map(Self::List);
        }
        serde_json::from_str(text)
            .and_then(|raw| read(raw, DEEPEST))
            .map_err(|error| error.to_string())
    }

    /// Reads a text that says nothing of its type, as a cell of a table.
    pub(super) fn cell(text: &str) -> Self {
        let scalar = Scalar::read(text);
        match scalar.number {
            _ if text.is_empty() => Self::Null,
            Some(_) => Self::Number(scalar),
            None => Self::Text(scalar),
        }
    }

    /// A text that is the same as no other.
    pub(super) fn text(text: &str) -> Self {
        Self::Text(Scalar::text(text))
    }

    /// The value at a JSON pointer (RFC 6901).
    pub(super) fn at(&self, pointer: &str) -> Option<&Self> {
        if pointer.is_empty() {
            return Some(self);
        }
        let mut keys = pointer.strip_prefix('/')?.split('/');
        keys.try_fold(self, |value, key| {
            value.child(&key.replace("~1", "/").replace("~0", "~"))
        })
    }

    fn child(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Record(members) => members
                .iter()
                .find(|(name, _)| name == key)
                .map(|(_, value)| value),
            Self::List(elements) => {
                // `01` is no index by RFC 6901.
                let is_index = key == "0" || !key.starts_with(['0', '+']);
                let index: usize = key.parse().ok().filter(|_| is_index)?;
                elements.get(index)
            }
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::Text(_) => None,
        }
    }

    /// The elements of a list.
    pub(super) fn list(&self) -> Option<&[Self]> {
        match self {
            Self::List(elements) => Some(elements),
            _ => None,
        }
    }

    /// The number that it is, or that stands in a text.
    pub(super) fn number(&self) -> Option<&BigDecimal> {
        match self {
            Self::Number(scalar) | Self::Text(scalar) => scalar.number.as_ref(),
            _ => None,
        }
    }

    /// Counts its elements or members.
    pub(super) fn count(&self) -> Option<usize> {
        match self {
            Self::Record(members) => Some(members.len()),
            other => other.list().map(<[Self]>::len),
        }
    }

    /// The keys of a record, or of the first of several; an empty list has none.
    pub(super) fn keys(&self) -> Option<Vec<&str>> {
        match self {
            Self::Record(members) => Some(members.iter().map(|(name, _)| name.as_str()).collect()),
            Self::List(records) if records.is_empty() => Some(Vec::new()),
            Self::List(records) => records.first().filter(|first| first.list().is_none())?.keys(),
            _ => None,
        }
    }

    /// A cell as it is written; those of a row with commas between them.
    pub(super) fn line(&self) -> String {
        match self {
            Self::Null => String::new(),
            Self::Number(scalar) | Self::Text(scalar) => scalar.text.clone(),
            Self::List(cells) => cells.iter().map(Self::line).collect::<Vec<_>>().join(","),
            Self::Bool(_) | Self::Record(_) => self.to_string(),
        }
    }

    /// Compares two values: numbers by value, records whatever the order of their keys.
    pub(super) fn is_same(&self, actual: &Self, tolerance: &Tolerance) -> bool {
        match (self, actual) {
            (Self::Number(one), Self::Number(other)) => one.is_same(other, tolerance),
            // Two texts of digits stay texts; moments may be written otherwise.
            (Self::Text(one), Self::Text(other)) => {
                one.text == other.text || (one.number.is_none() && one.is_same(other, tolerance))
            }
            (Self::List(one), Self::List(other)) => {
                let mut pairs = one.iter().zip(other);
                one.len() == other.len() && pairs.all(|(one, other)| one.is_same(other, tolerance))
            }
            (Self::Record(one), Self::Record(other)) => {
                let is_there = |(name, one): &(String, Self)| {
                    actual
                        .child(name)
                        .is_some_and(|other| one.is_same(other, tolerance))
                };
                one.len() == other.len() && one.iter().all(is_there)
            }
            (one, other) => one == other,
        }
    }

    /// A key that values share which are the same, but for fractions on either side of a place.
    pub(super) fn key(&self) -> String {
        match self {
            Self::Number(scalar) | Self::Text(scalar) => scalar.key(),
            // Control characters as separators: no text of an output is likely to hold them, and a key only groups what is compared afterwards.
            Self::List(elements) => elements.iter().map(Self::key).collect::<Vec<_>>().join("\u{1f}"),
            Self::Record(members) => {
                let members = members.iter();
                let mut keys: Vec<String> = members
                    .map(|(name, value)| format!("{name}\u{1e}{}", value.key()))
                    .collect();
                keys.sort_unstable();
                keys.join("\u{1f}")
            }
            Self::Null | Self::Bool(_) => self.to_string(),
        }
    }
}

fn read(raw: &RawValue, levels: usize) -> serde_json::Result<Value> {
    // Numbers and order are read from the text itself: `serde_json::Value` would turn large numbers into floats and take the last of two
    // equal keys.
    let text = raw.get();
    let Some(levels) = levels.checked_sub(1) else {
        return Err(serde_json::Error::custom(format!("more than {DEEPEST} levels")));
    };
    Ok(match text.as_bytes().first() {
        Some(b'{') => {
            let Members(members) = serde_json::from_str(text)?;
            let mut names = HashSet::new();
            if let Some((name, _)) = members.iter().find(|(name, _)| !names.insert(name.clone())) {
                let why = format!("the key {name:?} stands twice in one object");
                return Err(serde_json::Error::custom(why));
            }
            let values = members
                .into_iter()
                .map(|(name, raw)| Ok((name, read(raw, levels)?)));
            Value::Record(values.collect::<serde_json::Result<_>>()?)
        }
        Some(b'[') => {
            let elements: Vec<&RawValue> = serde_json::from_str(text)?;
            let values = elements.into_iter().map(|raw| read(raw, levels));
            Value::List(values.collect::<serde_json::Result<_>>()?)
        }
        Some(b'"') => Value::Text(Scalar::read(&serde_json::from_str::<String>(text)?)),
        Some(b't' | b'f') => Value::Bool(serde_json::from_str(text)?),
        Some(b'n') => Value::Null,
        _ => Value::Number(Scalar::read(text)),
    })
}

/// The members of an object, two of one name too.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;

        impl<'de> Visitor<'de> for Object {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members: Vec<(String, &RawValue)> = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(Object)
    }
}

/// As JSON.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let joined = |all: Vec<String>| all.join(",");
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(value) => write!(f, "{value}"),
            Self::Number(scalar) => f.write_str(&scalar.text),
            Self::Text(scalar) => write!(f, "{}", serde_json::Value::from(scalar.text.as_str())),
            Self::List(elements) => {
                write!(f, "[{}]", joined(elements.iter().map(Self::to_string).collect()))
            }
            Self::Record(members) => {
                let member = |(name, value): &(String, Self)| format!("{}:{value}", Self::text(name));
                write!(f, "{{{}}}", joined(members.iter().map(member).collect()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[test]
    fn a_document_round_trips_to_the_last_digit() {
        let text = r#"{"id":123456789012345678901234567890,"share":0.10,"rows":[true,null,"é\n"]}"#;
        assert_eq!(Value::parse(text, false).unwrap().to_string(), text);
    }

    #[rstest]
    #[case("", Some(r#"{"a/b":[1,2]}"#))]
    #[case("/a~1b/1", Some("2"))]
    #[case("/a~1b/01", None)]
    #[case("/a~1b/2", None)]
    #[case("/a", None)]
    #[case("/a~1b/1/x", None)]
    fn a_pointer_leads_to_a_value(#[case] pointer: &str, #[case] expected: Option<&str>) {
        let document = Value::parse(r#"{"a/b": [1, 2]}"#, false).unwrap();
        let found = document.at(pointer).map(Value::to_string);
        assert_eq!(found.as_deref(), expected);
    }

    #[rstest]
    #[case::key_twice(r#"[{"a": 1, "a": 2}]"#, "\"a\" stands twice")]
    #[case::key_twice_in_disguise("{\"a\": 1, \"\\u0061\": 2}", "\"a\" stands twice")]
    #[case::not_a_number("[NaN]", "expected value")]
    #[case::cut("{\"a\": 1", "EOF")]
    #[case::two_documents("1 2", "trailing characters")]
    fn what_no_reader_takes_is_refused(#[case] text: &str, #[case] says: &str) {
        let why = Value::parse(text, false).unwrap_err();
        assert!(why.contains(says), "{why}");
    }

    #[test]
    fn a_document_of_very_many_levels_is_refused() {
        let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert!(Value::parse(&nested(100), false).is_ok());
        let why = Value::parse(&nested(20_000), false).unwrap_err();
        assert!(why.contains("more than 128 levels"), "{why}");
    }
}
