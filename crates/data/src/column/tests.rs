use rstest::rstest;

use super::*;
use crate::profile::{ColumnProfile, ColumnType};
use crate::rows::{BuiltRows, TableBuilder};

fn table(values: &[&str]) -> BuiltRows {
    let mut builder = TableBuilder::new(Some(';'), false);
    builder.add_column("c".into());
    for value in values {
        builder.cell(0, Cell::of(value), value);
        builder.end_record(value);
    }
    builder.finish(0, None)
}

fn profile(values: &[&str]) -> ColumnProfile {
    table(values).columns.remove(0)
}

#[rstest]
#[case(&["1", "2", ""], ColumnType::Int)]
#[case(&["1", "2.5"], ColumnType::Float)]
#[case(&["true", "FALSE"], ColumnType::Bool)]
#[case(&["2026-01-01"], ColumnType::Date)]
#[case(&["2026-01-01", "2026-01-01T10:00:00"], ColumnType::Datetime)]
#[case(&["a", "b"], ColumnType::Text)]
#[case(&["007", "12"], ColumnType::Text)]
#[case(&["1", "x"], ColumnType::Mixed)]
#[case(&["", "NA"], ColumnType::Empty)]
fn a_column_has_one_type(#[case] values: &[&str], #[case] type_: ColumnType) {
    assert_eq!(profile(values).type_, type_);
}

#[test]
fn missing_values_are_listed_by_spelling() {
    assert_eq!(
        profile(&["", "NA", "", "1"]).nulls,
        [(String::new(), 2), ("NA".to_owned(), 1)]
    );
}

#[test]
fn one_number_in_two_spellings_is_one_distinct_value() {
    let found = profile(&["1", "1.0", "1.00"]);
    assert_eq!(found.distinct, crate::column::distinct::DistinctCount::Exact(1));
    assert!(!found.is_unique);
}

#[test]
fn a_column_with_a_missing_value_is_no_key() {
    assert!(profile(&["1", "2"]).is_unique);
    assert!(!profile(&["1", ""]).is_unique);
    assert!(!profile(&["1", "1"]).is_unique);
}

#[rstest]
#[case(&["1,234", "2,345.5"], "1,234", ",", 2)]
#[case(&["5", "1,234.5"], "5", ",", 2)]
#[case(&["1.234", "12,5"], "12,5", ".", 2)]
#[case(&["7", "1.234", "1.234.567"], "7", ".", 3)]
fn numbers_in_a_style_are_text_with_the_statistics_of_their_values(
    #[case] values: &[&str],
    #[case] min: &str,
    #[case] thousands: &str,
    #[case] count: u64,
) {
    let found = profile(values);
    let numbers = found.numbers.unwrap();
    assert_eq!(
        (found.type_, numbers.min.as_str(), numbers.count),
        (ColumnType::Text, min, count)
    );
    assert_eq!(found.style.unwrap().thousands, thousands.chars().next());
}

#[rstest]
#[case(&["1,234", "5,678"], "nothing decides")]
#[case(&["1,5", "1.5"], "contradict each other")]
#[case(&["$5", "€5"], "several currencies")]
#[case(&["01/02/2025", "03/04/2025"], "%d/%m/%Y or %m/%d/%Y")]
#[case(&["7", "1.234", "12.345"], "may be thousands")]
fn a_doubt_about_a_column_is_a_remark(#[case] values: &[&str], #[case] remark: &str) {
    let remarks = table(values).remarks;
    assert!(remarks.len() == 1 && remarks[0].contains(remark), "{remarks:?}");
}

#[rstest]
#[case(&["1", "1.234", "0.5"])]
#[case(&["1000", "1.234", "12.345"])]
#[case(&["1,234", "many"])]
#[case(&["31/12/2025", "someday"])]
fn what_is_plain_has_no_remark(#[case] values: &[&str]) {
    assert_eq!(table(values).remarks, Vec::<crate::remark::Remark>::new());
}

#[test]
fn numbers_beyond_64_bits_are_text_as_they_are_to_pandas() {
    assert_eq!(profile(&["18446744073709551615", "1"]).type_, ColumnType::Int);
    assert_eq!(profile(&["18446744073709551615", "-1"]).type_, ColumnType::Text);
    assert_eq!(
        profile(&["18446744073709551616", "99999999999999999999"]).type_,
        ColumnType::Text
    );
    assert_eq!(
        profile(&["18446744073709551615"]).numbers.unwrap().max,
        "18446744073709551615"
    );
}

#[test]
fn dates_in_other_spellings_leave_the_type_text() {
    let found = profile(&["30.12.2025", "31.12.2025", "01.01.2026"]);
    let times = found.times.unwrap();
    assert_eq!(
        (found.type_, times.format.as_str()),
        (ColumnType::Text, "%d.%m.%Y")
    );
    assert_eq!(times.step.unwrap().step, "1 day");
}

#[test]
fn shapes_count_every_value_and_not_only_the_distinct_ones() {
    let found = profile(&["DE-12", "DE-12", "FR-99", "x"]);
    assert_eq!(found.patterns, [("AA-99".to_owned(), 3), ("a".to_owned(), 1)]);
}

#[test]
fn another_column_of_the_file_decides_an_ambiguous_date_format() {
    let decimal = |other: &[&str]| {
        let mut builder = TableBuilder::new(Some(';'), false);
        builder.add_column("either".into());
        builder.add_column("other".into());
        for (value, other) in ["1,234", "5,678"].into_iter().zip(other) {
            builder.cell(0, Cell::of(value), value);
            builder.cell(1, Cell::of(other), other);
            builder.end_record("");
        }
        let built = builder.finish(0, None);
        (
            built.columns[0].numbers.as_ref().map(|numbers| numbers.mean),
            built.remarks.len(),
        )
    };
    assert_eq!(decimal(&["0.5", "2.25"]), (Some(3456.0), 0));
    assert_eq!(decimal(&["$1,234.50", "$7.00"]), (Some(3456.0), 0));
    assert_eq!(decimal(&["0,5", "2,25"]), (Some(3.456), 0));
    assert_eq!(decimal(&["1", "2"]), (None, 1));
}
