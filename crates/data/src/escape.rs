//! Text that others wrote, in one line of ours: what ends a line is escaped, and what reads as a mark is seen.

use std::borrow::Cow;

/// Reports whether a reader may take the character for the end of a line.
const fn ends_line(character: char) -> bool {
    matches!(
        character,
        '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}'
    )
}

/// Reports whether a text has more than one line.
#[must_use]
pub fn has_line_ends(text: &str) -> bool {
    text.contains(ends_line)
}

/// Reports whether a line reads as a heading, or as the beginning or end of a block of code.
#[must_use]
pub fn is_markup(line: &str) -> bool {
    let line = line.trim_start();
    ["#", "```", "~~~"].iter().any(|mark| line.starts_with(mark))
}

/// The text in one line: where it ends lines it has escapes (`\n`).
#[must_use]
pub fn one_line(text: &str) -> Cow<'_, str> {
    if !has_line_ends(text) {
        return Cow::Borrowed(text);
    }
    let escaped = text.chars().fold(String::new(), |mut line, character| {
        if ends_line(character) {
            line.extend(character.escape_default());
        } else {
            line.push(character);
        }
        line
    });
    Cow::Owned(escaped)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::plain("a,b", "a,b")]
    #[case::of_windows("a\r\nb", "a\\r\\nb")]
    #[case::of_unicode("a\u{2028}# b\u{85}", "a\\u{2028}# b\\u{85}")]
    fn a_text_in_one_line_has_no_end_of_a_line(#[case] text: &str, #[case] line: &str) {
        assert_eq!(one_line(text), line);
    }
}
