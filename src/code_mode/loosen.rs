//! Schemas with references that are not followed: the parts that have them allow anything.
//!
//! What an `$anchor`, a `$dynamicRef` or another document stands for is not in the text around it. A tool whose schema has one is useful
//! all the same, and its server checks what it is given. Nothing is loosened in a way that refuses more than before, and nothing is read.

use serde_json::{Map, Value};

use crate::weight::{NAMED, VALUES, pointer_of};

/// Keywords by which a schema has another name.
const NAMES: [&str; 5] = ["$anchor", "$dynamicAnchor", "$recursiveAnchor", "$id", "id"];
/// Keywords of references to such names.
const DYNAMIC: [&str; 2] = ["$dynamicRef", "$recursiveRef"];
/// Keywords that stay of a part that allows anything.
const ANNOTATIONS: [&str; 3] = ["title", "description", "default"];
/// Keywords that refuse more when a schema in them allows more, or that depend on one.
const TURNED: [&str; 9] = [
    "not",
    "if",
    "then",
    "else",
    "contains",
    "minContains",
    "maxContains",
    "unevaluatedProperties",
    "unevaluatedItems",
];
/// How often parts are dropped that referred to one that was.
const MOST_ROUNDS: usize = 8;

/// The schema in which everything with a reference other than `#/...` allows anything. `None` where it has no such reference.
#[must_use]
pub fn loosened(schema: &Value) -> Option<Value> {
    let mut plain: Option<Value> = None;
    for _ in 0..MOST_ROUNDS {
        let present = plain.as_ref().unwrap_or(schema);
        if !has_foreign_reference(present, present, true) {
            return plain;
        }
        plain = Some(part(present, present, true));
    }
    Some(Value::Object(Map::new()))
}

/// Whether any part of a schema has a reference that is not followed, or a name that changes what references mean.
fn has_foreign_reference(schema: &Value, root: &Value, is_root: bool) -> bool {
    match schema {
        Value::Array(all) => all.iter().any(|one| has_foreign_reference(one, root, false)),
        Value::Object(keywords) => {
            is_foreign(keywords, root, is_root)
                || keywords.iter().any(|(keyword, value)| match value {
                    _ if VALUES.contains(&keyword.as_str()) => false,
                    Value::Object(all) if NAMED.contains(&keyword.as_str()) => {
                        all.values().any(|one| has_foreign_reference(one, root, false))
                    }
                    value => has_foreign_reference(value, root, false),
                })
        }
        _ => false,
    }
}

fn is_foreign(keywords: &Map<String, Value>, root: &Value, is_root: bool) -> bool {
    let text = |keyword: &str| keywords.get(keyword).and_then(Value::as_str);
    let leads_nowhere = |reference: &str| {
        let pointer = pointer_of(reference);
        pointer.is_none_or(|pointer| root.pointer(&pointer).is_none())
    };
    let has_own_scope = !is_root && (text("$id").is_some() || text("id").is_some());
    DYNAMIC.iter().any(|keyword| keywords.contains_key(*keyword))
        || text("$ref").is_some_and(leads_nowhere)
        || has_own_scope
}

/// A part of `root` without what is not followed.
fn part(schema: &Value, root: &Value, is_root: bool) -> Value {
    match schema {
        Value::Array(all) => Value::Array(all.iter().map(|one| part(one, root, false)).collect()),
        Value::Object(keywords) if is_foreign(keywords, root, is_root) => {
            let said = keywords
                .iter()
                .filter(|(keyword, _)| ANNOTATIONS.contains(&keyword.as_str()));
            Value::Object(
                said.map(|(keyword, value)| (keyword.clone(), value.clone()))
                    .collect(),
            )
        }
        Value::Object(keywords) => Value::Object(plain_keywords(keywords, root)),
        other => other.clone(),
    }
}

fn plain_keywords(keywords: &Map<String, Value>, root: &Value) -> Map<String, Value> {
    let mut plain = Map::new();
    for (keyword, value) in keywords {
        let name = keyword.as_str();
        if TURNED.contains(&name) || (NAMES.contains(&name) && !value.is_object()) {
            continue;
        }
        let value = match value {
            value if VALUES.contains(&name) => value.clone(),
            Value::Object(all) if NAMED.contains(&name) => {
                let all = all.iter();
                Value::Object(
                    all.map(|(name, one)| (name.clone(), part(one, root, false)))
                        .collect(),
                )
            }
            value => part(value, root, false),
        };
        // Of alternatives of which one allows anything, several fit.
        let keyword = if name == "oneOf" && !keywords.contains_key("anyOf") {
            "anyOf"
        } else {
            name
        };
        if keyword != "oneOf" {
            plain.insert(keyword.to_owned(), value);
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::weight::check_weight;

    #[rstest]
    #[case::nothing(json!({"type": "object"}))]
    #[case::its_own(json!({"properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"not": {"type": "null"}}}}))]
    #[case::itself(json!({"properties": {"inner": {"$ref": "#"}}}))]
    #[case::fields_of_these_names(json!({"properties": {"$ref": {"type": "string"}, "$dynamicRef": {}, "id": {"type": "string"}}}))]
    #[case::values(json!({"default": {"$ref": "x"}, "enum": [{"$dynamicRef": "#a"}]}))]
    fn a_schema_whose_references_are_followed_stays_as_it_is(#[case] schema: Value) {
        assert_eq!(loosened(&schema), None);
    }

    #[rstest]
    #[case::an_anchor(json!({"properties": {"a": {"$ref": "#node", "description": "A node."}, "b": {"type": "string"}}, "$defs": {"n": {"$anchor": "node", "type": "integer"}}}))]
    #[case::dynamic(json!({"$dynamicAnchor": "node", "properties": {"a": {"$dynamicRef": "#node", "description": "A node."}, "b": {"type": "string"}}}))]
    #[case::recursive(json!({"$recursiveAnchor": true, "properties": {"a": {"$recursiveRef": "#", "description": "A node."}, "b": {"type": "string"}}}))]
    #[case::another_document(json!({"properties": {"a": {"$ref": "https://example.com/a.json", "description": "A node."}, "b": {"type": "string"}}}))]
    #[case::another_scope(json!({"properties": {"a": {"$id": "http://a/", "$ref": "#/$defs/b", "description": "A node."}, "b": {"type": "string"}}}))]
    #[case::by_its_id(json!({"$id": "T0", "properties": {"a": {"$ref": "T0", "description": "A node."}, "b": {"type": "string"}}}))]
    fn only_the_part_with_another_reference_allows_anything(#[case] schema: Value) {
        assert!(check_weight(&schema).is_err());
        let plain = loosened(&schema).unwrap();
        assert_eq!(check_weight(&plain), Ok(()));
        assert_eq!(plain["properties"]["a"], json!({"description": "A node."}));
        let validator = jsonschema::validator_for(&plain).unwrap();
        assert!(validator.is_valid(&json!({"a": [1], "b": "x"})));
        assert!(!validator.is_valid(&json!({"a": [1], "b": 1})));
    }

    #[rstest]
    #[case::not(json!({"not": {"$ref": "#x"}}))]
    #[case::not_by_way_of(json!({"not": {"$ref": "#/$defs/x"}, "$defs": {"x": {"$ref": "#x"}}}))]
    #[case::one_of(json!({"oneOf": [{"type": "integer"}, {"$ref": "#x"}]}))]
    #[case::a_condition(json!({"if": {"$ref": "#x"}, "then": false}))]
    #[case::at_most(json!({"contains": {"$ref": "#x"}, "maxContains": 0}))]
    #[case::nothing_besides(json!({"allOf": [{"$ref": "#x"}], "unevaluatedProperties": false}))]
    #[case::into_what_is_dropped(json!({"properties": {"a": {"$dynamicRef": "#x", "items": {"type": "null"}}, "b": {"$ref": "#/properties/a/items"}}}))]
    fn nothing_is_refused_that_was_not(#[case] schema: Value) {
        let validator = jsonschema::validator_for(&loosened(&schema).unwrap()).unwrap();
        for value in [json!(1), json!({"a": 1, "b": 2}), json!([1])] {
            assert!(validator.is_valid(&value), "{value}");
        }
    }
}
