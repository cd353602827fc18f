//! Calls that ask for the tests and do something before them.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::record::traced;
use super::{agent_task, bash, live, source, turns, write};
use crate::test_support::{Script, World, code, plan, splits, tests};
use codegen_core::agent::{CommandResult, CommandRun};
use codegen_core::call::CallKind;
use codegen_core::sandbox::CommandsPhase;
use codegen_core::stage::Stage;
use codegen_core::task::Task;

const EDIT_AND_TEST: &str = "sed -i 's/len(text)/len(text.split())/' solution.py && pytest -q";

/// Every command is an edit that makes a program count words.
fn edit(phase: &CommandsPhase) -> CommandRun {
    let program = phase
        .files
        .iter()
        .find(|file| file.path == "solution.py")
        .unwrap();
    let text = String::from_utf8(STANDARD.decode(&program.content).unwrap()).unwrap();
    let edited = STANDARD.encode(text.replace("len(text)", "len(text.split())"));
    let result = CommandResult {
        output: "one place".to_owned(),
        ..CommandResult::default()
    };
    CommandRun {
        results: vec![result; phase.commands.len()],
        changes: BTreeMap::from([("solution.py".to_owned(), Some(edited))]),
        ..CommandRun::default()
    }
}

fn fail(phase: &CommandsPhase) -> CommandRun {
    let result = CommandResult {
        exit: 2,
        output: "no such file".to_owned(),
        ..CommandResult::default()
    };
    CommandRun {
        results: vec![result; phase.commands.len()],
        ..CommandRun::default()
    }
}

pub(super) fn world(task: Task, script: Script) -> World {
    let mut world = World::new(task, script, splits);
    world.sandbox.runs_commands = edit;
    world
}

/// Writes a program that counts characters, and mends it in the call that asks for the tests.
pub(super) fn script() -> Script {
    Script::new()
        .with(CallKind::Plan, &plan())
        .with_turn(
            "",
            &[
                write("solution.py", source(&code("return len(text)"))),
                write("test_solution.py", source(&tests(2))),
                bash("pytest"),
            ],
        )
        .with_turn("", &[bash("ls"), bash(EDIT_AND_TEST), bash("pytest -v")])
        .with_turn("It counts words now.", &[])
}

#[tokio::test]
async fn what_comes_before_the_tests_of_a_call_runs_before_them_and_the_call_is_counted_once() {
    let world = world(agent_task(), script());
    let progress = live(&world).await;
    assert_eq!((progress.stage, progress.attempt), (Stage::Succeeded, 2));
    let counts = progress.agent.unwrap().counts;
    assert_eq!((counts.by_tool["Bash"], counts.failed), (4, 1));
    let exchanges = turns(&world).pop().unwrap().conversation.unwrap().exchanges;
    let texts: Vec<&str> = exchanges[1]
        .results
        .iter()
        .map(|result| result.text.as_str())
        .collect();
    assert_eq!((texts.len(), texts[0]), (3, "one place"));
    assert!(
        texts[1].starts_with("one place\n") && texts[1].contains("Everything passed"),
        "{}",
        texts[1]
    );
    assert!(
        texts[2].contains("Everything passed") && !texts[2].contains("one place"),
        "{}",
        texts[2]
    );
}

#[tokio::test]
async fn a_call_that_edits_and_tests_is_one_line_of_the_trace() {
    let trace = traced(&world(agent_task(), script())).await;
    let calls: Vec<String> = trace
        .iter()
        .filter(|call| call["turn"] == 2)
        .map(|call| {
            format!(
                "{} {} {}",
                call["input"]["command"], call["class"], call["failure"]
            )
        })
        .collect();
    let edit_and_test = format!("{EDIT_AND_TEST:?} \"Intercepted\" null");
    let expected = [
        r#""ls" "Safe" null"#,
        &edit_and_test,
        r#""pytest -v" "Intercepted" null"#,
    ];
    assert_eq!(calls, expected);
}

#[tokio::test]
async fn tests_do_not_run_where_what_comes_before_them_fails() {
    let make = || {
        let mut task = agent_task();
        task.limits.agent_max_turns = 2;
        let mut world = world(task, script());
        world.sandbox.runs_commands = fail;
        world
    };
    let progress = live(&make()).await;
    assert_eq!((progress.stage, progress.attempt), (Stage::Failed, 1));
    let trace = traced(&make()).await;
    let call = trace
        .iter()
        .find(|call| call["input"]["command"] == EDIT_AND_TEST)
        .unwrap();
    assert_eq!((&call["failure"], &call["exit"]), (&"ExitCode".into(), &2.into()));
    assert_eq!(call["output"], "no such file\n[exit code 2]");
}
