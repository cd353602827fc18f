use rstest::rstest;

use super::*;

const CSV: OutputShape = OutputShape::Table(Some(b','));
const TSV: OutputShape = OutputShape::Table(Some(b'\t'));
const SPECIES: &str = "species,count,mass\nAdelie,2,3700.5\nGentoo,1,5000\n";
const DOCUMENT: &str = r#"{"total": 12, "rows": [{"name": "a", "share": 0.3}, {"name": "b", "share": 0.7}], "tags": ["x", "y"]}"#;

pub(super) fn expectation(check: Check, at: &str, value: &str) -> Expectation {
    Expectation {
        output: "out".into(),
        check,
        at: at.into(),
        value: value.into(),
        tolerance: String::new(),
    }
}

fn holds(shape: OutputShape, check: Check, at: &str, value: &str, text: &str) -> bool {
    let expectation = expectation(check, at, value);
    assert_eq!(shape.refuses(&expectation, None), None);
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
    assert!(holds(CSV, check, at, value, SPECIES));
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
#[case::rows(Check::Rows, "", "3")]
#[case::columns_in_another_order(Check::Columns, "", "count, species, mass")]
#[case::contains(Check::Contains, "species", "Gent")]
#[case::lacks(Check::Lacks, "species", "Gentoo")]
#[case::between(Check::Between, "1/mass", "3701, 3702")]
#[case::descending(Check::Ordered, "mass", "descending")]
#[case::total(Check::Total, "count", "4")]
#[case::total_of_words(Check::Total, "species", "0")]
fn a_wrong_table_is_wrong(#[case] check: Check, #[case] at: &str, #[case] value: &str) {
    assert!(!holds(CSV, check, at, value, SPECIES));
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
    assert!(holds(OutputShape::Json, check, at, value, DOCUMENT));
}

#[rstest]
#[case::pointer(Check::Equals, "/total", "13")]
#[case::missing(Check::Equals, "/totals", "12")]
#[case::further_key(Check::Equals, "/rows/0", r#"{"name": "a"}"#)]
#[case::order(Check::Equals, "/tags", r#"["y", "x"]"#)]
#[case::lacks(Check::Lacks, "/tags", "x")]
#[case::ordered(Check::Ordered, "/tags", "descending")]
fn a_wrong_document_is_wrong(#[case] check: Check, #[case] at: &str, #[case] value: &str) {
    assert!(!holds(OutputShape::Json, check, at, value, DOCUMENT));
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
#[case(ValueType::Timedelta, "P1DT90M", "1 day, 1:30:00", true)]
#[case(ValueType::Timedelta, "PT1H30M", "1:30:01", false)]
fn a_value_is_compared_by_its_type(
    #[case] type_: ValueType,
    #[case] expected: &str,
    #[case] text: &str,
    #[case] is_same: bool,
) {
    assert_eq!(
        holds(OutputShape::Value(type_), Check::Equals, "", expected, text),
        is_same
    );
}

#[test]
fn text_is_compared_line_by_line_whatever_ends_its_lines() {
    assert!(holds(OutputShape::Text, Check::Equals, "", "a\nb", "a\r\nb\r\n"));
    assert!(!holds(OutputShape::Text, Check::Equals, "", "a\nb", "b\na\n"));
    assert!(holds(
        OutputShape::JsonLines,
        Check::Equals,
        "",
        "{\"a\": 1}\n{\"a\": 2}",
        "{\"a\":1}\n{\"a\":2}\n"
    ));
}

/// Reports whether `text` is the text that is expected of it within a tolerance.
fn holds_within(tolerance: &str, shape: OutputShape, check: Check, value: &str, text: &str) -> bool {
    let expectation = Expectation {
        tolerance: tolerance.into(),
        ..expectation(check, "", value)
    };
    compare(shape, &expectation, value, text).is_ok()
}

const FLOAT: OutputShape = OutputShape::Value(ValueType::Float);
const INT: OutputShape = OutputShape::Value(ValueType::Int);
const STRING: OutputShape = OutputShape::Value(ValueType::String);
const TIMEDELTA: OutputShape = OutputShape::Value(ValueType::Timedelta);

#[rstest]
#[case::a_value(FLOAT, Check::Equals, "", "5", "1e999", "5e0")]
#[case::a_length_of_time(TIMEDELTA, Check::Equals, "", "PT5S", "1e999", "5.0")]
#[case::a_text(OutputShape::Text, Check::Equals, "", "12", "1e999", "12.0")]
#[case::a_cell(CSV, Check::Equals, "1/b", "12", "a,b\n1,-1e999\n", "a,b\n1,12\n")]
#[case::a_total(CSV, Check::Total, "b", "12", "a,b\n1,1e999\n", "a,b\n1,12\n")]
#[case::of_json(
    OutputShape::Json,
    Check::Equals,
    "/a",
    "12",
    r#"{"a": 1e999}"#,
    r#"{"a": 12}"#
)]
#[case::a_total_of_json(OutputShape::Json, Check::Total, "", "12", "[1e999]", "[12]")]
#[case::a_bound(FLOAT, Check::Between, "", "1, 5", "1e999", "5")]
fn an_endless_number_equals_none(
    #[case] shape: OutputShape,
    #[case] check: Check,
    #[case] at: &str,
    #[case] value: &str,
    #[case] wrong: &str,
    #[case] right: &str,
) {
    assert!(!holds(shape, check, at, value, wrong));
    assert!(holds(shape, check, at, value, right));
}

#[rstest]
#[case::digits("/zip", "12345", r#"{"zip": "12345"}"#, true)]
#[case::a_number("/zip", "12345", r#"{"zip": 12345.0}"#, true)]
#[case::other_digits("/zip", "12345", r#"{"zip": "12346"}"#, false)]
#[case::digits_written_otherwise("/zip", "12345", r#"{"zip": "12345.0"}"#, false)]
#[case::quoted("/zip", "\"12345\"", r#"{"zip": 12345}"#, false)]
#[case::zeros("/v", "1.10", r#"{"v": "1.10"}"#, true)]
#[case::a_word_for_a_truth_value("/n", "true", r#"{"n": "true"}"#, true)]
#[case::a_truth_value_as_python_writes_it("/n", "True", r#"{"n": true}"#, true)]
#[case::a_number_for_a_truth_value("/n", "1", r#"{"n": true}"#, false)]
#[case::a_word_for_null("/n", "null", r#"{"n": "null"}"#, true)]
#[case::an_object("", r#"{"zip": 12345}"#, r#"{"zip": "12345"}"#, false)]
fn an_expected_scalar_may_be_a_json_string_of_the_same_text(
    #[case] at: &str,
    #[case] value: &str,
    #[case] text: &str,
    #[case] is_same: bool,
) {
    assert_eq!(holds(OutputShape::Json, Check::Equals, at, value, text), is_same);
}

#[rstest]
#[case::contained(Check::Contains, "2026", r#"["12345", "2026"]"#, true)]
#[case::lacking(Check::Lacks, "2026", r#"["12345", "2026"]"#, false)]
#[case::a_quoted_word_in_a_text(Check::Lacks, "\"password\"", r#""the password""#, false)]
#[case::a_key(Check::Contains, "\"a\"", r#"{"a": 1}"#, true)]
fn what_stands_in_json_is_found_however_it_is_quoted(
    #[case] check: Check,
    #[case] value: &str,
    #[case] text: &str,
    #[case] is_so: bool,
) {
    assert_eq!(holds(OutputShape::Json, check, "", value, text), is_so);
}

#[rstest]
#[case::seconds(
    OutputShape::Json,
    Check::Equals,
    "/a",
    "1700000000",
    r#"{"a": 1700000001}"#,
    r#"{"a": 1.7e9}"#
)]
#[case::in_a_document(
    OutputShape::Json,
    Check::Equals,
    "",
    r#"{"a": 1700000000}"#,
    r#"{"a": 1700000001}"#,
    r#"{"a": 1700000000.0}"#
)]
#[case::milliseconds(
    OutputShape::Json,
    Check::Equals,
    "/ms",
    "1700000000000",
    r#"{"ms": 1700000001000}"#,
    r#"{"ms": 1700000000000}"#
)]
#[case::an_element(
    OutputShape::Json,
    Check::Contains,
    "",
    "1234567890",
    "[1234567891]",
    "[1234567890]"
)]
#[case::beyond_64_bits(
    OutputShape::Json,
    Check::Equals,
    "",
    "[123456789012345678901234567890]",
    "[123456789012345678901234567891]",
    "[123456789012345678901234567890]"
)]
#[case::json_lines(
    OutputShape::JsonLines,
    Check::SameRows,
    "",
    r#"[{"id": 1234567890}]"#,
    "{\"id\": 1234567891}\n",
    "{\"id\": 1234567890}\n"
)]
#[case::a_cell_as_a_float(
    CSV,
    Check::Equals,
    "",
    "id\n1234567890\n",
    "id\n1234567891.0\n",
    "id\n1234567890.0\n"
)]
#[case::a_value_as_a_float(INT, Check::Equals, "", "5000000000", "5000000003.0", "5000000000.0")]
#[case::a_total(
    CSV,
    Check::Total,
    "cents",
    "5000000000",
    "cents\n5000000003\n",
    "cents\n4999999999\n1\n"
)]
#[case::a_total_of_json(
    OutputShape::Json,
    Check::Total,
    "",
    "5000000000",
    "[5000000003]",
    "[4999999999, 1, null]"
)]
#[case::a_total_of_fractions(CSV, Check::Total, "v", "0.3", "v\n0.1\n0.1\n", "v\n0.1\n0.2\n")]
#[case::an_order(
    CSV,
    Check::Ordered,
    "id",
    "ascending",
    "id\n9007199254740993\n9007199254740992\n",
    "id\n9007199254740992\n9007199254740993\n"
)]
fn large_whole_numbers_are_compared_digit_by_digit(
    #[case] shape: OutputShape,
    #[case] check: Check,
    #[case] at: &str,
    #[case] value: &str,
    #[case] wrong: &str,
    #[case] right: &str,
) {
    assert!(!holds(shape, check, at, value, wrong));
    assert!(holds(shape, check, at, value, right));
}

#[rstest]
#[case::ids(
    "0.01",
    CSV,
    Check::Equals,
    "id,v\n4111111111111111,1\n",
    "id,v\n4111111111111112,1\n",
    "id,v\n4111111111111111,1.01\n"
)]
#[case::json(
    "0.5",
    OutputShape::Json,
    Check::Equals,
    "[5000000000]",
    "[5000000001]",
    "[5000000000.5]"
)]
#[case::rows_that_fit_several(
    "0.15",
    CSV,
    Check::SameRows,
    "v\n1.0\n1.1\n",
    "v\n1.1\n1.3\n",
    "v\n1.1\n0.9\n"
)]
#[case::elements_that_fit_several(
    "0.15",
    OutputShape::Json,
    Check::SameRows,
    "[1.0, 1.1]",
    "[1.1, 1.3]",
    "[1.1, 0.9]"
)]
fn a_tolerance_applies_as_stated(
    #[case] tolerance: &str,
    #[case] shape: OutputShape,
    #[case] check: Check,
    #[case] value: &str,
    #[case] wrong: &str,
    #[case] right: &str,
) {
    assert!(!holds_within(tolerance, shape, check, value, wrong));
    assert!(holds_within(tolerance, shape, check, value, right));
}

#[rstest]
#[case::order_of_null(
    Check::Ordered,
    "/rows",
    "ascending",
    r#"{"rows": null}"#,
    r#"{"rows": [1, 2, null]}"#
)]
#[case::order_of_different_types(Check::Ordered, "", "ascending", r#"[1, "a"]"#, r#"["a", "b"]"#)]
#[case::total_of_a_string(Check::Total, "/rows", "0", r#"{"rows": "garbage"}"#, r#"{"rows": []}"#)]
#[case::rows_of_null(Check::Rows, "", "1", "null", "[7]")]
#[case::rows_of_a_string(Check::Rows, "", "1", "\"x\"", r#"{"x": 1}"#)]
#[case::null_lacks_nothing(Check::Lacks, "", "secret", "null", "[]")]
#[case::key_that_stands_twice(Check::Equals, "", r#"{"a": 2}"#, r#"{"a": 1, "a": 2}"#, r#"{"a": 2}"#)]
#[case::columns_of_a_number(Check::Columns, "", "a", "[7]", r#"[{"a": 7}]"#)]
fn json_of_another_type_is_wrong(
    #[case] check: Check,
    #[case] at: &str,
    #[case] value: &str,
    #[case] wrong: &str,
    #[case] right: &str,
) {
    assert!(!holds(OutputShape::Json, check, at, value, wrong));
    assert!(holds(OutputShape::Json, check, at, value, right));
}

#[rstest]
#[case::extra_cells(Check::Equals, "", "a,b\n1,2\n", "a,b\n1,2,EXTRA\n", "a,b\n1,2\n")]
#[case::extra_cells_beside_a_column(Check::Total, "b", "2", "a,b\n1,2,EXTRA\n", "a,b\n1,2\n")]
#[case::columns_that_are_one(Check::Equals, "", "a,a\n1,1\n", "a,b\n1,2\n", "a,a\n1,1\n")]
#[case::columns_of_one_name(Check::Equals, "", "a,a\n1,2\n", "a,a\n2,1\n", "a,a\n1,2\n")]
#[case::empty_row(Check::Equals, "", "name\n\nx\n", "name\nx\n", "name\n\"\"\nx\n")]
#[case::empty_row_as_written(Check::Rows, "", "2", "name\nx\n\n", "name\n\nx\n")]
#[case::empty_line_of_a_table(Check::Rows, "", "1", "a,b\n1,2\n\n3,4\n", "a,b\n1,2\n\n")]
#[case::missing_first(Check::Ordered, "n", "ascending", "n\n\"\"\n10\n9\n", "n\n9\n10\n\"\"\n")]
#[case::values_with_commas(
    Check::SameRows,
    "n",
    "\"a, b\", c",
    "n,m\na,1\nb,2\nc,3\n",
    "n,m\n\"a, b\",1\nc,2\n"
)]
#[case::columns_with_commas(
    Check::Columns,
    "",
    "\"item, all\",units",
    "item,all,units\n",
    "\"item, all\",units\n"
)]
#[case::values_with_quotes(
    Check::SameRows,
    "n",
    "5\" pipe,\"say \"\"x\"\"\"",
    "n\n5 pipe\nsay x\n",
    "n\n\"5\"\" pipe\"\n\"say \"\"x\"\"\"\n"
)]
#[case::no_value(Check::SameRows, "n", "", "n,m\nx,1\n", "n,m\n")]
#[case::line_ends_in_quotes(
    Check::Equals,
    "",
    "v,w\n1,\"x\ny\"\n",
    "v,w\r\n1,\"xy\"\r\n",
    "v,w\r\n1,\"x\r\ny\"\r\n"
)]
#[case::date_at_midnight(
    Check::Equals,
    "1/d",
    "2026-01-01",
    "d\n2026-01-01 00:00:01\n",
    "d\n2026-01-01 00:00:00\n"
)]
fn a_table_is_read_as_a_reader_reads_it(
    #[case] check: Check,
    #[case] at: &str,
    #[case] value: &str,
    #[case] wrong: &str,
    #[case] right: &str,
) {
    assert!(!holds(CSV, check, at, value, wrong));
    assert!(holds(CSV, check, at, value, right));
}

#[rstest]
#[case::semicolons(CSV, Check::Equals, "", "a,b\n1,2\n", "a;b\n1;2\n", "a,b\n1,2\n")]
#[case::semicolons_in_part(CSV, Check::Equals, "1/b", "2", "a;b\n1;2\n", "a,b\n1,2\n")]
#[case::semicolons_that_the_case_asks_for(CSV, Check::Equals, "", "a;b\n1;2\n", "a|b\n1|2\n", "a;b\n1;2.0\n")]
#[case::tabs_in_commas(CSV, Check::Rows, "", "1", "", "a\tb\n1\t2\n")]
#[case::tabs(TSV, Check::Equals, "", "a,b\n1,2\n", "a,b\n1,2\n", "a\tb\n1\t2\n")]
#[case::tabs_in_part(TSV, Check::Equals, "1/b", "2", "a,b\n1,2\n", "a\tb\n1\t2\n")]
#[case::no_declared_format(OutputShape::Table(None), Check::Total, "b", "2", "a,b\n1,3\n", "a;b\n1;2\n")]
fn a_table_has_the_separator_of_its_format(
    #[case] shape: OutputShape,
    #[case] check: Check,
    #[case] at: &str,
    #[case] value: &str,
    #[case] wrong: &str,
    #[case] right: &str,
) {
    assert!(!holds(shape, check, at, value, wrong));
    assert!(holds(shape, check, at, value, right));
}

#[rstest]
#[case::plus(FLOAT, Check::Equals, "5", "-5", "+5")]
#[case::no_zero_before_the_point(FLOAT, Check::Equals, "0.5", ".6", ".5")]
#[case::line_ends(STRING, Check::Equals, "a\nb", "a\n\nb", "a\r\nb\r\n")]
#[case::line_ends_in_a_text(OutputShape::Text, Check::Contains, "a\nb", "a\n\nb", "x\r\na\r\nb\r\n")]
#[case::truth(OutputShape::Value(ValueType::Bool), Check::Equals, "True", "false", "true")]
#[case::date(
    OutputShape::Value(ValueType::Datetime),
    Check::Equals,
    "2026-01-12",
    "2026-01-12T00:00:01",
    "2026-01-12T00:00:00"
)]
fn equal_values_may_have_different_notations(
    #[case] shape: OutputShape,
    #[case] check: Check,
    #[case] value: &str,
    #[case] wrong: &str,
    #[case] right: &str,
) {
    assert!(!holds(shape, check, "", value, wrong));
    assert!(holds(shape, check, "", value, right));
}

#[rstest]
#[case::object(r#"{"a": 2, "b": 1}"#, r#"{"b": 1, "a": 3}"#, r#"{"b": 1.0, "a": 2}"#)]
#[case::table("item,units\na,1\n", "item,units\na,2\n", "item,units\na,1.0\n")]
fn a_file_without_a_format_is_compared_by_value(
    #[case] value: &str,
    #[case] wrong: &str,
    #[case] right: &str,
) {
    let shape = OutputShape::assumed(&expectation(Check::Equals, "", value));
    assert!(!holds(shape, Check::Equals, "", value, wrong));
    assert!(holds(shape, Check::Equals, "", value, right));
}

#[test]
fn a_table_with_another_separator_is_called_so() {
    let mismatch = compare(CSV, &expectation(Check::Equals, "1/b", "2"), "2", "a;b\n1;2\n").unwrap_err();
    assert_eq!(
        mismatch.actual,
        "a table separated by semicolons in place of commas: the columns a;b"
    );
}

#[rstest]
#[case::one_line("{\"a\": 1}", "{\"a\":1.0}\n", true)]
#[case::another_line("{\"a\": 1}", "{\"a\":2}\n", false)]
#[case::two_for_one("{\"a\": 1}", "{\"a\":1}\n{\"a\":1}\n", false)]
#[case::an_array("[{\"a\": 1}]", "{\"a\":1}\n", true)]
fn json_lines_may_be_a_single_one(#[case] expected: &str, #[case] text: &str, #[case] is_same: bool) {
    assert_eq!(
        holds(OutputShape::JsonLines, Check::Equals, "", expected, text),
        is_same
    );
}

#[rstest]
#[case::numbers(&["2", "10"], false, true)]
#[case::numbers_as_texts(&["10", "2"], false, false)]
#[case::large_numbers(&["9007199254740993", "9007199254740992"], false, false)]
#[case::missing_last(&["2", "10", ""], false, true)]
#[case::missing_last_descending(&["10", "2", "", ""], true, true)]
#[case::missing_between(&["2", "", "10"], false, false)]
#[case::missing_first(&["", "10", "9"], false, false)]
#[case::texts(&["a", "b"], false, true)]
#[case::texts_after_an_empty_one(&["", "a", "b"], false, true)]
#[case::texts_around_an_empty_one(&["a", "", "b"], false, false)]
#[case::nothing(&[], true, true)]
fn a_column_is_in_order(#[case] cells: &[&str], #[case] is_descending: bool, #[case] expected: bool) {
    let cells: Vec<Value> = cells.iter().map(|cell| Value::cell(cell)).collect();
    assert_eq!(are_in_order(&cells, true, is_descending), expected);
}
