use jiff::Timestamp;
use proptest::prelude::*;

use super::send::{LONGEST_NOTE, cut, kube_event};
use super::*;
use codegen_api::CodeGenTaskSpec;
use codegen_api::status::CodeGenTaskStatus;
use codegen_core::agent::{AgentStep, CallResult};
use codegen_core::call::{CallKind, Usage};
use codegen_core::stage::{Category, Stage};

fn task() -> CodeGenTask {
    let mut task = CodeGenTask::new("penguins", CodeGenTaskSpec::default());
    task.metadata.namespace = Some("data".to_owned());
    task.metadata.uid = Some("0c1".to_owned());
    task.metadata.resource_version = Some("77".to_owned());
    task
}

fn place() -> (Events, mpsc::Receiver<QueuedEvent>) {
    let (queue, waiting) = mpsc::channel(4);
    let metrics = Metrics::new();
    (Events { queue, metrics }, waiting)
}

fn received(waiting: &mut mpsc::Receiver<QueuedEvent>) -> Vec<(&'static str, String)> {
    std::iter::from_fn(|| waiting.try_recv().ok())
        .map(|letter| (letter.note.reason, letter.note.text))
        .collect()
}

fn waiting_for(category: Category, message: &str) -> Event {
    Event::Waiting {
        category,
        message: message.to_owned(),
        retry_at: Timestamp::UNIX_EPOCH,
    }
}

fn iteration(passed: bool, error_types: &[&str], packages: &[&str]) -> Event {
    let owned = |words: &[&str]| words.iter().map(ToString::to_string).collect();
    Event::IterationFinished {
        attempt: 1,
        passed,
        error_types: owned(error_types),
        packages_added: owned(packages),
    }
}

#[test]
fn a_task_that_succeeds_has_three_events() {
    let (events, mut waiting) = place();
    let mut task = task();
    let observer = events.observer(&task);
    let kind = CallKind::Plan;
    observer.event(&Event::CallStarted { kind, sequence: 1 });
    observer.event(&Event::CallFinished {
        kind,
        sequence: 1,
        usage: Usage::default(),
        seconds: 1.0,
        from_ledger: false,
    });
    observer.event(&Event::BuildStarted {
        packages: vec!["pandas".to_owned()],
    });
    observer.event(&Event::BuildFinished {
        python: "3.12.4".to_owned(),
        packages: 5,
        seconds: 12.3,
        cached: false,
    });
    observer.event(&Event::StageEntered {
        stage: Stage::RunningTests,
        attempt: 1,
    });
    observer.event(&iteration(true, &[], &[]));
    task.status = Some(CodeGenTaskStatus {
        stage: Some("Succeeded".to_owned()),
        reason: Some("TestsPassed".to_owned()),
        message: Some("6 of 6 tests passed".to_owned()),
        ..CodeGenTaskStatus::default()
    });
    events.ended(&task);
    let expected = [
        ("ImageBuilt", "Built the image in 12 s: Python 3.12.4, 5 packages"),
        ("AttemptPassed", "Attempt 1 passed"),
        ("Succeeded", "TestsPassed: 6 of 6 tests passed"),
    ];
    assert_eq!(
        received(&mut waiting),
        expected.map(|(reason, text)| (reason, text.to_owned()))
    );
}

#[test]
fn an_attempt_has_an_event_with_its_error_types_and_added_packages() {
    let note = note(&iteration(false, &["environment", "logic"], &["lxml"])).unwrap();
    assert_eq!(
        note.text,
        "Attempt 1 failed; error types: environment, logic; packages added: lxml"
    );
    assert!(note.is_warning);
}

#[test]
fn the_same_cause_has_one_event_and_another_cause_a_second_one() {
    let (events, mut waiting) = place();
    let mut task = task();
    let no_secret = waiting_for(Category::Configuration, "no such secret");
    events.observer(&task).event(&no_secret);
    task.status = Some(CodeGenTaskStatus {
        message: Some("no such secret".to_owned()),
        ..CodeGenTaskStatus::default()
    });
    events.observer(&task).event(&no_secret);
    events
        .observer(&task)
        .event(&waiting_for(Category::Infrastructure, "no answer"));
    let expected = [
        ("Configuration", "no such secret"),
        ("Infrastructure", "no answer"),
    ];
    assert_eq!(
        received(&mut waiting),
        expected.map(|(reason, text)| (reason, text.to_owned()))
    );
}

#[test]
fn queueing_and_suspension_are_no_warnings_and_misconfiguration_is() {
    let (events, mut waiting) = place();
    let holds = [
        (reason::QUEUED, Until::Room, false),
        (reason::SUSPENDED, Until::Resumed, false),
        (reason::CONFIGURATION, Until::Corrected, true),
        (reason::INFRASTRUCTURE, Until::Room, true),
    ];
    for (reason, until, is_warning) in holds {
        let hold = Hold {
            reason,
            message: "m".to_owned(),
            until,
        };
        events.held(&task(), &hold);
        let letter = waiting.try_recv().unwrap();
        assert_eq!((letter.note.reason, letter.note.is_warning), (reason, is_warning));
    }
}

#[test]
fn what_cannot_wait_to_be_sent_is_dropped_and_counted() {
    let (events, mut waiting) = place();
    let observer = events.observer(&task());
    for attempt in 0..7 {
        observer.event(&Event::BuildFailed {
            message: format!("{attempt}"),
        });
    }
    assert_eq!(received(&mut waiting).len(), 4);
    let text = events.metrics.text().unwrap();
    assert!(
        text.contains("codegen_operator_events_dropped_total 3\n"),
        "{text}"
    );
}

#[test]
fn an_event_has_a_name_that_follows_from_what_it_says() {
    let letter = |text: &str| QueuedEvent {
        about: reference(&task()),
        note: Note::normal("ImageBuilt", "Build", text.to_owned()),
    };
    let at = |second| Timestamp::from_second(second).unwrap();
    let first = kube_event(&letter("a"), "pod-1", at(1));
    let again = kube_event(&letter("a"), "pod-2", at(2));
    let other = kube_event(&letter("b"), "pod-1", at(1));
    assert_eq!(first.metadata.name, again.metadata.name);
    assert_ne!(first.metadata.name, other.metadata.name);
    insta::assert_json_snapshot!(first);
}

#[test]
fn no_row_of_data_goes_to_the_log() {
    let record = record(&Event::TestsFinished {
        attempt: 1,
        tests: None,
        cases: None,
        examples: None,
        acceptance: None,
        failing: vec!["assert 'Jane Doe' == ''".to_owned()],
        rehearsal: codegen_api::status::RehearsalStatus {
            result: codegen_api::status::RehearsalResult::Passed,
            message: None,
        },
    });
    assert_eq!(
        (record.what, record.detail.as_str()),
        ("the tests ran", "1 failures")
    );
}

#[test]
fn events_and_log_repeat_nothing_that_an_agent_wrote() {
    let call = |tool: &str, class: &str, is_error| CallResult {
        what: "echo 'Jane Doe' >> notes.md".to_owned(),
        class: class.to_owned(),
        is_error,
        ..CallResult::at_once(tool, Ok("Jane Doe".to_owned()), Timestamp::UNIX_EPOCH)
    };
    let step = AgentStep {
        turn: 3,
        sequence: 5,
        results: vec![
            call("Bash", "Denied", true),
            call("Bash", "Safe", false),
            call("Edit", "", true),
        ],
        changes: std::collections::BTreeMap::new(),
        note: String::new(),
        reported_cases: Vec::new(),
        not_tested: String::new(),
    };
    let event = Event::AgentMoved {
        turn: 3,
        step: Box::new(step),
    };
    let (events, mut waiting) = place();
    events.observer(&task()).event(&event);
    let told = "turn 3: Bash (denied); Bash; Edit (failed)";
    assert_eq!(received(&mut waiting), [("AgentTurn", told.to_owned())]);
    assert_eq!(super::log::record(&event).detail, told);
}

#[test]
fn the_end_of_an_agents_task_says_what_it_did_and_what_its_program_needs() {
    let mut task = task();
    let agent =
        serde_json::json!({"turns": 5, "toolCalls": {"Bash": 5, "Write": 2}, "denied": 1, "failed": 2});
    task.status = Some(CodeGenTaskStatus {
        stage: Some("Succeeded".to_owned()),
        image: Some("registry.example/a@sha256:1".to_owned()),
        packages: vec!["pandas==2.0".to_owned()],
        agent: Some(serde_json::from_value(agent).unwrap()),
        ..CodeGenTaskStatus::default()
    });
    let (events, mut waiting) = place();
    events.ended(&task);
    let told = "5 turns: 5 Bash, 2 Write; 1 denied, 2 failed; image registry.example/a@sha256:1; packages pandas==2.0";
    assert_eq!(received(&mut waiting)[1], ("AgentEnded", told.to_owned()));
}

proptest! {
    #[test]
    fn a_note_is_never_longer_than_the_api_server_takes(text in "\\PC{0,2000}") {
        let note = cut(&text);
        prop_assert!(note.len() <= LONGEST_NOTE);
        prop_assert!(note == text || note.ends_with(" ..."));
    }
}
