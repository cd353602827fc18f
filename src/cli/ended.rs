//! Parts that the commands which show a task's results share: its end, and the place of its results.

use super::command::TASK_FAILED;
use codegen_api::CodeGenTask;
use codegen_core::stage::Stage;

/// Reason that there is nothing to show, and the exit code that says so.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Absent {
    pub message: String,
    pub code: i32,
}

impl Absent {
    pub const fn new(message: String, code: i32) -> Self {
        Self { message, code }
    }
}

/// A task that has ended, and left something.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct EndedTask {
    /// Name of the objects with its results.
    pub result: String,
    /// Caution for whoever uses the program.
    pub caution: Option<String>,
}

/// Reports whether a task has ended, in whichever version of its spec.
pub(super) fn has_ended(task: &CodeGenTask) -> bool {
    let status = task.status.as_ref();
    let stage = status.and_then(|status| status.stage.as_deref());
    stage
        .and_then(|stage| stage.parse::<Stage>().ok())
        .is_some_and(Stage::is_terminal)
}

/// Returns what a task left, if it has ended.
pub(super) fn ended(task: &CodeGenTask) -> Result<EndedTask, Absent> {
    let name = task.metadata.name.as_deref().unwrap_or_default();
    let status = task.status.clone().unwrap_or_default();
    let stage = status.stage.as_deref().unwrap_or("Pending");
    let has_failed = stage == Stage::Failed.as_str();
    if !has_failed && stage != Stage::Succeeded.as_str() {
        return Err(Absent::new(
            format!(
                "{name} is in stage {stage} and has not ended: kubectl-codegen watch {name} shows how far it is"
            ),
            TASK_FAILED,
        ));
    }
    let message = status.message.unwrap_or_default();
    match status.result {
        Some(result) => Ok(EndedTask {
            result,
            caution: has_failed
                .then(|| format!("{name} failed, so this program did not pass its tests: {message}")),
        }),
        None => Err(Absent::new(
            format!("{name} ended in stage {stage} without a program: {message}"),
            TASK_FAILED,
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use codegen_api::CodeGenTaskSpec;
    use codegen_api::status::CodeGenTaskStatus;

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
                absent.message.contains("kubectl-codegen watch penguins"),
                "{}",
                absent.message
            );
            assert_eq!(absent.code, 1);
        }
    }

    #[test]
    fn the_program_of_a_task_that_failed_comes_with_a_caution() {
        let passed = ended(&task(Some("Succeeded"), Some("penguins-1"))).unwrap();
        assert_eq!((passed.result.as_str(), passed.caution), ("penguins-1", None));
        let failed = ended(&task(Some("Failed"), Some("penguins-1"))).unwrap();
        assert!(failed.caution.unwrap().contains("did not pass its tests: 5 of 6"));
    }

    #[test]
    fn a_task_that_failed_before_there_was_a_program_says_why() {
        let absent = ended(&task(Some("Failed"), None)).unwrap_err();
        assert!(
            absent.message.contains("without a program: 5 of 6"),
            "{}",
            absent.message
        );
    }
}
