//! Text for narrow screens: cutting, wrapping, numbers.

use std::borrow::Cow;
use std::path::Path;
use std::sync::OnceLock;

use codegen_core::terminal::is_obeyed;
pub use codegen_core::terminal::spelled_out;

/// Widest line that is written.
pub const MAX_COLUMNS: usize = 100;
/// Narrowest terminal that text is wrapped for.
const MIN_COLUMNS: usize = 40;
/// Width of the terminal that the process writes to.
static COLUMNS: OnceLock<usize> = OnceLock::new();
/// Longest message that is written, bytes.
pub const LONGEST_MESSAGE: usize = 2 * 1024;

/// Widest line of this process: as its terminal has it, at most [`MAX_COLUMNS`].
#[must_use]
pub fn columns() -> usize {
    COLUMNS.get().copied().unwrap_or(MAX_COLUMNS)
}

/// Says how wide the terminal is. A process has one: what is said first counts.
pub fn set_columns(columns: usize) {
    let _ = COLUMNS.set(columns.clamp(MIN_COLUMNS, MAX_COLUMNS));
}

/// Cuts to `columns` characters; three dots stand for the rest. Line breaks and control characters become spaces.
#[must_use]
pub fn cut(text: &str, columns: usize) -> String {
    let line = single_line(text);
    if line.chars().count() <= columns {
        return line;
    }
    let kept: String = line.chars().take(columns.saturating_sub(3)).collect();
    format!("{}...", kept.trim_end())
}

/// A message that quotes others: of a longer one its middle is left out, so that what it is about and its last cause stay.
#[must_use]
pub fn shortened(text: &str) -> Cow<'_, str> {
    if text.len() <= LONGEST_MESSAGE {
        return Cow::Borrowed(text);
    }
    let start = text.floor_char_boundary(LONGEST_MESSAGE / 4 * 3);
    let end = text.ceil_char_boundary(text.len() - LONGEST_MESSAGE / 4);
    Cow::Owned(format!(
        "{} [... {} bytes left out ...] {}",
        &text[..start],
        end - start,
        &text[end..]
    ))
}

/// One line: characters that a terminal would obey become spaces, runs of them one.
#[must_use]
pub fn single_line(text: &str) -> String {
    text.split(|c: char| is_obeyed(c) || c == ' ')
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

/// Breaks a text, which is shortened where it is too long, into lines of at most `columns` characters, between words where it can.
#[must_use]
pub fn wrap(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(10);
    let mut lines = vec![String::new()];
    for word in single_line(&shortened(text)).split(' ') {
        let mut rest = word;
        loop {
            let last = lines.len() - 1;
            let line = &mut lines[last];
            let used = line.chars().count();
            let gap = usize::from(used > 0);
            if used + gap + rest.chars().count() <= columns {
                if gap == 1 {
                    line.push(' ');
                }
                line.push_str(rest);
                break;
            }
            if used > 0 {
                lines.push(String::new());
                continue;
            }
            let at = rest.char_indices().nth(columns).map_or(rest.len(), |(at, _)| at);
            line.push_str(&rest[..at]);
            rest = &rest[at..];
            if rest.is_empty() {
                break;
            }
            lines.push(String::new());
        }
    }
    lines
}

/// The text with a line feed at its end; nothing stays nothing.
#[must_use]
pub fn with_line_end(text: &str) -> String {
    if text.is_empty() || text.ends_with('\n') {
        text.to_owned()
    } else {
        format!("{text}\n")
    }
}

/// A number with commas between thousands.
#[must_use]
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 test`, `2 tests`, `1,000 tests`.
#[must_use]
pub fn count(number: u64, noun: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{} {noun}{ending}", thousands(number))
}

/// A path as one word of a command that somebody copies into a shell: no part of it is anything else there, and no option.
#[must_use]
pub fn shell_word(path: &Path) -> String {
    let mut text = path.display().to_string();
    if text.starts_with('-') {
        text.insert_str(0, "./");
    }
    // No path has a NUL, which alone cannot be quoted.
    shlex::try_quote(&text).map(Cow::into_owned).unwrap_or_default()
}

/// `0.4 s`, `12.0 s`, `3 min 20 s`.
#[must_use]
pub fn seconds(seconds: f64) -> String {
    if seconds < 60.0 {
        return format!("{seconds:.1} s");
    }
    let whole = std::time::Duration::try_from_secs_f64(seconds)
        .unwrap_or_default()
        .as_secs();
    format!("{} min {} s", whole / 60, whole % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_with_dots() {
        assert_eq!(cut("abcdefghij", 8), "abcde...");
        assert_eq!(cut("abc\n\tdef", 80), "abc def");
    }

    #[test]
    fn of_a_message_without_an_end_beginning_and_last_cause_stay() {
        let text = format!(
            "the cluster refuses: {}: connection reset",
            "\u{e9}".repeat(1_000_000)
        );
        let short = shortened(&text);
        assert!(short.len() < LONGEST_MESSAGE + 60, "{}", short.len());
        assert!(short.starts_with("the cluster refuses: \u{e9}"), "{short}");
        assert!(short.ends_with("\u{e9}: connection reset"), "{short}");
        assert!(short.contains(" [... 1997992 bytes left out ...] "), "{short}");
        assert_eq!(shortened("short"), "short");
    }

    #[test]
    fn nothing_that_moves_the_cursor_is_printed() {
        assert_eq!(single_line("a\u{1b}[2Jb\rc"), "a [2Jb c");
    }

    #[test]
    fn what_a_terminal_would_obey_is_spelled_out_and_the_rest_stays() {
        let text = "evil()  #\u{1b}[2K\u{1b}[G    # counts\r\n\tna\u{ef}ve \u{5d0}\u{1f469}\u{200d}\u{1f52c}";
        assert_eq!(
            spelled_out(text),
            "evil()  #\\u{1b}[2K\\u{1b}[G    # counts\\u{d}\n\tna\u{ef}ve \u{5d0}\u{1f469}\u{200d}\u{1f52c}"
        );
        assert_eq!(spelled_out("a\u{202e}b\u{200b}"), "a\\u{202e}b\\u{200b}");
        assert_eq!(single_line("a\u{202e}b\u{2028}c"), "a b c");
    }

    #[test]
    fn a_path_is_one_word_of_a_shell_and_no_option() {
        assert_eq!(shell_word(Path::new("tasks/penguins")), "tasks/penguins");
        assert_eq!(shell_word(Path::new("my birds; rm -r x")), "'my birds; rm -r x'");
        assert_eq!(shell_word(Path::new("-rf")), "./-rf");
    }

    #[test]
    fn a_text_is_wrapped_between_words_and_long_words_are_broken() {
        assert_eq!(wrap("one two three four", 10), ["one two", "three four"]);
        assert_eq!(wrap("abcdefghijklmno p", 10), ["abcdefghij", "klmno p"]);
        assert_eq!(wrap("", 10), [""]);
    }

    #[test]
    fn numbers_read_well() {
        assert_eq!(thousands(0), "0");
        assert_eq!(thousands(1_234_567), "1,234,567");
        assert_eq!(count(1, "call"), "1 call");
        assert_eq!(seconds(59.94), "59.9 s");
        assert_eq!(seconds(200.0), "3 min 20 s");
    }
}
