//! Tasks that wait for a person, and who that may be.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use codegen_api::CodeGenTask;
use codegen_api::approval::{ApprovalDecision, AwaitedApproval, Gate};
use kube::ResourceExt as _;
use serde_json::{Value, json};

use crate::space::{SOON, Space, TO_THE_END, condition, in_space, kubectl, kubectl_refused, status_of};

const TASK: &str = "multiplication-table";
/// Decides, and applies no tasks.
const APPROVER: &str = "ada";
/// Applies tasks, and decides nothing.
const EDITOR: &str = "eve";

fn asked(task: &CodeGenTask) -> Option<&AwaitedApproval> {
    task.status.as_ref()?.approval.as_ref()
}

async fn at_gate(space: &Space, name: &str, gate: Gate) -> CodeGenTask {
    let waits = |task: &CodeGenTask| asked(task).is_some_and(|asked| asked.gate == gate);
    space
        .until(name, &format!("at the gate {gate}"), TO_THE_END, waits)
        .await
}

fn decision(task: &CodeGenTask, hash: &str, name: &str, decided_by: &str) -> Value {
    json!({
        "apiVersion": "codegen-operator.dev/v1alpha1", "kind": "CodeGenApproval",
        "metadata": {"name": name},
        "spec": {
            "taskRef": {"name": task.name_any(), "uid": task.uid()},
            "gate": "Plan", "hash": hash, "decision": "Approve", "decidedBy": decided_by,
        },
    })
}

/// What the API server says to whoever creates this as `who`.
fn refused(space: &Space, who: &str, object: &Value) -> String {
    let arguments = ["--namespace", &space.name, "--as", who, "create", "-f", "-"];
    kubectl_refused(&arguments, &object.to_string())
}

/// The kubeconfig of whoever approves.
fn kubeconfig(folder: &Path) -> String {
    let view = kubectl(&["config", "view", "--raw", "--minify", "--output", "json"], "");
    let mut config: Value = serde_json::from_str(&view).unwrap();
    config["users"][0]["user"]["as"] = json!(APPROVER);
    let file = folder.join("kubeconfig");
    fs::write(&file, config.to_string()).unwrap();
    file.to_str().unwrap().to_owned()
}

fn codegen(space: &Space, kubeconfig: &str, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_kubectl-codegen"))
        .args(arguments)
        .args(["--yes", "--namespace", &space.name, "--kubeconfig", kubeconfig])
        .output()
        .unwrap()
}

fn done(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    said
}

fn bind(space: &Space, role: &str, user: &str) {
    let (name, role, user) = (
        format!("{user}-{role}"),
        format!("--clusterrole={role}"),
        format!("--user={user}"),
    );
    space.kubectl(&["create", "rolebinding", &name, &role, &user]);
}

/// In another's name, by whoever may not, of something else, or changed later.
async fn decisions_that_do_not_count(space: &Space, task: &CodeGenTask, plan: &AwaitedApproval) {
    let forged = refused(space, APPROVER, &decision(task, &plan.hash, "forged", "bob"));
    assert!(
        forged.contains("spec.decidedBy is the name of whoever"),
        "{forged}"
    );
    let editors = refused(space, EDITOR, &decision(task, &plan.hash, "editors", EDITOR));
    assert!(
        editors.contains("cannot create resource \"codegenapprovals\""),
        "{editors}"
    );
    let old = decision(task, &"0".repeat(64), "old", APPROVER).to_string();
    kubectl(
        &["--namespace", &space.name, "--as", APPROVER, "create", "-f", "-"],
        &old,
    );
    let other = r#"{"spec": {"reason": "changed my mind"}}"#;
    let change = [
        "--namespace",
        &space.name,
        "patch",
        "codegenapproval",
        "old",
        "--type=merge",
        "--patch",
        other,
    ];
    assert!(kubectl_refused(&change, "").contains("a decision stays as it was made"));
    let still = at_gate(space, TASK, Gate::Plan).await;
    assert_eq!(
        still.status.unwrap().model_calls,
        1,
        "an old yes counts for nothing"
    );
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn a_task_goes_on_when_whoever_may_has_approved_of_exactly_what_it_shows() {
    in_space("approvals", async |space| {
        bind(space, "codegen-operator-approver", APPROVER);
        bind(space, "view", APPROVER);
        bind(space, "edit", EDITOR);
        space.copy_secret("openai").await;
        space.apply_changed("examples/prompt-only/task.yaml", "prompt-only", |spec| {
            spec["approvals"] = json!(["Plan", "Result"]);
        });
        let task = at_gate(space, TASK, Gate::Plan).await;
        assert!(matches!(
            condition(&task, "Stalled"),
            Some(("True", "AwaitingApproval", _))
        ));
        assert_eq!(status_of(&task, "Succeeded"), Some("Unknown"));
        let (status, plan) = (task.status.clone().unwrap(), asked(&task).unwrap().clone());
        assert_eq!(status.model_calls, 1);
        assert!(
            plan.what[0].contains(&status.plan.unwrap().description),
            "{:?}",
            plan.what
        );

        decisions_that_do_not_count(space, &task, &plan).await;

        let folder = tempfile::tempdir().unwrap();
        let ada = kubeconfig(folder.path());
        let said = done(&codegen(
            space,
            &ada,
            &["approve", TASK, "--gate", "Plan", "--reason", "fine"],
        ));
        assert!(said.contains(&plan.hash[..16]), "{said}");
        at_gate(space, TASK, Gate::Result).await;
        let said = done(&codegen(space, &ada, &["approve", TASK]));
        assert!(said.contains("def main("), "the program is shown: {said}");
        let status = space.succeeded(TASK).await.status.unwrap();
        assert_eq!((status.model_calls, status.builds, status.approval), (3, 1, None));
        let gates: Vec<(Gate, &str, bool)> = status
            .approvals
            .iter()
            .map(|decided| (decided.gate, decided.decided_by.as_str(), decided.verified))
            .collect();
        assert_eq!(
            gates,
            [(Gate::Plan, APPROVER, true), (Gate::Result, APPROVER, true)]
        );
        assert_eq!(status.approvals[0].reason.as_deref(), Some("fine"));
    })
    .await;
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn a_rejected_plan_ends_the_task_and_another_prompt_starts_it_anew() {
    in_space("rejection", async |space| {
        bind(space, "codegen-operator-approver", APPROVER);
        space.copy_secret("openai").await;
        space.apply_changed("examples/prompt-only/task.yaml", "prompt-only", |spec| {
            spec["approvals"] = json!(["Plan"]);
        });
        let task = at_gate(space, TASK, Gate::Plan).await;
        let before = asked(&task).unwrap().hash.clone();
        let folder = tempfile::tempdir().unwrap();
        let ada = kubeconfig(folder.path());
        done(&codegen(
            space,
            &ada,
            &[
                "reject",
                TASK,
                "--gate",
                "Plan",
                "--reason",
                "columns are missing",
            ],
        ));
        let ended = space.end(TASK).await;
        let (_, reason, message) = condition(&ended, "Succeeded").unwrap();
        assert_eq!(reason, "Rejected");
        assert!(
            message.contains("rejected by ada: columns are missing"),
            "{message}"
        );
        let status = ended.status.unwrap();
        assert_eq!(status.approvals[0].decision, ApprovalDecision::Reject);
        assert_eq!((status.model_calls, status.builds), (1, 0));

        let change =
            json!({"spec": {"prompt": "Print the multiplication table of 1 to 10 with its columns named."}});
        space.kubectl(&[
            "patch",
            "codegentask",
            TASK,
            "--type=merge",
            "--patch",
            &change.to_string(),
        ]);
        let asks_anew = |task: &CodeGenTask| asked(task).is_some_and(|asked| asked.hash != before);
        let anew = space.until(TASK, "asking anew", SOON, asks_anew).await;
        assert!(anew.status.unwrap().approvals.is_empty());
    })
    .await;
}
