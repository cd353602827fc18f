use rstest::rstest;
use serde_json::json;

use super::*;

fn object(value: &Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

fn template(text: &str) -> UrlTemplate {
    let parameters = json!({"properties": {"a": {}, "b": {}}, "required": ["a", "b"]});
    UrlTemplate::new(text, &parameters).unwrap()
}

fn filled(text: &str, arguments: &Value) -> Result<String, String> {
    let arguments = object(arguments);
    let (mut url, rest) = template(text).fill(&arguments)?;
    add_query(&mut url, &rest);
    Ok(url.to_string())
}

#[rstest]
#[case("https://x.example/v1/{a}", json!({"a": "EUR"}), "https://x.example/v1/EUR")]
#[case("https://x.example:8443/v1/{a}/of/{b}.json", json!({"a": 7, "b": true}), "https://x.example:8443/v1/7/of/true.json")]
#[case("https://x.example/{a}?v=1", json!({"a": "x", "q": "a&b"}), "https://x.example/x?v=1&q=a%26b")]
#[case("https://x.example", json!({"q": [1, null, "two"], "n": null}), "https://x.example/?q=1&q=two")]
#[case("https://x.example/v1/", json!({"q": {"k": 1}}), "https://x.example/v1/?q=%7B%22k%22%3A1%7D")]
#[case("https://x.example/a b/%7e/", json!({}), "https://x.example/a%20b/%7e/")]
fn arguments_fill_the_path_and_the_rest_is_the_query(
    #[case] text: &str,
    #[case] arguments: Value,
    #[case] expected: &str,
) {
    assert_eq!(filled(text, &arguments).unwrap(), expected);
}

#[rstest]
#[case("a/b", "a%2Fb")]
#[case("a\\b", "a%5Cb")]
#[case("a?b=c", "a%3Fb%3Dc")]
#[case("a#b", "a%23b")]
#[case("a%2e", "a%252e")]
#[case("%2e%2e", "%252e%252e")]
#[case("..a", "..a")]
#[case("a@b:c", "a%40b%3Ac")]
#[case(".\t.", ".%09.")]
#[case("a\r\nHost: b", "a%0D%0AHost%3A%20b")]
#[case("ä€", "%C3%A4%E2%82%AC")]
fn a_value_stays_within_its_segment(#[case] value: &str, #[case] segment: &str) {
    let url = filled("https://x.example/v1/{a}/end", &json!({"a": value})).unwrap();
    assert_eq!(url, format!("https://x.example/v1/{segment}/end"));
}

#[rstest]
#[case(json!(".."), "segment `.` or `..`")]
#[case(json!("."), "segment `.` or `..`")]
#[case(json!("../admin"), "`a` has a step `..`")]
#[case(json!("x\\..\\admin"), "`a` has a step `..`")]
#[case(json!(""), "`a` is empty")]
#[case(json!(null), "`a` is missing")]
#[case(json!(["x"]), "must be a string")]
fn a_value_that_names_another_address_is_refused(#[case] value: Value, #[case] why: &str) {
    let error = filled("https://x.example/v1/{a}/end", &json!({"a": value})).unwrap_err();
    assert!(error.contains(why), "{error}");
}

#[test]
fn two_values_make_no_step_upwards_together() {
    let dotted = "https://x.example/{a}.{b}/end";
    assert_eq!(
        filled(dotted, &json!({"a": "x", "b": "csv"})).unwrap(),
        "https://x.example/x.csv/end"
    );
    let error = filled("https://x.example/{a}{b}/end", &json!({"a": ".", "b": "."})).unwrap_err();
    assert!(error.contains("segment `.` or `..`"), "{error}");
}

#[rstest]
#[case("https://{a}.example/v1", "in its path alone")]
#[case("https://x.example/v1?base={a}", "in its path alone")]
#[case("https://x.example/v1/{c}", "`{c}` is none of the properties")]
#[case("https://x.example/v1/{optional}", "`{optional}` is not required")]
#[case("https://x.example/v1/{a", "a { is not closed")]
#[case("https://x.example/v1/a}", "a } is not opened")]
#[case("https://x.example/v1#top", "fragment")]
#[case("https://x.example/v1/../v2", "`.` or `..`")]
#[case("x.example/v1", "write an http or https address")]
fn a_template_without_meaning_is_refused_when_it_is_defined(#[case] text: &str, #[case] why: &str) {
    let parameters = json!({"properties": {"a": {}, "optional": {}}, "required": ["a"]});
    let error = UrlTemplate::new(text, &parameters).unwrap_err();
    assert!(error.contains(why), "{error}");
}
