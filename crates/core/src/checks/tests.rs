//! Constraints of a model's reply, as checks and in words.

use rstest::rstest;

use super::*;
use codegen_data::checks::text::in_words;
use codegen_data::describe::{DescribeOptions, describe_source};
use codegen_data::source::Source;

const COLUMNS: [(&str, ColumnType); 7] = [
    ("quantity", ColumnType::Int),
    ("price", ColumnType::Float),
    ("temperature_c", ColumnType::Float),
    ("humidity", ColumnType::Int),
    ("sensor_id", ColumnType::Text),
    ("order_date", ColumnType::Date),
    ("ts", ColumnType::Datetime),
];

fn interpret(rows: &str, count: usize, outputs: &[Output]) -> Interpretation {
    let rows: Vec<CheckRow> = serde_json::from_str(rows).unwrap();
    checks_from_reply(
        &rows,
        count,
        &COLUMNS.map(|(name, type_)| (name.to_owned(), type_)),
        outputs,
    )
}

fn table_output() -> Output {
    serde_json::from_str(r#"{"name": "report", "type": "File", "format": "CSV"}"#).unwrap()
}

/// The five sentences with the rows that they call for.
#[rstest]
#[case::positive("quantity", "greater_than", &["0"], Some(Rule::GreaterThan(0.into())))]
#[case::price_range("price", "between", &["0", "10000"], Some(Rule::Between(0.into(), 10_000.into())))]
#[case::celsius("temperature_c", "between", &["-40", "60"], Some(Rule::Between((-40).into(), 60.into())))]
#[case::percent("humidity", "between", &["0", "100"], Some(Rule::Between(0.into(), 100.into())))]
#[case::one_row_per_sensor("sensor_id", "none", &[], None)]
fn the_five_sentences_become_their_checks(
    #[case] column: &str,
    #[case] kind: &str,
    #[case] arguments: &[&str],
    #[case] rule: Option<Rule>,
) {
    let row = serde_json::json!([{"constraint": 0, "column": column, "kind": kind, "arguments": arguments}]);
    let found = interpret(&row.to_string(), 1, &[]);
    let expected: Vec<_> = rule
        .into_iter()
        .map(|rule| ColumnCheck {
            in_samples: true,
            ..ColumnCheck::new(0, column, rule)
        })
        .collect();
    assert_eq!(found.unchecked.len(), 1 - expected.len());
    assert_eq!(found.checks, expected);
}

#[rstest]
#[case("between", r#"["1"]"#, "between takes two bounds, not 1 arguments")]
#[case("between", r#"["9", "1"]"#, "no value lies between 9 and 1")]
#[case(
    "greater_than",
    r#"["zero"]"#,
    "the bound \"zero\" is neither a number nor an ISO date"
)]
#[case(
    "greater_than",
    r#"["inf"]"#,
    "the bound \"inf\" is neither a number nor an ISO date"
)]
#[case(
    "between",
    r#"["2026-02-01", "2026-01-31"]"#,
    "no value lies between 2026-02-01 and 2026-01-31"
)]
#[case(
    "between",
    r#"["1", "2026-01-31"]"#,
    "1 and 2026-01-31 are not bounds of one kind"
)]
#[case("less_than", "[]", "less_than takes one bound, not 0 arguments")]
#[case("is_in", "[]", "is_in takes at least one value")]
#[case("regex", r#"["(", "x"]"#, "regex takes one pattern, not 2 arguments")]
fn arguments_that_do_not_fit_are_a_reason(#[case] kind: &str, #[case] arguments: &str, #[case] reason: &str) {
    let row = format!(r#"[{{"constraint":0,"column":"price","kind":"{kind}","arguments":{arguments}}}]"#);
    assert_eq!(
        interpret(&row, 1, &[]).unchecked,
        [Unchecked {
            constraint: 0,
            reason: reason.to_owned()
        }]
    );
}

#[rstest]
#[case("order_date", "2026-01-01", true)]
#[case("ts", "2026-01-01T12:00:00Z", true)]
#[case("sensor_id", "2026-01-01", true)]
#[case("sensor_id", "5", true)]
#[case("order_date", "5", false)]
#[case("quantity", "2026-01-01", false)]
fn a_bound_is_of_the_kind_of_its_column(#[case] column: &str, #[case] bound: &str, #[case] fits: bool) {
    let row =
        format!(r#"[{{"constraint":0,"column":"{column}","kind":"less_than","arguments":["{bound}"]}}]"#);
    let found = interpret(&row, 1, &[]);
    assert_eq!(
        (found.checks.len(), found.unchecked.len()),
        if fits { (1, 0) } else { (0, 1) }
    );
}

#[test]
fn a_bound_that_fits_one_of_two_samples_is_checked() {
    let rows = r#"[{"constraint":0,"column":"when","kind":"greater_than","arguments":["5"]}]"#;
    let rows: Vec<CheckRow> = serde_json::from_str(rows).unwrap();
    let columns = [ColumnType::Date, ColumnType::Int].map(|type_| ("when".to_owned(), type_));
    assert_eq!(checks_from_reply(&rows, 1, &columns, &[]).checks.len(), 1);
    assert_eq!(checks_from_reply(&rows, 1, &columns[..1], &[]).checks.len(), 0);
}

#[test]
fn a_pattern_that_does_not_compile_is_a_reason() {
    let row = r#"[{"constraint":0,"column":"price","kind":"regex","arguments":["("]}]"#;
    assert!(
        interpret(row, 1, &[]).unchecked[0]
            .reason
            .starts_with("the pattern \"(\" does not compile")
    );
}

#[test]
fn a_pattern_as_long_as_a_book_is_not_even_parsed() {
    let of = |bytes: usize| {
        let pattern = "a".repeat(bytes);
        let rows = serde_json::json!([{"constraint": 0, "column": "price", "kind": "regex", "arguments": [pattern]}]);
        interpret(&rows.to_string(), 1, &[])
    };
    assert_eq!(of(1_024).checks.len(), 1);
    let reason = &of(1_025).unchecked[0].reason;
    assert_eq!(
        reason,
        "the pattern has 1025 bytes, and at most 1024 are used: shorten it"
    );
}

#[test]
fn whatever_rows_a_reply_has_would_each_be_a_check() {
    let row = |number: usize| serde_json::json!({"constraint": 0, "column": "price", "kind": "regex", "arguments": [format!("{number}")]});
    let rows: Vec<serde_json::Value> = (0..2_000).map(row).collect();
    let rows = serde_json::to_string(&rows).unwrap();
    assert_eq!(interpret(&rows, 1, &[]).checks.len(), 2_000);
}

#[test]
fn a_column_of_no_sample_needs_an_output_that_is_a_table() {
    let row = r#"[{"constraint":0,"column":"mean_mass","kind":"not_null","arguments":[]}]"#;
    assert_eq!(interpret(row, 1, &[]).checks, []);
    assert_eq!(interpret(row, 1, &[table_output()]).checks[0].column, "mean_mass");
}

#[test]
fn a_name_that_differs_in_case_only_is_corrected() {
    let row = r#"[{"constraint":0,"column":"Quantity","kind":"not_null","arguments":[]}]"#;
    assert_eq!(interpret(row, 1, &[]).checks[0].column, "quantity");
}

#[test]
fn every_constraint_is_a_check_or_has_a_reason() {
    let rows = r#"[{"constraint":1,"column":"price","kind":"not_null","arguments":[]},
                       {"constraint":7,"column":"price","kind":"not_null","arguments":[]}]"#;
    let found = interpret(rows, 2, &[]);
    assert_eq!(found.checks.len(), 1);
    let unchecked: Vec<_> = found
        .unchecked
        .iter()
        .map(|unchecked| unchecked.constraint)
        .collect();
    assert_eq!(unchecked, [0, 7]);
}

#[test]
fn five_sentences_in_one_reply_bind_to_every_sample_that_has_their_column() {
    let rows = r#"[{"constraint":0,"column":"quantity","kind":"greater_than","arguments":["0"]},
            {"constraint":1,"column":"price","kind":"between","arguments":["0","10000"]},
            {"constraint":2,"column":"temperature_c","kind":"between","arguments":["-40","60"]},
            {"constraint":3,"column":"humidity","kind":"between","arguments":["0","100"]},
            {"constraint":4,"column":"","kind":"none","arguments":[]}]"#;
    let found = interpret(rows, 5, &[]);
    let profile = |name: &str, text: &str| {
        let source = Source::bytes(text.as_bytes());
        describe_source(&source, name, "x.csv", &DescribeOptions::default()).unwrap()
    };
    let profiles = [
        profile("orders", "quantity,price\n1,2\n"),
        profile("sensor", "temperature_c,humidity,quantity\n1,2,3\n"),
    ];
    let bound: Vec<_> = found
        .checks
        .iter()
        .map(|check| bound_samples(check, &profiles).join(" "))
        .collect();
    assert_eq!(bound, ["orders sensor", "orders", "sensor", "sensor"]);
    assert_eq!(found.unchecked.len(), 1);
}

#[test]
fn a_check_binds_to_the_samples_that_have_its_column() {
    let profile = |name: &str, text: &str| {
        let source = Source::bytes(text.as_bytes());
        describe_source(&source, name, "x.csv", &DescribeOptions::default()).unwrap()
    };
    let profiles = [
        profile("sales", "price,n\n1,2\n"),
        profile("sensor", "humidity\n1\n"),
    ];
    let check = ColumnCheck::new(0, "price", Rule::Between(0.into(), 10.5.into()));
    assert_eq!(bound_samples(&check, &profiles), ["sales"]);
    assert_eq!(in_words(&check), "price between 0 and 10.5");
}

#[test]
fn a_check_binds_to_a_column_beyond_those_that_are_described() {
    let names: Vec<_> = (0..201).map(|column| format!("c{column}")).collect();
    let text = format!("{}\n{}\n", names.join(","), vec!["1"; 201].join(","));
    let source = Source::bytes(text.as_bytes());
    let profile = describe_source(&source, "wide", "x.csv", &DescribeOptions::default()).unwrap();
    let check = ColumnCheck::new(0, "c200", Rule::NotNull);
    assert_eq!(bound_samples(&check, &[profile]), ["wide"]);
}
