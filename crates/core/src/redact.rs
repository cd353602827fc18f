//! Takes secret values out of text before it is stored, shown or sent.

use std::collections::BTreeMap;

use serde_json::Value;

/// Values shorter than this are left alone: they occur by chance, and taking them out would reveal more than it hides.
pub const SHORTEST_SECRET_BYTES: usize = 4;
/// Shorter lines of a value with several are left alone: `{` and `end` are no secrets.
const SHORTEST_LINE_BYTES: usize = 8;

/// Replaces secret values by `[redacted:NAME]`, the longest first.
///
/// Each value is searched for as it stands, without the white space around it, as JSON and Python spell it, and line by
/// line (a comparison of texts is shown that way). Values shorter than four bytes are not redacted, nor are lines of
/// fewer than eight.
#[derive(Clone, Default)]
pub struct Redactor {
    /// Spelling and replacement, the longest spelling first.
    replacements: Vec<(String, String)>,
}

impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Redactor({} spellings)", self.replacements.len())
    }
}

impl Redactor {
    /// A redactor of these values, each with the name that stands in its place.
    #[must_use]
    pub fn new<N: AsRef<str>, V: AsRef<str>>(values: impl IntoIterator<Item = (N, V)>) -> Self {
        let mut spellings = BTreeMap::new();
        for (name, value) in values {
            for spelling in spellings_of(value.as_ref()) {
                spellings
                    .entry(spelling)
                    // The first name that has a value is the one that stands for it.
                    .or_insert_with(|| format!("[redacted:{}]", name.as_ref()));
            }
        }
        let mut replacements: Vec<_> = spellings.into_iter().collect();
        // The longest first: a value that is part of another one must not break it up.
        replacements.sort_by_key(|(spelling, _)| std::cmp::Reverse(spelling.len()));
        Self { replacements }
    }

    /// `text` without the values.
    #[must_use]
    pub fn redact(&self, text: &str) -> String {
        let mut next: Vec<Option<usize>> = self
            .replacements
            .iter()
            .map(|(spelling, _)| text.find(spelling))
            .collect();
        let mut clean = String::with_capacity(text.len());
        let mut done = 0;
        // One pass over the text, so that a value that occurs in a replacement does no harm.
        while let Some((at, index)) = self.earliest(text, done, &mut next) {
            let (spelling, replacement) = &self.replacements[index];
            clean.push_str(&text[done..at]);
            clean.push_str(replacement);
            done = at + spelling.len();
        }
        clean.push_str(&text[done..]);
        clean
    }

    /// `value` without the values in its texts, those of its keys included.
    #[must_use]
    pub fn redact_json(&self, value: Value) -> Value {
        match value {
            value if self.replacements.is_empty() => value,
            Value::String(text) => Value::String(self.redact(&text)),
            Value::Array(items) => items.into_iter().map(|item| self.redact_json(item)).collect(),
            Value::Object(fields) => {
                let fields = fields.into_iter();
                let clean = fields.map(|(key, value)| (self.redact(&key), self.redact_json(value)));
                Value::Object(clean.collect())
            }
            value => value,
        }
    }

    /// The beginning of `text` on one line of at most `longest` bytes, without the values.
    #[must_use]
    pub fn excerpt(&self, text: &str, longest: usize) -> String {
        let clean = self.redact(text);
        let line = clean.split_whitespace().collect::<Vec<_>>().join(" ");
        match line
            .char_indices()
            .find(|(at, character)| at + character.len_utf8() > longest)
        {
            Some((end, _)) => format!("{} ...", &line[..end]),
            None => line,
        }
    }

    /// Finds the next value that begins at or after `from`, as its place and its index: the longest of those that begin there.
    fn earliest(&self, text: &str, from: usize, next: &mut [Option<usize>]) -> Option<(usize, usize)> {
        for (position, (spelling, _)) in next.iter_mut().zip(&self.replacements) {
            if position.is_some_and(|at| at < from) {
                *position = text[from..].find(spelling).map(|at| at + from);
            }
        }
        next.iter()
            .enumerate()
            .filter_map(|(index, position)| position.map(|at| (at, index)))
            .min()
    }
}

fn spellings_of(value: &str) -> Vec<String> {
    let trimmed = value.trim();
    // Programs print values as JSON and by `repr`, where quotes and line ends are escaped.
    let json = Value::from(trimmed).to_string();
    let escaped = json[1..json.len() - 1].to_owned();
    let whole = [value.to_owned(), trimmed.to_owned(), escaped]
        .into_iter()
        .chain(python_spellings(trimmed))
        .filter(|spelling| spelling.trim().len() >= SHORTEST_SECRET_BYTES);
    // pytest shows a comparison of texts line by line, so that a value of several lines never stands as a whole.
    let lines: Vec<&str> = trimmed.lines().map(str::trim).collect();
    let lines = lines
        .iter()
        .filter(|line| lines.len() > 1 && line.len() >= SHORTEST_LINE_BYTES)
        .flat_map(|line| std::iter::once((*line).to_owned()).chain(python_spellings(line)));
    whole.chain(lines).collect()
}

/// A text inside the quotes of Python's `repr`, single or double.
fn python_spellings(text: &str) -> [String; 2] {
    let plain = text
        .replace('\\', r"\\")
        .replace('\n', r"\n")
        .replace('\r', r"\r")
        .replace('\t', r"\t");
    [plain.replace('\'', r"\'"), plain]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_occurrence_of_every_value_is_replaced_by_its_name() {
        let redactor = Redactor::new([("TOKEN", "hunter22"), ("PASSWORD", "correct horse")]);
        assert_eq!(
            redactor.redact("hunter22 and correct horse, again hunter22"),
            "[redacted:TOKEN] and [redacted:PASSWORD], again [redacted:TOKEN]"
        );
    }

    #[test]
    fn the_longest_value_wins_where_one_begins_with_another() {
        let redactor = Redactor::new([("SHORT", "abcd"), ("LONG", "abcdefgh")]);
        assert_eq!(
            redactor.redact("abcdefgh abcd"),
            "[redacted:LONG] [redacted:SHORT]"
        );
    }

    #[test]
    fn a_value_that_occurs_in_a_replacement_does_no_harm() {
        let redactor = Redactor::new([("A", "redacted"), ("B", "secret-value")]);
        assert_eq!(
            redactor.redact("secret-value redacted"),
            "[redacted:B] [redacted:A]"
        );
    }

    #[test]
    fn values_shorter_than_four_bytes_stay() {
        assert_eq!(
            Redactor::new([("A", "abc"), ("B", ""), ("C", " x ")]).redact("abc x "),
            "abc x "
        );
    }

    #[test]
    fn a_value_is_found_trimmed_and_as_json_spells_it() {
        let redactor = Redactor::new([("KEY", "line \"one\"\nline two\n")]);
        assert_eq!(redactor.redact("<line \"one\"\nline two>"), "<[redacted:KEY]>");
        assert_eq!(
            redactor.redact(r#"{"k":"line \"one\"\nline two"}"#),
            r#"{"k":"[redacted:KEY]"}"#
        );
    }

    #[test]
    fn a_value_is_found_as_python_shows_it() {
        let redactor = Redactor::new([("KEY", "it's a\\b\"c\n")]);
        assert_eq!(
            redactor.redact(r#"assert 'it\'s a\\b"c'"#),
            "assert '[redacted:KEY]'"
        );
        assert_eq!(
            redactor.redact(r#"KeyError("it's a\\b\"c")"#),
            r#"KeyError("[redacted:KEY]")"#
        );
    }

    #[test]
    fn every_long_line_of_a_value_is_found_alone() {
        let redactor = Redactor::new([("KEY", "-----BEGIN KEY-----\nMIIEvQIBADANBg\nabc\n")]);
        assert_eq!(
            redactor.redact("E   - MIIEvQIBADANBg\nE   - abc"),
            "E   - [redacted:KEY]\nE   - abc"
        );
    }

    #[test]
    fn text_beyond_ascii_is_cut_at_character_boundaries() {
        assert_eq!(
            Redactor::new([("K", "schlüssel")]).redact("ä schlüssel ö"),
            "ä [redacted:K] ö"
        );
    }

    #[test]
    fn many_occurrences_cost_one_pass() {
        let text = "aaaa ".repeat(200_000);
        let redactor = Redactor::new([("A", "aaaa"), ("B", "never there")]);
        assert_eq!(redactor.redact(&text).len(), "[redacted:A] ".len() * 200_000);
    }

    #[test]
    fn the_texts_and_keys_of_json_are_redacted() {
        let value = json!({"headers": [{"hunter22": "Bearer hunter22"}, 7, null]});
        let clean = json!({"headers": [{"[redacted:KEY]": "Bearer [redacted:KEY]"}, 7, null]});
        assert_eq!(Redactor::new([("KEY", "hunter22")]).redact_json(value), clean);
    }

    #[test]
    fn an_excerpt_is_one_line_cut_after_the_values_are_gone() {
        let redactor = Redactor::new([("KEY", "hunter22")]);
        assert_eq!(redactor.excerpt("a\n hunter22\tb", 100), "a [redacted:KEY] b");
        assert_eq!(redactor.excerpt("ää hunter22", 3), "ä ...");
    }

    #[test]
    fn debug_shows_no_value() {
        assert!(!format!("{:?}", Redactor::new([("A", "hunter22")])).contains("hunter22"));
    }
}
