use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use rstest::rstest;
use serde_json::{Value, json};

use super::*;
use crate::cli::paint::paint;
use codegen_api::CodeGenTaskSpec;
use codegen_api::status::{ErrorType, FailureDiagnosis, TestCounts, TokenStatus};
use codegen_core::status::{Hold, Until, held};
use codegen_core::test_support::at;

fn text(lines: &[PaintedLine]) -> String {
    lines.iter().map(|line| paint(line, false) + "\n").collect()
}

fn status(stage: &str, calls: i32) -> CodeGenTaskStatus {
    CodeGenTaskStatus {
        stage: Some(stage.to_owned()),
        reason: Some("Progressing".to_owned()),
        run: Some("r1".to_owned()),
        observed_generation: Some(1),
        model_calls: calls,
        tokens: TokenStatus::new(i64::from(calls) * 1_000, i64::from(calls) * 100),
        ..CodeGenTaskStatus::default()
    }
}

fn attempt(number: i32, passed: i32, summary: &str) -> AttemptStatus {
    AttemptStatus {
        number,
        tests: Some(TestCounts {
            total: 6,
            passed,
            failed: 6 - passed,
            skipped: 0,
        }),
        summary: Some(summary.to_owned()),
        completed_at: Some(Time(jiff::Timestamp::UNIX_EPOCH)),
        ..AttemptStatus::default()
    }
}

fn diagnosed() -> FailureDiagnosis {
    FailureDiagnosis {
        test: "test_solution.py::test_mean".to_owned(),
        error: "AssertionError".to_owned(),
        expected: "3".to_owned(),
        actual: "1".to_owned(),
        root_cause: "it counts every row".to_owned(),
        suggested_fix: "skip rows without a mass".to_owned(),
        error_type: ErrorType::Logic,
        reclassified_from: None,
    }
}

/// Statuses of a task that needs one fix, in the order in which a watch brings them.
fn story() -> Vec<CodeGenTaskStatus> {
    let built = |status| CodeGenTaskStatus {
        image: Some("registry.example/codegen@sha256:0c1".to_owned()),
        packages: vec!["pandas==2.2.3".to_owned(), "pytest==8.4".to_owned()],
        ..status
    };
    let failed = attempt(1, 5, "1 of 6 tests fail");
    let with_diagnosis = AttemptStatus {
        diagnosis: vec![diagnosed()],
        ..failed.clone()
    };
    vec![
        status("Pending", 0),
        status("Planning", 0),
        status("GeneratingCode", 1),
        status("GeneratingTests", 2),
        built(status("RunningTests", 3)),
        CodeGenTaskStatus {
            attempts: vec![failed.clone()],
            attempt: Some(1),
            ..built(status("Diagnosing", 3))
        },
        CodeGenTaskStatus {
            attempts: vec![with_diagnosis],
            attempt: Some(1),
            ..built(status("FixingCode", 4))
        },
        CodeGenTaskStatus {
            attempts: vec![
                failed.clone(),
                AttemptStatus {
                    number: 2,
                    ..AttemptStatus::default()
                },
            ],
            attempt: Some(2),
            ..built(status("RunningTests", 5))
        },
        CodeGenTaskStatus {
            attempts: vec![failed, attempt(2, 6, "every test passed")],
            attempt: Some(2),
            reason: Some("TestsPassed".to_owned()),
            result: Some("penguins-0c1".to_owned()),
            ..built(status("Succeeded", 5))
        },
    ]
}

fn task(status: CodeGenTaskStatus, generation: i64) -> CodeGenTask {
    let mut task = CodeGenTask::new("penguins", CodeGenTaskSpec::default());
    task.metadata.namespace = Some("data".to_owned());
    task.metadata.generation = Some(generation);
    task.status = Some(status);
    task
}

#[test]
fn the_progress_of_a_task_reads_in_a_cluster_as_on_a_laptop() {
    let story = story();
    let mut told = String::new();
    let mut before = &CodeGenTaskStatus::default();
    for now in &story {
        told.push_str(&text(&news(before, now)));
        before = now;
    }
    told.push_str(&text(&summary(&task(before.clone(), 1))));
    insta::assert_snapshot!(told);
}

#[test]
fn a_late_watcher_sees_what_the_stages_left() {
    let story = story();
    let told = text(&news(&CodeGenTaskStatus::default(), story.last().unwrap()));
    insta::assert_snapshot!(told);
}

#[test]
fn the_same_status_again_is_no_news() {
    for status in story() {
        assert_eq!(news(&status, &status), []);
    }
}

/// A task in the stage `Planning` with what the operator writes of a hold.
fn on_hold(reason: &'static str, until: Until, message: &str) -> CodeGenTaskStatus {
    let hold = Hold {
        reason,
        message: message.to_owned(),
        until,
    };
    held(status("Planning", 0), Some(1), &hold, at(5))
}

#[rstest]
#[case(reason::ISOLATION_NOT_ENFORCED, Until::Corrected)]
#[case(reason::CONFIGURATION, Until::Corrected)]
#[case(reason::QUEUED, Until::Room)]
#[case(reason::SUSPENDED, Until::Resumed)]
fn whatever_holds_a_task_is_shown_as_what_it_waits_for(#[case] reason: &'static str, #[case] until: Until) {
    let now = on_hold(reason, until, "what happened");
    assert_eq!(label(&now), format!("waiting: {reason}"));
    assert!(text(&news(&status("Planning", 0), &now)).contains("waiting       what happened"));
}

#[test]
fn a_task_that_has_failed_waits_for_nothing() {
    let failed = CodeGenTaskStatus {
        stage: Some("Failed".to_owned()),
        ..on_hold(reason::NO_PROGRESS, Until::Corrected, "it goes in circles")
    };
    assert!(is_stalled(&failed.conditions));
    assert_eq!(text(&news(&status("Planning", 0), &failed)), "");
}

#[test]
fn what_a_task_waits_for_is_printed_once_and_again_when_it_changes() {
    let waiting = |message: &str| on_hold(reason::CONFIGURATION, Until::Corrected, message);
    let told = news(&status("Planning", 0), &waiting("no Secret openai"));
    assert_eq!(text(&told), "! waiting       no Secret openai\n");
    assert_eq!(
        news(&waiting("no Secret openai"), &waiting("no Secret openai")),
        []
    );
    assert_eq!(
        news(&waiting("no Secret openai"), &waiting("no key api-key")).len(),
        1
    );
    assert_eq!(label(&waiting("x")), "waiting: Configuration");
}

#[test]
fn another_revision_of_the_same_task_is_reported_from_its_beginning() {
    let story = story();
    let again = CodeGenTaskStatus {
        run: Some("r2".to_owned()),
        ..story[4].clone()
    };
    let told = text(&news(story.last().unwrap(), &again));
    assert!(told.starts_with("! a new run"), "{told}");
    assert!(told.contains("✓ image"), "{told}");
}

#[rstest]
#[case("Succeeded", 1, Some(Stage::Succeeded))]
#[case("Failed", 1, Some(Stage::Failed))]
#[case("RunningTests", 1, None)]
#[case("StageOfALaterVersion", 1, None)]
// The spec has changed since: the operator has not answered yet.
#[case("Succeeded", 2, None)]
fn only_an_end_of_the_present_spec_ends_the_watch(
    #[case] stage: &str,
    #[case] generation: i64,
    #[case] expected: Option<Stage>,
) {
    assert_eq!(end(&task(status(stage, 0), generation)), expected);
}

#[rstest]
#[case("Pending", "waiting for the operator")]
#[case("Planning", "the model plans")]
#[case("RunningTests", "attempt 0: running tests and rehearsal")]
fn the_moving_line_says_what_runs(#[case] stage: &str, #[case] expected: &str) {
    assert_eq!(label(&status(stage, 0)), expected);
}

#[test]
fn the_turns_of_an_agent_are_lines_and_its_calls_are_counted_at_the_end() {
    let agent = |turns: i32, bash: i32, denied: i32| AgentStatus {
        turns,
        tool_calls: [("Bash".to_owned(), bash), ("Write".to_owned(), 2)].into(),
        denied,
        failed: 0,
    };
    let at = |turns, bash, denied| CodeGenTaskStatus {
        agent: Some(agent(turns, bash, denied)),
        ..status("Working", turns)
    };
    assert_eq!(
        text(&news(&status("Working", 0), &at(1, 1, 0))),
        "✓ turn 1        1 Bash, 2 Write\n"
    );
    assert_eq!(
        text(&news(&at(1, 1, 0), &at(2, 3, 1))),
        "! turn 2        2 Bash; 1 denied\n"
    );
    assert_eq!(text(&news(&at(2, 3, 1), &at(2, 3, 1))), "");
    let ended = CodeGenTaskStatus {
        stage: Some("Succeeded".to_owned()),
        ..at(2, 3, 1)
    };
    let shown = text(&summary(&task(ended, 1)));
    assert!(
        shown.contains("agent      2 turns: 3 Bash, 2 Write; 1 denied, 0 failed"),
        "{shown}"
    );
}

#[test]
fn the_story_of_a_record_has_attempts_further_tries_decisions_and_the_calls_of_an_agent() {
    let at = "2026-01-02T03:04:05Z";
    let call = |tool: &str, what: &str, class: &str, exit: Value, is_error: bool| {
        json!({"tool": tool, "what": what, "class": class, "text": "t", "isError": is_error, "exit": exit,
            "startedAt": at, "finishedAt": at})
    };
    let step = json!({"turn": 2, "sequence": 3, "results": [
        call("Write", "solution.py", "", Value::Null, false),
        call("Bash", "cat \u{1b}[2Ja", "Safe", json!(1), true),
        call("Bash", "curl https://example.org", "Denied", json!(126), true),
    ]});
    let mut task = crate::cli::recorded::fixture::recorded();
    let name = codegen_engine::agent::step_name(0);
    task.documents.insert(name, serde_json::to_vec(&step).unwrap());
    task.status.retries = serde_json::from_value(json!([
        {"hint": "dates are day first", "after": "IterationsExhausted", "attempts": 1, "at": at},
    ]))
    .unwrap();
    task.status.approvals = serde_json::from_value(json!([
        {"gate": "Plan", "hash": "0c1", "decision": "Approve", "decidedBy": "ana", "decidedAt": at},
    ]))
    .unwrap();
    let told = text(&super::story(&task).unwrap());
    let mut rest = told.as_str();
    for part in [
        "turn 2        Write solution.py",
        "turn 2        Bash (exit code 1) cat ",
        "turn 2        Bash (denied) curl https://example.org",
        "✗ attempt 1",
        "✓ attempt 2",
        "the hint: dates are day first",
        "gate Plan     approved by ana",
    ] {
        let found = rest.find(part).unwrap_or_else(|| panic!("no {part} in {told}"));
        rest = &rest[found..];
    }
    assert!(!told.contains('\u{1b}'), "{told}");
}
