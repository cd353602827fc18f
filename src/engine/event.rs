//! What the engine reports while it works: facts for people, never read back by the engine.

use crate::api::status::{ErrorType, TestCounts};
use crate::pipeline::call::{CallKind, Usage};

/// Receives what happens. It is called between steps and must not block.
pub trait Observer: Send + Sync {
    /// One thing happened.
    fn event(&self, event: &Event);
}

/// Reports to nobody.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {
    fn event(&self, _: &Event) {}
}

/// One thing that happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A stage begins.
    StageEntered {
        /// Name of the stage as the status spells it (`GeneratingCode`).
        stage: String,
        /// Attempt that it belongs to, counted from 1; 0 before the first.
        attempt: u32,
    },
    /// A model call begins.
    CallStarted {
        /// What is asked for.
        kind: CallKind,
        /// Number of the call in the task, counted from 1.
        sequence: u32,
    },
    /// A model call ended with a reply.
    CallFinished {
        /// What was asked for.
        kind: CallKind,
        /// Tokens.
        usage: Usage,
        /// How long it took.
        seconds: f64,
        /// Whether the reply was recorded before, so that nothing was sent.
        from_ledger: bool,
    },
    /// A reply cannot be used and is asked for again.
    ReplyRejected {
        /// What was asked for.
        kind: CallKind,
        /// What is wrong with it.
        reason: String,
    },
    /// The environment of the packages is looked up or built.
    BuildStarted {
        /// Packages in it.
        packages: Vec<String>,
    },
    /// The environment is there.
    BuildFinished {
        /// Packages in it.
        packages: Vec<String>,
        /// How long it took.
        seconds: f64,
        /// Whether it was there already.
        cached: bool,
    },
    /// A test run ended.
    TestsFinished {
        /// Attempt, counted from 1.
        attempt: u32,
        /// Counts of the generated suite.
        counts: TestCounts,
        /// Ids of the tests that failed.
        failing: Vec<String>,
        /// How long it took.
        seconds: f64,
    },
    /// The user's acceptance tests ended.
    AcceptanceFinished {
        /// Their counts.
        counts: TestCounts,
    },
    /// The program ran on the samples.
    Rehearsed {
        /// How it ended.
        result: RehearsalEnd,
    },
    /// The failures of an attempt are diagnosed.
    Diagnosed {
        /// One entry a failure.
        failures: Vec<DiagnosedFailure>,
    },
    /// A verified fix is in place.
    FixApplied {
        /// Functions, tests or packages that changed.
        names: Vec<String>,
    },
    /// An attempt is over; another one follows or the task ends.
    IterationFinished {
        /// Attempt, counted from 1.
        attempt: u32,
        /// Types of its failures, without duplicates; empty when it passed.
        error_types: Vec<ErrorType>,
        /// Packages that were added for the next attempt.
        packages_added: Vec<String>,
    },
    /// Nothing can be done until something else happens.
    Waiting {
        /// What is waited for, and what to do about it.
        reason: String,
    },
    /// Something that a person should know and that changes nothing.
    Notice {
        /// What.
        text: String,
    },
    /// The task ended.
    Finished {
        /// Whether it succeeded.
        succeeded: bool,
        /// One word (`TestsPassed`, `NoProgress`).
        reason: String,
    },
}

/// How a rehearsal ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RehearsalEnd {
    /// Every output holds.
    Passed,
    /// What does not hold.
    Failed(String),
    /// Why it could not run.
    Skipped(String),
}

/// One diagnosed failure in short.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiagnosedFailure {
    /// The failing test, `rehearsal` or `acceptance`.
    pub test: String,
    /// What is to blame.
    pub error_type: ErrorType,
    /// Why, in a sentence.
    pub root_cause: String,
}
