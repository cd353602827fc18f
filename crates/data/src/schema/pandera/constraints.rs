//! Checks on columns as those that Pandera brings itself, where they give the same verdicts.

use std::cmp::Ordering;
use std::fmt::Write as _;
use std::sync::LazyLock;

use regex::Regex;

use crate::checks::rule::{Bound, ColumnCheck, Rule};
use crate::checks::text::in_words;
use crate::checks::value::{CheckedValue, Limit, Number};
use crate::profile::ColumnType;
use crate::schema::{Schema, SchemaColumn};

use super::{literal, truth};

/// Patterns that Rust and Python read alike, but for which characters `\w` and `\s` hold at the edges of Unicode.
static PORTABLE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let escaped = r"\\[dwsDWSnt.*+?()\[\]{}|/^$\\-]";
    let class = format!(r"\[\^?-?(?:(?:[^\\\[\]&~^-]|{escaped})-?)+\]");
    let atom = format!(r"(?:[^\\\[\](){{}}*+?^$|]|{escaped}|{class}|\))");
    let quantifier = r"(?:[*+?]|\{[0-9]+(?:,[0-9]*)?\})";
    Regex::new(&format!(
        r"\A\^?(?:\((?:\?:)?|\||{atom}(?:{quantifier}\??)?)*\$?\z"
    ))
    .ok()
});

/// The constraints on the columns of one sample: `<name>_constraints`; empty where it has none. A check that Pandera itself
/// does not have is a comment.
pub(super) fn constraints(schema: &Schema, checks: &[ColumnCheck]) -> String {
    let mut columns = String::new();
    for column in &schema.columns {
        let own: Vec<&ColumnCheck> = checks
            .iter()
            .filter(|check| check.column == column.name)
            .collect();
        if own.is_empty() {
            continue;
        }
        let _ = writeln!(
            columns,
            "        {}: pa.Column(\n            checks=[",
            literal(&column.name)
        );
        for check in own.iter().filter(|check| check.rule != Rule::NotNull) {
            let _ = match print(column, &check.rule, schema.decimal) {
                Some(printed) => writeln!(columns, "                {printed},"),
                None => writeln!(columns, "                # Not here: {}", words(check)),
            };
        }
        let is_nullable = own.iter().all(|check| check.rule != Rule::NotNull);
        let _ = writeln!(
            columns,
            "            ],\n            nullable={},\n        ),",
            truth(is_nullable)
        );
    }
    if columns.is_empty() {
        return String::new();
    }
    let sample = &schema.sample;
    format!(
        "\n\n{sample}_constraints = pa.DataFrameSchema(\n    {{\n{columns}    }},\n    strict=False,\n)\n"
    )
}

/// Comments on the checks that no schema has a column for.
pub(super) fn left_out(schemas: &[Schema], checks: &[ColumnCheck]) -> String {
    let is_printed = |check: &&ColumnCheck| {
        let mut columns = schemas.iter().flat_map(|schema| &schema.columns);
        columns.any(|column| column.name == check.column)
    };
    let others = checks.iter().filter(|check| !is_printed(check));
    others.fold(String::new(), |mut text, check| {
        let _ = write!(text, "\n# Of no column above: {}", words(check));
        text
    })
}

/// A check as a comment may hold it.
fn words(check: &ColumnCheck) -> String {
    let breaks = |character: char| character.is_control() || matches!(character, '\u{2028}' | '\u{2029}');
    in_words(check).replace(breaks, " ")
}

/// Pandera's own check with the verdicts of a rule; `None` where it has none for values as pandas reads them.
fn print(column: &SchemaColumn, rule: &Rule, decimal: char) -> Option<String> {
    match rule {
        Rule::GreaterThan(bound) => compare(column, "greater_than", &[bound]),
        Rule::GreaterOrEqual(bound) => compare(column, "greater_than_or_equal_to", &[bound]),
        Rule::LessThan(bound) => compare(column, "less_than", &[bound]),
        Rule::LessOrEqual(bound) => compare(column, "less_than_or_equal_to", &[bound]),
        Rule::Between(low, high) => {
            // Pandera refuses to be asked for what lies in no range.
            let order = Limit::of(high)?.compare(&low.to_string())?;
            (order != Ordering::Greater).then(|| compare(column, "in_range", &[low, high]))?
        }
        Rule::Regex(pattern) => {
            let is_portable = PORTABLE
                .as_ref()
                .is_some_and(|portable| portable.is_match(pattern));
            // With a lookahead in it pandas asks Python, whose classes are those of Unicode, and not Arrow.
            let whole = format!("(?=)(?:{pattern})\\Z");
            (is_portable && column.dtype.as_deref() == Some("string"))
                .then(|| format!("pa.Check.str_matches({})", literal(&whole)))
        }
        // Of `1,5` Pandera cannot say that it is a number.
        Rule::IsIn(allowed) => is_in(column, allowed).filter(|_| decimal != ','),
        // The schema has types of its own.
        Rule::NotNull | Rule::OfType(_) => None,
    }
}

/// Only columns that pandas reads as numbers or days are compared by it as the checks do.
fn compare(column: &SchemaColumn, name: &str, bounds: &[&Bound]) -> Option<String> {
    let dtype = column.dtype.as_deref()?;
    let argument = |bound: &&Bound| match Limit::of(bound)? {
        Limit::Number(_) => matches!(dtype, "Int64" | "UInt64" | "Float64").then(|| bound.to_string()),
        // Other columns of times may hold more than the start of a day.
        Limit::Day(_) if column.type_ == ColumnType::Date && dtype == "datetime64[ns]" => {
            Some(format!("pandas.Timestamp(\"{bound}\")"))
        }
        Limit::Day(_) | Limit::Moment(_) => None,
    };
    let arguments: Vec<String> = bounds.iter().map(argument).collect::<Option<_>>()?;
    Some(format!("pa.Check.{name}({})", arguments.join(", ")))
}

/// Values that the column cannot hold are left out.
fn is_in(column: &SchemaColumn, allowed: &[String]) -> Option<String> {
    let values = allowed.iter().map(|text| CheckedValue::of(text));
    let listed: Vec<String> = match column.dtype.as_deref()? {
        "Int64" | "UInt64" => values.filter_map(|value| number(value, true)).collect(),
        "Float64" => values.filter_map(|value| number(value, false)).collect(),
        "boolean" => values
            .filter_map(|value| match value {
                CheckedValue::Bool(value) => Some(truth(value).to_owned()),
                _ => None,
            })
            .collect(),
        "string" if values.clone().all(|value| matches!(value, CheckedValue::Text(_))) => {
            allowed.iter().map(|text| literal(text)).collect()
        }
        _ => return None,
    };
    Some(format!("pa.Check.isin([{}])", listed.join(", ")))
}

fn number(value: CheckedValue<'_>, is_whole: bool) -> Option<String> {
    match value {
        CheckedValue::Number(Number::Int(value)) => i64::try_from(value).ok().map(|value| value.to_string()),
        CheckedValue::Number(Number::Float(value)) if !is_whole => Some(format!("{value:?}")),
        CheckedValue::Number(Number::Float(value))
            if value.fract() == 0.0 && value.abs() < 9_223_372_036_854_775_808.0 =>
        {
            Some(format!("{value:.0}"))
        }
        _ => None,
    }
}
