use rstest::rstest;
use serde_json::{Value, json};

use super::*;

fn marks() -> Value {
    json!({"app.kubernetes.io/managed-by": "codegen-operator", "codegen-operator.dev/component": "build"})
}

fn job() -> Job {
    let digest = folder_sha256([("Dockerfile", b"FROM x\n".as_slice())]);
    serde_json::from_value(json!({
        "metadata": {"name": "codegen-build-0123456789", "uid": "0c1", "labels": marks()},
        "spec": {"template": {"spec": {"containers": [{"name": "push", "args": ["push-layout", format!("{FILES_SHA256}{digest}")]}]}}},
    }))
    .unwrap()
}

fn files() -> Value {
    json!({
        "metadata": {
            "name": "codegen-build-0123456789", "labels": marks(),
            "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": "codegen-build-0123456789", "uid": "0c1"}],
        },
        "immutable": true,
        "data": {"Dockerfile": "FROM x\n"},
    })
}

#[test]
fn the_files_of_a_build_are_taken() {
    assert!(are_files_of(&serde_json::from_value(files()).unwrap(), &job()));
}

#[rstest]
#[case::content("/data/Dockerfile", json!("FROM evil\n"))]
#[case::another_file("/data/lock.py", json!("import os\n"))]
#[case::may_change("/immutable", json!(false))]
#[case::owner("/metadata/ownerReferences/0/uid", json!("7d2"))]
#[case::labels("/metadata/labels/codegen-operator.dev~1component", json!("other"))]
#[case::bytes("/binaryData", json!({"sitecustomize.py": "YQ=="}))]
fn files_that_somebody_planted_are_not(#[case] pointer: &str, #[case] value: Value) {
    let mut planted = files();
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    planted.pointer_mut(parent).unwrap()[key.replace("~1", "/")] = value;
    assert!(!are_files_of(&serde_json::from_value(planted).unwrap(), &job()));
}

#[test]
fn a_pod_is_a_jobs_when_the_job_controls_it_and_not_by_a_label() {
    let pod = |owner: Value, labels: Value| -> Pod {
        serde_json::from_value(json!({"metadata": {"name": "a", "labels": labels, "ownerReferences": owner}}))
            .unwrap()
    };
    let owner = |uid: &str, controls: bool| json!([{"apiVersion": "batch/v1", "kind": "Job", "name": "codegen-build-0123456789", "uid": uid, "controller": controls}]);
    assert!(is_pod_of(&pod(owner("0c1", true), marks()), &job()));
    assert!(!is_pod_of(&pod(owner("0c1", false), marks()), &job()));
    assert!(!is_pod_of(&pod(owner("7d2", true), marks()), &job()));
    assert!(!is_pod_of(&pod(json!([]), marks()), &job()));
    let named = json!({"batch.kubernetes.io/job-name": "codegen-build-0123456789"});
    assert!(!is_pod_of(&pod(owner("0c1", true), named), &job()));
}
