//! Lines of a file, shown so that none of them can be taken for a line of the prompt.

use crate::escape::{has_line_ends, is_markup, one_line};

/// Some records or lines, each in one line that is neither a heading nor a fence.
pub(super) struct Quoted {
    lines: Vec<String>,
    has_line_ends: bool,
    has_marks: bool,
}

impl Quoted {
    /// Escapes what needs it; the rest stays as in the file.
    pub(super) fn new<'a>(lines: impl IntoIterator<Item = &'a str>) -> Self {
        let mut quoted = Self {
            lines: Vec::new(),
            has_line_ends: false,
            has_marks: false,
        };
        for line in lines {
            quoted.has_line_ends |= has_line_ends(line);
            quoted.has_marks |= is_markup(line);
            quoted.lines.push(escaped(line));
        }
        quoted
    }

    /// The lines.
    pub(super) fn lines(&self) -> &[String] {
        &self.lines
    }

    /// Returns the words about the escapes in the line above them, where there are any.
    pub(super) const fn escapes(&self) -> &'static str {
        match (self.has_line_ends, self.has_marks) {
            (false, false) => "",
            (true, false) => ", line ends inside written \\n",
            (false, true) => ", marks at the start behind a \\",
            (true, true) => ", line ends inside written \\n and marks at the start behind a \\",
        }
    }

    /// Adds the lines.
    pub(super) fn print(&self, text: &mut String) {
        for line in &self.lines {
            text.push_str(line);
            text.push('\n');
        }
    }
}

fn escaped(line: &str) -> String {
    let line = one_line(line);
    if !is_markup(&line) {
        return line.into_owned();
    }
    let start = line.len() - line.trim_start().len();
    format!("{}\\{}", &line[..start], &line[start..])
}
