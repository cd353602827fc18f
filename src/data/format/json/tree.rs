//! One JSON value, and whether an object in it has a key twice, which `serde_json::Value` alone does not show.

use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// A value with what is odd about it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tree {
    /// The value; of a repeated key the last one stands, as in Python.
    pub value: Value,
    /// Whether some object has a key more than once.
    pub has_repeated_key: bool,
}

/// Reads one value that fills `text`.
pub(super) fn parse(text: &str) -> Result<Tree, serde_json::Error> {
    let repeated = Cell::new(false);
    let mut json = serde_json::Deserializer::from_str(text);
    let value = Builder(&repeated).deserialize(&mut json)?;
    json.end()?;
    Ok(Tree {
        value,
        has_repeated_key: repeated.get(),
    })
}

#[derive(Clone, Copy)]
struct Builder<'a>(&'a Cell<bool>);

impl<'de> DeserializeSeed<'de> for Builder<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Builder<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, truth: bool) -> Result<Value, E> {
        Ok(Value::Bool(truth))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        Ok(Number::from_f64(number).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(element) = elements.next_element_seed(self)? {
            list.push(element);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            let value = entries.next_value_seed(self)?;
            if object.insert(key, value).is_some() {
                self.0.set(true);
            }
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_key_is_reported_at_any_depth_and_its_last_value_counts() {
        let tree = parse(r#"[{"a": {"b": 1, "b": 2}}]"#).unwrap();
        assert!(tree.has_repeated_key);
        assert_eq!(tree.value, serde_json::json!([{"a": {"b": 2}}]));
    }

    #[test]
    fn a_value_is_that_of_serde_json() {
        let text = r#"{"a": [1, -2, 18446744073709551615, 2.5, 1e30, true, null, "x\ny"], "b": {}}"#;
        let tree = parse(text).unwrap();
        assert_eq!(tree.value, serde_json::from_str::<Value>(text).unwrap());
        assert!(!tree.has_repeated_key);
        assert!(parse("1 2").is_err());
    }
}
