//! Where something was seen in a file, in words.

/// Places listed in a remark.
pub(crate) const LISTED_PLACES: usize = 5;

/// Where something was seen.
#[derive(Default)]
pub(crate) struct Places {
    /// How often.
    pub count: u64,
    first: Vec<u64>,
}

impl Places {
    /// Notes a line.
    pub(crate) fn push(&mut self, line: u64) {
        self.count += 1;
        if self.first.len() < LISTED_PLACES {
            self.first.push(line);
        }
    }

    /// The first of them, in words.
    pub(crate) fn list(&self) -> String {
        let list = self
            .first
            .iter()
            .map(u64::to_string)
            .collect::<Vec<_>>()
            .join(", ");
        let more = if self.count > self.first.len() as u64 {
            ", ..."
        } else {
            ""
        };
        let noun = if self.count == 1 { "line" } else { "lines" };
        format!("{noun} {list}{more}")
    }

    /// The first of them, in words, where each is the row of a sheet.
    pub(crate) fn list_rows(&self) -> String {
        self.list().replacen("line", "row", 1)
    }
}
