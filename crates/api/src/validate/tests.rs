//! Manifests that are taken and manifests that are refused, with the exact words.

use std::collections::BTreeSet;

use rstest::rstest;
use serde_json::{Value, json};

use super::*;

mod approvals;
mod code_mode;
mod rules;

/// A task with these lines (YAML, at the level of `spec`) beside `prompt` and `model`.
fn task(lines: &str) -> Value {
    let mut value = json!({
        "apiVersion": "codegen-operator.dev/v1alpha1", "kind": "CodeGenTask",
        "metadata": {"name": "penguin-masses"},
        "spec": {"prompt": "count the rows", "model": {"name": "gpt-5"}},
    });
    let more: Value = if lines.is_empty() {
        json!({})
    } else {
        serde_saphyr::from_str(lines).unwrap()
    };
    value["spec"]
        .as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    value
}

fn faults(value: &Value) -> Vec<String> {
    manifest(value)
        .err()
        .unwrap_or_default()
        .iter()
        .map(ToString::to_string)
        .collect()
}

/// Message about a change of a run's spec.
const STAYS: &str = "a run stays as it was made, but for ttlSecondsAfterFinished: make another CodeGenRun with what is to be different";

/// A run with these inputs, or with these fields of its spec.
fn run(given: &str) -> Value {
    let given: Value = serde_saphyr::from_str(given).unwrap();
    let mut run = json!({
        "apiVersion": "codegen-operator.dev/v1alpha1", "kind": "CodeGenRun", "metadata": {"name": "again"},
        "spec": {"taskRef": {"name": "penguin-masses"}},
    });
    match given {
        Value::Object(fields) => run["spec"].as_object_mut().unwrap().extend(fields),
        inputs => run["spec"]["inputs"] = inputs,
    }
    run
}

#[test]
fn a_run_stays_as_it_was_made_but_for_its_time_to_live() {
    let changed = |field: &str, value: Value| {
        let before = run("[{name: a, value: \"1\"}]");
        let mut after = before.clone();
        after["spec"][field] = value;
        let errors = Validator::new().validate(&RUN_SCHEMA, &after, Some(&before));
        let errors = errors.err().into_iter().flatten();
        errors.map(|error| error.message).collect::<Vec<_>>()
    };
    assert_eq!(changed("ttlSecondsAfterFinished", json!(5)), Vec::<String>::new());
    for (field, value) in [
        ("taskRef", json!({"name": "other"})),
        ("inputs", json!([{"name": "a", "value": "2"}])),
        ("sandbox", json!({"timeout": "1m"})),
        ("validation", json!("Off")),
        ("cache", json!("Disable")),
        (
            "outputs",
            json!({"persistentVolumeClaim": {"claimName": "results"}}),
        ),
    ] {
        assert_eq!(changed(field, value), [STAYS], "{field}");
    }
}

#[test]
fn a_prompt_and_a_model_are_all_that_a_task_needs() {
    let Ok(Manifest::Task(task)) = manifest(&task("")) else {
        panic!("refused")
    };
    assert_eq!(task.spec.prompt, "count the rows");
    assert_eq!(task.metadata.name.as_deref(), Some("penguin-masses"));
}

#[test]
fn an_agent_may_be_empty_and_is_no_task() {
    let agent = json!({
        "apiVersion": "codegen-operator.dev/v1alpha1", "kind": "CodeGenAgent",
        "metadata": {"name": "shared", "labels": {"a": "b"}}, "spec": {},
    });
    assert!(matches!(manifest(&agent), Ok(Manifest::Agent(_))));
}

#[test]
fn a_manifest_that_uses_every_part_is_taken() {
    let lines = r#"
agentRef: {name: shared}
model:
  provider: OpenAI
  name: gpt-5
  baseURL: https://api.openai.com/v1
  apiKeySecretRef: {name: openai, key: api-key}
  parameters: {temperature: 0, stop: [null, {any: thing}], nothing: null}
  query: {api-version: "2026-01-01"}
samples:
  - {name: measurements, configMapKeyRef: {name: penguins, key: penguins.csv}, fileName: measurements.csv}
constraints: ["body_mass_g is between 2000 and 8000 or missing"]
inputs: [{name: decimals, type: Int, default: "1", description: decimals of every mean}]
outputs: [{name: summary, type: File, format: CSV}, {name: species, type: Int}]
acceptanceTests: {configMapKeyRef: {name: penguin-acceptance, key: test_acceptance.py}}
image:
  repository: registry.example.com/codegen
  pushSecretRef: {name: registry}
  basePackages: [pandas, "requests<3", "pandas[excel, html]>=2,<3"]
  baseSystemPackages: [libgomp1, g++]
  pythonVersion: "3.12"
sandbox: {resources: {limits: {cpu: "1", memory: 1Gi}}, timeout: 5m, network: {egress: Denied}, env: {TZ: UTC}}
limits: {maxIterations: 10, maxTokens: 200000, maxModelCalls: 100, maxBuilds: 5, deadline: 1h}
cache: Override
testing: {mode: Skip}
backend: Pipeline
language: Python
"#;
    let Ok(Manifest::Task(task)) = manifest(&task(lines)) else {
        panic!("refused")
    };
    let parameters = task.spec.model.unwrap().parameters.unwrap();
    assert_eq!(
        parameters["nothing"],
        Value::Null,
        "free-form content is left as it is"
    );
}

#[rstest]
#[case(
    "sampels: []",
    "spec.sampels: unknown field \"sampels\": did you mean \"samples\"?"
)]
#[case(
    "max_sample_rows: 1",
    "spec.max_sample_rows: unknown field \"max_sample_rows\": did you mean \"maxSampleRows\"?"
)]
#[case(
    "samples: [{name: a, inline: x}, {name: b, inline: x, filename: b.csv}]",
    "spec.samples[1].filename: unknown field \"filename\": did you mean \"fileName\"?"
)]
#[case(
    "testing: {enabled: false}",
    "spec.testing.enabled: unknown field \"enabled\": the fields here are cases, mode"
)]
#[case(
    "testing: {exposure: Rows}",
    "spec.testing.exposure: unknown field \"exposure\": write it one level higher, as spec.exposure"
)]
#[case(
    "samples: [{name: a, inline: x, limits: {}}]",
    "spec.samples[0].limits: unknown field \"limits\": write it one level higher, as spec.limits"
)]
#[case(
    "maxSampleRows: many",
    "spec.maxSampleRows: Invalid value: \"string\": must be of type integer"
)]
#[case(
    "maxSampleRows: '5'",
    "spec.maxSampleRows: Invalid value: \"string\": must be of type integer: write it without quotes"
)]
#[case(
    "maxSampleRows: 1.5",
    "spec.maxSampleRows: Invalid value: \"number\": must be of type integer"
)]
#[case(
    "maxSampleRows: -1",
    "spec.maxSampleRows: Invalid value: -1: should be greater than or equal to 0"
)]
#[case(
    "limits: {maxIterations: 101}",
    "spec.limits.maxIterations: Invalid value: 101: should be less than or equal to 100"
)]
#[case(
    "image: {pythonVersion: 3.12}",
    "spec.image.pythonVersion: Invalid value: \"number\": must be of type string: write a version from 3.10 to 3.14 in quotes, like \"3.12\""
)]
#[case(
    "image: {pythonVersion: '3.9'}",
    "spec.image.pythonVersion: Invalid value: \"3.9\": write a version from 3.10 to 3.14 in quotes, like \"3.12\""
)]
#[case(
    "outputs: [{name: false, type: Int}]",
    "spec.outputs[0].name: Invalid value: \"boolean\": must be of type string: write it in quotes, as it stands in the file: without them y, n, yes, no, on and off are true or false"
)]
#[case(
    "inputs: [{name: decimals, type: Int, default: 1}]",
    "spec.inputs[0].default: Invalid value: \"integer\": must be of type string: write it in quotes, as it stands in the file"
)]
#[case(
    "inputs: [{name: a-b, type: Int}]",
    "spec.inputs[0].name: Invalid value: \"a-b\": write letters, digits and _, a letter first, like my_file"
)]
#[case(
    "cache: auto",
    "spec.cache: Unsupported value: \"auto\": supported values: \"Auto\", \"Override\", \"Disable\""
)]
#[case("outputs: [{name: a}]", "spec.outputs[0].type: Required value")]
#[case(
    "constraints: x is 1",
    "spec.constraints: Invalid value: \"string\": must be of type array: write a list"
)]
#[case(
    "constraints: ['']",
    "spec.constraints[0]: Invalid value: \"\": should be at least 1 chars long"
)]
#[case(
    "limits: {deadline: 1.5h}",
    "spec.limits.deadline: Invalid value: \"1.5h\": write a duration in whole numbers with their units, from hours down, like 1h30m"
)]
#[case(
    "sandbox: {timeout: 5}",
    "spec.sandbox.timeout: Invalid value: \"integer\": must be of type string: write a duration in whole numbers with their units, from hours down, like 1h30m"
)]
#[case(
    "sandbox: {resources: {limits: {memory: 1GB}}}",
    "spec.sandbox.resources.limits.memory: Invalid value: \"1GB\": write a quantity of bytes with the unit Ki, Mi, Gi or Ti, or k, M, G or T, like 512Mi"
)]
#[case(
    "suspend: 'yes'",
    "spec.suspend: Invalid value: \"string\": must be of type boolean: write true or false, without quotes"
)]
#[case(
    "samples: [{name: orders, path: ./orders.csv}]",
    "spec.samples[0].path: unknown field \"path\": a manifest names no file of a machine: make a ConfigMap of it, as a kustomization's configMapGenerator does, and name that with configMapKeyRef; --sample orders=PATH then puts any file in its place"
)]
#[case(
    "inputs: [{name: orders, type: File, file: ./orders.csv}]",
    "spec.inputs[0].file: unknown field \"file\": a manifest names no file of a machine: make a ConfigMap of it, as a kustomization's configMapGenerator does, and name that with configMapKeyRef; --input orders=PATH then puts any file in its place"
)]
#[case(
    "image: {base: \"python:3.12\\nRUN id\"}",
    "spec.image.base: Invalid value: \"python:3.12\\nRUN id\": write an image as a registry names it, like registry.example.com/team/python:3.12"
)]
#[case(
    "image: {basePackages: [--index-url=x]}",
    "spec.image.basePackages[0]: Invalid value: \"--index-url=x\": write one package as pip takes it, like pandas==2.3.3"
)]
fn what_the_schema_does_not_allow_is_refused_with_its_path(#[case] lines: &str, #[case] fault: &str) {
    assert_eq!(faults(&task(lines)), [fault]);
}

#[test]
fn a_list_or_text_beyond_its_bound_is_refused() {
    let mut value = task("");
    value["spec"]["constraints"] = json!(vec!["x > 1"; 65]);
    value["spec"]["systemPrompt"] = json!("x".repeat(16385));
    value["spec"]["sandbox"] =
        json!({"env": (0..65).map(|n| (format!("V{n}"), json!("x"))).collect::<serde_json::Map<_, _>>()});
    assert_eq!(
        faults(&value),
        [
            "spec.constraints: Too many: 65: must have at most 64 items",
            "spec.systemPrompt: Too long: may not be more than 16384 chars long",
            "spec.sandbox.env: Too many: 65: must have at most 64 items",
        ]
    );
}

#[test]
fn every_fault_is_reported_and_not_only_the_first() {
    let value = task(
        "{sampels: [], cache: auto, limits: {maxIterations: 0}, outputs: [{name: a, type: Int, format: CSV}]}",
    );
    assert_eq!(
        faults(&value),
        [
            "spec.sampels: unknown field \"sampels\": did you mean \"samples\"?",
            "spec.cache: Unsupported value: \"auto\": supported values: \"Auto\", \"Override\", \"Disable\"",
            "spec.limits.maxIterations: a task needs at least one iteration: write 1 to 100, or leave maxIterations out for 10",
            "spec.outputs[0]: only an output of type File has a format: write type: File, or leave format out",
        ]
    );
}

#[rstest]
#[case(json!({"metadata": {"name": "Penguins"}}),
    "metadata.name: Invalid value: \"Penguins\": write lower-case letters, digits, - and ., beginning and ending with a \
     letter or digit, at most 253 characters, like penguin-masses")]
#[case(json!({"metadata": {}}),
    "metadata.name: Required value: name the object, in lower-case letters, digits, - and ., like penguin-masses")]
#[case(json!({"metadata": {"name": "a", "lables": {}}}), "metadata.lables: unknown field \"lables\": did you mean \"labels\"?")]
#[case(json!({"metadata": {"name": "a", "labels": {"a": 1}}}),
    "metadata.labels.a: Invalid value: \"integer\": must be of type string: write it in quotes, as it stands in the file")]
#[case(json!({"prompt": "x"}), "prompt: unknown field \"prompt\": write it under spec")]
#[case(json!({"kind": "CodegenTask"}), "kind: unknown kind \"CodegenTask\": did you mean \"CodeGenTask\"?")]
#[case(json!({"kind": null}), "kind: Required value: write CodeGenTask, CodeGenAgent, CodeGenRun, CodeModeAgent or CodeModeRun")]
#[case(json!({"apiVersion": "codegen-operator.dev/v1"}),
    "apiVersion: unknown version \"codegen-operator.dev/v1\" of CodeGenTask: write codegen-operator.dev/v1alpha1")]
#[case(json!({"apiVersion": null}), "apiVersion: Required value: write codegen-operator.dev/v1alpha1")]
#[case(json!({"spec": null}), "spec: Required value")]
#[case(json!({"spec": "x"}), "spec: Invalid value: \"string\": must be of type object")]
fn faults_outside_the_spec_are_refused(#[case] change: Value, #[case] fault: &str) {
    let mut value = task("");
    value
        .as_object_mut()
        .unwrap()
        .extend(change.as_object().unwrap().clone());
    assert_eq!(faults(&value), [fault]);
}

#[test]
fn a_document_that_is_no_object_is_refused() {
    assert_eq!(
        faults(&json!(["x"])),
        ["kind: Required value: write CodeGenTask, CodeGenAgent, CodeGenRun, CodeModeAgent or CodeModeRun"]
    );
}

#[test]
fn texts_of_inputs_read_the_same_in_rules_and_in_code() {
    use crate::values::ValueType;
    let texts = [
        "", "0", "-1", "+1", "1.", ".5", "1.5", "1e3", "1E-3", "1e", ".", "--1", "1 ", "inf", "NaN", "0x1",
        "1_0", "true", "false", "True", "é",
    ];
    for (name, type_) in [
        ("Int", ValueType::Int),
        ("Float", ValueType::Float),
        ("Bool", ValueType::Bool),
        ("String", ValueType::String),
    ] {
        for text in texts {
            let mut value = task("");
            value["spec"]["inputs"] = json!([{"name": "a", "type": name, "default": text}]);
            assert_eq!(manifest(&value).is_ok(), type_.accepts(text), "{name} {text:?}");
        }
    }
}
