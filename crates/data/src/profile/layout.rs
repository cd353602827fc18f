//! Layout of records in a file, and the lines that are none.

use serde::{Deserialize, Serialize};

/// Lines of a delimited text that are no records. They are counted as for `skiprows` of pandas: from 0, and a line break inside
/// quotes ends none.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct LeadProfile {
    /// Records above the header that are none: titles and the like.
    pub titles: u64,
    /// True where the first line names the delimiter for Excel (`sep=;`).
    pub has_separator_line: bool,
    /// Lines above the header, or above the first record.
    pub lines_above: u64,
    /// Rows of the header: 0, 1, or 2 where groups stand above the names.
    pub header_rows: u64,
    /// The line of the names.
    pub names_row: u64,
    /// The line of a row of units below them.
    pub units_row: Option<u64>,
    /// The sign with which lines begin that are comments.
    pub comment: Option<char>,
    /// Number of comments.
    pub comments: u64,
    /// Number of comments above the names.
    pub comments_above: u64,
    /// True where the sign stands in names or records too.
    pub has_sign_in_records: bool,
}

impl LeadProfile {
    /// Returns the arguments of `pandas.read_csv` that leave these lines out, none in most files; `None` where its arguments cannot.
    #[must_use]
    pub fn pandas_arguments(&self) -> Option<Vec<String>> {
        let mut arguments = Vec::new();
        let mut above = if self.titles > 0 || self.has_separator_line {
            self.lines_above
        } else {
            0
        };
        if let Some(sign) = self.comment {
            if !self.has_sign_in_records {
                arguments.push(format!("comment=\"{sign}\""));
            } else if self.comments == self.comments_above {
                above = self.lines_above;
            } else {
                return None;
            }
        }
        if self.header_rows > 1 {
            above = self.names_row + 1;
        }
        match (above, self.units_row) {
            (0, None) => {}
            (lines, None) => arguments.push(format!("skiprows={lines}")),
            (0, Some(units)) => arguments.push(format!("skiprows=[{units}]")),
            (lines, Some(units)) => arguments.push(format!("skiprows=[*range({lines}), {units}]")),
        }
        Some(arguments)
    }
}

/// Layout of records in a file.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub enum Layout {
    /// Lines of fields.
    Delimited {
        /// Sign that separates fields.
        delimiter: char,
        /// Sign before the decimals of a number, `.` or `,`.
        decimal: char,
        /// The header as it stands in the file; `None` where there is none.
        header: Option<String>,
        /// Lines that are no records.
        #[serde(default)]
        lead: LeadProfile,
    },
    /// One JSON value a line.
    JsonLines,
    /// One JSON array.
    JsonArray,
    /// One JSON value that is no array.
    JsonDocument,
    /// JSON values one after another.
    JsonValues,
    /// Row groups of columns.
    Parquet {
        /// Row groups.
        row_groups: u64,
        /// Codecs, one after another (`SNAPPY`).
        compression: String,
        /// Names of the columns as a line of CSV; `None` where records nest and stand as JSON objects by path.
        header: Option<String>,
        /// Columns that pandas reads as the index of the data frame.
        index: Vec<String>,
    },
    /// Record batches of columns, in an Arrow file.
    Arrow {
        /// Record batches.
        batches: u64,
        /// Names of the columns as a line of CSV; `None` where records nest and stand as JSON objects by path.
        header: Option<String>,
        /// Columns that pandas reads as the index of the data frame.
        index: Vec<String>,
    },
    /// Rows of a sheet of a workbook.
    Sheet {
        /// Name of the sheet.
        name: String,
        /// Row of the header as the sheet counts; `None` where there is none.
        header_row: Option<u64>,
        /// Row of the header, or of the first record.
        first_row: u64,
        /// The leftmost column, counted from 0.
        first_column: u64,
        /// Names of the columns as a line of CSV; `None` where there is no header.
        header: Option<String>,
        /// Empty rows between the records.
        blank_rows: u64,
        /// Rows below the last record that are no records, up to the last one with a value.
        note_rows: u64,
    },
}
