//! Checks on columns as Pandera checks with the same verdicts.
//!
//! A column that pandas reads as numbers or dates gets Pandera's own checks. In any other column the printed module looks at
//! each value as the checks here do: `007` is a number, `many` breaks every rule about numbers.

use std::cmp::Ordering;
use std::fmt::Write as _;

use crate::checks::rule::{Bound, ColumnCheck, Rule};
use crate::checks::text::in_words;
use crate::checks::value::{Limit, Number, Value, with_point};
use crate::profile::ColumnType;
use crate::schema::{Schema, SchemaColumn};

use super::pattern::to_python;
use super::{literal, truth};

/// What the checks of a module need, in order.
const SPELLING: &str = r#"

def spelling(cell):
    """The text of a cell; truth values and lists as JSON writes them."""
    cell = cell.item() if hasattr(cell, "item") else cell
    return str(cell) if not isinstance(cell, (bool, list, dict)) else json.dumps(
        cell, ensure_ascii=False, separators=(",", ":")
    )
"#;
const MATCHES: &str = r#"

def matches(pattern):
    """Whether the whole text of a cell matches."""
    compiled = re.compile(pattern)
    return lambda cell: compiled.fullmatch(spelling(cell)) is not None
"#;
const TYPED: &str = r#"

NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")
MOMENT = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?([Zz]|[-+][0-9]{2}(:?[0-9]{2})?)?)?"
)
SWAPPED = str.maketrans(",.", ".,")
TRUTHS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}


def typed(cell, decimal="."):
    """What a cell says, as a pair of kind and value; blanks count in text only."""
    spelled = spelling(cell)
    text = spelled.strip(" \t")
    digits = text.translate(SWAPPED) if decimal == "," else text
    if NUMBER.fullmatch(digits):
        if len(digits) <= 38 and digits.lstrip("+-").isdigit():
            return "number", int(digits)
        number = float(digits)
        return ("number", number) if math.isfinite(number) else ("text", spelled)
    if text in TRUTHS:
        return "truth", TRUTHS[text]
    if MOMENT.fullmatch(text):
        try:
            moment = datetime.datetime.fromisoformat(text.replace("z", "Z"))
        except ValueError:
            return "text", spelled
        return "moment", (moment if moment.tzinfo else moment.replace(tzinfo=datetime.timezone.utc))
    return "text", spelled
"#;
const EACH: &str = r#"

def each(kind, rule, decimal="."):
    """Whether a cell is of a kind and keeps a rule; missing ones are not asked."""

    def holds(cell):
        found, value = typed(cell, decimal)
        return found == kind and rule(value)

    return holds


def day(moment):
    """Its day in UTC."""
    return moment.astimezone(datetime.timezone.utc).date()
"#;
const ONE_OF: &str = r#"

def one_of(texts, decimal="."):
    """Whether a cell says the same as one of some texts."""
    allowed = [typed(text, style) for text in texts for style in (".", decimal)]
    return lambda cell: spelling(cell) in texts or typed(cell, decimal) in allowed
"#;

/// The constraints on the columns of one sample: `<name>_constraints`; empty where it has none. A check that Python cannot
/// say is a comment.
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
                Ok(printed) => writeln!(columns, "                {printed},"),
                Err(reason) => writeln!(
                    columns,
                    "                # Left out: {}: {}",
                    words(check),
                    one_line(&reason)
                ),
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

/// The functions that printed constraints use.
pub(super) fn helpers(printed: &str) -> String {
    let needs_each = printed.contains("each(");
    let needs_one_of = printed.contains("one_of(");
    let needs_typed = needs_each || needs_one_of;
    let needs_matches = printed.contains("matches(");
    let parts = [
        (needs_typed || needs_matches, SPELLING),
        (needs_matches, MATCHES),
        (needs_typed, TYPED),
        (needs_each, EACH),
        (needs_one_of, ONE_OF),
    ];
    let needed = parts.into_iter().filter(|(is_needed, _)| *is_needed);
    needed.map(|(_, code)| code).collect()
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

fn words(check: &ColumnCheck) -> String {
    one_line(&in_words(check))
}

/// A text as a comment may hold it.
fn one_line(text: &str) -> String {
    let breaks = |character: char| character.is_control() || matches!(character, '\u{2028}' | '\u{2029}');
    text.replace(breaks, " ")
}

fn print(column: &SchemaColumn, rule: &Rule, decimal: char) -> Result<String, String> {
    match rule {
        Rule::GreaterThan(bound) => compare(column, "greater_than", &[(">", bound)], decimal),
        Rule::GreaterOrEqual(bound) => compare(column, "greater_than_or_equal_to", &[(">=", bound)], decimal),
        Rule::LessThan(bound) => compare(column, "less_than", &[("<", bound)], decimal),
        Rule::LessOrEqual(bound) => compare(column, "less_than_or_equal_to", &[("<=", bound)], decimal),
        Rule::Between(low, high) => compare(column, "in_range", &[(">=", low), ("<=", high)], decimal),
        Rule::Regex(pattern) => {
            let python = to_python(pattern).map_err(|reason| format!("the pattern {pattern:?}: {reason}"))?;
            Ok(element_wise(
                &format!("matches(r\"{python}\")"),
                &format!("matches({pattern})"),
            ))
        }
        Rule::IsIn(allowed) => Ok(is_in(column, allowed, decimal)),
        // The schema has types of its own.
        Rule::NotNull | Rule::OfType(_) => Ok(String::new()),
    }
}

fn element_wise(function: &str, name: &str) -> String {
    format!("pa.Check({function}, element_wise=True, name={})", literal(name))
}

fn compare(
    column: &SchemaColumn,
    name: &str,
    bounds: &[(&str, &Bound)],
    decimal: char,
) -> Result<String, String> {
    let limits: Vec<Limit> = bounds
        .iter()
        .map(|(_, bound)| Limit::of(bound).ok_or_else(|| format!("the bound {bound} is no ISO date")))
        .collect::<Result<_, _>>()?;
    let texts: Vec<String> = bounds.iter().map(|(_, bound)| bound.to_string()).collect();
    let dtype = column.dtype.as_deref().unwrap_or_default();
    let is_timestamp = dtype == "datetime64[ns]";
    let arguments: Option<Vec<String>> = limits
        .iter()
        .zip(&texts)
        .map(|(limit, text)| match limit {
            Limit::Number(_) => matches!(dtype, "Int64" | "UInt64" | "Float64").then(|| text.clone()),
            // Other columns of times may hold more than the start of a day.
            Limit::Day(_) if column.type_ == ColumnType::Date => is_timestamp.then(|| timestamp(text)),
            Limit::Day(_) | Limit::Moment(_) => None,
        })
        .collect();
    // Pandera refuses to be asked for what lies in no range.
    let is_empty = match (limits.as_slice(), texts.as_slice()) {
        ([_, high], [low, _]) => high.compare(low).is_none_or(Ordering::is_gt),
        _ => false,
    };
    if let Some(arguments) = arguments.filter(|_| !is_empty) {
        return Ok(format!("pa.Check.{name}({})", arguments.join(", ")));
    }
    let kind = if matches!(limits[0], Limit::Number(_)) {
        "number"
    } else {
        "moment"
    };
    let conditions: Vec<String> = bounds
        .iter()
        .zip(&limits)
        .map(|((operator, bound), limit)| match limit {
            Limit::Number(_) => format!("value {operator} {bound}"),
            Limit::Day(_) => format!("day(value) {operator} datetime.date.fromisoformat(\"{bound}\")"),
            Limit::Moment(_) => format!("value {operator} typed(\"{bound}\")[1]"),
        })
        .collect();
    let rule = format!("lambda value: {}", conditions.join(" and "));
    Ok(element_wise(
        &format!("each(\"{kind}\", {rule}{})", style(decimal)),
        &format!("{name}({})", texts.join(", ")),
    ))
}

const fn style(decimal: char) -> &'static str {
    if decimal == ',' { ", decimal=\",\"" } else { "" }
}

fn timestamp(text: &str) -> String {
    format!("pandas.Timestamp(\"{text}\")")
}

/// Values that the column cannot hold are left out.
fn is_in(column: &SchemaColumn, allowed: &[String], decimal: char) -> String {
    let dtype = column.dtype.as_deref().unwrap_or_default();
    let mut values: Vec<Value<'_>> = allowed.iter().map(|text| Value::of(text)).collect();
    if decimal == ',' {
        let numbers = allowed
            .iter()
            .filter_map(|text| Number::of(&with_point(text, b',')));
        values.extend(numbers.map(Value::Number));
    }
    let listed: Option<Vec<String>> = match dtype {
        "Int64" | "UInt64" => Some(values.iter().filter_map(|value| number(*value, true)).collect()),
        "Float64" => Some(values.iter().filter_map(|value| number(*value, false)).collect()),
        "boolean" => {
            let truths = values.iter().filter_map(|value| match value {
                Value::Bool(value) => Some(truth(*value).to_owned()),
                _ => None,
            });
            Some(truths.collect())
        }
        "string" if values.iter().all(|value| matches!(value, Value::Text(_))) => {
            Some(allowed.iter().map(|text| literal(text)).collect())
        }
        _ => None,
    };
    if let Some(listed) = listed {
        return format!("pa.Check.isin([{}])", listed.join(", "));
    }
    let texts: Vec<String> = allowed.iter().map(|text| literal(text)).collect();
    let texts = texts.join(", ");
    element_wise(
        &format!("one_of([{texts}]{})", style(decimal)),
        &format!("isin([{texts}])"),
    )
}

fn number(value: Value<'_>, is_whole: bool) -> Option<String> {
    match value {
        Value::Number(Number::Int(value)) => i64::try_from(value).ok().map(|value| value.to_string()),
        Value::Number(Number::Float(value)) if !is_whole => Some(format!("{value:?}")),
        Value::Number(Number::Float(value))
            if value.fract() == 0.0 && value.abs() < 9_223_372_036_854_775_808.0 =>
        {
            Some(format!("{value:.0}"))
        }
        _ => None,
    }
}
