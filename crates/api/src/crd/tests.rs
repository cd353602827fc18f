//! Properties of every definition: bounds, documentation, and files that say the same.

use serde_json::Value;

use super::*;

/// Calls `check` with each property of a schema and its path.
fn visit(schema: &Value, path: &str, check: &mut dyn FnMut(&str, &Value)) {
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let here = format!("{path}.{name}");
        check(&here, property);
        visit(property, &here, check);
    }
    for (part, inner) in [("[]", &schema["items"]), ("{}", &schema["additionalProperties"])] {
        if inner.is_object() {
            visit(inner, &format!("{path}{part}"), check);
        }
    }
}

fn schemas() -> Vec<(String, Value)> {
    let schema = |crd: CustomResourceDefinition| {
        let version = crd.spec.versions[0].clone();
        let schema = serde_json::to_value(version.schema.unwrap().open_api_v3_schema).unwrap();
        (crd.spec.names.kind, schema)
    };
    crds().into_iter().map(schema).collect()
}

fn unbounded(schema: &Value) -> Option<&'static str> {
    let has = |key: &str| schema.get(key).is_some();
    match schema["type"].as_str() {
        Some("string") if !has("maxLength") && !has("enum") => Some("text without maxLength"),
        Some("array") if !has("maxItems") => Some("list without maxItems"),
        Some("array") => unbounded(&schema["items"]),
        Some("object") if has("additionalProperties") && !has("maxProperties") => {
            Some("map without maxProperties")
        }
        Some("object") if has("additionalProperties") => unbounded(&schema["additionalProperties"]),
        Some("integer") if !has("minimum") && !has("x-kubernetes-validations") => {
            Some("number without minimum")
        }
        _ => None,
    }
}

#[test]
fn every_property_says_what_it_is_for() {
    let mut silent = Vec::new();
    for (kind, schema) in schemas() {
        visit(
            &schema["properties"]["spec"],
            &format!("{kind}.spec"),
            &mut |path, property| {
                if property["description"].as_str().is_none_or(str::is_empty) {
                    silent.push(path.to_owned());
                }
            },
        );
        visit(
            &schema["properties"]["status"],
            &format!("{kind}.status"),
            &mut |path, property| {
                if property["description"].as_str().is_none_or(str::is_empty) {
                    silent.push(path.to_owned());
                }
            },
        );
    }
    assert_eq!(silent, Vec::<String>::new());
}

#[test]
fn every_text_list_map_and_number_that_a_user_writes_has_a_bound() {
    let mut loose = Vec::new();
    for (kind, schema) in schemas() {
        visit(
            &schema["properties"]["spec"],
            &format!("{kind}.spec"),
            &mut |path, property| {
                loose.extend(unbounded(property).map(|why| format!("{path}: {why}")));
            },
        );
    }
    assert_eq!(loose, Vec::<String>::new());
}

#[test]
fn every_optional_setting_says_its_default() {
    const COMPULSORY_OR_WITHOUT: [&str; 3] = [".spec.model.name", ".spec.agentRef", ".spec.schema"];
    let mut silent = Vec::new();
    for (kind, schema) in schemas() {
        let spec = &schema["properties"]["spec"];
        for part in ["model", "image", "sandbox", "limits", "testing"] {
            visit(
                &spec["properties"][part],
                &format!(".spec.{part}"),
                &mut |path, property| {
                    let depth = path.matches('.').count();
                    let told = property["description"]
                        .as_str()
                        .unwrap()
                        .to_lowercase()
                        .contains("default");
                    if depth == 3 && !told && !COMPULSORY_OR_WITHOUT.contains(&path) {
                        silent.push(format!("{kind}{path}"));
                    }
                },
            );
        }
    }
    assert_eq!(silent, Vec::<String>::new());
}

#[test]
fn no_field_is_nullable_and_no_description_is_broken_into_lines() {
    let yaml = crds_yaml().unwrap();
    assert!(!yaml.contains("nullable"));
    for (_, schema) in schemas() {
        visit(&schema, "", &mut |path, property| {
            let description = property["description"].as_str().unwrap_or_default();
            assert!(!description.replace("\n\n", "").contains('\n'), "{path}");
        });
    }
}

#[test]
fn printer_columns_are_the_ones_that_answer_what_became_of_it() {
    let columns: Vec<(String, bool)> = crds()[0].spec.versions[0]
        .additional_printer_columns
        .iter()
        .flatten()
        .map(|column| (column.name.clone(), column.priority == Some(1)))
        .collect();
    let expected = [
        ("Ready", false),
        ("Stage", false),
        ("Attempt", false),
        ("Tests", false),
        ("Tokens", false),
        ("Age", false),
        ("Reason", true),
        ("Image", true),
        ("Program", true),
    ];
    assert_eq!(columns, expected.map(|(name, wide)| (name.to_owned(), wide)));
}

#[test]
fn lists_of_named_things_merge_by_name() {
    let mut keyed = Vec::new();
    for (kind, schema) in schemas() {
        visit(&schema, &kind, &mut |path, property| {
            if property["x-kubernetes-list-type"] == "map" {
                keyed.push(path.to_owned());
            }
        });
    }
    keyed.sort();
    assert_eq!(
        keyed,
        [
            "CodeGenAgent.spec.escalation[].model.headers",
            "CodeGenAgent.spec.model.headers",
            "CodeGenAgent.spec.sandbox.secrets",
            "CodeGenRun.spec.inputs",
            "CodeGenRun.spec.sandbox.secrets",
            "CodeGenRun.status.conditions",
            "CodeGenTask.spec.escalation[].model.headers",
            "CodeGenTask.spec.inputs",
            "CodeGenTask.spec.model.headers",
            "CodeGenTask.spec.outputs",
            "CodeGenTask.spec.samples",
            "CodeGenTask.spec.sandbox.secrets",
            "CodeGenTask.status.conditions",
            "CodeModeAgent.spec.model.headers",
            "CodeModeAgent.spec.tools",
            "CodeModeAgent.spec.tools[].http.headersFrom",
            "CodeModeAgent.spec.tools[].mcp.headersFrom",
            "CodeModeAgent.status.conditions",
            "CodeModeRun.status.conditions",
        ]
    );
}

#[test]
fn the_definitions_in_the_repository_are_the_ones_of_the_types() {
    for crd in crds() {
        let file = format!(
            "{}/../../crds/{}.yaml",
            env!("CARGO_MANIFEST_DIR"),
            crd.spec.names.plural
        );
        let committed = std::fs::read_to_string(&file).unwrap_or_default();
        assert!(
            committed == crd_yaml(&crd).unwrap(),
            "crds/{}.yaml is out of date: run `cargo run --bin codegen-operator crds --output crds`",
            crd.spec.names.plural
        );
    }
}

#[test]
fn the_yaml_stream_reads_back_as_the_same_definitions() {
    let documents: Vec<CustomResourceDefinition> =
        serde_saphyr::from_multiple(&crds_yaml().unwrap()).unwrap();
    assert_eq!(documents, crds());
}

#[test]
fn no_rule_is_estimated_above_the_api_servers_budget() {
    use kube::core::cel::{compile_schema, estimate_rule_cost};
    let mut warnings = Vec::new();
    for (kind, schema) in schemas() {
        visit(&schema, &kind, &mut |path, property| {
            let compiled = compile_schema(property);
            for rule in property["x-kubernetes-validations"]
                .as_array()
                .into_iter()
                .flatten()
            {
                let found = estimate_rule_cost(rule["rule"].as_str().unwrap(), &compiled);
                warnings.extend(
                    found
                        .into_iter()
                        .map(|warning| format!("{path}: {}", warning.message)),
                );
            }
        });
    }
    assert_eq!(warnings, Vec::<String>::new());
}
