//! Schemas and names that a server writes to keep whoever reads them busy.

use super::*;
use crate::journal::{Call, Ended, Outcome};

/// Schemas that refer to the next one so many times, `levels` deep.
fn chain(of: &str, levels: usize, wide: usize) -> Value {
    let mut definitions = Map::new();
    for level in 0..levels {
        let next = json!({"$ref": format!("#/$defs/a{}", level + 1)});
        let schema = if of == "properties" {
            let fields: Map<String, Value> = (0..wide).map(|n| (format!("f{n}"), next.clone())).collect();
            json!({"type": "object", "properties": fields})
        } else {
            json!({of: vec![next; wide]})
        };
        definitions.insert(format!("a{level}"), schema);
    }
    definitions.insert(format!("a{levels}"), json!({"type": "string"}));
    json!({"$ref": "#/$defs/a0", "$defs": definitions})
}

#[rstest]
#[case::that_doubles(chain("anyOf", 40, 2), "more than 10000 schemas")]
#[case::all_of_which_count(chain("allOf", 40, 2), "more than 10000 schemas")]
#[case::of_objects(chain("properties", 4, 60), "more than 10000 schemas")]
#[case::that_leads_far(chain("anyOf", 5_000, 1), "more than 10000 schemas")]
#[case::by_another_name(json!({"$ref": "#a", "$defs": {"a": {"$anchor": "a"}}}), "references other than")]
#[case::in_another_scope(json!({"$defs": {"a": {"$id": "http://a", "$ref": "#/$defs/b"}}}), "references other than")]
#[case::to_a_file(json!({"$ref": "file:///etc/passwd"}), "references other than")]
fn a_schema_that_stands_for_more_than_its_text_says_is_refused(#[case] schema: Value, #[case] why: &str) {
    for (parameters, result) in [(schema.clone(), None), (json!({}), Some(schema.clone()))] {
        let error = Toolbox::new(vec![tool("t", parameters, result)]).unwrap_err();
        assert!(error.to_string().contains(why), "{error}");
        assert!(error.to_string().contains("toolNames"), "{error}");
    }
}

#[test]
fn without_the_count_a_schema_of_some_hundred_bytes_takes_twice_as_long_with_every_level() {
    let errors = |levels| {
        let validator = jsonschema::validator_for(&chain("allOf", levels, 2)).unwrap();
        validator.iter_errors(&json!(1)).count()
    };
    assert_eq!((errors(8), errors(12)), (1 << 8, 1 << 12));
}

#[rstest]
#[case::a_tree(json!({"$ref": "#/$defs/n", "$defs": {"n": {"properties": {"l": {"$ref": "#/$defs/n"}, "r": {"$ref": "#/$defs/n"}}}}}))]
#[case::itself(json!({"type": "object", "properties": {"inner": {"$ref": "#"}}}))]
#[case::an_escaped_name(json!({"properties": {"a": {"$ref": "#/definitions/a%20b"}}, "definitions": {"a b": {"type": "string"}}}))]
#[case::a_field_called_ref(json!({"properties": {"$ref": {"type": "string"}, "id": {"type": "string"}, "default": {"const": {"$ref": "x"}}}}))]
fn an_honest_schema_is_taken(#[case] schema: Value) {
    assert!(Toolbox::new(vec![tool("t", schema, None)]).is_ok());
}

#[test]
fn a_name_of_a_tool_that_would_fill_a_status_is_refused() {
    let error = Toolbox::new(vec![tool(&"a".repeat(100_000), json!({}), None)]).unwrap_err();
    let error = error.to_string();
    assert!(
        error.len() < 300 && error.contains("more than 128 characters"),
        "{error}"
    );
}

/// A line of its own for every reader of lines that there is.
const ENDS_OF_LINES: &str = "a\nX\rX\r\nX\u{b}X\u{c}X\u{1c}X\u{1d}X\u{1e}X\u{85}X\u{2028}X\u{2029}X";

/// As `str.splitlines` of Python cuts a text.
fn lines(text: &str) -> Vec<&str> {
    text.split([
        '\n', '\r', '\u{b}', '\u{c}', '\u{1c}', '\u{1d}', '\u{1e}', '\u{85}', '\u{2028}', '\u{2029}',
    ])
    .collect()
}

fn prompt_after(message: &str, value: &Value) -> String {
    let ended = |outcome: Outcome| Ended {
        is_refused: false,
        call: Call {
            number: 1,
            tool: "t".to_owned(),
            arguments: Map::from_iter([("text".to_owned(), value.clone())]),
        },
        outcome,
        is_copy: false,
        started_at: String::new(),
        ended_at: String::new(),
    };
    let raised = ended(Outcome::Raised {
        kind: "ValueError".to_owned(),
        message: message.to_owned(),
    });
    let returned = ended(Outcome::Returned(value.clone()));
    let failure = Failure {
        program: "1",
        kind: "ValueError",
        line: None,
        error: message,
        printed: message,
        calls: vec![&raised, &returned],
    };
    prompt::again(&failure).unwrap()
}

#[test]
fn nothing_that_a_tool_says_begins_a_line_of_the_prompt() {
    let told = prompt_after(ENDS_OF_LINES, &json!(ENDS_OF_LINES));
    let escaped: Vec<&str> = lines(&told)
        .into_iter()
        .filter(|line| line.starts_with('X'))
        .collect();
    assert_eq!(escaped, Vec::<&str>::new(), "{told:?}");
    let mut one = tool(
        "t",
        json!({"properties": {"x": {"description": ENDS_OF_LINES}}}),
        None,
    );
    one.description = ENDS_OF_LINES.to_owned();
    let declarations = Toolbox::new(vec![one]).unwrap().declarations();
    assert!(
        lines(&declarations).iter().all(|line| !line.starts_with('X')),
        "{declarations:?}"
    );
}

#[test]
fn what_a_tool_says_in_any_script_is_shown_as_it_is() {
    let honest = "在庫がありません 🛒, 9 個";
    let told = prompt_after(honest, &json!(honest));
    assert_eq!(told.matches(honest).count(), 6, "{told}");
}
