//! The task that a run is of, and the program in its archive.

use std::sync::Arc;

use kube::{Api, ResourceExt as _};

use super::program::FinishedProgram;
use crate::controller::context::Context;
use crate::controller::hold::{Blocked, misconfigured, unreachable};
use crate::controller::record::cache::{ended_in, has_ended};
use crate::controller::record::progress::recorded;
use crate::controller::record::result::TASK;
use crate::controller::record::unpack::unpack;
use codegen_api::conditions::run_reason;
use codegen_api::run_status::RunTaskStatus;
use codegen_api::{CodeGenRun, CodeGenTask, CodeGenTaskStatus};
use codegen_core::digest::sha256_hex;
use codegen_core::progress::Document;
use codegen_core::stage::Stage;
use codegen_core::status::{Hold, Until};
use codegen_core::task::Task;
use codegen_data::profile::SampleProfile;
use codegen_engine::run_data::columns;
use codegen_ledger::StoreError;

/// The task of a run once it has succeeded; until then, what it waits for.
pub async fn task_of(context: &Context, object: &CodeGenRun, name: &str) -> Result<CodeGenTask, Blocked> {
    let namespace = object.namespace().unwrap_or_default();
    let tasks: Api<CodeGenTask> = Api::namespaced(context.client.clone(), &namespace);
    let found = tasks.get_opt(name).await;
    let found =
        found.map_err(|error| unreachable(&format!("read the CodeGenTask {namespace}/{name}"), &error))?;
    let Some(task) = found else {
        return Err(Blocked(Hold {
            reason: run_reason::TASK_NOT_FOUND,
            message: format!(
                "spec.taskRef refers to the CodeGenTask {namespace}/{name}, which is not there: create it, and the run goes on by \
                 itself; or make another run with the right name"
            ),
            until: Until::Corrected,
        }));
    };
    match unfinished(&task) {
        Some(hold) => Err(Blocked(hold)),
        None => Ok(task),
    }
}

/// Returns the reason for which the program of a task cannot be run yet.
pub fn unfinished(task: &CodeGenTask) -> Option<Hold> {
    let name = format!(
        "CodeGenTask {}/{}",
        task.namespace().unwrap_or_default(),
        task.name_any()
    );
    let status = task.status.as_ref();
    match ended_in(task) {
        Some(Stage::Succeeded) if has_ended(task) && status.is_some_and(|status| status.result.is_some()) => {
            None
        }
        Some(Stage::Failed) if has_ended(task) => {
            let reason = status
                .and_then(|status| status.reason.as_deref())
                .unwrap_or_default();
            Some(Hold {
                reason: run_reason::TASK_NOT_SUCCEEDED,
                message: format!(
                    "the {name} has failed ({reason}), so there is no program to run: change the task, and the run goes on by itself \
                     when that has succeeded"
                ),
                until: Until::Corrected,
            })
        }
        _ => Some(Hold {
            reason: run_reason::AWAITING_TASK,
            message: format!("the {name} has not succeeded yet; the run goes on by itself when it has"),
            until: Until::Room,
        }),
    }
}

/// Returns the reference to a task that a run holds on to.
pub fn reference_to(task: &CodeGenTask) -> RunTaskStatus {
    let status = task.status.clone().unwrap_or_default();
    RunTaskStatus {
        name: task.name_any(),
        uid: task.uid().unwrap_or_default(),
        generation: task.metadata.generation.unwrap_or_default(),
        run: status.run.unwrap_or_default(),
        result: status.result.unwrap_or_default(),
    }
}

/// The program of a task that has succeeded.
pub async fn program_of(context: &Context, task: &CodeGenTask) -> Result<Arc<FinishedProgram>, Blocked> {
    let RunTaskStatus { uid, result, .. } = reference_to(task);
    // A result never changes under its name.
    if let Some(program) = context.runs.program(&uid, &result) {
        return Ok(program);
    }
    let status = task.status.clone().unwrap_or_default();
    let read = read(context, &task.namespace().unwrap_or_default(), &result, &status).await;
    let program = Arc::new(read.map_err(|error| blocked_by(task, &error))?);
    context.runs.cache_program(&uid, &result, Arc::clone(&program));
    Ok(program)
}

async fn read(
    context: &Context,
    namespace: &str,
    result: &str,
    status: &CodeGenTaskStatus,
) -> Result<FinishedProgram, StoreError> {
    let mut documents = unpack(&context.client, namespace, result).await?;
    let damaged = |detail: &str| StoreError::Damaged {
        name: format!("Secret {namespace}/{result}"),
        detail: detail.to_owned(),
    };
    let task: Option<Task> = documents
        .get(TASK)
        .and_then(|bytes| serde_json::from_slice(bytes).ok());
    let task = task.ok_or_else(|| damaged("it does not say of which task it is the result"))?;
    let progress = recorded(status).map_err(|error| damaged(&error.to_string()))?;
    let progress = progress.ok_or_else(|| damaged("the status of its task has no progress"))?;
    let mut take = |document: &Option<Document>| documents.remove(&document.as_ref()?.name);
    let source = take(&progress.documents.solution).and_then(|bytes| String::from_utf8(bytes).ok());
    let source = source.ok_or_else(|| damaged("it has no program"))?;
    let image = progress.build.built.map(|built| built.image);
    let checks = take(&progress.documents.checks).unwrap_or_default();
    let profiles = take(&progress.documents.profiles).unwrap_or_default();
    Ok(FinishedProgram {
        sha256: sha256_hex(source.as_bytes()),
        task,
        source,
        image: image.ok_or_else(|| damaged("its task has no image"))?,
        checks: serde_json::from_slice(&checks).unwrap_or_default(),
        variables: Vec::new(),
        columns: columns(&serde_json::from_slice::<Vec<SampleProfile>>(&profiles).unwrap_or_default()),
    })
}

fn blocked_by(task: &CodeGenTask, error: &StoreError) -> Blocked {
    let name = format!(
        "CodeGenTask {}/{}",
        task.namespace().unwrap_or_default(),
        task.name_any()
    );
    match error {
        StoreError::Damaged { name: object, detail } => misconfigured(format!(
            "the {name} has succeeded, and its program cannot be read ({object}: {detail}): delete the task and apply it again"
        )),
        StoreError::Remote { action, source } => match source.downcast_ref::<kube::Error>() {
            Some(kube::Error::Api(status)) if status.is_not_found() => misconfigured(format!(
                "the {name} has succeeded, and the Secret with its program is gone: delete the task and apply it again"
            )),
            Some(error) => unreachable(action, error),
            None => misconfigured(error.to_string()),
        },
        other => misconfigured(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case::new(json!({}), Some(("AwaitingTask", Until::Room)))]
    #[case::works(json!({"stage": "Planning", "observedGeneration": 1}), Some(("AwaitingTask", Until::Room)))]
    #[case::failed(json!({"stage": "Failed", "observedGeneration": 1}), Some(("TaskNotSucceeded", Until::Corrected)))]
    #[case::goes_on(json!({"stage": "Failed", "observedGeneration": 0}), Some(("AwaitingTask", Until::Room)))]
    #[case::changed(json!({"stage": "Succeeded", "observedGeneration": 0, "result": "r"}), Some(("AwaitingTask", Until::Room)))]
    #[case::succeeded(json!({"stage": "Succeeded", "observedGeneration": 1, "result": "r"}), None)]
    fn a_run_waits_until_its_task_has_succeeded_as_it_stands(
        #[case] status: serde_json::Value,
        #[case] expected: Option<(&str, Until)>,
    ) {
        let mut status = status;
        status["conditions"] = json!([]);
        let task: CodeGenTask = serde_json::from_value(json!({
            "metadata": {"name": "penguins", "namespace": "data", "generation": 1},
            "spec": {"prompt": "p"},
            "status": status,
        }))
        .unwrap();
        let found = unfinished(&task).map(|hold| (hold.reason, hold.until));
        assert_eq!(found, expected);
    }
}
