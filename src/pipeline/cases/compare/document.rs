//! JSON documents.

use serde_json::Value;

use super::Mismatch;
use super::scalar::{Tolerance, number};
use crate::api::case::Check;

/// Reads one document, or one value a line as an array.
pub(super) fn parse(text: &str, is_lines: bool) -> Result<Value, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if is_lines {
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        return lines
            .map(serde_json::from_str)
            .collect::<Result<Vec<Value>, _>>()
            .map(Value::Array)
            .map_err(|error| error.to_string());
    }
    serde_json::from_str(text).map_err(|error| error.to_string())
}

/// What is expected: JSON, or else text.
fn wanted(expected: &str, is_lines: bool) -> Value {
    parse(expected, false)
        .or_else(|_| {
            if is_lines {
                parse(expected, true)
            } else {
                Err(String::new())
            }
        })
        .unwrap_or_else(|_| Value::String(expected.to_owned()))
}

/// Compares a document with what is expected of it.
pub(super) fn check(
    document: &Value,
    is_lines: bool,
    check: Check,
    at: &str,
    expected: &str,
    tolerance: Tolerance,
) -> Result<(), Mismatch> {
    let Some(actual) = document.pointer(at) else {
        return Err(Mismatch::new(format!("a value at {at}"), document.to_string()));
    };
    let said = || actual.to_string();
    match check {
        Check::Equals => Mismatch::unless(
            same(&wanted(expected, is_lines), actual, tolerance),
            expected,
            &said(),
        ),
        Check::SameRows => {
            let holds = match (wanted(expected, is_lines), actual) {
                (Value::Array(wanted), Value::Array(actual)) => same_set(&wanted, actual, tolerance),
                (wanted, actual) => same(&wanted, actual, tolerance),
            };
            Mismatch::unless(holds, expected, &said())
        }
        Check::Rows => {
            let count = match actual {
                Value::Array(elements) => elements.len(),
                Value::Object(entries) => entries.len(),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 1,
            };
            let holds = expected.trim().parse() == Ok(count);
            Mismatch::unless(
                holds,
                &format!("{expected} elements"),
                &format!("{count} elements"),
            )
        }
        Check::Columns => {
            let entries = match actual {
                Value::Array(elements) => elements.first().and_then(Value::as_object),
                other => other.as_object(),
            };
            let mut keys: Vec<&str> = entries
                .into_iter()
                .flat_map(|map| map.keys())
                .map(String::as_str)
                .collect();
            let mut listed: Vec<&str> = expected.split(',').map(str::trim).collect();
            keys.sort_unstable();
            listed.sort_unstable();
            Mismatch::unless(keys == listed, expected, &keys.join(","))
        }
        Check::Contains | Check::Lacks => {
            let wanted = wanted(expected, is_lines);
            let stands = match actual {
                Value::Array(elements) => elements.iter().any(|element| same(&wanted, element, tolerance)),
                Value::Object(entries) => entries.contains_key(expected),
                Value::String(text) => text.contains(expected),
                other => same(&wanted, other, tolerance),
            };
            Mismatch::unless(
                stands == (check == Check::Contains),
                &super::presence(check, expected),
                &said(),
            )
        }
        Check::Between => super::between(expected, &scalar(actual)),
        Check::Ordered => {
            let is_descending = expected.trim() == "descending";
            let elements = actual.as_array().map_or(&[][..], Vec::as_slice);
            let holds = elements.windows(2).all(|pair| {
                let order = order(&pair[0], &pair[1]);
                order.is_none_or(|order| {
                    if is_descending {
                        order.is_ge()
                    } else {
                        order.is_le()
                    }
                })
            });
            Mismatch::unless(holds, expected, &said())
        }
        Check::Total => {
            let numbers = actual.as_array().map_or(&[][..], Vec::as_slice).iter();
            super::total(expected, numbers.map(Value::as_f64).sum(), tolerance)
        }
    }
}

/// A value as plain text.
pub(super) fn scalar(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn order(one: &Value, other: &Value) -> Option<std::cmp::Ordering> {
    match (one.as_f64(), other.as_f64()) {
        (Some(one), Some(other)) => one.partial_cmp(&other),
        _ => Some(scalar(one).cmp(&scalar(other))),
    }
}

fn same_set(wanted: &[Value], actual: &[Value], tolerance: Tolerance) -> bool {
    let mut left: Vec<&Value> = actual.iter().collect();
    wanted.len() == actual.len()
        && wanted.iter().all(|value| {
            let found = left.iter().position(|other| same(value, other, tolerance));
            found.map(|index| left.swap_remove(index)).is_some()
        })
}

/// Whether two values are the same: numbers by value, objects whatever the order of their keys.
fn same(expected: &Value, actual: &Value, tolerance: Tolerance) -> bool {
    match (expected, actual) {
        (Value::Number(one), Value::Number(other)) => {
            one == other
                || matches!((one.as_f64(), other.as_f64()), (Some(one), Some(other))
                    if number_counts(expected, actual) && tolerance.covers(one, other))
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .zip(other)
                    .all(|(one, other)| same(one, other, tolerance))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .all(|(key, value)| other.get(key).is_some_and(|other| same(value, other, tolerance)))
        }
        (Value::String(one), Value::String(other)) => {
            // Two texts of digits stay texts; moments may be written otherwise.
            one == other || (number(one).is_none() && super::scalar::same(one, other, tolerance))
        }
        (one, other) => one == other,
    }
}

/// Whether two numbers are compared by value: two whole ones of more digits than a float holds are not.
fn number_counts(one: &Value, other: &Value) -> bool {
    let is_whole = |value: &Value| value.is_i64() || value.is_u64();
    let is_large = |value: &Value| {
        value
            .as_f64()
            .is_some_and(|value| value.abs() >= 9_007_199_254_740_992.0)
    };
    !(is_whole(one) && is_whole(other) && (is_large(one) || is_large(other)))
}
