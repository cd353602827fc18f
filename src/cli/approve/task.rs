//! Approval of the next step of a task in a cluster, for which it waits.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, Resource as _};

use super::{Awaiting, Reference};
use crate::cli::cluster::Cluster;
use crate::cli::command::{TASK_FAILED, USAGE};
use crate::cli::ended::Absent;
use crate::cli::render::approval_awaited;
use codegen_api::CodeGenTask;
use codegen_api::approval::{AwaitedApproval, Gate, TaskRef};
use codegen_core::digest::sha256_hex;
use codegen_engine::results::SOLUTION;

/// Finds what the task `name` waits with, at the gate that is meant.
pub(super) async fn awaiting(cluster: &Cluster, name: &str, gate: Option<Gate>) -> Result<Awaiting, Absent> {
    let task = cluster.task(name).await;
    let task = task.map_err(|message| Absent::new(message, USAGE))?;
    let asked = awaited(&task, gate)?;
    let whole = whole(cluster, &task, asked).await?;
    Ok(of(&task, asked, whole))
}

fn of(task: &CodeGenTask, asked: &AwaitedApproval, whole: String) -> Awaiting {
    let reference = TaskRef {
        name: task.metadata.name.clone().unwrap_or_default(),
        uid: task.metadata.uid.clone().unwrap_or_default(),
    };
    Awaiting {
        reference: Reference::Task(reference),
        gate: asked.gate.into(),
        hash: asked.hash.clone(),
        lines: approval_awaited(asked).lines,
        whole,
        not_shown: None,
        owner: task.owner_ref(&()),
    }
}

/// Finds what the task waits with, at the gate that is meant.
fn awaited(task: &CodeGenTask, gate: Option<Gate>) -> Result<&AwaitedApproval, Absent> {
    let name = task.metadata.name.as_deref().unwrap_or_default();
    let status = task.status.as_ref();
    let stage = status
        .and_then(|status| status.stage.as_deref())
        .unwrap_or("Pending");
    let asked = status.and_then(|status| status.approval.as_ref());
    match (asked, gate) {
        (Some(asked), Some(gate)) if asked.gate != gate => Err(Absent::new(
            format!("{name} waits at the gate {}, not at {gate}", asked.gate),
            TASK_FAILED,
        )),
        (Some(asked), _) => Ok(asked),
        (None, _) => Err(Absent::new(
            format!("{name} waits for no approval; it is in stage {stage}"),
            TASK_FAILED,
        )),
    }
}

/// All of what lines cut short: the plan, or the program as it lies in the cluster.
async fn whole(cluster: &Cluster, task: &CodeGenTask, asked: &AwaitedApproval) -> Result<String, Absent> {
    let status = task.status.clone().unwrap_or_default();
    match (asked.gate, status.plan, status.result) {
        (Gate::Plan, Some(plan), _) => Ok(format!("{}\n\n{}", plan.description, plan.approach)),
        (Gate::Result, _, Some(result)) => {
            let maps: Api<ConfigMap> = Api::namespaced(cluster.client.clone(), &cluster.namespace);
            let found = maps.get(&result).await;
            let map = found.map_err(|error| {
                let message = format!("the program cannot be shown: ConfigMap {result}: {error}");
                Absent::new(message, USAGE)
            })?;
            let program = map
                .data
                .and_then(|mut data| data.remove(SOLUTION))
                .unwrap_or_default();
            let digest = sha256_hex(program.as_bytes());
            // Somebody may have replaced the program since its hash was put up for approval.
            if asked.what.iter().any(|line| line.contains(&digest)) {
                return Ok(program);
            }
            Err(Absent::new(
                format!(
                    "{SOLUTION} in the ConfigMap {result} is not the program that is to be approved: look again"
                ),
                TASK_FAILED,
            ))
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
        assert_eq!(awaited(&task, None).unwrap().gate, Gate::Plan);
        assert!(awaited(&task, Some(Gate::Plan)).is_ok());
        let other = awaited(&task, Some(Gate::Image)).unwrap_err();
        assert!(
            other.message.contains("waits at the gate Plan"),
            "{}",
            other.message
        );
        let none = awaited(&CodeGenTask::new("penguins", CodeGenTaskSpec::default()), None).unwrap_err();
        assert!(none.message.contains("waits for no approval"), "{}", none.message);
    }

    #[test]
    fn two_decisions_about_the_same_thing_have_the_same_name_and_go_with_the_task() {
        let task = waiting();
        let asked = awaited(&task, None).unwrap();
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
