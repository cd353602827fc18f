//! JSON documents.

use super::json::Json;
use super::matching::unmatched;
use super::order::is_sorted;
use super::scalar::{Scalar, Tolerance, number, same as same_text, truth};
use super::{Asked, Mismatch, list};
use crate::api::case::Check;

/// Reads one document, or one value a line as an array.
pub(super) fn parse(text: &str, is_lines: bool) -> Result<Json, String> {
    if is_lines {
        Json::parse_lines(text)
    } else {
        Json::parse(text)
    }
}

/// What is expected: JSON, or else text.
struct Wanted<'a> {
    text: &'a str,
    json: Json,
}

impl<'a> Wanted<'a> {
    fn read(text: &'a str, is_lines: bool) -> Self {
        // A bare word is expected text, and a case need not quote it.
        let json = parse_expected(text, is_lines).unwrap_or_else(|_| Json::String(text.to_owned()));
        Self {
            text: text.trim(),
            json,
        }
    }

    /// Whether a value is what is expected. One without quotes may be a string of exactly these characters (`12345`): the case has no
    /// way to see how the program writes it.
    fn is(&self, actual: &Json, tolerance: Tolerance) -> bool {
        let is_text = match actual {
            Json::String(text) => !matches!(self.json, Json::Array(_) | Json::Object(_)) && text == self.text,
            Json::Bool(value) => truth(self.text) == Some(*value),
            Json::Null | Json::Number(_) | Json::Array(_) | Json::Object(_) => false,
        };
        is_text || same(&self.json, actual, tolerance)
    }

    /// The word that is searched for in a text or among keys.
    fn word(&self) -> &str {
        match &self.json {
            Json::String(text) => text,
            _ => self.text,
        }
    }
}

/// An expected document; of JSON Lines an array, or one value a line.
pub(super) fn parse_expected(text: &str, is_lines: bool) -> Result<Json, String> {
    Json::parse(text).or_else(|error| {
        if is_lines {
            Json::parse_lines(text)
        } else {
            Err(error)
        }
    })
}

/// Compares a document with what is expected of it.
pub(super) fn check(document: &Json, is_lines: bool, asked: &Asked<'_>) -> Result<(), Mismatch> {
    let Asked {
        check,
        at,
        expected,
        tolerance,
    } = *asked;
    let Some(actual) = document.at(at) else {
        return Err(Mismatch::new(format!("a value at {at}"), document.to_string()));
    };
    let mut wanted = Wanted::read(expected, is_lines);
    if is_lines && asked.is_whole() {
        wanted.json = lines(wanted.json);
    }
    let unless = |holds| Mismatch::unless(holds, expected, &actual.to_string());
    match check {
        Check::Equals => unless(wanted.is(actual, tolerance)),
        Check::SameRows => unless(match (&wanted.json, actual) {
            (Json::Array(wanted), Json::Array(actual)) => same_set(wanted, actual, tolerance),
            _ => wanted.is(actual, tolerance),
        }),
        Check::Rows => rows(actual, expected),
        Check::Columns => columns(actual, expected),
        Check::Contains | Check::Lacks => presence(&wanted, actual, asked),
        Check::Between => super::between(expected, &actual.plain()),
        Check::Ordered => match actual {
            Json::Array(elements) => unless(are_in_order(elements, expected.trim() == "descending")),
            other => Err(of_another_type("an array", other)),
        },
        Check::Total => match actual {
            Json::Array(elements) => {
                let numbers = elements.iter().filter(|element| **element != Json::Null);
                super::total(expected, numbers.map(as_number).sum(), tolerance)
            }
            other => Err(of_another_type("an array", other)),
        },
    }
}

/// One expected line is as much a document as several.
fn lines(json: Json) -> Json {
    match json {
        Json::Array(_) => json,
        line => Json::Array(vec![line]),
    }
}

fn of_another_type(wanted: &str, actual: &Json) -> Mismatch {
    Mismatch::new(wanted, format!("{}: {actual}", actual.kind()))
}

fn rows(actual: &Json, expected: &str) -> Result<(), Mismatch> {
    let count = match actual {
        Json::Array(elements) => elements.len(),
        Json::Object(members) => members.len(),
        other => return Err(of_another_type("an array or object", other)),
    };
    Mismatch::unless(
        expected.trim().parse() == Ok(count),
        &format!("{expected} elements"),
        &format!("{count} elements"),
    )
}

fn columns(actual: &Json, expected: &str) -> Result<(), Mismatch> {
    let members = match actual {
        // Of a list of records the first stands for all.
        Json::Array(elements) => elements.first().unwrap_or(actual),
        other => other,
    };
    let mut keys: Vec<&str> = match members {
        Json::Object(members) => members.iter().map(|(name, _)| name.as_str()).collect(),
        Json::Array(elements) if elements.is_empty() => Vec::new(),
        other => return Err(of_another_type("an object", other)),
    };
    let mut listed = list(expected);
    // The keys of a JSON object have no order.
    keys.sort_unstable();
    listed.sort_unstable();
    Mismatch::unless(keys == listed, expected, &keys.join(","))
}

fn presence(wanted: &Wanted<'_>, actual: &Json, asked: &Asked<'_>) -> Result<(), Mismatch> {
    let stands = match actual {
        Json::Array(elements) => elements.iter().any(|element| wanted.is(element, asked.tolerance)),
        Json::Object(members) => members.iter().any(|(name, _)| name == wanted.word()),
        Json::String(text) => text.contains(wanted.word()),
        Json::Number(_) | Json::Bool(_) => wanted.is(actual, asked.tolerance),
        // Of nothing it is not said what it lacks.
        Json::Null => return Err(of_another_type("a value that may hold others", actual)),
    };
    super::found(asked, stands, &actual.to_string())
}

fn as_number(value: &Json) -> Option<bigdecimal::BigDecimal> {
    match value {
        Json::Number(text) => number(text),
        _ => None,
    }
}

/// Whether elements are in order: all of them numbers, or none. What is null stands last.
fn are_in_order(elements: &[Json], is_descending: bool) -> bool {
    let missing = elements
        .iter()
        .rev()
        .take_while(|element| **element == Json::Null);
    let elements = &elements[..elements.len() - missing.count()];
    if let Some(numbers) = elements.iter().map(as_number).collect::<Option<Vec<_>>>() {
        return is_sorted(&numbers, is_descending);
    }
    let texts = elements.iter().map(|element| match element {
        Json::String(text) => Some(text.as_str()),
        _ => None,
    });
    texts
        .collect::<Option<Vec<_>>>()
        .is_some_and(|texts| is_sorted(&texts, is_descending))
}

fn same_set(wanted: &[Json], actual: &[Json], tolerance: Tolerance) -> bool {
    wanted.len() == actual.len()
        && unmatched(wanted, actual, key, |one, other| same(one, other, tolerance)).is_none()
}

/// What is the same for values that are the same, but for fractions on either side of a place.
fn key(value: &Json) -> String {
    match value {
        Json::Null => "null".to_owned(),
        Json::Bool(value) => value.to_string(),
        Json::Number(text) | Json::String(text) => Scalar::read(text).key(),
        // Control characters as separators: no text of an output is likely to hold them, and a key only groups what is compared afterwards.
        Json::Array(elements) => elements.iter().map(key).collect::<Vec<_>>().join("\u{1f}"),
        Json::Object(fields) => {
            let mut fields: Vec<String> = fields
                .iter()
                .map(|(name, value)| format!("{name}\u{1e}{}", key(value)))
                .collect();
            fields.sort_unstable();
            fields.join("\u{1f}")
        }
    }
}

/// Whether two values are the same: numbers by value, objects whatever the order of their keys.
fn same(expected: &Json, actual: &Json, tolerance: Tolerance) -> bool {
    match (expected, actual) {
        (Json::Number(one), Json::Number(other)) => same_text(one, other, tolerance),
        (Json::Array(one), Json::Array(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .zip(other)
                    .all(|(one, other)| same(one, other, tolerance))
        }
        (Json::Object(one), Json::Object(other)) => {
            let value = |name: &str| other.iter().find(|(key, _)| key == name).map(|(_, value)| value);
            one.len() == other.len()
                && one
                    .iter()
                    .all(|(name, one)| value(name).is_some_and(|other| same(one, other, tolerance)))
        }
        (Json::String(one), Json::String(other)) => {
            // Two texts of digits stay texts; moments may be written otherwise.
            one == other || (number(one).is_none() && same_text(one, other, tolerance))
        }
        (one, other) => one == other,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::one_line("{\"a\": 1}", "{\"a\":1.0}\n", true)]
    #[case::another_line("{\"a\": 1}", "{\"a\":2}\n", false)]
    #[case::two_for_one("{\"a\": 1}", "{\"a\":1}\n{\"a\":1}\n", false)]
    #[case::an_array("[{\"a\": 1}]", "{\"a\":1}\n", true)]
    fn json_lines_may_be_a_single_one(#[case] expected: &str, #[case] text: &str, #[case] is_same: bool) {
        let asked = Asked {
            check: Check::Equals,
            at: "",
            expected,
            tolerance: Tolerance::default(),
        };
        let document = parse(text, true).unwrap();
        assert_eq!(check(&document, true, &asked).is_ok(), is_same);
    }
}
