//! Gates: where a task waits until a person has approved, and of what exactly.
//!
//! Whether it waits follows from the progress alone: a gate is open for what was approved, and asks again for anything else.

use codegen_api::approval::{ApprovalDecision, ApprovalStatus, AwaitedApproval, Gate};
use codegen_api::status::TestCounts;

use super::agent::Next;
use super::bounds::{cut, first};
use super::digest::sha256_hex_of_parts;
use super::progress::Progress;
use super::sandbox::Packages;
use super::stage::{Stage, Stop, StopReason};
use super::task::Task;

/// Bytes of a line that says what is to be approved.
const LINE: usize = 400;
/// Bytes of all packages with their versions.
const INSTALLED: usize = 2_048;

/// Returns the approval of a person for which the task waits; `None` where nobody is waited for.
#[must_use]
pub fn awaited(task: &Task, progress: &Progress) -> Option<AwaitedApproval> {
    let agent = progress.agent.as_ref();
    let gate = match progress.stage {
        // Before its first turn.
        Stage::Working if agent.is_none_or(|agent| agent.turns == 0) => Gate::Plan,
        Stage::Working if agent.is_some_and(|agent| agent.next == Next::Run) => Gate::Image,
        Stage::GeneratingCode => Gate::Plan,
        Stage::AwaitingImage => Gate::Packages,
        Stage::RunningTests => Gate::Image,
        Stage::Passed => Gate::Result,
        Stage::Working
        | Stage::ReadingSamples
        | Stage::ReadingConstraints
        | Stage::Planning
        | Stage::GeneratingTests
        | Stage::Diagnosing
        | Stage::RecheckingCases
        | Stage::RecheckingConstraints
        | Stage::ExtendingCases
        | Stage::FixingEnvironment
        | Stage::FixingCode
        | Stage::FixingTests
        | Stage::Publishing
        | Stage::Succeeded
        | Stage::Failed => return None,
    };
    at(gate, task, progress)
}

/// Reports whether the packages of program and suite may be built without asking.
#[must_use]
pub fn allows_build(task: &Task, progress: &Progress) -> bool {
    at(Gate::Packages, task, progress).is_none()
}

/// Reports whether somebody would have to approve of the program that was not asked about it.
#[must_use]
pub fn lacks_result(task: &Task, progress: &Progress) -> bool {
    at(Gate::Result, task, progress).is_some()
}

/// Reports whether the plan, and its cases with it, is the one that a person approved of.
#[must_use]
pub fn has_approved_plan(task: &Task, progress: &Progress) -> bool {
    let is_of_plan = |decision: &ApprovalStatus| {
        decision.gate == Gate::Plan && decision.decision == ApprovalDecision::Approve
    };
    // Of many decisions the status keeps the last.
    task.approvals.contains(&Gate::Plan) || progress.approvals.iter().any(is_of_plan)
}

/// The message for whoever waits.
#[must_use]
pub fn message(task: &Task, asked: &AwaitedApproval) -> String {
    let Task { name, namespace, .. } = task;
    let gate = asked.gate;
    format!(
        "gate {gate}: somebody must approve of what status.approval shows: kubectl-codegen approve {name} --gate {gate} \
         --namespace {namespace}, or reject"
    )
}

fn at(gate: Gate, task: &Task, progress: &Progress) -> Option<AwaitedApproval> {
    if !task.approvals.contains(&gate) {
        return None;
    }
    let Shown { exactly, what } = match gate {
        Gate::Plan => plan(progress),
        Gate::Packages => packages(&progress.build.wanted),
        Gate::Image => image(progress),
        Gate::Result => result(progress),
    };
    let parts = [gate.as_str(), &progress.run];
    let parts: Vec<&str> = parts
        .into_iter()
        .chain(exactly.iter().map(String::as_str))
        .collect();
    let hash = sha256_hex_of_parts(&parts);
    let is_approved = |decision: &ApprovalStatus| {
        decision.gate == gate && decision.hash == hash && decision.decision == ApprovalDecision::Approve
    };
    if progress.approvals.iter().any(is_approved) {
        return None;
    }
    Some(AwaitedApproval { gate, hash, what })
}

/// Matter to be approved: all of it for the hash, and so much of it as a status shows.
struct Shown {
    exactly: Vec<String>,
    what: Vec<String>,
}

fn plan(progress: &Progress) -> Shown {
    let plan = progress.plan.clone().unwrap_or_default();
    let libraries = plan.libraries.join(", ");
    let lines = [
        ("description", plan.description.as_str()),
        ("approach", plan.approach.as_str()),
        ("libraries", libraries.as_str()),
        ("the whole plan", "status.plan"),
    ];
    let cases = plan.cases.iter().map(|case| cut(&format!("case {case}"), LINE));
    let what = lines
        .into_iter()
        .filter(|(_, text)| !text.is_empty())
        .map(|(name, text)| cut(&format!("{name}: {text}"), LINE))
        .chain(cases)
        .collect();
    let mut exactly = vec![plan.description, plan.approach];
    exactly.extend(plan.libraries);
    exactly.extend(
        progress
            .documents
            .cases
            .as_ref()
            .map(|cases| cases.sha256.clone()),
    );
    Shown { exactly, what }
}

fn packages(wanted: &Packages) -> Shown {
    let sorted = |names: &[String], manager: &str| {
        let mut names: Vec<String> = names.iter().map(|name| format!("{manager}: {name}")).collect();
        names.sort();
        names
    };
    let mut exactly = sorted(&wanted.pip, "pip");
    exactly.extend(sorted(&wanted.apt, "apt"));
    let what = if exactly.is_empty() {
        vec!["no packages besides those of the spec".to_owned()]
    } else {
        exactly.clone()
    };
    Shown { exactly, what }
}

fn image(progress: &Progress) -> Shown {
    let built = progress.build.built.clone().unwrap_or_default();
    let mut what = vec![
        format!("image: {}", built.image),
        format!("python: {}", built.python),
    ];
    what.extend(first(&built.resolved, INSTALLED));
    let mut exactly = vec![built.image, built.python];
    exactly.extend(built.resolved);
    exactly.extend(
        progress
            .build
            .lock
            .as_ref()
            .map(|lock| lock.document.sha256.clone()),
    );
    Shown { exactly, what }
}

fn result(progress: &Progress) -> Shown {
    let files = [
        ("solution.py", &progress.documents.solution),
        ("test_solution.py", &progress.documents.tests),
    ];
    let mut what: Vec<String> = files
        .into_iter()
        .filter_map(|(name, document)| {
            let document = document.as_ref()?;
            Some(format!(
                "{name}: {} bytes, sha256 {}",
                document.bytes, document.sha256
            ))
        })
        .collect();
    let last = progress.attempts.last();
    let counts = [
        ("tests", last.and_then(|attempt| attempt.tests)),
        (
            "acceptance tests",
            last.and_then(|attempt| attempt.acceptance_tests),
        ),
    ];
    let counted = |(name, counts): (&str, Option<TestCounts>)| {
        let TestCounts {
            total,
            passed,
            failed,
            skipped,
        } = counts?;
        Some(format!(
            "{name}: {passed} of {total} passed, {failed} failed, {skipped} skipped"
        ))
    };
    what.extend(counts.into_iter().filter_map(counted));
    Shown {
        exactly: what.clone(),
        what,
    }
}

/// Returns the stop with which a rejection ends the task.
pub(super) fn rejected(decision: &ApprovalStatus) -> Stop {
    let why = decision
        .reason
        .as_deref()
        .filter(|reason| !reason.trim().is_empty());
    Stop {
        reason: StopReason::Rejected,
        message: format!(
            "gate {}: rejected by {}: {}. Another prompt, model or sample starts another run.",
            decision.gate,
            decision.decided_by,
            why.map_or("no reason given", |why| why.trim().trim_end_matches('.'))
        ),
    }
}

#[cfg(test)]
mod tests;
