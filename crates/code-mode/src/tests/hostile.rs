//! Schemas and names that a server writes to keep whoever reads them busy.

use super::*;
use crate::faults::{HeldTo, ValueFault};
use crate::journal::{Call, CallEnd, CallOutcome};

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
#[case::that_doubles(chain("anyOf", 40, 2))]
#[case::all_of_which_count(chain("allOf", 40, 2))]
#[case::of_objects(chain("properties", 4, 60))]
#[case::that_leads_far(chain("anyOf", 5_000, 1))]
fn references_that_stand_for_more_than_their_text_says_allow_anything(#[case] schema: Value) {
    let plain = finite(&schema).unwrap();
    assert_eq!((plain.schema, plain.is_loosened), (json!({}), true));
    let held = HeldTo::new(&schema).unwrap();
    assert!(held.faults(&json!(1), 1).is_empty());
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
#[case::look_around("^(?:(?:(?=a)a|(?=a)a)*b|a*)$")]
#[case::a_reference_back(r"^(a+)\1$")]
#[case::larger_than_its_text("^(?:(?:(?:a{100}){100}){100})$")]
#[case::none_at_all("(")]
fn a_pattern_that_is_not_matched_in_linear_time_is_named_when_its_tool_is_listed(#[case] pattern: &str) {
    let texts = json!({"items": {"properties": {"code": {"pattern": pattern}}}});
    let names = json!({"items": {"properties": {"code": {"patternProperties": {pattern: {}}}}}});
    for (schema, keyword) in [(texts, "pattern"), (names, "patternProperties")] {
        let listed = tool("rates", json!({}), Some(schema));
        let error = check_schemas(&[listed]).unwrap_err().to_string();
        let path = format!("`/items/properties/code/{keyword}");
        for part in ["`rates`", &path, &format!("{pattern:?}")] {
            assert!(error.contains(part), "{part} in {error}");
        }
    }
}

#[test]
fn without_the_linear_engine_a_text_of_seventeen_characters_takes_a_hundred_thousand_steps() {
    let schema = json!({"pattern": "^(?:(?:(?=a)a|(?=a)a)*b|a*)$"});
    let within = |steps| {
        let engine = jsonschema::PatternOptions::fancy_regex().backtrack_limit(steps);
        let validator = jsonschema::options().with_pattern_options(engine).build(&schema);
        validator.unwrap().is_valid(&json!("a".repeat(17)))
    };
    assert_eq!((within(100_000), within(1_000_000)), (false, true));
}

#[test]
fn more_patterns_than_anybody_writes_are_refused_before_one_is_compiled() {
    let all: Vec<Value> = (0..257).map(|n| json!({"pattern": format!("^{n}")})).collect();
    let error = check_schemas(&[tool("t", json!({"allOf": all}), None)]).unwrap_err();
    assert!(error.to_string().contains("more than 256 patterns"), "{error}");
    let large: Vec<Value> = (0..9)
        .map(|n| json!({"pattern": format!("^.{{1,2000}}{n}$")}))
        .collect();
    let error = check_schemas(&[tool("t", json!({"allOf": large}), None)]).unwrap_err();
    assert!(error.to_string().contains("bytes compiled"), "{error}");
}

#[rstest]
#[case::by_enumerations(json!({"items": {"enum": (0..9_000).collect::<Vec<_>>()}}), json!(vec![-1; 500_000]))]
#[case::by_patterns(
    json!({"items": {"allOf": (0..200).map(|n| json!({"pattern": format!("a{n}$")})).collect::<Vec<_>>()}}),
    json!(vec!["a".repeat(1_000_000); 6])
)]
fn a_value_is_not_held_to_a_schema_for_longer_than_a_bound(#[case] schema: Value, #[case] value: Value) {
    let held = HeldTo::new(&schema).unwrap();
    assert!(matches!(held.faults(&value, 1)[..], [ValueFault::TooLong]));
    let arguments = check("t", &schema, &value).unwrap_err();
    assert!(
        arguments.to_string().contains("give less at a time"),
        "{arguments}"
    );
}

#[test]
fn what_nothing_else_has_evaluated_is_allowed_however_deep_the_schema_asks_for_it() {
    let schema = (0..40).fold(
        json!({"properties": {"a": {"type": "integer"}}}),
        |inner, _| json!({"allOf": [inner], "unevaluatedProperties": false}),
    );
    assert!(finite(&schema).unwrap().is_loosened);
    let held = HeldTo::new(&schema).unwrap();
    assert!(held.faults(&json!({"a": 1, "b": 2}), 1).is_empty());
    assert_eq!(held.faults(&json!({"a": "x"}), 1).len(), 1);
}

#[rstest]
#[case::a_tree(json!({"$ref": "#/$defs/n", "$defs": {"n": {"properties": {"l": {"$ref": "#/$defs/n"}, "r": {"$ref": "#/$defs/n"}}}}}))]
#[case::itself(json!({"type": "object", "properties": {"inner": {"$ref": "#"}}}))]
#[case::an_escaped_name(json!({"properties": {"a": {"$ref": "#/definitions/a%20b"}}, "definitions": {"a b": {"type": "string"}}}))]
#[case::a_field_called_ref(json!({"properties": {"$ref": {"type": "string"}, "id": {"type": "string"}, "default": {"const": {"$ref": "x"}}}}))]
#[case::patterns(json!({"properties": {
    "id": {"pattern": "^[0-9a-f]{8}-[0-9a-f]{4}-[1-5][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$"},
    "on": {"pattern": r"^\d{4}-\d{2}-\d{2}$"},
    "name": {"pattern": r"^[\p{L}\p{N} .'-]{1,50}$"},
    "address": {"pattern": r"^[^@\s]+@[^@\s]+\.[^@\s]+$"},
    "arn": {"pattern": r"^arn:[\w+=/,.@-]+:[\w+=/,.@-]+:[\w+=/,.@-]*:[0-9]*:[\w+=/,.@-]{1,1024}$"},
    "any": {"pattern": "^.{1,500}$"}
}}))]
fn an_honest_schema_is_taken(#[case] schema: Value) {
    let tools = vec![tool("t", schema, None)];
    assert_eq!(check_schemas(&tools), Ok(()));
    assert!(Toolbox::new(tools).is_ok());
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

#[test]
fn without_the_bound_a_name_of_any_length_is_one_of_a_parameter() {
    let long = "a".repeat(100_000);
    assert!(crate::names::is_name(&long));
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
    let ended = |outcome: CallOutcome| CallEnd {
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
    let raised = ended(CallOutcome::Raised {
        kind: "ValueError".to_owned(),
        message: message.to_owned(),
    });
    let returned = ended(CallOutcome::Returned(value.clone()));
    let failed = Evidence {
        program: "1".to_owned(),
        kind: "ValueError".to_owned(),
        line: None,
        error: message.to_owned(),
        printed: message.to_owned(),
        calls: vec![raised, returned],
    };
    prompt::again(&failed).unwrap()
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
fn as_a_tool_says_it_a_text_begins_lines_of_its_own() {
    let begun = lines(ENDS_OF_LINES)
        .into_iter()
        .filter(|line| line.starts_with('X'));
    assert_eq!(begun.count(), 11);
}

#[test]
fn what_a_tool_says_in_any_script_is_shown_as_it_is() {
    let honest = "在庫がありません 🛒, 9 個";
    let told = prompt_after(honest, &json!(honest));
    assert_eq!(told.matches(honest).count(), 6, "{told}");
}
