//! Paths of nested records.

use super::*;

#[test]
fn values_are_found_by_path() {
    let value =
        serde_json::json!({"user": {"city": "Köln"}, "items": [{"price": 1}, {"price": 2.5}], "tags": []});
    let mut found = Vec::new();
    each_value(&value, &DataKeys::default(), &mut |path, value| {
        found.push(format!("{path}={value}"));
    });
    assert_eq!(
        found,
        ["user.city=\"Köln\"", "items[].price=1", "items[].price=2.5"]
    );
}

#[test]
fn nesting_beyond_the_limit_is_an_error() {
    let deep = (0..70).fold(serde_json::json!(1), |inner, _| serde_json::json!([inner]));
    assert!(each_value(&deep, &DataKeys::default(), &mut |_, _| ()).is_deeper);
}

#[test]
fn compacting_keeps_blanks_and_quotes_in_strings() {
    assert_eq!(
        compact("{ \"a b\" : \"x \\\" y\" ,\n \"c\": 2.50 }"),
        "{\"a b\":\"x \\\" y\",\"c\":2.50}"
    );
}

#[test]
fn records_before_a_fault_are_read() {
    let mut places = Vec::new();
    let fault = each_element("[1, 2, oops]".as_bytes(), true, |record| {
        places.push(record.place);
    })
    .unwrap();
    assert_eq!(places, [1, 2]);
    assert!(fault.unwrap().contains("line 1"));
}

#[test]
fn a_line_that_is_no_json_keeps_its_number() {
    let mut bad = Vec::new();
    let text = "{\"a\":1}\n\noops\n{\"a\":2}";
    each_line(text.as_bytes(), |record| {
        bad.extend(record.value.is_err().then_some(record.place));
    })
    .unwrap();
    assert_eq!(bad, [3]);
}
