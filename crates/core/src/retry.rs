//! Another try of a task that has ended: where it begins, and why it cannot.

use jiff::Timestamp;

use super::budget;
use super::progress::Progress;
use super::stage::{Stage, StopReason};
use super::task::Task;
use codegen_api::approval::{ApprovalDecision, Gate};

/// Bytes of the longest hint: it is part of the state, and of every prompt.
pub const LONGEST_HINT: usize = 400;

/// Step at which another try begins: what comes before it stays as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// A plan and all that follows are asked for anew.
    Plan,
    /// The plan stays; program and suite are asked for anew.
    Program,
    /// In the stage in which the task ended, with everything as it was.
    Stage(Stage),
}

/// Try that somebody asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Retry {
    /// A new plan, and all that follows from it.
    pub replan: bool,
    /// A sentence that is added to the task for this try.
    pub hint: Option<String>,
}

impl Retry {
    /// Reports whether it asks for nothing in particular: what waits is tried again, and what a limit ended goes on.
    #[must_use]
    pub const fn is_plain(&self) -> bool {
        !self.replan && self.hint.is_none()
    }

    /// Returns the step at which another try begins; as an error, why there is none.
    pub fn start(&self, task: &Task, progress: &Progress, now: Timestamp) -> Result<Start, String> {
        self.check(progress)?;
        spent(task, progress, now).map_or_else(|| Ok(self.begins(progress)), Err)
    }

    /// Says why there is no other try, where that needs no look at the task itself.
    pub fn check(&self, progress: &Progress) -> Result<(), String> {
        let stage = progress.stage;
        if !stage.is_terminal() {
            return Err(format!(
                "the task is under way in stage {stage}, and another try begins where one has ended: wait for that; what it waits \
                 for is tried again by a retry without a new plan and a hint"
            ));
        }
        self.check_hint()?;
        if stage == Stage::Succeeded && self.is_plain() {
            return Err(
                "the task has succeeded, and another try takes the place of its program: ask for a new plan, or give a hint"
                    .to_owned(),
            );
        }
        Ok(())
    }

    fn begins(&self, progress: &Progress) -> Start {
        let reason = progress.stop.as_ref().map(|stop| stop.reason);
        if self.replan || progress.plan.is_none() || plan_was_rejected(progress) {
            return Start::Plan;
        }
        match (reason, progress.ended_in) {
            (Some(StopReason::InvalidReply | StopReason::BudgetExceeded), Some(stage)) => Start::Stage(stage),
            // What led to the other ends would lead to them again.
            _ => Start::Program,
        }
    }

    fn check_hint(&self) -> Result<(), String> {
        match self.hint.as_deref() {
            Some(hint) if hint.trim().is_empty() => Err("the hint is empty: write a sentence".to_owned()),
            Some(hint) if hint.len() > LONGEST_HINT => Err(format!(
                "the hint has {} bytes, and at most {LONGEST_HINT} are taken: what is longer belongs into spec.prompt",
                hint.len()
            )),
            _ => Ok(()),
        }
    }
}

/// The limit that no further call fits into.
fn spent(task: &Task, progress: &Progress, now: Timestamp) -> Option<String> {
    let stop = budget::exhausted(task, progress, now)
        .or_else(|| budget::allow_another_call(task, progress).err())
        .or_else(|| budget::allow_call(task, progress, 0).err())
        .or_else(|| {
            let needs_build = progress.ended_in == Some(Stage::AwaitingImage);
            budget::allow_build(task, progress).err().filter(|_| needs_build)
        })?;
    Some(stop.message)
}

/// Reports whether a person ended the task for its plan.
fn plan_was_rejected(progress: &Progress) -> bool {
    let was_rejected = progress
        .stop
        .as_ref()
        .is_some_and(|stop| stop.reason == StopReason::Rejected);
    let last = progress.approvals.last().filter(|_| was_rejected);
    last.is_some_and(|last| last.decision == ApprovalDecision::Reject && last.gate == Gate::Plan)
}
