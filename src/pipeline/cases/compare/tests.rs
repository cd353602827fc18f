use rstest::rstest;

use super::*;

const SPECIES: &str = "species,count,mass\nAdelie,2,3700.5\nGentoo,1,5000\n";
const DOCUMENT: &str = r#"{"total": 12, "rows": [{"name": "a", "share": 0.3}, {"name": "b", "share": 0.7}], "tags": ["x", "y"]}"#;

fn expectation(check: Check, at: &str, value: &str) -> Expectation {
    Expectation {
        output: "out".into(),
        check,
        at: at.into(),
        value: value.into(),
        tolerance: String::new(),
    }
}

fn holds(shape: Shape, check: Check, at: &str, value: &str, text: &str) -> bool {
    let expectation = expectation(check, at, value);
    assert_eq!(shape.refuses(&expectation), None);
    compare(shape, &expectation, value, text).is_ok()
}

#[rstest]
#[case::whole(Check::Equals, "", SPECIES)]
#[case::columns_in_another_order(
    Check::Equals,
    "",
    "mass,species,count\n3700.50,Adelie,2\n5000.0,Gentoo,1\n"
)]
#[case::another_delimiter(Check::Equals, "", "species;count;mass\nAdelie;2;3700.5\nGentoo;1;5000\n")]
#[case::any_order(Check::SameRows, "", "species,count,mass\nGentoo,1,5000\nAdelie,2,3700.5\n")]
#[case::cell_by_number(Check::Equals, "2/mass", "5000")]
#[case::cell_by_key(Check::Equals, "species=Adelie/count", "2")]
#[case::column_in_any_order(Check::SameRows, "count", "1,2")]
#[case::rows(Check::Rows, "", "2")]
#[case::columns(Check::Columns, "", "species, count, mass")]
#[case::contains(Check::Contains, "species", "Gentoo")]
#[case::lacks(Check::Lacks, "species", "Chinstrap")]
#[case::between(Check::Between, "1/mass", "3700, 3701")]
#[case::ascending(Check::Ordered, "mass", "ascending")]
#[case::descending(Check::Ordered, "count", "descending")]
#[case::total(Check::Total, "count", "3")]
fn a_right_table_is_right(#[case] check: Check, #[case] at: &str, #[case] value: &str) {
    assert!(holds(Shape::Table, check, at, value, SPECIES));
}

#[rstest]
#[case::another_cell(Check::Equals, "", "species,count,mass\nAdelie,2,3700.5\nGentoo,2,5000\n")]
#[case::another_order(Check::Equals, "", "species,count,mass\nGentoo,1,5000\nAdelie,2,3700.5\n")]
#[case::a_row_too_few(
    Check::Equals,
    "",
    "species,count,mass\nAdelie,2,3700.5\nGentoo,1,5000\nChinstrap,0,\n"
)]
#[case::a_row_too_many(Check::SameRows, "", "species,count,mass\nAdelie,2,3700.5\n")]
#[case::a_column_too_many(Check::Equals, "", "species,count\nAdelie,2\nGentoo,1\n")]
#[case::repeated_rows(Check::SameRows, "", "species,count,mass\nAdelie,2,3700.5\nAdelie,2,3700.5\n")]
#[case::no_such_row(Check::Equals, "species=Chinstrap/count", "0")]
#[case::no_such_column(Check::Equals, "1/sex", "f")]
#[case::row_zero(Check::Equals, "0/count", "2")]
#[case::rows(Check::Rows, "", "3")]
#[case::columns_in_another_order(Check::Columns, "", "count, species, mass")]
#[case::contains(Check::Contains, "species", "Gent")]
#[case::lacks(Check::Lacks, "species", "Gentoo")]
#[case::between(Check::Between, "1/mass", "3701, 3702")]
#[case::descending(Check::Ordered, "mass", "descending")]
#[case::total(Check::Total, "count", "4")]
#[case::total_of_words(Check::Total, "species", "0")]
fn a_wrong_table_is_wrong(#[case] check: Check, #[case] at: &str, #[case] value: &str) {
    assert!(!holds(Shape::Table, check, at, value, SPECIES));
}

#[rstest]
#[case::pointer(Check::Equals, "/total", "12.0")]
#[case::object(Check::Equals, "/rows/0", r#"{"share": 0.30000000000000004, "name": "a"}"#)]
#[case::text(Check::Equals, "/rows/1/name", "b")]
#[case::any_order(Check::SameRows, "/tags", r#"["y", "x"]"#)]
#[case::elements(Check::Rows, "/rows", "2")]
#[case::keys(Check::Columns, "/rows", "share, name")]
#[case::contains(Check::Contains, "/tags", "\"x\"")]
#[case::lacks(Check::Lacks, "/tags", "z")]
#[case::between(Check::Between, "/total", "10, 12")]
#[case::ordered(Check::Ordered, "/tags", "ascending")]
fn a_right_document_is_right(#[case] check: Check, #[case] at: &str, #[case] value: &str) {
    assert!(holds(Shape::Json, check, at, value, DOCUMENT));
}

#[rstest]
#[case::pointer(Check::Equals, "/total", "13")]
#[case::missing(Check::Equals, "/totals", "12")]
#[case::further_key(Check::Equals, "/rows/0", r#"{"name": "a"}"#)]
#[case::order(Check::Equals, "/tags", r#"["y", "x"]"#)]
#[case::lacks(Check::Lacks, "/tags", "x")]
#[case::ordered(Check::Ordered, "/tags", "descending")]
fn a_wrong_document_is_wrong(#[case] check: Check, #[case] at: &str, #[case] value: &str) {
    assert!(!holds(Shape::Json, check, at, value, DOCUMENT));
}

#[rstest]
#[case(ValueType::Int, "42", "42\n", true)]
#[case(ValueType::Int, "42", "43\n", false)]
#[case(ValueType::Float, "0.5", "0.50", true)]
#[case(ValueType::Bool, "true", "false", false)]
#[case(ValueType::String, "07", "7", false)]
#[case(ValueType::String, "done", "done\n", true)]
#[case(
    ValueType::Datetime,
    "2026-01-12T06:55:00Z",
    "2026-01-12T07:55:00+01:00\n",
    true
)]
#[case(ValueType::Timedelta, "PT90S", "90.0", true)]
#[case(ValueType::Timedelta, "PT90S", "PT1M31S", false)]
fn a_value_is_compared_by_its_type(
    #[case] type_: ValueType,
    #[case] expected: &str,
    #[case] text: &str,
    #[case] is_same: bool,
) {
    assert_eq!(
        holds(Shape::Value(type_), Check::Equals, "", expected, text),
        is_same
    );
}

#[test]
fn text_is_compared_line_by_line_whatever_ends_its_lines() {
    assert!(holds(Shape::Text, Check::Equals, "", "a\nb", "a\r\nb\r\n"));
    assert!(!holds(Shape::Text, Check::Equals, "", "a\nb", "b\na\n"));
    assert!(holds(
        Shape::JsonLines,
        Check::Equals,
        "",
        "{\"a\": 1}\n{\"a\": 2}",
        "{\"a\":1}\n{\"a\":2}\n"
    ));
}

#[rstest]
#[case(Shape::Value(ValueType::Int), Check::Equals, "", "many", "no value")]
#[case(Shape::Value(ValueType::Int), Check::Rows, "", "1", "does not fit")]
#[case(Shape::Value(ValueType::Int), Check::Equals, "1/a", "1", "leave `at` empty")]
#[case(Shape::Table, Check::Rows, "", "two", "no value")]
#[case(Shape::Table, Check::Total, "", "2", "does not fit")]
#[case(Shape::Table, Check::Ordered, "a", "up", "no value")]
#[case(Shape::Json, Check::Equals, "rows", "1", "does not fit")]
#[case(Shape::Bytes, Check::Equals, "", "x", "neither text nor a table")]
fn an_expectation_that_nothing_can_meet_is_refused(
    #[case] shape: Shape,
    #[case] check: Check,
    #[case] at: &str,
    #[case] value: &str,
    #[case] says: &str,
) {
    let said = shape.refuses(&expectation(check, at, value)).unwrap();
    assert!(said.contains(says), "{said}");
}

#[test]
fn a_mismatch_says_the_first_row_that_differs() {
    let wrong = "species,count,mass\nAdelie,2,3700.5\nGentoo,1,4999\n";
    let mismatch = compare(
        Shape::Table,
        &expectation(Check::Equals, "", SPECIES),
        SPECIES,
        wrong,
    )
    .unwrap_err();
    assert_eq!(
        mismatch,
        Mismatch::new("row 2: Gentoo,1,5000", "row 2: Gentoo,1,4999")
    );
}
