//! Content of outcomes.

use std::collections::BTreeSet;

use jiff::Timestamp;

use crate::agent::{Next, ToolCounts};
use crate::diagnosis::Diagnosis;
use crate::progress::{BuildFault, BuiltImage, Document, RecordedLock};
use crate::sandbox::Packages;
use crate::stage::Category;
use crate::verdict::Verdict;
use codegen_api::status::{CaseEvidence, ConstraintStatus, SampleStatus};

/// The samples were read.
#[derive(Clone, Debug, PartialEq)]
pub struct SamplesRead {
    /// The data context.
    pub context: Document,
    /// Profiles and inferred schemas.
    pub profiles: Document,
    /// Status of the samples that were read.
    pub samples: Vec<SampleStatus>,
    /// True where the user has acceptance tests that the program runs apart from.
    pub acceptance_is_apart: bool,
}

/// It is decided whether constraints that outputs break speak of them.
#[derive(Clone, Debug, PartialEq)]
pub struct ScopesDecided {
    /// Signatures of the breaks that were asked about.
    pub settled: BTreeSet<String>,
    /// The checks and the constraints as they are now; `None` where all of them hold.
    pub changed: Option<(Document, Vec<ConstraintStatus>)>,
}

/// Source that a reply brought.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewSource {
    /// Document in which it is stored.
    pub document: Document,
    /// Hash of its syntax tree.
    pub tree: String,
    /// Packages that replies declared so far.
    pub declared: Packages,
    /// Packages that program and suite need now.
    pub wanted: Packages,
}

/// An agent's turn went on.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentMoved {
    /// Number of the call in the ledger with which a turn began.
    pub began: Option<u32>,
    /// Steps that were recorded.
    pub steps: u32,
    /// Counts of their calls.
    pub counts: ToolCounts,
    /// Next need of the task.
    pub next: Next,
    /// Packages that are listed, and those that are needed now, where a sandbox is waited for.
    pub packages: Option<(Packages, Packages)>,
    /// Sources that are to be tested.
    pub sources: Option<AgentSources>,
    /// Cases to be worked out again before the turn goes on.
    pub doubtful_cases: Vec<String>,
    /// Reason for which going on would repeat itself.
    pub stuck: Option<String>,
    /// Fault that keeps everything from running and that nobody but the user can put right.
    pub users_fault: Option<String>,
    /// Reason for which the tests that were asked for last were not run; empty where they were.
    pub not_tested: String,
}

/// Program and suite of an agent, as they are to be tested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentSources {
    /// The program.
    pub solution: Document,
    /// Hash of its syntax tree.
    pub solution_tree: String,
    /// The suite.
    pub tests: Document,
    /// Hash of its syntax tree.
    pub tests_tree: String,
    /// Hash that is the same where they and their packages are.
    pub state: String,
}

/// There is an image.
#[derive(Clone, Debug, PartialEq)]
pub struct ImageReady {
    /// The image.
    pub built: BuiltImage,
    /// Content of the image, archive by archive; `None` where that was not recorded.
    pub lock: Option<RecordedLock>,
    /// True where it was built for this, and not found.
    pub fresh: bool,
}

/// The image cannot be built for want of a package.
#[derive(Clone, Debug, PartialEq)]
pub struct BuildFailed {
    /// Reason of the failure.
    pub fault: BuildFault,
    /// True where a build was started, and not only the index asked.
    pub is_tried: bool,
}

/// Tests and rehearsal were executed.
#[derive(Clone, Debug, PartialEq)]
pub struct Tested {
    /// The record of the attempt.
    pub record: Document,
    /// Verdict of the attempt.
    pub verdict: Box<Verdict>,
    /// Time at which it started.
    pub started_at: Timestamp,
}

/// The failures have a diagnosis.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnosed {
    /// The record of the diagnosis.
    pub document: Document,
    /// Diagnosis of the failures.
    pub diagnosis: Diagnosis,
    /// Packages that it declares.
    pub declared: Packages,
    /// Packages that are wanted now.
    pub wanted: Packages,
}

/// Cases that were blamed were worked out again.
#[derive(Clone, Debug, PartialEq)]
pub struct CasesRevised {
    /// The cases from now on.
    pub cases: (Document, CaseEvidence),
    /// Each in one line, those that decide.
    pub lines: Vec<String>,
    /// The record of the diagnosis.
    pub document: Document,
    /// The diagnosis, in which what fails confirmed cases is a fault of the program.
    pub diagnosis: Diagnosis,
    /// True where any was confirmed.
    pub program_is_at_fault: bool,
    /// True where all of them were, so that the cases are as they were.
    pub are_all_confirmed: bool,
    /// True where the case was held back until now.
    pub was_held: bool,
    /// Numbers of the cases that the author of the program has seen, of those that still decide.
    pub seen: BTreeSet<usize>,
}

/// End of a child that will never answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LostChild {
    /// It is gone, through no fault of what ran in it.
    Gone,
    /// It ended without a report, as what runs in it can bring about.
    Silent,
}

/// Something must change before the task can go on.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockedTask {
    /// Infrastructure or configuration.
    pub category: Category,
    /// Message that says what happened, to which object, and what to do.
    pub message: String,
    /// Time at which it is tried again.
    pub retry_at: Timestamp,
    /// End of a child (a build, a sandbox) without an answer, so that only another one can give it.
    pub lost_child: Option<LostChild>,
    /// True where the step did nothing but try in vain to reach somebody: its time is none in which the task worked.
    pub was_idle: bool,
}
