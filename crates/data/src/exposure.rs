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

use column::reduce_column;
pub use joins::ExposedJoins;
use lines::reduce_text;
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
    pub fn new(mut profile: SampleProfile, level: Exposure) -> Self {
        if level != Exposure::Rows {
            reduce(&mut profile, level);
        }
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

fn reduce(profile: &mut SampleProfile, level: Exposure) {
    let SampleProfile {
        name: _,
        file_name: _,
        format: _,
        bytes: _,
        compression: _,
        encoding: _,
        remarks,
        content,
    } = profile;
    let tables = match content {
        Content::Table(table) => std::slice::from_mut(table),
        Content::Sheets(sheets) => sheets,
        Content::Text(lines) => return reduce_text(lines, level),
        Content::Opaque(_) => return,
    };
    let mut added: Vec<Remark> = Vec::new();
    for table in tables {
        let names = Names::of(table);
        remarks.retain(|Remark { text: _, columns }| {
            columns
                .iter()
                .all(|column| names.may_name(&table.columns, column))
        });
        added.extend(names.remark().map(Remark::from));
        reduce_table(table, &names, level);
    }
    remarks.extend(added);
}

fn reduce_table(table: &mut TableProfile, names: &Names, level: Exposure) {
    let TableProfile {
        layout,
        records: _,
        longer_records: _,
        columns,
        further,
        column_count: _,
        duplicate_records,
        rows,
    } = table;
    // Their names are in no text of any level.
    further.clear();
    if level == Exposure::SchemaOnly {
        *duplicate_records = None;
    }
    if level < Exposure::RedactedRows {
        rows.clear();
    }
    for row in rows {
        mask_row(row, layout, names);
    }
    reduce_layout(layout, names);
    let shown = |(position, mut column): (usize, ColumnProfile)| {
        column.name = names.shown(position, &column.name)?;
        // Units stand in a row that is a record where the header is one.
        column.unit.take_if(|_| names.are_numbered());
        reduce_column(&mut column, level);
        Some(column)
    };
    let all = std::mem::take(columns).into_iter().enumerate();
    *columns = all.filter_map(shown).collect();
}

/// Hides a header that may be a record. Of lines that are no records, counts, places and signs are shown, and nothing of what stands in them.
fn reduce_layout(layout: &mut Layout, names: &Names) {
    match layout {
        Layout::Delimited {
            delimiter: _,
            decimal: _,
            header,
            lead:
                LeadProfile {
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
                },
        }
        | Layout::Sheet {
            name: _,
            header_row: _,
            first_row: _,
            first_column: _,
            header,
            blank_rows: _,
            note_rows: _,
        } => {
            header.take_if(|_| names.are_numbered());
        }
        Layout::Parquet {
            row_groups: _,
            compression: _,
            header: _,
            index: _,
        }
        | Layout::Arrow {
            batches: _,
            header: _,
            index: _,
        }
        | Layout::JsonLines
        | Layout::JsonArray
        | Layout::JsonDocument
        | Layout::JsonValues => {}
    }
}

fn mask_row(row: &mut SampleRow, layout: &Layout, names: &Names) {
    let SampleRow { number: _, text } = row;
    *text = match layout {
        Layout::Delimited { .. }
        | Layout::Sheet { .. }
        | Layout::Parquet { header: Some(_), .. }
        | Layout::Arrow { header: Some(_), .. } => mask(text),
        Layout::Parquet { header: None, .. }
        | Layout::Arrow { header: None, .. }
        | Layout::JsonLines
        | Layout::JsonArray
        | Layout::JsonDocument
        | Layout::JsonValues => mask_json(text, names),
    };
}

#[cfg(test)]
mod tests;
