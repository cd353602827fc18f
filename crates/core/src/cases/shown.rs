//! Texts of models as people see them: in one line, with nothing that changes how the rest of the line is shown.

use std::fmt::Write as _;

/// A text in one line. Characters that change the direction of text, and those that command a terminal, stand as escapes.
pub(super) fn shown(text: &str) -> String {
    let line = text.replace(['\n', '\r', '\t', '\u{2028}', '\u{2029}'], " ");
    // Marks that turn the direction of text: a line could read as another one than it is.
    let turns = |character| matches!(character, '\u{200e}' | '\u{200f}' | '\u{61c}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    escaped(&line, |character| turns(character) || character.is_control())
}

/// A text with its lines, in which what nobody sees stands as escapes: two texts that differ look different.
pub(super) fn visible(text: &str) -> String {
    escaped(text, |character| {
        let is_layout = matches!(character, '\n' | '\t' | '\r');
        let has_no_shape = matches!(
            character,
            '\u{a0}' | '\u{ad}' | '\u{61c}' | '\u{2000}'..='\u{200f}' | '\u{2028}'..='\u{202f}' | '\u{2060}'..='\u{206f}' | '\u{3000}' | '\u{feff}'
        );
        has_no_shape || character.is_control() && !is_layout
    })
}

fn escaped(text: &str, is_hidden: impl Fn(char) -> bool) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if is_hidden(character) {
            // Writing to memory cannot fail.
            let _ = write!(shown, "<U+{:04X}>", u32::from(character));
        } else {
            shown.push(character);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::{shown, visible};

    #[test]
    fn what_nobody_sees_of_a_text_is_escaped_and_its_lines_stay() {
        assert_eq!(
            visible("\u{feff}3\na\u{a0}b\tc\u{200b}\0"),
            "<U+FEFF>3\na<U+00A0>b\tc<U+200B><U+0000>"
        );
        assert_eq!(visible("Zürich, שלום, 東京"), "Zürich, שלום, 東京");
    }

    #[test]
    fn what_turns_or_hides_a_line_is_escaped_and_words_of_any_script_stay() {
        assert_eq!(
            shown("a\u{202e}b\u{2066}c\u{200f}d\u{1b}[2K\ne"),
            "a<U+202E>b<U+2066>c<U+200F>d<U+001B>[2K e"
        );
        assert_eq!(shown("Zürich, שלום, 東京"), "Zürich, שלום, 東京");
    }
}
