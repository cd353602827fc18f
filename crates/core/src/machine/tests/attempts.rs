//! Failures, their diagnosis and their fixes.

use super::limits::calling_stages;
use super::*;
use crate::verdict::SuiteRole;

#[test]
fn a_blamed_case_is_worked_out_again_before_anything_is_fixed() {
    let case = failed(CheckSource::Case, "case 1 (ties)", "expected total = 2, got 3");
    let mut walk = Walk::new(task());
    walk.until_tests()
        .ran(vec![case.clone(), logic("m")])
        .diagnosed(&[(case, ErrorType::TestError), (logic("m"), ErrorType::Logic)]);
    assert_eq!(walk.stage(), Stage::RecheckingCases);
    assert_eq!(walk.progress.blamed_cases, ["case 1 (ties)"]);
    walk.take(revised(false));
    assert_eq!(walk.stage(), Stage::FixingCode);
    assert_eq!(walk.progress.blamed_cases, [""; 0]);
}

#[test]
fn a_corrected_case_is_run_again_and_a_confirmed_one_is_a_fault_of_the_program() {
    let case = failed(CheckSource::Case, "case 1 (ties)", "expected total = 2, got 3");
    for (program_is_at_fault, expected) in [(false, Stage::RunningTests), (true, Stage::FixingCode)] {
        let mut walk = Walk::new(task());
        walk.until_tests()
            .ran(vec![case.clone()])
            .diagnosed(&[(case.clone(), ErrorType::TestError)])
            .take(revised(program_is_at_fault));
        assert_eq!(walk.stage(), expected);
    }
}

#[test]
fn a_case_that_was_worked_out_twice_is_not_blamed_again() {
    let case = failed(
        CheckSource::SettledCase,
        "case 1 (ties)",
        "expected total = 2, got 3",
    );
    let mut walk = Walk::new(task());
    walk.until_tests()
        .ran(vec![case.clone()])
        .diagnosed(&[(case, ErrorType::TestError)]);
    assert_eq!(walk.stage(), Stage::FixingCode);
}

#[test]
fn a_logic_failure_is_diagnosed_fixed_and_tested_again() {
    let mut walk = Walk::new(task());
    walk.until_tests().ran(vec![logic("assert 3 == 4")]);
    assert_eq!(walk.stage(), Stage::Diagnosing);
    walk.diagnosed(&[(logic("assert 3 == 4"), ErrorType::Logic)]);
    assert_eq!(walk.stage(), Stage::FixingCode);
    walk.code_fixed();
    assert_eq!((walk.stage(), walk.progress.attempt), (Stage::RunningTests, 2));
    walk.ran(Vec::new());
    assert_eq!(walk.stage(), Stage::Succeeded);
}

#[test]
fn a_mixed_diagnosis_is_fixed_in_one_attempt_environment_first_then_program_then_suite() {
    let mut walk = Walk::new(task());
    let (a, b, c) = (
        failed(CheckSource::Test, "t::a", "1"),
        failed(CheckSource::Test, "t::b", "2"),
        failed(CheckSource::Collection, "t::c", "No module named 'x'"),
    );
    walk.until_tests().ran(vec![a.clone(), b.clone(), c.clone()]);
    let failures = [
        (a, ErrorType::TestError),
        (b, ErrorType::Logic),
        (c, ErrorType::Environment),
    ]
    .iter()
    .map(|(check, error_type)| diagnose(check, row(*error_type), &walk.progress.memory.tried, 1))
    .collect();
    walk.take_diagnosis(failures, pip(&["x"]));
    assert_eq!(walk.progress.build.wanted, pip(&["x"]));
    assert_eq!(walk.stage(), Stage::FixingCode);
    let fixed = walk.new_source(&["x"]);
    walk.take(Outcome::CodeFixed(fixed));
    assert_eq!(walk.stage(), Stage::FixingTests);
    let fixed = walk.new_source(&["x"]);
    walk.take(Outcome::TestsFixed(fixed));
    assert_eq!(walk.stage(), Stage::AwaitingImage);
    walk.take(ready(&["x"]));
    assert_eq!((walk.stage(), walk.progress.attempt), (Stage::RunningTests, 2));
}

fn refused(walk: &mut Walk, times: usize) {
    for _ in 0..times {
        walk.take(Outcome::ReplyRejected("no Python".into()));
    }
}

#[test]
fn a_suite_that_finds_no_fault_is_asked_for_again_once() {
    let mut walk = Walk::new(task());
    walk.until_tests();
    assert_eq!(walk.progress.suite_role(&walk.task), SuiteRole::AskAgain);
    walk.ran(vec![failed(CheckSource::Vacuity, "test suite", "proves nothing")]);
    assert_eq!(walk.stage(), Stage::GeneratingTests);
    assert_eq!(walk.progress.rejections, [ReplyFault::from("proves nothing")]);
    let tests = walk.new_source(&[]);
    walk.take(Outcome::TestsWritten(tests));
    assert_eq!((walk.stage(), walk.progress.attempt), (Stage::RunningTests, 2));
    assert_eq!(walk.progress.suite_role(&walk.task), SuiteRole::AsItIs);
    walk.ran(Vec::new());
    assert_eq!(walk.stage(), Stage::Succeeded);
}

#[test]
fn a_suite_is_used_as_it_is_where_no_reply_brings_a_better_one() {
    let mut walk = Walk::new(task());
    walk.until_tests()
        .ran(vec![failed(CheckSource::Vacuity, "test suite", "proves nothing")]);
    // What was found of the suite that is there counts as the first.
    refused(&mut walk, 2);
    assert_eq!((walk.stage(), walk.progress.attempt), (Stage::RunningTests, 2));
    assert!(walk.progress.documents.tests.is_some());
}

#[test]
fn another_suite_is_asked_for_only_where_an_attempt_and_a_call_are_left() {
    let mut walk = Walk::new(task());
    walk.until_tests();
    walk.task.limits.max_iterations = 1;
    assert_eq!(walk.progress.suite_role(&walk.task), SuiteRole::AsItIs);
    walk.task.limits.max_iterations = 2;
    walk.task.limits.max_model_calls = walk.progress.spent.model_calls;
    assert_eq!(walk.progress.suite_role(&walk.task), SuiteRole::AsItIs);
}

#[test]
fn a_task_without_a_usable_suite_goes_on_only_where_something_else_decides() {
    let mut walk = calling_stages()
        .into_iter()
        .find(|(stage, _)| *stage == Stage::GeneratingTests)
        .unwrap()
        .1;
    let mut proved = Walk::new(walk.task.clone());
    proved.progress = walk.progress.clone();
    proved.progress.acceptance_is_apart = true;
    refused(&mut walk, 3);
    assert_eq!(walk.stop().reason, StopReason::InvalidReply);
    refused(&mut proved, 3);
    assert_eq!(proved.stage(), Stage::AwaitingImage);
    assert_eq!(proved.progress.documents.tests, None);
}

#[test]
fn failing_acceptance_tests_are_diagnosed_without_a_model() {
    let mut walk = Walk::new(task());
    walk.until_tests().ran(vec![failed(
        CheckSource::Acceptance,
        "acceptance tests",
        "1 of 2 fail",
    )]);
    assert_eq!(
        decide(&walk.task, &walk.progress, at(2)),
        Decision::DiagnoseAcceptance
    );
}

#[test]
fn a_fix_that_is_not_applied_is_asked_for_three_times_and_then_ends_the_task_when_nothing_else_was_fixed() {
    let mut walk = Walk::new(task());
    walk.until_tests()
        .ran(vec![logic("m")])
        .diagnosed(&[(logic("m"), ErrorType::Logic)]);
    for expected in [Stage::FixingCode, Stage::FixingCode, Stage::Failed] {
        walk.take(Outcome::FixNotApplied("mean is as it was".into()));
        assert_eq!(walk.stage(), expected);
    }
    assert_eq!(walk.stop().reason, StopReason::NoProgress);
    assert!(
        walk.stop().message.contains("mean is as it was"),
        "{}",
        walk.stop().message
    );
}

#[test]
fn a_fix_that_is_not_applied_is_left_out_when_another_one_was() {
    let mut walk = Walk::new(task());
    let (a, b) = (
        failed(CheckSource::Test, "t::a", "1"),
        failed(CheckSource::Test, "t::b", "2"),
    );
    walk.until_tests().ran(vec![a.clone(), b.clone()]);
    walk.diagnosed(&[(a, ErrorType::Logic), (b, ErrorType::TestError)])
        .code_fixed();
    for _ in 0..MAX_FIX_TRIES {
        walk.take(Outcome::FixNotApplied("r".into()));
    }
    assert_eq!((walk.stage(), walk.progress.attempt), (Stage::RunningTests, 2));
}

#[test]
fn the_same_failure_after_a_verified_fix_changes_sides_and_says_how_often_it_failed() {
    let mut walk = Walk::new(task());
    walk.until_tests()
        .ran(vec![logic("m")])
        .diagnosed(&[(logic("m"), ErrorType::Logic)])
        .code_fixed();
    walk.ran(vec![logic("m")])
        .diagnosed(&[(logic("m"), ErrorType::Logic)]);
    assert_eq!(walk.stage(), Stage::FixingTests);
    let shown = &walk.progress.attempts[1].diagnosis[0];
    assert_eq!(shown.reclassified_from, Some(ErrorType::Logic));
    assert!(
        shown.root_cause.starts_with("The test failed 2 times"),
        "{}",
        shown.root_cause
    );
    walk.tests_fixed()
        .ran(vec![logic("m")])
        .diagnosed(&[(logic("m"), ErrorType::TestError)]);
    assert_eq!(walk.stage(), Stage::FixingCode, "it changes sides both ways");
}

#[test]
fn a_rehearsal_is_never_blamed_on_the_suite() {
    let check = failed(CheckSource::Rehearsal, "rehearsal", "output x is missing");
    let mut walk = Walk::new(task());
    walk.until_tests()
        .ran(vec![check.clone()])
        .diagnosed(&[(check.clone(), ErrorType::TestError)]);
    assert_eq!(walk.stage(), Stage::FixingCode);
    walk.code_fixed()
        .ran(vec![check.clone()])
        .diagnosed(&[(check, ErrorType::Logic)]);
    assert_eq!(walk.stage(), Stage::FixingCode);
}

#[test]
fn the_same_failures_three_times_after_a_reclassification_end_the_task() {
    let mut walk = Walk::new(task());
    walk.until_tests();
    let mut calls = 3;
    for _ in 0..10 {
        walk.ran(vec![logic("m")]);
        if walk.stage() == Stage::Failed {
            break;
        }
        walk.diagnosed(&[(logic("m"), ErrorType::Logic)]);
        if walk.stage() == Stage::FixingCode {
            walk.code_fixed()
        } else {
            walk.tests_fixed()
        };
        calls += 2;
    }
    assert_eq!(walk.stop().reason, StopReason::NoProgress);
    assert!(calls <= 12, "{calls} calls");
}

#[test]
fn a_state_that_failed_before_ends_the_task() {
    let mut walk = Walk::new(task());
    walk.until_tests()
        .ran(vec![logic("m")])
        .diagnosed(&[(logic("m"), ErrorType::Logic)]);
    let same = NewSource {
        tree: "tree-1".into(),
        ..walk.new_source(&[])
    };
    walk.take(Outcome::CodeFixed(same)).ran(vec![logic("m")]);
    assert_eq!(walk.stop().reason, StopReason::NoProgress);
    assert!(
        walk.stop().message.contains("in the same way as before"),
        "{}",
        walk.stop().message
    );
}

#[test]
fn the_status_shows_five_failures_of_the_last_diagnosed_attempt_and_a_line_of_each_other() {
    let mut walk = Walk::new(task());
    let checks: Vec<(FailedCheck, ErrorType)> = (0..7)
        .map(|n| {
            (
                failed(CheckSource::Test, &format!("t::{n}"), &"x".repeat(900)),
                ErrorType::Logic,
            )
        })
        .collect();
    let all: Vec<FailedCheck> = checks.iter().map(|(check, _)| check.clone()).collect();
    walk.until_tests().ran(all.clone()).diagnosed(&checks);
    assert_eq!(walk.progress.attempts[0].diagnosis.len(), 5);
    assert!(
        walk.progress.attempts[0]
            .diagnosis
            .iter()
            .all(|d| d.error.chars().count() <= 300 && !d.error.starts_with(&d.test))
    );
    walk.code_fixed().ran(all[..1].to_vec());
    assert_eq!(
        walk.progress.attempts[0].diagnosis.len(),
        5,
        "it stays until there is a newer one"
    );
    walk.diagnosed(&checks[..1]);
    assert!(walk.progress.attempts[0].diagnosis.is_empty());
    assert_eq!(walk.progress.attempts[1].diagnosis.len(), 1);
    assert!(walk.progress.attempts[0].summary.as_ref().unwrap().ends_with('…'));
}
