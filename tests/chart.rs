//! The chart agrees with what it is made from. That Helm takes it is seen on the test cluster.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests say what they expect"
)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use codegen_operator::api;
use serde_json::Value;

fn chart(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("charts/codegen-operator")
        .join(path)
}

fn read(path: &str) -> String {
    fs::read_to_string(chart(path)).unwrap()
}

fn values() -> serde_json::Map<String, Value> {
    serde_saphyr::from_str(&read("values.yaml")).unwrap()
}

#[test]
fn the_definitions_of_the_chart_are_those_of_the_types() {
    let mut expected = BTreeSet::new();
    for crd in api::crds() {
        let file = format!("{}.yaml", crd.spec.names.plural);
        assert_eq!(
            read(&format!("files/crds/{file}")),
            api::crd::crd_yaml(&crd).unwrap(),
            "run make generate"
        );
        expected.insert(file);
    }
    let found: BTreeSet<String> = fs::read_dir(chart("files/crds"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn the_schema_knows_exactly_the_values_that_there_are() {
    let schema: Value = serde_json::from_str(&read("values.schema.json")).unwrap();
    let values = Value::Object(values());
    let mut differences = Vec::new();
    compare("", &schema, &values, &mut differences);
    assert!(differences.is_empty(), "{differences:#?}");
    jsonschema::validate(&schema, &values).unwrap();
}

/// Compares keys wherever the schema closes an object.
fn compare(path: &str, schema: &Value, value: &Value, differences: &mut Vec<String>) {
    let (Some(known), Some(given)) = (schema["properties"].as_object(), value.as_object()) else {
        return;
    };
    for name in given.keys().filter(|name| !known.contains_key(*name)) {
        differences.push(format!("{path}.{name} is in values.yaml only"));
    }
    for (name, schema) in known {
        match given.get(name) {
            Some(value) => compare(&format!("{path}.{name}"), schema, value, differences),
            // Helm adds it to the values of every chart.
            None if name == "global" => {}
            None => differences.push(format!("{path}.{name} is in the schema only")),
        }
    }
}

#[test]
fn every_value_says_what_it_does() {
    let text = read("values.yaml");
    let mut silent = Vec::new();
    let mut is_commented = false;
    for line in text.lines() {
        let entry = line.trim_start();
        if entry.starts_with('#') {
            is_commented = true;
        } else if entry.is_empty() {
            is_commented = false;
        } else if entry.ends_with(':') {
            // A group: its entries speak for themselves.
        } else if !is_commented {
            silent.push(line);
        }
    }
    assert!(silent.is_empty(), "{silent:#?}");
}

#[test]
fn the_chart_has_the_version_of_the_operator() {
    let chart: Value = serde_saphyr::from_str(&read("Chart.yaml")).unwrap();
    assert_eq!(chart["appVersion"], env!("CARGO_PKG_VERSION"));
}
