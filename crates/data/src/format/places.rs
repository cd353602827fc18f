//! Places in a file at which something was seen, in words.

/// Places listed in a remark.
pub(crate) const LISTED_PLACES: usize = 5;

/// Number of times that something was seen, and the first lines of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LinePlaces {
    /// Number of times.
    pub count: u64,
    /// The first five lines, counted from 1.
    pub first: Vec<u64>,
    has_more: bool,
}

impl LinePlaces {
    /// Notes a line.
    pub(crate) fn push(&mut self, line: u64) {
        self.count += 1;
        if self.first.last() == Some(&line) {
            return;
        }
        if self.first.len() < LISTED_PLACES {
            self.first.push(line);
        } else {
            self.has_more = true;
        }
    }

    /// Reports whether further lines are of no use.
    pub(crate) const fn is_full(&self) -> bool {
        self.has_more
    }

    /// The lines in words: `lines 2, 3, ...`.
    pub(crate) fn list(&self) -> String {
        let list: Vec<_> = self.first.iter().map(u64::to_string).collect();
        let is_one = list.len() == 1 && !self.has_more;
        let more = if self.has_more { ", ..." } else { "" };
        format!("line{} {}{more}", if is_one { "" } else { "s" }, list.join(", "))
    }

    /// The first of them, in words, where each is the row of a sheet.
    pub(crate) fn list_rows(&self) -> String {
        self.list().replacen("line", "row", 1)
    }
}
