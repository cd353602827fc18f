//! Meaning of a scalar without quotes.

use serde_json::Value;

use super::{YamlDialect, number};

/// The value of a plain scalar; an error for a number that JSON has not.
pub(super) fn plain(text: &str, dialect: YamlDialect) -> Result<Value, &'static str> {
    if matches!(text, "" | "~" | "null" | "Null" | "NULL") {
        return Ok(Value::Null);
    }
    if let Some(truth) = truth(text, dialect) {
        return Ok(Value::Bool(truth));
    }
    if is_infinite(text) {
        return Err("a number is infinite or none, which JSON cannot say: put it in quotes");
    }
    let found = match text.as_bytes()[0] {
        b'.' => float(text),
        b'0'..=b'9' | b'+' | b'-' => {
            let digits = text.replace('_', "");
            integer(&digits).or_else(|| float(&digits))
        }
        _ => None,
    };
    if let Some(found) = found {
        return Ok(found);
    }
    let time = (dialect == YamlDialect::Kustomize)
        .then(|| timestamp(text))
        .flatten();
    Ok(Value::String(time.unwrap_or_else(|| text.to_owned())))
}

fn truth(text: &str, dialect: YamlDialect) -> Option<bool> {
    match text {
        "true" | "True" | "TRUE" => Some(true),
        "false" | "False" | "FALSE" => Some(false),
        _ if dialect == YamlDialect::Kustomize => None,
        "y" | "Y" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" => Some(true),
        "n" | "N" | "no" | "No" | "NO" | "off" | "Off" | "OFF" => Some(false),
        _ => None,
    }
}

fn is_infinite(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    matches!(unsigned, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN")
}

/// A whole number: decimal, `0x`, `0b`, `0o`, and octal with a leading zero.
fn integer(text: &str) -> Option<Value> {
    let (is_negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let prefixed =
        |lower: &str, upper: &str| digits.strip_prefix(lower).or_else(|| digits.strip_prefix(upper));
    let (radix, digits) = if let Some(digits) = prefixed("0x", "0X") {
        (16, digits)
    } else if let Some(digits) = prefixed("0b", "0B") {
        (2, digits)
    } else if let Some(digits) = prefixed("0o", "0O") {
        (8, digits)
    } else {
        match digits.strip_prefix('0') {
            Some(rest) if !rest.is_empty() => (8, rest),
            _ => (10, digits),
        }
    };
    // The library would take a second sign.
    if !digits.chars().all(|digit| digit.is_digit(radix)) {
        return None;
    }
    let size = u64::from_str_radix(digits, radix).ok()?;
    let value = if is_negative {
        -i128::from(size)
    } else {
        i128::from(size)
    };
    match i64::try_from(value) {
        Ok(value) => Some(Value::Number(value.into())),
        Err(_) if is_negative => None,
        Err(_) => Some(number(size as f64)),
    }
}

/// A decimal fraction, with an exponent or without; what is too large for one is none.
fn float(text: &str) -> Option<Value> {
    // The library would take `inf`, too.
    let is_decimal = text
        .bytes()
        .all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
    let value = text.parse::<f64>().ok().filter(|_| is_decimal)?;
    value.is_finite().then(|| number(value))
}

/// Returns what kustomize makes of a date or of a time without a zone.
fn timestamp(text: &str) -> Option<String> {
    let is_dated = text.len() >= 8 && text.as_bytes()[..4].iter().all(u8::is_ascii_digit);
    if !is_dated {
        return None;
    }
    if let Ok(date) = jiff::civil::Date::strptime("%Y-%m-%d", text) {
        return Some(format!("{date}T00:00:00Z"));
    }
    let time = jiff::civil::DateTime::strptime("%Y-%m-%d %H:%M:%S%.f", text).ok()?;
    Some(format!("{time}Z"))
}
