//! Another try of a task that has ended: where it goes on, and why it cannot.

use jiff::Timestamp;

use super::budget;
use super::progress::Progress;
use super::stage::{Stage, StopReason};
use super::task::Task;
use crate::api::approval::{ApprovalDecision, Gate};
use crate::api::common::{Backend, TestingMode};
use crate::api::retry::RetryFrom;

/// Bytes of the longest hint: it is part of the state, and of every prompt.
pub const LONGEST_HINT: usize = 400;

/// What somebody asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Retry {
    /// From where, by name; where that follows from the end without one.
    pub from: Option<String>,
    /// A sentence that is added to the task for this try.
    pub hint: Option<String>,
}

impl Retry {
    /// Whether it asks for nothing in particular: what waits is tried again, and what a limit ended goes on.
    #[must_use]
    pub const fn is_plain(&self) -> bool {
        self.from.is_none() && self.hint.is_none()
    }

    /// From where another try goes on; why there is none, where it cannot.
    pub fn start(&self, task: &Task, progress: &Progress, now: Timestamp) -> Result<RetryFrom, String> {
        let asked = self.check(progress)?;
        if let Some(stop) = spent(task, progress, now) {
            return Err(stop);
        }
        let from = asked.unwrap_or_else(|| usual(task, progress));
        missing(task, progress, from).map_or(Ok(from), Err)
    }

    /// The place that is asked for; why there is no other try, where that needs no look at the task itself.
    pub fn check(&self, progress: &Progress) -> Result<Option<RetryFrom>, String> {
        let stage = progress.stage;
        if !stage.is_terminal() {
            return Err(format!(
                "the task is under way in stage {stage}, and another try begins where one has ended: wait for that; what it waits \
                 for is tried again by a retry without a place and a hint"
            ));
        }
        let asked = match &self.from {
            Some(name) => Some(RetryFrom::parse(name).ok_or_else(|| {
                format!("`{name}` is no place to go on from: name Plan, Code, Tests or Diagnosis")
            })?),
            None => None,
        };
        self.check_hint()?;
        if stage == Stage::Succeeded && self.is_plain() {
            return Err(
                "the task has succeeded, and another try takes the place of its program: say from where, or give a hint"
                    .to_owned(),
            );
        }
        Ok(asked)
    }

    fn check_hint(&self) -> Result<(), String> {
        match self.hint.as_deref() {
            Some(hint) if hint.trim().is_empty() => Err("the hint is empty: write a sentence".to_owned()),
            Some(hint) if hint.len() > LONGEST_HINT => Err(format!(
                "the hint has {} bytes, and at most {LONGEST_HINT} are taken: what is longer belongs into spec.prompt",
                hint.len()
            )),
            _ => Ok(()),
        }
    }
}

/// The limit that no further call fits into.
fn spent(task: &Task, progress: &Progress, now: Timestamp) -> Option<String> {
    let stop = budget::exhausted(task, progress, now)
        .or_else(|| budget::allow_another_call(task, progress).err())
        .or_else(|| budget::allow_call(task, progress, 0).err())
        .or_else(|| {
            let needs_build = progress.ended_in == Some(Stage::AwaitingImage);
            budget::allow_build(task, progress).err().filter(|_| needs_build)
        })?;
    Some(stop.message)
}

/// From where a task goes on that nobody names a place for: with what went wrong, and with a new program where that is not known.
fn usual(task: &Task, progress: &Progress) -> RetryFrom {
    let reason = progress.stop.as_ref().map(|stop| stop.reason);
    let wanted = match reason {
        Some(StopReason::InvalidReply | StopReason::BudgetExceeded) => progress.ended_in.map(of_stage),
        Some(StopReason::Rejected) if rejected_at(progress) == Some(Gate::Plan) => Some(RetryFrom::Plan),
        // What led to these ends would lead to them again.
        Some(
            StopReason::Rejected
            | StopReason::IterationsExhausted
            | StopReason::NoProgress
            | StopReason::PolicyDenied,
        )
        | None => None,
    };
    let candidates = wanted.into_iter().chain([RetryFrom::Code]);
    candidates
        .into_iter()
        .find(|from| missing(task, progress, *from).is_none())
        .unwrap_or(RetryFrom::Plan)
}

const fn of_stage(stage: Stage) -> RetryFrom {
    match stage {
        Stage::ReadingSamples | Stage::ReadingConstraints | Stage::Planning => RetryFrom::Plan,
        Stage::GeneratingTests => RetryFrom::Tests,
        Stage::Working
        | Stage::Diagnosing
        | Stage::RecheckingCases
        | Stage::RecheckingConstraints
        | Stage::ExtendingCases
        | Stage::FixingEnvironment
        | Stage::FixingCode
        | Stage::FixingTests => RetryFrom::Diagnosis,
        Stage::GeneratingCode
        | Stage::AwaitingImage
        | Stage::RunningTests
        | Stage::Passed
        | Stage::Publishing
        | Stage::Succeeded
        | Stage::Failed => RetryFrom::Code,
    }
}

/// The gate at which a person ended the task.
fn rejected_at(progress: &Progress) -> Option<Gate> {
    let is_end = progress.stop.as_ref()?.reason == StopReason::Rejected;
    let last = progress.approvals.last().filter(|_| is_end)?;
    (last.decision == ApprovalDecision::Reject).then_some(last.gate)
}

/// What a try from there lacks; `None` where it lacks nothing.
fn missing(task: &Task, progress: &Progress, from: RetryFrom) -> Option<String> {
    let documents = &progress.documents;
    if from != RetryFrom::Plan && rejected_at(progress) == Some(Gate::Plan) {
        return Some("its plan was rejected: go on from Plan".to_owned());
    }
    if task.backend == Backend::Agent {
        return missing_of_agent(progress, from).map(str::to_owned);
    }
    let is_of_the_suite = progress.ended_in == Some(Stage::GeneratingTests);
    let why = match from {
        RetryFrom::Code if progress.plan.is_none() => "there is no plan yet: go on from Plan",
        RetryFrom::Tests if task.testing == TestingMode::Skip => {
            "the task has no suite (spec.testing.mode is Skip): go on from Code"
        }
        RetryFrom::Tests | RetryFrom::Diagnosis if documents.solution.is_none() => {
            "there is no program yet: go on from Code or Plan"
        }
        RetryFrom::Diagnosis if documents.run.is_none() => "its tests have not run: go on from Tests or Code",
        RetryFrom::Diagnosis if progress.memory.failing.is_empty() => {
            "nothing failed in its last tests: go on from Code"
        }
        RetryFrom::Diagnosis if is_of_the_suite => "what failed is the suite itself: go on from Tests",
        RetryFrom::Diagnosis if progress.fix_applied => {
            "program or suite have changed since its last tests: go on from Code or Tests"
        }
        RetryFrom::Plan | RetryFrom::Code | RetryFrom::Tests | RetryFrom::Diagnosis => return None,
    };
    Some(why.to_owned())
}

/// The same where an agent writes the program.
fn missing_of_agent(progress: &Progress, from: RetryFrom) -> Option<&'static str> {
    let has_turns = progress
        .agent
        .as_ref()
        .is_some_and(|agent| agent.next_step > agent.first_step || agent.sequence > 0);
    match from {
        RetryFrom::Code if progress.plan.is_none() => Some("there is no plan yet: go on from Plan"),
        RetryFrom::Tests => Some(
            "its agent writes program and tests together: go on from Diagnosis (the same session) or Code (a new one)",
        ),
        RetryFrom::Diagnosis if progress.stage == Stage::Succeeded => {
            Some("nothing failed in its last tests: go on from Code")
        }
        RetryFrom::Diagnosis if !has_turns => Some("its agent has done nothing yet: go on from Code or Plan"),
        RetryFrom::Plan | RetryFrom::Code | RetryFrom::Diagnosis => None,
    }
}
