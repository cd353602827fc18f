//! Verdicts on single columns of every format.

use rstest::rstest;

use crate::checks::rule::{Bound, Rule};
use crate::value_type::ValueType;

use super::*;

fn check(column: &str, rule: Rule) -> ColumnCheck {
    ColumnCheck::new(0, column, rule)
}

fn run(text: &str, file_name: &str, column: &str, rule: Rule) -> CheckOutcome {
    let mut report = evaluate(
        &Source::bytes(text.as_bytes()),
        file_name,
        None,
        &[check(column, rule)],
    )
    .unwrap();
    report.results.remove(0).outcome
}

fn lines(outcome: CheckOutcome) -> Vec<u64> {
    let CheckOutcome::Checked {
        first, violations, ..
    } = outcome
    else {
        panic!("no such column")
    };
    assert!(violations >= first.len() as u64);
    first.into_iter().map(|violation| violation.line).collect()
}

#[rstest]
#[case(Rule::GreaterThan(1.into()), &[2, 6])]
#[case(Rule::GreaterOrEqual(1.into()), &[6])]
#[case(Rule::LessThan(3.0.into()), &[4, 6])]
#[case(Rule::LessOrEqual(3.0.into()), &[6])]
#[case(Rule::Between(1.into(), 2.into()), &[4, 6])]
#[case(Rule::Regex("[0-9.]+".into()), &[6])]
#[case(Rule::IsIn(vec!["1".into(), "2".into(), "3".into()]), &[6])]
#[case(Rule::NotNull, &[5])]
#[case(Rule::OfType(ValueType::Int), &[3, 6])]
#[case(Rule::OfType(ValueType::Float), &[6])]
#[case(Rule::OfType(ValueType::Bool), &[2, 3, 4, 6])]
#[case(Rule::OfType(ValueType::Datetime), &[2, 3, 4, 6])]
#[case(Rule::OfType(ValueType::String), &[])]
fn each_rule_names_the_lines_that_break_it(#[case] rule: Rule, #[case] broken: &[u64]) {
    assert_eq!(
        lines(run("a,b\n1,x\n2.0,x\n3,x\nNA,x\nmany,x\n", "x.csv", "a", rule)),
        broken
    );
}

fn found(bytes: &[u8], file_name: &str, column: &str, rule: Rule) -> Vec<(u64, String)> {
    let checks = [check(column, rule)];
    let report = evaluate(&Source::bytes(bytes), file_name, None, &checks).unwrap();
    match &report.results[0].outcome {
        CheckOutcome::Checked { first, .. } => first
            .iter()
            .map(|broken| (broken.line, broken.value.clone()))
            .collect(),
        CheckOutcome::ColumnMissing => panic!("no such column"),
    }
}

#[test]
fn values_of_parquet_are_checked_by_their_type() {
    let pandas = include_bytes!("../testdata/pandas.parquet");
    let pyarrow = include_bytes!("../testdata/pyarrow.parquet");
    let broken = |bytes: &[u8], column, rule| found(bytes, "x", column, rule);
    assert_eq!(
        broken(pandas, "n", Rule::GreaterThan(Bound::Int(1))),
        [(1, "1".to_owned())]
    );
    // A text is a value whatever it says; NaN is none.
    assert_eq!(broken(pandas, "city", Rule::NotNull), [(3, String::new())]);
    assert_eq!(broken(pandas, "price", Rule::NotNull).len(), 2);
    assert_eq!(broken(pyarrow, "tags[]", Rule::NotNull), [(1, String::new())]);
    assert_eq!(
        broken(pyarrow, "items[].price", Rule::LessThan(Bound::Int(2))),
        [(1, "2".to_owned())]
    );
    assert_eq!(broken(pyarrow, "user.city", Rule::NotNull), [(2, String::new())]);
    let largest = Rule::LessThan(Bound::Float(1e19));
    assert_eq!(broken(pyarrow, "u64", largest), [(1, u64::MAX.to_string())]);
}

#[test]
fn values_of_a_workbook_are_checked_by_the_rows_of_their_sheet() {
    let book = include_bytes!("../testdata/openpyxl.xlsx");
    let broken = |column, rule| found(book, "x.xlsx", column, rule);
    assert_eq!(broken("n", Rule::NotNull), [(6, String::new())]);
    assert_eq!(
        broken("n", Rule::LessThan(Bound::Int(2))),
        [(4, "2.5".to_owned())]
    );
    assert_eq!(
        broken("2026", Rule::GreaterThan(Bound::Int(0))),
        [(2, "0".to_owned())]
    );
}

#[test]
fn a_parquet_file_that_is_cut_is_an_error() {
    let bytes = include_bytes!("../testdata/pandas.parquet");
    let source = Source::bytes(&bytes[..bytes.len() / 2]);
    let error = evaluate(&source, "out.parquet", Some(FileFormat::Parquet), &[]).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("cannot read out.parquet as Parquet: "),
        "{error}"
    );
}

#[test]
fn a_column_that_is_not_there_is_said() {
    assert_eq!(
        run("a\n1\n", "x.csv", "b", Rule::NotNull),
        CheckOutcome::ColumnMissing
    );
    assert_eq!(
        run("[{\"a\":1},{\"a\":2}]", "x.json", "b", Rule::NotNull),
        CheckOutcome::ColumnMissing
    );
}

#[test]
fn json_values_are_checked_by_path_and_missing_ones_count() {
    let text = "{\"a\":{\"b\":1},\"l\":[{\"p\":1},{\"p\":9}]}\n{\"a\":{\"b\":null}}\n{}\n";
    assert_eq!(lines(run(text, "x.jsonl", "a.b", Rule::NotNull)), [2, 3]);
    assert_eq!(
        lines(run(text, "x.jsonl", "l[].p", Rule::LessThan(5.into()))),
        [1]
    );
}

#[test]
fn records_without_a_header_are_checked_from_the_first() {
    assert_eq!(
        lines(run(
            "1,5\n2,6\n",
            "x.csv",
            "column_2",
            Rule::GreaterThan(5.into())
        )),
        [1]
    );
}

#[test]
fn numbers_with_decimal_commas_are_compared_as_numbers() {
    let text = "a;b\nx;1,5\ny;2,5\nz;1.9\n";
    assert_eq!(
        lines(run(text, "x.csv", "b", Rule::LessThan(Bound::Int(2)))),
        [3, 4]
    );
    assert_eq!(
        lines(run(
            text,
            "x.csv",
            "b",
            Rule::IsIn(vec!["1.50".into(), "2,50".into()])
        )),
        [4]
    );
}

#[test]
fn a_pattern_must_match_the_whole_value() {
    assert_eq!(
        lines(run("a\nab\nabc\n", "x.csv", "a", Rule::Regex("ab|zz".into()))),
        [3]
    );
}

#[test]
fn a_malformed_line_is_an_error_with_its_place() {
    let checks = [check("a", Rule::NotNull)];
    let error = evaluate(
        &Source::bytes(b"{\"a\":1}\n{oops\n"),
        "out",
        Some(FileFormat::JSONLines),
        &checks,
    )
    .unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("cannot read out as JSON Lines: line 2"),
        "{error}"
    );
}
