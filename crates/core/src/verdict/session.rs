//! A pytest session: what it counts for, and why it has not passed.

use std::collections::BTreeSet;

use crate::failed_check::limit_name;
use crate::sandbox::{PhaseEnd, PhaseReport, TestOutcome, TestReport, TestResult};
use codegen_api::status::TestCounts;

use super::{CheckSource, FailedCheck, int, unusual};

/// Exit code of pytest where it has found no test.
const NONE_COLLECTED: i32 = 5;

/// Counts of a pytest session, and why it did not pass. Passed means: the session ended, at least one test was collected, and every
/// collected test passed.
pub(super) fn judge_session(phase: Option<&PhaseReport>) -> (TestCounts, Vec<FailedCheck>) {
    let Some(phase) = phase else {
        return (
            TestCounts::default(),
            vec![session(
                "the test run never started: an earlier phase used up its limits",
            )],
        );
    };
    let empty = TestReport::default();
    let report = phase.tests.as_ref().unwrap_or(&empty);
    let counts = count(report);
    let mut failed: Vec<FailedCheck> = report
        .collection_errors
        .iter()
        .map(|detail| FailedCheck {
            source: CheckSource::Collection,
            detail: detail.clone(),
        })
        .collect();
    failed.extend(report.results.iter().filter_map(judge_result));
    // Only where no test failed: a suite that fails honestly need not prove that its session was whole.
    if failed.is_empty() {
        failed.extend(judge_honesty(phase, report, counts));
    }
    (counts, failed)
}

fn judge_result(result: &TestResult) -> Option<FailedCheck> {
    let detail = match result.outcome {
        TestOutcome::Passed => return None,
        TestOutcome::Failed | TestOutcome::Error => {
            let mut detail = result.failure.clone().unwrap_or_default();
            detail.id.clone_from(&result.id);
            detail
        }
        // A skipped test would otherwise count as one that passed, and a suite could skip all of them.
        TestOutcome::Skipped => unusual(&result.id, "the test was skipped; a skipped test has not passed"),
        TestOutcome::XFailed | TestOutcome::XPassed => unusual(
            &result.id,
            "the test is marked as expected to fail; such a test proves nothing",
        ),
    };
    Some(FailedCheck {
        source: CheckSource::Test,
        detail,
    })
}

fn judge_honesty(phase: &PhaseReport, report: &TestReport, counts: TestCounts) -> Option<FailedCheck> {
    let ended = match &phase.end {
        PhaseEnd::TimedOut => Some(format!("the tests did not end within {:.0} s", phase.seconds)),
        PhaseEnd::LimitHit(kind) => Some(format!(
            "the tests used more {} than the sandbox allows",
            limit_name(*kind)
        )),
        PhaseEnd::Signaled(signal) => Some(format!("signal {signal} ended the test session")),
        PhaseEnd::Exited(_) => None,
    };
    if let Some(message) = ended {
        return Some(session(&message));
    }
    if counts.total == 0 && report.session_exit == Some(NONE_COLLECTED) {
        return Some(FailedCheck {
            source: CheckSource::Collection,
            detail: unusual(
                "test suite",
                "no test was collected: a suite needs functions whose names start with test_",
            ),
        });
    }
    if report.session_exit != Some(0) || counts.passed != counts.total || !each_once(report) {
        return Some(session(&format!(
            "the test session ended before it was over or did not tell the truth: {} of {} tests were reported as passed. \
             Nothing may end the process or reach into the test runner",
            counts.passed, counts.total
        )));
    }
    None
}

/// Reports whether every collected test has one result and nothing else has any.
fn each_once(report: &TestReport) -> bool {
    let results: BTreeSet<&str> = report.results.iter().map(|result| result.id.as_str()).collect();
    let collected: BTreeSet<&str> = report.collected.iter().map(String::as_str).collect();
    // A result that is reported twice, or for a test that was never collected, comes from somebody else than pytest.
    results.len() == report.results.len() && results == collected
}

fn count(report: &TestReport) -> TestCounts {
    let mut counts = TestCounts {
        total: int(report.collected.len()),
        ..TestCounts::default()
    };
    for result in &report.results {
        match result.outcome {
            TestOutcome::Passed => counts.passed += 1,
            TestOutcome::Failed | TestOutcome::Error => counts.failed += 1,
            TestOutcome::Skipped | TestOutcome::XFailed | TestOutcome::XPassed => counts.skipped += 1,
        }
    }
    // A file that cannot be collected counts as one failed test: else a suite of which half does not load would look complete.
    let broken = int(report.collection_errors.len());
    counts.total += broken;
    counts.failed += broken;
    counts
}

fn session(message: &str) -> FailedCheck {
    FailedCheck {
        source: CheckSource::Session,
        detail: unusual("test session", message),
    }
}
