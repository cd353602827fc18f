//! JSON with its numbers as they are written: what a float cannot hold is compared all the same.

use std::collections::HashSet;
use std::fmt;

use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

/// Most levels of values in one another.
// Values are read and compared recursively, and a program chooses how deep they are.
const DEEPEST: usize = 128;

/// A JSON value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Json {
    Null,
    Bool(bool),
    Number(String),
    String(String),
    Array(Vec<Self>),
    Object(Vec<(String, Self)>),
}

impl Json {
    /// Reads one value.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        // A byte order mark is no JSON, and some programs write one.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        serde_json::from_str(text)
            .and_then(|raw| read(raw, DEEPEST))
            .map_err(|error| error.to_string())
    }

    /// Reads one value a line, as an array.
    pub(super) fn parse_lines(text: &str) -> Result<Self, String> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        lines.map(Self::parse).collect::<Result<_, _>>().map(Self::Array)
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
            Self::Object(members) => members
                .iter()
                .find(|(name, _)| name == key)
                .map(|(_, value)| value),
            Self::Array(elements) => {
                // `01` is no index by RFC 6901.
                let is_index = key == "0" || !key.starts_with(['0', '+']);
                let index: usize = key.parse().ok().filter(|_| is_index)?;
                elements.get(index)
            }
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::String(_) => None,
        }
    }

    /// What it is, in words.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a truth value",
            Self::Number(_) => "a number",
            Self::String(_) => "a string",
            Self::Array(_) => "an array",
            Self::Object(_) => "an object",
        }
    }

    /// A value as plain text.
    pub(super) fn plain(&self) -> String {
        match self {
            Self::String(text) => text.clone(),
            other => other.to_string(),
        }
    }
}

fn read(raw: &RawValue, levels: usize) -> serde_json::Result<Json> {
    // Numbers and order are read from the text itself: `serde_json::Value` would turn large numbers into floats and take the last of two
    // equal keys.
    let text = raw.get();
    let Some(levels) = levels.checked_sub(1) else {
        return Err(serde_json::Error::custom(format!("more than {DEEPEST} levels")));
    };
    Ok(match text.as_bytes().first() {
        Some(b'{') => {
            let Members(members) = serde_json::from_str(text)?;
            let members = members.into_iter();
            let values = members.map(|(name, raw)| Ok((name, read(raw, levels)?)));
            Json::Object(values.collect::<serde_json::Result<_>>()?)
        }
        Some(b'[') => {
            let elements: Vec<&RawValue> = serde_json::from_str(text)?;
            let values = elements.into_iter().map(|raw| read(raw, levels));
            Json::Array(values.collect::<serde_json::Result<_>>()?)
        }
        Some(b'"') => Json::String(serde_json::from_str(text)?),
        Some(b't' | b'f') => Json::Bool(serde_json::from_str(text)?),
        Some(b'n') => Json::Null,
        _ => Json::Number(text.to_owned()),
    })
}

/// The members of an object; no two of them have one name.
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
                let mut names = HashSet::new();
                let mut members = Vec::new();
                while let Some((name, value)) = map.next_entry::<String, &RawValue>()? {
                    if !names.insert(name.clone()) {
                        return Err(A::Error::custom(format!(
                            "the key {name:?} stands twice in one object"
                        )));
                    }
                    members.push((name, value));
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(Object)
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Number(text) => RawValue::from_string(text.clone())
                .map_err(serde::ser::Error::custom)?
                .serialize(serializer),
            Self::String(text) => serializer.serialize_str(text),
            Self::Array(elements) => serializer.collect_seq(elements),
            Self::Object(members) => {
                serializer.collect_map(members.iter().map(|(name, value)| (name, value)))
            }
        }
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(self).map_err(|_| fmt::Error)?)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[test]
    fn a_document_round_trips_to_the_last_digit() {
        let text = r#"{"id":123456789012345678901234567890,"share":0.10,"rows":[true,null,"é\n"]}"#;
        assert_eq!(Json::parse(text).unwrap().to_string(), text);
    }

    #[rstest]
    #[case("", Some("an object"))]
    #[case("/a~1b/1", Some("a number"))]
    #[case("/a~1b/01", None)]
    #[case("/a~1b/2", None)]
    #[case("/a", None)]
    #[case("/a~1b/1/x", None)]
    fn a_pointer_leads_to_a_value(#[case] pointer: &str, #[case] kind: Option<&str>) {
        let document = Json::parse(r#"{"a/b": [1, 2]}"#).unwrap();
        assert_eq!(document.at(pointer).map(Json::kind), kind);
    }

    #[rstest]
    #[case::key_twice(r#"[{"a": 1, "a": 2}]"#, "\"a\" stands twice")]
    #[case::key_twice_in_disguise("{\"a\": 1, \"\\u0061\": 2}", "\"a\" stands twice")]
    #[case::not_a_number("[NaN]", "expected value")]
    #[case::cut("{\"a\": 1", "EOF")]
    #[case::two_documents("1 2", "trailing characters")]
    fn what_no_reader_takes_is_refused(#[case] text: &str, #[case] says: &str) {
        let why = Json::parse(text).unwrap_err();
        assert!(why.contains(says), "{why}");
    }

    #[test]
    fn a_document_of_very_many_levels_is_refused() {
        let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert!(Json::parse(&nested(100)).is_ok());
        let why = Json::parse(&nested(20_000)).unwrap_err();
        assert!(why.contains("more than 128 levels"), "{why}");
    }
}
