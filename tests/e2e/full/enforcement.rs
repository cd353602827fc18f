//! A cluster that takes NetworkPolicies and does not enforce them.

use std::path::Path;
use std::process::Command;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::batch::v1::Job;
use kube::api::ListParams;
use serde_json::Value;

use crate::space::{OPERATOR_NAMESPACE, SOON, Space, condition, in_space, status_of};

/// Much less than the pauses of a task that waits, which grow to half a minute.
const AT_ONCE: SignedDuration = SignedDuration::from_secs(2);

const TASK: &str = "multiplication-table";
const POLICY: &str = "networkpolicy/codegen-sandbox-denied";

/// Policies are not enforced as long as this lives.
struct Unenforced;

impl Unenforced {
    fn begin() -> Self {
        enforcement("off");
        Self
    }
}

impl Drop for Unenforced {
    fn drop(&mut self) {
        enforcement("on");
    }
}

fn enforcement(state: &str) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cluster/enforcement");
    let done = Command::new(script).arg(state).status().unwrap();
    assert!(done.success(), "enforcement {state}");
}

/// What was found before is forgotten, and the operator looks anew.
fn restart_isolation_check() {
    let restart: [&[&str]; 3] = [
        &[
            "annotate",
            "networkpolicy",
            "codegen-sandbox-denied",
            "codegen-operator.dev/found-",
        ],
        &["rollout", "restart", "deployment/codegen-operator"],
        &[
            "rollout",
            "status",
            "deployment/codegen-operator",
            "--timeout=180s",
        ],
    ];
    for arguments in restart {
        kubectl(arguments);
    }
}

fn until_found() {
    let found = r"--for=jsonpath={.metadata.annotations.codegen-operator\.dev/found}";
    kubectl(&["wait", POLICY, found, "--timeout=180s"]);
}

/// Before the look has ended, calls are made and nothing is run.
fn wait_for_isolation_check() {
    restart_isolation_check();
    until_found();
}

/// `kubectl` where the operator is; its output.
fn kubectl(arguments: &[&str]) -> String {
    let output = Command::new("kubectl")
        .args(["--namespace", OPERATOR_NAMESPACE])
        .args(arguments)
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "kubectl {}: {error}",
        arguments.join(" ")
    );
    String::from_utf8(output.stdout).unwrap()
}

/// When the look ended.
fn found_at() -> Timestamp {
    let records = kubectl(&[
        "get",
        POLICY,
        "--output",
        r"jsonpath={.metadata.annotations.codegen-operator\.dev/found}",
    ]);
    let records: Value = serde_json::from_str(&records).unwrap();
    records[0]["at"].as_str().unwrap().parse().unwrap()
}

async fn apply_and_see_it_held(space: &Space) {
    space.copy_secret("openai").await;
    space.apply("examples/prompt-only/task.yaml", "prompt-only");
    let (task, reason, message) = space.stalled(TASK).await;
    assert_eq!(reason, "IsolationNotEnforced", "{message}");
    eprintln!("held: {message}");
    for target in [
        "API server",
        "metadata service",
        "name server",
        "registry",
        "sibling Pod",
    ] {
        assert!(message.contains(target), "{target} was not reached: {message}");
    }
    assert_eq!(status_of(&task, "IsolationVerified"), Some("False"));
    assert_eq!(task.status.unwrap().model_calls, 0);
}

#[tokio::test]
#[ignore = "needs our own cluster to itself: make e2e-full"]
async fn nothing_runs_until_the_cluster_enforces_its_policies() {
    in_space("unenforced", async |space| {
        let unenforced = Unenforced::begin();
        wait_for_isolation_check();
        apply_and_see_it_held(space).await;
        drop(unenforced);
        let task = space.succeeded(TASK).await;
        assert_eq!(status_of(&task, "IsolationVerified"), Some("True"));
    })
    .await;
}

#[tokio::test]
#[ignore = "needs our own cluster to itself: make e2e-full"]
async fn a_task_that_waits_for_the_first_isolation_check_goes_on_when_it_ends() {
    in_space("first-look", async |space| {
        space.copy_secret("openai").await;
        restart_isolation_check();
        space.apply("examples/prompt-only/task.yaml", "prompt-only");
        let is_held = |task: &_| {
            condition(task, "Ready").is_some_and(|(_, _, message)| message.contains("it is not shown yet"))
        };
        space.until(TASK, "held by the first look", SOON, is_held).await;
        until_found();
        space.succeeded(TASK).await;
        let jobs = space.api::<Job>().list(&ListParams::default()).await.unwrap();
        let built = jobs.items[0].metadata.creation_timestamp.clone().unwrap().0;
        let after = built.duration_since(found_at());
        eprintln!("the build began {after:#} after the look had ended");
        assert!(after <= AT_ONCE, "{after:#}");
    })
    .await;
}
