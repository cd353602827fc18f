//! Rules for the values of a column.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::value_type::ValueType;

/// A check on the values of one column. A missing value satisfies every check but `NotNull`.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct ColumnCheck {
    /// Position of the constraint in `spec.constraints`, counted from 0; of no meaning for a rule of samples.
    pub constraint: usize,
    /// Column that is checked.
    pub column: String,
    /// Rule that must hold.
    pub rule: Rule,
    /// True where a sample has the column.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_samples: bool,
    /// Outputs that it does not speak of, although they have a column of the name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub except: Vec<String>,
}

impl ColumnCheck {
    /// A check of a column, of whatever file has it.
    #[must_use]
    pub fn new(constraint: usize, column: impl Into<String>, rule: Rule) -> Self {
        Self {
            constraint,
            column: column.into(),
            rule,
            in_samples: false,
            except: Vec::new(),
        }
    }

    /// Reports whether it speaks of this output.
    #[must_use]
    pub fn holds_of(&self, output: &str) -> bool {
        self.except.iter().all(|other| other != output)
    }
}

/// Rule for a value. Numbers compare as numbers, ISO dates as dates.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub enum Rule {
    /// Greater than the bound.
    GreaterThan(Bound),
    /// Greater than or equal to the bound.
    GreaterOrEqual(Bound),
    /// Less than the bound.
    LessThan(Bound),
    /// Less than or equal to the bound.
    LessOrEqual(Bound),
    /// Between two bounds of one kind, both allowed.
    Between(Bound, Bound),
    /// The whole value matches a regular expression.
    Regex(String),
    /// One of these values.
    IsIn(Vec<String>),
    /// There is a value.
    NotNull,
    /// The value reads as one of this type, dates without a time as `Datetime`; any does as `String`. A rule of samples: no
    /// constraint becomes one.
    OfType(ValueType),
}

/// Bound that a value is compared with.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(untagged)]
pub enum Bound {
    /// A whole number, exact.
    Int(i64),
    /// Any other finite number.
    Float(f64),
    /// An ISO date (`2026-01-31`), which stands for its whole day, or date and time.
    Moment(String),
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(value) => value.fmt(f),
            // `1e308`, not 309 digits.
            Self::Float(value) => write!(f, "{value:?}"),
            Self::Moment(text) => f.write_str(text),
        }
    }
}

impl From<i64> for Bound {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<f64> for Bound {
    fn from(value: f64) -> Self {
        Self::Float(value)
    }
}
