//! What a task does next.

use jiff::Timestamp;

use crate::api::approval::AwaitedApproval;

use super::approval;
use super::budget;
use super::call::CallKind;
use super::package_policy::denial;
use super::progress::Progress;
use super::publication;
use super::stage::{Stage, Stop};
use super::task::Task;

/// What the engine shall do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Read the samples and write the data context.
    ReadSamples,
    /// Ask the model.
    Call(CallKind),
    /// Ask the model for the suite while the image builds.
    CallBesideBuild(CallKind),
    /// Diagnose failing acceptance tests without a model.
    DiagnoseAcceptance,
    /// Build the image, or see how far it is.
    Build,
    /// Run tests, vacuity check, rehearsal and acceptance tests.
    Run,
    /// Wait until a person has decided.
    AwaitApproval(AwaitedApproval),
    /// Push the program as an image.
    Publish,
    /// Call the task succeeded.
    Accept,
    /// End without success.
    Stop(Stop),
    /// Do nothing before this moment.
    Wait(Timestamp),
    /// Nothing follows.
    Finished,
}

/// Decides the next step. Total: every stage has an answer.
#[must_use]
pub fn decide(task: &Task, progress: &Progress, now: Timestamp) -> Decision {
    if progress.stage.is_terminal() && !publication::is_due(task.publish.as_ref(), progress) {
        return Decision::Finished;
    }
    if let Some(asked) = approval::awaited(task, progress) {
        return Decision::AwaitApproval(asked);
    }
    if let Some(waiting) = &progress.waiting
        && !waiting.is_over(now)
    {
        return Decision::Wait(waiting.retry_at);
    }
    // What has passed costs nothing more.
    if !progress.stage.has_passed()
        && let Some(stop) = budget::exhausted(task, progress, now)
    {
        return Decision::Stop(stop);
    }
    let needs_image = matches!(progress.stage, Stage::GeneratingTests | Stage::AwaitingImage)
        && progress.build.ready().is_none();
    if needs_image && let Some(denial) = denial(task, progress) {
        return Decision::Stop(denial.stop());
    }
    match progress.stage {
        Stage::ReadingSamples => Decision::ReadSamples,
        Stage::ReadingConstraints => call(task, progress, CallKind::Constraints),
        Stage::Planning => call(task, progress, CallKind::Plan),
        Stage::GeneratingCode => call(task, progress, CallKind::Code),
        Stage::GeneratingTests => {
            let decision = call(task, progress, CallKind::Tests);
            let build = progress.build.ready().is_none()
                && progress.build.present_fault().is_none()
                && budget::allow_build(task, progress).is_ok()
                && approval::allows_build(task, progress);
            match decision {
                Decision::Call(kind) if build => Decision::CallBesideBuild(kind),
                other => other,
            }
        }
        Stage::AwaitingImage => match budget::allow_build(task, progress) {
            Ok(()) => Decision::Build,
            Err(stop) => Decision::Stop(stop),
        },
        Stage::RunningTests => Decision::Run,
        Stage::Diagnosing if progress.memory.only_acceptance_fails => Decision::DiagnoseAcceptance,
        Stage::Diagnosing => call(task, progress, CallKind::Diagnosis),
        Stage::RecheckingCases => call(task, progress, CallKind::Cases),
        Stage::FixingEnvironment => call(task, progress, CallKind::FixEnvironment),
        Stage::FixingCode => call(task, progress, CallKind::FixCode),
        Stage::FixingTests => call(task, progress, CallKind::FixTests),
        Stage::Publishing if task.publish.is_some() => Decision::Publish,
        Stage::Succeeded if publication::is_due(task.publish.as_ref(), progress) => Decision::Publish,
        // Whoever takes `spec.publish` away while it waits wants the program without.
        Stage::Passed | Stage::Publishing => Decision::Accept,
        Stage::Succeeded | Stage::Failed => Decision::Finished,
    }
}

fn call(task: &Task, progress: &Progress, kind: CallKind) -> Decision {
    match budget::allow_another_call(task, progress) {
        Ok(()) => Decision::Call(kind),
        Err(stop) => Decision::Stop(stop),
    }
}
