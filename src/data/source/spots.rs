//! Where something is met, in words.

const LISTED_LINES: usize = 5;

/// How often something is met, and the first lines of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Spots {
    /// How often.
    pub count: u64,
    /// The first five lines, counted from 1.
    pub lines: Vec<u64>,
    has_more: bool,
}

impl Spots {
    /// Notes a line.
    pub(super) fn note(&mut self, line: u64) {
        self.count += 1;
        if self.lines.last() == Some(&line) {
            return;
        }
        if self.lines.len() < LISTED_LINES {
            self.lines.push(line);
        } else {
            self.has_more = true;
        }
    }

    /// Whether further lines are of no use.
    pub(super) const fn is_full(&self) -> bool {
        self.has_more
    }

    /// The lines in words: `lines 2, 3, ...`.
    #[must_use]
    pub(crate) fn place(&self) -> String {
        let list: Vec<_> = self.lines.iter().map(u64::to_string).collect();
        let noun = if list.len() == 1 && !self.has_more {
            "line"
        } else {
            "lines"
        };
        let more = if self.has_more { ", ..." } else { "" };
        format!("{noun} {}{more}", list.join(", "))
    }
}
