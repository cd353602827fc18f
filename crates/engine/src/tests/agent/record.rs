//! Traces of an agent's turns: requests, state, Events, trace and conversation.

use serde_json::Value;

use super::{agent_task, bash, live, script, turns, world, write};
use crate::event::Event;
use crate::results::collect;
use crate::test_support::{Script, World, plan};
use codegen_core::agent::{CommandResult, CommandRun};
use codegen_core::call::{CallKind, Request};
use codegen_ledger::{Ledger, MemoryStore};

#[tokio::test]
async fn each_request_begins_with_the_one_before_it() {
    let world = world(agent_task(), script());
    live(&world).await;
    let turns = turns(&world);
    for pair in turns.windows(2) {
        assert_eq!(
            (&pair[0].system, pair[0].user_message()),
            (&pair[1].system, pair[1].user_message())
        );
        let said = |request: &Request| request.conversation.clone().unwrap().exchanges;
        let (before, after) = (said(&pair[0]), said(&pair[1]));
        assert_eq!(after[..before.len()], before[..]);
        assert_eq!(after.len(), before.len() + 1);
    }
}

#[tokio::test]
async fn every_turn_is_an_event() {
    let world = world(agent_task(), script());
    live(&world).await;
    let events = world.watcher.0.lock().unwrap();
    let told: Vec<String> = events
        .iter()
        .filter_map(|event| match event {
            Event::AgentMoved { turn, step } => Some(
                step.results
                    .iter()
                    .map(move |result| format!("{turn} {}", result.headline())),
            ),
            _ => None,
        })
        .flatten()
        .collect();
    assert_eq!(
        told,
        [
            "1 Write solution.py",
            "1 Write /sandbox/test_solution.py",
            "2 Bash ls",
            "2 Bash (denied) curl https://example.org",
            "2 Bash (failed) pytest -q",
            "3 Edit solution.py",
            "3 Bash ls",
            "4 Bash python -m pytest 2>&1 | tail -5",
        ]
    );
}

#[tokio::test]
async fn the_trace_has_every_call_and_the_conversation_every_message_once() {
    let world = world(agent_task(), script());
    let store = MemoryStore::new();
    let progress = world.live(&store).await.unwrap();
    let store = store.restarted(None);
    let entries = Ledger::new(&store).entries(progress.sequence - 1).await.unwrap();
    let results = collect(&world.task, &progress, &store, &entries).await.unwrap();
    let lines = |path: &str| -> Vec<Value> {
        let text = String::from_utf8(results.files[path].clone()).unwrap();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    };
    let trace = lines("agent-trace.jsonl");
    let calls: Vec<String> = trace
        .iter()
        .map(|call| {
            format!(
                "{} {} {} {}",
                call["turn"], call["tool"], call["class"], call["failure"]
            )
        })
        .collect();
    assert_eq!(
        calls,
        [
            r#"1 "Write" null null"#,
            r#"1 "Write" null null"#,
            r#"2 "Bash" "Safe" null"#,
            r#"2 "Bash" "Denied" "Denied""#,
            r#"2 "Bash" "Intercepted" "TestsFailed""#,
            r#"3 "Edit" null null"#,
            r#"3 "Bash" "Safe" null"#,
            r#"4 "Bash" "Intercepted" null"#,
        ]
    );
    assert_eq!(trace[3]["input"]["command"], "curl https://example.org");
    let of_turns = lines("conversation.jsonl")
        .into_iter()
        .filter(|message| message["kind"] == "turn");
    let roles: Vec<String> = of_turns
        .map(|message| message["role"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(
        roles.join(" "),
        "system user assistant tool tool assistant tool tool tool assistant tool tool assistant tool assistant"
    );
    assert!(
        results
            .artifacts
            .iter()
            .any(|artifact| artifact.name == "agent-trace")
    );
}

#[tokio::test]
async fn what_an_agent_wrote_that_never_asked_for_its_tests_is_left() {
    let script = Script::new()
        .with(CallKind::Plan, &plan())
        .with_turn("", &[write("solution.py", "x = 1"), write("tests.py", "y = 2")]);
    let mut world = world(agent_task(), script);
    world.task.limits.agent_max_turns = 1;
    let store = MemoryStore::new();
    let progress = world.live(&store).await.unwrap();
    let store = store.restarted(None);
    let entries = Ledger::new(&store).entries(progress.sequence - 1).await.unwrap();
    let results = collect(&world.task, &progress, &store, &entries).await.unwrap();
    assert_eq!(results.files["solution.py"], b"x = 1");
    assert_eq!(results.files["test_solution.py"], b"y = 2");
    let named: Vec<&str> = results
        .artifacts
        .iter()
        .map(|artifact| artifact.name.as_str())
        .collect();
    assert!(
        named.contains(&"solution") && named.contains(&"tests"),
        "{named:?}"
    );
}

/// The trace of what this world did.
pub(super) async fn traced(world: &World) -> Vec<Value> {
    let store = MemoryStore::new();
    let progress = world.live(&store).await.unwrap();
    let store = store.restarted(None);
    let entries = Ledger::new(&store).entries(progress.sequence - 1).await.unwrap();
    let results = collect(&world.task, &progress, &store, &entries).await.unwrap();
    let text = String::from_utf8(results.files["agent-trace.jsonl"].clone()).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[tokio::test]
async fn commands_and_tests_have_the_times_that_they_took_and_their_whole_size() {
    let mut world = world(agent_task(), script());
    world.sandbox.seconds = 30.0;
    world.sandbox.runs_commands = |phase| {
        let result = CommandResult {
            started_at: Some(900.0),
            seconds: 2.5,
            output: "a part".to_owned(),
            bytes: 1_000_000,
            ..CommandResult::default()
        };
        CommandRun {
            results: vec![result; phase.commands.len()],
            ..CommandRun::default()
        }
    };
    let trace = traced(&world).await;
    let times = |index: usize| {
        (
            trace[index]["startedAt"].as_str().unwrap(),
            trace[index]["finishedAt"].as_str().unwrap(),
        )
    };
    assert_eq!(times(2), ("1970-01-01T00:15:00Z", "1970-01-01T00:15:02.5Z"));
    assert_eq!(trace[2]["bytes"], 1_000_000);
    assert_eq!(
        times(4),
        ("1970-01-01T00:16:10Z", "1970-01-01T00:16:40Z"),
        "a test run of half a minute"
    );
}

#[tokio::test]
async fn calls_of_a_turn_in_which_the_task_ended_are_in_the_trace() {
    let script = Script::new()
        .with(CallKind::Plan, &plan())
        .with_turn("", &[bash("ls"), bash("cat a")]);
    let mut task = agent_task();
    // Its commands need an image.
    task.limits.max_builds = 0;
    let world = world(task, script);
    let trace = traced(&world).await;
    let calls: Vec<String> = trace
        .iter()
        .map(|call| {
            format!(
                "{} {} {}",
                call["turn"], call["input"]["command"], call["failure"]
            )
        })
        .collect();
    assert_eq!(calls, [r#"1 "ls" "NotRun""#, r#"1 "cat a" "NotRun""#]);
}
