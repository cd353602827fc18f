//! How much there is to do for a schema. A server writes it, and a few references can stand for more than anybody can check.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// Schemas in a schema, each counted as often as it is referred to.
pub const MOST_SCHEMAS: u64 = 10_000;
/// References that lead to references.
const MOST_LEVELS: usize = 64;
/// Values that are read to count: where many references lead to one large place, each reads it.
const MOST_READ: usize = 200_000;
/// Keywords under which every key is a name, and every value a schema.
pub(crate) const NAMED: [&str; 5] = [
    "properties",
    "patternProperties",
    "$defs",
    "definitions",
    "dependentSchemas",
];
/// Keywords under which there are values.
pub(crate) const VALUES: [&str; 5] = ["enum", "const", "default", "example", "examples"];
/// Keywords by which a reference means something else than its text says.
const SCOPED: [&str; 6] = [
    "$dynamicRef",
    "$recursiveRef",
    "$dynamicAnchor",
    "$recursiveAnchor",
    "$anchor",
    "id",
];

/// Why nothing is held to a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TooMuch {
    /// More than is ever needed.
    #[error("its references stand for more than {MOST_SCHEMAS} schemas")]
    Schemas,
    /// A reference whose target the text does not say.
    #[error("it has references other than `#/$defs/...`, which are not followed")]
    References,
}

/// Refuses a schema that stands for too many.
pub fn check_weight(schema: &Value) -> Result<(), TooMuch> {
    weight(schema).map(drop)
}

/// Counts the schemas that `schema` stands for, at most [`MOST_SCHEMAS`].
pub fn weight(schema: &Value) -> Result<u64, TooMuch> {
    let mut counting = Counting {
        root: schema,
        counted: BTreeMap::new(),
        levels: 0,
        read: 0,
    };
    match counting.schema(schema)? {
        count if count > MOST_SCHEMAS => Err(TooMuch::Schemas),
        count => Ok(count),
    }
}

struct Counting<'a> {
    root: &'a Value,
    /// By reference; none while its target is counted, so that what contains itself is counted once.
    counted: BTreeMap<String, Option<u64>>,
    levels: usize,
    read: usize,
}

impl<'a> Counting<'a> {
    fn schema(&mut self, schema: &'a Value) -> Result<u64, TooMuch> {
        self.read += 1;
        if self.read > MOST_READ {
            return Err(TooMuch::Schemas);
        }
        match schema {
            Value::Array(all) => self.sum(all.iter()),
            Value::Object(keywords) => self.keywords(keywords),
            _ => Ok(0),
        }
    }

    fn sum(&mut self, mut all: impl Iterator<Item = &'a Value>) -> Result<u64, TooMuch> {
        all.try_fold(0_u64, |sum, one| Ok(sum.saturating_add(self.schema(one)?)))
    }

    fn keywords(&mut self, keywords: &'a Map<String, Value>) -> Result<u64, TooMuch> {
        let mut count = 1_u64;
        for (keyword, value) in keywords {
            let is_root = self
                .root
                .as_object()
                .is_some_and(|root| std::ptr::eq(root, keywords));
            let more = match (keyword.as_str(), value) {
                ("$ref", Value::String(reference)) => self.target(reference)?,
                ("$id", Value::String(_)) if !is_root => return Err(TooMuch::References),
                (scoped, Value::String(_) | Value::Bool(_)) if SCOPED.contains(&scoped) => {
                    return Err(TooMuch::References);
                }
                (values, _) if VALUES.contains(&values) => 0,
                (named, Value::Object(all)) if NAMED.contains(&named) => self.sum(all.values())?,
                _ => self.schema(value)?,
            };
            count = count.saturating_add(more);
        }
        Ok(count)
    }

    fn target(&mut self, reference: &str) -> Result<u64, TooMuch> {
        if let Some(counted) = self.counted.get(reference) {
            return Ok(counted.unwrap_or(1));
        }
        let target = pointer_of(reference);
        let target = target.and_then(|pointer| self.root.pointer(&pointer));
        let target = target.ok_or(TooMuch::References)?;
        if self.levels == MOST_LEVELS {
            return Err(TooMuch::Schemas);
        }
        self.counted.insert(reference.to_owned(), None);
        self.levels += 1;
        let count = self.schema(target)?;
        self.levels -= 1;
        self.counted.insert(reference.to_owned(), Some(count));
        Ok(count)
    }
}

/// The pointer into its own document that a reference is; none of one to elsewhere.
pub(crate) fn pointer_of(reference: &str) -> Option<String> {
    reference.strip_prefix('#').map(decoded)
}

/// A pointer as it stands in an address: `%25` is a percent sign.
fn decoded(pointer: &str) -> String {
    let mut bytes = Vec::with_capacity(pointer.len());
    let mut rest = pointer.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let escaped = after.get(..2).filter(|_| *first == b'%');
        let escaped = escaped.and_then(|digits| std::str::from_utf8(digits).ok());
        let escaped = escaped.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
