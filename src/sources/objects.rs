//! Objects by namespace and name, as references find them.

use std::collections::BTreeMap;
use std::fmt;

/// Namespace and name of an object.
pub type ObjectKey = (String, String);

/// The data of a ConfigMap or Secret by key. `Debug` shows keys only.
#[derive(Clone, PartialEq, Default)]
pub struct Keys(pub BTreeMap<String, Vec<u8>>);

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// Finds an object by the name that a reference gives. Generators of kustomize append a hash to names, and do not know
/// the references of our kinds: a plain name finds the only object that is this name and such a hash.
#[must_use]
pub fn find<'a, T>(
    objects: &'a BTreeMap<ObjectKey, T>,
    namespace: &str,
    name: &str,
) -> Option<(&'a ObjectKey, &'a T)> {
    let key = (namespace.to_owned(), name.to_owned());
    if let Some(found) = objects.get_key_value(&key) {
        return Some(found);
    }
    let mut hashed = objects.iter().filter(|((space, full), _)| {
        space == namespace
            && full
                .strip_prefix(name)
                .and_then(|rest| rest.strip_prefix('-'))
                .is_some_and(is_kustomize_hash)
    });
    // Two of them may be versions of one object, and which is meant cannot be seen.
    hashed.next().filter(|_| hashed.next().is_none())
}

/// Kustomize writes ten characters of an alphabet without vowels.
fn is_kustomize_hash(text: &str) -> bool {
    text.len() == 10 && text.bytes().all(|byte| b"bcdfghkmt2456789".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_name_finds_a_generated_one() {
        let generated = ("default".to_owned(), "penguins-6t8g9b2c4d".to_owned());
        let objects = BTreeMap::from([(generated, 1)]);
        assert!(find(&objects, "default", "penguins").is_some());
        assert!(find(&objects, "default", "penguin").is_none());
        assert!(find(&objects, "other", "penguins").is_none());
    }
}
