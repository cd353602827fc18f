//! Text by its shape: letters become `x` or `X`, digits `9`, what separates them stays.

use std::sync::LazyLock;

use regex::Regex;

use crate::format::json::keys::ANY_KEY;

use super::names::Names;

/// Marker in a row for a part that is cut.
static CUT: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"…\[[0-9]+ more characters\]|…\[cut\]").ok());
const CUT_MASKED: &str = "…[cut]";

/// The shape of a text. The length of what was cut is not shown.
pub(super) fn mask(text: &str) -> String {
    let Some(cut) = CUT.as_ref() else {
        return shape(text);
    };
    let parts: Vec<String> = cut.split(text).map(shape).collect();
    parts.join(CUT_MASKED)
}

fn shape(text: &str) -> String {
    text.chars().map(mask_character).collect()
}

/// Beyond ASCII only signs of currency stand: a symbol may reveal as much as a letter.
fn mask_character(character: char) -> char {
    match character {
        _ if character.is_numeric() => '9',
        _ if character.is_uppercase() => 'X',
        _ if character.is_alphabetic() => 'x',
        '€' | '£' | '¥' | '¢' | '°' | '\u{fffd}' => character,
        _ if character.is_ascii() => character,
        _ => 'x',
    }
}

/// Masks a pattern, which is a shape already unless it holds literal text.
pub(super) fn mask_pattern(pattern: &mut String) {
    let is_shape = |character: char| !character.is_alphanumeric() || matches!(character, 'A' | 'a' | '9');
    if !pattern.chars().all(is_shape) {
        *pattern = mask(pattern);
    }
}

/// The shape of a JSON text, which may be cut: keys on shown paths and `null` stand, all else is masked.
pub(super) fn mask_json(text: &str, names: &Names) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut path = Path::default();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = if first == '"' {
            string_length(rest)
        } else if is_structure(first) {
            1
        } else {
            rest.find(|character| character == '"' || is_structure(character))
                .unwrap_or(rest.len())
        };
        let (token, after) = rest.split_at(length);
        let is_key = first == '"' && token.len() > 1 && after.trim_start().starts_with(':');
        match first {
            '{' | '[' | '}' | ']' | ',' => {
                path.meet(first);
                masked.push(first);
            }
            '"' if is_key => {
                path.enter(token);
                if names.has_path(&path.text()) {
                    masked.push_str(token);
                } else {
                    masked.push_str(&mask(token));
                    path.is_any_key();
                }
            }
            _ if token.trim() == "null" => masked.push_str(token),
            _ => masked.push_str(&mask(token)),
        }
        rest = after;
    }
    masked
}

const fn is_structure(character: char) -> bool {
    matches!(character, '{' | '[' | '}' | ']' | ',' | ':')
}

/// Bytes of the string that begins a text, quotes counted; the whole text where it does not end.
fn string_length(text: &str) -> usize {
    let mut is_escaped = false;
    for (position, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => return position + 1,
            _ => {}
        }
    }
    text.len()
}

/// The way from the top of a JSON value to where the reader stands.
#[derive(Default)]
struct Path(Vec<Level>);

enum Level {
    Object(Option<String>),
    Array,
}

impl Path {
    fn meet(&mut self, structure: char) {
        match structure {
            '{' => self.0.push(Level::Object(None)),
            '[' => self.0.push(Level::Array),
            '}' | ']' => {
                self.0.pop();
            }
            _ => {}
        }
    }

    /// Takes the quoted key of the present object.
    fn enter(&mut self, token: &str) {
        let name = serde_json::from_str(token).unwrap_or_else(|_| token.to_owned());
        if let Some(Level::Object(key)) = self.0.last_mut() {
            *key = Some(name);
        }
    }

    /// Below a key that is not shown lies what lies below any key.
    fn is_any_key(&mut self) {
        if let Some(Level::Object(Some(key))) = self.0.last_mut() {
            ANY_KEY.clone_into(key);
        }
    }

    /// As columns are named: `user.city`, `items[].price`.
    fn text(&self) -> String {
        let mut text = String::new();
        for level in &self.0 {
            match level {
                Level::Array => text.push_str("[]"),
                Level::Object(key) => {
                    if !text.is_empty() {
                        text.push('.');
                    }
                    text.push_str(key.as_deref().unwrap_or_default());
                }
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_and_digits_go_and_what_separates_them_stays() {
        assert_eq!(
            mask("Ärger-4711,\"a b\";٣,2026-01-05T10:00Z,€5,😀,…[12 more characters]x"),
            "Xxxxx-9999,\"x x\";9,9999-99-99X99:99X,€9,x,…[cut]x"
        );
    }

    #[test]
    fn keys_on_shown_paths_stay_in_json() {
        let names = Names::of_paths(&["user.city", "items[].price"]);
        assert_eq!(
            mask_json(
                r#"{"user":{"city":"Bonn: \"{x}\"","ann@x.org":1},"items":[{"price":2.50,"who":null}],"ok":true}"#,
                &names
            ),
            r#"{"user":{"city":"Xxxx: \"{x}\"","xxx@x.xxx":9},"items":[{"price":9.99,"xxx":null}],"xx":xxxx}"#
        );
    }

    #[test]
    fn keys_below_one_that_is_data_stay() {
        let names = Names::of_paths(&["users.{key}.age"]);
        assert_eq!(
            mask_json(r#"{"users":{"u17":{"age":31,"name":"Ann"}}}"#, &names),
            r#"{"users":{"x99":{"age":99,"xxxx":"Xxx"}}}"#
        );
    }

    #[test]
    fn json_that_is_cut_is_masked_to_its_end() {
        let names = Names::of_paths(&["a"]);
        assert_eq!(
            mask_json(r#"{"a":"secr…[12 more characters]"#, &names),
            r#"{"a":"xxxx…[cut]"#
        );
        assert_eq!(mask_json(r#"{"a":1,"secr"#, &names), r#"{"a":9,"xxxx"#);
    }
}
