//! Whether an expectation can hold at all. One that cannot is a fault of the case, and no program answers for it.

use super::cells::delimiter_of_expected;
use super::document::parse_expected;
use super::scalar::{Tolerance, is_moment, number, seconds, truth};
use super::shape::Shape;
use super::table::Table;
use super::{Separator, bounds};
use crate::api::case::{Check, Expectation};
use crate::api::values::ValueType;
use crate::pipeline::bounds::cut;

/// Bytes of a value in a sentence.
const SHOWN: usize = 120;

impl Shape {
    /// Why an expectation cannot be read as one of such an output; `None` when it can. `refers_to` is the output whose value it takes.
    pub(crate) fn refuses(self, expectation: &Expectation, refers_to: Option<&str>) -> Option<String> {
        let Expectation {
            tolerance, output, ..
        } = expectation;
        if Tolerance::parse(tolerance).is_none() {
            return Some(format!("the tolerance {tolerance} is no number"));
        }
        self.place_problem(expectation).or_else(|| match refers_to {
            Some(name) if name == output => Some(format!("{output} is compared with itself")),
            Some(_) => None,
            None => self.value_problem(expectation),
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

    fn value_problem(self, expectation: &Expectation) -> Option<String> {
        let Expectation { check, value, .. } = expectation;
        let is_right = match check {
            Check::Rows => value.trim().parse::<usize>().is_ok(),
            Check::Between => return between_problem(value),
            Check::Ordered => matches!(value.trim(), "ascending" | "descending"),
            Check::Total => number(value.trim()).is_some(),
            Check::Columns => !value.trim().is_empty(),
            Check::Equals | Check::SameRows => return self.whole_problem(expectation),
            Check::Contains | Check::Lacks => return self.word_problem(expectation),
        };
        (!is_right).then(|| no_value(expectation))
    }

    fn whole_problem(self, expectation: &Expectation) -> Option<String> {
        let Expectation { at, value, .. } = expectation;
        match self {
            Self::Value(type_) => (!reads_as(type_, value.trim())).then(|| no_value(expectation)),
            Self::Table(separator) if at.is_empty() => table_problem(value, separator),
            Self::Json | Self::JsonLines if looks_like_json(value, at) => {
                let error = parse_expected(value, self == Self::JsonLines).err()?;
                Some(format!("{:?} is no JSON ({error})", cut(value, SHOWN)))
            }
            Self::Table(_) | Self::Json | Self::JsonLines | Self::Text | Self::Bytes => None,
        }
    }

    fn word_problem(self, expectation: &Expectation) -> Option<String> {
        let is_in_text = match self {
            Self::Value(_) | Self::Text => true,
            Self::Table(_) => expectation.at.is_empty(),
            Self::Json | Self::JsonLines | Self::Bytes => false,
        };
        (is_in_text && expectation.value.is_empty()).then(|| {
            format!(
                "every text contains an empty one: give check {:?} a value",
                expectation.check
            )
        })
    }
}

fn no_value(expectation: &Expectation) -> String {
    let value = cut(&expectation.value, SHOWN);
    format!("{value:?} is no value of check {:?}", expectation.check)
}

fn reads_as(type_: ValueType, value: &str) -> bool {
    match type_ {
        ValueType::Int => number(value).is_some_and(|number| number.is_integer()),
        ValueType::Float => number(value).is_some(),
        ValueType::Bool => truth(value).is_some(),
        ValueType::Timedelta => seconds(value).is_some(),
        ValueType::Datetime => is_moment(value),
        ValueType::String | ValueType::File | ValueType::Dir => true,
    }
}

fn between_problem(value: &str) -> Option<String> {
    match bounds(value) {
        Some((low, high)) if low <= high => None,
        Some(_) => Some(format!(
            "no number lies between {value}: the smaller one comes first"
        )),
        None => Some(format!(
            "{:?} is no value of check Between: give two numbers, as in 1, 2.5",
            cut(value, SHOWN)
        )),
    }
}

/// Why this is no cell of a table. The name of a column may hold slashes.
fn cell_problem(at: &str) -> Option<String> {
    let is_row = |row: &str| row.parse().is_ok_and(|number: usize| number > 0) || row.contains('=');
    let is_cell = |(slash, _): (usize, &str)| is_row(&at[..slash]) && !at[slash + 1..].is_empty();
    if at.match_indices('/').any(is_cell) {
        return None;
    }
    let why = match at.split_once('/') {
        Some((row, _)) if row.parse::<usize>() == Ok(0) => "rows count from 1",
        Some(_) => "a row is its number from 1, or COLUMN=VALUE",
        None => "a cell is ROW/COLUMN, as in 1/total or species=Adelie/total",
    };
    Some(format!("`at` {at:?} is no cell: {why}"))
}

fn table_problem(value: &str, separator: Separator) -> Option<String> {
    let table = match Table::read(value, delimiter_of_expected(value, separator)) {
        Ok(table) => table,
        Err(error) => return Some(format!("the expected table cannot be read: {error}")),
    };
    if let Some(row) = table.overlong_row() {
        return Some(format!(
            "row {row} of the expected table has more cells than its first line, which names the columns"
        ));
    }
    // A lone line with numbers is a row; above rows they may be names (`2025`, `2026`).
    let is_headless = table.rows.is_empty() && table.columns.iter().any(|name| number(name).is_some());
    is_headless.then(|| "the first line of the expected table must name its columns".to_owned())
}

/// Whether a value is meant as an object or array. At a place in a document a text may well begin with a bracket.
fn looks_like_json(value: &str, at: &str) -> bool {
    let mut characters = value
        .trim_start()
        .chars()
        .filter(|character| !character.is_whitespace());
    match (characters.next(), characters.next()) {
        (Some('{' | '['), _) if at.is_empty() => true,
        (Some('{'), second) => matches!(second, Some('"')),
        (Some('['), second) => matches!(second, Some('"' | '{' | '[')),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::super::tests::expectation;
    use super::*;

    const CSV: Shape = Shape::Table(Separator::Comma);
    const FLOAT: Shape = Shape::Value(ValueType::Float);
    const INT: Shape = Shape::Value(ValueType::Int);

    #[rstest]
    #[case(INT, Check::Equals, "", "many", "no value", "-3")]
    #[case::a_fraction(INT, Check::Equals, "", "5.5", "no value", "5.0")]
    #[case::endless(FLOAT, Check::Equals, "", "1e999", "no value", "1e99")]
    #[case::a_price(FLOAT, Check::Equals, "", "$5.00", "no value", "5.00")]
    #[case::no_moment(
        Shape::Value(ValueType::Datetime),
        Check::Equals,
        "",
        "tomorrow",
        "no value",
        "2026-01-12"
    )]
    #[case::bounds_in_the_wrong_order(FLOAT, Check::Between, "", "5,1", "the smaller one comes first", "1,5")]
    #[case::bounds_that_are_none(FLOAT, Check::Between, "", "5", "give two numbers", "5, 5")]
    #[case::an_empty_word(Shape::Text, Check::Contains, "", "", "contains an empty one", "x")]
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
        "row 1 of the expected table",
        "a,b\n1,2\n"
    )]
    #[case::broken_json(Shape::Json, Check::Equals, "", "{\"a\": 1", "no JSON", "{\"a\": 1}")]
    #[case::broken_json_at_a_place(Shape::Json, Check::Equals, "/a", "[{\"a\": 1", "no JSON", "[error] none")]
    #[case::broken_lines(
        Shape::JsonLines,
        Check::Equals,
        "",
        "{\"a\": 1}\n{",
        "no JSON",
        "{\"a\": 1}\n{}"
    )]
    fn a_value_that_nothing_can_equal_is_refused(
        #[case] shape: Shape,
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
    #[case(Shape::Json, Check::Equals, "rows", "does not fit")]
    #[case(Shape::Bytes, Check::Equals, "", "neither text nor a table")]
    fn a_place_that_is_nowhere_is_refused(
        #[case] shape: Shape,
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
