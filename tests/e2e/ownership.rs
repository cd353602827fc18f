//! What carries the operator's marks is its own: nobody who may edit a namespace makes such an object, or gets into one.

use rstest::rstest;
use serde_json::{Value, json};

use crate::admission::sandbox;
use crate::space::{Space, in_space, kubectl, kubectl_refused};

/// Somebody with the stock role `edit`.
const EDITOR: &str = "editor";
/// Somebody with that role who may debug sandboxes besides.
const DEBUGGER: &str = "debugger";

fn bind(space: &Space) {
    for who in [EDITOR, DEBUGGER] {
        let user = format!("--user={who}");
        space.kubectl(&["create", "rolebinding", who, "--clusterrole=edit", &user]);
    }
    let user = format!("--user={DEBUGGER}");
    space.kubectl(&[
        "create",
        "rolebinding",
        "debug",
        "--clusterrole=codegen-operator-debugger",
        &user,
    ]);
    let role = [
        "create",
        "role",
        "join",
        "--verb=update,patch",
        "--resource=pods/ephemeralcontainers",
    ];
    space.kubectl(&role);
    for who in [EDITOR, DEBUGGER] {
        let (name, user) = (format!("join-{who}"), format!("--user={who}"));
        space.kubectl(&["create", "rolebinding", &name, "--role=join", &user]);
    }
}

fn create<'a>(space: &'a Space, who: &'a str) -> Vec<&'a str> {
    vec![
        "--namespace",
        &space.name,
        "--as",
        who,
        "create",
        "--dry-run=server",
        "-f",
        "-",
    ]
}

fn pod_template() -> Value {
    json!({
        "metadata": {"labels": {"codegen-operator.dev/component": "build"}},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "registry.example.com/nothing:1"}]},
    })
}

#[rstest]
#[case::a_sandbox(sandbox(), "/metadata/labels")]
#[case::a_build(
    json!({
        "apiVersion": "batch/v1", "kind": "Job", "spec": {"template": pod_template()},
        "metadata": {"name": "build-cg0123456789", "labels": {"codegen-operator.dev/component": "build"}},
    }),
    ""
)]
#[case::a_pod_of_a_build(
    json!({"apiVersion": "batch/v1", "kind": "Job", "spec": {"template": pod_template()}, "metadata": {"name": "any"}}),
    "/spec/template/metadata/labels"
)]
#[case::a_harness(
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "data": {"main.py": ""}, "immutable": true,
        "metadata": {"name": "codegen-harness-0123456789", "labels": {"codegen-operator.dev/component": "harness"}},
    }),
    "/metadata/labels"
)]
#[case::a_reply_of_a_model(
    json!({"apiVersion": "v1", "kind": "Secret", "type": "codegen-operator.dev/record", "metadata": {"name": "a"}}),
    "/type"
)]
#[case::a_snapshot(
    json!({"apiVersion": "v1", "kind": "Secret", "type": "codegen-operator.dev/snapshot", "metadata": {"name": "a"}}),
    "/type"
)]
#[case::what_a_run_wrote(
    json!({"apiVersion": "v1", "kind": "Secret", "type": "codegen-operator.dev/outputs", "metadata": {"name": "a"}}),
    "/type"
)]
#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn whoever_edits_a_namespace_makes_nothing_that_is_taken_for_the_operators(
    #[case] mut object: Value,
    #[case] mark: &str,
) {
    in_space("ownership", async |space| {
        bind(space);
        let words = kubectl_refused(&create(space, EDITOR), &object.to_string());
        assert!(words.contains("made by the operator alone"), "{words}");
        // Without the mark it is anybody's.
        if mark.is_empty() {
            object["metadata"]["labels"] = Value::Null;
            object["spec"]["template"]["metadata"] = json!({});
        } else {
            crate::admission::set(&mut object, mark, &Value::Null);
        }
        kubectl(&create(space, EDITOR), &object.to_string());
    })
    .await;
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn nobody_makes_a_sandbox_of_a_pod_that_is_there_or_changes_its_image() {
    in_space("remade", async |space| {
        bind(space);
        for (name, marks) in [
            ("theirs", json!({})),
            ("ours-cg0123456789", sandbox()["metadata"]["labels"].clone()),
        ] {
            let mut pod = sandbox();
            pod["metadata"] = json!({"name": name, "labels": marks});
            pod["spec"]["nodeSelector"] = json!({"no": "such-node"});
            space.apply_objects(&[pod]);
        }
        let as_editor = |arguments: &[&'static str]| {
            [&["--namespace", space.name.as_str(), "--as", EDITOR], arguments].concat()
        };
        let marked = as_editor(&["label", "pod", "theirs", "codegen-operator.dev/component=sandbox"]);
        let words = kubectl_refused(&marked, "");
        assert!(words.contains("stay as they are"), "{words}");
        kubectl(&as_editor(&["label", "pod", "theirs", "team=a"]), "");

        let image = "sandbox=registry.example.com/other:1";
        let changed = as_editor(&["set", "image", "pod/ours-cg0123456789", image]);
        let words = kubectl_refused(&changed, "");
        assert!(words.contains("images of a sandbox or a build stay"), "{words}");
        kubectl(&as_editor(&["set", "image", "pod/theirs", image]), "");
    })
    .await;
}

/// `kubectl` about a Pod that is not there: whoever is let through hears so.
fn connect(space: &Space, who: &str, pod: &str, how: &str) -> String {
    let at = format!("/api/v1/namespaces/{}/pods/{pod}/{how}", space.name);
    kubectl_refused(&["--as", who, "create", "--raw", &at, "-f", "-"], "")
}

#[rstest]
#[case::exec("exec?command=true&stdout=true")]
#[case::attach("attach?stdout=true")]
#[case::port_forward("portforward?ports=80")]
#[case::proxy("proxy/")]
#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn nobody_gets_into_a_sandbox_but_whoever_was_given_the_role(#[case] how: &str) {
    in_space("entered", async |space| {
        bind(space);
        for ours in [
            "words-cg0123456789",
            "build-cg0123456789-abcde",
            "a-b-cg0123456789",
        ] {
            let words = connect(space, EDITOR, ours, how);
            assert!(words.contains("nobody gets into sandboxes and builds"), "{words}");
            let words = connect(space, DEBUGGER, ours, how);
            assert!(words.contains("not found"), "{words}");
        }
        let words = connect(space, EDITOR, "codegen-operator-5d9c", how);
        assert!(words.contains("not found"), "{words}");
    })
    .await;
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn no_container_joins_a_sandbox() {
    in_space("joined", async |space| {
        bind(space);
        for (name, marks) in [("theirs", json!({})), ("ours-cg0123456789", sandbox()["metadata"]["labels"].clone())] {
            let mut pod = sandbox();
            pod["metadata"] = json!({"name": name, "labels": marks});
            pod["spec"]["nodeSelector"] = json!({"no": "such-node"});
            space.apply_objects(&[pod]);
        }
        let join = |who: &str, pod: &str| {
            let mut found: Value = serde_json::from_str(&space.kubectl(&["get", "pod", pod, "--output=json"])).unwrap();
            // The scheduler writes that no node fits meanwhile.
            found["metadata"].as_object_mut().unwrap().remove("resourceVersion");
            found["spec"]["ephemeralContainers"] = json!([{
                "name": "debugger", "image": "registry.example.com/nothing:1", "terminationMessagePolicy": "File",
                "imagePullPolicy": "IfNotPresent",
                "securityContext": {"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}, "runAsNonRoot": true},
            }]);
            let at = format!("/api/v1/namespaces/{}/pods/{pod}/ephemeralcontainers", space.name);
            (vec!["--as".to_owned(), who.to_owned(), "replace".to_owned(), "--raw".to_owned(), at, "-f".to_owned(), "-".to_owned()], found.to_string())
        };
        let (command, input) = join(EDITOR, "ours-cg0123456789");
        let command: Vec<&str> = command.iter().map(String::as_str).collect();
        let words = kubectl_refused(&command, &input);
        assert!(words.contains("nobody gets into sandboxes and builds"), "{words}");
        for (who, pod) in [(EDITOR, "theirs"), (DEBUGGER, "ours-cg0123456789")] {
            let (command, input) = join(who, pod);
            let command: Vec<&str> = command.iter().map(String::as_str).collect();
            kubectl(&command, &input);
        }
    })
    .await;
}
