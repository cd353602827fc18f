//! Everything that an attempt checked, in one list. Pure.

use std::fmt::Write as _;

use serde::Serialize;

use codegen_api::status::RehearsalResult;
use codegen_core::sandbox::{PhaseName, TestFailure, TestOutcome, TestResult};
use codegen_core::verdict::{CheckSource, FailedCheck};
use codegen_engine::attempt::AttemptRecord;

/// Beginning of the names of the generated suite's tests.
const SUITE: &str = "test_solution.py::";

/// Outcome of a check.
#[derive(Serialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(super) enum CheckEnd {
    Passed,
    Failed,
    Error,
    Skipped,
    /// It is marked as expected to fail.
    Marked,
}

impl CheckEnd {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Error => "error",
            Self::Skipped => "skipped",
            Self::Marked => "marked",
        }
    }
}

impl From<TestOutcome> for CheckEnd {
    fn from(outcome: TestOutcome) -> Self {
        match outcome {
            TestOutcome::Passed => Self::Passed,
            TestOutcome::Failed => Self::Failed,
            TestOutcome::Error => Self::Error,
            TestOutcome::Skipped => Self::Skipped,
            TestOutcome::XFailed | TestOutcome::XPassed => Self::Marked,
        }
    }
}

/// A test of the suite, a case, the rehearsal, or tests that only their number is recorded of.
#[derive(Serialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub(super) struct CheckLine {
    /// `test`, `case`, `rehearsal`, ...
    pub kind: &'static str,
    /// Its name, of a test without the file.
    pub name: String,
    pub outcome: CheckEnd,
    /// In one line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// pytest's own text of the failure, or what the program wrote to standard error.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub traceback: String,
    /// Text that it printed.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub stdout: String,
}

impl CheckLine {
    /// Takes out what may hold data.
    pub fn hide(&mut self) {
        self.message = None;
        self.traceback.clear();
        self.stdout.clear();
    }

    /// Reports whether somebody means this check by `wanted`.
    pub fn is_called(&self, wanted: &str) -> bool {
        self.kind == wanted || is_called(&self.name, wanted)
    }
}

/// Reports whether `wanted` is a name, its end behind `::`, or either without the parameters of the test.
pub(super) fn is_called(name: &str, wanted: &str) -> bool {
    let wanted = wanted.strip_prefix(SUITE).unwrap_or(wanted);
    let without_parameters = name.split('[').next().unwrap_or(name);
    [name, without_parameters].iter().any(|name| {
        let end = name.rsplit("::").next().unwrap_or(name);
        *name == wanted || name.strip_prefix(SUITE) == Some(wanted) || end == wanted
    })
}

/// Everything that an attempt checked: tests first, then what else failed, then what only is counted.
pub(super) fn checks(attempt: &AttemptRecord) -> Vec<CheckLine> {
    let phases = &attempt.report.phases;
    let suite = phases.iter().filter(|phase| phase.name == PhaseName::Tests);
    let tests = suite.flat_map(|phase| phase.tests.iter().flat_map(|tests| &tests.results));
    let verdict = &attempt.verdict;
    let mut all: Vec<CheckLine> = tests.map(test).collect();
    all.extend(
        verdict
            .failed
            .iter()
            .chain(&verdict.reported)
            // Each of the examples follows.
            .filter(|failed| failed.source != CheckSource::Example || attempt.failed_examples.is_empty())
            .filter_map(|failed| further(attempt, failed)),
    );
    let acceptance = attempt.failed_acceptance.iter();
    all.extend(acceptance.map(|failure| of_the_owner("acceptance", failure)));
    let examples = attempt.failed_examples.iter();
    all.extend(examples.map(|failure| of_the_owner("example", failure)));
    let counted = [
        ("cases", verdict.cases.map(|counts| (counts.passed, counts.total))),
        (
            "examples",
            verdict.examples.map(|counts| (counts.passed, counts.total)),
        ),
        (
            "acceptance",
            verdict.acceptance.map(|counts| (counts.passed, counts.total)),
        ),
    ];
    all.extend(
        counted
            .into_iter()
            .filter_map(|(kind, counts)| count(kind, counts?)),
    );
    let rehearsal = match verdict.rehearsal.result {
        RehearsalResult::Passed => Some((CheckEnd::Passed, None)),
        RehearsalResult::Skipped => Some((CheckEnd::Skipped, verdict.rehearsal.message.clone())),
        RehearsalResult::Failed => None,
    };
    all.extend(rehearsal.map(|(end, why)| plain("rehearsal", "the program on the samples", end, why)));
    all
}

fn test(result: &TestResult) -> CheckLine {
    let failure = result.failure.as_ref();
    CheckLine {
        kind: "test",
        name: result.id.strip_prefix(SUITE).unwrap_or(&result.id).to_owned(),
        outcome: result.outcome.into(),
        message: failure.map(headline),
        traceback: failure.map(|failure| failure.text.clone()).unwrap_or_default(),
        stdout: result.stdout.clone(),
    }
}

fn of_the_owner(kind: &'static str, failure: &TestFailure) -> CheckLine {
    CheckLine {
        kind,
        name: failure.id.clone(),
        outcome: CheckEnd::Failed,
        message: Some(headline(failure)),
        traceback: failure.text.clone(),
        stdout: String::new(),
    }
}

/// Turns a failure besides those of tests, which are in the list with their results, into a check.
fn further(attempt: &AttemptRecord, failed: &FailedCheck) -> Option<CheckLine> {
    let kind = match failed.source {
        CheckSource::Test => return None,
        CheckSource::Collection => "collection",
        CheckSource::Session => "session",
        CheckSource::Vacuity => "vacuity",
        CheckSource::Rehearsal => "rehearsal",
        CheckSource::Acceptance => "acceptance",
        CheckSource::Case | CheckSource::SettledCase | CheckSource::HeldCase => "case",
        CheckSource::Example => "example",
    };
    let detail = &failed.detail;
    let run = match failed.source {
        CheckSource::Rehearsal => attempt
            .report
            .phases
            .iter()
            .find(|phase| phase.name == PhaseName::Rehearsal),
        _ => attempt.failed_cases.get(&detail.id),
    };
    let stderr = run.map(|run| run.stderr.clone()).unwrap_or_default();
    Some(CheckLine {
        kind,
        name: detail.id.clone(),
        outcome: CheckEnd::Failed,
        message: Some(headline(detail)),
        traceback: if detail.text.is_empty() {
            stderr
        } else {
            detail.text.clone()
        },
        stdout: run.map(|run| run.stdout.clone()).unwrap_or_default(),
    })
}

/// Exception and message in one line.
fn headline(failure: &TestFailure) -> String {
    let message = failure.message.lines().next().unwrap_or_default();
    match (failure.exception.as_str(), message) {
        ("", message) => message.to_owned(),
        (exception, "") => exception.to_owned(),
        (exception, message) => format!("{exception}: {message}"),
    }
}

/// Tests of which only the number is recorded.
fn count(kind: &'static str, (passed, total): (i32, i32)) -> Option<CheckLine> {
    let outcome = if passed == total {
        CheckEnd::Passed
    } else {
        CheckEnd::Failed
    };
    (total > 0).then(|| plain(kind, &format!("{passed} of {total} passed"), outcome, None))
}

fn plain(kind: &'static str, name: &str, outcome: CheckEnd, message: Option<String>) -> CheckLine {
    CheckLine {
        kind,
        name: name.to_owned(),
        outcome,
        message,
        traceback: String::new(),
        stdout: String::new(),
    }
}

/// A check whole: what failed, and what it printed.
pub(super) fn sections(check: &CheckLine, attempt: u32) -> String {
    let mut text = format!("{} {} in attempt {attempt}\n", check.name, check.outcome.as_str());
    let parts = [
        ("", check.message.as_deref().unwrap_or_default()),
        ("", check.traceback.trim_end()),
        ("-- stdout\n", check.stdout.trim_end()),
    ];
    for (title, part) in parts.into_iter().filter(|(_, part)| !part.is_empty()) {
        let _ = writeln!(text, "{title}{part}");
    }
    text
}
