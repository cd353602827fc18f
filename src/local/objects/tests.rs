//! Documents as people write them, and what is refused.

use super::*;
use crate::local::manifest::parse;

fn collect(text: &str) -> Result<Objects, ManifestFaults> {
    Objects::collect(parse("a.yaml", text).unwrap())
}

const TASK: &str = "apiVersion: codegen-operator.dev/v1alpha1\nkind: CodeGenTask\nmetadata: {name: sum}\nspec: {prompt: add, model: {name: m}}\n";

fn key(name: &str) -> ObjectKey {
    ("default".to_owned(), name.to_owned())
}

#[test]
fn a_secret_gives_text_and_base64_and_text_wins() {
    let objects = collect(
        "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: {a: eA==, b: eQ==}\nstringData: {b: z}\n",
    )
    .unwrap();
    let keys = &objects.secrets[&key("s")].0;
    assert_eq!((&keys["a"][..], &keys["b"][..]), (&b"x"[..], &b"z"[..]));
}

#[test]
fn a_config_map_gives_text_and_bytes() {
    let objects = collect(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {t: x}\nbinaryData: {b: AP8=}\n",
    )
    .unwrap();
    let keys = &objects.config_maps[&key("c")].0;
    assert_eq!((&keys["t"][..], &keys["b"][..]), (&b"x"[..], &[0, 255][..]));
}

#[test]
fn data_that_is_no_base64_is_named_without_its_value() {
    let error = collect("apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: {a: hunter2!}\n")
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("a.yaml (document 1) data[a]: is not base64"),
        "{error}"
    );
    assert!(!error.contains("hunter2"), "{error}");
}

#[test]
fn a_config_map_is_read_as_strictly_as_an_api_server_reads_it() {
    let object = |rest: &str| format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c}}\n{rest}\n");
    assert!(collect(&object("data: {a.csv: x, nothing: null}")).is_ok());
    for (rest, fault) in [
        (
            "data: {a: yes}",
            "data.a: Invalid value: \"boolean\": must be of type string: write it in quotes, as it stands in the file",
        ),
        (
            "dta: {a: x}",
            "dta: unknown field \"dta\": did you mean \"data\"?",
        ),
        (
            "data: {a/b: x}",
            "data[a/b]: write a key in letters, digits, ., _ and -, like penguins.csv",
        ),
    ] {
        let error = collect(&object(rest)).unwrap_err().to_string();
        assert_eq!(error, format!("a.yaml (document 1) {fault}"));
    }
}

#[test]
fn a_task_without_a_namespace_lies_in_default() {
    assert_eq!(
        collect(TASK).unwrap().tasks[0].metadata.namespace.as_deref(),
        Some("default")
    );
}

#[test]
fn every_fault_of_every_document_is_reported() {
    let error = collect(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {}\n---\napiVersion: codegen-operator.dev/v1alpha1\nkind: CodeGenTask\nmetadata: {generateName: x-}\nspec: {prompt: p}\n",
    )
    .unwrap_err()
    .to_string();
    assert_eq!(
        error,
        "a.yaml (document 1) metadata.name: the ConfigMap has no name: write metadata: {name: my-name}\n\
         a.yaml (document 2) metadata.name: a local run gives no names: write metadata.name of the CodeGenTask instead of generateName"
    );
}

#[test]
fn a_fault_of_a_task_names_document_and_field() {
    let error = collect(&TASK.replace("prompt:", "promt: x, prompt:"))
        .unwrap_err()
        .to_string();
    assert!(error.starts_with("a.yaml (document 1) spec.promt: "), "{error}");
}

#[test]
fn an_object_that_stands_twice_names_both_places() {
    let error = collect(&format!("{TASK}---\n{TASK}")).unwrap_err().to_string();
    assert!(
        error.contains("(document 2)") && error.contains("already at a.yaml (document 1)"),
        "{error}"
    );
}

#[test]
fn each_unused_document_is_reported_in_one_line() {
    let objects = collect(
        "apiVersion: v1\nkind: Service\nmetadata: {name: x}\n---\napiVersion: codegen-operator.dev/v1alpha1\nkind: CodeGenRun\n",
    )
    .unwrap();
    assert_eq!(
        objects.notices,
        [
            "a.yaml (document 1): Service is ignored, a local run does not use it",
            "a.yaml (document 2): CodeGenRun is ignored, a local run does not use it",
        ]
    );
}

#[test]
fn a_document_that_no_cluster_takes_is_refused() {
    for (document, fault) in [
        (
            "apiVersion: v2\nkind: CodeGenTask\n",
            "apiVersion: CodeGenTask has no version \"v2\": write codegen-operator.dev/v1alpha1",
        ),
        (
            "kind: ConfigMap\n",
            "apiVersion: ConfigMap has no version \"\": write v1",
        ),
        (
            "apiVersion: codegen-operator.dev/v1alpha1\nkind: CodegenTask\n",
            "kind: unknown kind \"CodegenTask\": did you mean \"CodeGenTask\"?",
        ),
        (
            "apiVersion: v1\n",
            "kind: Required value: say what the document is, like kind: CodeGenTask",
        ),
        (
            "kind: Service\n",
            "apiVersion: Required value: say which version of Service it is, like v1",
        ),
    ] {
        let error = collect(document).unwrap_err().to_string();
        assert_eq!(error, format!("a.yaml (document 1) {fault}"));
    }
}

#[test]
fn one_task_of_several_is_picked_by_name() {
    let objects = collect(&format!("{TASK}---\n{}", TASK.replace("sum", "mean"))).unwrap();
    assert_eq!(objects.pick(None).unwrap().len(), 2);
    assert_eq!(objects.pick(Some("mean")).unwrap().len(), 1);
    assert_eq!(
        objects.pick(Some("max")).unwrap_err().to_string(),
        "the manifests hold no CodeGenTask named max: there is sum, mean"
    );
    assert_eq!(Objects::default().pick(None).unwrap_err(), PickError::NoTask);
}

#[test]
fn of_a_manifest_name_labels_annotations_of_its_writer_and_spec_are_taken() {
    let planted = "metadata: {name: sum, labels: {team: a}, uid: u, generation: 7, annotations: {note: mine, codegen-operator.dev/retry: now}}";
    let status = "status: {stage: Succeeded, result: sum-1, conditions: [{type: Ready, status: 'True', reason: TestsPassed, message: m, lastTransitionTime: '2026-01-01T00:00:00Z'}]}\n";
    let text = TASK.replace("metadata: {name: sum}", planted) + status;
    let task = collect(&text).unwrap().tasks.remove(0);
    assert_eq!(task.status, None);
    let metadata = serde_json::to_value(&task.metadata).unwrap();
    let expected = serde_json::json!({
        "name": "sum", "namespace": "default", "labels": {"team": "a"}, "annotations": {"note": "mine"},
    });
    assert_eq!(metadata, expected);
}
