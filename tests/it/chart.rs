//! The charts agree with what they are made from. What Helm makes of them `make packaging` shows.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use codegen_api::conditions::reason;
use codegen_data::worker;
use codegen_operator::controller::config::OperatorConfig;
use rstest::rstest;
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
fn the_definitions_of_the_charts_and_of_deploy_are_those_of_the_types() {
    for folder in ["files/crds", "../codegen-operator-crds/files/crds"] {
        let mut expected = BTreeSet::new();
        for crd in codegen_api::crds() {
            let file = format!("{}.yaml", crd.spec.names.plural);
            let found = read(&format!("{folder}/{file}"));
            assert_eq!(
                found,
                codegen_api::crd::crd_yaml(&crd).unwrap(),
                "run make generate"
            );
            expected.insert(file);
        }
        let found: BTreeSet<String> = fs::read_dir(chart(folder))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        assert_eq!(found, expected);
    }
    let deploy = read("../../deploy/base/crds.yaml");
    assert_eq!(deploy, codegen_api::crds_yaml().unwrap(), "run make generate");
}

#[test]
fn both_charts_bring_definitions_in_the_same_way() {
    let template = |chart: &str| read(&format!("{chart}/templates/crds.yaml"));
    let apart = template("../codegen-operator-crds").replace(".Values.keep", ".Values.crds.keep");
    let within = template(".");
    let within = within
        .strip_prefix("{{- if .Values.crds.install }}\n")
        .and_then(|within| within.strip_suffix("{{- end }}\n"));
    assert_eq!(within, Some(apart.as_str()));
}

#[test]
fn the_readmes_have_every_value() {
    let check = Command::new(chart("../../scripts/chart-values"))
        .arg("--check")
        .output();
    let check = check.expect("python3");
    assert!(
        check.status.success(),
        "{}",
        String::from_utf8_lossy(&check.stderr)
    );
}

#[test]
fn the_limit_of_memory_holds_the_operator_all_readers_and_all_programs() {
    let own: u64 = 256 << 20;
    let config = OperatorConfig::default();
    let readers = config.limits.max_readers as u64;
    let programs = config.code_mode.max_interpreters as u64 * config.code_mode.interpreter_memory.0;
    let needed = own + readers * worker::ChildLimits::default().memory_bytes + programs;
    let limit = values()["resources"]["limits"]["memory"].clone();
    let limit = codegen_api::quantity::bytes(limit.as_str().unwrap()).unwrap();
    assert!(limit >= needed, "{limit} bytes are less than {needed}");
    let text = read("values.yaml");
    assert!(
        text.contains(&format!("config.limits.maxReaders ({readers})")),
        "{text}"
    );
    let memory = config.code_mode.interpreter_memory.0 >> 20;
    let places = config.code_mode.max_interpreters;
    let programs = format!(
        "config.codeMode.interpreterMemory ({memory}Mi) for each of config.codeMode.maxInterpreters ({places})"
    );
    assert!(text.contains(&programs), "{text}");
}

#[test]
fn alerts_use_metrics_that_exist() {
    let page = read("../../docs/operator.md");
    let rules = read("files/alerts.yaml");
    let named = rules.split("codegen_operator_").skip(1).map(|rest| {
        let is_part = |letter: char| letter.is_ascii_lowercase() || letter == '_';
        let end = rest.find(|letter| !is_part(letter)).unwrap();
        rest[..end].trim_end_matches("_count")
    });
    let missing: BTreeSet<&str> = named
        .filter(|name| !page.contains(&format!("`{name}`")))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn alerts_and_health_checks_name_reasons_that_there_are() {
    let known = |name: &str| assert!(reason::ALL.contains(&name), "{name}");
    let alerts = read("files/alerts.yaml");
    let (_, reasons) = alerts.split_once("reason=~\"").unwrap();
    reasons.split_once('"').unwrap().0.split('|').for_each(known);
    let health = read("../../deploy/gitops/argocd/health.yaml");
    let (_, suspended) = health.split_once("status.reason == \"").unwrap();
    known(suspended.split_once('"').unwrap().0);
}

#[test]
fn the_operator_takes_the_configurations_of_deploy() {
    for file in ["base/config.yaml", "gitops/operator/config.yaml"] {
        let text = read(&format!("../../deploy/{file}"));
        OperatorConfig::parse(Path::new(file), &text).unwrap();
    }
}

#[test]
fn the_task_of_the_sample_is_a_valid_one() {
    let text = read("../../deploy/gitops/tasks/task.yaml");
    let task: Value = serde_saphyr::from_str(&text).unwrap();
    assert!(codegen_api::validate::manifest(&task).is_ok());
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

#[test]
fn the_schema_of_the_configuration_is_that_of_the_operator() {
    let schema: Value = serde_json::from_str(&read("values.schema.json")).unwrap();
    let is_written = schema["definitions"]["config"] == *OperatorConfig::schema().as_value();
    assert!(is_written, "make generate writes it");
}

#[rstest]
#[case("limits: {maxConcurentTasks: 5}")]
#[case("limits: {maxConcurrentTasks: many}")]
#[case("history: {succeededLimit: -1}")]
#[case("approvals: {required: [Plans]}")]
#[case("agent: {deniedCommands: [/usr/bin/jq]}")]
#[case("codeMode: {interpreterMemory: much}")]
fn helm_refuses_a_configuration_that_the_operator_would_not_start_with(#[case] text: &str) {
    assert!(!is_taken_by_helm(text), "{text}");
    OperatorConfig::parse(Path::new("config.yaml"), text).unwrap_err();
}

#[rstest]
#[case("{}")]
#[case("build: {resources: {limits: {cpu: 2, memory: 4Gi}}, namespace: null}")]
#[case("sandbox: {tolerations: [{key: gpu, operator: Exists}], isolation: {nodePools: [{name: gpu}]}}")]
#[case(
    "build: {network: {egress: [{to: [{ipBlock: {cidr: 10.0.0.0/8}}], ports: [{port: 443}, {port: https}]}]}}"
)]
#[case("agent: {deniedCommands: [jq, awk]}")]
#[case("codeMode: {interpreterMemory: 1Gi, maxInterpreters: 8}")]
#[case("model: {allowedEndpoints: ['http://ollama.models:11434']}\ntaskSelector: 'team in (a,b)'")]
fn helm_takes_a_configuration_that_the_operator_takes(#[case] text: &str) {
    assert!(is_taken_by_helm(text), "{text}");
    OperatorConfig::parse(Path::new("config.yaml"), text).unwrap();
}

fn is_taken_by_helm(config: &str) -> bool {
    let schema: Value = serde_json::from_str(&read("values.schema.json")).unwrap();
    let config: Value = serde_saphyr::from_str(config).unwrap();
    jsonschema::is_valid(&schema, &serde_json::json!({"config": config}))
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
fn the_charts_have_the_version_of_the_operator() {
    for path in ["Chart.yaml", "../codegen-operator-crds/Chart.yaml"] {
        let chart: Value = serde_saphyr::from_str(&read(path)).unwrap();
        assert_eq!(chart["version"], env!("CARGO_PKG_VERSION"));
        assert_eq!(chart["appVersion"], env!("CARGO_PKG_VERSION"));
    }
}
