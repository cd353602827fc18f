use jiff::Timestamp;

use super::*;
use codegen_api::status::{ErrorType, FailureDiagnosis};
use codegen_core::call::{CallKind, Usage};
use codegen_core::stage::Stage;

fn answered(from_ledger: bool) -> Event {
    Event::CallFinished {
        kind: CallKind::Plan,
        sequence: 1,
        usage: Usage {
            input: 812,
            output: 131,
        },
        seconds: 1.5,
        from_ledger,
    }
}

fn failure(error_type: ErrorType) -> FailureDiagnosis {
    FailureDiagnosis {
        test: "test_mean".to_owned(),
        error: "the user's own words".to_owned(),
        expected: String::new(),
        actual: String::new(),
        root_cause: String::new(),
        suggested_fix: String::new(),
        error_type,
        reclassified_from: None,
    }
}

/// Samples without the histograms' buckets, sorted: families have no order.
fn samples(metrics: &Metrics) -> String {
    let text = metrics.text().unwrap();
    let mut lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.starts_with('#') && !line.contains("_bucket"))
        .collect();
    lines.sort_unstable();
    lines.join("\n").replace(env!("CARGO_PKG_VERSION"), "[version]")
}

/// One event at least of each kind that is counted.
fn happened() -> Vec<Event> {
    vec![
        Event::CallStarted {
            kind: CallKind::Plan,
            sequence: 1,
        },
        answered(false),
        answered(true),
        Event::ReplyRejected {
            kind: CallKind::Code,
            reason: "no JSON".to_owned(),
            said: None,
        },
        Event::BuildFinished {
            python: "3.12.4".to_owned(),
            packages: 5,
            seconds: 12.0,
            cached: false,
        },
        Event::BuildFinished {
            python: "3.12.4".to_owned(),
            packages: 5,
            seconds: 0.1,
            cached: true,
        },
        Event::BuildFailed {
            message: "no such package".to_owned(),
        },
        Event::Diagnosed {
            attempt: 1,
            failures: vec![failure(ErrorType::Logic), failure(ErrorType::Logic)],
        },
        Event::IterationFinished {
            attempt: 1,
            passed: false,
            error_types: vec!["logic".to_owned()],
            packages_added: Vec::new(),
        },
        Event::Waiting {
            category: Category::Configuration,
            message: "no such secret".to_owned(),
            retry_at: Timestamp::UNIX_EPOCH,
        },
        Event::StageEntered {
            stage: Stage::Succeeded,
            attempt: 2,
        },
        Event::StageEntered {
            stage: Stage::Planning,
            attempt: 0,
        },
    ]
}

/// Metrics each of which has a value.
fn busy() -> Metrics {
    let metrics = Metrics::new();
    for event in &happened() {
        metrics.observe(event);
    }
    metrics.set_tasks([
        ("RunningTests", "Progressing", 3),
        ("Succeeded", "TestsPassed", 7),
    ]);
    metrics.set_queued(4);
    metrics.set_runs([("Pending", 2), ("Succeeded", 5)]);
    metrics.set_queued_runs(1);
    metrics.run_ended("Succeeded", "ProgramSucceeded", Some(1.5));
    metrics.run_ended("Succeeded", "OutputsAdopted", None);
    let code_mode = metrics.code_mode();
    code_mode.set_runs([("Running", 2)]);
    code_mode.set_queued(1);
    code_mode.ended("Succeeded", "Answered", Some((2.5, 900, 100)));
    code_mode.ended("Succeeded", "Answered", None);
    code_mode.interpreter_started();
    code_mode.program_failed();
    code_mode.tool_called("MCP", false);
    metrics.set_leader(true);
    metrics.call_ended(Provider::OpenAI, None);
    metrics.set_calls(2, 1);
    metrics.set_isolated("default", true);
    metrics.pause_over(Reconciled::Waiting);
    metrics.reconciled(Reconciled::Advanced, Duration::from_millis(4));
    metrics.event_dropped();
    metrics
}

#[test]
fn what_happened_is_counted_in_open_metrics() {
    insta::assert_snapshot!(samples(&busy()));
}

#[test]
fn every_metric_stands_on_the_page_for_those_who_run_the_operator() {
    let page = include_str!("../../../../docs/operator.md");
    let text = busy().text().unwrap();
    let types: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE codegen_operator_")?.split(' ').next())
        .collect();
    assert_eq!(types.len(), 33, "{types:?}");
    for name in types {
        let endings = ["", "_total", "_info"];
        let stands = endings
            .iter()
            .any(|ending| page.contains(&format!("`{name}{ending}`")));
        assert!(stands, "{name} is not on the page");
    }
}

#[test]
fn a_stage_that_no_task_is_in_any_more_is_gone() {
    let metrics = Metrics::new();
    metrics.set_tasks([("Planning", "Progressing", 2)]);
    metrics.set_tasks([("Succeeded", "TestsPassed", 2)]);
    let text = samples(&metrics);
    assert!(
        text.contains("stage=\"Succeeded\"") && !text.contains("Planning"),
        "{text}"
    );
}

#[test]
fn no_text_of_a_user_or_model_becomes_a_label() {
    let metrics = Metrics::new();
    metrics.observe(&Event::Waiting {
        category: Category::Infrastructure,
        message: "words".to_owned(),
        retry_at: Timestamp::UNIX_EPOCH,
    });
    metrics.observe(&Event::Diagnosed {
        attempt: 1,
        failures: vec![failure(ErrorType::TestError)],
    });
    let text = metrics.text().unwrap();
    assert!(text.contains("test_error") && !text.contains("words"), "{text}");
}
