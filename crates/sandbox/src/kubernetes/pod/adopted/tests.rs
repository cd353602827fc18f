use rstest::rstest;
use serde_json::{Value, json};

use super::*;

fn wanted() -> Value {
    json!({
        "metadata": {"name": "codegen-sandbox-words-0123456789", "labels": {
            "app.kubernetes.io/managed-by": "codegen-operator", "codegen-operator.dev/component": "sandbox",
            "codegen-operator.dev/task-uid": "0c1",
        }},
        "spec": {
            "containers": [{
                "name": "sandbox", "image": "registry.example/a@sha256:00", "command": ["python3", "-c", "start"],
                "workingDir": "/sandbox",
                "env": [{"name": "CODEGEN_NONCE", "value": ""}, {"name": "CODEGEN_JOB_SHA256", "value": "00"}, {"name": "CODEGEN_JOB_KEY"}],
                "volumeMounts": [{"name": "harness", "mountPath": "/harness", "readOnly": true}],
            }],
            "volumes": [
                {"name": "harness", "configMap": {"name": "codegen-harness-0123456789"}},
                {"name": "job", "secret": {"secretName": "words", "items": [{"key": "job.json", "path": "job.json"}]}},
            ],
        },
    })
}

fn said(change: impl FnOnce(&mut Value)) -> Option<&'static str> {
    let mut found = wanted();
    change(&mut found);
    let pod = |value: Value| serde_json::from_value::<Pod>(value).unwrap();
    difference(&pod(wanted()), &pod(found))
}

#[rstest]
#[case::labels("/metadata/labels/codegen-operator.dev~1component", json!("other"), "its labels")]
#[case::task("/metadata/labels/codegen-operator.dev~1task-uid", json!("7d2"), "its labels")]
#[case::image("/spec/containers/0/image", json!("registry.example/a@sha256:11"), "its image")]
#[case::image_by_tag("/spec/containers/0/image", json!("registry.example/a:1"), "its image")]
#[case::command("/spec/containers/0/command", json!(["sh"]), "its command")]
#[case::arguments("/spec/containers/0/args", json!(["more"]), "its command")]
#[case::working_folder("/spec/containers/0/workingDir", json!("/tmp"), "its working folder")]
#[case::no_digest("/spec/containers/0/env", json!([]), "its variables")]
#[case::variables_of_another_object("/spec/containers/0/envFrom", json!([{"configMapRef": {"name": "a"}}]), "its variables")]
#[case::library(
    "/spec/containers/0/env",
    json!([{"name": "CODEGEN_JOB_SHA256", "value": "00"}, {"name": "LD_PRELOAD", "value": "/var/inputs/a.so"}]),
    "its variables"
)]
#[case::library_over_ours(
    "/spec/containers/0/volumeMounts",
    json!([{"name": "harness", "mountPath": "/harness"}, {"name": "harness", "mountPath": "/usr/lib"}]),
    "what it mounts"
)]
#[case::other_volume("/spec/volumes/0/configMap/name", json!("planted"), "its volumes")]
#[case::other_job("/spec/volumes/1/secret/secretName", json!("planted"), "its volumes")]
#[case::key_beside_the_job("/spec/volumes/1/secret/items", json!(null), "its volumes")]
#[case::another_item("/spec/volumes/1/secret/items/0/key", json!("key"), "its volumes")]
#[case::second_container("/spec/containers", json!([wanted()["spec"]["containers"][0], {"name": "b"}]), "the number of its containers")]
#[case::container_that_joined("/spec/ephemeralContainers", json!([{"name": "b"}]), "the number of its containers")]
#[case::processes("/spec/shareProcessNamespace", json!(true), "who sees its processes")]
fn a_pod_with_another_specification_is_reported(
    #[case] pointer: &str,
    #[case] value: Value,
    #[case] what: &str,
) {
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    let found = said(|pod| {
        let parent = if let Ok(number) = key.parse::<usize>() {
            return pod.pointer_mut(parent).unwrap()[number] = value;
        } else {
            pod.pointer_mut(parent).unwrap()
        };
        parent[key.replace("~1", "/")] = value;
    });
    assert_eq!(found, Some(what));
}

#[test]
fn the_pod_itself_with_what_clusters_add_is_taken() {
    assert_eq!(said(|_| {}), None);
    let added = said(|pod| {
        pod["spec"]["tolerations"] = json!([{"key": "node.kubernetes.io/not-ready", "operator": "Exists"}]);
        pod["spec"]["serviceAccountName"] = json!("default");
        let container = &mut pod["spec"]["containers"][0];
        container["image"] = json!("mirror.example/a@sha256:00");
        container["env"][0]["value"] = json!("ab");
        container["env"][2]["value"] = json!("cd");
        let more = json!({"name": "HTTPS_PROXY", "value": "http://proxy.example"});
        container["env"].as_array_mut().unwrap().push(more);
    });
    assert_eq!(added, None);
}

/// A Pod whose program comes before the checker of its outputs.
fn with_checker() -> Value {
    let mut pod = wanted();
    pod["spec"]["initContainers"] = pod["spec"]["containers"].clone();
    pod["spec"]["containers"] = json!([{
        "name": "checker", "image": "registry.example/operator:1", "args": ["read-sources"],
        "volumeMounts": [{"name": "outputs", "mountPath": "/var/outputs", "readOnly": true}],
    }]);
    pod
}

fn said_beside_a_checker(change: impl FnOnce(&mut Value)) -> Option<&'static str> {
    let mut found = with_checker();
    change(&mut found);
    let pod = |value: Value| serde_json::from_value::<Pod>(value).unwrap();
    difference(&pod(with_checker()), &pod(found))
}

#[rstest]
#[case::program("/spec/initContainers/0/image", json!("registry.example/a@sha256:11"), "its image")]
#[case::checker("/spec/containers/0/image", json!("registry.example/other:1"), "its image")]
#[case::what_it_reads("/spec/containers/0/volumeMounts/0/name", json!("planted"), "what it mounts")]
#[case::a_program_that_runs_on("/spec/initContainers/0/restartPolicy", json!("Always"), "its restart policy")]
fn a_program_or_a_checker_of_somebody_elses_is_reported(
    #[case] pointer: &str,
    #[case] value: Value,
    #[case] what: &str,
) {
    let found = said_beside_a_checker(|pod| {
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        pod.pointer_mut(parent).unwrap()[key] = value;
    });
    assert_eq!(found, Some(what));
}

#[test]
fn a_container_before_the_program_or_none_is_reported_and_the_two_of_ours_are_taken() {
    assert_eq!(said_beside_a_checker(|_| {}), None);
    let both = said_beside_a_checker(|pod| {
        let program = pod["spec"]["initContainers"].take();
        pod["spec"]["containers"] = json!([program[0], pod["spec"]["containers"][0]]);
    });
    assert_eq!(both, Some("the number of its containers"));
    let more = said_beside_a_checker(|pod| {
        let list = pod["spec"]["initContainers"].as_array_mut().unwrap();
        list.insert(0, json!({"name": "proxy"}));
    });
    assert_eq!(more, Some("the number of its containers"));
}
