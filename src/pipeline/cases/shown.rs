//! Texts of models as people see them: in one line, with nothing that changes how the rest of the line is shown.

use std::fmt::Write as _;

/// A text in one line. Characters that change the direction of text, and those that command a terminal, stand as escapes.
pub(super) fn shown(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' | '\r' | '\t' | '\u{2028}' | '\u{2029}' => line.push(' '),
            // Marks that turn the direction of text: a line could read as another one than it is.
            '\u{200e}' | '\u{200f}' | '\u{61c}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                escape(&mut line, character);
            }
            other if other.is_control() => escape(&mut line, other),
            other => line.push(other),
        }
    }
    line
}

fn escape(line: &mut String, character: char) {
    // Writing to memory cannot fail.
    let _ = write!(line, "<U+{:04X}>", u32::from(character));
}

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn what_turns_or_hides_a_line_is_escaped_and_words_of_any_script_stay() {
        assert_eq!(
            shown("a\u{202e}b\u{2066}c\u{200f}d\u{1b}[2K\ne"),
            "a<U+202E>b<U+2066>c<U+200F>d<U+001B>[2K e"
        );
        assert_eq!(shown("Zürich, שלום, 東京"), "Zürich, שלום, 東京");
    }
}
