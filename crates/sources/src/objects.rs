//! Objects by namespace and name, as references find them.

use std::collections::BTreeMap;
use std::fmt;

/// Namespace and name of an object.
pub type ObjectKey = (String, String);

/// The data of a ConfigMap or Secret by key. `Debug` shows keys only.
#[derive(Clone, PartialEq, Default)]
pub struct ObjectData(pub BTreeMap<String, Vec<u8>>);

impl fmt::Debug for ObjectData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// Finds an object by the name that a reference gives, as a cluster does: exactly.
#[must_use]
pub fn find<'a, T>(objects: &'a BTreeMap<ObjectKey, T>, namespace: &str, name: &str) -> Option<&'a T> {
    objects.get(&(namespace.to_owned(), name.to_owned()))
}

/// Explains a reference that finds nothing because kustomize gave its object another name: empty where it did not.
#[must_use]
pub fn renamed_text<T>(objects: &BTreeMap<ObjectKey, T>, namespace: &str, name: &str) -> String {
    let mut of_the_name = objects
        .keys()
        .filter(|(space, full)| space == namespace && is_made_of(full, name));
    let Some((_, full)) = of_the_name.next() else {
        return String::new();
    };
    format!(
        " (kustomize calls it {full} and changes no reference of ours unless the kustomization lists name-references.yaml under \
         configurations, see docs/kustomize.md)"
    )
}

/// Reports whether kustomize may have made a name of another one: by a prefix, a suffix or the hash of a generator.
fn is_made_of(full: &str, name: &str) -> bool {
    let is_joint = |rest: &str, at: fn(&str) -> Option<char>| at(rest).is_none_or(|c| matches!(c, '-' | '.'));
    full.match_indices(name).any(|(start, _)| {
        let (before, after) = (&full[..start], &full[start + name.len()..]);
        full != name
            && is_joint(before, |text| text.chars().next_back())
            && is_joint(after, |text| text.chars().next())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objects(name: &str) -> BTreeMap<ObjectKey, u8> {
        BTreeMap::from([(("default".to_owned(), name.to_owned()), 1)])
    }

    #[test]
    fn a_reference_finds_the_object_of_its_name_and_no_other() {
        assert!(find(&objects("penguins"), "default", "penguins").is_some());
        assert!(find(&objects("penguins-6t8g9b2c4d"), "default", "penguins").is_none());
        assert!(find(&objects("penguins"), "other", "penguins").is_none());
    }

    #[test]
    fn an_object_that_kustomize_has_renamed_is_named() {
        for full in ["penguins-6t8g9b2c4d", "dev-penguins", "dev-penguins-x"] {
            let text = renamed_text(&objects(full), "default", "penguins");
            assert!(text.contains(&format!("kustomize calls it {full} ")), "{text}");
        }
        for other in ["penguins", "penguins2", "flightlesspenguins"] {
            assert_eq!(
                renamed_text(&objects(other), "default", "penguins"),
                "",
                "{other}"
            );
        }
    }
}
