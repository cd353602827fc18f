//! Forms that values take on their way out of a program.

use codegen_interpreter::ReplyOutcome;
use rstest::rstest;
use serde_json::{Value, json};

use crate::support::{program, run, run_with};

#[rstest]
#[case("None", json!(null), "None")]
#[case("True, 1, -2.5", json!([true, 1, -2.5]), "(True, 1, -2.5)")]
#[case("'é\\n\"'", json!("é\n\""), "é\n\"")]
#[case("{'a': [1], 'b': {}}", json!({"a": [1], "b": {}}), "{'a': [1], 'b': {}}")]
#[case("import datetime\ndatetime.date(2026, 1, 2)", json!("2026-01-02"), "2026-01-02")]
#[case("import datetime\ndatetime.datetime(2026, 1, 2, 3, 4)", json!("2026-01-02T03:04:00"), "2026-01-02 03:04:00")]
#[case("from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\n    y: str = 'b'\n[P(1)]", json!([{"x": 1, "y": "b"}]), "[P(x=1, y='b')]")]
#[case("9223372036854775807", json!(9_223_372_036_854_775_807_i64), "9223372036854775807")]
#[case("x = 5", json!(null), "None")]
#[case("ValueError('no')", Value::String("-".into()), "no")]
#[case("2 ** 63", Value::String("-".into()), "9223372036854775808")]
#[case("float('nan')", Value::String("-".into()), "nan")]
#[case("[1e999]", Value::String("-".into()), "[inf]")]
#[case("b'x'", Value::String("-".into()), "b'x'")]
#[case("{1: 2}", Value::String("-".into()), "{1: 2}")]
#[case("{3}", Value::String("-".into()), "{3}")]
#[case("x = []\nx.append(x)\nx", Value::String("-".into()), "[[...]]")]
#[tokio::test]
async fn a_final_value_is_json_where_json_has_it_and_text_always(
    #[case] code: &str,
    #[case] value: Value,
    #[case] text: &str,
) {
    let finished = run(code).await.finished();
    // Here "-" stands for what JSON has not.
    assert_eq!(finished.value.unwrap_or_else(|| json!("-")), value);
    assert_eq!(finished.text, text);
}

#[rstest]
#[case("2 ** 64", "OverflowError", "more than 64 bits")]
#[case("-2 ** 64", "OverflowError", "more than 64 bits")]
#[case("[float('inf')]", "OverflowError", "nan or infinity")]
#[case("b'x'", "TypeError", "bytes")]
#[case("{'a': {1: 2}}", "TypeError", "keys of str")]
#[case("{1}", "TypeError", "sets")]
#[case("b(1)", "TypeError", "await")]
#[case("a", "TypeError", "not a value that JSON has")]
#[case("ValueError('x')", "TypeError", "Exception")]
#[tokio::test]
async fn an_argument_that_json_has_not_raises_where_it_was_passed(
    #[case] value: &str,
    #[case] kind: &str,
    #[case] part: &str,
) {
    let course = run(&format!("x = 1\nawait a(x, value={value})")).await;
    assert!(course.batches.is_empty());
    let raised = course.raised();
    assert_eq!(
        (raised.kind.as_str(), raised.line),
        (kind, Some(2)),
        "{raised:#?}"
    );
    assert!(
        raised.message.starts_with("a(): argument value: "),
        "{}",
        raised.message
    );
    assert!(raised.message.contains(part), "{}", raised.message);
}

#[rstest]
#[case(51.248_178_375_505_404)]
#[case(-93.311_370_376_880_33)]
#[case(31.245_270_191_439_438)]
#[tokio::test]
async fn a_number_of_a_tool_comes_back_to_the_last_bit(#[case] number: f64) {
    let course = run_with(program("await a()"), |_| ReplyOutcome::Return(json!(number))).await;
    assert_eq!(course.value(), json!(number));
}
