//! Constraints as checks on columns: what the model read in them, with a reason for each that becomes no check.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::digest::sha256_hex_of_parts;
use super::reply::{CheckKind, CheckRow};
use codegen_api::values::{FileFormat, Output, ValueType};
use codegen_data::checks::text::{between, bound_of, regex};
use codegen_data::profile::{ColumnType, SampleProfile};

pub use codegen_data::checks::rule::{Bound, ColumnCheck, Rule};

/// The constraints as checks.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Interpretation {
    /// Checks, in the order of the constraints.
    pub checks: Vec<ColumnCheck>,
    /// Constraints that are not checked.
    pub unchecked: Vec<Unchecked>,
}

/// A constraint (or a part of it) that is not checked.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Unchecked {
    /// Position of the constraint in `spec.constraints`, counted from 0.
    pub constraint: usize,
    /// Reason for which it is not checked.
    pub reason: String,
}

/// A constraint that a column of an output breaks.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Break {
    /// Position of the constraint in `spec.constraints`, counted from 0.
    pub constraint: usize,
    /// The column.
    pub column: String,
    /// The output that has it.
    pub output: String,
}

impl Break {
    /// Returns the hash that two equal breaks share: of constraint, column and output.
    #[must_use]
    pub fn signature(&self) -> String {
        sha256_hex_of_parts(&[&self.constraint.to_string(), &self.column, &self.output])[..16].to_owned()
    }
}

/// Turns reply rows into checks. `columns` are the columns of all samples with their types; a column that none has is accepted where an
/// output may have it. Names that differ in case only are corrected. Each of the `count` constraints appears in the
/// result as a check or with a reason.
#[must_use]
pub fn checks_from_reply(
    rows: &[CheckRow],
    count: usize,
    columns: &[(String, ColumnType)],
    outputs: &[Output],
) -> Interpretation {
    let mut found = Interpretation::default();
    for row in rows {
        if row.constraint >= count {
            let reason = format!("there is no constraint {}", row.constraint);
            found.unchecked.push(Unchecked {
                constraint: row.constraint,
                reason,
            });
            continue;
        }
        match check(row, columns, outputs) {
            // Models repeat a row for two constraints that say the same; a rule is checked once.
            Ok(check) if found.checks.contains(&check) => {}
            Ok(check) => found.checks.push(check),
            Err(reason) => found.unchecked.push(Unchecked {
                constraint: row.constraint,
                reason,
            }),
        }
    }
    for constraint in 0..count {
        let is_named = rows.iter().any(|row| row.constraint == constraint);
        if !is_named {
            // A constraint that is neither checked nor given a reason would look as if it held.
            found.unchecked.push(Unchecked {
                constraint,
                reason: "the model gave no check for it".to_owned(),
            });
        }
    }
    found.checks.sort_by_key(|check| check.constraint);
    found.unchecked.sort_by_key(|unchecked| unchecked.constraint);
    found
}

fn check(
    row: &CheckRow,
    columns: &[(String, ColumnType)],
    outputs: &[Output],
) -> Result<ColumnCheck, String> {
    let rule = rule(row)?;
    let column = column(&row.column, columns, outputs)?;
    // Every value would break such a rule: the model misread the column, and the data is not at fault.
    if let Some(bound) = bound_in(&rule)
        && let Some(reason) = other_kind(bound, &column, columns)
    {
        return Err(reason);
    }
    let in_samples = columns.iter().any(|(name, _)| *name == column);
    Ok(ColumnCheck {
        in_samples,
        ..ColumnCheck::new(row.constraint, column, rule)
    })
}

fn rule(row: &CheckRow) -> Result<Rule, String> {
    let arguments = row.arguments.as_slice();
    let one = || match arguments {
        [bound] => bound_of(bound),
        _ => Err(format!(
            "{} takes one bound, not {} arguments",
            row.kind,
            arguments.len()
        )),
    };
    match row.kind {
        CheckKind::GreaterThan => one().map(Rule::GreaterThan),
        CheckKind::GreaterOrEqual => one().map(Rule::GreaterOrEqual),
        CheckKind::LessThan => one().map(Rule::LessThan),
        CheckKind::LessOrEqual => one().map(Rule::LessOrEqual),
        CheckKind::Between => match arguments {
            [low, high] => between(bound_of(low)?, bound_of(high)?),
            _ => Err(format!(
                "between takes two bounds, not {} arguments",
                arguments.len()
            )),
        },
        CheckKind::Regex => match arguments {
            [pattern] => regex(pattern),
            _ => Err(format!(
                "regex takes one pattern, not {} arguments",
                arguments.len()
            )),
        },
        CheckKind::IsIn if arguments.is_empty() => Err("is_in takes at least one value".to_owned()),
        CheckKind::IsIn => Ok(Rule::IsIn(arguments.to_vec())),
        CheckKind::NotNull => Ok(Rule::NotNull),
        CheckKind::None => Err("no kind of column check says it".to_owned()),
    }
}

const fn bound_in(rule: &Rule) -> Option<&Bound> {
    match rule {
        Rule::GreaterThan(bound)
        | Rule::GreaterOrEqual(bound)
        | Rule::LessThan(bound)
        | Rule::LessOrEqual(bound)
        | Rule::Between(bound, _) => Some(bound),
        Rule::Regex(_) | Rule::IsIn(_) | Rule::NotNull | Rule::OfType(_) => None,
    }
}

/// Returns the reason for which a bound says nothing about a column: every sample that has it holds dates there and the bound is a number,
/// or the other way round. Every value would break such a rule.
fn other_kind(bound: &Bound, column: &str, columns: &[(String, ColumnType)]) -> Option<String> {
    let is_moment = matches!(bound, Bound::Moment(_));
    let is_other = |type_: &ColumnType| match type_ {
        ColumnType::Int | ColumnType::Float | ColumnType::Bool => is_moment,
        ColumnType::Date | ColumnType::Datetime => !is_moment,
        ColumnType::Text | ColumnType::Mixed | ColumnType::Empty => false,
    };
    let types = columns.iter().filter(|(name, _)| name == column);
    let types: Vec<ColumnType> = types.map(|(_, type_)| *type_).collect();
    let found = types.first()?.as_str();
    let wanted = if is_moment { "a date" } else { "a number" };
    types
        .iter()
        .all(is_other)
        .then(|| format!("the bound {bound} is {wanted}, but {column} holds values of type {found}"))
}

fn column(name: &str, columns: &[(String, ColumnType)], outputs: &[Output]) -> Result<String, String> {
    if name.is_empty() {
        return Err("the model named no column".to_owned());
    }
    if columns.iter().any(|(column, _)| column == name) {
        return Ok(name.to_owned());
    }
    let mut alike: Vec<_> = columns
        .iter()
        .map(|(column, _)| column)
        .filter(|column| column.to_lowercase() == name.to_lowercase())
        .collect();
    alike.sort_unstable();
    alike.dedup();
    match alike.as_slice() {
        [column] => Ok((*column).clone()),
        // A column that no sample has may be one that the program makes.
        _ if outputs.iter().any(may_have_columns) => Ok(name.to_owned()),
        _ => Err(format!(
            "no sample has a column {name:?}, and no output is a table"
        )),
    }
}

fn may_have_columns(output: &Output) -> bool {
    let is_table = |format| {
        matches!(
            format,
            FileFormat::CSV
                | FileFormat::TSV
                | FileFormat::JSON
                | FileFormat::JSONLines
                | FileFormat::Parquet
                | FileFormat::Arrow
                | FileFormat::Excel
        )
    };
    output.type_ == ValueType::File && output.format.is_some_and(is_table)
}

/// Samples that have the column of a check, by name.
#[must_use]
pub fn bound_samples(check: &ColumnCheck, profiles: &[SampleProfile]) -> Vec<String> {
    let has_column = |profile: &&SampleProfile| {
        profile
            .tables()
            .any(|table| table.all_columns().any(|column| column.name == check.column))
    };
    profiles
        .iter()
        .filter(has_column)
        .map(|profile| profile.name.clone())
        .collect()
}

impl fmt::Display for CheckKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::GreaterThan => "greater_than",
            Self::GreaterOrEqual => "greater_or_equal",
            Self::LessThan => "less_than",
            Self::LessOrEqual => "less_or_equal",
            Self::Between => "between",
            Self::Regex => "regex",
            Self::IsIn => "is_in",
            Self::NotNull => "not_null",
            Self::None => "none",
        })
    }
}

#[cfg(test)]
mod tests;
