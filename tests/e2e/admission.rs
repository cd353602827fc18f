//! The API server holds sandboxes, and what the operator creates, to their shape, whoever asks.

use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use rstest::rstest;
use serde_json::{Value, json};

use crate::space::{OPERATOR, Space, in_space, in_space_at, kubectl, kubectl_refused};

/// What a sandbox's Pod has at least.
pub fn sandbox() -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "sandbox",
            "labels": {"codegen-operator.dev/component": "sandbox", "codegen-operator.dev/egress": "denied"},
        },
        "spec": {
            "restartPolicy": "Never",
            "activeDeadlineSeconds": 60,
            "automountServiceAccountToken": false,
            "securityContext": {"runAsNonRoot": true, "runAsUser": 100_000, "seccompProfile": {"type": "RuntimeDefault"}},
            "containers": [{
                "name": "sandbox",
                "image": "registry.example.com/nothing:1",
                "resources": {"limits": {"memory": "64Mi", "cpu": "100m", "ephemeral-storage": "16Mi"}},
                "securityContext": {
                    "allowPrivilegeEscalation": false,
                    "readOnlyRootFilesystem": true,
                    "capabilities": {"drop": ["ALL"]},
                },
                "volumeMounts": [{"name": "data", "mountPath": "/data", "readOnly": true}],
            }],
            "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}],
        },
    })
}

/// Sets what the pointer names, or removes it.
pub fn set(pod: &mut Value, pointer: &str, value: &Value) {
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    let parent = pod.pointer_mut(parent).unwrap().as_object_mut().unwrap();
    let key = key.replace("~1", "/");
    if value.is_null() {
        parent.remove(&key);
    } else {
        parent.insert(key, value.clone());
    }
}

async fn refusal(space: &Space, pod: Value) -> Option<String> {
    let pods: Api<Pod> = space.api();
    let dry_run = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    match pods.create(&dry_run, &serde_json::from_value(pod).unwrap()).await {
        Ok(_) => None,
        Err(kube::Error::Api(status)) => Some(status.message.clone()),
        Err(error) => panic!("{error}"),
    }
}

#[rstest]
#[case::token("/spec/automountServiceAccountToken", json!(true), "no token")]
#[case::network_of_nobody(
    "/metadata/labels/codegen-operator.dev~1egress",
    Value::Null,
    "codegen-operator.dev/egress"
)]
#[case::writable_claim("/spec/containers/0/volumeMounts", json!([{"name": "data", "mountPath": "/data"}]), "claims read-only")]
#[case::writable_claim_as_a_whole(
    "/spec/containers/0/volumeMounts",
    json!([{"name": "data", "mountPath": "/var/outputs"}]),
    "claims read-only"
)]
#[case::token_by_projection(
    "/spec/volumes",
    json!([{"name": "data", "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}}]),
    "empty folders only"
)]
#[case::credentials_to_push_with(
    "/spec/volumes",
    json!([{"name": "data", "emptyDir": {}}, {"name": "push-credentials", "secret": {"secretName": "registry"}}]),
    "where a program runs"
)]
#[case::secret_as_variable(
    "/spec/containers/0/env",
    json!([{"name": "A", "valueFrom": {"secretKeyRef": {"name": "a", "key": "b"}}}]),
    "no variable"
)]
#[case::writable_root("/spec/containers/0/securityContext/readOnlyRootFilesystem", json!(false), "root file system")]
#[case::capability("/spec/containers/0/securityContext/capabilities", json!({}), "no capability")]
#[case::no_limits("/spec/containers/0/resources", json!({}), "limits of memory")]
#[case::for_ever("/spec/activeDeadlineSeconds", Value::Null, "deadline")]
#[case::processes_of_others("/spec/shareProcessNamespace", json!(true), "no namespace")]
#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn a_sandbox_of_another_shape_is_refused(
    #[case] pointer: &str,
    #[case] value: Value,
    #[case] why: &str,
) {
    in_space("shape", async |space| {
        assert_eq!(refusal(space, sandbox()).await, None, "the shape itself is taken");
        let mut pod = sandbox();
        set(&mut pod, pointer, &value);
        let words = refusal(space, pod.clone()).await.expect("it was taken");
        assert!(words.contains(why), "{words}");

        pod["metadata"]["labels"] = json!({});
        assert_eq!(
            refusal(space, pod).await,
            None,
            "without the label of a sandbox it is anybody's Pod, so it was the policy that refused"
        );
    })
    .await;
}

/// A sandbox whose outputs are checked in its Pod.
fn with_checker() -> Value {
    let mut pod = sandbox();
    let program = pod["spec"]["containers"][0].take();
    let mut checker = program.clone();
    checker["name"] = json!("checker");
    checker["volumeMounts"] = json!([{"name": "outputs", "mountPath": "/var/outputs", "readOnly": true}]);
    pod["spec"]["initContainers"] = json!([program]);
    pod["spec"]["containers"] = json!([checker]);
    let volumes = pod["spec"]["volumes"].as_array_mut().unwrap();
    volumes.push(json!({"name": "outputs", "emptyDir": {"sizeLimit": "1Gi"}}));
    pod
}

#[rstest]
#[case::a_program_that_runs_on("/spec/initContainers/0/restartPolicy", json!("Always"), "at most the checker")]
#[case::another_one_after_it("/spec/containers/0/name", json!("shell"), "at most the checker")]
#[case::of_a_reader("/metadata/labels/codegen-operator.dev~1component", json!("reader"), "at most the checker")]
#[case::that_writes(
    "/spec/containers/0/volumeMounts", json!([{"name": "outputs", "mountPath": "/var/outputs"}]), "mounts everything read-only"
)]
#[case::a_program_with_a_writable_root(
    "/spec/initContainers/0/securityContext/readOnlyRootFilesystem", json!(false), "root file system"
)]
#[case::a_program_without_limits("/spec/initContainers/0/resources", json!({}), "limits of memory")]
#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn a_sandbox_with_a_checker_of_another_shape_is_refused(
    #[case] pointer: &str,
    #[case] value: Value,
    #[case] words: &str,
) {
    in_space("checker", async |space| {
        assert_eq!(
            refusal(space, with_checker()).await,
            None,
            "one of the operator's shape is taken"
        );
        let mut pod = with_checker();
        set(&mut pod, pointer, &value);
        let refused = refusal(space, pod).await.unwrap_or_default();
        assert!(refused.contains(words), "{refused}");
    })
    .await;
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn nobody_takes_the_label_off_a_sandbox() {
    in_space("label", async |space| {
        let pods: Api<Pod> = space.api();
        let mut pod = sandbox();
        pod["spec"]["nodeSelector"] = json!({"no": "such-node"});
        pods.create(&PostParams::default(), &serde_json::from_value(pod).unwrap())
            .await
            .unwrap();
        let label = json!({"metadata": {"labels": {"codegen-operator.dev/egress": null}}});
        let patched = pods
            .patch("sandbox", &PatchParams::default(), &Patch::Merge(&label))
            .await;
        let words = patched.unwrap_err().to_string();
        assert!(words.contains("stay as they are"), "{words}");
        let other = json!({"metadata": {"labels": {"team": "a"}}});
        pods.patch("sandbox", &PatchParams::default(), &Patch::Merge(&other))
            .await
            .unwrap();
        pods.delete("sandbox", &DeleteParams::default().grace_period(0))
            .await
            .unwrap();
    })
    .await;
}

#[rstest]
#[case::of_no_component(json!({}), json!({"automountServiceAccountToken": false}), "sandboxes, builds, readers and canaries only")]
#[case::with_a_token(json!({"codegen-operator.dev/component": "canary"}), json!({}), "has a token")]
#[case::with_the_nodes_network(
    json!({"codegen-operator.dev/component": "build"}),
    json!({"automountServiceAccountToken": false, "hostNetwork": true}),
    "shares a namespace"
)]
#[case::with_a_folder_of_the_node(
    json!({"codegen-operator.dev/component": "build"}),
    json!({"automountServiceAccountToken": false, "volumes": [{"name": "root", "hostPath": {"path": "/"}}]}),
    "a folder of its node"
)]
#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn the_operators_account_cannot_create_a_pod(
    #[case] labels: Value,
    #[case] spec: Value,
    #[case] why: &str,
) {
    // So that it is not the namespace that refuses.
    in_space_at("account", "privileged", async |space| {
        let mut pod = json!({
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "any", "labels": labels},
            "spec": {"containers": [{"name": "any", "image": "registry.example.com/nothing:1"}]},
        });
        pod["spec"]
            .as_object_mut()
            .unwrap()
            .extend(spec.as_object().unwrap().clone());
        let create = [
            "--namespace",
            &space.name,
            "create",
            "--dry-run=server",
            "-f",
            "-",
        ];
        let as_operator = [&create[..], &["--as", OPERATOR]].concat();
        let words = kubectl_refused(&as_operator, &pod.to_string());
        assert!(words.contains(why), "{words}");
        // An administrator creates it, as anybody's.
        pod["metadata"]["labels"] = json!({});
        kubectl(&create, &pod.to_string());
    })
    .await;
}
