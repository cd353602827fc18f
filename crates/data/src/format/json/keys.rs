//! Objects whose keys are data (`{"u17": {...}, "u18": {...}}`): found by a census, shown as one path `users.{key}`.

use crate::remark::Remark;
use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::Value;
use xxhash_rust::xxh3::xxh3_64;

use super::DEEPEST;

/// Part of a path that stands for any key of such an object.
pub(crate) const ANY_KEY: &str = "{key}";
/// Paths up to which no census is worth its pass.
pub(crate) const FEW_PATHS: u64 = 50;
/// Keys from which the few objects of a path may hold data in them.
const MANY_KEYS: usize = 100;
const COUNTED_KEYS: usize = 1_000;
const COUNTED_OBJECTS: usize = 1_000;

/// The paths of objects whose keys are data, with their keys in words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DataKeys(BTreeMap<String, String>);

impl DataKeys {
    /// Those that paths with `{key}` speak of.
    pub(crate) fn of_paths<'a>(paths: impl Iterator<Item = &'a str>) -> Self {
        let mut keys = BTreeMap::new();
        for path in paths {
            for (position, _) in path.match_indices(ANY_KEY) {
                let parent = path[..position].strip_suffix('.').unwrap_or(&path[..position]);
                keys.insert(parent.to_owned(), String::new());
            }
        }
        Self(keys)
    }

    /// Reports whether the keys of the object at `path` are data.
    #[must_use]
    pub(crate) fn has(&self, path: &str) -> bool {
        !self.0.is_empty() && self.0.contains_key(path)
    }

    /// Adds what a census found; returns whether it found anything.
    pub(crate) fn add(&mut self, census: Census) -> bool {
        let before = self.0.len();
        let found = census.objects.into_iter().filter(|(_, keys)| keys.are_data());
        self.0.extend(found.map(|(path, keys)| (path, keys.in_words())));
        self.0.len() > before
    }

    /// One remark for each.
    pub(crate) fn remarks(&self) -> impl Iterator<Item = Remark> {
        self.0.iter().map(|(path, keys)| {
            let (whose, shown) = if path.is_empty() {
                ("the records".to_owned(), ANY_KEY.to_owned())
            } else {
                (path.clone(), format!("{path}.{ANY_KEY}"))
            };
            let text = format!("the keys of {whose} look like data ({keys}); told together as {shown}");
            Remark::naming(text, Some(path).filter(|path| !path.is_empty()))
        })
    }
}

/// The keys of the objects at each path.
#[derive(Debug, Default)]
pub(crate) struct Census {
    objects: HashMap<String, Keys>,
}

#[derive(Debug, Default)]
struct Keys {
    objects: u64,
    total: u64,
    distinct: HashSet<u64>,
    /// Kind of the values so far; `None` when they differ.
    kind: Option<u8>,
    is_mixed: bool,
}

impl Keys {
    /// Hardly any key of many comes back, or one object has a great many of values of one kind.
    fn are_data(&self) -> bool {
        let distinct = self.distinct.len() as u64;
        if self.objects < 3 {
            return self.distinct.len() > MANY_KEYS && !self.is_mixed;
        }
        distinct > FEW_PATHS && self.total / self.objects * 4 < distinct
    }

    fn in_words(&self) -> String {
        let (distinct, objects) = (self.distinct.len(), self.objects);
        let more = if distinct == COUNTED_KEYS { " or more" } else { "" };
        let plural = if objects == 1 { "" } else { "s" };
        format!("{distinct}{more} different ones in {objects} object{plural}")
    }
}

impl Census {
    /// Takes in a record; the keys of `known` objects are one.
    pub(crate) fn count(&mut self, value: &Value, known: &DataKeys) {
        self.walk(value, &mut String::new(), 0, known);
    }

    fn walk(&mut self, value: &Value, path: &mut String, depth: usize, known: &DataKeys) {
        let length = path.len();
        match value {
            _ if depth > DEEPEST => {}
            Value::Object(fields) => {
                let are_data = known.has(path);
                if !are_data {
                    self.note(path, fields);
                }
                for (name, field) in fields {
                    if length > 0 {
                        path.push('.');
                    }
                    path.push_str(if are_data { ANY_KEY } else { name });
                    self.walk(field, path, depth + 1, known);
                    path.truncate(length);
                }
            }
            Value::Array(elements) => {
                path.push_str("[]");
                for element in elements {
                    self.walk(element, path, depth + 1, known);
                }
                path.truncate(length);
            }
            _ => {}
        }
    }

    fn note(&mut self, path: &str, fields: &serde_json::Map<String, Value>) {
        if !self.objects.contains_key(path) {
            if self.objects.len() == COUNTED_OBJECTS {
                return;
            }
            self.objects.insert(path.to_owned(), Keys::default());
        }
        let Some(keys) = self.objects.get_mut(path) else {
            return;
        };
        keys.objects += 1;
        keys.total += fields.len() as u64;
        for (name, field) in fields {
            if keys.distinct.len() < COUNTED_KEYS {
                keys.distinct.insert(xxh3_64(name.as_bytes()));
            }
            let kind = kind(field);
            keys.is_mixed |= *keys.kind.get_or_insert(kind) != kind;
        }
    }
}

const fn kind(value: &Value) -> u8 {
    match value {
        Value::Null => 0,
        Value::Bool(_) => 1,
        Value::Number(_) => 2,
        Value::String(_) => 3,
        Value::Array(_) => 4,
        Value::Object(_) => 5,
    }
}
