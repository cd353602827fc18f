//! Remarks on the lines of a delimited text that are no records.

use crate::format::delimited::Record;
use crate::format::lead::Lead;
use crate::format::places::LinePlaces;
use crate::format::table::Columns;
use crate::profile;
use crate::remark::Remark;

/// Notes on those lines, taken while the records are read.
pub(super) struct LeadNotes {
    found: Lead,
    header_rows: u64,
    comments_above: u64,
    has_sign_in_records: bool,
}

impl LeadNotes {
    /// Nothing read yet but the header, below so many comments.
    pub(super) fn new(found: &Lead, columns: &Columns, comments_above: u64) -> Self {
        let header = columns.header.as_deref();
        let has_sign = |sign: u8| header.is_some_and(|header| header.contains(char::from(sign)));
        Self {
            found: *found,
            header_rows: u64::from(header.is_some()) + u64::from(found.has_groups),
            comments_above,
            has_sign_in_records: found.comment.is_some_and(has_sign),
        }
    }

    /// Takes in a record.
    pub(super) fn record(&mut self, record: &Record<'_>) {
        if let Some(sign) = self.found.comment {
            self.has_sign_in_records =
                self.has_sign_in_records || memchr::memchr(sign, record.raw.as_bytes()).is_some();
        }
    }

    /// Returns the lines beside the records, with a remark for each part and one that says how pandas leaves them out.
    pub(super) fn finish(self, comments: &LinePlaces, remarks: &mut Vec<Remark>) -> profile::LeadProfile {
        let lead = profile::LeadProfile {
            titles: (self.found.above as u64).saturating_sub(u64::from(self.found.has_separator_line)),
            has_separator_line: self.found.has_separator_line,
            lines_above: self.found.lines_above,
            header_rows: self.header_rows,
            names_row: self.found.names_row,
            units_row: self.found.units_row,
            comment: self.found.comment.map(char::from),
            comments: comments.count,
            comments_above: self.comments_above,
            has_sign_in_records: self.has_sign_in_records,
        };
        let parts = parts(&lead, comments);
        if !parts.is_empty() {
            remarks.extend(parts.into_iter().map(Remark::from));
            remarks.push(how_to_read(&lead).into());
        }
        lead
    }
}

fn parts(lead: &profile::LeadProfile, comments: &LinePlaces) -> Vec<String> {
    let mut parts = Vec::new();
    if lead.has_separator_line {
        parts.push("its first line names the delimiter for Excel (sep=) and is no record".to_owned());
    }
    if lead.titles > 0 {
        let titles = lead.titles;
        parts.push(format!(
            "lines with values above its table, which are no records: {titles}"
        ));
    }
    if let Some(sign) = lead.comment {
        let (count, places) = (comments.count, comments.list());
        parts.push(format!(
            "lines that begin with '{sign}' are comments and no records: {count} ({places})"
        ));
    }
    if lead.header_rows > 1 {
        parts.push(
            "its header has two rows, groups above names: each name stands behind its group here".to_owned(),
        );
    }
    if lead.units_row.is_some() {
        parts.push("the row below its header holds units and is no record".to_owned());
    }
    parts
}

fn how_to_read(lead: &profile::LeadProfile) -> String {
    match lead.pandas_arguments() {
        Some(arguments) => {
            let names = if lead.header_rows > 1 {
                ", header=None and names of its own"
            } else {
                ""
            };
            format!(
                "pandas.read_csv leaves those lines out with {}{names}",
                arguments.join(", ")
            )
        }
        None => {
            "pandas.read_csv would cut values at the sign of the comments: leave those lines out before it \
                 reads the rest"
                .to_owned()
        }
    }
}
