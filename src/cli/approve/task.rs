//! Approval of the next step of a task in a cluster, for which it waits.

use kube::Resource as _;

use super::{Awaiting, Reference, awaited};
use crate::cli::cluster::Cluster;
use crate::cli::command::CommandError;
use crate::cli::ended::archived_program;
use codegen_api::CodeGenTask;
use codegen_api::approval::{AwaitedApproval, Gate, TaskRef};
use codegen_core::digest::sha256_hex;
use codegen_engine::results::SOLUTION;

/// Finds what the task `name` waits with, at the gate that is meant.
pub(super) async fn awaiting(
    cluster: &Cluster,
    name: &str,
    gate: Option<Gate>,
) -> Result<Awaiting, CommandError> {
    let task = cluster.task(name).await?;
    let asked = waits_with(&task, gate)?;
    let whole = whole(cluster, &task, asked).await?;
    Ok(of(&task, asked, whole))
}

fn of(task: &CodeGenTask, asked: &AwaitedApproval, whole: String) -> Awaiting {
    let reference = TaskRef {
        name: task.metadata.name.clone().unwrap_or_default(),
        uid: task.metadata.uid.clone().unwrap_or_default(),
    };
    Awaiting {
        whole,
        ..Awaiting::of(asked, Reference::Task(reference), task.owner_ref(&()))
    }
}

/// Finds what the task waits with, at the gate that is meant.
fn waits_with(task: &CodeGenTask, gate: Option<Gate>) -> Result<&AwaitedApproval, CommandError> {
    let name = task.metadata.name.as_deref().unwrap_or_default();
    let status = task.status.as_ref();
    let stage = status.and_then(|status| status.stage.as_deref());
    let asked = awaited(name, stage, status.and_then(|status| status.approval.as_ref()))?;
    match gate {
        Some(gate) if asked.gate != gate => Err(CommandError::failed(format!(
            "{name} waits at the gate {}, not at {gate}",
            asked.gate
        ))),
        _ => Ok(asked),
    }
}

/// All of what lines cut short: the plan, or the program as it lies in the cluster.
async fn whole(
    cluster: &Cluster,
    task: &CodeGenTask,
    asked: &AwaitedApproval,
) -> Result<String, CommandError> {
    let status = task.status.clone().unwrap_or_default();
    match (asked.gate, status.plan, status.result) {
        (Gate::Plan, Some(plan), _) => Ok(format!("{}\n\n{}", plan.description, plan.approach)),
        (Gate::Result, _, Some(result)) => {
            let program = archived_program(cluster, &result).await?.unwrap_or_default();
            let digest = sha256_hex(program.as_bytes());
            // Somebody may have replaced the program since its hash was put up for approval.
            if asked.what.iter().any(|line| line.contains(&digest)) {
                return Ok(program);
            }
            Err(CommandError::failed(format!(
                "{SOLUTION} in the ConfigMap {result} is not the program that is to be approved: look again"
            )))
        }
        _ => Ok(String::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use codegen_api::CodeGenTaskSpec;
    use codegen_api::approval::ApprovalDecision;
    use codegen_api::status::CodeGenTaskStatus;

    fn waiting() -> CodeGenTask {
        let mut task = CodeGenTask::new("penguins", CodeGenTaskSpec::default());
        task.metadata.uid = Some("uid-1".to_owned());
        task.status = Some(CodeGenTaskStatus {
            stage: Some("GeneratingCode".to_owned()),
            approval: Some(AwaitedApproval {
                gate: Gate::Plan,
                hash: "a".repeat(64),
                what: Vec::new(),
            }),
            ..CodeGenTaskStatus::default()
        });
        task
    }

    #[test]
    fn a_decision_is_about_the_gate_that_the_task_waits_at() {
        let task = waiting();
        assert_eq!(waits_with(&task, None).unwrap().gate, Gate::Plan);
        assert!(waits_with(&task, Some(Gate::Plan)).is_ok());
        let other = waits_with(&task, Some(Gate::Image)).unwrap_err();
        assert!(other.to_string().contains("waits at the gate Plan"), "{other}");
        let none = waits_with(&CodeGenTask::new("penguins", CodeGenTaskSpec::default()), None).unwrap_err();
        assert!(none.to_string().contains("waits for no approval"), "{none}");
    }

    #[test]
    fn two_decisions_about_the_same_thing_have_the_same_name_and_go_with_the_task() {
        let task = waiting();
        let asked = waits_with(&task, None).unwrap();
        let record = |asked: &AwaitedApproval, decision, who| {
            of(&task, asked, String::new()).record(decision, who, None)
        };
        let yes = record(asked, ApprovalDecision::Approve, "ada");
        let no = record(asked, ApprovalDecision::Reject, "eve");
        assert_eq!(yes.metadata.name, no.metadata.name);
        assert_eq!(yes.metadata.owner_references.unwrap()[0].uid, "uid-1");
        let other = AwaitedApproval {
            hash: "b".repeat(64),
            ..asked.clone()
        };
        let another = record(&other, ApprovalDecision::Approve, "ada");
        assert_ne!(another.metadata.name, no.metadata.name);
    }
}
