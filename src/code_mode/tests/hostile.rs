//! Schemas and names that a server writes to keep whoever reads them busy.

use super::*;

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
