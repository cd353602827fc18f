//! Values that come from the host: JSON read straight into the interpreter's objects.

use std::fmt;

use monty_types::{DictPairs, MontyObject};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use crate::memory;

/// Beginning of the error for a reply that has no room.
pub(crate) const NO_ROOM: &str = "no memory is left for the reply";

/// A value of a tool.
#[derive(Debug)]
pub(crate) struct DecodedValue(pub(crate) MontyObject);

impl<'de> Deserialize<'de> for DecodedValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Objects).map(Self)
    }
}

struct Objects;

impl<'de> Visitor<'de> for Objects {
    type Value = MontyObject;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<MontyObject, E> {
        Ok(MontyObject::None)
    }

    fn visit_bool<E>(self, value: bool) -> Result<MontyObject, E> {
        Ok(MontyObject::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<MontyObject, E> {
        Ok(MontyObject::Int(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<MontyObject, E> {
        Ok(i64::try_from(value).map_or_else(|_| MontyObject::BigInt(value.into()), MontyObject::Int))
    }

    fn visit_f64<E>(self, value: f64) -> Result<MontyObject, E> {
        Ok(MontyObject::Float(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<MontyObject, E> {
        Ok(MontyObject::String(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<MontyObject, A::Error> {
        let mut items = Vec::new();
        while let Some(DecodedValue(item)) = list.next_element()? {
            items.push(item);
            has_room(items.len(), items.capacity())?;
        }
        Ok(MontyObject::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<MontyObject, A::Error> {
        let mut pairs = Vec::new();
        while let Some((key, DecodedValue(value))) = object.next_entry::<String, DecodedValue>()? {
            pairs.push((MontyObject::String(key), value));
            has_room(pairs.len(), pairs.capacity())?;
        }
        Ok(MontyObject::Dict(DictPairs::from(pairs)))
    }
}

/// Past its hard limit the allocator ends the process. A list that is full doubles: where that has no room, reading ends with an
/// exception for the program.
fn has_room<E: Error>(items: usize, capacity: usize) -> Result<(), E> {
    let is_full = items == capacity;
    let growth = if is_full {
        2 * capacity * size_of::<(MontyObject, MontyObject)>()
    } else {
        0
    };
    if memory::has_room(growth) {
        Ok(())
    } else {
        Err(E::custom(NO_ROOM))
    }
}
