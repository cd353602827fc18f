//! Lines with a mark, and their colours.

use owo_colors::OwoColorize;

use super::text::spelled_out;

/// Mark of a line: what it says about its step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// It is done.
    Done,
    /// It failed.
    Failed,
    /// It needs attention.
    Warning,
    /// It belongs to the line before.
    Detail,
    /// It begins something.
    Heading,
}

/// One finished line, without its colours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PaintedLine {
    /// Mark of its step.
    pub mark: Mark,
    /// Its text, at most 98 characters.
    pub text: String,
}

impl PaintedLine {
    /// A line.
    #[must_use]
    pub fn new(mark: Mark, text: impl Into<String>) -> Self {
        Self {
            mark,
            text: text.into(),
        }
    }
}

/// The line as it is written: whatever of it others wrote, a terminal shows it in one line and obeys nothing.
#[must_use]
pub fn paint(line: &PaintedLine, is_coloured: bool) -> String {
    let text = &spelled_out(&line.text).replace('\n', "\\n");
    let mark = match line.mark {
        Mark::Done => "✓",
        Mark::Failed => "✗",
        Mark::Warning => "!",
        Mark::Detail => " ",
        Mark::Heading if is_coloured => return text.bold().to_string(),
        Mark::Heading => return text.clone(),
    };
    if !is_coloured {
        return format!("{mark} {text}").trim_end().to_owned();
    }
    match line.mark {
        Mark::Done => format!("{} {text}", mark.green()),
        Mark::Failed => format!("{} {text}", mark.red()),
        Mark::Warning => format!("{} {text}", mark.yellow()),
        Mark::Detail | Mark::Heading => format!("  {}", text.dimmed()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_stays_one_whatever_others_wrote_into_it() {
        let line = PaintedLine::new(Mark::Done, "approved as a\nerror: b\u{1b}[2K");
        assert_eq!(paint(&line, false), "✓ approved as a\\nerror: b\\u{1b}[2K");
    }
}
