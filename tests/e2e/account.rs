//! What somebody could do who got hold of the operator's account. Each attack is seen to work for another account with the same rights: what
//! refuses it is the admission policy.

use rstest::rstest;
use serde_json::{Value, json};

use crate::space::{OPERATOR, Space, in_space, in_space_at, kubectl, kubectl_refused};

/// Creates an object as somebody, or only asks whether it would be.
fn create<'a>(space: &'a Space, more: &[&'a str]) -> Vec<&'a str> {
    [&["--namespace", &space.name, "create", "-f", "-"], more].concat()
}

const ASKED: &str = "--dry-run=server";

/// What carries the operator's marks.
fn marks(component: &str) -> Value {
    json!({"app.kubernetes.io/managed-by": "codegen-operator", "codegen-operator.dev/component": component})
}

fn secret(type_: &str, data: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret", "type": type_, "immutable": true, "stringData": data,
        "metadata": {"name": "taken-0123456789", "labels": marks("record")},
    })
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn the_operators_account_gets_no_token_of_another_account() {
    in_space("token", async |space| {
        let mut token = secret("kubernetes.io/service-account-token", &json!({}));
        token["metadata"]["annotations"] = json!({"kubernetes.io/service-account.name": "default"});
        token.as_object_mut().unwrap().remove("immutable");
        let words = kubectl_refused(&create(space, &["--as", OPERATOR]), &token.to_string());
        assert!(words.contains("Secrets of its own types only"), "{words}");

        // Whoever else may create and read Secrets has the token a moment later.
        space.kubectl(&[
            "create",
            "role",
            "writer",
            "--verb=create,get",
            "--resource=secrets",
        ]);
        space.kubectl(&[
            "create",
            "rolebinding",
            "writer",
            "--role=writer",
            "--user=writer",
        ]);
        let mut other = token.clone();
        other["metadata"]["labels"] = json!({});
        kubectl(&create(space, &["--as", "writer"]), &other.to_string());
        space.kubectl(&[
            "wait",
            "--for=jsonpath={.data.token}",
            "secret/taken-0123456789",
            "--timeout=60s",
        ]);
        let read = [
            "get",
            "secret",
            "taken-0123456789",
            "--as",
            "writer",
            "--output=jsonpath={.data.token}",
        ];
        assert!(space.kubectl(&read).len() > 100);
    })
    .await;
}

#[rstest]
#[case::bootstrap_token("bootstrap.kubernetes.io/token", json!({"token-id": "abcdef", "token-secret": "0123456789abcdef"}))]
#[case::login("kubernetes.io/basic-auth", json!({"username": "a", "password": "b"}))]
#[case::certificate("kubernetes.io/tls", json!({"tls.crt": "", "tls.key": ""}))]
#[case::registry("kubernetes.io/dockerconfigjson", json!({".dockerconfigjson": "{}"}))]
#[case::any("Opaque", json!({}))]
#[case::key_of_a_model("codegen-operator.dev/model", json!({"api-key": "a"}))]
#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn the_operators_account_writes_secrets_of_its_own_types_only(
    #[case] type_: &str,
    #[case] data: Value,
) {
    in_space("types", async |space| {
        let as_operator = create(space, &[ASKED, "--as", OPERATOR]);
        let words = kubectl_refused(&as_operator, &secret(type_, &data).to_string());
        assert!(words.contains("Secrets of its own types only"), "{words}");
        kubectl(&create(space, &[ASKED]), &secret(type_, &data).to_string());
        let own = secret("codegen-operator.dev/record", &json!({"content": "a"}));
        kubectl(&as_operator, &own.to_string());
    })
    .await;
}

#[rstest]
#[case::a_name_that_others_look_for("/metadata/name", json!("coredns-custom"), "a name that ends in a hash")]
#[case::without_its_labels("/metadata/labels", json!({}), "carries its labels")]
#[case::that_changes("/immutable", json!(false), "is immutable")]
#[case::that_others_act_on("/metadata/annotations", json!({"reloader.example.com/match": "true"}), "annotations of its own only")]
#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn the_operators_account_writes_no_configuration_of_others(
    #[case] pointer: &str,
    #[case] value: Value,
    #[case] why: &str,
) {
    in_space("configuration", async |space| {
        let mut map = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "immutable": true, "data": {"a": "b"},
            "metadata": {"name": "codegen-harness-0123456789", "labels": marks("harness")},
        });
        let as_operator = create(space, &[ASKED, "--as", OPERATOR]);
        kubectl(&as_operator, &map.to_string());
        crate::admission::set(&mut map, pointer, &value);
        let words = kubectl_refused(&as_operator, &map.to_string());
        assert!(words.contains(why), "{words}");
        kubectl(&create(space, &[ASKED]), &map.to_string());
    })
    .await;
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn the_operators_account_removes_and_changes_what_it_made_only() {
    in_space("removal", async |space| {
        space.kubectl(&["create", "configmap", "kept", "--from-literal=a=b"]);
        space.kubectl(&["label", "configmap", "kept", "team=a"]);
        let all = format!(
            "/api/v1/namespaces/{}/configmaps?labelSelector=team%3Da",
            space.name
        );
        let words = kubectl_refused(&["--as", OPERATOR, "delete", "--raw", &all], "");
        assert!(words.contains("what it has made only"), "{words}");
        space.kubectl(&["get", "configmap", "kept"]);
        kubectl(&["delete", "--raw", &all], "");
        assert_eq!(
            space.kubectl(&["get", "configmap", "kept", "--ignore-not-found"]),
            ""
        );

        let open = json!({
            "apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "database"},
            "spec": {"podSelector": {}, "ingress": [{}]},
        });
        let words = kubectl_refused(&create(space, &["--as", OPERATOR]), &open.to_string());
        assert!(
            words.contains("NetworkPolicies of sandboxes and builds only"),
            "{words}"
        );
        kubectl(&create(space, &[]), &open.to_string());
    })
    .await;
}

/// A build as the operator makes it, in outline.
fn build() -> Value {
    let security = |own: Value| {
        let mut security = json!({"allowPrivilegeEscalation": false, "privileged": false, "capabilities": {"drop": ["ALL"]}});
        security
            .as_object_mut()
            .unwrap()
            .extend(own.as_object().unwrap().clone());
        security
    };
    json!({
        "apiVersion": "batch/v1", "kind": "Job",
        "metadata": {"name": "build-cg0123456789", "labels": marks("build")},
        "spec": {"template": {
            "metadata": {"labels": marks("build")},
            "spec": {
                "restartPolicy": "Never", "automountServiceAccountToken": false,
                "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
                "initContainers": [{
                    "name": "installer", "image": "registry.example.com/operator:1",
                    "securityContext": security(json!({"runAsUser": 65532, "readOnlyRootFilesystem": true})),
                }, {
                    "name": "build", "image": "registry.example.com/kaniko:1",
                    "securityContext": security(json!({"runAsUser": 0, "capabilities": {"drop": ["ALL"], "add": ["CHOWN", "SETUID"]}})),
                    "volumeMounts": [],
                }],
                "containers": [{
                    "name": "push", "image": "registry.example.com/operator:1",
                    "securityContext": security(json!({"runAsUser": 0, "readOnlyRootFilesystem": true})),
                }],
                "volumes": [{"name": "push-credentials", "secret": {"secretName": "registry"}}],
            },
        }},
    })
}

#[rstest]
#[case::capability("/initContainers/1/securityContext/capabilities/add", json!(["NET_ADMIN"]), "what unpacks an image needs")]
#[case::capability_of_the_push(
    "/containers/0/securityContext/capabilities/add", json!(["CHOWN"]), "what unpacks an image needs"
)]
#[case::capabilities_that_stay("/initContainers/1/securityContext/capabilities/drop", json!([]), "drops all capabilities")]
#[case::privileged("/containers/0/securityContext", json!({"privileged": true}), "is privileged")]
#[case::escalation("/containers/0/securityContext/allowPrivilegeEscalation", json!(true), "is privileged")]
#[case::no_profile_of_the_pod("/securityContext", json!({}), "the seccomp profile of the runtime")]
#[case::no_profile_of_a_container(
    "/initContainers/1/securityContext/seccompProfile", json!({"type": "Unconfined"}), "keeps the profiles of its Pod"
)]
#[case::no_apparmor("/containers/0/securityContext/appArmorProfile", json!({"type": "Unconfined"}), "keeps the profiles of its Pod")]
#[case::no_apparmor_of_the_pod("/securityContext/appArmorProfile", json!({"type": "Unconfined"}), "keeps AppArmor")]
#[case::selinux("/containers/0/securityContext/seLinuxOptions", json!({"type": "spc_t"}), "keeps the profiles of its Pod")]
#[case::whole_proc("/containers/0/securityContext/procMount", json!("Unmasked"), "the usual /proc")]
#[case::port_of_the_node("/containers/0/ports", json!([{"containerPort": 80, "hostPort": 80}]), "opens no port")]
#[case::request_of_the_node("/containers/0/lifecycle", json!({"postStart": {"httpGet": {"host": "10.0.0.1", "port": 80}}}), "no hooks")]
#[case::node("/nodeName", json!("master"), "names no node")]
#[case::account("/serviceAccountName", json!("admin"), "no account")]
#[case::kernel("/securityContext/sysctls", json!([{"name": "net.core.somaxconn", "value": "1"}]), "no parameter of the kernel")]
#[case::processes_of_others("/shareProcessNamespace", json!(true), "shares a namespace")]
#[case::processes_of_the_node("/hostPID", json!(true), "shares a namespace")]
#[case::network_of_the_node("/hostNetwork", json!(true), "shares a namespace")]
#[case::folder_of_the_node("/volumes", json!([{"name": "root", "hostPath": {"path": "/"}}]), "a folder of its node")]
#[case::token_by_projection(
    "/volumes", json!([{"name": "t", "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}}]), "a token"
)]
#[case::driver("/volumes", json!([{"name": "csi", "csi": {"driver": "secrets.example.com"}}]), "a folder of its node")]
#[case::token("/automountServiceAccountToken", json!(true), "has a token")]
#[case::another_container("/containers/0/name", json!("shell"), "has the container that builds")]
#[case::credentials_for_packages(
    "/initContainers/1/volumeMounts", json!([{"name": "push-credentials", "mountPath": "/a"}]), "not mounted where packages"
)]
#[case::a_build_that_never_ends("/initContainers/1/restartPolicy", json!("Always"), "has the container that builds")]
#[case::an_installer_that_may_change_itself(
    "/initContainers/0/securityContext/readOnlyRootFilesystem", json!(false), "has the container that builds"
)]
#[case::variable_of_another_object(
    "/containers/0/env", json!([{"name": "A", "valueFrom": {"secretKeyRef": {"name": "a", "key": "b"}}}]), "no variable"
)]
#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn a_build_of_the_operators_account_keeps_to_its_shape(
    #[case] pointer: &str,
    #[case] value: Value,
    #[case] why: &str,
) {
    // So that it is not the namespace that refuses.
    in_space_at("build-shape", "privileged", async |space| {
        let as_operator = create(space, &[ASKED, "--as", OPERATOR]);
        kubectl(&as_operator, &build().to_string());
        let mut job = build();
        crate::admission::set(&mut job, &format!("/spec/template/spec{pointer}"), &value);
        if pointer.ends_with("procMount") {
            // Else no Pod may have it.
            job["spec"]["template"]["spec"]["hostUsers"] = json!(false);
        }
        let words = kubectl_refused(&as_operator, &job.to_string());
        assert!(words.contains(why), "{words}");
    })
    .await;
}

#[rstest]
#[case::root("/containers/0/securityContext/runAsUser", json!(0), "is not root")]
#[case::may_be_root("/containers/0/securityContext/runAsNonRoot", json!(false), "is not root")]
#[case::capability("/containers/0/securityContext/capabilities/add", json!(["NET_BIND_SERVICE"]), "no capability")]
#[case::no_profile_of_a_container("/containers/0/securityContext/seccompProfile", json!({"type": "Unconfined"}), "the profiles of its Pod")]
#[case::whole_proc("/containers/0/securityContext/procMount", json!("Unmasked"), "the usual /proc")]
#[case::port_of_the_node("/containers/0/ports", json!([{"containerPort": 80, "hostPort": 80}]), "opens no port")]
#[case::request_of_the_node(
    "/containers/0/livenessProbe", json!({"httpGet": {"host": "10.0.0.1", "port": 80}}), "no probes"
)]
#[case::node("/nodeName", json!("master"), "names no node")]
#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn a_sandbox_keeps_to_its_shape_in_its_container_too(
    #[case] pointer: &str,
    #[case] value: Value,
    #[case] why: &str,
) {
    in_space_at("container", "privileged", async |space| {
        let mut pod = crate::admission::sandbox();
        pod["metadata"]["name"] = json!("a-cg0123456789");
        let (as_operator, as_administrator) =
            (create(space, &[ASKED, "--as", OPERATOR]), create(space, &[ASKED]));
        kubectl(&as_operator, &pod.to_string());
        crate::admission::set(&mut pod, &format!("/spec{pointer}"), &value);
        if pointer.ends_with("procMount") {
            // Else no Pod may have it.
            pod["spec"]["hostUsers"] = json!(false);
        }
        for whoever in [&as_operator, &as_administrator] {
            let words = kubectl_refused(whoever, &pod.to_string());
            assert!(words.contains(why), "{words}");
        }
        // Without the label it is anybody's Pod.
        pod["metadata"]["labels"] = json!({});
        kubectl(&as_administrator, &pod.to_string());
    })
    .await;
}

/// A run as code mode asks for it.
fn run_of_a_question() -> Value {
    json!({
        "apiVersion": "codegen-operator.dev/v1alpha1", "kind": "CodeGenRun",
        "metadata": {
            "name": "march-cg0123456789",
            "ownerReferences": [{
                "apiVersion": "codegen-operator.dev/v1alpha1", "kind": "CodeModeRun", "name": "march", "uid": "1", "controller": true,
            }],
        },
        "spec": {"taskRef": {"name": "orders"}, "inputs": [{"name": "month", "value": "2027-03"}]},
    })
}

#[rstest]
#[case::of_nobody("/metadata/ownerReferences", json!([]), "for questions of code mode only")]
#[case::of_a_task(
    "/metadata/ownerReferences/0/kind", json!("CodeGenTask"), "for questions of code mode only"
)]
#[case::of_a_question_among_others("/metadata/ownerReferences/0/controller", json!(false), "for questions of code mode only")]
#[case::of_another_group(
    "/metadata/ownerReferences/0/apiVersion", json!("example.com/v1"), "for questions of code mode only"
)]
#[case::with_a_sandbox_of_its_own("/spec/sandbox", json!({"secrets": [{"name": "A", "secretKeyRef": {"name": "database", "key": "password"}}]}), "the sandbox of its task")]
#[case::outputs_elsewhere(
    "/spec/outputs", json!({"persistentVolumeClaim": {"claimName": "data"}}), "keeps its outputs in the cluster"
)]
#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn the_operators_account_makes_runs_for_questions_only(
    #[case] pointer: &str,
    #[case] value: Value,
    #[case] why: &str,
) {
    in_space("runs-of-questions", async |space| {
        let (as_operator, as_administrator) =
            (create(space, &[ASKED, "--as", OPERATOR]), create(space, &[ASKED]));
        let mut run = run_of_a_question();
        kubectl(&as_operator, &run.to_string());
        crate::admission::set(&mut run, pointer, &value);
        let words = kubectl_refused(&as_operator, &run.to_string());
        assert!(words.contains(why), "{words}");
        kubectl(&as_administrator, &run.to_string());
    })
    .await;
}
