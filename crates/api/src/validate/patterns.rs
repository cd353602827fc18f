//! Explanations of the definitions' patterns, in words and by an example: nobody reads a regular expression gladly.

/// A pattern of the definitions.
struct Meaning {
    pattern: &'static str,
    /// Requirement of the pattern in words.
    words: &'static str,
    /// A text that keeps it, as it stands in a manifest.
    example: &'static str,
}

const fn meaning(pattern: &'static str, words: &'static str, example: &'static str) -> Meaning {
    Meaning {
        pattern,
        words,
        example,
    }
}

const MEANINGS: [Meaning; 18] = [
    meaning(
        r"^([0-9]{1,5}h)?([0-9]{1,7}m)?([0-9]{1,9}s)?([0-9]{1,9}ms)?$",
        "a duration in whole numbers with their units, from hours down",
        "1h30m",
    ),
    meaning(
        r"^[0-9]+(\.[0-9]+)?(k|M|G|T|Ki|Mi|Gi|Ti)?$",
        "a quantity of bytes with the unit Ki, Mi, Gi or Ti, or k, M, G or T",
        "512Mi",
    ),
    meaning(
        r"^[0-9]+(\.[0-9]+)?m?$",
        "CPUs, or thousandths of one with an m",
        "500m",
    ),
    meaning(
        r"^3\.(10|11|12|13|14)$",
        "a version from 3.10 to 3.14 in quotes",
        "\"3.12\"",
    ),
    meaning(
        r"^[A-Za-z][A-Za-z0-9_]*$",
        "letters, digits and _, a letter first",
        "my_file",
    ),
    meaning(
        r"^[A-Za-z_][A-Za-z0-9_]*$",
        "letters, digits and _, no digit first",
        "DATABASE_URL",
    ),
    meaning(
        r"^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$",
        "the name of an object, in lower-case letters, digits, - and .",
        "penguin-masses",
    ),
    meaning(
        r"^[A-Za-z0-9._-]+$",
        "a key in letters, digits, ., _ and -",
        "penguins.csv",
    ),
    meaning(
        r"^[A-Za-z0-9][A-Za-z0-9._-]*$",
        "a file name in letters, digits, ., _ and -",
        "penguins.csv",
    ),
    meaning(
        r"^[A-Za-z0-9_][A-Za-z0-9._-]*$",
        "a tag in letters, digits, ., _ and -",
        "v1.2",
    ),
    meaning(r"^[A-Za-z0-9-]+$", "letters, digits and -", "X-Team"),
    meaning(
        r"^[A-Za-z0-9][A-Za-z0-9._:/@-]*$",
        "an image as a registry names it",
        "registry.example.com/team/python:3.12",
    ),
    meaning(
        r"^[A-Za-z0-9][A-Za-z0-9._-]*(\[[A-Za-z0-9._, -]+\])?( *(===?|[<>!~]=|[<>]) *[A-Za-z0-9.*+!_-]+ *,?)*$",
        "one package as pip takes it",
        "pandas==2.3.3",
    ),
    meaning(
        r"^[a-z0-9][a-z0-9+.-]+(=[A-Za-z0-9.+:~-]+)?$",
        "one Debian package",
        "libgomp1",
    ),
    meaning(
        r"^(apt:)?[A-Za-z0-9*][A-Za-z0-9*._+-]*$",
        "the name of a package, * for any letters, apt: before one of Debian",
        "apt:libgomp1",
    ),
    meaning(
        r"^https?://",
        "an address that begins with http:// or https://",
        "https://example.com/v1",
    ),
    meaning(
        r"^[0-9a-f]{64}$",
        "the 64 lower-case hex digits that sha256sum prints",
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    ),
    meaning(
        r"^\s*-----BEGIN CERTIFICATE-----",
        "certificates in PEM",
        "-----BEGIN CERTIFICATE-----...",
    ),
];

/// Returns words and an example for a pattern. `None` for a pattern that is not in a definition.
pub(super) fn advice(pattern: &str) -> Option<String> {
    let found = MEANINGS.iter().find(|meaning| meaning.pattern == pattern)?;
    Some(format!("write {}, like {}", found.words, found.example))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::super::{AGENT_SCHEMA, RUN_SCHEMA, TASK_SCHEMA};
    use super::*;

    fn patterns(schema: &Value, into: &mut BTreeSet<String>) {
        match schema {
            Value::Object(fields) => {
                into.extend(fields.get("pattern").and_then(Value::as_str).map(str::to_owned));
                fields.values().for_each(|field| patterns(field, into));
            }
            Value::Array(items) => items.iter().for_each(|item| patterns(item, into)),
            _ => {}
        }
    }

    #[test]
    fn every_pattern_of_the_definitions_has_words_and_an_example_that_keeps_it() {
        let mut found = BTreeSet::new();
        for schema in [&*TASK_SCHEMA, &*AGENT_SCHEMA, &*RUN_SCHEMA] {
            patterns(schema, &mut found);
        }
        let ours: BTreeSet<String> = MEANINGS
            .iter()
            .map(|meaning| meaning.pattern.to_owned())
            .collect();
        assert_eq!(ours, found);
        for meaning in &MEANINGS {
            let example = meaning.example.trim_matches('"');
            let pattern = regex::Regex::new(meaning.pattern).unwrap();
            assert!(pattern.is_match(example), "{example} {}", meaning.pattern);
        }
    }
}
