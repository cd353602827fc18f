//! Tests of the lines that a person reads, from scripted events.

use super::*;
use crate::cli::paint::paint;
use codegen_api::status::RehearsalStatus;
use codegen_core::call::Usage;
use codegen_core::stage::Category;

fn call(kind: CallKind, sequence: u32) -> [Event; 2] {
    [
        Event::CallStarted { kind, sequence },
        Event::CallFinished {
            kind,
            sequence,
            usage: Usage {
                input: 812 + 1000 * u64::from(sequence),
                output: 131,
            },
            seconds: 1.25,
            from_ledger: false,
        },
    ]
}

fn ran(attempt: u32, failing: &[&str]) -> Event {
    let failed = i32::try_from(failing.len()).unwrap();
    Event::TestsFinished {
        attempt,
        tests: Some(TestCounts {
            total: 12,
            passed: 12 - failed,
            failed,
            skipped: 0,
        }),
        cases: None,
        examples: None,
        acceptance: Some(TestCounts {
            total: 3,
            passed: 3,
            failed: 0,
            skipped: 0,
        }),
        failing: failing.iter().map(|&test| test.to_owned()).collect(),
        rehearsal: RehearsalStatus {
            result: RehearsalResult::Passed,
            message: None,
        },
    }
}

fn diagnosis(error_type: ErrorType, reclassified_from: Option<ErrorType>) -> Event {
    Event::Diagnosed {
        attempt: 1,
        failures: vec![FailureDiagnosis {
            test: "test_solution.py::TestMean::test_mean".to_owned(),
            error: "AssertionError".to_owned(),
            expected: "3700.7".to_owned(),
            actual: "3701".to_owned(),
            root_cause:
                "The mean is rounded to a whole number before it is written, although the task asks for one \
                decimal; the call of round has no second argument."
                    .to_owned(),
            suggested_fix: "round(value, 1)".to_owned(),
            error_type,
            reclassified_from,
        }],
    }
}

fn start() -> Vec<Event> {
    let mut events = vec![Event::StageEntered {
        stage: Stage::ReadingSamples,
        attempt: 0,
    }];
    events.extend(call(CallKind::Plan, 1));
    events.extend(call(CallKind::Code, 2));
    events.push(Event::BuildStarted {
        packages: vec!["pandas".to_owned(), "pytest".to_owned()],
    });
    events.extend(call(CallKind::Tests, 3));
    events.push(Event::BuildFinished {
        python: "3.12.4".to_owned(),
        packages: 9,
        seconds: 11.0,
        cached: false,
    });
    events.push(Event::StageEntered {
        stage: Stage::RunningTests,
        attempt: 1,
    });
    events
}

fn text(events: &[Event]) -> String {
    let lines: Vec<String> = events
        .iter()
        .flat_map(|event| render(event).lines)
        .map(|line| paint(&line, false))
        .collect();
    for line in &lines {
        assert!(line.chars().count() <= 100, "{line}");
    }
    lines.join("\n")
}

#[test]
fn a_task_without_failures_reads_like_this() {
    let mut events = start();
    events.push(ran(1, &[]));
    events.push(Event::IterationFinished {
        attempt: 1,
        passed: true,
        error_types: vec![],
        packages_added: vec![],
    });
    insta::assert_snapshot!(text(&events));
}

#[test]
fn a_task_with_one_fix_reads_like_this() {
    let mut events = start();
    events.push(ran(1, &["test_solution.py::TestMean::test_mean"]));
    events.extend(call(CallKind::Diagnosis, 4));
    events.push(diagnosis(ErrorType::Logic, None));
    events.extend(call(CallKind::FixCode, 5));
    events.push(Event::FixApplied {
        kind: CallKind::FixCode,
        names: vec!["mean_mass".to_owned()],
    });
    events.push(Event::IterationFinished {
        attempt: 1,
        passed: false,
        error_types: vec!["logic".to_owned()],
        packages_added: vec!["scipy".to_owned()],
    });
    events.push(ran(2, &[]));
    insta::assert_snapshot!(text(&events));
}

#[test]
fn everything_that_goes_wrong_reads_like_this() {
    let mut events = vec![Event::ReplyRejected {
        kind: CallKind::Code,
        reason: "the program has no option --decimals: ".to_owned()
            + &"every declared input must be one, ".repeat(12),
        said: None,
    }];
    events.push(Event::Resumed {
        stage: Stage::GeneratingCode,
        replies: 1,
    });
    events.push(Event::IterationFinished {
        attempt: 3,
        passed: false,
        error_types: vec![],
        packages_added: vec![],
    });
    events.push(Event::RequestChanged {
        kind: CallKind::Plan,
        sequence: 1,
    });
    events.push(Event::BuildFailed {
        message: "pip finds no package named skleam".to_owned(),
    });
    let failing: Vec<String> = (0..9)
        .map(|number| format!("test_solution.py::test_{number}"))
        .collect();
    events.push(ran(3, &failing.iter().map(String::as_str).collect::<Vec<_>>()));
    events.push(diagnosis(ErrorType::TestError, Some(ErrorType::Logic)));
    events.push(Event::Waiting {
        category: Category::Configuration,
        message: "the model server refuses the API key (401): correct key api-key of Secret openai"
            .to_owned(),
        retry_at: jiff::Timestamp::UNIX_EPOCH,
    });
    insta::assert_snapshot!(text(&events));
}

#[test]
fn what_runs_has_a_moving_line_and_no_finished_one() {
    let rendered = render(&Event::CallStarted {
        kind: CallKind::Plan,
        sequence: 1,
    });
    assert_eq!(rendered.running.as_deref(), Some("call 1: the model plans"));
    assert!(rendered.lines.is_empty());
}

#[test]
fn a_recorded_reply_is_shown_as_recorded() {
    let event = Event::CallFinished {
        kind: CallKind::Plan,
        sequence: 1,
        usage: Usage::default(),
        seconds: 0.0,
        from_ledger: true,
    };
    assert!(render(&event).lines[0].text.ends_with("recorded"));
}
