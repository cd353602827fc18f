//! Progress of the answer to a question: the state that survives a restart.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::active::active_seconds;
use crate::progress::{CallCount, CountsCalls, Document, Intent, Spent, Waiting};
use codegen_api::approval::{ApprovalStatus, AwaitedApproval, QuestionGate};
use codegen_api::code_mode::PendingCall;

/// Version of the serialised state. The first one knew nothing of calls about which a person decides, the second one had each program in a
/// document of its own before it ran.
pub const PROGRESS_VERSION: u32 = 3;

/// Stage of the answer.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
pub enum Stage {
    /// The model is asked for a program.
    Writing,
    /// The program runs, or waits for what it called.
    Running,
    /// It gave an answer.
    Succeeded,
    /// No answer will come; `stop` says why.
    Failed,
}

impl Stage {
    /// As the status has it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Returns true where nothing follows.
    #[must_use]
    pub const fn is_terminal(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed)
    }
}

/// Reason for which no answer will come, as one word.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
pub enum StopReason {
    /// The last program that was allowed failed.
    RetriesExhausted,
    /// Tokens, calls or active time are spent.
    BudgetExceeded,
    /// A call was in flight at a kill, and must not be made twice.
    UnknownOutcome,
    /// The program made other calls when it ran again.
    JournalMismatch,
}

/// Stop of a question to which no answer will come.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Stop {
    /// As one word.
    pub reason: StopReason,
    /// Message that says what happened, and what to do next.
    pub message: String,
}

/// Calls and approval that a program waits for.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct Waits {
    /// Calls whose outcome comes from another object.
    pub calls: Vec<PendingCall>,
    /// The call that a person is asked about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval: Option<AwaitedCall>,
}

impl Waits {
    /// Returns true where it waits for nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty() && self.approval.is_none()
    }
}

/// A call that is not made before a person has decided about it.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct AwaitedCall {
    /// Its place among the calls of the program.
    pub number: u32,
    /// The tool.
    pub tool: String,
    /// Text that is shown of it, and the hash of all of it.
    pub asked: AwaitedApproval<QuestionGate>,
    /// The whole call, where what is shown is not all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document: Option<Document>,
    /// Number of the program's calls that wait for a decision after this one.
    #[serde(default)]
    pub more: u32,
}

/// A program that failed, in short; the evidence is a document.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Failed {
    /// Its number, counted from 1.
    pub attempt: u32,
    /// Fault, in a line.
    pub error: String,
    /// Calls that it made.
    pub calls: u32,
    /// Document that the next request is written from.
    pub evidence: Document,
}

/// Progress of the answer.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Progress {
    /// [`PROGRESS_VERSION`] of the writer.
    pub version: u32,
    /// Stage of the answer.
    pub stage: Stage,
    /// Number of the present program, counted from 1.
    pub attempt: u32,
    /// Number of the next model call, counted from 1.
    pub sequence: u32,
    /// The model call in flight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intent: Option<Intent>,
    /// The present program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<Document>,
    /// The programs that failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<Failed>,
    /// Calls and approval that the program waits for.
    #[serde(default)]
    pub waits: Waits,
    /// The decision that the program has not taken note of: it counts once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided: Option<ApprovalStatus<QuestionGate>>,
    /// Decisions of persons about calls, the newest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approvals: Vec<ApprovalStatus<QuestionGate>>,
    /// Something that is no fault of the program, and is tried again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<Waiting>,
    /// Counts of calls by the programs that have ended, by tool.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tool_calls: BTreeMap<String, u32>,
    /// The answer: the value and its text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Document>,
    /// Stop of the question, where no answer will come.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Stop>,
    /// Calls and tokens that were spent.
    #[serde(default)]
    pub spent: Spent,
    /// Up to when the active time is counted; none where it is not active now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_since: Option<Timestamp>,
    /// Time at which it began.
    pub started_at: Timestamp,
    /// Time at which it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<Timestamp>,
}

/// A state that cannot be gone on from.
#[derive(Debug, thiserror::Error)]
pub enum UnreadableState {
    /// It may mean something else by the same words.
    #[error(
        "a newer version has begun it (state {0}, this one knows {PROGRESS_VERSION}) and nothing of it was touched: go on with that version, or ask again"
    )]
    Newer(u64),
    /// Something in it is not what was written.
    #[error(transparent)]
    Damaged(#[from] serde_json::Error),
}

impl Progress {
    /// A recorded state, of this version or an earlier one.
    pub fn read(recorded: Value) -> Result<Self, UnreadableState> {
        // First: a newer one may have stages that are unknown here.
        match recorded["version"].as_u64() {
            Some(version) if version > u64::from(PROGRESS_VERSION) => Err(UnreadableState::Newer(version)),
            _ => Ok(serde_json::from_value(recorded)?),
        }
    }

    /// Nothing is done yet.
    #[must_use]
    pub fn start(now: Timestamp) -> Self {
        Self {
            version: PROGRESS_VERSION,
            stage: Stage::Writing,
            attempt: 1,
            sequence: 1,
            intent: None,
            program: None,
            failed: Vec::new(),
            waits: Waits::default(),
            decided: None,
            approvals: Vec::new(),
            waiting: None,
            tool_calls: BTreeMap::new(),
            answer: None,
            stop: None,
            spent: Spent::default(),
            active_since: Some(now),
            started_at: now,
            completed_at: None,
        }
    }

    /// Seconds of active time up to `now`: not waiting, and while nobody worked on it at most some minutes.
    #[must_use]
    pub fn active_seconds(&self, now: Timestamp) -> f64 {
        active_seconds(self.spent.active_seconds, self.active_since, now)
    }

    /// Counts the time up to `now`; from then on it is active, or not.
    pub(super) fn count_time(&mut self, now: Timestamp) {
        self.spent.active_seconds = self.active_seconds(now);
        let is_active = !self.stage.is_terminal() && self.waiting.is_none() && self.waits.is_empty();
        self.active_since = is_active.then_some(now);
    }
}

impl CountsCalls for Progress {
    fn calls(&mut self) -> CallCount<'_> {
        CallCount {
            intent: &mut self.intent,
            sequence: &mut self.sequence,
            spent: &mut self.spent,
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::test_support::at;

    fn recorded(changes: &Value) -> Value {
        let mut recorded = serde_json::to_value(Progress::start(at(0))).unwrap();
        recorded
            .as_object_mut()
            .unwrap()
            .extend(changes.as_object().unwrap().clone());
        recorded
    }

    #[rstest]
    fn a_state_of_an_earlier_version_is_read(#[values(1, 2)] version: u32) {
        let progress = Progress::read(recorded(&json!({"version": version}))).unwrap();
        assert_eq!(progress.stage, Stage::Writing);
    }

    #[rstest]
    #[case::with_the_same_words(json!({"version": PROGRESS_VERSION + 1}))]
    #[case::with_words_of_its_own(json!({"version": PROGRESS_VERSION + 1, "stage": "Pondering"}))]
    fn a_state_of_a_newer_version_is_said_to_be_one(#[case] changes: Value) {
        let error = Progress::read(recorded(&changes)).unwrap_err();
        assert!(
            matches!(error, UnreadableState::Newer(version) if version == u64::from(PROGRESS_VERSION) + 1),
            "{error}"
        );
    }

    #[test]
    fn a_state_of_this_version_with_another_stage_is_damaged() {
        let error = Progress::read(recorded(&json!({"stage": "Pondering"}))).unwrap_err();
        assert!(matches!(error, UnreadableState::Damaged(_)), "{error}");
    }
}
