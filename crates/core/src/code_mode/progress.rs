//! Progress of the answer to a question: the state that survives a restart.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::active::active_seconds;
use crate::progress::{
    CallCount, CountsCalls, Document, Intent, Spent, State, UnreadableState, Waiting, read_state,
};
use codegen_api::approval::{ApprovalStatus, AwaitedApproval, QuestionGate};
use codegen_api::code_mode::{CodeModeRun, PendingCall};

/// Stage of the answer.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
pub enum QuestionStage {
    /// The model is asked for a program.
    Writing,
    /// The program runs, or waits for what it called.
    Running,
    /// It gave an answer.
    Succeeded,
    /// No answer will come; `stop` says why.
    Failed,
}

impl QuestionStage {
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
#[derive(
    Serialize,
    Deserialize,
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    strum::IntoStaticStr,
    strum::EnumMessage,
    strum::VariantArray,
)]
pub enum QuestionStopReason {
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
pub struct QuestionStop {
    /// As one word.
    pub reason: QuestionStopReason,
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
pub struct FailedProgram {
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
pub struct QuestionProgress {
    /// [`State::VERSION`] of the writer.
    pub version: u32,
    /// Stage of the answer.
    pub stage: QuestionStage,
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
    pub failed: Vec<FailedProgram>,
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
    pub stop: Option<QuestionStop>,
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

impl QuestionProgress {
    /// The progress that the status of a run holds.
    pub fn recorded_in(run: &CodeModeRun) -> Result<Option<Self>, UnreadableState> {
        let recorded = run.status.as_ref().and_then(|status| status.progress.clone());
        recorded.map(|recorded| read_state(recorded.into())).transpose()
    }

    /// Nothing is done yet.
    #[must_use]
    pub fn start(now: Timestamp) -> Self {
        Self {
            version: Self::VERSION,
            stage: QuestionStage::Writing,
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

impl State for QuestionProgress {
    const VERSION: u32 = 3;
}

impl CountsCalls for QuestionProgress {
    fn calls(&mut self) -> CallCount<'_> {
        CallCount {
            intent: &mut self.intent,
            sequence: &mut self.sequence,
            spent: &mut self.spent,
        }
    }
}
