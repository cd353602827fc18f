//! Choice and order of jobs, and the consequences of a phase that was not reached.

use serde_json::{Value, json};

use crate::test_support::{Script, World, code, diagnosis, fixed_count, tests};
use codegen_api::common::Exposure;
use codegen_api::status::CaseCounts;
use codegen_core::call::CallKind;
use codegen_core::progress::Progress;
use codegen_core::sandbox::PhaseName;
use codegen_core::stage::Stage;
use codegen_core::task::Task;
use codegen_core::test_support::task;
use codegen_ledger::MemoryStore;

const RIGHT: &str = "return len(text.split())";

/// A plan with so many cases, all of which expect what the program prints.
fn plan(cases: usize) -> Value {
    let case = |number: usize| {
        let tolerance = format!("0.{number}");
        json!({
            "about": "two words", "inputs": [], "refused": false,
            "expect": [{"output": "stdout", "check": "Equals", "at": "", "value": "2", "tolerance": tolerance}],
        })
    };
    json!({
        "description": "Counts words.", "approach": "Split at white space.", "libraries": [],
        "cases": (0..cases).map(case).collect::<Vec<Value>>(), "unstable": [],
    })
}

fn world(cases: usize, task: Task) -> World {
    let script = Script::new()
        .with(CallKind::Plan, &plan(cases))
        .with(CallKind::Code, &code(RIGHT))
        .with(CallKind::Tests, &tests(2))
        .with(CallKind::Diagnosis, &diagnosis("logic", &["count"], &[]))
        .with(CallKind::FixCode, &fixed_count("return len(text.split()) + 0"));
    let mut world = World::new(task, script, |_, _, _| Vec::new());
    world.sandbox.prints = |_| "2\n".to_owned();
    world
}

/// A task with two examples and acceptance tests.
fn with_examples() -> Task {
    let example = json!({"about": "hidden", "expect": [{"output": "stdout", "value": "2"}]});
    Task {
        examples: serde_json::from_value(json!([example, example])).unwrap(),
        ..task()
    }
}

async fn end(world: &mut World) -> Progress {
    world.surroundings.acceptance_tests = Some("def test_hidden(program):\n    assert program\n".into());
    world.live(&MemoryStore::new()).await.unwrap()
}

fn log(world: &World) -> Vec<String> {
    world.sandbox.log.lock().unwrap().clone()
}

#[tokio::test]
async fn what_a_model_sees_has_ended_before_hidden_tests_begin() {
    let mut world = world(1, with_examples());
    let progress = end(&mut world).await;
    assert_eq!(progress.stage, Stage::Succeeded, "{progress:#?}");
    let log = log(&world);
    // The one case is executed as a run is, beside them.
    assert!(
        log[0].starts_with("begin Tests ") && !log[0].contains("Case"),
        "{log:?}"
    );
    assert_eq!(log[1], "begin Case");
    assert!(
        log[2].starts_with("end ") && log[3].starts_with("end "),
        "{log:?}"
    );
    // Nothing is shown of either.
    assert_eq!(log[4..6], ["begin Acceptance", "begin Case Case"]);
}

#[tokio::test]
async fn a_rehearsal_on_private_samples_has_ended_when_acceptance_tests_begin() {
    let sample = json!({"name": "words", "fileName": "words.txt", "sha256": "0".repeat(64), "bytes": 1, "isDir": false});
    let mut world = world(
        1,
        Task {
            exposure: Exposure::SchemaOnly,
            samples: serde_json::from_value(json!([sample])).unwrap(),
            ..with_examples()
        },
    );
    assert!(world.task.has_private_data());
    end(&mut world).await;
    let log = log(&world);
    assert!(
        !log[0].contains("Rehearsal") && log[2].starts_with("end Tests "),
        "{log:?}"
    );
    let after = [
        "begin Rehearsal",
        "end Rehearsal",
        "begin Acceptance",
        "begin Case Case",
    ];
    assert_eq!(log[4..8], after);
}

#[tokio::test]
async fn cases_that_were_not_reached_are_no_failures_and_the_suite_is_not_blamed() {
    let mut world = world(3, task());
    world.sandbox.hangs = |program| program.name == PhaseName::Case && !program.solution.contains("+ 0");
    let progress = end(&mut world).await;
    assert_eq!(progress.stage, Stage::Succeeded, "{progress:#?}");
    let requests = world.script.requests.lock().unwrap();
    let kinds: Vec<CallKind> = requests.iter().map(|request| request.kind).collect();
    assert_eq!(kinds[3..], [CallKind::Diagnosis, CallKind::FixCode]);
    let asked = requests[3].user_message();
    assert!(asked.contains("did not end within"), "{asked}");
    assert!(!asked.contains("never started"), "{asked}");
    assert_eq!(
        progress.attempts[0].cases,
        Some(CaseCounts { total: 3, passed: 0 })
    );
}
