//! The value in a reply. Pure.

use serde_json::Value;

use crate::json;

/// The values that a successful reply's body may be, the likeliest first; it is the first that its schema allows. JSON where the server says
/// so, or where it is an object or a list; else text, or null where it is empty. What continues the name of the tool where it is neither.
pub(super) fn values(content_type: Option<&str>, body: &[u8]) -> Result<Vec<Value>, String> {
    if body.is_empty() {
        return Ok(vec![Value::Null]);
    }
    let content_type = content_type.unwrap_or_default();
    let text = std::str::from_utf8(body).map_err(|_| {
        format!(
            "replied with {} bytes that are no UTF-8 text ({content_type}), which a program cannot have",
            body.len()
        )
    })?;
    let as_text = Value::String(text.to_owned());
    match json::parse(text) {
        Err(error) if is_json(content_type) => {
            Err(format!("replied with what it calls JSON and is none: {error}"))
        }
        Err(_) => Ok(vec![as_text]),
        Ok(value) if is_json(content_type) => Ok(vec![value]),
        Ok(value) if value.is_object() || value.is_array() => Ok(vec![value, as_text]),
        // `7`, `1E5` and `null` are text where nobody says that they are JSON.
        Ok(value) => Ok(vec![as_text, value]),
    }
}

fn is_json(content_type: &str) -> bool {
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    let essence = essence.to_ascii_lowercase();
    essence == "application/json" || essence == "text/json" || essence.ends_with("+json")
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case(Some("application/json"), r#"{"a": 1}"#, json!({"a": 1}))]
    #[case(Some("application/problem+json; charset=utf-8"), "[1]", json!([1]))]
    #[case(None, r#"{"a": 1}"#, json!({"a": 1}))]
    #[case(Some("text/plain"), "seven", json!("seven"))]
    #[case(Some("application/json"), "", json!(null))]
    #[case(Some("application/json"), "7", json!(7))]
    #[case(Some("application/json"), "null", json!(null))]
    #[case(Some("text/plain"), "[1]", json!([1]))]
    #[case(Some("text/plain"), "7", json!("7"))]
    #[case(None, "12345678901234567890123", json!("12345678901234567890123"))]
    #[case(Some("application/json"), "{\"id\": 12345678901234567890123}", json!({"id": "12345678901234567890123"}))]
    #[case(Some("text/plain"), "1.10", json!("1.10"))]
    #[case(Some("text/plain"), "null", json!("null"))]
    fn a_reply_is_json_or_text_or_null(
        #[case] content_type: Option<&str>,
        #[case] body: &str,
        #[case] expected: Value,
    ) {
        assert_eq!(values(content_type, body.as_bytes()).unwrap()[0], expected);
    }

    #[test]
    fn a_number_in_plain_text_may_be_either() {
        assert_eq!(
            values(Some("text/plain"), b"7.5"),
            Ok(vec![json!("7.5"), json!(7.5)])
        );
        assert_eq!(values(Some("application/json"), b"7"), Ok(vec![json!(7)]));
    }

    #[rstest]
    #[case(b"{\"a\": ", "calls JSON and is none")]
    #[case(b"\xff\xfe", "no UTF-8 text (application/json)")]
    fn what_is_no_value_is_named(#[case] body: &[u8], #[case] why: &str) {
        let fault = values(Some("application/json"), body).unwrap_err();
        assert!(fault.contains(why), "{fault}");
    }
}
