//! A schema without references: what each of them stands for stands in its place, once, when a tool is listed.
//!
//! A server writes it, and a few references can stand for more than anybody can check. Whoever reads a schema after that meets no
//! reference. Nothing is read for one, and nothing is loosened in a way that refuses more than before.

use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};

/// Schemas that one may stand for, with the values of its enumerations.
pub const MOST_SCHEMAS: usize = 10_000;
/// Levels of objects and lists. Documents that hold a schema are read to 128 levels.
const MOST_LEVELS: usize = 100;
/// Keywords under which every key is a name, and every value a schema.
pub(crate) const NAMED: [&str; 4] = [
    "properties",
    "patternProperties",
    "dependentSchemas",
    "dependencies",
];
/// Keywords that hold what references lead to.
const DEFINITIONS: [&str; 2] = ["$defs", "definitions"];
/// Keywords under which there are values.
pub(crate) const VALUES: [&str; 5] = ["enum", "const", "default", "example", "examples"];
/// Keywords by which a schema has another name.
const NAMES: [&str; 5] = ["$anchor", "$dynamicAnchor", "$recursiveAnchor", "$id", "id"];
/// Keywords that stay of a part that allows anything.
const ANNOTATIONS: [&str; 3] = ["title", "description", "default"];
/// Keywords that refuse more when a schema in them allows more, or that depend on one.
const TURNED: [&str; 7] = [
    "not",
    "if",
    "then",
    "else",
    "contains",
    "minContains",
    "maxContains",
];
/// Keywords that collect the faults of all their schemas before the first one is told.
pub(crate) const COLLECTING: [&str; 2] = ["anyOf", "oneOf"];
/// Keywords that hold what is in their schema to it once more, so that one in another's alternatives doubles the work. They are left out.
const UNEVALUATED: [&str; 2] = ["unevaluatedProperties", "unevaluatedItems"];

/// A schema that stands for more than [`MOST_SCHEMAS`], or is deeper than anybody reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it has more than {MOST_SCHEMAS} schemas, or is nested more than {MOST_LEVELS} levels deep")]
pub struct SchemaTooLarge;

/// A schema without references.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Finite {
    /// The schema.
    pub schema: Value,
    /// Schemas that it has, with the values of its enumerations.
    pub size: usize,
    /// True where it has keywords that collect the faults of all their schemas before the first one is told.
    pub collects: bool,
    /// True where parts of it allow more: those with a reference into themselves or out of the schema, all with a reference where they
    /// stand for too many, and what nothing else has evaluated.
    pub is_loosened: bool,
}

/// The schema without references. An error where it is too large without following any.
pub fn finite(schema: &Value) -> Result<Finite, SchemaTooLarge> {
    inlined(schema, true).or_else(|SchemaTooLarge| inlined(schema, false))
}

fn inlined(root: &Value, follows: bool) -> Result<Finite, SchemaTooLarge> {
    let draft = root["$schema"].as_str().unwrap_or_default();
    let mut inliner = Inliner {
        root,
        follows,
        ignores_siblings: draft.contains("/draft-0"),
        open: Vec::new(),
        levels: 0,
        found: Finite::default(),
    };
    let schema = inliner.schema(root)?;
    Ok(Finite {
        schema,
        ..inliner.found
    })
}

struct Inliner<'a> {
    root: &'a Value,
    follows: bool,
    /// True where keywords beside a reference mean nothing, as in early drafts.
    ignores_siblings: bool,
    /// References whose targets are being read.
    open: Vec<&'a str>,
    levels: usize,
    /// Findings so far; whether it is loosened is said of the part that is being read.
    found: Finite,
}

/// Result of reading a part.
type Part = Result<Value, SchemaTooLarge>;

impl<'a> Inliner<'a> {
    fn schema(&mut self, schema: &'a Value) -> Part {
        let Value::Object(keywords) = schema else {
            return self.values(schema);
        };
        self.count(1)?;
        if keywords.contains_key("$dynamicRef") || keywords.contains_key("$recursiveRef") {
            return Ok(self.anything(keywords));
        }
        let has_text = |keyword: &str| keywords.get(keyword).is_some_and(Value::is_string);
        if !std::ptr::eq(schema, self.root) && (has_text("$id") || has_text("id")) {
            return Ok(self.anything(keywords));
        }
        match keywords.get("$ref") {
            Some(Value::String(reference)) => self.reference(reference, keywords),
            _ => self.level(|this| this.keywords(keywords)),
        }
    }

    /// A list of schemas, or a value that is none.
    fn values(&mut self, value: &'a Value) -> Part {
        let Value::Array(all) = value else {
            return Ok(value.clone());
        };
        self.count(all.len())?;
        self.level(|this| {
            let all = all.iter().map(|one| this.schema(one));
            Ok(Value::Array(all.collect::<Result<_, _>>()?))
        })
    }

    fn keywords(&mut self, keywords: &'a Map<String, Value>) -> Part {
        let mut plain = Map::new();
        let of_others = std::mem::take(&mut self.found.is_loosened);
        for (keyword, value) in keywords {
            let name = keyword.as_str();
            if UNEVALUATED.contains(&name) {
                self.found.is_loosened = true;
                continue;
            }
            if DEFINITIONS.contains(&name) || name == "$ref" || (NAMES.contains(&name) && !value.is_object())
            {
                continue;
            }
            self.found.collects |= COLLECTING.contains(&name);
            let value = match value {
                value if VALUES.contains(&name) => {
                    self.count(value.as_array().map_or(0, Vec::len))?;
                    value.clone()
                }
                Value::Object(all) if NAMED.contains(&name) => self.level(|this| this.named(all))?,
                value => self.schema(value)?,
            };
            plain.insert(keyword.clone(), value);
        }
        if self.found.is_loosened {
            plain.retain(|keyword, _| !TURNED.contains(&keyword.as_str()));
            // Of alternatives of which one allows anything, several fit.
            if let Some(of) = plain.remove("oneOf") {
                plain.entry("anyOf").or_insert(of);
            }
        }
        self.found.is_loosened |= of_others;
        Ok(Value::Object(plain))
    }

    fn named(&mut self, all: &'a Map<String, Value>) -> Part {
        let all = all
            .iter()
            .map(|(name, one)| self.schema(one).map(|one| (name.clone(), one)));
        Ok(Value::Object(all.collect::<Result<_, _>>()?))
    }

    fn reference(&mut self, reference: &'a str, keywords: &'a Map<String, Value>) -> Part {
        let may_follow = self.follows && !self.open.contains(&reference);
        let target = reference.strip_prefix('#').filter(|_| may_follow);
        let target = target.map(|pointer| percent_decode_str(pointer).decode_utf8_lossy());
        let target = target.and_then(|pointer| self.root.pointer(&pointer));
        let Some(target) = target.filter(|target| target.is_object() || target.is_boolean()) else {
            return Ok(self.anything(keywords));
        };
        self.open.push(reference);
        let inner = self.schema(target)?;
        self.open.pop();
        let beside = if self.ignores_siblings {
            annotations(keywords)
        } else {
            self.level(|this| this.keywords(keywords))?
        };
        Ok(joined(inner, beside))
    }

    /// A part that allows anything.
    fn anything(&mut self, keywords: &Map<String, Value>) -> Value {
        self.found.is_loosened = true;
        annotations(keywords)
    }

    fn level(&mut self, read: impl FnOnce(&mut Self) -> Part) -> Part {
        self.levels += 1;
        let part = (self.levels <= MOST_LEVELS).then(|| read(self));
        self.levels -= 1;
        part.unwrap_or(Err(SchemaTooLarge))
    }

    fn count(&mut self, more: usize) -> Result<(), SchemaTooLarge> {
        self.found.size += more;
        if self.found.size > MOST_SCHEMAS {
            return Err(SchemaTooLarge);
        }
        Ok(())
    }
}

/// Returns what is said of a part that allows anything.
fn annotations(keywords: &Map<String, Value>) -> Value {
    let said = ANNOTATIONS
        .iter()
        .filter_map(|keyword| Some(((*keyword).to_owned(), keywords.get(*keyword)?.clone())));
    Value::Object(said.collect())
}

/// Joins what a reference stands for with what stands beside it.
fn joined(inner: Value, beside: Value) -> Value {
    let Value::Object(mut beside) = beside else {
        return inner;
    };
    let is_said = |keyword: &String| ANNOTATIONS.contains(&keyword.as_str());
    match inner {
        inner if beside.is_empty() => inner,
        Value::Object(mut keywords) if beside.keys().all(is_said) => {
            keywords.extend(beside);
            Value::Object(keywords)
        }
        inner => {
            let mut all = vec![inner];
            if let Some(Value::Array(more)) = beside.remove("allOf") {
                all.extend(more);
            }
            beside.insert("allOf".to_owned(), Value::Array(all));
            Value::Object(beside)
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case::nothing(json!({"type": "object"}), json!({"type": "object"}))]
    #[case::its_own(
        json!({"properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"not": {"type": "null"}}}}),
        json!({"properties": {"a": {"not": {"type": "null"}}}})
    )]
    #[case::an_escaped_name(
        json!({"items": {"$ref": "#/definitions/a%20b"}, "definitions": {"a b": {"type": "string"}}}),
        json!({"items": {"type": "string"}})
    )]
    #[case::described_anew(
        json!({"items": {"$ref": "#/$defs/a", "description": "New."}, "$defs": {"a": {"type": "string", "description": "Old."}}}),
        json!({"items": {"type": "string", "description": "New."}})
    )]
    #[case::with_more_beside_it(
        json!({"items": {"$ref": "#/$defs/a", "minLength": 3}, "$defs": {"a": {"type": "string"}}}),
        json!({"items": {"allOf": [{"type": "string"}], "minLength": 3}})
    )]
    #[case::in_an_early_draft_nothing_else_counts(
        json!({"$schema": "http://json-schema.org/draft-07/schema#", "items": {"$ref": "#/definitions/a", "minLength": 3}, "definitions": {"a": {"type": "string"}}}),
        json!({"$schema": "http://json-schema.org/draft-07/schema#", "items": {"type": "string"}})
    )]
    #[case::fields_of_these_names(
        json!({"properties": {"$ref": {"type": "string"}, "$dynamicRef": {}, "id": {"type": "string"}}}),
        json!({"properties": {"$ref": {"type": "string"}, "$dynamicRef": {}, "id": {"type": "string"}}})
    )]
    #[case::values(
        json!({"default": {"$ref": "x"}, "enum": [{"$dynamicRef": "#a"}]}),
        json!({"default": {"$ref": "x"}, "enum": [{"$dynamicRef": "#a"}]})
    )]
    fn a_reference_becomes_what_it_stands_for(#[case] schema: Value, #[case] expected: Value) {
        let plain = finite(&schema).unwrap();
        assert_eq!((plain.schema, plain.is_loosened), (expected, false));
    }

    #[rstest]
    #[case::an_anchor(json!({"properties": {"a": {"$ref": "#node", "description": "A node."}, "b": {"type": "string"}}, "$defs": {"n": {"$anchor": "node", "type": "integer"}}}))]
    #[case::dynamic(json!({"$dynamicAnchor": "node", "properties": {"a": {"$dynamicRef": "#node", "description": "A node."}, "b": {"type": "string"}}}))]
    #[case::recursive(json!({"$recursiveAnchor": true, "properties": {"a": {"$recursiveRef": "#", "description": "A node."}, "b": {"type": "string"}}}))]
    #[case::another_document(json!({"properties": {"a": {"$ref": "https://example.com/a.json", "description": "A node."}, "b": {"type": "string"}}}))]
    #[case::another_scope(json!({"properties": {"a": {"$id": "http://a/", "$ref": "#/$defs/b", "description": "A node."}, "b": {"type": "string"}}}))]
    #[case::by_its_id(json!({"$id": "T0", "properties": {"a": {"$ref": "T0", "description": "A node."}, "b": {"type": "string"}}}))]
    fn only_the_part_with_another_reference_allows_anything(#[case] schema: Value) {
        let plain = finite(&schema).unwrap();
        assert!(plain.is_loosened);
        assert_eq!(plain.schema["properties"]["a"], json!({"description": "A node."}));
        assert_eq!(
            finite(&plain.schema).unwrap(),
            Finite {
                is_loosened: false,
                ..plain.clone()
            }
        );
        let validator = jsonschema::validator_for(&plain.schema).unwrap();
        assert!(validator.is_valid(&json!({"a": [1], "b": "x"})));
        assert!(!validator.is_valid(&json!({"a": [1], "b": 1})));
    }

    #[test]
    fn what_contains_itself_is_held_to_once_and_allows_anything_within() {
        let schema = json!({
            "type": "object",
            "properties": {"name": {"type": "string"}, "inner": {"$ref": "#"}},
            "unevaluatedProperties": false
        });
        let plain = finite(&schema).unwrap();
        assert!(plain.is_loosened);
        let validator = jsonschema::validator_for(&plain.schema).unwrap();
        assert!(!validator.is_valid(&json!({"inner": {"name": 1}})));
        assert!(validator.is_valid(&json!({"inner": {"inner": {"name": "x"}}})));
    }

    #[rstest]
    #[case::not(json!({"not": {"$ref": "#x"}}))]
    #[case::not_by_way_of(json!({"not": {"$ref": "#/$defs/x"}, "$defs": {"x": {"$ref": "#x"}}}))]
    #[case::one_of(json!({"oneOf": [{"type": "integer"}, {"$ref": "#x"}]}))]
    #[case::a_condition(json!({"if": {"$ref": "#x"}, "then": false}))]
    #[case::at_most(json!({"contains": {"$ref": "#x"}, "maxContains": 0}))]
    #[case::nothing_besides(json!({"allOf": [{"$ref": "#x"}], "unevaluatedProperties": false}))]
    fn nothing_is_refused_that_was_not(#[case] schema: Value) {
        let validator = jsonschema::validator_for(&finite(&schema).unwrap().schema).unwrap();
        for value in [json!(1), json!({"a": 1, "b": 2}), json!([1])] {
            assert!(validator.is_valid(&value), "{value}");
        }
    }

    #[test]
    fn a_schema_that_is_too_large_by_itself_is_none() {
        let flat: Map<String, Value> = (0..10_001).map(|n| (format!("f{n}"), json!({}))).collect();
        let deep = (0..60).fold(json!({}), |inner, _| json!({"properties": {"a": inner}}));
        for schema in [
            json!({"properties": flat}),
            json!({"enum": vec![1; 10_001]}),
            deep,
        ] {
            assert_eq!(finite(&schema), Err(SchemaTooLarge));
        }
    }
}
