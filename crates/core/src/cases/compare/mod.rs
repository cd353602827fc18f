//! Compares what a program wrote with what a case expects: both are read into values, by the type of the output.

mod matching;
mod scalar;
mod shape;
mod table;
mod value;
mod wanted;

use std::borrow::Cow;

use bigdecimal::BigDecimal;

use crate::bounds::cut;
use codegen_api::case::{Check, Expectation};
use codegen_api::values::ValueType;

use self::matching::unmatched;
pub use self::scalar::{Tolerance, number, same};
pub use self::shape::OutputShape;
use self::table::{Table, delimiter_of_actual, other_separator};
use self::value::Value;
use self::wanted::{WantedValue, lines, typed};

/// Bytes of an expected or actual value that a message shows.
const SHOWN: usize = 300;

/// An expected value, and what is there instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// Expected value, in words.
    pub expected: String,
    /// Value of the program, in words.
    pub actual: String,
}

impl Mismatch {
    fn new(expected: impl Into<String>, actual: impl Into<String>) -> Self {
        Self {
            expected: cut(&expected.into(), SHOWN),
            actual: cut(&actual.into(), SHOWN),
        }
    }

    fn unless(holds: bool, expected: &str, actual: &str) -> Result<(), Self> {
        if holds {
            Ok(())
        } else {
            Err(Self::new(expected, actual))
        }
    }
}

/// Compares the text of an output with one expectation; `expected` is its value with references resolved.
pub fn compare(
    shape: OutputShape,
    expectation: &Expectation,
    expected: &str,
    text: &str,
) -> Result<(), Mismatch> {
    let Expectation { check, at, .. } = expectation;
    let wanted = WantedValue::read(shape, *check, at, expected).map_err(|why| Mismatch::new(why, text))?;
    let asked = Asked {
        shape,
        expectation,
        expected,
        tolerance: Tolerance::parse(&expectation.tolerance).unwrap_or_default(),
    };
    match shape {
        OutputShape::Table(declared) => {
            let whole = matches!(wanted, WantedValue::Table(_)).then_some(expected);
            let used = delimiter_of_actual(text, declared, whole);
            asked.table(&wanted, text, used).map_err(|mismatch| Mismatch {
                actual: other_separator(text, used).unwrap_or(mismatch.actual),
                ..mismatch
            })
        }
        OutputShape::Json | OutputShape::JsonLines => {
            let document = Value::parse(text, shape == OutputShape::JsonLines)
                .map_err(|error| Mismatch::new("JSON", format!("text that is none ({error})")))?;
            let part = document
                .at(at)
                .ok_or_else(|| Mismatch::new(format!("a value at {at}"), document.to_string()))?;
            asked.value(&wanted, part, &part.to_string())
        }
        OutputShape::Value(_) => {
            let line = text.trim_end_matches(['\n', '\r']);
            asked.value(&wanted, &read(shape, *check, line), line)
        }
        OutputShape::Text => asked.value(&wanted, &read(shape, *check, text), text),
        OutputShape::Bytes => Err(Mismatch::new(expected, "bytes that are not compared")),
    }
}

/// The columns or keys that an expectation states of a whole output, or of a list or record in it; `None` where it states none.
pub(crate) fn stated_names(shape: OutputShape, expectation: &Expectation) -> Option<Vec<String>> {
    let Expectation { check, at, value, .. } = expectation;
    match WantedValue::read(shape, *check, at, value).ok()? {
        WantedValue::Names(names) => Some(names),
        WantedValue::Table(table) => Some(table.columns),
        // An empty list says nothing of what its records are.
        WantedValue::Value(values) if at.is_empty() && values[0] != Value::List(Vec::new()) => {
            Some(values[0].keys()?.into_iter().map(str::to_owned).collect())
        }
        _ => None,
    }
}

/// Reads a text or a single value as a check takes it.
fn read(shape: OutputShape, check: Check, text: &str) -> Value {
    match (check, shape) {
        (Check::Contains | Check::Lacks, _) => Value::text(&unix_lines(text)),
        (Check::Rows, _) => Value::List(text.lines().map(Value::text).collect()),
        (Check::Between, OutputShape::Value(ValueType::String)) => Value::cell(text.trim()),
        (_, OutputShape::Value(type_)) => typed(type_, text).unwrap_or_else(|| Value::cell(text.trim())),
        _ => lines(text),
    }
}

/// An expectation of an output of this shape.
struct Asked<'a> {
    shape: OutputShape,
    expectation: &'a Expectation,
    expected: &'a str,
    tolerance: Tolerance,
}

impl Asked<'_> {
    fn table(&self, wanted: &WantedValue, text: &str, delimiter: u8) -> Result<(), Mismatch> {
        let table = Table::read(text, delimiter)
            .map_err(|error| Mismatch::new("a table", format!("text that is none ({error})")))?;
        let Expectation { check, at, .. } = self.expectation;
        let no_value = || Mismatch::new(format!("a value at {at}"), text);
        let part = match (wanted, check) {
            (WantedValue::Table(expected), check) => {
                return expected.compare(&table, *check == Check::SameRows, &self.tolerance);
            }
            (WantedValue::Names(names), _) => {
                let columns = table.columns.join(",");
                return Mismatch::unless(*names == table.columns, self.expected, &columns);
            }
            (WantedValue::Count(_), _) => Value::List(table.rows),
            (WantedValue::Part { .. }, _) if at.is_empty() => {
                return self.value(wanted, &Value::text(&unix_lines(text)), text);
            }
            (_, Check::Equals | Check::Between) => table.cell(at).ok_or_else(no_value)?,
            _ => table.cells(at).ok_or_else(no_value)?,
        };
        self.value(wanted, &part, &part.line())
    }

    /// Compares a value, which is shown as `shown`.
    fn value(&self, wanted: &WantedValue, actual: &Value, shown: &str) -> Result<(), Mismatch> {
        let words = match self.expectation.check {
            Check::Lacks => "no ",
            Check::Between => "a number between ",
            Check::Total => "a total of ",
            _ => "",
        };
        let found = match wanted {
            WantedValue::Count(_) => actual.count().map(|count| count.to_string()),
            WantedValue::Names(_) => actual.keys().map(|keys| keys.join(",")),
            WantedValue::Total(_) => sum(actual).map(|sum| sum.normalized().to_plain_string()),
            _ => None,
        };
        Mismatch::unless(
            self.holds(wanted, actual),
            &format!("{words}{}", self.expected),
            found.as_deref().unwrap_or(shown),
        )
    }

    /// Says if a value is what is wanted. One of a type that cannot be, as a number that should have elements, is not.
    fn holds(&self, wanted: &WantedValue, actual: &Value) -> bool {
        match wanted {
            WantedValue::Value(values) => self.is_one_of(values, actual),
            WantedValue::Count(count) => actual.count() == Some(*count),
            // The keys of a JSON object have no order, and none stands twice.
            WantedValue::Names(names) => actual.keys().is_some_and(|keys| {
                let is_named = |key: &&str| names.iter().any(|name| name == key);
                keys.len() == names.len() && keys.iter().all(is_named)
            }),
            WantedValue::Part { values, word } => {
                self.stands(values, word, actual) == Some(self.expectation.check == Check::Contains)
            }
            WantedValue::Between(low, high) => actual
                .number()
                .is_some_and(|number| low <= number && number <= high),
            WantedValue::Order { is_descending } => {
                let is_table = matches!(self.shape, OutputShape::Table(_));
                let list = actual.list();
                list.is_some_and(|list| are_in_order(list, is_table, *is_descending))
            }
            WantedValue::Total(total) => sum(actual).is_some_and(|sum| self.tolerance.covers(total, &sum)),
            // Compared as a whole, which no other shape has.
            WantedValue::Table(_) => false,
        }
    }

    fn is_one_of(&self, values: &[Value], actual: &Value) -> bool {
        let is_same = |one: &Value, other: &Value| one.is_same(other, &self.tolerance);
        values.iter().any(|wanted| match (wanted, actual) {
            (Value::List(wanted), Value::List(actual)) if self.expectation.check == Check::SameRows => {
                unmatched(wanted, actual, Value::key, is_same).is_none()
            }
            _ => is_same(wanted, actual),
        })
    }

    /// Searches a value for another one or a word; of nothing it is not said what it lacks.
    fn stands(&self, values: &[Value], word: &str, actual: &Value) -> Option<bool> {
        Some(match actual {
            Value::List(elements) => elements.iter().any(|element| self.is_one_of(values, element)),
            Value::Record(members) => members.iter().any(|(name, _)| name == word),
            Value::Text(text) => text.text.contains(word),
            Value::Number(_) | Value::Bool(_) => self.is_one_of(values, actual),
            Value::Null => return None,
        })
    }
}

/// Adds the numbers of a list. Empty cells add nothing, as in a sum of pandas.
fn sum(list: &Value) -> Option<BigDecimal> {
    let values = list.list()?.iter().filter(|value| **value != Value::Null);
    values.map(|value| number_of(value).cloned()).sum()
}

fn number_of(value: &Value) -> Option<&BigDecimal> {
    value.number().filter(|_| matches!(value, Value::Number(_)))
}

/// Says if values are in order: numbers by value, else texts, of which those in a table may be numbers too. What is missing stands last,
/// as pandas writes it.
fn are_in_order(values: &[Value], is_table: bool, is_descending: bool) -> bool {
    let missing = values.iter().rev().take_while(|value| **value == Value::Null);
    let mut values: Vec<&Value> = values[..values.len() - missing.count()].iter().collect();
    if is_descending {
        values.reverse();
    }
    let numbers: Option<Vec<&BigDecimal>> = values.iter().map(|value| number_of(value)).collect();
    if let Some(numbers) = numbers {
        return numbers.is_sorted();
    }
    let is_text = |value: &&Value| matches!(value, Value::Text(_));
    // Numbers with gaps in between are neither numbers nor texts in order.
    let are_texts = if is_table {
        values.iter().any(is_text)
    } else {
        values.iter().all(is_text)
    };
    are_texts && values.iter().map(|value| value.line()).is_sorted()
}

/// A text whose lines end as they do on Unix.
fn unix_lines(text: &str) -> Cow<'_, str> {
    if text.contains('\r') {
        Cow::Owned(text.replace("\r\n", "\n"))
    } else {
        Cow::Borrowed(text)
    }
}

#[cfg(test)]
mod tests;
