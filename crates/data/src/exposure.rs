//! Reduction of a profile to an exposure level: the part of a sample that may be shown to the model.
//!
//! Only what was reduced here is printed for a model. Every profile struct is taken apart field by field, so that a field
//! that is added later does not compile before somebody has decided about it; `docs/exposure.md` lists the decisions.

mod column;
mod joins;
mod lines;
mod mask;
mod names;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::profile::{ColumnProfile, Content, Layout, LeadProfile, SampleProfile, SampleRow, TableProfile};
use super::remark::Remark;

use column::reduced_column;
pub use joins::ExposedJoins;
use lines::reduced_text;
use mask::{mask, mask_json};
use names::Names;

/// Part of the samples that may reach the model; each value lets through everything that the one before it does, and more.
#[derive(
    Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema,
)]
#[schemars(description = "")]
pub enum Exposure {
    /// Format, names and types of columns, which of them have missing values, counts of rows and columns.
    SchemaOnly,
    /// Also counts, ranges, averages and values that at least five rows share.
    Statistics,
    /// Also some rows with every letter shown as `x` or `X` and every digit as `9`.
    RedactedRows,
    /// Also some rows as they stand in the file, and what the program says when it runs on the samples.
    #[default]
    Rows,
}

impl Exposure {
    /// Every value, the one that shows the least first.
    pub const ALL: [Self; 4] = [Self::SchemaOnly, Self::Statistics, Self::RedactedRows, Self::Rows];

    /// The value as the spec writes it (`SchemaOnly`).
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SchemaOnly => "SchemaOnly",
            Self::Statistics => "Statistics",
            Self::RedactedRows => "RedactedRows",
            Self::Rows => "Rows",
        }
    }
}

/// So many rows must share a value before it is shown without its row, and so many values stand behind a statistic.
pub const FEWEST_ROWS: u64 = 5;

/// A sample's profile with no more in it than a level lets through.
#[derive(Clone, Debug, PartialEq)]
pub struct Exposed {
    profile: SampleProfile,
    level: Exposure,
}

impl Exposed {
    /// Reduces a profile.
    #[must_use]
    pub fn new(profile: SampleProfile, level: Exposure) -> Self {
        let profile = if level == Exposure::Rows {
            profile
        } else {
            reduced(profile, level)
        };
        Self { profile, level }
    }

    /// Reduces profiles.
    #[must_use]
    pub fn all(profiles: &[SampleProfile], level: Exposure) -> Vec<Self> {
        let reduce = |profile: &SampleProfile| Self::new(profile.clone(), level);
        profiles.iter().map(reduce).collect()
    }

    /// Returns the profile that may be shown.
    #[must_use]
    pub const fn profile(&self) -> &SampleProfile {
        &self.profile
    }

    /// Returns the profile that may be shown.
    #[must_use]
    pub fn into_profile(self) -> SampleProfile {
        self.profile
    }

    /// The level to which it was reduced.
    #[must_use]
    pub(crate) const fn level(&self) -> Exposure {
        self.level
    }

    /// Names of its columns, or paths of its records.
    pub fn columns(&self) -> impl Iterator<Item = String> {
        let columns = self.profile.tables().flat_map(TableProfile::all_columns);
        columns.map(|column| column.name)
    }
}

/// Returns the names that a level gives the columns of a table; `None` for one that it does not show.
#[must_use]
pub fn shown_names(table: &TableProfile, level: Exposure) -> Vec<Option<String>> {
    let names = if level == Exposure::Rows {
        Names::All
    } else {
        Names::of(table)
    };
    let columns = table.columns.iter().enumerate();
    columns
        .map(|(position, column)| names.shown(position, &column.name))
        .collect()
}

fn reduced(profile: SampleProfile, level: Exposure) -> SampleProfile {
    let SampleProfile {
        name,
        file_name,
        format,
        bytes,
        compression,
        encoding,
        remarks,
        content,
    } = profile;
    let mut remarks = remarks;
    let mut added: Vec<Remark> = Vec::new();
    let mut table = |table: TableProfile| {
        let names = Names::of(&table);
        remarks.retain(|Remark { text: _, columns }| {
            columns
                .iter()
                .all(|column| names.may_name(&table.columns, column))
        });
        added.extend(names.remark().map(Remark::from));
        reduced_table(table, &names, level)
    };
    let content = match content {
        Content::Table(one) => Content::Table(table(one)),
        Content::Sheets(sheets) => Content::Sheets(sheets.into_iter().map(table).collect()),
        Content::Text(lines) => Content::Text(reduced_text(lines, level)),
        Content::Opaque(what) => Content::Opaque(what),
    };
    remarks.extend(added);
    SampleProfile {
        name,
        file_name,
        format,
        bytes,
        compression,
        encoding,
        remarks,
        content,
    }
}

fn reduced_table(table: TableProfile, names: &Names, level: Exposure) -> TableProfile {
    let TableProfile {
        layout,
        records,
        longer_records,
        columns,
        // Their names are in no text of any level.
        further: _,
        column_count,
        duplicate_records,
        rows,
    } = table;
    let has_statistics = level > Exposure::SchemaOnly;
    let rows = if level < Exposure::RedactedRows {
        Vec::new()
    } else {
        rows.into_iter()
            .map(|row| masked_row(row, &layout, names))
            .collect()
    };
    let columns = columns
        .into_iter()
        .enumerate()
        .filter_map(|(position, column)| {
            let name = names.shown(position, &column.name)?;
            // Units stand in a row that is a record where the header is one.
            let unit = column.unit.filter(|_| !names.are_numbered());
            Some(reduced_column(ColumnProfile { name, unit, ..column }, level))
        })
        .collect();
    TableProfile {
        layout: reduced_layout(layout, names),
        records,
        longer_records,
        columns,
        further: Vec::new(),
        column_count,
        duplicate_records: duplicate_records.filter(|_| has_statistics),
        rows,
    }
}

fn reduced_layout(layout: Layout, names: &Names) -> Layout {
    match layout {
        Layout::Delimited {
            delimiter,
            decimal,
            header,
            lead,
        } => Layout::Delimited {
            delimiter,
            decimal,
            header: header.filter(|_| !names.are_numbered()),
            lead: reduced_lead(lead),
        },
        Layout::Parquet {
            row_groups,
            compression,
            header,
            index,
        } => Layout::Parquet {
            row_groups,
            compression,
            header,
            index,
        },
        Layout::Sheet {
            name,
            header_row,
            first_row,
            first_column,
            header,
            blank_rows,
            note_rows,
        } => Layout::Sheet {
            name,
            header_row,
            first_row,
            first_column,
            header: header.filter(|_| !names.are_numbered()),
            blank_rows,
            note_rows,
        },
        Layout::JsonLines => Layout::JsonLines,
        Layout::JsonArray => Layout::JsonArray,
        Layout::JsonDocument => Layout::JsonDocument,
        Layout::JsonValues => Layout::JsonValues,
        Layout::Arrow {
            batches,
            header,
            index,
        } => Layout::Arrow {
            batches,
            header,
            index,
        },
    }
}

/// Counts, places and signs of lines that are no records, and nothing of what stands in them: each field is named here, so that a new one does
/// not compile until somebody decides who may see it.
const fn reduced_lead(lead: LeadProfile) -> LeadProfile {
    let LeadProfile {
        titles: _,
        has_separator_line: _,
        lines_above: _,
        header_rows: _,
        names_row: _,
        units_row: _,
        comment: _,
        comments: _,
        comments_above: _,
        has_sign_in_records: _,
    } = lead;
    lead
}

fn masked_row(row: SampleRow, layout: &Layout, names: &Names) -> SampleRow {
    let SampleRow { number, text } = row;
    let text = match layout {
        Layout::Delimited { .. }
        | Layout::Sheet { .. }
        | Layout::Arrow { .. }
        | Layout::Parquet { header: Some(_), .. } => mask(&text),
        Layout::Parquet { header: None, .. }
        | Layout::JsonLines
        | Layout::JsonArray
        | Layout::JsonDocument
        | Layout::JsonValues => mask_json(&text, names),
    };
    SampleRow { number, text }
}

#[cfg(test)]
mod tests;
