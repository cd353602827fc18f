//! Checks of replies: whether one can be used, and its content when it can.
//!
//! What a reply must keep and no run could show is checked here: a refusal is a sentence that goes back to the model.

mod cases;
mod diagnosis;
mod outputs;
mod packages;
mod plan;
mod scope;
mod source;
mod workspace;

use codegen_api::case::Case;
use codegen_api::status::PlanStatus;

use super::call::{CallKind, Reply, ReplyFault};
use super::cases::CaseSet;
use super::checks::Break;
use super::diagnosis::Diagnosis;
use super::progress::Progress;
use super::prompts::Material;
use super::reply::{ConstraintsReply, parse};
use super::sandbox::Packages;
use super::task::Task;

pub use outputs::proposed_outputs;
pub use workspace::{AcceptedWorkspace, accept_workspace, packages_of_acceptance_tests, workspace_packages};

/// Content of a usable reply.
#[derive(Clone, Debug, PartialEq)]
pub enum Accepted {
    /// The plan, and the cases that it brings.
    Plan(PlanStatus, CaseSet),
    /// Rows that the data module turns into checks.
    Constraints(ConstraintsReply),
    /// Program or suite.
    Source(AcceptedSource),
    /// Second answers to the cases that are blamed, in order.
    Cases(Vec<Case>),
    /// The cases with further ones.
    MoreCases(CaseSet),
    /// Broken constraints, and whether each must hold for its output.
    Scope(Vec<(Break, bool)>),
    /// A diagnosis of some failures, or of all.
    Diagnosis {
        /// Diagnosis of the reply.
        diagnosis: Diagnosis,
        /// Packages that it adds to the declared ones.
        declared: Packages,
        /// Packages that are wanted then.
        wanted: Packages,
    },
    /// A turn of an agent.
    Turn,
    /// Replacements of packages.
    Environment {
        /// Replaced packages, each with its replacement.
        replaced: Vec<(String, String)>,
        /// Packages that are wanted then.
        wanted: Packages,
    },
}

/// Source that passed every check that needs no run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcceptedSource {
    /// The whole file.
    pub source: String,
    /// Hash of its syntax tree.
    pub tree: String,
    /// Functions that changed; empty for a first version.
    pub changed: Vec<String>,
    /// Packages that replies declared so far.
    pub declared: Packages,
    /// Packages that program and suite need now.
    pub wanted: Packages,
}

/// Reason for which a reply is not used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It cannot be used at all.
    Reply(ReplyFault),
    /// It is a fix that was not applied.
    NotApplied(ReplyFault),
}

impl<T: Into<ReplyFault>> From<T> for Refusal {
    fn from(fault: T) -> Self {
        Self::Reply(fault.into())
    }
}

/// Reads and checks a reply.
pub fn accept(
    task: &Task,
    progress: &Progress,
    material: &Material,
    kind: CallKind,
    reply: &Reply,
) -> Result<Accepted, Refusal> {
    let facts = Facts {
        task,
        progress,
        material,
    };
    match kind {
        CallKind::Plan => facts.plan(parse(reply)?),
        CallKind::Constraints => Ok(Accepted::Constraints(facts.constraints(parse(reply)?)?)),
        CallKind::Code => facts.code(parse(reply)?),
        CallKind::Tests => facts.tests(&parse(reply)?),
        CallKind::Diagnosis => facts.diagnosis(&parse(reply)?),
        CallKind::FixCode => facts.fix_code(parse(reply)),
        CallKind::FixTests => facts.fix_tests(parse(reply)),
        CallKind::Cases => facts.cases(&parse(reply)?),
        CallKind::MoreCases => facts.more_cases(parse(reply)?),
        CallKind::Scope => facts.scope(&parse(reply)?),
        CallKind::FixEnvironment => facts.fix_environment(parse(reply)?),
        // Whatever an agent says is an answer: what cannot be used is told to it.
        CallKind::Turn => Ok(Accepted::Turn),
        // Asked without a task: no stage of one asks for these.
        CallKind::Outputs | CallKind::Program => Err("No stage of a task asks for this.".into()),
    }
}

/// Task, progress and material that a reply is checked against.
struct Facts<'a> {
    task: &'a Task,
    progress: &'a Progress,
    material: &'a Material,
}

#[cfg(test)]
mod tests;
