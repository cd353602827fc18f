//! Why a value is not what a schema says: a few of the reasons, however many there are.
//!
//! Both may be a server's. A short schema and a reply of a megabyte can have millions of faults, and each of them costs more than the value
//! that it is about.

use jsonschema::{ValidationError, Validator};
use serde_json::Value;

use crate::weight::weight;

/// Faults that may be collected for one value.
const MOST_COLLECTED: u64 = 100_000;
/// Keywords that collect the faults of all their schemas before the first one is told.
const COLLECTING: [&str; 2] = ["anyOf", "oneOf"];

/// A schema that values are held to. References to other documents are refused: nothing is read for them.
#[derive(Debug)]
pub struct HeldTo {
    validator: Validator,
    /// Schemas that it stands for.
    weight: u64,
    collects: bool,
}

/// Something that is wrong with a value.
#[derive(Debug)]
pub enum Fault<'v> {
    /// Where, what, and by which part of the schema.
    There(Box<ValidationError<'v>>),
    /// More than can be told, in a value of that size.
    Somewhere,
}

impl HeldTo {
    /// Compiles `schema`, or says what is wrong with it.
    pub fn new(schema: &Value) -> Result<Self, String> {
        let validator = jsonschema::validator_for(schema).map_err(|error| error.to_string())?;
        Ok(Self::compiled(validator, schema))
    }

    fn compiled(validator: Validator, schema: &Value) -> Self {
        Self {
            validator,
            weight: weight(schema).unwrap_or(u64::MAX),
            collects: has_keyword(schema, &COLLECTING),
        }
    }

    /// What is wrong with `value`, at most the first `most` faults; none where nothing is.
    #[must_use]
    pub fn faults<'v>(&'v self, value: &'v Value, most: usize) -> Vec<Fault<'v>> {
        if self.validator.is_valid(value) {
            return Vec::new();
        }
        let there = |error| Fault::There(Box::new(error));
        if size(value).saturating_mul(self.weight) <= MOST_COLLECTED {
            return self.validator.iter_errors(value).take(most).map(there).collect();
        }
        if self.collects {
            return vec![Fault::Somewhere];
        }
        self.validator
            .validate(value)
            .err()
            .map(there)
            .into_iter()
            .collect()
    }
}

/// Values in a value.
fn size(value: &Value) -> u64 {
    match value {
        Value::Array(values) => 1 + values.iter().map(size).sum::<u64>(),
        Value::Object(fields) => 1 + fields.values().map(size).sum::<u64>(),
        _ => 1,
    }
}

fn has_keyword(schema: &Value, keywords: &[&str]) -> bool {
    match schema {
        Value::Array(schemas) => schemas.iter().any(|one| has_keyword(one, keywords)),
        Value::Object(fields) => fields
            .iter()
            .any(|(name, one)| keywords.contains(&name.as_str()) || has_keyword(one, keywords)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use jsonschema::Keyword;
    use serde_json::json;

    use super::*;

    /// Finds fault with everything, and counts how often it is asked why.
    struct Refuses(Arc<AtomicUsize>);

    impl<'i> Keyword<'i> for Refuses {
        fn validate(&self, _: &'i Value) -> Result<(), ValidationError<'i>> {
            self.0.fetch_add(1, Ordering::Relaxed);
            Err(ValidationError::custom("refused"))
        }

        fn is_valid(&self, _: &'i Value) -> bool {
            false
        }
    }

    /// How often is asked why a value of a megabyte is refused, of which every item is; and how many faults are told.
    fn asked(schema: &Value) -> (usize, usize) {
        let count = Arc::new(AtomicUsize::new(0));
        let counting = Arc::clone(&count);
        let validator = jsonschema::options()
            .with_keyword("refuses", move |_, _, _| {
                Ok(Box::new(Refuses(Arc::clone(&counting))))
            })
            .build(schema)
            .unwrap();
        let held = HeldTo::compiled(validator, schema);
        let reply = json!(vec![0; 500_000]);
        assert!(reply.to_string().len() > 1_000_000);
        let faults = held.faults(&reply, 3).len();
        (count.load(Ordering::Relaxed), faults)
    }

    #[test]
    fn of_a_large_reply_one_fault_is_taken_however_many_there_are() {
        assert_eq!(asked(&json!({"items": {"refuses": true}})), (1, 1));
    }

    #[test]
    fn the_faults_of_alternatives_are_not_collected_over_a_large_reply() {
        let items = json!({"items": {"refuses": true}});
        for of in COLLECTING {
            assert_eq!(asked(&json!({of: [items, items, items]})), (0, 1), "{of}");
        }
    }

    #[test]
    fn of_a_small_value_the_first_faults_are_listed() {
        let held = HeldTo::new(&json!({"items": {"anyOf": [{"type": "string"}, {"type": "null"}]}})).unwrap();
        assert!(held.faults(&json!(["a", null]), 3).is_empty());
        let value = json!([1, "a", 2, 3, 4]);
        let faults = held.faults(&value, 3);
        let places: Vec<String> = faults
            .iter()
            .map(|fault| match fault {
                Fault::There(error) => error.instance_path().to_string(),
                Fault::Somewhere => "somewhere".to_owned(),
            })
            .collect();
        assert_eq!(places, ["/0", "/2", "/3"]);
    }
}
