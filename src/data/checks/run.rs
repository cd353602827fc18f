//! One check while it looks at values.

use regex::Regex;

use crate::pipeline::checks::{ColumnCheck, Rule};

use crate::data::DataError;
use crate::data::checks::{CheckOutcome, CheckResult, Violation};
use crate::data::column::cell::{null_spelling, parse_decimal, parse_number};
use crate::data::rows::cut_with_marker;

const LISTED_VIOLATIONS: usize = 5;
const LONGEST_VALUE: usize = 80;

/// A check while it looks at values.
pub struct Run<'c> {
    /// The check.
    pub check: &'c ColumnCheck,
    test: Test<'c>,
    /// Whether the file has its column.
    pub is_bound: bool,
    /// What stands before the decimals of a number, `.` or `,`.
    pub decimal: u8,
    values: u64,
    violations: u64,
    first: Vec<Violation>,
}

enum Test<'c> {
    Number(Box<dyn Fn(f64) -> bool>),
    Regex(Regex),
    IsIn(&'c [String]),
    NotNull,
}

impl<'c> Run<'c> {
    /// A check that has seen nothing yet.
    pub fn new(check: &'c ColumnCheck) -> Result<Self, DataError> {
        let test = match &check.rule {
            Rule::GreaterThan(bound) => number(*bound, |value, bound| value > bound),
            Rule::GreaterOrEqual(bound) => number(*bound, |value, bound| value >= bound),
            Rule::LessThan(bound) => number(*bound, |value, bound| value < bound),
            Rule::LessOrEqual(bound) => number(*bound, |value, bound| value <= bound),
            Rule::Between(low, high) => {
                let (low, high) = (*low, *high);
                Test::Number(Box::new(move |value| (low..=high).contains(&value)))
            }
            Rule::Regex(pattern) => Test::Regex(compile(pattern).map_err(|reason| DataError::Check {
                column: check.column.clone(),
                reason,
            })?),
            Rule::IsIn(allowed) => Test::IsIn(allowed),
            Rule::NotNull => Test::NotNull,
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

    /// Looks at the value of a record; `None` where it is missing.
    pub fn look(&mut self, line: u64, value: Option<&str>) {
        self.values += 1;
        let present = value.filter(|text| null_spelling(text).is_none());
        if self.holds(present) {
            return;
        }
        self.violations += 1;
        if self.first.len() < LISTED_VIOLATIONS {
            self.first.push(Violation {
                line,
                value: cut_with_marker(value.unwrap_or(""), LONGEST_VALUE),
            });
        }
    }

    fn holds(&self, value: Option<&str>) -> bool {
        let Some(text) = value else {
            return !matches!(self.test, Test::NotNull);
        };
        match &self.test {
            Test::Number(holds) => parse_decimal(text, self.decimal).is_some_and(holds),
            Test::Regex(pattern) => pattern.is_match(text),
            Test::IsIn(allowed) => allowed
                .iter()
                .any(|other| is_same(text.trim(), other.trim(), self.decimal)),
            Test::NotNull => true,
        }
    }

    /// What it found.
    pub fn finish(self) -> CheckResult {
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

fn number(bound: f64, holds: fn(f64, f64) -> bool) -> Test<'static> {
    Test::Number(Box::new(move |value| holds(value, bound)))
}

/// Equal as texts or as numbers (`1` and `1.0`, in a file with decimal commas `1,0`).
fn is_same(text: &str, other: &str, decimal: u8) -> bool {
    text == other
        || matches!((parse_decimal(text, decimal), parse_number(other)), (Some(a), Some(b)) if a.total_cmp(&b).is_eq())
}

/// Compiles a pattern that the whole value must match; the error says what is wrong with it.
pub fn compile(pattern: &str) -> Result<Regex, String> {
    regex::RegexBuilder::new(&format!("^(?:{pattern})$"))
        .size_limit(1 << 20)
        .build()
        .map_err(|error| {
            format!(
                "the pattern {pattern:?} does not compile: {}",
                error.to_string().lines().last().unwrap_or("").trim()
            )
        })
}
