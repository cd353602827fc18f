//! A check under way: it counts values and violations.

use std::cmp::Ordering;

use regex::Regex;

use crate::checks::rule::{Bound, ColumnCheck, Rule};
use crate::value_type::ValueType;

use crate::DataError;
use crate::checks::value::{CheckedValue, Limit, Number, with_point};
use crate::checks::{CheckOutcome, CheckResult, Violation};
use crate::column::cell::{Cell, ValueKind, null_spelling};
use crate::rows::cut_with_marker;

const LISTED_VIOLATIONS: usize = 5;
const LONGEST_VALUE: usize = 80;

const AT_LEAST: &[Ordering] = &[Ordering::Greater, Ordering::Equal];
const AT_MOST: &[Ordering] = &[Ordering::Less, Ordering::Equal];

/// Place of a value in its file.
#[derive(Clone, Copy, Debug)]
pub(super) struct ValuePlace {
    /// Number of its record, counted from 1.
    pub record: u64,
    /// Line of its record (of a JSON document: its number), counted from 1.
    pub line: u64,
}

/// A check under way: it counts values and violations.
pub(super) struct RunningCheck<'c> {
    /// The check.
    pub check: &'c ColumnCheck,
    test: Test<'c>,
    /// True where the file has its column.
    pub is_bound: bool,
    decimal: u8,
    values: u64,
    violations: u64,
    first: Vec<Violation>,
}

enum Test<'c> {
    /// Each limit with the orderings that a value may have to it.
    Limits(Vec<(Limit, &'static [Ordering])>),
    Regex(Regex),
    IsIn(&'c [String], Vec<CheckedValue<'c>>),
    NotNull,
    OfType(ValueType),
}

impl<'c> RunningCheck<'c> {
    /// A check that has seen nothing yet.
    pub(super) fn new(check: &'c ColumnCheck) -> Result<Self, DataError> {
        let fault = |reason| DataError::Check {
            column: check.column.clone(),
            reason,
        };
        let limits = |bounds: &[(&Bound, &'static [Ordering])]| {
            let limits = bounds.iter().map(|(bound, allowed)| {
                let limit =
                    Limit::of(bound).ok_or_else(|| fault(format!("the bound {bound} is no ISO date")));
                limit.map(|limit| (limit, *allowed))
            });
            limits.collect::<Result<_, _>>().map(Test::Limits)
        };
        let test = match &check.rule {
            Rule::GreaterThan(bound) => limits(&[(bound, &[Ordering::Greater])])?,
            Rule::GreaterOrEqual(bound) => limits(&[(bound, AT_LEAST)])?,
            Rule::LessThan(bound) => limits(&[(bound, &[Ordering::Less])])?,
            Rule::LessOrEqual(bound) => limits(&[(bound, AT_MOST)])?,
            Rule::Between(low, high) => limits(&[(low, AT_LEAST), (high, AT_MOST)])?,
            Rule::Regex(pattern) => Test::Regex(compile(pattern).map_err(fault)?),
            Rule::IsIn(allowed) => {
                let typed = allowed.iter().map(|text| CheckedValue::of(text));
                Test::IsIn(
                    allowed,
                    // Text is compared as it stands; only numbers, dates and truth values have several spellings.
                    typed
                        .filter(|value| !matches!(value, CheckedValue::Text(_)))
                        .collect(),
                )
            }
            Rule::NotNull => Test::NotNull,
            Rule::OfType(type_) => Test::OfType(*type_),
        };
        Ok(Self {
            check,
            test,
            is_bound: false,
            decimal: b'.',
            values: 0,
            violations: 0,
            first: Vec::new(),
        })
    }

    /// Says what stands before the decimals of a number, `.` or `,`. Allowed values may be written either way.
    pub(super) fn set_decimal(&mut self, decimal: u8) {
        self.decimal = decimal;
        if let Test::IsIn(allowed, typed) = &mut self.test {
            let numbers = allowed
                .iter()
                .filter_map(|text| Number::of(&with_point(text, decimal)));
            typed.extend(numbers.map(CheckedValue::Number));
        }
    }

    /// Checks a cell of a delimited file, where some spellings mean that there is no value.
    pub(super) fn check_cell(&mut self, place: ValuePlace, text: &str) {
        // In a CSV an empty cell, `NA` and others are no values: only `NotNull` minds them.
        if null_spelling(text).is_some() {
            self.judge(place, text, matches!(self.test, Test::NotNull));
        } else {
            self.check_value(place, Some(text));
        }
    }

    /// Checks the value of a record; `None` where it is missing.
    pub(super) fn check_value(&mut self, place: ValuePlace, value: Option<&str>) {
        let is_broken = value.map_or(matches!(self.test, Test::NotNull), |text| !self.holds(text));
        self.judge(place, value.unwrap_or(""), is_broken);
    }

    /// Checks the value of a row of a sheet, which is named beside the value where it is not the only one.
    pub(super) fn check_in_sheet(&mut self, sheet: Option<&str>, place: ValuePlace, value: Option<&str>) {
        let before = self.first.len();
        self.check_value(place, value);
        if let (Some(sheet), Some(violation)) = (sheet, self.first.get_mut(before)) {
            violation.sheet = Some(sheet.to_owned());
        }
    }

    fn judge(&mut self, place: ValuePlace, text: &str, is_broken: bool) {
        self.values += 1;
        if !is_broken {
            return;
        }
        self.violations += 1;
        if self.first.len() < LISTED_VIOLATIONS {
            self.first.push(Violation {
                record: place.record,
                line: place.line,
                value: cut_with_marker(text, LONGEST_VALUE),
                sheet: None,
            });
        }
    }

    fn holds(&self, text: &str) -> bool {
        match &self.test {
            Test::Limits(limits) => {
                let text = with_point(text, self.decimal);
                limits.iter().all(|(limit, allowed)| {
                    limit.compare(&text).is_some_and(|order| allowed.contains(&order))
                })
            }
            Test::Regex(pattern) => pattern.is_match(text),
            Test::IsIn(allowed, typed) => {
                let is_same = || {
                    let text = with_point(text, self.decimal);
                    let value = CheckedValue::of(&text);
                    typed.iter().any(|other| value.is_same(*other))
                };
                allowed.iter().any(|other| other == text) || (!typed.is_empty() && is_same())
            }
            Test::NotNull => true,
            Test::OfType(type_) => is_of_type(text, self.decimal, *type_),
        }
    }

    /// Returns the result of the check.
    pub(super) fn finish(self) -> CheckResult {
        let Self {
            check,
            values,
            violations,
            first,
            is_bound,
            ..
        } = self;
        let outcome = if is_bound {
            CheckOutcome::Checked {
                values,
                violations,
                first,
            }
        } else {
            CheckOutcome::ColumnMissing
        };
        CheckResult {
            check: check.clone(),
            outcome,
        }
    }
}

/// Reports whether a value reads as one of a type, as the profile of a sample sees it.
fn is_of_type(text: &str, decimal: u8, type_: ValueType) -> bool {
    let kind = Cell::with_decimal(text, decimal).kind();
    match type_ {
        ValueType::Int => kind == Some(ValueKind::Int),
        ValueType::Float => matches!(kind, Some(ValueKind::Int | ValueKind::Float)),
        ValueType::Bool => kind == Some(ValueKind::Bool),
        ValueType::Datetime => matches!(kind, Some(ValueKind::Date | ValueKind::Datetime)),
        ValueType::String | ValueType::Timedelta | ValueType::File | ValueType::Dir => true,
    }
}

/// Longest pattern, bytes: what a parsed class takes is a thousand times its text.
const MOST_PATTERN_BYTES: usize = 1_024;

/// Compiles a pattern that the whole value must match; the error says what is wrong with it.
pub(super) fn compile(pattern: &str) -> Result<Regex, String> {
    if pattern.len() > MOST_PATTERN_BYTES {
        return Err(format!(
            "the pattern has {} bytes, and at most {MOST_PATTERN_BYTES} are used: shorten it",
            pattern.len()
        ));
    }
    regex::RegexBuilder::new(&format!("^(?:{pattern})$"))
        // A pattern of the model is compiled in the operator: the bound keeps repetitions of repetitions from its memory.
        .size_limit(1 << 20)
        .build()
        .map_err(|error| {
            format!(
                "the pattern {pattern:?} does not compile: {}",
                error.to_string().lines().last().unwrap_or("").trim()
            )
        })
}
