//! What outcomes carry.

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
    /// What was read.
    pub samples: Vec<SampleStatus>,
    /// Whether the user has acceptance tests that the program runs apart from.
    pub acceptance_is_apart: bool,
}

/// It is decided whether constraints that outputs break speak of them.
#[derive(Clone, Debug, PartialEq)]
pub struct ScopesDecided {
    /// What was asked about, by signature.
    pub settled: BTreeSet<String>,
    /// The checks and the constraints as they are now; `None` where all of them hold.
    pub changed: Option<(Document, Vec<ConstraintStatus>)>,
}

/// Source that a reply brought.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewSource {
    /// Where it is stored.
    pub document: Document,
    /// Hash of its syntax tree.
    pub tree: String,
    /// Packages that replies declared so far.
    pub declared: Packages,
    /// What program and suite need now.
    pub wanted: Packages,
}

/// An agent's turn went on.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentMoved {
    /// Number of the call in the ledger with which a turn began.
    pub began: Option<u32>,
    /// Steps that were recorded.
    pub steps: u32,
    /// What they hold.
    pub counts: ToolCounts,
    /// What comes next.
    pub next: Next,
    /// What is listed, and what is needed now, where a sandbox is waited for.
    pub packages: Option<(Packages, Packages)>,
    /// What is to be tested.
    pub sources: Option<AgentSources>,
    /// Cases to be worked out again before the turn goes on.
    pub doubtful_cases: Vec<String>,
    /// Why going on would repeat itself.
    pub stuck: Option<String>,
    /// What keeps everything from running that nobody but the user can put right.
    pub users_fault: Option<String>,
    /// Why the tests that were asked for last were not run; empty where they were.
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
    /// What makes them and their packages the same as at another time.
    pub state: String,
}

/// There is an image.
#[derive(Clone, Debug, PartialEq)]
pub struct ImageReady {
    /// The image.
    pub built: BuiltImage,
    /// What it holds, archive by archive; `None` where that was not recorded.
    pub lock: Option<RecordedLock>,
    /// Whether it was built for this (and not found).
    pub fresh: bool,
}

/// The image cannot be built for want of a package.
#[derive(Clone, Debug, PartialEq)]
pub struct BuildFailed {
    /// Why.
    pub fault: BuildFault,
    /// Whether a build was started, and not only the index asked.
    pub is_tried: bool,
}

/// Tests and rehearsal were executed.
#[derive(Clone, Debug, PartialEq)]
pub struct Tested {
    /// The record of the attempt.
    pub record: Document,
    /// What it showed.
    pub verdict: Box<Verdict>,
    /// When it started.
    pub started_at: Timestamp,
}

/// The failures have a diagnosis.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnosed {
    /// The record of the diagnosis.
    pub document: Document,
    /// What it says.
    pub diagnosis: Diagnosis,
    /// Packages that it declares.
    pub declared: Packages,
    /// What is wanted now.
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
    /// Whether any was confirmed.
    pub program_is_at_fault: bool,
    /// Whether all of them were, so that the cases are as they were.
    pub are_all_confirmed: bool,
    /// Whether the case was held back until now.
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
pub struct Blocked {
    /// Infrastructure or configuration.
    pub category: Category,
    /// What happened, to which object, and what to do.
    pub message: String,
    /// When it is tried again.
    pub retry_at: Timestamp,
    /// End of a child (a build, a sandbox) without an answer, so that only another one can give it.
    pub lost_child: Option<LostChild>,
    /// Whether the step did nothing but try in vain to reach somebody: its time is none in which the task worked.
    pub was_idle: bool,
}
