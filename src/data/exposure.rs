//! What of a sample may be told: a profile reduced to an exposure level (B15).
//!
//! Only what was reduced here is printed for a model. Every profile struct is taken apart field by field, so that a field
//! that is added later does not compile before somebody has decided about it; `docs/exposure.md` lists the decisions.

mod joins;
mod lines;
mod mask;
mod names;

use crate::api::common::Exposure;

use super::column::cell::null_spelling;
use super::column::distinct::{DistinctCount, ValueHashes};
use super::column::numeric::NumberStats;
use super::column::quantiles::Quartiles;
use super::column::style::NumberStyle;
use super::column::temporal::{TimeStats, TimeStep};
use super::profile::{ColumnProfile, Content, Layout, LengthStats, SampleProfile, SampleRow, TableProfile};
use super::remark::Remark;

pub use joins::ExposedJoins;
use lines::reduced_text;
use mask::{mask, mask_json, mask_pattern};
use names::Names;

/// So many rows share a value before it is told without its row, and so many values stand behind a statistic.
pub const FEWEST_ROWS: u64 = 5;

/// Of fewer values, extremes and quartiles are nearly all of them.
const FEWEST_FOR_QUARTILES: u64 = 20;

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

    /// What may be told.
    #[must_use]
    pub const fn profile(&self) -> &SampleProfile {
        &self.profile
    }

    /// What may be told.
    #[must_use]
    pub fn into_profile(self) -> SampleProfile {
        self.profile
    }

    /// The level to which it was reduced.
    #[must_use]
    pub const fn level(&self) -> Exposure {
        self.level
    }

    /// Names of its columns, or paths of its records.
    pub fn columns(&self) -> impl Iterator<Item = &str> {
        let columns = self.profile.tables().flat_map(|table| &table.columns);
        columns.map(|column| column.name.as_str())
    }
}

/// What a level calls the columns of a table; `None` for one that it does not tell.
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
        column_count,
        keys,
        duplicate_records,
        rows,
    } = table;
    let has_statistics = level > Exposure::SchemaOnly;
    let keys = keys
        .into_iter()
        .filter_map(|key| key.iter().map(|name| names.shown_of(&columns, name)).collect())
        .filter(|_| has_statistics)
        .collect();
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
            Some(reduced_column(ColumnProfile { name, ..column }, level))
        })
        .collect();
    TableProfile {
        layout: reduced_layout(layout, names),
        records,
        longer_records,
        columns,
        column_count,
        keys,
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
        } => Layout::Delimited {
            delimiter,
            decimal,
            header: header.filter(|_| !names.are_numbered()),
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
    }
}

fn masked_row(row: SampleRow, layout: &Layout, names: &Names) -> SampleRow {
    let SampleRow { number, text } = row;
    let text = match layout {
        Layout::Delimited { .. } | Layout::Sheet { .. } | Layout::Parquet { header: Some(_), .. } => {
            mask(&text)
        }
        Layout::Parquet { header: None, .. }
        | Layout::JsonLines
        | Layout::JsonArray
        | Layout::JsonDocument => mask_json(&text, names),
    };
    SampleRow { number, text }
}

fn reduced_column(column: ColumnProfile, level: Exposure) -> ColumnProfile {
    let ColumnProfile {
        name,
        type_,
        declared,
        present,
        values,
        nulls,
        kinds,
        leading_zeros,
        padded,
        distinct,
        is_unique,
        numbers,
        style,
        times,
        patterns,
        has_more_patterns,
        lengths,
        top,
        value_hashes: _,
    } = column;
    // A list holds many values in one row: how often one stands there says nothing of how many rows share it.
    let is_list = name.contains("[]");
    let is_of_rows = present.is_none_or(|present| present >= FEWEST_ROWS);
    let is_shared = |(_, count): &(String, u64)| *count >= FEWEST_ROWS && !is_list;
    let told = patterns.iter().filter(|pattern| is_shared(pattern)).count();
    let has_more_patterns = has_more_patterns || told < patterns.len();
    let patterns = patterns
        .into_iter()
        .filter(is_shared)
        .map(|(pattern, count)| (mask_pattern(pattern), count))
        .collect();
    let reduced = ColumnProfile {
        name,
        type_,
        declared,
        present,
        values,
        nulls: nulls.into_iter().map(known_spelling).collect(),
        kinds,
        leading_zeros,
        padded,
        distinct,
        is_unique,
        numbers: numbers.filter(|_| is_of_rows).and_then(reduced_numbers),
        style: style
            .filter(|_| values >= FEWEST_ROWS && is_of_rows)
            .map(reduced_style),
        times: times.filter(|_| is_of_rows).and_then(reduced_times),
        patterns,
        has_more_patterns,
        lengths: lengths
            .filter(|_| values >= FEWEST_ROWS && is_of_rows)
            .map(reduced_lengths),
        top: top.into_iter().filter(is_shared).collect(),
        value_hashes: ValueHashes::default(),
    };
    if level == Exposure::SchemaOnly {
        schema_of(reduced)
    } else {
        reduced
    }
}

/// Name, type and whether values are missing: of everything else not even how much there is of it.
fn schema_of(column: ColumnProfile) -> ColumnProfile {
    let is_nullable = column.null_count() > 0;
    ColumnProfile {
        name: column.name,
        type_: column.type_,
        declared: column.declared,
        present: column.present,
        values: 0,
        nulls: if is_nullable {
            vec![(String::new(), 1)]
        } else {
            Vec::new()
        },
        kinds: column.kinds.into_iter().map(|(kind, _)| (kind, 1)).collect(),
        leading_zeros: column.leading_zeros.min(1),
        padded: column.padded.min(1),
        distinct: DistinctCount::Exact(0),
        is_unique: false,
        numbers: None,
        style: None,
        times: None,
        patterns: Vec::new(),
        has_more_patterns: false,
        lengths: None,
        top: Vec::new(),
        value_hashes: ValueHashes::default(),
    }
}

/// A spelling that is no usual one may be a value.
fn known_spelling((spelling, count): (String, u64)) -> (String, u64) {
    match null_spelling(&spelling) {
        Some(known) => (known.to_owned(), count),
        None => ("…".to_owned(), count),
    }
}

fn reduced_numbers(numbers: NumberStats) -> Option<NumberStats> {
    let NumberStats {
        count,
        min,
        max,
        mean,
        quartiles,
        decimals,
        histogram: _,
    } = numbers;
    (count >= FEWEST_ROWS).then_some(NumberStats {
        count,
        min,
        max,
        mean,
        quartiles: quartiles
            .filter(|_| count >= FEWEST_FOR_QUARTILES)
            .map(reduced_quartiles),
        decimals,
        histogram: Vec::new(),
    })
}

fn reduced_quartiles(quartiles: Quartiles) -> Quartiles {
    let Quartiles {
        lower,
        median,
        upper,
        is_exact,
    } = quartiles;
    Quartiles {
        lower,
        median,
        upper,
        is_exact,
    }
}

fn reduced_style(style: NumberStyle) -> NumberStyle {
    let NumberStyle {
        decimal,
        thousands,
        has_percent,
        currency,
    } = style;
    NumberStyle {
        decimal,
        thousands,
        has_percent,
        currency,
    }
}

fn reduced_times(times: TimeStats) -> Option<TimeStats> {
    let TimeStats {
        count,
        min,
        max,
        zoned,
        format,
        step,
        histogram: _,
        is_exact,
    } = times;
    (count >= FEWEST_ROWS).then_some(TimeStats {
        count,
        min,
        max,
        zoned,
        format,
        step: step.and_then(reduced_step),
        histogram: Vec::new(),
        is_exact,
    })
}

fn reduced_step(step: TimeStep) -> Option<TimeStep> {
    let TimeStep {
        step,
        count,
        of,
        equal,
    } = step;
    (count >= FEWEST_ROWS).then_some(TimeStep {
        step,
        count,
        of,
        equal,
    })
}

fn reduced_lengths(lengths: LengthStats) -> LengthStats {
    let LengthStats { min, max, mean } = lengths;
    LengthStats { min, max, mean }
}

#[cfg(test)]
mod tests;
