use rstest::rstest;

use super::*;
use crate::cases::CasesJudged;
use crate::sandbox::{LimitKind, TestOutcome, TestReport};
use crate::test_support::{job, phase, program, report, session, test_job};

const TEST: &str = "test_solution.py::test_mean";

fn judged(phases: Vec<PhaseReport>) -> Verdict {
    judge(
        &[(&test_job(PhaseName::Tests), &report(phases))],
        None,
        &RehearsalFindings::default(),
        Some("no samples"),
        CasesJudged::default(),
    )
}

fn without(mut phase: PhaseReport, change: impl FnOnce(&mut TestReport)) -> PhaseReport {
    change(phase.tests.as_mut().unwrap());
    phase
}

#[test]
fn a_session_in_which_every_test_passed_is_passed() {
    let verdict = judged(vec![session(&[(TEST, TestOutcome::Passed)])]);
    assert!(verdict.passed(), "{verdict:?}");
    assert_eq!(
        verdict.tests,
        Some(TestCounts {
            total: 1,
            passed: 1,
            failed: 0,
            skipped: 0
        })
    );
}

#[rstest]
#[case::failed(TestOutcome::Failed)]
#[case::error(TestOutcome::Error)]
#[case::skipped(TestOutcome::Skipped)]
#[case::xfailed(TestOutcome::XFailed)]
#[case::xpassed(TestOutcome::XPassed)]
fn any_outcome_but_passed_is_a_failure(#[case] outcome: TestOutcome) {
    let verdict = judged(vec![session(&[
        ("test_solution.py::test_ok", TestOutcome::Passed),
        (TEST, outcome),
    ])]);
    assert_eq!(verdict.failed.len(), 1, "{verdict:?}");
    assert_eq!(verdict.failed[0].detail.id, TEST);
}

#[test]
fn a_suite_without_a_test_has_not_passed() {
    let verdict = judged(vec![session(&[])]);
    assert_eq!(verdict.failed[0].source, CheckSource::Collection);
    assert!(verdict.failed[0].detail.message.contains("no test was collected"));
}

#[test]
fn a_session_that_never_finished_has_not_passed_whatever_its_exit_code() {
    let mut ended = without(session(&[(TEST, TestOutcome::Passed)]), |tests| {
        tests.session_exit = None;
        tests.results.pop();
    });
    ended.end = PhaseEnd::Exited(0);
    assert_eq!(judged(vec![ended]).failed[0].source, CheckSource::Session);
}

#[test]
fn a_process_that_left_before_any_report_has_not_passed() {
    let verdict = judged(vec![phase(PhaseName::Tests, 0)]);
    assert_eq!(verdict.failed[0].source, CheckSource::Session);
}

#[test]
fn a_session_that_ends_with_a_failure_that_no_test_reports_has_not_passed() {
    let lying = without(session(&[(TEST, TestOutcome::Passed)]), |tests| {
        tests.session_exit = Some(1);
    });
    assert_eq!(judged(vec![lying]).failed[0].source, CheckSource::Session);
}

#[test]
fn a_collected_test_without_a_result_has_not_passed() {
    let silent = without(session(&[(TEST, TestOutcome::Passed)]), |tests| {
        tests.collected.push("test_solution.py::test_silent".into());
    });
    assert!(!judged(vec![silent]).passed());
}

#[rstest]
#[case(PhaseEnd::TimedOut, "did not end within")]
#[case(PhaseEnd::Signaled(9), "signal 9")]
#[case(PhaseEnd::LimitHit(LimitKind::Memory), "more memory")]
fn an_end_by_force_is_said(#[case] end: PhaseEnd, #[case] says: &str) {
    let mut forced = phase(PhaseName::Tests, 0);
    forced.end = end;
    let verdict = judged(vec![forced]);
    assert!(verdict.failed[0].detail.message.contains(says), "{verdict:?}");
}

#[test]
fn a_file_that_cannot_be_collected_is_a_failure_with_its_exception() {
    let broken = without(session(&[]), |tests| {
        tests.collection_errors.push(TestFailure {
            id: "test_solution.py".into(),
            exception: "ModuleNotFoundError".into(),
            message: "No module named 'dateutil'".into(),
            ..TestFailure::default()
        });
    });
    let verdict = judged(vec![broken]);
    assert_eq!(verdict.failed[0].source, CheckSource::Collection);
    assert_eq!(
        verdict.summary(),
        "test_solution.py: ModuleNotFoundError: No module named 'dateutil'"
    );
}

#[test]
fn a_test_that_is_reported_twice_does_not_stand_for_another() {
    let twice = without(
        session(&[(TEST, TestOutcome::Passed), (TEST, TestOutcome::Passed)]),
        |tests| {
            tests.collected[1] = "test_solution.py::test_other".into();
        },
    );
    assert!(!judged(vec![twice]).passed());
}

/// A run of a suite and of the same suite without the program's bodies, where the suite has this role.
fn with_vacuity(tests: PhaseReport, stub: Option<PhaseReport>, role: SuiteRole) -> Verdict {
    let mut job = test_job(PhaseName::Tests);
    job.phases.extend(test_job(PhaseName::Vacuity).phases);
    let phases = [tests].into_iter().chain(stub).collect();
    let mut verdict = judge(
        &[(&job, &report(phases))],
        None,
        &RehearsalFindings::default(),
        Some("no samples"),
        CasesJudged::default(),
    );
    verdict.hold_suite(role);
    verdict
}

fn passing() -> PhaseReport {
    session(&[(TEST, TestOutcome::Passed)])
}

#[test]
fn a_suite_that_also_passes_without_bodies_is_asked_for_again_and_else_used_as_it_is() {
    let verdict = with_vacuity(passing(), Some(passing()), SuiteRole::AskAgain);
    assert_eq!(verdict.failed[0].source, CheckSource::Vacuity);
    for role in [SuiteRole::AsItIs, SuiteRole::MayBeLeftOut] {
        let verdict = with_vacuity(passing(), Some(passing()), role);
        assert!(verdict.passed() && verdict.exit_code == Some(0), "{verdict:?}");
        assert_eq!(verdict.suite, Some(SuiteStrength::PassesWhenEmptied));
        assert!(
            verdict
                .summary()
                .contains("1 tests passed (also without the program's bodies)"),
            "{}",
            verdict.summary()
        );
    }
}

#[test]
fn a_suite_that_fails_without_bodies_is_accepted() {
    let stub = session(&[(TEST, TestOutcome::Failed)]);
    let verdict = with_vacuity(passing(), Some(stub), SuiteRole::AskAgain);
    assert!(verdict.passed());
    assert_eq!(verdict.suite, Some(SuiteStrength::FailsWhenEmptied));
}

#[rstest]
#[case::time_ran_out(Some(PhaseEnd::TimedOut))]
#[case::left_unseen(Some(PhaseEnd::Exited(0)))]
#[case::never_reached(None)]
fn a_suite_that_does_not_come_to_an_end_without_bodies_is_not_shown_to_find_faults(
    #[case] end: Option<PhaseEnd>,
) {
    let stub = end.map(|end| PhaseReport {
        end,
        ..phase(PhaseName::Vacuity, 0)
    });
    let verdict = with_vacuity(passing(), stub, SuiteRole::AskAgain);
    assert_eq!(verdict.suite, Some(SuiteStrength::NotShown));
    assert_eq!(verdict.failed[0].source, CheckSource::Vacuity);
    assert!(
        verdict.failed[0]
            .detail
            .message
            .contains("did not come to an end")
    );
}

#[test]
fn a_suite_that_crashes_without_bodies_can_fail() {
    let mut stub = phase(PhaseName::Vacuity, 0);
    stub.end = PhaseEnd::Signaled(11);
    assert!(with_vacuity(passing(), Some(stub), SuiteRole::AskAgain).passed());
}

#[rstest]
#[case::all_skipped(session(&[(TEST, TestOutcome::Skipped)]))]
#[case::none_collected(session(&[]))]
fn a_suite_of_which_no_test_runs_is_asked_for_again_and_left_out_where_others_decide(
    #[case] idle: PhaseReport,
) {
    let again = with_vacuity(idle.clone(), Some(idle.clone()), SuiteRole::AskAgain);
    assert_eq!(again.failed.len(), 1, "{again:?}");
    assert_eq!(again.failed[0].source, CheckSource::Vacuity);
    let left_out = with_vacuity(idle.clone(), Some(idle.clone()), SuiteRole::MayBeLeftOut);
    assert!(left_out.passed());
    assert_eq!(
        (left_out.tests, left_out.suite),
        (None, Some(SuiteStrength::NoSuite))
    );
    assert!(
        left_out.summary().contains("no usable test"),
        "{}",
        left_out.summary()
    );
    let only = with_vacuity(idle.clone(), Some(idle), SuiteRole::AsItIs);
    assert!(!only.passed() && only.exit_code == Some(1), "{only:?}");
}

#[test]
fn a_session_that_broke_off_is_not_a_suite_without_tests() {
    for role in [SuiteRole::AskAgain, SuiteRole::MayBeLeftOut, SuiteRole::AsItIs] {
        let verdict = with_vacuity(phase(PhaseName::Tests, 0), None, role);
        assert_eq!(verdict.failed[0].source, CheckSource::Session, "{verdict:?}");
    }
}

#[test]
fn a_program_that_the_tests_left_no_time_for_is_not_blamed() {
    let mut job = test_job(PhaseName::Tests);
    job.phases.push(program());
    let mut hung = phase(PhaseName::Tests, 0);
    hung.end = PhaseEnd::TimedOut;
    let verdict = judge(
        &[(&job, &report(vec![hung]))],
        None,
        &RehearsalFindings::default(),
        None,
        CasesJudged::default(),
    );
    assert_eq!(verdict.failed.len(), 1, "{verdict:?}");
    assert_eq!(verdict.failed[0].source, CheckSource::Session);
    assert_eq!(verdict.rehearsal.result, RehearsalResult::Skipped);
}

#[test]
fn a_suite_that_the_program_left_no_time_for_is_not_blamed() {
    let mut job = test_job(PhaseName::Tests);
    job.phases.push(program());
    job.phases.extend(test_job(PhaseName::Vacuity).phases);
    let mut hung = phase(PhaseName::Rehearsal, 0);
    hung.end = PhaseEnd::TimedOut;
    let verdict = judge(
        &[(&job, &report(vec![session(&[(TEST, TestOutcome::Passed)]), hung]))],
        None,
        &RehearsalFindings::default(),
        None,
        CasesJudged::default(),
    );
    assert_eq!(verdict.failed.len(), 1, "{verdict:?}");
    assert_eq!(verdict.failed[0].source, CheckSource::Rehearsal);
}

#[test]
fn a_failing_suite_is_not_called_vacuous() {
    let failing = session(&[(TEST, TestOutcome::Failed)]);
    let verdict = with_vacuity(failing, Some(passing()), SuiteRole::AskAgain);
    assert!(
        verdict
            .failed
            .iter()
            .all(|check| check.source == CheckSource::Test),
        "{verdict:?}"
    );
}

#[test]
fn of_acceptance_tests_only_the_count_is_recorded() {
    let mut secret = session(&[("test_acceptance.py::test_secret_rule", TestOutcome::Failed)]);
    secret.tests.as_mut().unwrap().results[0].failure = Some(TestFailure {
        message: "expected 4711".into(),
        ..TestFailure::default()
    });
    let verdict = judge(
        &[(
            &test_job(PhaseName::Tests),
            &report(vec![session(&[(TEST, TestOutcome::Passed)])]),
        )],
        Some(&report(vec![secret])),
        &RehearsalFindings::default(),
        Some("no samples"),
        CasesJudged::default(),
    );
    let text = format!("{:?}", verdict.failed);
    assert!(text.contains("1 of 1 acceptance tests fail"), "{text}");
    assert!(!text.contains("secret") && !text.contains("4711"), "{text}");
    assert_eq!(verdict.acceptance.unwrap().failed, 1);
}

fn rehearsed(done: PhaseReport, faults: &[(&str, &str)]) -> Verdict {
    let findings = RehearsalFindings {
        faults: faults
            .iter()
            .map(|(name, fault)| BrokenOutput {
                output: (*name).to_owned(),
                problem: (*fault).to_owned(),
                without_values: String::new(),
                broken: None,
            })
            .collect(),
        ..RehearsalFindings::default()
    };
    judge(
        &[(&job(vec![program()]), &report(vec![done]))],
        None,
        &findings,
        None,
        CasesJudged::default(),
    )
}

#[test]
fn a_program_that_ends_well_and_writes_what_it_should_passes_the_rehearsal() {
    let verdict = rehearsed(phase(PhaseName::Rehearsal, 0), &[]);
    assert!(verdict.passed());
    assert_eq!(verdict.rehearsal.result, RehearsalResult::Passed);
}

#[test]
fn an_output_that_is_wrong_fails_the_rehearsal() {
    let verdict = rehearsed(
        phase(PhaseName::Rehearsal, 0),
        &[("species", "is not a whole number: \"three\"")],
    );
    assert_eq!(verdict.rehearsal.result, RehearsalResult::Failed);
    assert_eq!(
        verdict.failed[0].detail.message,
        "output species: is not a whole number: \"three\""
    );
}

fn too_large(outputs: &[(&str, u64)]) -> RehearsalFindings {
    RehearsalFindings {
        too_large: outputs
            .iter()
            .map(|(name, bytes)| OutputTooLarge {
                output: (*name).to_owned(),
                bytes: Some(*bytes),
            })
            .collect(),
        ..RehearsalFindings::default()
    }
}

fn rehearsed_with(findings: &RehearsalFindings) -> Verdict {
    let done = report(vec![phase(PhaseName::Rehearsal, 0)]);
    judge(
        &[(&job(vec![program()]), &done)],
        None,
        findings,
        None,
        CasesJudged::default(),
    )
}

#[test]
fn an_output_that_could_not_be_checked_neither_passes_nor_fails() {
    let verdict = rehearsed_with(&too_large(&[("summary", 2_000_000)]));
    assert!(!verdict.passed() && verdict.failed.is_empty());
    let message = verdict.unchecked().unwrap();
    assert!(
        message.starts_with("the output summary has 2000000 bytes: a File or a Dir is checked up to 1 GiB")
    );
    assert!(message.ends_with("give smaller samples, or ask in the prompt for less to be written"));
    assert_eq!(verdict.rehearsal.result, RehearsalResult::Failed);
    assert_eq!(verdict.rehearsal.message.as_ref(), Some(&message));
    assert_eq!(verdict.summary(), message);
    let more = rehearsed_with(&too_large(&[("summary", 2_000_000), ("log", 1_500_000)]));
    assert!(more.unchecked().unwrap().contains("(and 1 more are too large)"));
}

#[test]
fn other_faults_are_reported_before_sizes() {
    let mut findings = too_large(&[("summary", 2_000_000)]);
    findings.faults.push(BrokenOutput {
        output: "species".into(),
        problem: "the program wrote nothing to it".into(),
        without_values: String::new(),
        broken: None,
    });
    let verdict = rehearsed_with(&findings);
    assert_eq!(verdict.unchecked(), None);
    assert_eq!(verdict.failing().len(), 1);
    assert!(!verdict.summary().contains("summary"), "{}", verdict.summary());
}

#[test]
fn the_size_of_an_output_of_private_samples_is_not_shown() {
    let verdict = rehearsed_with(&too_large(&[("summary", 4_711_000)]).without_private_values());
    let message = verdict.unchecked().unwrap();
    assert!(
        message.starts_with("the output summary is too large: a File"),
        "{message}"
    );
}

#[test]
fn a_large_output_that_was_checked_passes_and_its_size_is_shown_unless_it_is_private() {
    let findings = RehearsalFindings {
        stored: vec![StoredOutput {
            output: "summary".into(),
            bytes: Some(4_711_000),
            sha256: Some("0123456789abcdef".repeat(4)),
            files: 1,
        }],
        ..RehearsalFindings::default()
    };
    let verdict = rehearsed_with(&findings);
    assert!(verdict.passed());
    assert_eq!(verdict.rehearsal.result, RehearsalResult::Passed);
    let told = |verdict: Verdict| verdict.rehearsal.message.unwrap();
    assert_eq!(
        told(verdict),
        "the output summary has 4711000 bytes, sha256 0123456789ab, and was checked on the disk that the program wrote it to"
    );
    assert_eq!(
        told(rehearsed_with(&findings.without_private_values())),
        "the output summary was checked on the disk that the program wrote it to"
    );
}

#[test]
fn a_program_that_crashes_fails_the_rehearsal_with_its_exception() {
    let mut crashed = phase(PhaseName::Rehearsal, 1);
    crashed.stderr =
        "Traceback (most recent call last):\n  File \"solution.py\", line 3\nKeyError: 'species'\n".into();
    let verdict = rehearsed(crashed, &[]);
    assert_eq!(verdict.failed[0].headline(), "rehearsal: KeyError: 'species'");
}

#[test]
fn what_varies_between_executions_does_not_change_a_signature() {
    let signature = |message: &str| {
        FailedCheck {
            source: CheckSource::Test,
            detail: TestFailure {
                id: TEST.into(),
                message: message.into(),
                ..TestFailure::default()
            },
        }
        .signature()
    };
    assert_eq!(
        signature("<object at 0x7f3a> in /tmp/pytest-of-x/pytest-0/a.csv after 0.31 s"),
        signature("<object at 0x9b21> in /tmp/pytest-of-x/pytest-7/a.csv   after 2.50 s")
    );
    assert_ne!(signature("assert 3 == 4"), signature("assert 3 == 5"));
}
