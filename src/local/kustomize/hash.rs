//! The ending that kustomize gives the names of generated objects, so that a changed content is a new object.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use codegen_core::digest::sha256_hex;

/// Characters of it.
const LENGTH: usize = 10;

/// The ending for the content of a ConfigMap or Secret; its name is no part of it.
pub(super) fn suffix(object: &Value) -> String {
    let kind = object["kind"].as_str().unwrap_or_default();
    let fields: &[&str] = match kind {
        "Secret" => &["data", "type"],
        _ => &["data"],
    };
    let mut content = BTreeMap::from([("kind", json!(kind)), ("name", json!(""))]);
    for field in fields {
        // What is not there counts as an empty text.
        let value = object.get(*field).cloned().unwrap_or_else(|| json!(""));
        content.insert(field, value);
    }
    if let Some(bytes) = object.get("binaryData") {
        content.insert("binaryData", bytes.clone());
    }
    // Maps of plain texts: writing them cannot fail.
    let text = serde_json::to_string(&content).unwrap_or_default();
    let hex = sha256_hex(as_go_writes_it(&text).as_bytes());
    hex.chars().take(LENGTH).map(without_vowels).collect()
}

/// Go escapes what HTML or JavaScript might take for its own.
fn as_go_writes_it(json: &str) -> String {
    let escapes = [
        ('<', "\\u003c"),
        ('>', "\\u003e"),
        ('&', "\\u0026"),
        ('\u{2028}', "\\u2028"),
        ('\u{2029}', "\\u2029"),
    ];
    let escape = |text: String, (character, escape): (char, &str)| text.replace(character, escape);
    escapes.into_iter().fold(json.to_owned(), escape)
}

/// So that no name holds a word.
const fn without_vowels(digit: char) -> char {
    match digit {
        '0' => 'g',
        '1' => 'h',
        '3' => 'k',
        'a' => 'm',
        'e' => 't',
        digit => digit,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ending_is_that_of_kubectl_kustomize() {
        let config_map = json!({
            "kind": "ConfigMap",
            "metadata": {"name": "any"},
            "data": {
                "penguins.csv": "species,\"x\"\nAdelie,<&>\u{e9}\u{2028}\r\n",
                "q": "a b", "r": "c", "s": "a=b", "t": " x ", "u": "<&>\u{e9}",
            },
            "binaryData": {"x": "//4A"},
        });
        assert_eq!(suffix(&config_map), "c6md2kfbht");
        let secret = json!({"kind": "Secret", "type": "Opaque", "data": {"k": "dg=="}});
        assert_eq!(suffix(&secret), "ftgtgc4t9f");
    }
}
