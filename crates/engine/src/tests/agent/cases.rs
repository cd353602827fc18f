//! Cases of the plan that an agent's program fails.

use rstest::rstest;
use serde_json::{Value, json};

use super::{agent_task, bash, edit, live, source, turns, write};
use crate::test_support::{Script, World, code, splits, tests};
use codegen_api::approval::Gate;
use codegen_api::status::{CaseCounts, ErrorType};
use codegen_core::call::CallKind;
use codegen_core::conversation::Exchange;
use codegen_core::evidence::evidence;
use codegen_core::progress::Progress;
use codegen_core::stage::{Stage, StopReason};
use codegen_core::task::Task;

/// A plan with a case for each of these counts of two words.
fn plan(expected: &[&str]) -> Value {
    let case = |(index, value): (usize, &&str)| {
        json!({
            "about": format!("count {index}"), "inputs": [], "refused": false,
            "expect": [{"output": "stdout", "check": "Equals", "at": "", "value": value, "tolerance": ""}],
        })
    };
    let cases: Vec<Value> = expected.iter().enumerate().map(case).collect();
    json!({
        "description": "Counts words.", "approach": "Split at white space.", "libraries": [], "cases": cases,
        "unstable": [],
    })
}

/// Builds the answer to working out cases again, in order.
fn answers(values: &[&str]) -> Value {
    let answer =
        |(index, value): (usize, &&str)| json!({"case": index + 1, "refused": false, "values": [value]});
    let cases: Vec<Value> = values.iter().enumerate().map(answer).collect();
    json!({"cases": cases})
}

/// Writes a program with this body and its suite, which pass each other.
fn begin(expected: &[&str], body: &str) -> Script {
    let counts = if body.contains("split()") { 2 } else { 3 };
    Script::new().with(CallKind::Plan, &plan(expected)).with_turn(
        "",
        &[
            write("solution.py", source(&code(body))),
            write("test_solution.py", source(&tests(counts))),
            bash("pytest"),
        ],
    )
}

const RIGHT: &str = "return len(text.split())";
const WRONG: &str = "return len(text)";

pub(super) fn world(task: Task, script: Script) -> World {
    let mut world = super::world(task, script);
    world.sandbox.judge = splits;
    world.sandbox.prints = |solution| if solution.contains("split()") { "2" } else { "3" }.to_owned();
    world
}

/// The agent holds on to a right program, whose one case is wrong.
pub(super) fn insisting() -> Script {
    begin(&["5"], RIGHT)
        .with_turn("The case is wrong: two words are two.", &[])
        .with(CallKind::Cases, &answers(&["2"]))
        .with_turn("As I said.", &[])
}

fn kinds(world: &World) -> Vec<CallKind> {
    let requests = world.script.requests.lock().unwrap();
    requests.iter().map(|request| request.kind).collect()
}

fn rechecks(world: &World) -> usize {
    kinds(world)
        .into_iter()
        .filter(|kind| *kind == CallKind::Cases)
        .count()
}

/// Everything that the agent was told, in order.
fn results(world: &World) -> Vec<String> {
    let exchanges = turns(world).pop().unwrap().conversation.unwrap().exchanges;
    let of_turn = |exchange: Exchange| {
        let results = exchange.results.into_iter().map(|result| result.text);
        results.chain([exchange.note]).collect::<Vec<_>>().join("\n")
    };
    exchanges.into_iter().map(of_turn).collect()
}

fn counts(world: &World, progress: &Progress) -> (i32, i32) {
    let cases = evidence(&world.task, progress).unwrap().cases.unwrap();
    (cases.corrected, cases.dropped)
}

#[tokio::test]
async fn a_wrong_case_is_worked_out_again_before_its_agent_hears_of_it_twice() {
    let world = world(agent_task(), insisting());
    let progress = live(&world).await;
    assert_eq!(
        (progress.stage, progress.attempt),
        (Stage::Succeeded, 2),
        "{progress:#?}"
    );
    // Corrected, tested again, and passed: what the agent said last holds, so that it is not asked for it again.
    assert_eq!(
        kinds(&world),
        [CallKind::Plan, CallKind::Turn, CallKind::Turn, CallKind::Cases]
    );
    let requests = world.script.requests.lock().unwrap();
    let asked = requests
        .iter()
        .find(|request| request.kind == CallKind::Cases)
        .unwrap();
    let asked = asked.user_message();
    assert!(asked.contains("count 0"), "{asked}");
    assert!(
        !asked.contains("split") && !asked.contains("got"),
        "it sees no program: {asked}"
    );
    drop(requests);
    assert_eq!(counts(&world, &progress), (1, 0));
    assert_eq!(
        progress.attempts[1].cases,
        Some(CaseCounts { total: 1, passed: 1 })
    );
    assert_eq!(
        progress.plan.unwrap().cases,
        ["1. count 0: defaults -> stdout = 2"]
    );
}

#[rstest]
#[case::pytest_again_without_a_change(&[bash("pytest")])]
#[case::after_a_change(&[edit("Number of words.", "The number of words."), bash("pytest -q")])]
#[case::twice_in_a_turn(&[bash("pytest"), bash("pytest -v")])]
#[tokio::test]
async fn a_case_with_two_different_answers_is_dropped(#[case] second: &[(&str, Value)]) {
    let script = begin(&["5"], RIGHT)
        .with_turn("", second)
        .with(CallKind::Cases, &answers(&["7"]))
        .with_turn("Done.", &[]);
    let world = world(agent_task(), script);
    let progress = live(&world).await;
    assert_eq!(progress.stage, Stage::Succeeded, "{progress:#?}");
    assert_eq!((rechecks(&world), counts(&world, &progress)), (1, (0, 1)));
    let told = results(&world);
    assert!(
        told[0].contains("count 0"),
        "the first time it hears of it: {}",
        told[0]
    );
    assert!(told[1].contains("Everything passed"), "{}", told[1]);
}

#[tokio::test]
async fn a_case_that_is_confirmed_is_the_programs_fault_and_is_not_worked_out_again() {
    let script = begin(&["2"], WRONG)
        .with_turn("", &[bash("pytest")])
        .with(CallKind::Cases, &answers(&["2"]))
        .with_turn("", &[edit("len(text)", "len(text) + 0"), bash("pytest")])
        .with_turn(
            "",
            &[
                edit("len(text) + 0", "len(text.split())"),
                write("test_solution.py", source(&tests(2))),
                bash("pytest"),
            ],
        )
        .with_turn("Done.", &[]);
    let world = world(agent_task(), script);
    let progress = live(&world).await;
    assert_eq!(
        (progress.stage, progress.attempt),
        (Stage::Succeeded, 3),
        "cases that stay as they are need no further run: {progress:#?}"
    );
    assert_eq!((rechecks(&world), counts(&world, &progress)), (1, (0, 0)));
    let told = results(&world);
    let settled = "worked out a second time from the task alone";
    assert!(!told[0].contains(settled), "{}", told[0]);
    assert!(
        told[1].contains(settled) && told[1].contains("count 0"),
        "{}",
        told[1]
    );
    assert!(told[2].contains(settled), "{}", told[2]);
}

#[tokio::test]
async fn what_became_of_a_case_is_the_attempts_diagnosis() {
    let script = begin(&["2"], WRONG)
        .with_turn("", &[bash("pytest")])
        .with(CallKind::Cases, &answers(&["2"]));
    let mut world = world(agent_task(), script);
    world.task.limits.agent_max_turns = 2;
    let progress = live(&world).await;
    let diagnosis = &progress.attempts[0].diagnosis[0];
    assert_eq!(
        (diagnosis.error_type, diagnosis.reclassified_from),
        (ErrorType::Logic, Some(ErrorType::TestError))
    );
    assert!(
        diagnosis.root_cause.contains("with the same result"),
        "{diagnosis:?}"
    );
}

#[tokio::test]
async fn of_two_cases_the_right_one_goes_on_to_decide() {
    let script = begin(&["2", "9"], WRONG)
        .with_turn("", &[bash("pytest")])
        .with(CallKind::Cases, &answers(&["2", "4"]))
        .with_turn(
            "",
            &[
                edit("len(text)", "len(text.split())"),
                write("test_solution.py", source(&tests(2))),
                bash("pytest"),
            ],
        )
        .with_turn("Done.", &[]);
    let world = world(agent_task(), script);
    let progress = live(&world).await;
    assert_eq!(progress.stage, Stage::Succeeded, "{progress:#?}");
    assert_eq!((rechecks(&world), counts(&world, &progress)), (1, (0, 1)));
    let told = results(&world);
    assert!(
        told[1].contains("count 0") && !told[1].contains("count 1"),
        "a case that decides nothing any more is not reported: {}",
        told[1]
    );
}

#[tokio::test]
async fn while_the_suite_fails_no_case_is_worked_out_again() {
    let script = begin(&["5"], WRONG)
        .with_turn(
            "",
            &[write("test_solution.py", source(&tests(2))), bash("pytest")],
        )
        .with_turn("", &[bash("pytest")])
        .with_turn("", &[edit("len(text)", "len(text.split())"), bash("pytest")])
        .with(CallKind::Cases, &answers(&["2"]))
        .with_turn("Done.", &[]);
    let world = world(agent_task(), script);
    let progress = live(&world).await;
    assert_eq!(progress.stage, Stage::Succeeded, "{progress:#?}");
    let turns_before = kinds(&world)
        .iter()
        .take_while(|kind| **kind != CallKind::Cases)
        .count()
        - 1;
    assert_eq!((rechecks(&world), turns_before), (1, 4));
}

#[tokio::test]
async fn a_case_that_was_approved_of_is_dropped_and_not_replaced() {
    let task = Task {
        approvals: [Gate::Plan].into(),
        ..agent_task()
    };
    let world = world(task, insisting());
    let progress = live(&world).await;
    assert_eq!(progress.stage, Stage::Succeeded, "{progress:#?}");
    assert_eq!(counts(&world, &progress), (0, 1));
}

#[tokio::test]
async fn working_out_cases_again_counts_against_the_budget() {
    let mut task = agent_task();
    task.limits.max_model_calls = 3;
    let world = world(task, insisting());
    let progress = live(&world).await;
    let stop = progress.stop.clone().unwrap();
    assert_eq!(stop.reason, StopReason::BudgetExceeded, "{stop}");
    assert_eq!(rechecks(&world), 0);
    assert_eq!(progress.stopped_in, Some(Stage::RecheckingCases));
}
