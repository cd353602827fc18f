//! Follows a run to its end.

use crate::cli::cluster::Cluster;
use crate::cli::command::{CommandError, warning};
use crate::cli::follow::until;
use crate::cli::progress::ProgressPrinter;
use codegen_api::conditions::{is_stalled, run_reason};
use codegen_api::{CodeGenRun, CodeGenRunStatus};
use codegen_core::stage::Stage;

/// Shows what the run waits for until it has ended.
pub(in crate::cli) async fn follow(
    cluster: &Cluster,
    name: &str,
    progress: &ProgressPrinter,
) -> Result<CodeGenRun, CommandError> {
    let mut shown = String::new();
    progress.run(&format!("run {name}"));
    let ended = until(cluster, name, progress, |run| {
        match news(name, &run) {
            News::Ended => return Some(Ok(run)),
            News::Never(message) => return Some(Err(CommandError::usage(message))),
            // Once, not at each update of the status.
            News::Waits(message) if message != shown => {
                progress.lines(&warning(&message));
                shown = message;
            }
            News::Waits(_) => {}
            News::Works(label) => progress.run(&format!("run {name}: {label}")),
        }
        None
    });
    ended.await?
}

/// News of a status for whoever waits for the end.
#[derive(Debug, PartialEq, Eq)]
enum News {
    Ended,
    /// It never starts, as it stands.
    Never(String),
    /// It goes on once another object is there, or somebody has done something.
    Waits(String),
    Works(String),
}

fn news(name: &str, run: &CodeGenRun) -> News {
    let none = CodeGenRunStatus::default();
    let status = run.status.as_ref().unwrap_or(&none);
    let stage = status.stage.as_deref().unwrap_or_default();
    if [Stage::Failed, Stage::Succeeded]
        .iter()
        .any(|end| end.as_str() == stage)
    {
        return News::Ended;
    }
    let message = status.message.clone().unwrap_or_default();
    match status.reason.as_deref() {
        Some(
            run_reason::INVALID_INPUTS
            | run_reason::TASK_NOT_SUCCEEDED
            | run_reason::NO_PROGRAM
            | run_reason::IMAGE_GONE,
        ) => News::Never(format!(
            "{message} (the run {name} stays: kubectl delete codegenrun {name})"
        )),
        Some(run_reason::AWAITING_TASK | run_reason::AWAITING_RUN) => News::Waits(message),
        _ if is_stalled(&status.conditions) => News::Waits(message),
        _ if message.is_empty() => News::Works("waiting for the operator".to_owned()),
        _ => News::Works(message),
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

    use super::*;
    use codegen_api::conditions::STALLED;
    use codegen_api::run::CodeGenRunSpec;

    fn condition(type_: &str, status: &str, reason: &str) -> Condition {
        Condition {
            type_: type_.to_owned(),
            status: status.to_owned(),
            reason: reason.to_owned(),
            message: "what happened".to_owned(),
            observed_generation: None,
            last_transition_time: Time(jiff::Timestamp::UNIX_EPOCH),
        }
    }

    fn run(stage: &str, reason: &str, stalled: &str) -> CodeGenRun {
        let mut run = CodeGenRun::new("a", CodeGenRunSpec::default());
        run.status = Some(CodeGenRunStatus {
            stage: Some(stage.to_owned()),
            reason: Some(reason.to_owned()),
            message: Some("what happened".to_owned()),
            conditions: vec![condition(STALLED, stalled, reason)],
            ..CodeGenRunStatus::default()
        });
        run
    }

    #[test]
    fn a_run_is_followed_until_it_has_ended_or_never_will() {
        let message = || "what happened".to_owned();
        assert_eq!(
            news("a", &CodeGenRun::new("a", CodeGenRunSpec::default())),
            News::Works("waiting for the operator".to_owned())
        );
        assert_eq!(
            news("a", &run("Running", "Running", "False")),
            News::Works(message())
        );
        assert_eq!(
            news("a", &run("Pending", "TaskNotFound", "True")),
            News::Waits(message())
        );
        assert_eq!(
            news("a", &run("Pending", "AwaitingTask", "False")),
            News::Waits(message())
        );
        assert_eq!(news("a", &run("Failed", "ProgramFailed", "True")), News::Ended);
        assert_eq!(
            news("a", &run("Succeeded", "ProgramSucceeded", "False")),
            News::Ended
        );
        for reason in ["InvalidInputs", "NoProgram", "ImageGone"] {
            assert_eq!(
                news("a", &run("Pending", reason, "True")),
                News::Never("what happened (the run a stays: kubectl delete codegenrun a)".to_owned())
            );
        }
    }
}
