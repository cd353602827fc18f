//! One line a column.

use std::fmt::Write as _;

use crate::column::distinct::DistinctCount;
use crate::column::numeric::{NumberStats, format_number, round_estimate};
use crate::column::style::NumberStyle;
use crate::column::temporal::{ISO, RFC_2822, TimeStats};
use crate::escape::{is_markup, one_line};
use crate::exposure::Exposure;
use crate::joins::names_identifier;
use crate::profile::{ColumnProfile, ColumnType, TableProfile};
use crate::rows::cut_with_marker;

use super::{Detail, counted, put};

const LONGEST_NAME: usize = 200;
const LONGEST_VALUE: usize = 40;
const SHOWN_VALUES: usize = 6;
const SHOWN_PATTERNS: usize = 3;

/// A line for each column that is shown.
pub(super) fn print_columns(text: &mut String, table: &TableProfile, detail: Detail) {
    for (position, column) in table.columns.iter().take(detail.columns).enumerate() {
        let line = column_line(column, table.records, detail);
        // What is cut may begin like another name: the place tells them apart.
        let place = if column.name.len() > LONGEST_NAME {
            format!("; its name is cut: column {} of the file", position + 1)
        } else {
            String::new()
        };
        put(text, format_args!("{line}{place}"));
    }
    let shown = detail.columns.min(table.columns.len()) as u64;
    if detail.columns >= table.columns.len() && table.column_count > shown {
        let further = counted(table.column_count - shown, "further column");
        put(text, format_args!("and {further} not described"));
    }
}

/// Prints the number of whole records that repeat an earlier one.
pub(super) fn print_repetitions(text: &mut String, table: &TableProfile) {
    if let Some(count) = table.duplicate_records.filter(|count| *count > 0) {
        let records = counted(count, "record");
        put(text, format_args!("{records} equal to an earlier one."));
    }
}

/// Returns the beginning of a column's line: its name, in one line that is no heading, and its type.
#[must_use]
pub fn column_label(name: &str, column: &ColumnProfile) -> String {
    let name = match name {
        "" => "(no name)".to_owned(),
        name => one_line(&cut_with_marker(name, LONGEST_NAME)).into_owned(),
    };
    let name = if is_markup(&name) {
        format!("\"{name}\"")
    } else {
        name
    };
    let type_ = column.declared.as_deref().unwrap_or(column.type_.as_str());
    format!("{name} {type_}")
}

/// One line a column: `unit_price float 2.50..110.14 mean 57.31 quartiles 30.1/55.9/84.2; 2 empty`.
fn column_line(column: &ColumnProfile, records: u64, detail: Detail) -> String {
    let is_schema = detail.exposure == Exposure::SchemaOnly;
    let mut line = column_label(&column.name, column);
    if let Some(unit) = &column.unit {
        let _ = write!(line, " in {}", shown_value(unit));
    }
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
    if column.values == 0 {
        return String::new();
    }
    if let Some(constant) = constant(column) {
        return format!(" only {constant}");
    }
    let unique = if column.is_unique { " unique" } else { "" };
    let is_code = column.type_ == ColumnType::Text && column.leading_zeros > 0;
    let text = match (&column.numbers, &column.times) {
        (Some(numbers), _) if column.type_ == ColumnType::Mixed => {
            return format!(" numbers {}..{}", numbers.min, numbers.max);
        }
        (Some(numbers), times) if !is_code => format!(
            "{}{}{}",
            column.style.as_ref().map_or(String::new(), style_words),
            number_words(numbers, column),
            times.as_ref().map_or(String::new(), |times| format!(
                " looks like {}",
                format_words(times)
            )),
        ),
        (_, Some(times)) if matches!(column.type_, ColumnType::Date | ColumnType::Datetime) => {
            let several = if times.format == ISO {
                " in several spellings"
            } else {
                ""
            };
            format!(" {}{several}", range_words(times))
        }
        (_, Some(times)) => format!(", {}", format_words(times)),
        _ => return text_words(column),
    };
    text + unique
}

/// Range, and of numbers that are no key mean and quartiles; of few whole numbers, which are often codes, how many of each.
fn number_words(numbers: &NumberStats, column: &ColumnProfile) -> String {
    let shown = column.top.len().min(SHOWN_VALUES) as u64;
    if column.type_ == ColumnType::Int && column.distinct == DistinctCount::Exact(shown) {
        return top_values(column);
    }
    // Two points before `.5` would be three.
    let to = if numbers.max.starts_with('.') {
        " to "
    } else {
        ".."
    };
    let range = format!(" {}{to}{}", numbers.min, numbers.max);
    let is_whole = column.type_ == ColumnType::Int;
    let is_key = column.is_unique && (is_dense(numbers) || names_identifier(&column.name));
    if is_whole && (column.times.is_some() || is_key) {
        return range;
    }
    let number = |value| format_number(value, numbers.decimals);
    let mean = format!("{range} mean {}", number(numbers.mean));
    let Some(quartiles) = &numbers.quartiles else {
        return mean;
    };
    let about = if quartiles.is_exact { "" } else { "≈" };
    let [lower, median, upper] = [quartiles.lower, quartiles.median, quartiles.upper]
        .map(|value| number(round_estimate(value, quartiles)));
    format!("{mean} quartiles {about}{lower}/{median}/{upper}")
}

/// Reports whether whole numbers that are unique leave few gaps, as numbers of records do: then their range says all.
fn is_dense(numbers: &NumberStats) -> bool {
    match (numbers.min.parse::<i128>(), numbers.max.parse::<i128>()) {
        (Ok(min), Ok(max)) => max - min < i128::from(numbers.count),
        _ => false,
    }
}

/// Describes the style of numbers that are text to a reader: `, numbers with decimal comma, thousands '.', €`.
fn style_words(style: &NumberStyle) -> String {
    let mut words = Vec::new();
    if style.decimal == Some(',') {
        words.push("decimal comma".to_owned());
    }
    if let Some(separator) = style.thousands {
        words.push(format!("thousands '{separator}'"));
    }
    if style.has_percent {
        words.push("%".to_owned());
    }
    words.extend(style.currency.clone());
    if style.has_brackets {
        words.push("negative ones in brackets".to_owned());
    }
    if words.is_empty() && style.decimal.is_some() {
        words.push("decimal point".to_owned());
    }
    if words.is_empty() {
        return ", whole numbers".to_owned();
    }
    format!(", numbers with {}", words.join(", "))
}

fn range_words(times: &TimeStats) -> String {
    let zones = if times.zoned > 0 && times.zoned < times.count {
        ", some without zone"
    } else {
        ""
    };
    let step = times.step.as_ref().map_or(String::new(), |step| {
        let zero = if step.equal > 0 { "0 or " } else { "" };
        let share = if step.count < step.of {
            format!(" in {} of {}", step.count, step.of)
        } else {
            String::new()
        };
        format!(" step {zero}{}{share}", step.step)
    });
    format!("{}..{}{zones}{step}", times.min, times.max)
}

fn format_words(times: &TimeStats) -> String {
    let noun = match times.format.as_str() {
        RFC_2822 => "dates ",
        format if !format.starts_with('%') => "",
        format if format.contains("%d") => "dates ",
        format if format.contains("%Y") => "months ",
        _ => "times ",
    };
    format!("{noun}{} {}", times.format, range_words(times))
}

fn text_words(column: &ColumnProfile) -> String {
    let patterns = patterns(column);
    if !column.top.is_empty() {
        return format!("{patterns}{}", top_values(column));
    }
    let lengths = column
        .lengths
        .filter(|_| patterns.is_empty())
        .map_or(String::new(), |lengths| match (lengths.min, lengths.max) {
            (min, max) if min == max => format!(" {min} characters"),
            (min, max) => format!(" {min}..{max} characters"),
        });
    let distinct = match column.distinct {
        _ if column.is_unique => " unique".to_owned(),
        DistinctCount::Exact(count) if count == column.values => " all different".to_owned(),
        DistinctCount::Exact(count) => format!(" {count} distinct"),
        DistinctCount::About(count) => format!(" ≈{count} ±6% distinct"),
    };
    format!("{lengths}{patterns}{distinct}")
}

/// The shapes of the texts, where they are few and say more than that these are words, and the values do not.
fn patterns(column: &ColumnProfile) -> String {
    let shapes = &column.patterns;
    let is_shown_whole =
        matches!(column.distinct, DistinctCount::Exact(count) if count <= SHOWN_VALUES as u64);
    let is_distinctive = |(shape, _): &(String, u64)| {
        shape
            .chars()
            .any(|character| !matches!(character, 'A' | 'a' | '+' | ' ' | '…'))
    };
    if column.has_more_patterns
        || shapes.len() > SHOWN_PATTERNS
        || is_shown_whole
        || !shapes.iter().any(is_distinctive)
    {
        return String::new();
    }
    if let [(shape, _)] = shapes.as_slice() {
        return format!(" like {}", shown_value(shape));
    }
    let shape = |(shape, count): &(String, u64)| format!("{} {count}", shown_value(shape));
    format!(
        " like {}",
        shapes.iter().map(shape).collect::<Vec<_>>().join(", ")
    )
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
        DistinctCount::Exact(count) if count > shown.len() as u64 => {
            format!("; {count} distinct, most often")
        }
        DistinctCount::Exact(_) => String::new(),
        DistinctCount::About(count) => format!("; ≈{count} ±6% distinct, often"),
    };
    format!("{distinct}: {}", shown.join(", "))
}
