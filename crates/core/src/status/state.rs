//! State of a task, with its reason and its message.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use super::conditions::{ReadyState, conditions};
use super::hold::Hold;
use crate::approval;
use crate::evidence::{doubt, evidence};
use crate::progress::{Progress, WaitReason, Waiting};
use crate::stage::{Category, Stage, StopReason};
use crate::task::Task;
use codegen_api::common::TestingMode;
use codegen_api::conditions::reason;
use codegen_api::status::{EvidenceStrength, RehearsalResult};

/// Message about outputs of the rehearsal that were too large for its report, where they go with the sandbox.
const NOT_RETAINED: &str = "the outputs that were too large for its report went with the sandbox: a CodeGenRun with \
                        spec.outputs.persistentVolumeClaim makes them of the same samples again, and keeps them";

/// State of a task, before it is written as conditions.
pub(super) struct TaskState {
    pub reason: &'static str,
    pub message: String,
    kind: ReadyState,
}

impl TaskState {
    pub(super) fn held(hold: &Hold) -> Self {
        Self {
            reason: hold.reason,
            message: hold.message.clone(),
            kind: hold.until.into(),
        }
    }

    /// The same in a cluster, where large outputs of the rehearsal are not kept.
    pub(super) fn in_cluster(mut self, progress: &Progress) -> Self {
        let rehearsal = progress.rehearsal.as_ref();
        // Of one that passed nothing else is said.
        let has_large = rehearsal
            .is_some_and(|status| status.result == RehearsalResult::Passed && status.message.is_some());
        if progress.stage == Stage::Succeeded && has_large {
            self.message = format!("{}; {NOT_RETAINED}", self.message);
        }
        self
    }

    pub(super) fn of(task: &Task, progress: &Progress) -> Self {
        // First: a task that waits for a person is in a stage that would read as progress.
        if let Some(asked) = approval::awaited(task, progress) {
            return Self {
                reason: reason::AWAITING_APPROVAL,
                message: approval::message(task, &asked),
                kind: ReadyState::WaitingForPerson,
            };
        }
        match (progress.stage, &progress.stop, &progress.waiting) {
            (Stage::Succeeded, _, _) => Self::succeeded(task, progress),
            (Stage::Failed, Some(stop), _) => Self {
                reason: stop_reason(stop.reason),
                message: match &progress.retry_refused {
                    None => stop.message.clone(),
                    Some(why) => format!("{} It is not tried again: {why}.", stop.message),
                },
                kind: ReadyState::Failed,
            },
            (_, _, Some(waiting)) => Self::waiting(waiting),
            (stage, _, None) => Self {
                reason: reason::PROGRESSING,
                message: format!("stage {stage}, attempt {}", progress.attempt.max(1)),
                kind: ReadyState::Working,
            },
        }
    }

    fn succeeded(task: &Task, progress: &Progress) -> Self {
        let attempt = progress.attempts.last();
        let summary = attempt
            .and_then(|attempt| attempt.summary.clone())
            .unwrap_or_default();
        let strength = evidence(task, progress).map(|evidence| evidence.strength);
        let is_proved = strength == Some(EvidenceStrength::Independent);
        Self {
            reason: match task.testing {
                _ if strength == Some(EvidenceStrength::Weak) => reason::WEAK,
                _ if !is_proved => reason::UNVERIFIED,
                TestingMode::Generate => reason::TESTS_PASSED,
                TestingMode::Skip => reason::TESTS_SKIPPED,
            },
            message: if is_proved {
                summary
            } else {
                format!("{summary}; {}", doubt(task, progress))
            },
            kind: ReadyState::Succeeded,
        }
    }

    pub(super) fn waiting(waiting: &Waiting) -> Self {
        let message = waiting.message.clone();
        match waiting.category {
            Category::Configuration => Self {
                reason: match waiting.reason {
                    Some(WaitReason::OutputTooLarge) => reason::OUTPUT_TOO_LARGE,
                    None => reason::CONFIGURATION,
                },
                message,
                kind: ReadyState::WaitingForPerson,
            },
            Category::Infrastructure => Self {
                reason: reason::INFRASTRUCTURE,
                message,
                kind: ReadyState::Working,
            },
        }
    }

    pub(super) fn conditions(
        &self,
        generation: Option<i64>,
        before: &[Condition],
        now: Timestamp,
    ) -> Vec<Condition> {
        let said = (self.reason, self.message.as_str());
        conditions(self.kind, said, generation, before, now)
    }
}

const fn stop_reason(stop: StopReason) -> &'static str {
    match stop {
        StopReason::IterationsExhausted => reason::ITERATIONS_EXHAUSTED,
        StopReason::BudgetExceeded => reason::BUDGET_EXCEEDED,
        StopReason::NoProgress => reason::NO_PROGRESS,
        StopReason::InvalidReply => reason::INVALID_REPLY,
        StopReason::Rejected => reason::REJECTED,
        StopReason::PolicyDenied => reason::POLICY_DENIED,
    }
}
