//! One line a column.

use std::fmt::Write as _;

use crate::api::common::Exposure;
use crate::data::column::distinct::DistinctCount;
use crate::data::column::numeric::format_number;
use crate::data::profile::{ColumnProfile, ColumnType, TableProfile};
use crate::data::rows::cut_with_marker;

use super::{Detail, counted};

const LONGEST_NAME: usize = 80;
const LONGEST_VALUE: usize = 40;
const SHOWN_VALUES: usize = 6;

/// A line for each column that is shown.
pub(super) fn print_columns(text: &mut String, table: &TableProfile, detail: Detail) {
    for column in table.columns.iter().take(detail.columns) {
        let _ = writeln!(text, "{}", column_line(column, table.records, detail));
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

/// How the line of a column begins: its name, in one line, and its type.
#[must_use]
pub fn column_label(column: &ColumnProfile) -> String {
    let name = match column.name.as_str() {
        "" => "(no name)".to_owned(),
        name => cut_with_marker(name, LONGEST_NAME)
            .replace('\n', "\\n")
            .replace('\r', "\\r"),
    };
    let type_ = column.declared.as_deref().unwrap_or(column.type_.as_str());
    format!("{name} {type_}")
}

/// One line a column: `unit_price float 2.50..110.14 mean 57.31 median 55.9; 2 empty`.
fn column_line(column: &ColumnProfile, records: u64, detail: Detail) -> String {
    let is_schema = detail.exposure == Exposure::SchemaOnly;
    let mut line = column_label(column);
    if column.type_ == ColumnType::Mixed {
        let kinds: Vec<_> = column
            .kinds
            .iter()
            .map(|(kind, count)| {
                if is_schema {
                    kind.as_str().to_owned()
                } else {
                    format!("{} {count}", kind.as_str())
                }
            })
            .collect();
        let _ = write!(line, " ({})", kinds.join(", "));
    }
    if detail.has_statistics && !is_schema {
        line.push_str(&statistics(column));
    }
    if column.leading_zeros > 0 {
        line.push_str("; leading zeros");
    }
    if let Some(present) = column.present.filter(|present| *present < records) {
        let _ = write!(line, "; in {present} of {records} records");
    }
    if column.null_count() > 0 && is_schema {
        line.push_str("; has missing values");
    } else if column.null_count() > 0 {
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
