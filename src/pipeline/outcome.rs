//! What happened to a task, and in which stage it can happen.

use std::collections::BTreeSet;

use jiff::Timestamp;

use crate::api::approval::ApprovalStatus;
use crate::api::status::{CaseEvidence, ConstraintStatus, PlanStatus, SampleStatus};

use super::diagnosis::Diagnosis;
use super::progress::{BuildFault, BuiltImage, Document, PublishedImage, RecordedLock};
use super::python::rule::Rule;
use super::sandbox::Packages;
use super::stage::{Category, Stage, Stop};
use super::verdict::Verdict;

/// What happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// The samples were read.
    SamplesRead {
        /// The data context.
        context: Document,
        /// Profiles and inferred schemas.
        profiles: Document,
        /// What was read.
        samples: Vec<SampleStatus>,
    },
    /// The constraints are checks now.
    ConstraintsRead {
        /// The checks.
        checks: Document,
        /// What became of each constraint.
        constraints: Vec<ConstraintStatus>,
    },
    /// There is a plan.
    Planned {
        /// The plan.
        plan: PlanStatus,
        /// Its cases; `None` where there are none.
        cases: Option<(Document, CaseEvidence)>,
    },
    /// There is a program.
    CodeWritten(Written),
    /// There is a suite.
    TestsWritten(Written),
    /// There is an image.
    ImageReady {
        /// The image.
        built: BuiltImage,
        /// What it holds, archive by archive, where that is known.
        lock: Option<RecordedLock>,
        /// Whether it was built for this (and not found).
        fresh: bool,
    },
    /// The image cannot be built for want of a package.
    BuildFailed {
        /// Why.
        fault: BuildFault,
        /// Whether a build was started, and not only the index asked.
        is_tried: bool,
    },
    /// The image that the tests should run in is gone; it is built again.
    ImageLost,
    /// Other packages took the place of those that cannot be installed.
    EnvironmentFixed {
        /// What was replaced by what.
        replaced: Vec<(String, String)>,
        /// What is wanted now.
        wanted: Packages,
    },
    /// Tests and rehearsal ran.
    Ran {
        /// The record of the run.
        run: Document,
        /// What it showed.
        verdict: Box<Verdict>,
        /// When it started.
        started_at: Timestamp,
    },
    /// The failures have a diagnosis.
    Diagnosed {
        /// The record of the diagnosis.
        document: Document,
        /// What it says.
        diagnosis: Diagnosis,
        /// Packages that it declares.
        declared: Packages,
        /// What is wanted now.
        wanted: Packages,
    },
    /// Cases that were blamed were worked out again.
    CasesRevised {
        /// The cases from now on.
        cases: (Document, CaseEvidence),
        /// Each in one line, those that decide.
        lines: Vec<String>,
        /// The record of the diagnosis.
        document: Document,
        /// The diagnosis, in which what fails confirmed cases is a fault of the program.
        diagnosis: Diagnosis,
        /// Whether any was confirmed.
        program_is_at_fault: bool,
    },
    /// The program was changed, and every named function with it.
    CodeFixed(Written),
    /// The suite was changed, and every named test with it.
    TestsFixed(Written),
    /// A fix came back that changes nothing, or not what it should.
    FixNotApplied {
        /// What is still as it was.
        reason: String,
    },
    /// A reply cannot be used.
    ReplyRejected {
        /// Why, as a sentence for the model.
        reason: String,
        /// The rules that its code breaks, where that is why.
        rules: BTreeSet<Rule>,
    },
    /// Something must change before the task can go on.
    Blocked {
        /// Infrastructure or configuration.
        category: Category,
        /// What happened, to which object, and what to do.
        message: String,
        /// When it is tried again.
        retry_at: Timestamp,
        /// Whether a child (a build, a sandbox) is gone, so that only another one can answer.
        lost_child: bool,
    },
    /// A person says that the cause is gone.
    Resumed,
    /// A person decided at the gate that the task waits at.
    Decided(ApprovalStatus),
    /// The program passed, no gate is left, and it is not to be published.
    Accepted,
    /// The program is an image in a registry.
    Published(PublishedImage),
    /// A limit is spent.
    Stopped(Stop),
    /// The limit that stopped the task was raised.
    LimitRaised,
}

/// Source that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Where it lies.
    pub document: Document,
    /// Hash of its syntax tree.
    pub tree: String,
    /// Packages that replies declared so far.
    pub declared: Packages,
    /// What program and suite need now.
    pub wanted: Packages,
}

impl Outcome {
    /// The stages in which it can happen: the table of the machine's transitions.
    #[must_use]
    pub const fn stages(&self) -> &'static [Stage] {
        match self {
            Self::SamplesRead { .. } => &[Stage::ReadingSamples],
            Self::ConstraintsRead { .. } => &[Stage::ReadingConstraints],
            Self::Planned { .. } => &[Stage::Planning],
            Self::CodeWritten(_) => &[Stage::GeneratingCode],
            Self::TestsWritten(_) => &[Stage::GeneratingTests],
            Self::ImageReady { .. } | Self::BuildFailed { .. } => {
                &[Stage::GeneratingTests, Stage::AwaitingImage]
            }
            Self::EnvironmentFixed { .. } => &[Stage::FixingEnvironment],
            Self::Ran { .. } | Self::ImageLost => &[Stage::RunningTests],
            Self::Diagnosed { .. } => &[Stage::Diagnosing],
            Self::CasesRevised { .. } => &[Stage::RecheckingCases],
            Self::CodeFixed(_) => &[Stage::FixingCode],
            Self::TestsFixed(_) => &[Stage::FixingTests],
            Self::FixNotApplied { .. } => &[Stage::FixingCode, Stage::FixingTests],
            Self::ReplyRejected { .. } => &Stage::CALLING,
            Self::Blocked { .. } | Self::Resumed => Stage::WAITING,
            Self::Stopped(_) => Stage::LIVE,
            Self::Decided(_) => &Stage::GATED,
            Self::Accepted => &[Stage::Passed, Stage::Publishing],
            Self::Published(_) => &[Stage::Publishing, Stage::Succeeded],
            Self::LimitRaised => &[Stage::Failed],
        }
    }

    /// The outcome's name, for messages.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::SamplesRead { .. } => "SamplesRead",
            Self::ConstraintsRead { .. } => "ConstraintsRead",
            Self::Planned { .. } => "Planned",
            Self::CodeWritten(_) => "CodeWritten",
            Self::TestsWritten(_) => "TestsWritten",
            Self::ImageReady { .. } => "ImageReady",
            Self::BuildFailed { .. } => "BuildFailed",
            Self::ImageLost => "ImageLost",
            Self::EnvironmentFixed { .. } => "EnvironmentFixed",
            Self::Ran { .. } => "Ran",
            Self::Diagnosed { .. } => "Diagnosed",
            Self::CasesRevised { .. } => "CasesRevised",
            Self::CodeFixed(_) => "CodeFixed",
            Self::TestsFixed(_) => "TestsFixed",
            Self::FixNotApplied { .. } => "FixNotApplied",
            Self::ReplyRejected { .. } => "ReplyRejected",
            Self::Blocked { .. } => "Blocked",
            Self::Resumed => "Resumed",
            Self::Decided(_) => "Decided",
            Self::Accepted => "Accepted",
            Self::Published(_) => "Published",
            Self::Stopped(_) => "Stopped",
            Self::LimitRaised => "LimitRaised",
        }
    }
}

/// An outcome that cannot happen in a stage.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("outcome {outcome} cannot happen in stage {stage}; this is a bug of the operator, please report it")]
pub struct IllegalTransition {
    /// The stage.
    pub stage: Stage,
    /// The outcome.
    pub outcome: &'static str,
}
