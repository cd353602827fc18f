//! Texts of others that must stay in the line, or in the quote, that they are put into.

/// Reports whether whoever reads a text may take the character for the end of a line, as `str.splitlines` of Python does.
pub(crate) const fn ends_line(character: char) -> bool {
    matches!(
        character,
        '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}'
    )
}

/// The text in one line: spaces stand for the ends of lines.
#[must_use]
pub(crate) fn in_one_line(text: &str) -> String {
    text.replace(ends_line, " ")
}

/// At most so many characters of a text, with a mark where something is missing.
pub(crate) fn cut(text: &str, characters: usize, mark: &str) -> String {
    match text.char_indices().nth(characters) {
        Some((end, _)) => format!("{}{mark}", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
