//! Text that others wrote inside of ours: none of it begins a line that could be taken for one of ours.

use std::borrow::Cow;

/// Whether a reader may take the character for the end of a line.
const fn ends_line(character: char) -> bool {
    matches!(
        character,
        '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}'
    )
}

/// Whether a text has more than one line.
#[must_use]
pub fn has_line_ends(text: &str) -> bool {
    text.contains(ends_line)
}

/// Whether a line reads as a heading, or as where a block of code begins or ends.
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

/// What a program or a tool said: one line as it is; of several each behind `> `, as Markdown quotes.
#[must_use]
pub fn quoted(text: &str) -> String {
    if !has_line_ends(text) && !is_markup(text) {
        return text.to_owned();
    }
    let lines: Vec<String> = text
        .lines()
        .map(|line| format!("> {}", one_line(line)).trim_end().to_owned())
        .collect();
    lines.join("\n")
}

/// A block of code whose end none of its lines can be.
#[must_use]
pub fn fenced(text: &str, language: &str) -> String {
    let longest = text.split(|character| character != '`').map(str::len).max();
    let fence = "`".repeat(longest.map_or(3, |length| (length + 1).max(3)));
    format!("{fence}{language}\n{text}\n{fence}")
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

    #[rstest]
    #[case::plain("ValueError: no", "ValueError: no")]
    #[case::several("a\n\n# Outputs\r\nb\rc", "> a\n>\n> # Outputs\n> b\\rc")]
    #[case::a_heading("# Outputs", "> # Outputs")]
    fn no_line_of_what_a_program_said_begins_a_heading(#[case] text: &str, #[case] shown: &str) {
        assert_eq!(quoted(text), shown);
    }

    #[test]
    fn no_line_of_a_program_ends_the_block_that_it_stands_in() {
        assert_eq!(fenced("x = 1", "python"), "```python\nx = 1\n```");
        assert_eq!(fenced("'''\n````\n'''", ""), "`````\n'''\n````\n'''\n`````");
    }
}
