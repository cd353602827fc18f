//! Texts of others as YAML that every parser reads as the same text, whether it speaks YAML 1.1 or 1.2.

use std::fmt::Write as _;

/// Widest line of a folded text.
const COLUMNS: usize = 100;

/// Words that a parser of YAML 1.1, such as kubectl's, takes for something else than text.
const RESERVED: [&str; 12] = [
    "y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf", "infinity",
];

/// A text in one line: plain where it is a word, else in double quotes.
pub(super) fn scalar(text: &str) -> String {
    let is_word = text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_./-".contains(&byte));
    let is_reserved = RESERVED.iter().any(|word| word.eq_ignore_ascii_case(text));
    if is_word && !is_reserved {
        text.to_owned()
    } else {
        quoted(text)
    }
}

/// A text in double quotes, with escapes for all that a line cannot show.
pub(super) fn quoted(text: &str) -> String {
    let mut line = String::with_capacity(text.len() + 2);
    line.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => line.extend(['\\', character]),
            '\n' => line.push_str("\\n"),
            '\r' => line.push_str("\\r"),
            '\t' => line.push_str("\\t"),
            character if is_shown(character) => line.push(character),
            // Writing to a string cannot fail.
            character if character <= '\u{ffff}' => {
                let _ = write!(line, "\\u{:04X}", u32::from(character));
            }
            character => {
                let _ = write!(line, "\\U{:08X}", u32::from(character));
            }
        }
    }
    line.push('"');
    line
}

/// A text below a key: in lines that are `indent` deep where they show all of it, else in double quotes.
pub(super) fn block(text: &str, indent: usize) -> String {
    let lines: Vec<&str> = text.split('\n').collect();
    let is_plain = |line: &&str| line.trim() == *line && line.chars().all(is_shown);
    let has_ends = lines.first().is_some_and(|line| !line.is_empty())
        && lines.last().is_some_and(|line| !line.is_empty());
    if !has_ends || !lines.iter().all(is_plain) {
        return quoted(text);
    }
    let (mark, lines) = match lines.as_slice() {
        // A fold is undone by one space, so that two are no place for it.
        [line] if !line.contains("  ") => (">-", folded(line, COLUMNS - indent)),
        _ => ("|-", lines.iter().map(|line| (*line).to_owned()).collect()),
    };
    let margin = " ".repeat(indent);
    let mut text = mark.to_owned();
    for line in lines {
        text.push('\n');
        if !line.is_empty() {
            text.push_str(&margin);
            text.push_str(&line);
        }
    }
    text
}

/// Words in lines of at most `columns` characters; a longer word has a line of its own.
fn folded(text: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= columns => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Reports whether YAML may hold the character as it is, no parser takes it for the end of a line, and a reader sees it.
const fn is_shown(character: char) -> bool {
    match character {
        '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{fffe}'..='\u{ffff}'
        | '\u{e0000}'..='\u{e0fff}' => false,
        ' '..='~' | '\u{a1}'.. => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;
    use serde_json::Value;

    use super::*;

    fn read(yaml: &str) -> Value {
        serde_saphyr::from_str::<Value>(yaml).unwrap_or_else(|error| panic!("{yaml}\n{error}"))
    }

    #[rstest]
    #[case::a_word("gpt-5", "gpt-5")]
    #[case::a_file("penguins.csv", "penguins.csv")]
    #[case::a_boolean_of_old("on", "\"on\"")]
    #[case::another("No", "\"No\"")]
    #[case::a_number("1e3", "\"1e3\"")]
    #[case::nothing("", "\"\"")]
    #[case::a_comment("a: #b", "\"a: #b\"")]
    #[case::characters_that_are_obeyed("a\u{1b}\u{85}\u{202e}", "\"a\\u001B\\u0085\\u202E\"")]
    #[case::a_tag("\u{e0041}", "\"\\U000E0041\"")]
    fn a_word_is_plain_and_everything_else_is_quoted(#[case] text: &str, #[case] written: &str) {
        assert_eq!(scalar(text), written);
        assert_eq!(read(&format!("a: {written}"))["a"], text);
    }

    #[test]
    fn a_long_line_is_folded_and_several_lines_stay_lines() {
        let long = "word ".repeat(40).trim_end().to_owned();
        let written = block(&long, 4);
        assert!(written.starts_with(">-\n    word word"), "{written}");
        assert!(written.lines().all(|line| line.len() <= 100), "{written}");
        assert_eq!(block("a: #b\n\n- {{ c }}", 4), "|-\n    a: #b\n\n    - {{ c }}");
        assert_eq!(block("two  spaces", 4), "|-\n    two  spaces");
        assert_eq!(block(" indented", 4), "\" indented\"");
        assert_eq!(block("ends\n", 4), "\"ends\\n\"");
    }

    proptest! {
        #[test]
        fn every_text_is_read_back_as_it_is(text in any::<String>()) {
            prop_assert_eq!(&read(&format!("a: {}\nb: 1\n", scalar(&text)))["a"], &text);
            prop_assert_eq!(&read(&format!("s:\n  a: {}\n  b: 1\n", block(&text, 4)))["s"]["a"], &text);
        }

        #[test]
        fn texts_of_words_and_marks_are_read_back_as_they_are(text in "[ a-c:#\\-{}\"'|>%&*!,\\[\\]\n?@`]{0,60}") {
            prop_assert_eq!(&read(&format!("s:\n  a: {}\n  b: 1\n", block(&text, 4)))["s"]["a"], &text);
        }
    }
}
