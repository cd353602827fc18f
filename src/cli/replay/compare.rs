//! Comparison of two runs of a task: equal ends or not, and the first difference. Pure.

use crate::cli::summary::tests_or_none;
use crate::cli::text::{count, cut};
use codegen_api::status::{AttemptStatus, CodeGenTaskStatus};
use codegen_core::call::CallKind;
use codegen_core::progress::Progress;
use codegen_ledger::Entry;

/// Columns of a line that is quoted.
const QUOTED: usize = 60;

/// End of a run, and the way to it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ReplayEnd {
    /// Its calls in order.
    pub calls: Vec<ReplayedCall>,
    /// Its attempts, of each what was counted.
    pub attempts: Vec<AttemptStatus>,
    /// Digests of program and suite.
    pub solution: Option<String>,
    pub tests: Option<String>,
    pub stage: String,
    pub reason: String,
    /// Message about its end.
    pub message: String,
}

/// A call as it was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ReplayedCall {
    pub kind: CallKind,
    pub hash: String,
    /// Id of what all requests begin with.
    pub prefix: String,
    pub instruction: String,
}

impl ReplayEnd {
    #[must_use]
    pub fn of(status: &CodeGenTaskStatus, progress: Option<&Progress>, entries: &[Entry]) -> Self {
        let documents = progress
            .map(|progress| progress.documents.clone())
            .unwrap_or_default();
        Self {
            calls: entries.iter().map(ReplayedCall::of).collect(),
            attempts: status.attempts.iter().map(counted).collect(),
            solution: documents.solution.map(|document| document.sha256),
            tests: documents.tests.map(|document| document.sha256),
            stage: status.stage.clone().unwrap_or_default(),
            reason: status.reason.clone().unwrap_or_default(),
            message: status.message.clone().unwrap_or_default(),
        }
    }

    /// In a line.
    #[must_use]
    pub fn words(&self) -> String {
        let attempts = count(self.attempts.len() as u64, "attempt");
        format!("{}, {} after {attempts}", self.stage, self.reason)
    }
}

impl ReplayedCall {
    fn of(entry: &Entry) -> Self {
        Self {
            kind: entry.kind,
            hash: entry.request_hash.clone(),
            prefix: entry.prefix.clone(),
            instruction: entry.instruction.clone(),
        }
    }
}

/// Keeps the counts of an attempt, without everything that differs from run to run.
fn counted(attempt: &AttemptStatus) -> AttemptStatus {
    AttemptStatus {
        number: attempt.number,
        tests: attempt.tests,
        suite_strength: attempt.suite_strength,
        acceptance_tests: attempt.acceptance_tests,
        cases: attempt.cases,
        examples: attempt.examples,
        ..AttemptStatus::default()
    }
}

/// Reports whether both ended as the same, with the same program and the same suite.
#[must_use]
pub(super) fn is_same_end(before: &ReplayEnd, after: &ReplayEnd) -> bool {
    (&before.stage, &before.reason, &before.solution, &before.tests)
        == (&after.stage, &after.reason, &after.solution, &after.tests)
}

/// Finds where two runs differ first, in words.
#[must_use]
pub(super) fn first_difference(before: &ReplayEnd, after: &ReplayEnd) -> Option<String> {
    calls(before, after)
        .or_else(|| attempts(before, after))
        .or_else(|| {
            let programs = (&before.solution, &after.solution);
            (programs.0 != programs.1).then(|| "the programs differ".to_owned())
        })
        .or_else(|| (before.tests != after.tests).then(|| "the suites differ".to_owned()))
        .or_else(|| end(before, after))
}

fn calls(before: &ReplayEnd, after: &ReplayEnd) -> Option<String> {
    let most = before.calls.len().max(after.calls.len());
    (0..most).find_map(|at| {
        let number = at + 1;
        match (before.calls.get(at), after.calls.get(at)) {
            (Some(before), Some(after)) if before.kind != after.kind => Some(format!(
                "call {number} asked for {} when it was recorded, and asks for {} now",
                before.kind, after.kind
            )),
            (Some(before), Some(after)) if before.hash != after.hash => Some(request(number, before, after)),
            (Some(before), None) => Some(format!(
                "call {number} ({}) was not made again: {}",
                before.kind,
                cut(&after.message, 2 * QUOTED)
            )),
            (None, Some(after)) => Some(format!("call {number} ({}) was not made before", after.kind)),
            (Some(_), Some(_)) | (None, None) => None,
        }
    })
}

/// Says what is not the same of a request.
fn request(number: usize, before: &ReplayedCall, after: &ReplayedCall) -> String {
    let kind = before.kind;
    if before.prefix != after.prefix {
        return format!(
            "call {number} ({kind}) has another task or data context: the sample data, or how it is described, is not the same"
        );
    }
    let mut lines = before.instruction.lines().zip(after.instruction.lines());
    match lines.find(|(before, after)| before != after) {
        Some((before, after)) => format!(
            "call {number} ({kind}) was asked \"{}\" and is asked \"{}\" now",
            cut(before, QUOTED),
            cut(after, QUOTED)
        ),
        None => format!("call {number} ({kind}) is asked in other words, or for a reply of another schema"),
    }
}

fn attempts(before: &ReplayEnd, after: &ReplayEnd) -> Option<String> {
    let most = before.attempts.len().max(after.attempts.len());
    (0..most).find_map(|at| {
        let number = at + 1;
        match (before.attempts.get(at), after.attempts.get(at)) {
            (Some(before), Some(after)) if before != after => Some(format!(
                "attempt {number} came to {} when it was recorded, and to {} now",
                tests_or_none(before),
                tests_or_none(after)
            )),
            (Some(_), None) => Some(format!("attempt {number} was not made again")),
            (None, Some(_)) => Some(format!("attempt {number} was not made before")),
            (Some(_), Some(_)) | (None, None) => None,
        }
    })
}

fn end(before: &ReplayEnd, after: &ReplayEnd) -> Option<String> {
    let is_other = (&before.stage, &before.reason) != (&after.stage, &after.reason);
    is_other.then(|| format!("the end: {}", cut(&after.message, 2 * QUOTED)))
}
