//! Expectations, read once: one that cannot be read is a fault of the case, and no program answers for it.

use bigdecimal::BigDecimal;

use super::scalar::{Scalar, Tolerance, moment, number, seconds};
use super::shape::OutputShape;
use super::table::{Table, delimiter_of_expected, splits};
use super::unix_lines;
use super::value::Value;
use crate::bounds::cut;
use codegen_api::case::{Check, Expectation};
use codegen_api::values::ValueType;
use codegen_data::scalar::truth;

/// Bytes of a value in a sentence.
const SHOWN: usize = 120;

/// The statement of an expectation.
pub(super) enum WantedValue {
    /// One of these values: a text may stand for several.
    Value(Vec<Value>),
    /// All of a table.
    Table(Table),
    /// So many rows, elements or lines.
    Count(usize),
    /// Columns or keys.
    Names(Vec<String>),
    /// One of these values as a cell or element, or a word as a key or in a text.
    Part { values: Vec<Value>, word: String },
    /// A number from one to another.
    Between(BigDecimal, BigDecimal),
    /// Values in order.
    Order { is_descending: bool },
    /// Numbers that add up to this one.
    Total(BigDecimal),
}

impl OutputShape {
    /// Says why an expectation cannot be read as one of such an output; `None` when it can. `refers_to` is the output whose value it takes.
    #[must_use]
    pub fn refuses(self, expectation: &Expectation, refers_to: Option<&str>) -> Option<String> {
        let (check, at, value) = (expectation.check, &expectation.at, &expectation.value);
        let (output, tolerance) = (&expectation.output, &expectation.tolerance);
        let is_document = matches!(self, Self::Json | Self::JsonLines);
        let is_searched = matches!(check, Check::Contains | Check::Lacks) && at.is_empty() && !is_document;
        if Tolerance::parse(tolerance).is_none() {
            return Some(format!("the tolerance {tolerance} is no number"));
        }
        self.place_problem(expectation).or_else(|| match refers_to {
            Some(name) if name == output => Some(format!(
                "{output} is compared with itself: state what must stand in it"
            )),
            Some(_) => None,
            None if is_searched && value.is_empty() => Some(format!(
                "every text contains an empty one: give check {check:?} a value"
            )),
            None => WantedValue::read(self, check, at, value).err(),
        })
    }

    fn place_problem(self, expectation: &Expectation) -> Option<String> {
        let Expectation {
            check, at, output, ..
        } = expectation;
        let fits = match (self, check) {
            (Self::Bytes, _) => {
                return Some(format!(
                    "{output} is neither text nor a table: nothing of it is compared"
                ));
            }
            (Self::Value(_) | Self::Text, _) if !at.is_empty() => {
                return Some(format!("{output} is one value: leave `at` empty"));
            }
            (Self::Value(_), Check::Equals | Check::Contains | Check::Lacks | Check::Between)
            | (Self::Text, Check::Equals | Check::Rows | Check::Contains | Check::Lacks) => true,
            (Self::Value(_) | Self::Text, _) => false,
            (Self::Table(_), Check::Rows | Check::Columns) => at.is_empty(),
            (Self::Table(_), Check::Between) => return cell_problem(at),
            (Self::Table(_), Check::Equals) if !at.is_empty() => return cell_problem(at),
            (Self::Table(_), Check::Ordered | Check::Total) => !at.is_empty(),
            (Self::Table(_), _) => true,
            (Self::Json | Self::JsonLines, _) => at.is_empty() || at.starts_with('/'),
        };
        (!fits).then(|| format!("check {check:?} with `at` {at:?} does not fit {output}"))
    }
}

/// Says why this is no cell of a table. The name of a column may hold slashes.
fn cell_problem(at: &str) -> Option<String> {
    let is_row = |row: &str| row.parse().is_ok_and(|number: usize| number > 0) || row.contains('=');
    if splits(at).any(|(row, column)| is_row(row) && !column.is_empty()) {
        return None;
    }
    let why = match at.split_once('/') {
        Some((row, _)) if row.parse::<usize>() == Ok(0) => "rows count from 1",
        Some(_) => "a row is its number from 1, or COLUMN=VALUE",
        None => "a cell is ROW/COLUMN, as in 1/total or species=Adelie/total",
    };
    Some(format!("`at` {at:?} is no cell: {why}"))
}

impl WantedValue {
    /// Reads what is stated of the part at a place of such an output; the error says why it cannot be.
    pub(super) fn read(shape: OutputShape, check: Check, at: &str, text: &str) -> Result<Self, String> {
        let trimmed = text.trim();
        let no_value = || format!("{:?} is no value of check {check:?}", cut(text, SHOWN));
        Ok(match (check, shape) {
            (Check::Rows, _) => Self::Count(trimmed.parse().map_err(|_| no_value())?),
            (Check::Between, _) => between(text)?,
            (Check::Total, _) => Self::Total(number(trimmed).ok_or_else(no_value)?),
            (Check::Columns, _) if trimmed.is_empty() => return Err(no_value()),
            (Check::Columns, _) => Self::Names(list(text)),
            (Check::Ordered, _) => Self::Order {
                is_descending: match trimmed {
                    "ascending" => false,
                    "descending" => true,
                    _ => return Err(no_value()),
                },
            },
            (Check::Contains | Check::Lacks, _) => part(shape, text),
            (Check::Equals | Check::SameRows, OutputShape::Table(declared)) if at.is_empty() => {
                Self::Table(table(text, declared)?)
            }
            (Check::SameRows, OutputShape::Table(_)) => Self::Value(cells(text)),
            (Check::Equals | Check::SameRows, OutputShape::Json | OutputShape::JsonLines) => {
                Self::Value(documents(text, at, shape == OutputShape::JsonLines)?)
            }
            (Check::Equals | Check::SameRows, OutputShape::Value(type_)) => {
                Self::Value(vec![typed(type_, text).ok_or_else(no_value)?])
            }
            (Check::Equals, OutputShape::Table(_)) => Self::Value(vec![Value::cell(text)]),
            (Check::Equals | Check::SameRows, OutputShape::Text | OutputShape::Bytes) => {
                Self::Value(vec![lines(text)])
            }
        })
    }
}

/// A single value of a type; `None` where the text is none.
pub(super) fn typed(type_: ValueType, text: &str) -> Option<Value> {
    let one = text.trim();
    let is_one = match type_ {
        ValueType::Int => number(one).is_some_and(|number| number.is_integer()),
        ValueType::Float => number(one).is_some(),
        ValueType::Bool => truth(one).is_some(),
        ValueType::Datetime => moment(one).is_some(),
        ValueType::Timedelta => return seconds(one).map(|seconds| Value::cell(&seconds.to_plain_string())),
        ValueType::String | ValueType::File | ValueType::Dir => {
            return Some(Value::text(unix_lines(text).trim_end()));
        }
    };
    is_one.then(|| Value::cell(one.strip_prefix('+').unwrap_or(one)))
}

/// A text without the white space at the ends of its lines; one of a single line may be a number or a moment.
pub(super) fn lines(text: &str) -> Value {
    let lines: Vec<&str> = text.trim_end().lines().map(str::trim_end).collect();
    Value::cell(&lines.join("\n"))
}

fn table(text: &str, declared: Option<u8>) -> Result<Table, String> {
    let table = Table::read(text, delimiter_of_expected(text, declared))
        .map_err(|error| format!("the expected table cannot be read: {error}"))?;
    // A lone line with numbers is a row; above rows they may be names (`2025`, `2026`).
    if table.rows.is_empty() && table.columns.iter().any(|name| number(name).is_some()) {
        return Err("the first line of the expected table must name its columns".to_owned());
    }
    Ok(table)
}

/// A list of cells; an empty one is no cell, or one that is empty.
fn cells(text: &str) -> Vec<Value> {
    let listed = Value::List(list(text).iter().map(|cell| Value::cell(cell)).collect());
    let nothing = text.trim().is_empty().then(|| Value::List(vec![Value::Null]));
    std::iter::once(listed).chain(nothing).collect()
}

/// The values that a text stands for in JSON; that of JSON Lines is a list, or one value a line.
fn documents(text: &str, at: &str, is_lines: bool) -> Result<Vec<Value>, String> {
    let word = text.trim();
    let parsed = Value::parse(text, false);
    let by_line = || Value::parse(text, true).ok().filter(|_| is_lines);
    match parsed.or_else(|error| by_line().ok_or(error)) {
        Err(error) if is_meant_as_json(text, at) => {
            Err(format!("{:?} is no JSON ({error})", cut(text, SHOWN)))
        }
        Ok(list @ Value::List(_)) => Ok(vec![list]),
        // One expected line is as much a document as several.
        Ok(line) if is_lines && at.is_empty() => Ok(vec![Value::List(vec![line])]),
        Ok(record @ Value::Record(_)) => Ok(vec![record]),
        // A text of exactly these characters, too: the case has no way to see how the program writes it.
        Ok(scalar) => Ok(vec![scalar, Value::text(word)]),
        // A bare word is expected text, and a case need not quote it.
        Err(_) => Ok(vec![Value::Text(Scalar::read(text)), Value::text(word)]),
    }
    .map(|mut values| {
        values.extend(truth(word).map(Value::Bool));
        values
    })
}

/// Recognises a value that is meant as an object or array. At a place in a document a text may well begin with a bracket.
fn is_meant_as_json(value: &str, at: &str) -> bool {
    let characters = value.chars().filter(|character| !character.is_whitespace());
    let start: String = characters.take(2).collect();
    at.is_empty() && start.starts_with(['{', '[']) || matches!(&*start, "{\"" | "[\"" | "[{" | "[[")
}

fn part(shape: OutputShape, text: &str) -> WantedValue {
    if !matches!(shape, OutputShape::Json | OutputShape::JsonLines) {
        return WantedValue::Part {
            values: vec![Value::cell(text)],
            word: unix_lines(text).into_owned(),
        };
    }
    let is_lines = shape == OutputShape::JsonLines;
    let values = documents(text, "/", is_lines).unwrap_or_else(|_| vec![Value::text(text)]);
    let word = match &values[0] {
        Value::Text(scalar) => scalar.text.clone(),
        _ => text.trim().to_owned(),
    };
    WantedValue::Part { values, word }
}

/// Two numbers, the smaller one first.
fn between(text: &str) -> Result<WantedValue, String> {
    let bounds = text.split_once(',');
    match bounds.and_then(|(low, high)| Some((number(low.trim())?, number(high.trim())?))) {
        Some((low, high)) if low <= high => Ok(WantedValue::Between(low, high)),
        Some(_) => Err(format!(
            "no number lies between {text}: the smaller one comes first"
        )),
        None => Err(format!(
            "{:?} is no value of check Between: give two numbers, as in 1, 2.5",
            cut(text, SHOWN)
        )),
    }
}

/// The entries of a list separated by commas; one with a comma in it stands in quotes, as in CSV.
fn list(text: &str) -> Vec<String> {
    let one_line = text.trim().replace(", \"", ",\"").replace('\n', " ");
    let listed = Table::read(&one_line, b',').map(|table| table.columns);
    // A text of one line always is the header of a table.
    let listed = listed.unwrap_or_default().into_iter();
    listed.map(|entry| entry.trim().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::super::tests::expectation;
    use super::*;

    const CSV: OutputShape = OutputShape::Table(Some(b','));
    const FLOAT: OutputShape = OutputShape::Value(ValueType::Float);
    const INT: OutputShape = OutputShape::Value(ValueType::Int);

    #[rstest]
    #[case(INT, Check::Equals, "", "many", "no value", "-3")]
    #[case::a_fraction(INT, Check::Equals, "", "5.5", "no value", "5.0")]
    #[case::endless(FLOAT, Check::Equals, "", "1e999", "no value", "1e99")]
    #[case::a_price(FLOAT, Check::Equals, "", "$5.00", "no value", "5.00")]
    #[case::no_moment(
        OutputShape::Value(ValueType::Datetime),
        Check::Equals,
        "",
        "tomorrow",
        "no value",
        "2026-01-12"
    )]
    #[case::bounds_in_the_wrong_order(FLOAT, Check::Between, "", "5,1", "the smaller one comes first", "1,5")]
    #[case::bounds_that_are_none(FLOAT, Check::Between, "", "5", "give two numbers", "5, 5")]
    #[case::an_empty_word(OutputShape::Text, Check::Contains, "", "", "contains an empty one", "x")]
    #[case(CSV, Check::Rows, "", "two", "no value", "2")]
    #[case(CSV, Check::Ordered, "a", "up", "no value", "ascending")]
    #[case::no_such_output(CSV, Check::Total, "a", "$nonsense", "no value", "2")]
    #[case::no_columns(CSV, Check::Columns, "", " ", "no value", "a")]
    #[case::no_header(CSV, Check::Equals, "", "a,1", "must name its columns", "item,2026\na,1")]
    #[case::extra_cells(
        CSV,
        Check::SameRows,
        "",
        "a,b\n1,2,3\n",
        "the expected table cannot be read: row 1",
        "a,b\n1,2\n"
    )]
    #[case::broken_json(OutputShape::Json, Check::Equals, "", "{\"a\": 1", "no JSON", "{\"a\": 1}")]
    #[case::broken_json_at_a_place(
        OutputShape::Json,
        Check::Equals,
        "/a",
        "[{\"a\": 1",
        "no JSON",
        "[error] none"
    )]
    #[case::broken_lines(
        OutputShape::JsonLines,
        Check::Equals,
        "",
        "{\"a\": 1}\n{",
        "no JSON",
        "{\"a\": 1}\n{}"
    )]
    fn a_value_that_nothing_can_equal_is_refused(
        #[case] shape: OutputShape,
        #[case] check: Check,
        #[case] at: &str,
        #[case] value: &str,
        #[case] says: &str,
        #[case] right: &str,
    ) {
        let said = shape.refuses(&expectation(check, at, value), None).unwrap();
        assert!(said.contains(says), "{said}");
        assert_eq!(shape.refuses(&expectation(check, at, right), None), None);
    }

    #[rstest]
    #[case(INT, Check::Rows, "", "does not fit")]
    #[case(INT, Check::Equals, "1/a", "leave `at` empty")]
    #[case(CSV, Check::Total, "", "does not fit")]
    #[case(CSV, Check::Equals, "0/units", "rows count from 1")]
    #[case(CSV, Check::Equals, "first/units", "a row is its number from 1")]
    #[case(CSV, Check::Equals, "units", "a cell is ROW/COLUMN")]
    #[case(CSV, Check::Equals, "1/", "no cell")]
    #[case(OutputShape::Json, Check::Equals, "rows", "does not fit")]
    #[case(OutputShape::Bytes, Check::Equals, "", "neither text nor a table")]
    fn a_place_that_is_nowhere_is_refused(
        #[case] shape: OutputShape,
        #[case] check: Check,
        #[case] at: &str,
        #[case] says: &str,
    ) {
        let said = shape.refuses(&expectation(check, at, "1"), None).unwrap();
        assert!(said.contains(says), "{said}");
    }

    #[rstest]
    #[case("1/units")]
    #[case("species=Adelie/units")]
    #[case("k=x/y/v")]
    #[case("a/b=x/v")]
    fn a_cell_is_a_place(#[case] at: &str) {
        assert_eq!(CSV.refuses(&expectation(Check::Equals, at, "1"), None), None);
    }

    #[test]
    fn what_another_output_holds_is_not_judged_by_its_form() {
        let wanted = expectation(Check::Total, "units", "$total");
        assert_eq!(CSV.refuses(&wanted, Some("total")), None);
        let said = CSV
            .refuses(&expectation(Check::Equals, "", "$out"), Some("out"))
            .unwrap();
        assert!(said.contains("compared with itself"), "{said}");
    }
}
