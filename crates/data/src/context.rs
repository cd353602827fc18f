//! The data context: what prompts say of the samples, cut to a token budget.

mod columns;
mod joins;
mod lines;
mod quote;
mod rows;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::column::distinct::cut_at;
use crate::escape::one_line;
use crate::exposure::Exposure;
use crate::format::FileFormat;

pub use super::describe::DescribeOptions;
use super::exposure::{Exposed, ExposedJoins};
use super::format::format_name;
use super::joins::JoinProfile;
use super::profile::{Content, Layout, SampleProfile, TableProfile};
use super::remark::Remark;
use super::rows::cut_with_marker;

pub use columns::column_label;
use columns::{print_columns, print_repetitions};
use joins::print_joins;
use lines::print_lines;
use rows::print_rows;

const SHOWN_REMARKS: usize = 12;
/// Words about columns that no budget brings back, and about remarks.
const BEYOND_DESCRIBED: &str = ", beyond those that are described";
const FURTHER_REMARK: &str = "further remark";
const LONGEST_REMARK: usize = 300;

/// The data context of a task.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct DataContext {
    /// The text as it stands in prompts.
    pub text: String,
    /// Its tokens, estimated.
    pub estimated_tokens: u64,
    /// Parts that were left out to keep the budget, one sentence each; the text says the same.
    pub cut: Vec<String>,
}

impl DataContext {
    /// Reports whether a larger budget would bring back anything that was left out.
    #[must_use]
    pub fn is_over_budget(&self) -> bool {
        let is_fixed = |what: &String| what.ends_with(BEYOND_DESCRIBED) || what.contains(FURTHER_REMARK);
        !self.cut.iter().all(is_fixed)
    }
}

/// Detail in which each sample is printed.
#[derive(Clone, Copy, Debug)]
struct Detail {
    rows: usize,
    has_joins: bool,
    has_statistics: bool,
    columns: usize,
    exposure: Exposure,
}

/// Prints the context of some samples in at most `max_tokens` (estimated) with at most `max_rows` rows of each.
/// What exceeds the budget goes in this order: rows, joins, statistics of columns, columns.
#[must_use]
pub fn render(samples: &[Exposed], joins: &ExposedJoins, max_tokens: u64, max_rows: usize) -> DataContext {
    let joins = joins.get();
    let tables = || samples.iter().flat_map(|sample| sample.profile().tables());
    let most_rows = samples
        .iter()
        .map(|sample| shown_rows(sample.profile()))
        .max()
        .unwrap_or(0)
        .min(max_rows);
    let most_columns = tables().map(|table| table.columns.len()).max().unwrap_or(0);
    let full = Detail {
        rows: most_rows,
        has_joins: true,
        has_statistics: true,
        columns: most_columns,
        exposure: Exposure::default(),
    };
    let apart = Detail {
        rows: 0,
        has_joins: joins.is_empty(),
        ..full
    };
    let bare = Detail {
        has_statistics: false,
        ..apart
    };
    let fits = |detail: &Detail| estimate_tokens(&print(samples, joins, *detail, full).0) <= max_tokens;
    let fewer_rows = (0..most_rows).rev().map(|rows| Detail { rows, ..full });
    let fewer_columns = (0..most_columns).rev().map(|columns| Detail { columns, ..bare });
    let smaller: Vec<_> = fewer_rows.chain([apart, bare]).chain(fewer_columns).collect();
    // Among these each is shorter than the one before it; the full text lacks the line that says what was left out.
    let detail = if fits(&full) {
        full
    } else {
        // A binary search, as the texts get shorter: each try prints the whole context.
        let first = smaller.partition_point(|detail| !fits(detail));
        smaller.get(first).or(smaller.last()).copied().unwrap_or(full)
    };
    let (text, mut cut) = print(samples, joins, detail, full);
    let length = text.len();
    let text = cut_to_budget(text, max_tokens);
    if text.len() < length {
        cut.push("the end of the text".to_owned());
    }
    DataContext {
        estimated_tokens: estimate_tokens(&text),
        text,
        cut,
    }
}

/// Estimate of a text's tokens where no tokenizer is at hand: three bytes a token, rounded up.
#[must_use]
pub const fn estimate_tokens(text: &str) -> u64 {
    (text.len() as u64).div_ceil(3)
}

fn shown_rows(profile: &SampleProfile) -> usize {
    match &profile.content {
        Content::Text(text) if text.patterns.is_empty() => text.first_lines.len(),
        Content::Text(text) => text.patterns.len(),
        Content::Table(_) | Content::Sheets(_) | Content::Opaque(_) => {
            profile.tables().map(|table| table.rows.len()).max().unwrap_or(0)
        }
    }
}

/// The last resort, where not even names fit.
fn cut_to_budget(text: String, max_tokens: u64) -> String {
    const MARKER: &str = "\n[cut to keep the budget]";
    if estimate_tokens(&text) <= max_tokens {
        return text;
    }
    let bytes = usize::try_from(max_tokens.saturating_mul(3))
        .unwrap_or(usize::MAX)
        .saturating_sub(MARKER.len());
    format!("{}{MARKER}", cut_at(&text, bytes))
}

fn print(samples: &[Exposed], joins: &[JoinProfile], detail: Detail, full: Detail) -> (String, Vec<String>) {
    let mut text = String::new();
    let mut cut = Vec::new();
    for sample in samples {
        if !text.is_empty() {
            text.push('\n');
        }
        let detail = Detail {
            exposure: sample.level(),
            ..detail
        };
        let profile = sample.profile();
        let left_out = print_sample(&mut text, profile, detail, full);
        cut.extend(
            left_out
                .into_iter()
                .map(|what| format!("{}: {what}", profile.name)),
        );
    }
    if detail.has_joins {
        print_joins(&mut text, joins);
    } else {
        text.push_str("Left out to keep the budget: joins.\n");
        cut.push("joins".to_owned());
    }
    (text, cut)
}

fn print_sample(text: &mut String, profile: &SampleProfile, detail: Detail, full: Detail) -> Vec<String> {
    let SampleProfile {
        name,
        file_name,
        bytes,
        compression,
        ..
    } = profile;
    let packed = compression.map_or_else(String::new, |it| format!("{}-compressed ", it.name()));
    let heading = format!("## {name} ({file_name}): {packed}");
    match &profile.content {
        Content::Table(table) => {
            let shape = shape(profile.format, table);
            put(text, format_args!("{heading}{shape}"));
            let mut left_out: Vec<String> = print_remarks(text, &profile.remarks).into_iter().collect();
            left_out.extend(print_table(text, table, detail, full));
            left_out
        }
        Content::Sheets(sheets) => {
            let format = format_name(profile.format);
            let sheets_counted = counted(sheets.len() as u64, "sheet");
            put(text, format_args!("{heading}{format}, {sheets_counted}"));
            let mut left_out: Vec<String> = print_remarks(text, &profile.remarks).into_iter().collect();
            for sheet in sheets {
                put(text, format_args!("### {}", shape(profile.format, sheet)));
                left_out.extend(print_table(text, sheet, detail, full));
            }
            left_out
        }
        Content::Text(lines) => {
            let lines_counted = counted(lines.lines, "line");
            put(
                text,
                format_args!("{heading}text, {lines_counted}, {bytes} bytes"),
            );
            let mut left_out: Vec<String> = print_remarks(text, &profile.remarks).into_iter().collect();
            print_lines(text, lines, detail);
            left_out.extend(lines_left_out(text, profile, detail, full));
            left_out
        }
        Content::Opaque(what) => {
            put(text, format_args!("{heading}{what}, {bytes} bytes"));
            print_remarks(text, &profile.remarks).into_iter().collect()
        }
    }
}

/// Says how many lines or patterns were left out, and returns it.
fn lines_left_out(text: &mut String, profile: &SampleProfile, detail: Detail, full: Detail) -> Vec<String> {
    let wanted = full.rows.min(shown_rows(profile));
    if detail.rows >= wanted {
        return Vec::new();
    }
    let left_out = format!("{} of {wanted} example lines", wanted - detail.rows);
    put(text, format_args!("Left out to keep the budget: {left_out}."));
    vec![left_out]
}

/// Prints a table below its heading; returns what was left out.
fn print_table(text: &mut String, table: &TableProfile, detail: Detail, full: Detail) -> Vec<String> {
    print_columns(text, table, detail);
    if detail.has_statistics && detail.exposure != Exposure::SchemaOnly {
        print_repetitions(text, table);
    }
    print_rows(text, table, detail);
    let mut left_out = left_out(table, detail, full);
    if !left_out.is_empty() {
        put(
            text,
            format_args!("Left out to keep the budget: {}.", left_out.join("; ")),
        );
    }
    // The text says this beside the columns: no budget brings them back.
    let described = table.columns.len();
    if detail.columns >= described && table.column_count > described as u64 {
        left_out.push(format!(
            "{} of {} columns{BEYOND_DESCRIBED}",
            table.column_count - described as u64,
            table.column_count
        ));
    }
    left_out
}

/// Adds one line, whatever the names and values in it hold.
fn put(text: &mut String, line: fmt::Arguments<'_>) {
    // A line break in a name would begin a line, and so perhaps a heading, of the prompt.
    text.push_str(&one_line(&line.to_string()));
    text.push('\n');
}

fn counted(count: u64, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

fn shape(format: FileFormat, table: &TableProfile) -> String {
    let (records, columns) = (table.records, table.column_count);
    match &table.layout {
        Layout::Delimited {
            delimiter, decimal, ..
        } => {
            let delimiter = match delimiter {
                ',' | '\t' => String::new(),
                other => format!(" separated by '{other}'"),
            };
            let decimal = if *decimal == ',' { ", decimal comma" } else { "" };
            format!(
                "{}{delimiter}{decimal}, {}, {}",
                format_name(format),
                counted(records, "row"),
                counted(columns, "column")
            )
        }
        Layout::JsonLines => format!(
            "JSON Lines, {}, {}",
            counted(records, "record"),
            counted(columns, "path")
        ),
        Layout::JsonArray => format!(
            "JSON array, {}, {}",
            counted(records, "record"),
            counted(columns, "path")
        ),
        Layout::JsonDocument => format!("one JSON document, {}", counted(columns, "path")),
        Layout::JsonValues => format!(
            "JSON values one after another, {}, {}",
            counted(records, "record"),
            counted(columns, "path")
        ),
        Layout::Arrow { batches, header, .. } => format!(
            "Arrow, {}, {}, {}",
            counted(records, "row"),
            counted(columns, if header.is_some() { "column" } else { "path" }),
            counted(*batches, "record batch").replace("batchs", "batches")
        ),
        Layout::Sheet { name, header_row, .. } => {
            let header = match header_row {
                Some(1) => String::new(),
                Some(row) => format!(", header in row {row}"),
                None => ", no header".to_owned(),
            };
            format!(
                "sheet {name:?}, {}, {}{header}",
                counted(records, "row"),
                counted(columns, "column")
            )
        }
        Layout::Parquet {
            row_groups,
            compression,
            header,
            ..
        } => format!(
            "Parquet ({compression}), {}, {}, {}",
            counted(records, "row"),
            counted(columns, if header.is_some() { "column" } else { "path" }),
            counted(*row_groups, "row group")
        ),
    }
}

/// Prints the first remarks; returns how many more there are, in words.
fn print_remarks(text: &mut String, remarks: &[Remark]) -> Option<String> {
    for remark in remarks.iter().take(SHOWN_REMARKS) {
        let remark = cut_with_marker(remark, LONGEST_REMARK);
        put(text, format_args!("Remark: {remark}."));
    }
    if remarks.len() <= SHOWN_REMARKS {
        return None;
    }
    let further = counted((remarks.len() - SHOWN_REMARKS) as u64, FURTHER_REMARK);
    put(text, format_args!("Remark: {further} not shown."));
    Some(further)
}

fn left_out(table: &TableProfile, detail: Detail, full: Detail) -> Vec<String> {
    let mut left_out = Vec::new();
    let wanted = full.rows.min(table.rows.len());
    if detail.rows < wanted {
        left_out.push(format!(
            "{} of {wanted} representative rows",
            wanted - detail.rows
        ));
    }
    if !detail.has_statistics && detail.exposure > Exposure::SchemaOnly {
        left_out.push("statistics of the columns".to_owned());
    }
    if detail.columns < table.columns.len() {
        left_out.push(format!(
            "{} of {} columns",
            table.column_count - detail.columns as u64,
            table.column_count
        ));
    }
    left_out
}
