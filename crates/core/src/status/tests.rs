use rstest::rstest;

use super::*;
use crate::machine::{Outcome, advance};
use crate::progress::{BuiltImage, Waiting};
use crate::stage::{Category, Stop, StopReason};
use crate::test_support::{at, start, task};
use codegen_api::conditions::{READY, RECONCILING, STALLED, SUCCEEDED};
use codegen_api::status::{AttemptStatus, TestCounts};

fn condition<'a>(status: &'a CodeGenTaskStatus, type_: &str) -> &'a str {
    &status
        .conditions
        .iter()
        .find(|condition| condition.type_ == type_)
        .unwrap()
        .status
}

fn message<'a>(status: &'a CodeGenTaskStatus, type_: &str) -> &'a str {
    let mut conditions = status.conditions.iter();
    &conditions.find(|found| found.type_ == type_).unwrap().message
}

fn shown(progress: &Progress) -> CodeGenTaskStatus {
    let around = StatusContext {
        generation: Some(2),
        ..StatusContext::default()
    };
    status(&task(), progress, around, at(5))
}

fn waiting(category: Category) -> Progress {
    let mut progress = start();
    progress.waiting = Some(Waiting {
        category,
        message: "secret openai is missing".into(),
        times: 1,
        retry_at: at(9),
        since: Some(at(8)),
        reason: None,
    });
    progress
}

fn ended(stage: Stage) -> Progress {
    let mut progress = start();
    progress.stage = stage;
    progress.stop = Some(Stop {
        reason: StopReason::NoProgress,
        message: "m".into(),
    });
    progress
}

#[rstest]
#[case::working(start(), ["False", "Unknown", "True", "False"], "Progressing")]
#[case::infrastructure(waiting(Category::Infrastructure), ["False", "Unknown", "True", "False"], "Infrastructure")]
#[case::configuration(waiting(Category::Configuration), ["False", "Unknown", "False", "True"], "Configuration")]
#[case::succeeded(ended(Stage::Succeeded), ["True", "True", "False", "False"], "Unverified")]
#[case::failed(ended(Stage::Failed), ["False", "False", "False", "True"], "NoProgress")]
fn the_four_conditions_follow_from_the_progress(
    #[case] progress: Progress,
    #[case] expected: [&str; 4],
    #[case] reason: &str,
) {
    let status = shown(&progress);
    let found = [READY, SUCCEEDED, RECONCILING, STALLED].map(|type_| condition(&status, type_).to_owned());
    assert_eq!(found, expected);
    assert_eq!(status.reason.as_deref(), Some(reason));
    assert!(status.conditions.iter().all(|c| c.observed_generation == Some(2)));
}

#[test]
fn a_program_that_only_its_own_suite_speaks_for_is_not_said_to_have_passed_tests() {
    let mut progress = ended(Stage::Succeeded);
    let suite = TestCounts {
        total: 2,
        passed: 2,
        ..TestCounts::default()
    };
    progress.attempts = vec![AttemptStatus {
        tests: Some(suite),
        ..AttemptStatus::default()
    }];
    let unproved = shown(&progress);
    assert_eq!(unproved.reason.as_deref(), Some("Unverified"));
    assert!(unproved.message.unwrap().contains("spec.examples"));
    progress.attempts[0].acceptance_tests = Some(suite);
    assert_eq!(shown(&progress).reason.as_deref(), Some("Unverified"));
    progress.acceptance_is_apart = true;
    assert_eq!(shown(&progress).reason.as_deref(), Some("TestsPassed"));
}

#[test]
fn the_image_has_a_condition_of_its_own() {
    let image = |progress: &Progress| condition(&shown(progress), IMAGE_READY).to_owned();
    let mut progress = start();
    assert_eq!(image(&progress), "Unknown");
    progress.build.built = Some(crate::test_support::image(&["pandas"]));
    assert_eq!(image(&progress), "True");
    progress.build.wanted.pip = vec!["pandas-typo".into()];
    progress.build.fault = Some(crate::progress::BuildFault {
        packages: progress.build.wanted.clone(),
        message: "no such package".into(),
    });
    assert_eq!(image(&progress), "False");
}

#[test]
fn a_transition_time_moves_only_when_the_status_of_its_condition_does() {
    let first = shown(&start());
    let around = StatusContext {
        before: &first.conditions,
        ..StatusContext::default()
    };
    let later = status(&task(), &ended(Stage::Failed), around, at(90));
    let time = |status: &CodeGenTaskStatus, type_: &str| {
        status
            .conditions
            .iter()
            .find(|c| c.type_ == type_)
            .unwrap()
            .last_transition_time
            .0
    };
    assert_eq!(time(&later, READY), at(5), "False before and after");
    assert_eq!(time(&later, STALLED), at(90));
}

#[rstest]
#[case::queued(Until::Room, ["False", "Unknown", "True", "False"])]
#[case::misconfigured(Until::Corrected, ["False", "Unknown", "False", "True"])]
#[case::suspended(Until::Resumed, ["False", "Unknown", "False", "False"])]
fn what_holds_a_task_stands_in_its_conditions(#[case] until: Until, #[case] expected: [&str; 4]) {
    let hold = Hold {
        reason: "Queued",
        message: "1 of 1 tasks run".into(),
        until,
    };
    let around = StatusContext {
        hold: Some(&hold),
        ..StatusContext::default()
    };
    let running = status(&task(), &start(), around.clone(), at(5));
    let new = held(CodeGenTaskStatus::default(), Some(1), &hold, at(5));
    for status in [&running, &new] {
        let found = [READY, SUCCEEDED, RECONCILING, STALLED].map(|type_| condition(status, type_).to_owned());
        assert_eq!(found, expected);
        assert_eq!(status.message.as_deref(), Some("1 of 1 tasks run"));
        assert_eq!(message(status, READY), "1 of 1 tasks run");
    }
    assert_eq!(new.stage.as_deref(), Some("Pending"));
    let done = status(&task(), &ended(Stage::Failed), around, at(5));
    assert_eq!(done.reason.as_deref(), Some("NoProgress"), "an end is an end");
}

#[test]
fn a_task_that_is_held_for_want_of_isolation_says_no_more_that_it_was_seen() {
    let around = StatusContext {
        isolation: Some(IsolationShown::Verified("kept from: API server".into())),
        ..StatusContext::default()
    };
    let shown = status(&task(), &start(), around, at(5));
    assert_eq!(condition(&shown, ISOLATION_VERIFIED), "True");
    let hold = |reason| Hold {
        reason,
        message: "reached API server".into(),
        until: Until::Corrected,
    };
    let other = held(shown.clone(), Some(1), &hold(reason::CONFIGURATION), at(9));
    assert_eq!(condition(&other, ISOLATION_VERIFIED), "True");
    let open = held(shown, Some(1), &hold(reason::ISOLATION_NOT_ENFORCED), at(9));
    assert_eq!(condition(&open, ISOLATION_VERIFIED), "False");
}

#[test]
fn the_worst_case_stays_below_thirty_two_kibibytes() {
    use codegen_api::status::{AttemptStatus, ErrorType, FailureDiagnosis};
    let mut progress = start();
    let long = "ü".repeat(300);
    let diagnosis = FailureDiagnosis {
        test: long.clone(),
        error: long.clone(),
        expected: long.clone(),
        actual: long.clone(),
        root_cause: long.clone(),
        suggested_fix: long.clone(),
        error_type: ErrorType::TestError,
        reclassified_from: Some(ErrorType::Logic),
    };
    for number in 1..=10 {
        progress.attempts.push(AttemptStatus {
            number,
            summary: Some("s".repeat(300)),
            ..Default::default()
        });
    }
    progress.present_diagnosis(vec![diagnosis; 5]);
    let bytes = serde_json::to_vec(&shown(&progress)).unwrap().len();
    assert!(bytes <= 32 * 1024, "{bytes}");
}

#[test]
fn a_task_that_is_stopped_says_why_in_the_conditions_that_are_asked() {
    let stop = Stop {
        reason: StopReason::BudgetExceeded,
        message: "limits.maxTokens: spent".into(),
    };
    let stopped = advance(&task(), &start(), Outcome::Stopped(stop), at(3)).unwrap();
    let status = shown(&stopped);
    assert!(
        status.conditions[..4]
            .iter()
            .all(|c| c.reason == "BudgetExceeded")
    );
    for type_ in [READY, SUCCEEDED, STALLED] {
        assert_eq!(message(&status, type_), "limits.maxTokens: spent", "{type_}");
    }
    assert_eq!(message(&status, RECONCILING), "", "nobody asks it why");
}

#[test]
fn a_message_stands_where_kstatus_reads_it() {
    let waits = |progress: &Progress| {
        let status = shown(progress);
        [READY, SUCCEEDED, RECONCILING, STALLED].map(|type_| !message(&status, type_).is_empty())
    };
    assert_eq!(waits(&start()), [true, false, true, false], "InProgress");
    assert_eq!(
        waits(&waiting(Category::Configuration)),
        [true, false, false, true],
        "Failed"
    );
    assert_eq!(
        waits(&ended(Stage::Succeeded)),
        [true, false, false, false],
        "Current"
    );
    assert_eq!(waits(&ended(Stage::Failed)), [true, true, false, true], "Failed");
}

fn with_packages(progress: &Progress, reference: Option<&str>) -> (Vec<String>, Vec<String>) {
    let mut task = task();
    task.image.reference = reference.map(str::to_owned);
    task.image.base_packages = vec!["numpy".into(), "pandas".into()];
    task.image.base_system_packages = vec!["libgomp1".into()];
    let status = status(&task, progress, StatusContext::default(), at(5));
    (status.packages, status.system_packages)
}

#[test]
fn what_is_always_installed_is_among_the_packages_before_and_after_they_are() {
    let mut progress = start();
    progress.build.wanted.pip = vec!["pandas".into(), "six".into()];
    progress.build.wanted.apt = vec!["ghostscript".into()];
    let (pip, apt) = with_packages(&progress, None);
    assert_eq!(pip, ["numpy", "pandas", "six"]);
    assert_eq!(apt, ["ghostscript", "libgomp1"]);
    progress.build.built = Some(BuiltImage {
        resolved: vec!["numpy==2.3.1".into(), "six==1.17.0".into()],
        ..BuiltImage::default()
    });
    let (pip, apt) = with_packages(&progress, None);
    assert_eq!(pip, ["numpy==2.3.1", "six==1.17.0"]);
    assert_eq!(apt, ["ghostscript", "libgomp1"]);
}

#[test]
fn nothing_is_installed_in_an_image_that_is_given() {
    let (pip, apt) = with_packages(&start(), Some("registry.example.com/own:1"));
    assert_eq!((pip, apt), (Vec::new(), Vec::new()));
}
