//! Progress of a task: the serialised state of the machine.
//!
//! Small by design: contents lie in the store under the names that [`Documents`] holds.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use codegen_api::approval::ApprovalStatus;
use codegen_api::publish::Publish;
use codegen_api::retry::RetryStatus;
use codegen_api::status::{
    AttemptStatus, CaseEvidence, ConstraintStatus, ErrorType, FailureDiagnosis, PlanStatus, RehearsalStatus,
    SampleStatus,
};

use super::agent::AgentProgress;
use super::call::{CallKind, ReplyFault, Request, Usage, request_hash};
use super::python::near_misses::NearMissCounts;
use super::stage::{Stage, Stop};

mod build;
mod calls;
mod documents;
mod retries;
mod state;
mod waiting;

use build::is_none;
pub use build::{Build, BuildFault, BuiltImage, RecordedLock};
pub use calls::{CallCount, CountsCalls};
pub use documents::{Document, Documents};
pub use retries::{EarlierRetries, retry_document};
pub use state::{State, UnreadableState, bytes_of_state, read_state, state_of_bytes};
pub use waiting::{WaitReason, Waiting, asked_moment, pause_after};

/// Serialised state of a task.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Progress {
    /// [`State::VERSION`] of the writer.
    pub version: u32,
    /// The run: the task's decisive hash.
    pub run: String,
    /// Present stage.
    pub stage: Stage,
    /// Number of the present or last test run, counted from 1; 0 before the first.
    #[serde(default)]
    pub attempt: u32,
    /// Number of the next model call, counted from 1.
    pub sequence: u32,
    /// The model call in flight.
    pub intent: Option<Intent>,
    /// Faults of the last replies to the present call.
    #[serde(default)]
    pub rejections: Vec<ReplyFault>,
    /// Number of times that the present fix came back without having been applied.
    #[serde(default, skip_serializing_if = "is_none")]
    pub fix_tries: u32,
    /// Children (builds, sandboxes) of the present step that are gone through no fault of their own, since the last that answered.
    #[serde(default, skip_serializing_if = "is_none")]
    pub lost_children: u32,
    /// Children of the present step that ended without a report, since the last that answered.
    #[serde(default, skip_serializing_if = "is_none")]
    pub silent_ends: u32,
    /// Pause in which the task is, if it waits.
    pub waiting: Option<Waiting>,
    /// Cause for which it was stopped.
    pub stop: Option<Stop>,
    /// The stage that a raised limit goes on from.
    pub stopped_in: Option<Stage>,
    /// The stage in which it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_in: Option<Stage>,
    /// Further tries that are in the record alone.
    #[serde(default, skip_serializing_if = "EarlierRetries::is_none")]
    pub earlier_retries: EarlierRetries,
    /// Further tries after an end, the last one last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub retries: Vec<RetryStatus>,
    /// Reason why there was no further try when somebody asked for one last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_refused: Option<String>,
    /// Progress of the agent; `None` where none writes the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentProgress>,
    /// The image.
    #[serde(default)]
    pub build: Build,
    /// Places of the contents in the store.
    #[serde(default)]
    pub documents: Documents,
    /// The plan.
    pub plan: Option<PlanStatus>,
    /// Results of the plan's cases; `None` without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cases: Option<CaseEvidence>,
    /// True where the user has acceptance tests that the program runs apart from.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub acceptance_is_apart: bool,
    /// The samples as they were read.
    #[serde(default)]
    pub samples: Vec<SampleStatus>,
    /// Result of each constraint.
    #[serde(default)]
    pub constraints: Vec<ConstraintStatus>,
    /// Constraints that outputs broke and of which it was asked whether they speak of them, by signature.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub settled_breaks: BTreeSet<String>,
    /// Fixes of the present attempt that are still to be made, in order.
    #[serde(default)]
    pub pending_fixes: Vec<ErrorType>,
    /// Cases that the present diagnosis blames, until they were worked out again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blamed_cases: Vec<String>,
    /// Numbers of the cases whose inputs and results the author of the program was shown, since it failed them.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub seen_cases: BTreeSet<usize>,
    /// Near misses of the program that passed last, on the cases that decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub near_misses: Option<NearMissCounts>,
    /// True where any fix of the present attempt was applied.
    pub fix_applied: bool,
    /// Memory by which the loop notices that it repeats itself.
    #[serde(default)]
    pub memory: Memory,
    /// Every attempt so far.
    #[serde(default)]
    pub attempts: Vec<AttemptStatus>,
    /// Task whose program was taken over.
    #[serde(default)]
    pub adopted_from: Option<String>,
    /// Decisions of persons at gates.
    #[serde(default)]
    pub approvals: Vec<ApprovalStatus>,
    /// The program as an image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<PublishedImage>,
    /// True where the rehearsal writes to a disk, as what it wrote to memory was too large once.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub writes_to_disk: bool,
    /// End of the last rehearsal.
    pub rehearsal: Option<RehearsalStatus>,
    /// Exit code of the last run.
    pub exit_code: Option<i32>,
    /// The last failure in one sentence.
    pub last_error: Option<String>,
    /// Sum of what was spent.
    #[serde(default)]
    pub spent: Spent,
    /// Answers of other models than the task's own, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub other_models: BTreeMap<String, OtherModel>,
    /// Up to when the active time is counted in `spent`; `None` where the task is not active now.
    #[serde(default)]
    pub active_since: Option<Timestamp>,
    /// Time at which it started.
    pub started_at: Timestamp,
    /// Time at which it ended.
    pub completed_at: Option<Timestamp>,
}

/// A model call in flight: written before the call starts.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Intent {
    /// Kind of the call.
    pub kind: CallKind,
    /// Its number.
    pub sequence: u32,
    /// Hash of the request.
    pub request_hash: String,
    /// Tokens it may cost: the estimate of the request and its output limit.
    pub estimate: u64,
    /// Name of the model that is asked, where that is another than the task's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

impl Intent {
    /// Of a request with its output limit, which may cost `estimate` tokens.
    #[must_use]
    pub fn new(request: &Request, sequence: u32, estimate: u64) -> Self {
        Self {
            kind: request.kind,
            sequence,
            request_hash: request_hash(request),
            estimate,
            model: request.model.other.clone(),
        }
    }
}

/// A program that is an image in a registry.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct PublishedImage {
    /// By digest, as nodes know it.
    pub image: String,
    /// The tag that it was given (`registry.example/team:lab.penguins`).
    pub tag: String,
    /// Publication that was asked for.
    #[serde(default)]
    pub asked: Publish,
}

/// Answers of one model.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct OtherModel {
    /// Calls that it answered.
    pub calls: u32,
    /// Their tokens.
    pub tokens: Usage,
}

/// Memory by which the loop notices that it repeats itself.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct Memory {
    /// Hash of the present program's syntax tree.
    pub solution_tree: String,
    /// Hash of the present suite's syntax tree.
    pub tests_tree: String,
    /// Failures of the last run, by signature.
    pub failing: BTreeSet<String>,
    /// True where a suite was asked for again because it finds no fault: that happens once.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub suite_asked: bool,
    /// True where further cases were asked for since too many near misses survive: that happens once.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cases_asked: bool,
    /// True where nothing but the acceptance tests fails: no model may learn more than their count.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub only_acceptance_fails: bool,
    /// Fixes tried against each failure.
    pub tried: BTreeMap<String, Tried>,
    /// States that failed before: program, suite, packages and failing set in one hash.
    pub seen: BTreeSet<String>,
    /// The failing set at the last reclassification, and how often it came back since.
    pub after_reclassification: Option<Recurrence>,
    /// Attempts whose runs refuted the program; at least as many as the model that is asked takes over after.
    #[serde(skip_serializing_if = "is_none")]
    pub refuted: u32,
}

/// Fixes tried against one failure.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Tried {
    /// The type it was last fixed as.
    pub as_type: ErrorType,
    /// Verified fixes of that type in a row that left it as it was.
    pub fixes: u32,
    /// Number of runs that failed with it in all.
    pub failed: u32,
}

/// A failing set that comes back.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Recurrence {
    /// The set.
    #[serde(default)]
    pub failing: BTreeSet<String>,
    /// Failed runs with it since the reclassification.
    pub times: u32,
}

/// Resources that a task has spent.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub struct Spent {
    /// Tokens as providers counted them; of lost calls the estimate.
    pub tokens: Usage,
    /// Of the tokens sent, those of lost calls.
    pub lost_tokens: u64,
    /// Model calls that a bill may show: those with a reply, and lost ones.
    pub model_calls: u32,
    /// Calls whose request was sent and whose reply never came: the process was killed, the connection broke, or the time was over.
    pub lost_calls: u32,
    /// Builds started.
    pub builds: u32,
    /// Active time, seconds, up to `Progress::active_since`: not suspended, queued or waiting.
    pub active_seconds: f64,
}

impl Spent {
    /// Tokens in both directions.
    #[must_use]
    pub const fn total_tokens(&self) -> u64 {
        self.tokens.input.saturating_add(self.tokens.output)
    }

    /// Adds a call with a reply.
    pub const fn add_call(&mut self, usage: Usage) {
        self.model_calls += 1;
        self.tokens.input = self.tokens.input.saturating_add(usage.input);
        self.tokens.output = self.tokens.output.saturating_add(usage.output);
    }

    /// Adds a call that left no reply and may be billed all the same, by its estimate.
    pub const fn add_lost_call(&mut self, estimate: u64) {
        self.lost_calls += 1;
        self.model_calls += 1;
        self.lost_tokens = self.lost_tokens.saturating_add(estimate);
        self.tokens.input = self.tokens.input.saturating_add(estimate);
    }
}

impl Progress {
    /// A task whose sources are frozen and that has done nothing yet.
    #[must_use]
    pub fn start(run: String, now: Timestamp) -> Self {
        Self {
            version: Self::VERSION,
            run,
            stage: Stage::ReadingSamples,
            attempt: 0,
            sequence: 1,
            intent: None,
            rejections: Vec::new(),
            fix_tries: 0,
            lost_children: 0,
            silent_ends: 0,
            waiting: None,
            stop: None,
            stopped_in: None,
            ended_in: None,
            earlier_retries: EarlierRetries::default(),
            retries: Vec::new(),
            retry_refused: None,
            agent: None,
            build: Build::default(),
            documents: Documents::default(),
            plan: None,
            cases: None,
            acceptance_is_apart: false,
            samples: Vec::new(),
            constraints: Vec::new(),
            settled_breaks: BTreeSet::new(),
            pending_fixes: Vec::new(),
            blamed_cases: Vec::new(),
            seen_cases: BTreeSet::new(),
            near_misses: None,
            fix_applied: false,
            memory: Memory::default(),
            attempts: Vec::new(),
            adopted_from: None,
            approvals: Vec::new(),
            published: None,
            writes_to_disk: false,
            rehearsal: None,
            exit_code: None,
            last_error: None,
            spent: Spent::default(),
            other_models: BTreeMap::new(),
            active_since: Some(now),
            started_at: now,
            completed_at: None,
        }
    }

    /// Children of the present step that will never answer: the number of the next one follows.
    #[must_use]
    pub const fn unanswered_children(&self) -> u32 {
        self.lost_children + self.silent_ends
    }

    /// Attempts since the task began, or since it was tried again last.
    #[must_use]
    pub fn attempts_of_try(&self) -> u32 {
        let before = self.retries.last().map_or(0, |retry| retry.attempts);
        self.attempt
            .saturating_sub(u32::try_from(before).unwrap_or_default())
    }

    /// The sentence that the present try adds to the task.
    #[must_use]
    pub fn hint(&self) -> Option<&str> {
        self.retries.last()?.hint.as_deref()
    }

    /// The one diagnosis shown in the status: that of the last attempt that has one.
    pub fn present_diagnosis(&mut self, diagnosis: Vec<FailureDiagnosis>) {
        for earlier in &mut self.attempts {
            earlier.diagnosis.clear();
        }
        if let Some(attempt) = self.attempts.last_mut() {
            attempt.diagnosis = diagnosis;
        }
    }
}

impl State for Progress {
    const VERSION: u32 = 4;
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
