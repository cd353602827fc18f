//! Follows a run to its end, and its outputs to their registry.

use std::pin::pin;

use futures::StreamExt as _;

use super::Stopped;
use crate::cli::cluster::Cluster;
use crate::cli::command::warning;
use crate::cli::follow::{Change, changes};
use crate::cli::progress::ProgressPrinter;
use codegen_api::conditions::{OUTPUTS_PUSHED, is_stalled, run_reason};
use codegen_api::{CodeGenRun, CodeGenRunStatus};
use codegen_core::stage::Stage;

/// Shows what the run waits for until it has ended.
pub(super) async fn follow(
    cluster: &Cluster,
    name: &str,
    progress: &ProgressPrinter,
) -> Result<CodeGenRun, Stopped> {
    let mut changes = pin!(changes(cluster.runs(), name));
    let mut shown = String::new();
    progress.run(&format!("run {name}"));
    while let Some(change) = changes.next().await {
        match change {
            Change::Seen(run) => match news(name, &run) {
                News::Ended => return Ok(run),
                News::Never(message) => return Err(Stopped::usage(message)),
                // Once, not at each update of the status.
                News::Waits(message) if message != shown => {
                    progress.lines(&warning(&message));
                    shown = message;
                }
                News::Waits(_) => {}
                News::Works(label) => progress.run(&format!("run {name}: {label}")),
            },
            Change::Deleted => break,
            Change::CutOff(message) => progress.lines(&warning(&message)),
        }
    }
    Err(Stopped::failed(format!(
        "the run {name} was deleted before it had ended"
    )))
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
    if stage == Stage::Failed.as_str() {
        return News::Ended;
    }
    if stage == Stage::Succeeded.as_str() {
        return match pushing(run) {
            Pushing::Goes(None) => News::Works("the outputs are being pushed".to_owned()),
            Pushing::Goes(Some(message)) => News::Waits(message.to_owned()),
            Pushing::No | Pushing::Done(_) | Pushing::Refused(_) => News::Ended,
        };
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

/// State of the outputs on their way to a registry.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Pushing<'a> {
    /// Nobody asked for that, or the program has failed.
    No,
    /// They are not there yet; why, where something prevents them.
    Goes(Option<&'a str>),
    /// They are there: the artifact by digest.
    Done(&'a str),
    /// Not before somebody has changed something.
    Refused(&'a str),
}

pub(super) fn pushing(run: &CodeGenRun) -> Pushing<'_> {
    let outputs = run.spec.outputs.as_ref();
    let is_asked_for = outputs.is_some_and(|outputs| outputs.artifact.is_some());
    let Some(status) = run.status.as_ref().filter(|_| is_asked_for) else {
        return Pushing::No;
    };
    if status.stage.as_deref() != Some(Stage::Succeeded.as_str()) {
        return Pushing::No;
    }
    if let Some(artifact) = &status.artifact {
        return Pushing::Done(artifact);
    }
    let said = status.conditions.iter().find(|said| said.type_ == OUTPUTS_PUSHED);
    match said.map(|said| (said.reason.as_str(), said.message.as_str())) {
        // Nothing prevents it.
        None | Some((run_reason::PUSHING, _)) => Pushing::Goes(None),
        Some((
            run_reason::PUSH_REFUSED
            | run_reason::OUTPUTS_GONE
            | run_reason::OUTPUTS_CHANGED
            | run_reason::OUTPUTS_TOO_MANY,
            message,
        )) => Pushing::Refused(message),
        Some((_, message)) => Pushing::Goes(Some(message)),
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

    use super::*;
    use codegen_api::conditions::STALLED;
    use codegen_api::run::{CodeGenRunSpec, OutputArtifact, RunOutputs};

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

    #[test]
    fn outputs_that_are_to_be_pushed_are_waited_for_until_they_are_or_somebody_must_help() {
        let mut pushed = run("Succeeded", "ProgramSucceeded", "False");
        pushed.spec.outputs = Some(RunOutputs {
            artifact: Some(OutputArtifact::default()),
            ..RunOutputs::default()
        });
        assert!(matches!(news("a", &pushed), News::Works(_)));
        let said = |reason: &str| {
            let mut run = pushed.clone();
            let status = run.status.as_mut().unwrap();
            status
                .conditions
                .push(condition("OutputsPushed", "False", reason));
            run
        };
        let unreachable = said("RegistryUnreachable");
        assert_eq!(news("a", &unreachable), News::Waits("what happened".to_owned()));
        assert!(matches!(news("a", &said("Pushing")), News::Works(_)));
        let again = said("CheckingAgain");
        assert_eq!(news("a", &again), News::Waits("what happened".to_owned()));
        for reason in ["PushRefused", "OutputsGone", "OutputsChanged", "OutputsTooMany"] {
            assert_eq!(news("a", &said(reason)), News::Ended);
            assert_eq!(pushing(&said(reason)), Pushing::Refused("what happened"));
        }
        pushed.status.as_mut().unwrap().artifact = Some("registry.example/o@sha256:1".to_owned());
        assert_eq!(news("a", &pushed), News::Ended);
        assert_eq!(pushing(&pushed), Pushing::Done("registry.example/o@sha256:1"));
        let failed = run("Failed", "ProgramFailed", "True");
        pushed.status = failed.status;
        assert_eq!((news("a", &pushed), pushing(&pushed)), (News::Ended, Pushing::No));
    }
}
