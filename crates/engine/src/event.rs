//! Events that the engine reports to those who watch: progress lines, events, metrics.

use jiff::Timestamp;

use codegen_api::approval::{ApprovalStatus, AwaitedApproval};
use codegen_api::retry::RetryStatus;
use codegen_api::status::{CaseCounts, FailureDiagnosis, RehearsalStatus, TestCounts};
use codegen_core::agent::AgentStep;
use codegen_core::call::{CallKind, Usage};
use codegen_core::stage::{Category, Stage};

/// Something that happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A task goes on from where an earlier run left it.
    Resumed {
        /// Stage that it is in.
        stage: Stage,
        /// Replies that are recorded and not asked for again.
        replies: usize,
    },
    /// A stage was entered.
    StageEntered {
        /// Stage that was entered.
        stage: Stage,
        /// Number of the present or last attempt; 0 before the first.
        attempt: u32,
    },
    /// Data is about to be shown to a model.
    DataShown {
        /// Samples with what of them, and the address.
        text: String,
    },
    /// A model call starts.
    CallStarted {
        /// Kind of reply that is asked for.
        kind: CallKind,
        /// Its number, counted from 1.
        sequence: u32,
    },
    /// A model call was answered.
    CallFinished {
        /// Kind of reply that was asked for.
        kind: CallKind,
        /// Its number.
        sequence: u32,
        /// Its tokens.
        usage: Usage,
        /// Duration in seconds.
        seconds: f64,
        /// True where the reply was recorded before and nothing was paid.
        from_ledger: bool,
    },
    /// A recorded reply answers a request that has changed since.
    RequestChanged {
        /// Kind of reply that was asked for.
        kind: CallKind,
        /// Its number.
        sequence: u32,
    },
    /// A reply cannot be used and is asked for again.
    ReplyRejected {
        /// Kind of reply that was asked for.
        kind: CallKind,
        /// Reason of the rejection.
        reason: String,
        /// Beginning of a reply that is no JSON, as a quotation: for whoever may read replies.
        said: Option<String>,
    },
    /// The image builds.
    BuildStarted {
        /// Its packages, pip then apt.
        packages: Vec<String>,
    },
    /// The image is there.
    BuildFinished {
        /// Its interpreter (`3.12.4`).
        python: String,
        /// Number of packages that it holds, those that others need counted.
        packages: usize,
        /// Duration in seconds.
        seconds: f64,
        /// True where it was there already.
        cached: bool,
    },
    /// A package that is asked for may not be the one that is meant.
    PackageDoubtful {
        /// Name of the package, and the reason of the doubt.
        message: String,
    },
    /// Another image had the place of this one.
    ImageReplaced {
        /// Name of the other image, and the reason for which it is not used.
        message: String,
    },
    /// The image cannot be built for want of a package.
    BuildFailed {
        /// Reason of the failure.
        message: String,
    },
    /// An attempt's tests and rehearsal ran.
    TestsFinished {
        /// Number of the attempt.
        attempt: u32,
        /// Counts of the generated suite.
        tests: Option<TestCounts>,
        /// Counts of the plan's cases.
        cases: Option<CaseCounts>,
        /// Counts of the user's examples.
        examples: Option<CaseCounts>,
        /// Counts of the acceptance tests.
        acceptance: Option<TestCounts>,
        /// Failures, one line each; empty means passed.
        failing: Vec<String>,
        /// End of the rehearsal.
        rehearsal: RehearsalStatus,
    },
    /// An agent's turn went on.
    AgentMoved {
        /// Its number.
        turn: u32,
        /// Record of the turn.
        step: Box<AgentStep>,
    },
    /// The failures have a diagnosis.
    Diagnosed {
        /// Number of the attempt.
        attempt: u32,
        /// One entry a failure.
        failures: Vec<FailureDiagnosis>,
    },
    /// A fix was applied.
    FixApplied {
        /// Kind of the fix.
        kind: CallKind,
        /// Functions, tests or packages that changed.
        names: Vec<String>,
    },
    /// An attempt is over.
    IterationFinished {
        /// Number of the attempt.
        attempt: u32,
        /// True where it passed.
        passed: bool,
        /// Types of its failures; empty when it passed, or was the last and had no diagnosis.
        error_types: Vec<String>,
        /// Packages that it added.
        packages_added: Vec<String>,
    },
    /// The task waits until a person has decided.
    ApprovalAwaited(AwaitedApproval),
    /// A person has decided.
    Decided(ApprovalStatus),
    /// Another try begins after an end.
    Retried {
        /// From where, with which hint.
        retry: RetryStatus,
    },
    /// Another try was asked for, and there is none.
    RetryRefused {
        /// Reason of the refusal.
        why: String,
    },
    /// The program is an image in a registry.
    Published {
        /// By digest.
        image: String,
        /// The tag that it was given.
        tag: String,
        /// Bytes that were uploaded; 0 where the registry had it.
        uploaded_bytes: u64,
    },
    /// Something must change before the task goes on.
    Waiting {
        /// Infrastructure or configuration.
        category: Category,
        /// Event that it waits for, and the remedy.
        message: String,
        /// Time of the next try.
        retry_at: Timestamp,
    },
}

/// Receives what happens. Must not block.
pub trait Observer: Send + Sync {
    /// Something happened.
    fn event(&self, event: &Event);

    /// So many commands of an agent begin in a sandbox of this machine, for whoever watches it; the event that follows them ends that.
    fn commands_start(&self, _commands: usize) {}
}
