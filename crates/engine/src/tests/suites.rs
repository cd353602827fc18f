//! A suite that finds no fault is asked for again, once, and ends no task.

use serde_json::json;

use crate::test_support::{Script, World, code, fixed_count, plan, tests};
use codegen_api::status::{EvidenceStrength, SuiteStrength};
use codegen_core::call::CallKind;
use codegen_core::evidence::evidence;
use codegen_core::progress::Progress;
use codegen_core::stage::{Stage, StopReason};
use codegen_core::test_support::task;

/// A program, and suites that expect these counts.
fn counted(suites: &[u32]) -> Script {
    let script = Script::new()
        .with(CallKind::Plan, &plan())
        .with(CallKind::Code, &code("return len(text.split())"));
    let with_suite = |script: Script, expected: &u32| script.with(CallKind::Tests, &tests(*expected));
    suites.iter().fold(script, with_suite)
}

fn strengths(progress: &Progress) -> Vec<SuiteStrength> {
    let attempts = progress.attempts.iter();
    attempts.filter_map(|attempt| attempt.suite_strength).collect()
}

#[tokio::test]
async fn a_suite_that_passes_without_bodies_is_asked_for_again_with_that() {
    let mut world = World::new(task(), counted(&[2, 4]), |_, _, _| Vec::new());
    world.sandbox.notices_nothing = |suite| suite.contains("== 2");
    let progress = world.end().await;
    assert_eq!(
        (progress.stage, progress.attempt),
        (Stage::Succeeded, 2),
        "{progress:#?}"
    );
    assert_eq!(world.script.calls(), 4);
    let requests = world.script.requests.lock().unwrap();
    let asked = format!("{:?}", requests.last().unwrap());
    assert!(
        asked.contains("every test also passes when the bodies of all functions are removed"),
        "{asked}"
    );
    assert_eq!(
        strengths(&progress),
        [SuiteStrength::PassesWhenEmptied, SuiteStrength::FailsWhenEmptied]
    );
}

#[tokio::test]
async fn a_suite_that_finds_no_fault_again_is_used_as_it_is_and_the_status_says_so() {
    let mut world = World::new(task(), counted(&[2, 4]), |_, _, _| Vec::new());
    world.sandbox.notices_nothing = |_| true;
    let progress = world.end().await;
    assert_eq!(
        (progress.stage, progress.attempt),
        (Stage::Succeeded, 2),
        "{progress:#?}"
    );
    let summary = progress.attempts[1].summary.clone().unwrap();
    assert!(summary.contains("also without the program's bodies"), "{summary}");
    let evidence = evidence(&world.task, &progress).unwrap();
    assert_eq!(evidence.suite_strength, Some(SuiteStrength::PassesWhenEmptied));
    assert_eq!(evidence.strength, EvidenceStrength::SuiteOnly);
}

#[tokio::test]
async fn the_last_attempt_is_not_spent_on_another_suite() {
    let mut last = task();
    last.limits.max_iterations = 1;
    let mut world = World::new(last, counted(&[2]), |_, _, _| Vec::new());
    world.sandbox.notices_nothing = |_| true;
    let progress = world.end().await;
    assert_eq!(
        (progress.stage, progress.attempt),
        (Stage::Succeeded, 1),
        "{progress:#?}"
    );
}

/// A program and three suites that are no Python.
fn without_suite() -> World {
    let broken = json!({"code": "def test_count(:\n"});
    let script = (0..3).fold(counted(&[]), |script, _| script.with(CallKind::Tests, &broken));
    let script = script.with(CallKind::FixCode, &fixed_count("return len(text)"));
    let mut world = World::new(task(), script, |_, _, _| Vec::new());
    world.sandbox.prints = |_| "2\n".to_owned();
    world
}

#[tokio::test]
async fn three_suites_that_are_no_python_end_a_task_of_which_nothing_else_decides() {
    let progress = without_suite().end().await;
    assert_eq!(progress.stop.unwrap().reason, StopReason::InvalidReply);
}

#[tokio::test]
async fn three_suites_that_are_no_python_are_left_out_where_an_example_decides_and_the_status_says_so() {
    let mut world = without_suite();
    let example = json!({"about": "two words", "expect": [{"output": "stdout", "value": "2"}]});
    world.task.examples = vec![serde_json::from_value(example).unwrap()];
    let progress = world.end().await;
    assert_eq!(
        (progress.stage, progress.attempt),
        (Stage::Succeeded, 1),
        "{progress:#?}"
    );
    let evidence = evidence(&world.task, &progress).unwrap();
    assert_eq!(evidence.strength, EvidenceStrength::Independent);
    assert_eq!(
        (evidence.suite, evidence.suite_strength),
        (None, Some(SuiteStrength::NoSuite))
    );
    // A wrong program fails all the same.
    world.sandbox.prints = |_| "3\n".to_owned();
    let wrong = World {
        script: without_suite().script,
        ..world
    };
    assert_ne!(wrong.end().await.stage, Stage::Succeeded);
}
