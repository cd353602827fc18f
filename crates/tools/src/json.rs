//! JSON of tools. An integer of more than 64 bits becomes the text of its digits, for a float would lose some of them.

use serde_json::Value;

/// Digits that every 64-bit integer may have.
const SAFE_DIGITS: usize = 18;

/// The value that a JSON text is.
pub(super) fn parse(text: &str) -> serde_json::Result<Value> {
    let value = serde_json::from_str(text)?;
    match with_long_integers_quoted(text) {
        Some(quoted) => serde_json::from_str(&quoted),
        None => Ok(value),
    }
}

/// The object or list that a text is. Any other text stays text, whatever it looks like.
pub(super) fn object_or_list(text: &str) -> Option<Value> {
    parse(text)
        .ok()
        .filter(|value| value.is_object() || value.is_array())
}

/// The text with each integer that 64 bits do not hold in quotes; nothing where there is none.
fn with_long_integers_quoted(json: &str) -> Option<String> {
    let mut quoted = String::new();
    let mut copied = 0;
    let (mut is_text, mut is_escaped) = (false, false);
    let mut start = None;
    let ends = json.char_indices().chain([(json.len(), ' ')]);
    for (at, character) in ends {
        if is_text {
            is_text = character != '"' || is_escaped;
            is_escaped = character == '\\' && !is_escaped;
            continue;
        }
        if character.is_ascii_digit() || "+-.eE".contains(character) {
            start.get_or_insert(at);
            continue;
        }
        if let Some(from) = start.take()
            && is_long_integer(&json[from..at])
        {
            quoted.push_str(&json[copied..from]);
            quoted.extend(["\"", &json[from..at], "\""]);
            copied = at;
        }
        is_text = character == '"';
    }
    if copied == 0 {
        return None;
    }
    quoted.push_str(&json[copied..]);
    Some(quoted)
}

fn is_long_integer(number: &str) -> bool {
    let digits = number.strip_prefix('-').unwrap_or(number);
    digits.len() > SAFE_DIGITS
        && digits.bytes().all(|byte| byte.is_ascii_digit())
        && number.parse::<i64>().is_err()
        && number.parse::<u64>().is_err()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case("12345678901234567890123", json!("12345678901234567890123"))]
    #[case("[-12345678901234567890123, 1]", json!(["-12345678901234567890123", 1]))]
    #[case(r#"{"id": 99999999999999999999, "n": {"id":18446744073709551616}}"#, json!({"id": "99999999999999999999", "n": {"id": "18446744073709551616"}}))]
    #[case("[18446744073709551615, -9223372036854775808]", json!([u64::MAX, i64::MIN]))]
    #[case("[1.5, 2e3, 123456789012345678901.5]", json!([1.5, 2000.0, 123_456_789_012_345_678_901.5]))]
    #[case(r#"["12345678901234567890123", "a\" 12345678901234567890123 "]"#, json!(["12345678901234567890123", "a\" 12345678901234567890123 "]))]
    fn an_integer_of_more_than_64_bits_loses_no_digit(#[case] text: &str, #[case] expected: Value) {
        assert_eq!(parse(text).unwrap(), expected);
    }

    #[rstest]
    #[case("{12345678901234567890123: 1}")]
    #[case("012345678901234567890123")]
    #[case("[1")]
    fn what_is_no_json_stays_none(#[case] text: &str) {
        assert!(parse(text).is_err());
    }

    #[rstest]
    #[case("1E5")]
    #[case("1.10")]
    #[case("007")]
    #[case("null")]
    #[case("true")]
    #[case("\"q\"")]
    #[case("12345678901234567890123")]
    #[case("[1")]
    fn only_objects_and_lists_are_no_text(#[case] text: &str) {
        assert_eq!(object_or_list(text), None);
        assert_eq!(
            object_or_list(&format!("[{text}, 1]")).is_some(),
            parse(text).is_ok()
        );
    }
}
