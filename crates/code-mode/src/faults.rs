//! Reasons for which a value is not as a schema demands: a few of them, however many there are.
//!
//! Both may be a server's. A short schema and a reply of a megabyte can have millions of faults, each of which costs more than the value
//! that it is about, and a pattern can take longer with every letter. So patterns are read by an engine that never goes back, and what a
//! schema may take with a value has a bound.

use jsonschema::{PatternOptions, ValidationError, ValidationOptions, Validator};
use serde_json::{Value, json};

use crate::finite::{Finite, NAMED, SchemaTooLarge, VALUES, finite};

/// Faults that may be collected for one value.
const MOST_COLLECTED: usize = 100_000;
/// Patterns of one schema.
const MOST_PATTERNS: usize = 256;
/// Bytes that a pattern may take once it is compiled, by steps: what it takes is known to the next of them.
const COMPILED: [usize; 5] = [8 << 10, 64 << 10, 512 << 10, 2 << 20, LARGEST_COMPILED];
const LARGEST_COMPILED: usize = 8 << 20;
/// Bytes that all patterns of a schema may take.
const MOST_COMPILED: usize = 16 << 20;
/// Values times schemas for which a value is held to a schema.
const MOST_CHECKED: usize = 1 << 30;
/// Bytes of texts times bytes of compiled patterns: at worst, a byte takes as long as all patterns are large. A megabyte with sixteen patterns as
/// people write them.
const MOST_MATCHED: usize = 1 << 37;

/// A schema that values are held to. Nothing is read for references to other documents.
#[derive(Debug)]
pub struct HeldTo {
    validator: Validator,
    /// Schemas that it stands for.
    size: usize,
    /// Bytes of its patterns, compiled.
    patterns: usize,
    collects: bool,
}

/// Reason that nothing is held to a schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unusable {
    /// More than is ever needed.
    #[error(transparent)]
    Large(#[from] SchemaTooLarge),
    /// More patterns than that, or larger ones.
    #[error(
        "it has more than {MOST_PATTERNS} patterns, or ones that take more than {MOST_COMPILED} bytes compiled"
    )]
    Patterns,
    /// A pattern that takes longer than its text is long, or that is none.
    #[error(
        "the pattern {pattern:?} at `{path}` is not matched in linear time: it has look-around or a back-reference, takes more than \
         {LARGEST_COMPILED} bytes compiled, or is none; change it, or move it out of the schema"
    )]
    Pattern {
        /// Place in the schema.
        path: String,
        /// The pattern, cut.
        pattern: String,
    },
    /// No schema.
    #[error("{0}")]
    NoSchema(String),
}

/// Something that is wrong with a value.
#[derive(Debug)]
pub enum ValueFault<'v> {
    /// Fault with its place, its kind, and the part of the schema that it breaks.
    There(Box<ValidationError<'v>>),
    /// More than can be told, in a value of that size.
    Somewhere,
    /// Nobody knows, for the value is too long for a schema of that size.
    TooLong,
}

impl HeldTo {
    /// Compiles `schema`, or says what is wrong with it.
    pub fn new(schema: &Value) -> Result<Self, Unusable> {
        let finite = finite(schema)?;
        let patterns = check_patterns(&finite.schema)?;
        let validator = options(LARGEST_COMPILED).build(&finite.schema);
        let validator = validator.map_err(|error| Unusable::NoSchema(error.to_string()))?;
        Ok(Self::compiled(validator, &finite, patterns))
    }

    fn compiled(validator: Validator, finite: &Finite, patterns: usize) -> Self {
        Self {
            validator,
            size: finite.size,
            patterns,
            collects: finite.collects,
        }
    }

    /// Returns what is wrong with `value`, at most the first `most` faults; none where nothing is.
    #[must_use]
    pub fn faults<'v>(&'v self, value: &'v Value, most: usize) -> Vec<ValueFault<'v>> {
        let (values, bytes) = measure(value);
        let checked = values.saturating_mul(self.size);
        if checked > MOST_CHECKED || bytes.saturating_mul(self.patterns) > MOST_MATCHED {
            return vec![ValueFault::TooLong];
        }
        if self.validator.is_valid(value) {
            return Vec::new();
        }
        let there = |error| ValueFault::There(Box::new(error));
        if checked <= MOST_COLLECTED {
            return self.validator.iter_errors(value).take(most).map(there).collect();
        }
        if self.collects {
            return vec![ValueFault::Somewhere];
        }
        self.validator
            .validate(value)
            .err()
            .map(there)
            .into_iter()
            .collect()
    }
}

/// Returns the options by which schemas are compiled whose patterns take no more than `limit` each. Formats are notes, as in the draft that
/// counts where a schema names none.
fn options(limit: usize) -> ValidationOptions<'static> {
    jsonschema::options()
        .with_pattern_options(PatternOptions::regex().size_limit(limit))
        .should_validate_formats(false)
}

/// Compiles each pattern of `schema` by itself: the bytes that all of them take.
fn check_patterns(schema: &Value) -> Result<usize, Unusable> {
    let mut found = Vec::new();
    add_patterns(schema, "", &mut found);
    if found.len() > MOST_PATTERNS {
        return Err(Unusable::Patterns);
    }
    let mut all = 0;
    for (path, pattern) in found {
        let schema = json!({"pattern": pattern});
        let size = COMPILED
            .into_iter()
            .find(|limit| options(*limit).build(&schema).is_ok());
        all += size.ok_or_else(|| Unusable::Pattern {
            path,
            pattern: pattern.chars().take(100).collect(),
        })?;
        if all > MOST_COMPILED {
            return Err(Unusable::Patterns);
        }
    }
    Ok(all)
}

fn add_patterns<'s>(schema: &'s Value, path: &str, found: &mut Vec<(String, &'s str)>) {
    let Value::Object(keywords) = schema else {
        let all = schema.as_array().into_iter().flatten().enumerate();
        all.for_each(|(place, one)| add_patterns(one, &format!("{path}/{place}"), found));
        return;
    };
    for (keyword, value) in keywords {
        let path = format!("{path}/{keyword}");
        match value {
            _ if VALUES.contains(&keyword.as_str()) => {}
            Value::String(pattern) if keyword == "pattern" => found.push((path, pattern)),
            Value::Object(all) if NAMED.contains(&keyword.as_str()) => {
                for (name, one) in all {
                    let path = format!("{path}/{name}");
                    add_patterns(one, &path, found);
                    if keyword == "patternProperties" {
                        found.push((path, name));
                    }
                }
            }
            value => add_patterns(value, &path, found),
        }
    }
}

/// Counts the values in a value, and the bytes of text.
fn measure(value: &Value) -> (usize, usize) {
    let sum = |(values, bytes), (more, longer)| (values + more, bytes + longer);
    match value {
        Value::Array(all) => all.iter().map(measure).fold((1, 0), sum),
        Value::Object(fields) => fields
            .iter()
            .map(|(name, one)| sum(measure(one), (0, name.len())))
            .fold((1, 0), sum),
        Value::String(text) => (1, text.len()),
        _ => (1, 0),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use jsonschema::Keyword;
    use serde_json::json;

    use super::*;
    use crate::finite::COLLECTING;

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

    /// Counts the questions why a value of a megabyte is refused, of which every item is, and the faults that are told.
    fn asked(schema: &Value) -> (usize, usize) {
        let count = Arc::new(AtomicUsize::new(0));
        let counting = Arc::clone(&count);
        let validator = jsonschema::options()
            .with_keyword("refuses", move |_, _, _| {
                Ok(Box::new(Refuses(Arc::clone(&counting))))
            })
            .build(schema)
            .unwrap();
        let held = HeldTo::compiled(validator, &finite(schema).unwrap(), 0);
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
    fn without_the_bound_every_item_of_a_reply_is_a_fault() {
        let validator = jsonschema::validator_for(&json!({"items": {"type": "string"}})).unwrap();
        assert_eq!(validator.iter_errors(&json!(vec![0; 10_000])).count(), 10_000);
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
                ValueFault::There(error) => error.instance_path().to_string(),
                ValueFault::Somewhere | ValueFault::TooLong => "somewhere".to_owned(),
            })
            .collect();
        assert_eq!(places, ["/0", "/2", "/3"]);
    }
}
