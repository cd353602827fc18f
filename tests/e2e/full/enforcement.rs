//! A cluster that takes NetworkPolicies and does not enforce them.

use std::path::Path;
use std::process::Command;

use crate::space::{OPERATOR_NAMESPACE, Space, in_space, status_of};

const TASK: &str = "multiplication-table";

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

/// What was found before is forgotten, and the operator looks anew. Before it has, calls are made and nothing is run.
fn look_anew() {
    let there = ["--namespace", OPERATOR_NAMESPACE];
    let found = r"--for=jsonpath={.metadata.annotations.codegen-operator\.dev/found}";
    let restart: [&[&str]; 4] = [
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
        &[
            "wait",
            "networkpolicy/codegen-sandbox-denied",
            found,
            "--timeout=180s",
        ],
    ];
    for arguments in restart {
        let done = Command::new("kubectl")
            .args(there)
            .args(arguments)
            .status()
            .unwrap();
        assert!(done.success(), "kubectl {}", arguments.join(" "));
    }
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
        look_anew();
        apply_and_see_it_held(space).await;
        drop(unenforced);
        let task = space.succeeded(TASK).await;
        assert_eq!(status_of(&task, "IsolationVerified"), Some("True"));
    })
    .await;
}
