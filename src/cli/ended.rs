//! Parts that the commands which show a task's results share: its end, and the place of its results.

use k8s_openapi::api::core::v1::ConfigMap;

use super::cluster::Cluster;
use super::command::CommandError;
use codegen_api::{CodeGenTask, CodeGenTaskStatus};
use codegen_core::stage::Stage;
use codegen_engine::results::SOLUTION;

/// The program in the `ConfigMap` of a result; `None` where there is none.
pub(super) async fn archived_program(
    cluster: &Cluster,
    result: &str,
) -> Result<Option<String>, CommandError> {
    let found = cluster.api::<ConfigMap>().get_opt(result).await;
    let found = found.map_err(|error| cluster.refused::<ConfigMap>(&error, result))?;
    Ok(found.and_then(|map| map.data?.remove(SOLUTION)))
}

/// The stage that a task has reached.
pub(super) fn stage(status: &CodeGenTaskStatus) -> Option<Stage> {
    status.stage.as_deref()?.parse().ok()
}

/// Reports whether a task has ended, in whichever version of its spec.
pub(super) fn has_ended(task: &CodeGenTask) -> bool {
    let stage = task.status.as_ref().and_then(stage);
    stage.is_some_and(Stage::is_terminal)
}

/// Returns how the task ended, if it has, for the spec that it has now: succeeded or failed.
pub(super) fn end(task: &CodeGenTask) -> Option<Stage> {
    let status = task.status.as_ref()?;
    // The end is that of an earlier spec: the operator has not seen this one.
    let is_seen = status.observed_generation >= task.metadata.generation;
    stage(status).filter(|stage| is_seen && stage.is_terminal())
}

/// Returns the caution for whoever uses the program that a task left; an error where it has not ended, or left none.
pub(super) fn ended(task: &CodeGenTask) -> Result<Option<String>, CommandError> {
    let name = task.metadata.name.as_deref().unwrap_or_default();
    let status = task.status.clone().unwrap_or_default();
    let stage = status.stage.as_deref().unwrap_or("Pending");
    let has_failed = stage == Stage::Failed.as_str();
    if !has_failed && stage != Stage::Succeeded.as_str() {
        return Err(CommandError::failed(format!(
            "{name} is in stage {stage} and has not ended: kubectl-codegen watch {name} shows how far it is"
        )));
    }
    let message = status.message.unwrap_or_default();
    if status.result.is_none() {
        return Err(CommandError::failed(format!(
            "{name} ended in stage {stage} without a program: {message}"
        )));
    }
    Ok(has_failed.then(|| format!("{name} failed, so this program did not pass its tests: {message}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use codegen_api::CodeGenTaskSpec;

    fn task(stage: Option<&str>, result: Option<&str>) -> CodeGenTask {
        let mut task = CodeGenTask::new("penguins", CodeGenTaskSpec::default());
        task.status = Some(CodeGenTaskStatus {
            stage: stage.map(str::to_owned),
            result: result.map(str::to_owned),
            message: Some("5 of 6 tests passed".to_owned()),
            ..CodeGenTaskStatus::default()
        });
        task
    }

    #[test]
    fn a_task_that_runs_says_so_and_how_to_follow_it() {
        for stage in [None, Some("RunningTests")] {
            let absent = ended(&task(stage, None)).unwrap_err();
            assert!(
                absent.to_string().contains("kubectl-codegen watch penguins"),
                "{absent}"
            );
            assert_eq!(absent.code, 1);
        }
    }

    #[test]
    fn the_program_of_a_task_that_failed_comes_with_a_caution() {
        let passed = ended(&task(Some("Succeeded"), Some("penguins-1"))).unwrap();
        assert_eq!(passed, None);
        let failed = ended(&task(Some("Failed"), Some("penguins-1"))).unwrap();
        assert!(failed.unwrap().contains("did not pass its tests: 5 of 6"));
    }

    #[test]
    fn a_task_that_failed_before_there_was_a_program_says_why() {
        let absent = ended(&task(Some("Failed"), None)).unwrap_err();
        assert!(
            absent.to_string().contains("without a program: 5 of 6"),
            "{absent}"
        );
    }
}
