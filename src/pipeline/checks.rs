//! Constraints as checks on columns (S18).

use serde::{Deserialize, Serialize};

/// A check on the values of one column. A missing value satisfies every check but `NotNull`.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct ColumnCheck {
    /// Position of the constraint in `spec.constraints`, counted from 0.
    pub constraint: usize,
    /// Column that the check looks at.
    pub column: String,
    /// What must hold.
    pub rule: Rule,
}

/// What must hold for a value. Numbers compare as numbers, ISO dates as dates.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub enum Rule {
    /// Greater than the bound.
    GreaterThan(f64),
    /// Greater than or equal to the bound.
    GreaterOrEqual(f64),
    /// Less than the bound.
    LessThan(f64),
    /// Less than or equal to the bound.
    LessOrEqual(f64),
    /// Between two bounds, both allowed.
    Between(f64, f64),
    /// The whole value matches a regular expression.
    Regex(String),
    /// One of these values.
    IsIn(Vec<String>),
    /// There is a value.
    NotNull,
}
