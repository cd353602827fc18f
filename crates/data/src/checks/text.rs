//! Rules read from texts, and checks in words.

use std::cmp::Ordering;

use crate::checks::rule::{Bound, ColumnCheck, Rule};
use crate::checks::running::compile;
use crate::checks::value::{Limit, Number, moment};
use crate::value_type::ValueType;

/// Reads a bound: a number or an ISO date; the error says that it is neither.
pub fn bound_of(text: &str) -> Result<Bound, String> {
    match Number::of(text) {
        Some(Number::Int(value)) => Ok(i64::try_from(value).map_or(Bound::Float(value as f64), Bound::Int)),
        Some(Number::Float(value)) => Ok(Bound::Float(value)),
        None if moment(text).is_some() => Ok(Bound::Moment(text.trim().to_owned())),
        None => Err(format!("the bound {text:?} is neither a number nor an ISO date")),
    }
}

/// The rule that values lie between two bounds; the error says that none can, or that the bounds are of two kinds.
pub fn between(low: Bound, high: Bound) -> Result<Rule, String> {
    let order = Limit::of(&high).and_then(|limit| limit.compare(&low.to_string()));
    match order {
        Some(Ordering::Less | Ordering::Equal) => Ok(Rule::Between(low, high)),
        Some(Ordering::Greater) => Err(format!("no value lies between {low} and {high}")),
        None => Err(format!("{low} and {high} are not bounds of one kind")),
    }
}

/// The rule that whole values match a pattern; the error says what is wrong with it.
pub fn regex(pattern: &str) -> Result<Rule, String> {
    compile(pattern).map(|_| Rule::Regex(pattern.to_owned()))
}

/// A check in words (`body_mass_g between 2000 and 8000`).
#[must_use]
pub fn in_words(check: &ColumnCheck) -> String {
    let column = &check.column;
    match &check.rule {
        Rule::GreaterThan(bound) => format!("{column} greater than {bound}"),
        Rule::GreaterOrEqual(bound) => format!("{column} greater than or equal to {bound}"),
        Rule::LessThan(bound) => format!("{column} less than {bound}"),
        Rule::LessOrEqual(bound) => format!("{column} less than or equal to {bound}"),
        Rule::Between(low, high) => format!("{column} between {low} and {high}"),
        Rule::Regex(pattern) => format!("{column} matches {pattern}"),
        Rule::IsIn(values) => format!("{column} one of {}", values.join(", ")),
        Rule::NotNull => format!("{column} not missing"),
        Rule::OfType(type_) => format!("{column} is {}", type_in_words(*type_)),
    }
}

const fn type_in_words(type_: ValueType) -> &'static str {
    match type_ {
        ValueType::Int => "a whole number",
        ValueType::Float => "a number",
        ValueType::Bool => "true or false",
        ValueType::Datetime => "an ISO date or time",
        ValueType::String | ValueType::Timedelta | ValueType::File | ValueType::Dir => "any text",
    }
}

#[cfg(test)]
mod tests;
