//! Values that go to the host: what JSON has not is refused before anything is written.

use codegen_interpreter::protocol::MOST_LEVELS;
use monty_types::{ExcType, MontyObject};
use serde::ser::{Error as _, SerializeMap as _, SerializeSeq as _};
use serde::{Serialize, Serializer};

use super::iso;

/// A value that can be written as JSON.
#[derive(Debug)]
pub(crate) struct Encoded(MontyObject);

/// Reason that a value cannot be written as JSON.
#[derive(Debug, PartialEq)]
pub(crate) struct UnencodableValue {
    /// The exception for it.
    pub(crate) kind: ExcType,
    /// Message about what is wrong with the value.
    pub(crate) message: String,
}

/// The value with its size as JSON, if JSON has it and it is no larger.
pub(crate) fn encodable(value: MontyObject, most_bytes: u64) -> Result<(Encoded, u64), UnencodableValue> {
    let mut size = Size {
        bytes: 0,
        most: most_bytes,
    };
    size.add(&value, MOST_LEVELS)?;
    Ok((Encoded(value), size.bytes))
}

struct Size {
    bytes: u64,
    most: u64,
}

impl Size {
    fn add(&mut self, value: &MontyObject, levels: usize) -> Result<(), UnencodableValue> {
        match value {
            MontyObject::None | MontyObject::Bool(_) => self.count(5),
            MontyObject::Int(_) => self.count(20),
            MontyObject::Float(number) if number.is_finite() => self.count(24),
            MontyObject::Float(_) => Err(refuse(
                ExcType::OverflowError,
                "JSON has no nan or infinity; pass None or a string",
            )),
            MontyObject::BigInt(_) => Err(refuse(
                ExcType::OverflowError,
                "the int has more than 64 bits; pass it as a string",
            )),
            MontyObject::String(text) => self.text(text),
            MontyObject::Date(_) | MontyObject::DateTime(_) | MontyObject::Time(_) => self.count(40),
            MontyObject::List(items)
            | MontyObject::Tuple(items)
            | MontyObject::NamedTuple { values: items, .. } => self.items(items, levels),
            MontyObject::Dict(pairs) => self.members(pairs.iter(), levels),
            MontyObject::ClassInstance(instance) if instance.class_type.is_dataclass => {
                self.members(instance.attrs.iter(), levels)
            }
            MontyObject::Set(_) | MontyObject::FrozenSet(_) => Err(refuse(
                ExcType::TypeError,
                "JSON has no sets; pass sorted(...) or list(...)",
            )),
            MontyObject::Bytes(_) => Err(refuse(
                ExcType::TypeError,
                "JSON has no bytes; pass text, or base64 of them",
            )),
            MontyObject::Cycle(..) => Err(refuse(ExcType::ValueError, "it holds itself")),
            // The interpreter's own bound of levels.
            MontyObject::Repr(text) if text == "<deeply nested>" => Err(too_deep()),
            MontyObject::Repr(text) if text.starts_with("<coroutine") => Err(refuse(
                ExcType::TypeError,
                "it is a coroutine; write `await` before the call that made it",
            )),
            MontyObject::Repr(text) => Err(refuse(
                ExcType::TypeError,
                &format!("{} is not a value that JSON has", super::cut(text, 100)),
            )),
            other => Err(refuse(
                ExcType::TypeError,
                &format!("{} is not a value that JSON has", other.type_name()),
            )),
        }
    }

    fn items(&mut self, items: &[MontyObject], levels: usize) -> Result<(), UnencodableValue> {
        let below = levels.checked_sub(1).ok_or_else(too_deep)?;
        self.count(2 + items.len() as u64)?;
        items.iter().try_for_each(|item| self.add(item, below))
    }

    fn members<'a>(
        &mut self,
        members: impl Iterator<Item = &'a (MontyObject, MontyObject)>,
        levels: usize,
    ) -> Result<(), UnencodableValue> {
        let below = levels.checked_sub(1).ok_or_else(too_deep)?;
        self.count(2)?;
        for (key, value) in members {
            let MontyObject::String(key) = key else {
                let message = format!(
                    "a key of a dict is {}; JSON has keys of str alone",
                    key.type_name()
                );
                return Err(refuse(ExcType::TypeError, &message));
            };
            self.text(key)?;
            self.count(2)?;
            self.add(value, below)?;
        }
        Ok(())
    }

    fn text(&mut self, text: &str) -> Result<(), UnencodableValue> {
        self.count(text.len() as u64 + 2)?;
        // Escaped characters are longer; the cheap bound is tried first.
        let escapes = text.bytes().map(|byte| match byte {
            b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 8 | 12 => 1,
            0..0x20 => 5,
            _ => 0,
        });
        self.count(escapes.sum())
    }

    fn count(&mut self, bytes: u64) -> Result<(), UnencodableValue> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > self.most {
            let message = format!("it has more than {} bytes", self.most);
            return Err(refuse(ExcType::ValueError, &message));
        }
        Ok(())
    }
}

fn refuse(kind: ExcType, message: &str) -> UnencodableValue {
    UnencodableValue {
        kind,
        message: message.to_owned(),
    }
}

fn too_deep() -> UnencodableValue {
    let message = format!("it has more than {MOST_LEVELS} levels of lists and dicts");
    refuse(ExcType::ValueError, &message)
}

impl Serialize for Encoded {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Json(&self.0).serialize(serializer)
    }
}

struct Json<'a>(&'a MontyObject);

impl Serialize for Json<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            MontyObject::None => serializer.serialize_unit(),
            MontyObject::Bool(value) => serializer.serialize_bool(*value),
            MontyObject::Int(value) => serializer.serialize_i64(*value),
            MontyObject::Float(value) => serializer.serialize_f64(*value),
            MontyObject::String(value) => serializer.serialize_str(value),
            MontyObject::Date(date) => serializer.collect_str(&iso::Date(date)),
            MontyObject::DateTime(time) => serializer.collect_str(&iso::DateTime(time)),
            MontyObject::Time(time) => serializer.collect_str(&iso::Time(time)),
            MontyObject::List(items)
            | MontyObject::Tuple(items)
            | MontyObject::NamedTuple { values: items, .. } => {
                let mut list = serializer.serialize_seq(Some(items.len()))?;
                for item in items {
                    list.serialize_element(&Json(item))?;
                }
                list.end()
            }
            MontyObject::Dict(pairs) => object(serializer, pairs.iter()),
            MontyObject::ClassInstance(instance) => object(serializer, instance.attrs.iter()),
            other => Err(S::Error::custom(format!("{} is no JSON", other.type_name()))),
        }
    }
}

fn object<'a, S: Serializer>(
    serializer: S,
    members: impl Iterator<Item = &'a (MontyObject, MontyObject)>,
) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(None)?;
    for (key, value) in members {
        map.serialize_entry(&Json(key), &Json(value))?;
    }
    map.end()
}
