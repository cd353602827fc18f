//! Ends of a task: approved of or rejected, published, succeeded or stopped.

use jiff::Timestamp;

use crate::approval::{awaited, rejected};
use crate::progress::{Progress, PublishedImage};
use crate::stage::{Stage, Stop, StopReason};
use crate::task::Task;
use codegen_api::approval::{ApprovalDecision, ApprovalStatus, AwaitedApproval};

impl Progress {
    pub(super) fn take_published(&mut self, image: PublishedImage, now: Timestamp) {
        self.published = Some(image);
        if self.stage == Stage::Publishing {
            self.succeed(now);
        }
    }

    /// A decision about what is shown now. An approval opens the gate, a rejection ends the task.
    pub(super) fn take_decision(&mut self, task: &Task, decision: ApprovalStatus, now: Timestamp) {
        let is_of_this = |asked: &AwaitedApproval| asked.gate == decision.gate && asked.hash == decision.hash;
        // A decision may arrive when the task shows something else already; then it is none about this.
        if !awaited(task, self).as_ref().is_some_and(is_of_this) {
            return;
        }
        let stop = (decision.decision == ApprovalDecision::Reject).then(|| rejected(&decision));
        self.approvals.push(decision);
        if let Some(stop) = stop {
            let stage = self.stage;
            self.end(stop, stage, now);
        }
    }

    /// To its end, by way of a registry where it is to be published.
    pub fn accept(&mut self, task: &Task, now: Timestamp) {
        if task.publish.is_some() {
            return self.enter(Stage::Publishing);
        }
        self.succeed(now);
    }

    pub(crate) fn succeed(&mut self, now: Timestamp) {
        // No repetition can follow any more.
        self.memory.tried.clear();
        self.memory.seen.clear();
        self.completed_at = Some(now);
        self.enter(Stage::Succeeded);
    }

    pub(crate) fn end(&mut self, stop: Stop, stage: Stage, now: Timestamp) {
        let can_go_on = matches!(
            stop.reason,
            StopReason::BudgetExceeded | StopReason::IterationsExhausted | StopReason::PolicyDenied
        );
        // Only what a person can raise or allow can be gone on from.
        self.stopped_in = can_go_on.then_some(stage);
        self.ended_in = Some(stage);
        self.stop = Some(stop);
        self.completed_at = Some(now);
        self.stage = Stage::Failed;
    }

    pub(super) fn no_progress(&self, why: &str) -> Stop {
        let last = self.last_error.as_deref().unwrap_or("none");
        Stop {
            reason: StopReason::NoProgress,
            message: format!(
                "Stopped after attempt {}: {why}. Last failure: {last}. Make the prompt, constraints or samples more \
                 precise, or use another model.",
                self.attempt
            ),
        }
    }

    pub(super) fn exhausted(&self, task: &Task) -> Stop {
        let last = self.last_error.as_deref().unwrap_or("none");
        Stop {
            reason: StopReason::IterationsExhausted,
            message: format!(
                "limits.maxIterations: {} of {} attempts failed. Last failure: {last}. Read the diagnosis; make the task more \
                 precise, or raise limits.maxIterations to go on.",
                self.attempts_of_try(),
                task.limits.max_iterations
            ),
        }
    }
}
