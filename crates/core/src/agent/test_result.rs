//! Text for an agent about a test run: as pytest tells it, cut to what failed, and what else decides beside the suite.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::workspace::TESTS;
use crate::failed_check::{CheckSource, FailedCheck, tail};
use crate::verdict::Verdict;
use codegen_api::status::RehearsalResult;

/// Bytes of one failure's text.
const FAILURE_BYTES: usize = 1_500;
/// Failures that are told with their text.
const SHOWN_FAILURES: usize = 8;
/// Text that is added to the failure of a case that was worked out again.
const STANDS: &str = "(This case was worked out a second time from the task alone, and it stands: the program must give its result.)";

/// The result of a test run of the suite of this name; `rechecked` names cases that were worked out again.
#[must_use]
pub fn test_result(verdict: &Verdict, rechecked: &BTreeSet<String>, suite: &str) -> String {
    let mut told = String::new();
    let shown: Vec<&FailedCheck> = reported(verdict).collect();
    for check in shown.iter().take(SHOWN_FAILURES) {
        // Writing to a string cannot fail.
        let _ = writeln!(told, "____ {} ____\n{}", check.detail.id, text(check));
        let is_settled = check.source == CheckSource::SettledCase || rechecked.contains(&check.detail.id);
        if check.source.is_case() && is_settled {
            told.push_str(STANDS);
            told.push('\n');
        }
        told.push('\n');
    }
    if shown.len() > SHOWN_FAILURES {
        let _ = writeln!(
            told,
            "({} more failures are not shown)\n",
            shown.len() - SHOWN_FAILURES
        );
    }
    for check in shown.iter().filter(|check| check.source == CheckSource::Test) {
        let _ = writeln!(told, "FAILED {}", check.headline());
    }
    told.push_str(&counts(verdict));
    // Where it runs it has the usual name.
    told.replace(TESTS, suite)
}

/// Cases whose failure is told with its text, by name.
#[must_use]
pub fn reported_cases(verdict: &Verdict) -> Vec<String> {
    let shown = reported(verdict).take(SHOWN_FAILURES);
    let cases = shown.filter(|check| check.source.is_case());
    cases.map(|check| check.detail.id.clone()).collect()
}

fn reported(verdict: &Verdict) -> impl Iterator<Item = &FailedCheck> {
    verdict.failed.iter().filter(|check| !check.source.is_hidden())
}

/// Returns the text of a failure: pytest's own, which has the reason in it, or the reason and what was said beside it.
fn text(check: &FailedCheck) -> String {
    let detail = tail(check.detail.text.trim_end(), FAILURE_BYTES);
    let message = check.detail.message.trim_end();
    match (check.source, detail.trim().is_empty()) {
        (_, true) => tail(&check.headline(), FAILURE_BYTES),
        (CheckSource::Test | CheckSource::Collection, false) => detail,
        _ if message.is_empty() || detail.contains(message) => detail,
        _ => format!("{}\n{detail}", tail(message, FAILURE_BYTES)),
    }
}

/// One line for each thing that decides.
fn counts(verdict: &Verdict) -> String {
    let mut lines = Vec::new();
    if let Some(tests) = verdict.tests {
        lines.push(format!(
            "{TESTS}: {} passed, {} failed",
            tests.passed, tests.failed
        ));
    }
    lines.push(match verdict.rehearsal.result {
        RehearsalResult::Passed => "the program on the samples: passed".to_owned(),
        RehearsalResult::Failed => "the program on the samples: failed".to_owned(),
        RehearsalResult::Skipped => "the program on the samples: not run".to_owned(),
    });
    let counted = [
        ("cases of the plan", verdict.cases),
        ("the user's examples", verdict.examples),
    ];
    for (what, cases) in counted {
        lines.extend(cases.map(|cases| format!("{what}: {} of {} passed", cases.passed, cases.total)));
    }
    lines.extend(verdict.acceptance.map(|tests| {
        format!(
            "the user's acceptance tests: {} of {} passed",
            tests.passed, tests.total
        )
    }));
    let held = verdict
        .failed
        .iter()
        .find(|check| check.source == CheckSource::HeldCase);
    lines.extend(held.map(|_| {
        "one of them fails that you are not shown: do what the task says, for any input".to_owned()
    }));
    let weak = verdict.asks_for_a_stronger_suite();
    lines.extend(weak.map(|check| format!("the suite is too weak: {}", check.detail.message)));
    lines.push(if verdict.passed() {
        "Everything passed. Say that you are done, without a call of a tool.".to_owned()
    } else {
        "Not passed.".to_owned()
    });
    lines.join("\n")
}

/// Returns the text for an agent that says it is done and is not.
#[must_use]
pub fn missing(why: &str) -> String {
    format!(
        "You are not done yet. {why}\nGo on with the tools; when everything has passed, say so without calling one."
    )
}

/// Returns the text for an agent whose packages cannot be installed.
#[must_use]
pub fn build_failed(message: &str) -> String {
    format!(
        "The packages cannot be installed, so that nothing was run: {message}\nChange packages.txt (or the imports) and try again."
    )
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::sandbox::TestFailure;
    use crate::test_support::verdict;

    fn check(source: CheckSource, message: &str, text: &str) -> FailedCheck {
        FailedCheck {
            source,
            detail: TestFailure {
                id: "what failed".to_owned(),
                message: message.to_owned(),
                text: text.to_owned(),
                ..TestFailure::default()
            },
        }
    }

    #[rstest]
    #[case::a_case(
        CheckSource::Case,
        "total: expected 8, got 7",
        "sales:\nz,1",
        "total: expected 8, got 7\nsales:\nz,1"
    )]
    #[case::a_settled_case(
        CheckSource::SettledCase,
        "expected 8",
        "sales: z",
        "expected 8\nsales: z\n(This case was"
    )]
    #[case::the_samples(
        CheckSource::Rehearsal,
        "output total: 1.5 is no Int",
        "INFO read 3",
        "output total: 1.5 is no Int\nINFO read 3"
    )]
    #[case::a_traceback(
        CheckSource::Rehearsal,
        "'b'",
        "Traceback:\nKeyError: 'b'",
        "____\nTraceback:\nKeyError: 'b'\n"
    )]
    #[case::a_test(
        CheckSource::Test,
        "assert 1 == 2",
        "E  assert (1) == 2",
        "____\nE  assert (1) == 2\n"
    )]
    #[case::without_text(
        CheckSource::Rehearsal,
        "signal 9 ended it",
        "",
        "what failed: signal 9 ended it"
    )]
    fn a_failure_gives_its_reason_whatever_was_said_beside_it(
        #[case] source: CheckSource,
        #[case] message: &str,
        #[case] text: &str,
        #[case] expected: &str,
    ) {
        let result = test_result(
            &verdict(vec![check(source, message, text)]),
            &BTreeSet::new(),
            TESTS,
        );
        assert!(result.contains(expected), "{result}");
    }

    #[test]
    fn the_reason_stands_before_a_long_text_and_acceptance_tests_have_none() {
        let long = check(CheckSource::Case, "expected 8", &"x".repeat(9_000));
        let hidden = check(CheckSource::Acceptance, "expected 13", "secret");
        let result = test_result(&verdict(vec![long, hidden]), &BTreeSet::new(), "tests.py");
        assert!(result.contains("____\nexpected 8\n[...]xxx"), "{result}");
        assert!(!result.contains("test_solution.py"), "{result}");
        assert!(!result.contains("13") && !result.contains("secret"), "{result}");
    }
    #[test]
    fn of_a_case_that_is_held_back_the_agent_learns_that_it_fails() {
        let full = check(CheckSource::Case, "expected 8", "sales: z");
        let mut verdict = verdict(vec![full.masked(2)]);
        verdict.held = vec![full];
        let result = test_result(&verdict, &BTreeSet::new(), TESTS);
        assert!(
            result.contains("one of them fails that you are not shown"),
            "{result}"
        );
        assert!(
            !result.contains("expected") && !result.contains("sales") && !result.contains("what failed"),
            "{result}"
        );
        verdict.show_held(|id| id == "what failed");
        let result = test_result(&verdict, &BTreeSet::new(), TESTS);
        assert!(
            result.contains("expected 8\nsales: z\n(This case was"),
            "{result}"
        );
    }
}
