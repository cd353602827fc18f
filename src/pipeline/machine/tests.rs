use std::collections::BTreeSet;

use super::*;
use crate::api::approval::{ApprovalDecision, ApprovalStatus, Gate};
use crate::api::publish::Publish;
use crate::api::status::{CaseEvidence, PlanStatus};
use crate::pipeline::diagnosis::{DiagnosedFailure, diagnose};
use crate::pipeline::progress::{PublishedImage, WaitReason};
use crate::pipeline::reply::DiagnosisRow;
use crate::pipeline::stage::StopReason;
use crate::pipeline::status::{Around, status};
use crate::pipeline::test_support::{at, document, failed, image, pip, start, task, verdict};
use crate::pipeline::verdict::{CheckSource, FailedCheck, TooLarge};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

mod table;

/// Walks a task through outcomes.
struct Walk {
    task: Task,
    progress: Progress,
    versions: u32,
}

impl Walk {
    fn new(task: Task) -> Self {
        Self {
            task,
            progress: start(),
            versions: 0,
        }
    }

    fn take(&mut self, outcome: Outcome) -> &mut Self {
        self.progress = advance(&self.task, &self.progress, outcome, at(1)).unwrap();
        self
    }

    fn written(&mut self, packages: &[&str]) -> Written {
        self.versions += 1;
        Written {
            document: document("d"),
            tree: format!("tree-{}", self.versions),
            declared: Packages::default(),
            wanted: pip(packages),
        }
    }

    fn until_tests(&mut self) -> &mut Self {
        self.take(samples());
        if self.progress.stage == Stage::ReadingConstraints {
            self.take(Outcome::ConstraintsRead {
                checks: document("c"),
                constraints: Vec::new(),
            });
        }
        self.take(planned());
        let code = self.written(&[]);
        self.take(Outcome::CodeWritten(code));
        self.take(ready(&[]));
        let tests = self.written(&[]);
        self.take(Outcome::TestsWritten(tests))
    }

    fn ran(&mut self, failures: Vec<FailedCheck>) -> &mut Self {
        self.take(Outcome::Ran {
            run: document("r"),
            verdict: Box::new(verdict(failures)),
            started_at: at(0),
        })
    }

    /// Diagnoses as the engine does, reclassification included.
    fn diagnosed(&mut self, checks: &[(FailedCheck, ErrorType)]) -> &mut Self {
        let failures = checks
            .iter()
            .map(|(check, error_type)| {
                diagnose(
                    check,
                    row(*error_type),
                    &self.progress.memory.tried,
                    self.task.limits.reclassify_after,
                )
            })
            .collect();
        self.take_diagnosis(failures, pip(&[]))
    }

    fn take_diagnosis(&mut self, failures: Vec<DiagnosedFailure>, wanted: Packages) -> &mut Self {
        self.take(Outcome::Diagnosed {
            document: document("g"),
            diagnosis: Diagnosis { failures },
            declared: Packages::default(),
            wanted,
        })
    }

    fn code_fixed(&mut self) -> &mut Self {
        let written = self.written(&[]);
        self.take(Outcome::CodeFixed(written))
    }

    fn tests_fixed(&mut self) -> &mut Self {
        let written = self.written(&[]);
        self.take(Outcome::TestsFixed(written))
    }

    fn stage(&self) -> Stage {
        self.progress.stage
    }

    fn stop(&self) -> &Stop {
        self.progress.stop.as_ref().unwrap()
    }
}

fn planned() -> Outcome {
    Outcome::Planned {
        plan: PlanStatus::default(),
        cases: None,
    }
}

fn samples() -> Outcome {
    Outcome::SamplesRead {
        context: document("x"),
        profiles: document("p"),
        samples: Vec::new(),
    }
}

fn ready(packages: &[&str]) -> Outcome {
    Outcome::ImageReady {
        built: image(packages),
        lock: None,
        fresh: true,
    }
}

fn fault(packages: &[&str]) -> Outcome {
    Outcome::BuildFailed {
        fault: BuildFault {
            packages: pip(packages),
            message: "no such package".into(),
        },
        is_tried: true,
    }
}

fn row(error_type: ErrorType) -> DiagnosisRow {
    DiagnosisRow {
        failure: 1,
        error_type,
        expected: "e".into(),
        actual: "a".into(),
        root_cause: "cause".into(),
        suggested_fix: "fix".into(),
        functions: vec!["mean".into()],
        packages: Vec::new(),
        system_packages: Vec::new(),
    }
}

fn logic(message: &str) -> FailedCheck {
    failed(CheckSource::Test, "test_solution.py::test_mean", message)
}

#[test]
fn a_program_that_passes_at_once_succeeds_after_one_attempt() {
    let mut walk = Walk::new(task());
    walk.until_tests().ran(Vec::new());
    assert_eq!((walk.stage(), walk.progress.attempt), (Stage::Succeeded, 1));
    assert_eq!(walk.progress.attempts.len(), 1);
    assert_eq!(walk.progress.completed_at, Some(at(1)));
}

fn revised(program_is_at_fault: bool) -> Outcome {
    Outcome::CasesRevised {
        cases: (document("cases"), CaseEvidence::default()),
        lines: Vec::new(),
        document: document("g2"),
        diagnosis: Diagnosis::default(),
        program_is_at_fault,
    }
}

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
fn constraints_are_read_before_the_plan() {
    let mut walk = Walk::new(Task {
        constraints: vec!["a is positive".into()],
        ..task()
    });
    walk.take(samples());
    assert_eq!(walk.stage(), Stage::ReadingConstraints);
    walk.take(Outcome::ConstraintsRead {
        checks: document("c"),
        constraints: Vec::new(),
    });
    assert_eq!(walk.stage(), Stage::Planning);
}

#[test]
fn without_tests_the_program_goes_straight_to_the_image() {
    let mut walk = Walk::new(Task {
        testing: TestingMode::Skip,
        ..task()
    });
    walk.take(samples()).take(planned());
    let code = walk.written(&["pandas"]);
    walk.take(Outcome::CodeWritten(code));
    assert_eq!(walk.stage(), Stage::AwaitingImage);
    walk.take(ready(&["pandas"]));
    assert_eq!(walk.stage(), Stage::RunningTests);
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
    let fixed = walk.written(&["x"]);
    walk.take(Outcome::CodeFixed(fixed));
    assert_eq!(walk.stage(), Stage::FixingTests);
    let fixed = walk.written(&["x"]);
    walk.take(Outcome::TestsFixed(fixed));
    assert_eq!(walk.stage(), Stage::AwaitingImage);
    walk.take(ready(&["x"]));
    assert_eq!((walk.stage(), walk.progress.attempt), (Stage::RunningTests, 2));
}

#[test]
fn a_package_that_the_image_lacks_is_built_without_spending_an_attempt() {
    let mut walk = Walk::new(task());
    walk.take(samples()).take(planned());
    let code = walk.written(&[]);
    walk.take(Outcome::CodeWritten(code)).take(ready(&[]));
    let tests = walk.written(&["pytest-mock"]);
    walk.take(Outcome::TestsWritten(tests));
    assert_eq!((walk.stage(), walk.progress.attempt), (Stage::AwaitingImage, 0));
    walk.take(ready(&["pytest-mock"]));
    assert_eq!((walk.stage(), walk.progress.attempt), (Stage::RunningTests, 1));
}

#[test]
fn a_package_that_does_not_exist_is_replaced_by_the_model_and_built_again() {
    let mut walk = Walk::new(task());
    walk.take(samples()).take(planned());
    let code = walk.written(&["wrong"]);
    walk.take(Outcome::CodeWritten(code)).take(fault(&["wrong"]));
    assert_eq!(walk.stage(), Stage::GeneratingTests, "the suite is on its way");
    let tests = walk.written(&["wrong"]);
    walk.take(Outcome::TestsWritten(tests));
    assert_eq!(walk.stage(), Stage::FixingEnvironment);
    walk.take(Outcome::EnvironmentFixed {
        replaced: vec![("pip:wrong".into(), "right".into())],
        wanted: pip(&["right"]),
    });
    assert_eq!(walk.stage(), Stage::AwaitingImage);
    walk.take(fault(&["right"]));
    assert_eq!(walk.stage(), Stage::FixingEnvironment);
    assert_eq!(walk.progress.build.replaced["pip:wrong"], "right");
    for name in ["b", "c"] {
        walk.take(Outcome::EnvironmentFixed {
            replaced: vec![("pip:right".into(), name.into())],
            wanted: pip(&[name]),
        });
        walk.take(fault(&[name]));
    }
    assert_eq!(walk.stop().reason, StopReason::NoProgress);
}

#[test]
fn an_image_that_is_gone_is_built_again_and_spends_no_attempt() {
    let mut walk = Walk::new(task());
    walk.until_tests().take(Outcome::ImageLost);
    assert_eq!((walk.stage(), walk.progress.attempt), (Stage::AwaitingImage, 0));
    walk.take(ready(&[]));
    assert_eq!((walk.stage(), walk.progress.attempt), (Stage::RunningTests, 1));
}

#[test]
fn a_suite_that_notices_no_mutant_is_asked_for_again_once() {
    let mut walk = Walk::new(task());
    walk.until_tests();
    assert!(walk.progress.mutants_decide(&walk.task));
    walk.ran(vec![failed(
        CheckSource::Mutants,
        "test suite",
        "no test notices",
    )]);
    assert_eq!(walk.stage(), Stage::GeneratingTests);
    assert_eq!(walk.progress.rejections, ["no test notices"]);
    let tests = walk.written(&[]);
    walk.take(Outcome::TestsWritten(tests));
    assert_eq!((walk.stage(), walk.progress.attempt), (Stage::RunningTests, 2));
    assert!(!walk.progress.mutants_decide(&walk.task));
    walk.ran(Vec::new());
    assert_eq!(walk.stage(), Stage::Succeeded);
}

#[test]
fn mutants_decide_only_while_an_attempt_is_left() {
    let mut walk = Walk::new(task());
    walk.task.limits.max_iterations = 1;
    walk.until_tests();
    assert!(!walk.progress.mutants_decide(&walk.task));
}

#[test]
fn a_vacuous_suite_is_asked_for_again_with_the_evidence() {
    let mut walk = Walk::new(task());
    walk.until_tests()
        .ran(vec![failed(CheckSource::Vacuity, "test suite", "proves nothing")]);
    assert_eq!(walk.stage(), Stage::GeneratingTests);
    assert_eq!(walk.progress.rejections, ["proves nothing"]);
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
        walk.take(Outcome::FixNotApplied {
            reason: "mean is as it was".into(),
        });
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
        walk.take(Outcome::FixNotApplied { reason: "r".into() });
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
    let same = Written {
        tree: "tree-1".into(),
        ..walk.written(&[])
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
fn the_last_iteration_ends_the_task_and_a_raised_limit_goes_on_from_there() {
    let mut walk = Walk::new(task());
    walk.task.limits.max_iterations = 1;
    walk.until_tests().ran(vec![logic("m")]);
    assert_eq!(walk.stop().reason, StopReason::IterationsExhausted);
    assert!(
        walk.stop().message.contains("1 of 1 attempts failed"),
        "{}",
        walk.stop().message
    );
    walk.take(Outcome::LimitRaised);
    assert_eq!(walk.stage(), Stage::Diagnosing);
    assert!(walk.progress.stop.is_none());
}

#[test]
fn a_reply_may_be_refused_twice_and_the_third_time_ends_the_task() {
    for (stage, mut walk) in calling_stages() {
        assert_eq!(walk.stage(), stage);
        for _ in 0..2 {
            walk.take(Outcome::ReplyRejected {
                reason: "not JSON.".into(),
                rules: BTreeSet::new(),
            });
            assert_eq!(walk.stage(), stage);
        }
        assert_eq!(walk.progress.rejections.len(), 2);
        walk.take(Outcome::ReplyRejected {
            reason: "not JSON.".into(),
            rules: BTreeSet::new(),
        });
        assert_eq!(walk.stage(), Stage::Failed, "{stage}");
    }
}

#[test]
fn a_task_that_ends_by_refusals_says_by_which_rule_or_that_the_replies_had_no_shape() {
    let end = |rules: &[Rule]| {
        let mut walk = calling_stages().remove(0).1;
        for _ in 0..3 {
            walk.take(Outcome::ReplyRejected {
                reason: "no use.".into(),
                rules: rules.iter().copied().collect(),
            });
        }
        walk.stop().message.clone()
    };
    let by_rule = end(&[Rule::OutputsNamed, Rule::NoHardExit]);
    assert!(
        by_rule.contains(
            "the rules outputs-named, no-hard-exit of \"What is refused\" in docs/program-contract.md"
        ),
        "{by_rule}"
    );
    assert!(!by_rule.contains("structured output"), "{by_rule}");
    assert!(end(&[Rule::NoHardExit]).contains("the rule no-hard-exit"));
    assert!(end(&[]).contains("structured output"));
}

fn calling_stages() -> Vec<(Stage, Walk)> {
    let with = |prepare: &dyn Fn(&mut Walk)| {
        let mut walk = Walk::new(task());
        prepare(&mut walk);
        (walk.stage(), walk)
    };
    let mut constraints = Walk::new(Task {
        constraints: vec!["c".into()],
        ..task()
    });
    constraints.take(samples());
    vec![
        (Stage::ReadingConstraints, constraints),
        with(&|w| _ = w.take(samples())),
        with(&|w| _ = w.take(samples()).take(planned())),
        with(&|w| {
            w.take(samples()).take(planned());
            let code = w.written(&["x"]);
            w.take(Outcome::CodeWritten(code));
        }),
        with(&|w| _ = w.until_tests().ran(vec![logic("m")])),
        with(&|w| {
            _ = w
                .until_tests()
                .ran(vec![logic("m")])
                .diagnosed(&[(logic("m"), ErrorType::Logic)]);
        }),
        with(&|w| {
            _ = w
                .until_tests()
                .ran(vec![logic("m")])
                .diagnosed(&[(logic("m"), ErrorType::TestError)]);
        }),
        with(&|w| {
            let case = failed(CheckSource::Case, "case 1 (ties)", "m");
            _ = w
                .until_tests()
                .ran(vec![case.clone()])
                .diagnosed(&[(case, ErrorType::TestError)]);
        }),
        with(&|w| {
            w.take(samples()).take(planned());
            let code = w.written(&["x"]);
            w.take(Outcome::CodeWritten(code)).take(fault(&["x"]));
            let tests = w.written(&["x"]);
            w.take(Outcome::TestsWritten(tests));
        }),
    ]
}

#[test]
fn what_is_blocked_waits_and_goes_on_where_it_was() {
    let mut walk = Walk::new(task());
    walk.take(samples());
    let blocked = |at_| Outcome::Blocked {
        category: Category::Infrastructure,
        message: "down".into(),
        retry_at: at(at_),
        lost_child: false,
    };
    walk.take(blocked(10)).take(blocked(20));
    let waiting = walk.progress.waiting.clone().unwrap();
    assert_eq!((waiting.times, waiting.retry_at), (2, at(20)));
    assert_eq!(decide(&walk.task, &walk.progress, at(19)), Decision::Wait(at(20)));
    let set_back = decide(&walk.task, &walk.progress, at(-3_580));
    assert!(
        !matches!(set_back, Decision::Wait(_)),
        "it would wait for an hour"
    );
    assert_eq!(
        decide(&walk.task, &walk.progress, at(20)),
        Decision::Call(crate::pipeline::call::CallKind::Plan)
    );
    walk.take(Outcome::Resumed);
    assert!(walk.progress.waiting.is_none());
    assert_eq!(walk.progress.attempt, 0, "no iteration is spent");
}

#[test]
fn an_outcome_that_does_not_fit_the_stage_is_refused_by_name() {
    let error = advance(&task(), &start(), planned(), at(1)).unwrap_err();
    assert_eq!((error.stage, error.outcome), (Stage::ReadingSamples, "Planned"));
}

#[test]
fn nothing_follows_a_terminal_stage() {
    let mut walk = Walk::new(task());
    walk.until_tests().ran(Vec::new());
    for outcome in [Outcome::Accepted, Outcome::LimitRaised, samples()] {
        assert!(advance(&walk.task, &walk.progress, outcome, at(2)).is_err());
    }
    assert_eq!(decide(&walk.task, &walk.progress, at(2)), Decision::Finished);
}

#[test]
fn outputs_that_nobody_could_look_at_are_a_matter_for_a_person_and_no_attempt() {
    let mut walk = Walk::new(task());
    walk.until_tests();
    let mut unchecked = verdict(Vec::new());
    unchecked.too_large.push(TooLarge {
        output: "summary".into(),
        bytes: Some(2_000_000),
    });
    walk.take(Outcome::Ran {
        run: document("r"),
        verdict: Box::new(unchecked),
        started_at: at(0),
    });
    let waiting = walk.progress.waiting.clone().unwrap();
    assert_eq!(
        (waiting.category, waiting.reason),
        (Category::Configuration, Some(WaitReason::OutputTooLarge))
    );
    assert_eq!(
        (walk.stage(), walk.progress.attempts.len()),
        (Stage::RunningTests, 0)
    );
    assert_eq!(walk.progress.documents.run, Some(document("r")));
    assert_eq!(
        decide(&walk.task, &walk.progress, at(2)),
        Decision::Wait(waiting.retry_at)
    );
    let shown = status(&walk.task, &walk.progress, Around::default(), at(2));
    assert_eq!(shown.reason.as_deref(), Some("OutputTooLarge"));
    assert!(shown.message.unwrap().contains("2000000 bytes"));
}

#[test]
fn every_limit_stops_the_task_and_names_itself() {
    let mut walk = Walk::new(task());
    walk.take(samples());
    let stop = |task: &Task, progress: &Progress| match decide(task, progress, at(2)) {
        Decision::Stop(stop) => stop.message,
        other => panic!("{other:?}"),
    };
    let mut calls = walk.progress.clone();
    calls.spent.model_calls = 100;
    assert!(stop(&walk.task, &calls).starts_with("limits.maxModelCalls: 100 of 100 model calls are made."));
    let mut time = walk.progress.clone();
    time.spent.active_seconds = 7_200.0;
    time.active_since = None;
    assert!(stop(&walk.task, &time).starts_with("limits.deadline: 7200 s of 7200 s"));
    let mut builds = walk.progress.clone();
    builds.stage = Stage::AwaitingImage;
    builds.spent.builds = 20;
    assert!(stop(&walk.task, &builds).starts_with("limits.maxBuilds: 20 of 20"));
    let mut tokens = walk.progress.clone();
    tokens.spent.tokens.input = 999_000;
    tokens.last_error = Some("test_mean failed".into());
    let message = crate::pipeline::budget::allow_call(&walk.task, &tokens, 900)
        .unwrap_err()
        .message;
    assert_eq!(
        message,
        "limits.maxTokens: 999000 of 1000000 tokens are spent and the next call needs about 1156. Last failure: \
         test_mean failed Raise limits.maxTokens to go on; nothing is paid for twice."
    );
    walk.take(Outcome::Stopped(Stop {
        reason: StopReason::BudgetExceeded,
        message,
    }));
    assert_eq!(walk.stage(), Stage::Failed);
}

#[test]
fn ten_iterations_of_three_tries_of_each_fix_fit_into_the_default_limits() {
    let limits = task().limits;
    let calls = 4 + limits.max_iterations * (1 + 2 * MAX_FIX_TRIES);
    assert!(calls <= limits.max_model_calls, "{calls}");
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

fn publishing() -> Task {
    Task {
        publish: Some(Publish::default()),
        ..task()
    }
}

#[test]
fn a_program_that_is_to_be_published_is_an_image_before_it_succeeds() {
    let mut walk = Walk::new(publishing());
    walk.until_tests().ran(Vec::new());
    assert_eq!(
        (walk.stage(), walk.progress.completed_at),
        (Stage::Publishing, None)
    );
    assert_eq!(decide(&walk.task, &walk.progress, at(2)), Decision::Publish);
    // No limit stops what has passed.
    walk.task.limits.deadline_seconds = 0.0;
    walk.task.limits.max_iterations = 1;
    assert_eq!(decide(&walk.task, &walk.progress, at(9_999)), Decision::Publish);
    let image = PublishedImage {
        image: "registry.example/lab@sha256:1".into(),
        tag: "registry.example/lab:lab.penguins".into(),
        asked: Publish::default(),
    };
    walk.take(Outcome::Published(image.clone()));
    assert_eq!(walk.stage(), Stage::Succeeded);
    let shown = status(&walk.task, &walk.progress, Around::default(), at(3));
    assert_eq!(shown.program_image, Some(image.image));
    assert_eq!(shown.program_tag, Some(image.tag));
}

#[test]
fn whoever_takes_publish_away_while_it_waits_gets_the_program_without() {
    for stage in [Stage::Passed, Stage::Publishing] {
        let mut walk = Walk::new(task());
        walk.progress.stage = stage;
        assert_eq!(decide(&walk.task, &walk.progress, at(2)), Decision::Accept);
        walk.take(Outcome::Accepted);
        assert_eq!(walk.stage(), Stage::Succeeded);
    }
    let mut walk = Walk::new(publishing());
    walk.progress.stage = Stage::Passed;
    walk.take(Outcome::Accepted);
    assert_eq!(walk.stage(), Stage::Publishing, "after the gate");
}

fn decision() -> ApprovalStatus {
    ApprovalStatus {
        gate: Gate::Plan,
        decision: ApprovalDecision::Approve,
        decided_by: "ada".into(),
        verified: false,
        decided_at: Time(at(1)),
        hash: String::new(),
        reason: None,
    }
}
