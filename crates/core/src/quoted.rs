//! Text that others wrote inside of ours: none of it begins a line that could be taken for one of ours.

use codegen_data::escape::{has_line_ends, is_markup, one_line};

/// Quotes what a program or a tool said: one line as it is; of several each behind `> `, as Markdown quotes.
#[must_use]
pub fn quoted(text: &str) -> String {
    if !has_line_ends(text) && !is_markup(text) {
        return text.to_owned();
    }
    let lines: Vec<String> = text
        .lines()
        // A line of a program could begin with `#` and be a heading of the prompt.
        .map(|line| format!("> {}", one_line(line)).trim_end().to_owned())
        .collect();
    lines.join("\n")
}

/// A block of code whose end none of its lines can be.
#[must_use]
pub fn fenced(text: &str, language: &str) -> String {
    // A fence is longer than any run of backticks in the text, so that none of its lines can end it.
    let longest = text.split(|character| character != '`').map(str::len).max();
    let fence = "`".repeat(longest.map_or(3, |length| (length + 1).max(3)));
    format!("{fence}{language}\n{text}\n{fence}")
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

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
