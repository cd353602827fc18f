//! The data context: what prompts say of the samples, cut to a token budget.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::api::values::FileFormat;
use crate::pipeline::call::estimate_tokens;

use super::describe::format_name;
pub use super::describe::{Options, describe};
use super::distinct::DistinctCount;
use super::numeric::format_number;
use super::profile::{
    ColumnProfile, ColumnType, Content, Layout, SampleProfile, SampleRow, TableProfile, TextProfile,
};
use super::rows::{cut_with_marker, shorten};

const LONGEST_NAME: usize = 80;
const LONGEST_VALUE: usize = 40;
const SHOWN_VALUES: usize = 6;
const SHOWN_REMARKS: usize = 12;
const LONGEST_REMARK: usize = 300;

/// The data context of a task.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Context {
    /// The text as it stands in prompts.
    pub text: String,
    /// Its tokens, estimated.
    pub estimated_tokens: u64,
    /// What was left out to keep the budget, one sentence each; the text says the same.
    pub cut: Vec<String>,
}

/// How much of each sample is printed.
#[derive(Clone, Copy, Debug)]
struct Detail {
    rows: usize,
    has_statistics: bool,
    columns: usize,
}

/// Prints the context of some samples in at most `max_tokens` (estimated) with at most `max_rows` rows of each.
/// What exceeds the budget goes in this order: rows, statistics of columns, columns.
#[must_use]
pub fn render(profiles: &[SampleProfile], max_tokens: u64, max_rows: usize) -> Context {
    let tables = || profiles.iter().filter_map(SampleProfile::table);
    let most_rows = profiles.iter().map(shown_rows).max().unwrap_or(0).min(max_rows);
    let most_columns = tables().map(|table| table.columns.len()).max().unwrap_or(0);
    let full = Detail {
        rows: most_rows,
        has_statistics: true,
        columns: most_columns,
    };
    let bare = Detail {
        has_statistics: false,
        ..full
    };
    let fits = |detail: &Detail| estimate_tokens(&print(profiles, *detail, full).0) <= max_tokens;
    let fewer_rows = (0..most_rows).rev().map(|rows| Detail { rows, ..full });
    let fewer_statistics = std::iter::once(Detail { rows: 0, ..bare });
    let fewer_columns = (0..most_columns).rev().map(|columns| Detail {
        rows: 0,
        columns,
        ..bare
    });
    let smaller: Vec<_> = fewer_rows.chain(fewer_statistics).chain(fewer_columns).collect();
    // Among these each is shorter than the one before it; the full text lacks the line that says what was left out.
    let detail = if fits(&full) {
        full
    } else {
        let first = smaller.partition_point(|detail| !fits(detail));
        smaller.get(first).or(smaller.last()).copied().unwrap_or(full)
    };
    let (text, cut) = print(profiles, detail, full);
    let text = cut_to_budget(text, max_tokens);
    Context {
        estimated_tokens: estimate_tokens(&text),
        text,
        cut,
    }
}

fn shown_rows(profile: &SampleProfile) -> usize {
    match &profile.content {
        Content::Table(table) => table.rows.len(),
        Content::Text(text) => text.first_lines.len(),
        Content::Opaque(_) => 0,
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
    format!("{}{MARKER}", super::distinct::cut_at(&text, bytes))
}

fn print(profiles: &[SampleProfile], detail: Detail, full: Detail) -> (String, Vec<String>) {
    let mut text = String::new();
    let mut cut = Vec::new();
    for profile in profiles {
        if !text.is_empty() {
            text.push('\n');
        }
        let left_out = print_sample(&mut text, profile, detail, full);
        cut.extend(
            left_out
                .into_iter()
                .map(|what| format!("{}: {what}", profile.name)),
        );
    }
    (text, cut)
}

fn print_sample(text: &mut String, profile: &SampleProfile, detail: Detail, full: Detail) -> Vec<String> {
    let SampleProfile {
        name,
        file_name,
        bytes,
        ..
    } = profile;
    let _ = write!(text, "## {name} ({file_name}): ");
    match &profile.content {
        Content::Table(table) => {
            let _ = writeln!(text, "{}", shape(profile.format, table));
            print_remarks(text, &profile.remarks);
            print_columns(text, table, detail);
            print_rows(text, table, detail.rows);
            let left_out = left_out(table, detail, full);
            if !left_out.is_empty() {
                let _ = writeln!(text, "Left out to keep the budget: {}.", left_out.join("; "));
            }
            left_out
        }
        Content::Text(lines) => {
            let _ = writeln!(text, "text, {}, {bytes} bytes", counted(lines.lines, "line"));
            print_remarks(text, &profile.remarks);
            print_lines(text, lines, detail.rows);
            Vec::new()
        }
        Content::Opaque(what) => {
            let _ = writeln!(text, "{what}, {bytes} bytes");
            print_remarks(text, &profile.remarks);
            Vec::new()
        }
    }
}

fn counted(count: u64, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

fn shape(format: FileFormat, table: &TableProfile) -> String {
    let (records, columns) = (table.records, table.column_count);
    match &table.layout {
        Layout::Delimited { delimiter, .. } => {
            let delimiter = match delimiter {
                ',' | '\t' => String::new(),
                other => format!(" separated by '{other}'"),
            };
            format!(
                "{}{delimiter}, {}, {}",
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
    }
}

fn print_remarks(text: &mut String, remarks: &[String]) {
    for remark in remarks.iter().take(SHOWN_REMARKS) {
        let _ = writeln!(text, "Remark: {}.", cut_with_marker(remark, LONGEST_REMARK));
    }
}

fn print_columns(text: &mut String, table: &TableProfile, detail: Detail) {
    for column in table.columns.iter().take(detail.columns) {
        let _ = writeln!(
            text,
            "{}",
            column_line(column, table.records, detail.has_statistics)
        );
    }
    let shown = detail.columns.min(table.columns.len()) as u64;
    if detail.columns >= table.columns.len() && table.column_count > shown {
        let _ = writeln!(
            text,
            "and {} not described",
            counted(table.column_count - shown, "further column")
        );
    }
}

/// One line a column: `unit_price float 2.50..110.14 mean 57.31 median 55.9; 2 empty`.
fn column_line(column: &ColumnProfile, records: u64, has_statistics: bool) -> String {
    let name = if column.name.is_empty() {
        "(no name)"
    } else {
        &column.name
    };
    let mut line = format!(
        "{} {}",
        cut_with_marker(name, LONGEST_NAME),
        column.type_.as_str()
    );
    if column.type_ == ColumnType::Mixed {
        let kinds: Vec<_> = column
            .kinds
            .iter()
            .map(|(kind, count)| format!("{} {count}", kind.as_str()))
            .collect();
        let _ = write!(line, " ({})", kinds.join(", "));
    }
    if has_statistics {
        line.push_str(&statistics(column));
    }
    if column.leading_zeros > 0 {
        line.push_str("; leading zeros");
    }
    if let Some(present) = column.present.filter(|present| *present < records) {
        let _ = write!(line, "; in {present} of {records} records");
    }
    if column.null_count() > 0 {
        let _ = write!(line, "; {}", nulls(column));
    }
    line
}

fn nulls(column: &ColumnProfile) -> String {
    let spelled = |(spelling, count): &(String, u64)| {
        if spelling.is_empty() {
            format!("{count} empty")
        } else {
            format!("{count} \"{spelling}\"")
        }
    };
    column.nulls.iter().map(spelled).collect::<Vec<_>>().join(", ")
}

fn statistics(column: &ColumnProfile) -> String {
    let unique = if column.is_unique { " unique" } else { "" };
    let is_code = column.type_ == ColumnType::Text && column.leading_zeros > 0;
    if let Some(constant) = constant(column) {
        return format!(" only {constant}");
    }
    if let Some(numbers) = column.numbers.as_ref().filter(|_| !is_code) {
        if column.type_ == ColumnType::Mixed {
            return format!(" numbers {}..{}", numbers.min, numbers.max);
        }
        if column.is_unique && column.type_ == ColumnType::Int {
            return format!(" {}..{} unique", numbers.min, numbers.max);
        }
        let number = |value| format_number(value, numbers.decimals);
        let about = if numbers.quartiles.is_exact { "" } else { "≈" };
        return format!(
            " {}..{} mean {} median {about}{}",
            numbers.min,
            numbers.max,
            number(numbers.mean),
            number(numbers.quartiles.median)
        );
    }
    if let Some(times) = &column.times {
        let zones = if times.zoned > 0 && times.zoned < times.count {
            ", some without zone"
        } else {
            ""
        };
        return format!(" {}..{}{zones}{unique}", times.min, times.max);
    }
    if !column.top.is_empty() {
        return top_values(column);
    }
    let lengths = column
        .lengths
        .map_or(String::new(), |lengths| match (lengths.min, lengths.max) {
            (min, max) if min == max => format!(" {min} characters"),
            (min, max) => format!(" {min}..{max} characters"),
        });
    let distinct = match column.distinct {
        _ if column.is_unique => " unique".to_owned(),
        DistinctCount::Exact(count) if count == column.values => " all different".to_owned(),
        DistinctCount::Exact(count) => format!(" {count} distinct"),
        DistinctCount::About(count) => format!(" ≈{count} distinct"),
    };
    if column.values == 0 {
        String::new()
    } else {
        format!("{lengths}{distinct}")
    }
}

/// The value of a column that has one value only.
fn constant(column: &ColumnProfile) -> Option<String> {
    if column.distinct != DistinctCount::Exact(1) {
        return None;
    }
    let value = match (column.top.as_slice(), &column.numbers, &column.times) {
        ([(value, _)], ..) => value,
        (_, Some(numbers), _) => &numbers.min,
        (_, _, Some(times)) => &times.min,
        _ => return None,
    };
    Some(shown_value(value))
}

fn shown_value(value: &str) -> String {
    cut_with_marker(value, LONGEST_VALUE)
        .escape_debug()
        .collect::<String>()
        .replace("\\\"", "\"")
        .replace("\\'", "'")
}

fn top_values(column: &ColumnProfile) -> String {
    let value = |(value, count): &(String, u64)| format!("{} {count}", shown_value(value));
    let shown: Vec<_> = column.top.iter().take(SHOWN_VALUES).map(value).collect();
    let distinct = match column.distinct {
        DistinctCount::Exact(count) if count > shown.len() as u64 => format!(" {count} distinct, most often"),
        DistinctCount::Exact(_) | DistinctCount::About(_) => String::new(),
    };
    format!("{distinct}: {}", shown.join(", "))
}

fn print_rows(text: &mut String, table: &TableProfile, most: usize) {
    let mut rows: Vec<&SampleRow> = table.rows.iter().take(most).collect();
    if rows.is_empty() {
        return;
    }
    rows.sort_by_key(|row| row.number);
    let _ = match &table.layout {
        Layout::JsonDocument => writeln!(text, "The document without blanks:"),
        Layout::JsonArray => writeln!(
            text,
            "{} of {} records without blanks:",
            rows.len(),
            table.records
        ),
        Layout::JsonLines => writeln!(
            text,
            "{} of {} records as in the file:",
            rows.len(),
            table.records
        ),
        Layout::Delimited { .. } => {
            writeln!(text, "{} of {} rows as in the file:", rows.len(), table.records)
        }
    };
    if let Layout::Delimited {
        delimiter,
        header: Some(header),
    } = &table.layout
    {
        let _ = writeln!(text, "{}", shorten(header, Some(*delimiter)));
    }
    for row in rows {
        let _ = writeln!(text, "{}", row.text);
    }
}

fn print_lines(text: &mut String, lines: &TextProfile, most: usize) {
    let shown: Vec<_> = lines.first_lines.iter().take(most).collect();
    if shown.is_empty() {
        return;
    }
    let _ = writeln!(text, "First {}:", counted(shown.len() as u64, "line"));
    for line in shown {
        let _ = writeln!(text, "{line}");
    }
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
    if !detail.has_statistics {
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
