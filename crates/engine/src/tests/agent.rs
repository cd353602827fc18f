//! Tasks whose program an agent writes.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rstest::rstest;
use serde_json::{Value, json};

use crate::test_support::{Script, World, code, plan, splits, tests};
use codegen_api::common::{Backend, Exposure};
use codegen_core::agent::{CommandResult, CommandRun};
use codegen_core::call::{CallKind, Request};
use codegen_core::progress::Progress;
use codegen_core::sandbox::{CommandsPhase, NetworkAccess};
use codegen_core::stage::{Stage, StopReason};
use codegen_core::status::{StatusContext, status};
use codegen_core::task::Task;
use codegen_core::test_support::task;
use codegen_ledger::{MemoryStore, Store as _};

mod beside_tests;
mod cases;
mod ends;
mod kills;
mod packages;
mod record;

fn agent_task() -> Task {
    Task {
        backend: Backend::Agent,
        ..task()
    }
}

fn source(value: &Value) -> &str {
    value["code"].as_str().unwrap()
}

fn write(path: &str, content: &str) -> (&'static str, Value) {
    ("Write", json!({"file_path": path, "content": content}))
}

fn bash(command: &str) -> (&'static str, Value) {
    ("Bash", json!({"command": command}))
}

fn edit(old: &str, new: &str) -> (&'static str, Value) {
    (
        "Edit",
        json!({"file_path": "solution.py", "old_string": old, "new_string": new}),
    )
}

/// Writes a program that counts characters, looks around, tries to fetch something, sees its tests fail, mends it, and is done.
fn script() -> Script {
    Script::new()
        .with(CallKind::Plan, &plan())
        .with_turn(
            "I write both files.",
            &[
                write("solution.py", source(&code("return len(text)"))),
                write("/sandbox/test_solution.py", source(&tests(2))),
            ],
        )
        .with_turn(
            "",
            &[bash("ls"), bash("curl https://example.org"), bash("pytest -q")],
        )
        .with_turn(
            "It counts characters.",
            &[edit("len(text)", "len(text.split())"), bash("ls")],
        )
        .with_turn("", &[bash("python -m pytest 2>&1 | tail -5")])
        .with_turn("The program counts words now.", &[])
}

fn listing(phase: &CommandsPhase) -> CommandRun {
    let names: Vec<&str> = phase.files.iter().map(|file| file.path.as_str()).collect();
    let result = CommandResult {
        output: names.join("\n"),
        ..CommandResult::default()
    };
    CommandRun {
        results: vec![result; phase.commands.len()],
        changes: BTreeMap::from([("notes.txt".to_owned(), Some(STANDARD.encode(b"seen")))]),
        ..CommandRun::default()
    }
}

fn world(task: Task, script: Script) -> World {
    let mut world = World::new(task, script, splits);
    world.sandbox.runs_commands = listing;
    world
}

async fn live(world: &World) -> Progress {
    world.live(&MemoryStore::new()).await.unwrap()
}

fn turns(world: &World) -> Vec<Request> {
    let requests = world.script.requests.lock().unwrap();
    requests
        .iter()
        .filter(|request| request.kind == CallKind::Turn)
        .cloned()
        .collect()
}

#[tokio::test]
async fn an_agent_writes_a_program_sees_it_fail_fixes_it_and_is_done() {
    let world = world(agent_task(), script());
    let progress = live(&world).await;
    assert_eq!(progress.stage, Stage::Succeeded, "{progress:#?}");
    assert_eq!(progress.attempt, 2);
    let agent = progress.agent.clone().unwrap();
    let calls = [("Bash", 5), ("Edit", 1), ("Write", 2)];
    assert_eq!(
        agent.counts.by_tool,
        calls.map(|(tool, count)| (tool.to_owned(), count)).into()
    );
    assert_eq!(
        (agent.counts.turns, agent.counts.denied, agent.counts.failed),
        (5, 1, 1)
    );
    let shown = status(&world.task, &progress, StatusContext::default(), (world.clock)());
    let shown = shown.agent.unwrap();
    assert_eq!((shown.turns, shown.denied, shown.tool_calls["Bash"]), (5, 1, 5));
    let told = turns(&world).pop().unwrap().conversation.unwrap().exchanges;
    let text = |turn: usize, call: usize| told[turn].results[call].text.as_str();
    assert_eq!(text(1, 0), "solution.py\ntest_solution.py");
    assert!(
        text(1, 2).contains("FAILED test_solution.py::test_counts"),
        "{}",
        text(1, 2)
    );
    assert!(
        text(2, 1).contains("notes.txt"),
        "what a command wrote is there for the next: {}",
        text(2, 1)
    );
    assert!(text(3, 0).contains("Everything passed"), "{}", text(3, 0));
}

#[tokio::test]
async fn the_program_is_not_done_because_the_agent_says_so() {
    let script = Script::new()
        .with(CallKind::Plan, &plan())
        .with_turn(
            "",
            &[
                write("solution.py", source(&code("return len(text)"))),
                write("test_solution.py", source(&tests(2))),
            ],
        )
        .with_turn("Done!", &[])
        .with_turn("", &[edit("len(text)", "len(text.split())")])
        .with_turn("Done!", &[]);
    let world = world(agent_task(), script);
    let progress = live(&world).await;
    assert_eq!(progress.stage, Stage::Succeeded);
    assert_eq!(progress.attempt, 2, "without a word of pytest both were tested");
    let told = turns(&world).pop().unwrap().conversation.unwrap().exchanges;
    assert!(told[1].note.contains("not done yet"), "{}", told[1].note);
    assert!(told[1].note.contains("test_counts"), "{}", told[1].note);
}

#[tokio::test]
async fn what_an_administrator_denies_besides_is_passed_to_the_sandbox() {
    let script = Script::new()
        .with(CallKind::Plan, &plan())
        .with_turn("", &[bash("ls; wc -l notes.txt"), bash("ls")]);
    let mut world = world(agent_task(), script);
    world.task.limits.agent_max_turns = 1;
    world.surroundings.denied_commands = vec!["wc".to_owned()];
    let store = MemoryStore::new();
    let progress = world.live(&store).await.unwrap();
    let counts = progress.agent.unwrap().counts;
    assert_eq!((counts.by_tool["Bash"], counts.denied, counts.failed), (2, 1, 0));
    let step = store
        .restarted(None)
        .read("documents/step-0000.json")
        .await
        .unwrap();
    let step = String::from_utf8(step.unwrap()).unwrap();
    assert!(step.contains("wc is not run"), "{step}");
}

#[rstest]
#[case::alone(&[], 2, 1)]
#[case::beside_a_suite_of_the_usual_name(&[("test_solution.py", 3)], 2, 2)]
#[tokio::test]
async fn tests_py_is_the_suite_where_no_other_is(
    #[case] others: &[(&str, u32)],
    #[case] expected: u32,
    #[case] attempts: u32,
) {
    let mut first = vec![
        write("solution.py", source(&code("return len(text.split())"))),
        write("tests.py", source(&tests(expected))),
    ];
    let written = others
        .iter()
        .map(|(path, count)| write(path, source(&tests(*count))));
    first.extend(written);
    first.push(bash("pytest tests.py -q"));
    let script = Script::new()
        .with(CallKind::Plan, &plan())
        .with_turn("", &first)
        .with_turn(
            "",
            &[write("test_solution.py", source(&tests(2))), bash("pytest")],
        )
        .with_turn("Done.", &[]);
    let world = world(agent_task(), script);
    let progress = live(&world).await;
    assert_eq!((progress.stage, progress.attempt), (Stage::Succeeded, attempts));
    let told = turns(&world).pop().unwrap().conversation.unwrap().exchanges;
    let passed = told[0].results.last().unwrap().text.contains("Everything passed");
    assert_eq!(passed, others.is_empty(), "{:?}", told[0]);
}

#[tokio::test]
async fn tests_of_the_same_files_run_once() {
    let script = Script::new()
        .with(CallKind::Plan, &plan())
        .with_turn(
            "",
            &[
                write("solution.py", source(&code("return len(text.split())"))),
                write("test_solution.py", source(&tests(2))),
            ],
        )
        .with_turn("", &[bash("pytest")])
        .with_turn("", &[bash("pytest -v")])
        .with_turn("Done.", &[]);
    let world = world(agent_task(), script);
    let progress = live(&world).await;
    assert_eq!((progress.stage, progress.attempt), (Stage::Succeeded, 1));
}

#[tokio::test]
async fn what_the_contract_refuses_is_reported_and_nothing_runs() {
    let script = Script::new()
        .with(CallKind::Plan, &plan())
        .with_turn("", &[bash("pytest")])
        .with_turn(
            "",
            &[
                write("solution.py", "def count(:\n"),
                write("test_solution.py", source(&tests(2))),
                bash("pytest"),
            ],
        )
        .with_turn(
            "",
            &[
                write("solution.py", source(&code("return len(text.split())"))),
                bash("pytest"),
            ],
        )
        .with_turn("Done.", &[]);
    let world = world(agent_task(), script);
    let progress = live(&world).await;
    assert_eq!((progress.stage, progress.attempt), (Stage::Succeeded, 1));
    let told = turns(&world).pop().unwrap().conversation.unwrap().exchanges;
    assert!(
        told[0].results[0].text.contains("solution.py does not exist"),
        "{:?}",
        told[0]
    );
    assert!(
        told[1].results[2].text.contains("does not parse"),
        "{:?}",
        told[1]
    );
}

#[tokio::test]
async fn an_agent_learns_that_fixtures_beside_the_suite_are_not_loaded() {
    let script = Script::new().with(CallKind::Plan, &plan()).with_turn(
        "",
        &[
            write("conftest.py", "import pytest\n"),
            write("solution.py", source(&code("return len(text)"))),
            write("test_solution.py", source(&tests(2))),
            bash("pytest"),
        ],
    );
    let mut task = agent_task();
    task.limits.agent_max_turns = 2;
    let world = world(task, script);
    live(&world).await;
    let told = turns(&world).pop().unwrap().conversation.unwrap().exchanges;
    let text = &told[0].results[3].text;
    assert!(text.starts_with("(conftest.py is not loaded"), "{text}");
}

#[rstest]
#[case::rows(Exposure::Rows, true)]
#[case::statistics(Exposure::Statistics, false)]
#[tokio::test]
async fn commands_see_the_samples_only_where_the_model_may_and_have_no_network_whatever_the_task_has(
    #[case] exposure: Exposure,
    #[case] mounted: bool,
) {
    let sample = json!({"name": "words", "fileName": "words.txt", "sha256": "0".repeat(64), "bytes": 1, "isDir": false});
    let mut task = Task {
        exposure,
        samples: serde_json::from_value(json!([sample])).unwrap(),
        inputs: serde_json::from_value(json!([{"name": "words", "type": "File"}])).unwrap(),
        ..agent_task()
    };
    task.sandbox.network = NetworkAccess::Internet;
    task.limits.agent_max_turns = 1;
    let script = Script::new()
        .with(CallKind::Plan, &plan())
        .with_turn("", &[bash("ls /var/inputs")]);
    let world = world(task, script);
    live(&world).await;
    let inputs = world.sandbox.command_inputs.lock().unwrap().clone();
    assert_eq!(inputs, [usize::from(mounted)]);
    assert_eq!(
        world.sandbox.asked.lock().unwrap()[0].network,
        NetworkAccess::Denied
    );
}
