//! Cost of a long session of an agent: prompt tokens that a provider's cache can serve, and bytes that stay behind.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use super::figures::tokens;
use crate::test_support::{Script, World, code, failure, plan, tests};
use codegen_api::common::Backend;
use codegen_core::agent::{CommandResult, CommandRun};
use codegen_core::call::{CallKind, Request};
use codegen_core::progress::Progress;
use codegen_core::sandbox::{CommandsPhase, TestFailure};
use codegen_core::stage::StopReason;
use codegen_core::status::{StatusContext, status};
use codegen_core::task::Task;
use codegen_core::test_support::task;
use codegen_ledger::{Ledger, MemoryStore, Store as _};

/// Turns of a long session.
const TURNS: u32 = 50;
/// Most bytes that may be recorded of it beside its replies and its files.
const MOST_RECORDED: usize = 64 * 1024;
/// Bytes by which counters and ranges of numbers may lengthen a status.
const DIGITS: usize = 96;

fn body(number: u32) -> String {
    format!("return len(text) + 0 * {number}")
}

/// The first turn looks at the data, writes both files and runs the tests.
fn first_turn() -> [(&'static str, Value); 4] {
    let source = |value: &Value| value["code"].as_str().unwrap().to_owned();
    let helper = "\n\ndef helper_NUMBER(text: str) -> str:\n    \"\"\"The words of a text in order, number NUMBER.\"\"\"\n    return text\n";
    let helpers: Vec<String> = (0..20)
        .map(|number: u32| helper.replace("NUMBER", &number.to_string()))
        .collect();
    let program = source(&code(&body(0))) + &helpers.concat();
    [
        ("Bash", json!({"command": "head -5 /var/inputs/words.txt"})),
        ("Write", json!({"file_path": "solution.py", "content": program})),
        (
            "Write",
            json!({"file_path": "test_solution.py", "content": source(&tests(2))}),
        ),
        ("Bash", json!({"command": "pytest -q"})),
    ]
}

/// Edits the program again and again and sees another test fail each time; looks at its data, and at its program, now and then.
fn session(turns: u32) -> Script {
    let script = Script::new().with(CallKind::Plan, &plan()).with_turn(
        "I look at the data, write both files and run the tests.",
        &first_turn(),
    );
    (1..turns).fold(script, |script, number| {
        let (old, new) = (body(number - 1), body(number));
        let grep = format!("grep -n word{number} /var/inputs/words.txt");
        let mut calls = vec![
            (
                "Edit",
                json!({"file_path": "solution.py", "old_string": old, "new_string": new}),
            ),
            ("Bash", json!({"command": "python -m pytest -q 2>&1 | tail -20"})),
        ];
        if number.is_multiple_of(5) {
            calls.push(("Bash", json!({"command": grep})));
        }
        if number.is_multiple_of(10) {
            calls.push((
                "Read",
                json!({"file_path": "solution.py", "offset": 1, "limit": 40}),
            ));
        }
        script.with_turn("Another test fails now: I change how words are counted.", &calls)
    })
}

/// Another test fails after each edit.
fn next_failure(solution: &str, _tests: &str, _installed: &[String]) -> Vec<TestFailure> {
    let number = solution
        .split("0 * ")
        .nth(1)
        .and_then(|rest| rest.lines().next())
        .unwrap();
    let number: u32 = number.trim().parse().unwrap();
    let test = format!("test_solution.py::test_counts_{}", number % 7);
    let traceback = format!(
        "    def test_counts():\n>       assert solution.count(\"a b\") == 2\nE       AssertionError: assert 3 == 2 after {number} edits\n\ntest_solution.py:5: AssertionError"
    );
    vec![failure(&test, "AssertionError", &traceback)]
}

/// A screen of lines for each command.
fn screens(phase: &CommandsPhase) -> CommandRun {
    let lines: Vec<String> = (0..20)
        .map(|line| format!("{line:>4}: some words of the sample, as they stand there\n"))
        .collect();
    let result = CommandResult {
        output: lines.concat(),
        ..CommandResult::default()
    };
    CommandRun {
        results: vec![result; phase.commands.len()],
        ..CommandRun::default()
    }
}

/// A session that ends with its last turn, and what it left.
async fn ended_after(turns: u32) -> (World, MemoryStore, Progress) {
    let mut task = Task {
        backend: Backend::Agent,
        ..task()
    };
    task.limits.agent_max_turns = turns;
    let mut world = World::new(task, session(TURNS), next_failure);
    world.sandbox.runs_commands = screens;
    let store = MemoryStore::new();
    let progress = world.live(&store).await.unwrap();
    let stop = progress.stop.clone().unwrap();
    assert_eq!(stop.reason, StopReason::IterationsExhausted, "{stop}");
    (world, store, progress)
}

/// Returns the texts that go out with a turn, in order: a request that another begins with is a beginning of its text.
fn prompt(request: &Request) -> String {
    let conversation = request.conversation.as_ref().unwrap();
    let exchanges = conversation.exchanges.iter();
    let said: String = exchanges
        .map(|exchange| serde_json::to_string(exchange).unwrap() + "\n")
        .collect();
    let tools = serde_json::to_string(&conversation.tools).unwrap();
    [&request.system, &tools, &request.user_message(), &said]
        .map(String::as_str)
        .join("\n")
}

#[tokio::test]
async fn most_tokens_of_a_session_are_a_beginning_that_the_turn_before_had() {
    let (world, _, _) = ended_after(20).await;
    let requests = world.script.requests.lock().unwrap();
    let prompts: Vec<String> = requests
        .iter()
        .filter(|request| request.kind == CallKind::Turn)
        .map(prompt)
        .collect();
    assert_eq!(prompts.len(), 20);
    let all: usize = prompts.iter().map(|prompt| tokens(prompt)).sum();
    let repeated: usize = prompts
        .windows(2)
        .map(|pair| {
            let same = pair[0]
                .bytes()
                .zip(pair[1].bytes())
                .take_while(|(one, other)| one == other);
            tokens(&pair[1][..pair[1].floor_char_boundary(same.count())])
        })
        .sum();
    println!("{repeated} of {all} prompt tokens");
    assert!(repeated * 10 >= all * 9, "{repeated} of {all} tokens");
}

/// Bytes of the status, and the names that are listed in it: numbers take no room of their own.
fn listed(world: &World, store: &MemoryStore, progress: &Progress) -> (usize, BTreeSet<String>) {
    let shown = status(&world.task, progress, StatusContext::default(), (world.clock)());
    let bytes = serde_json::to_vec(&shown).unwrap().len() + serde_json::to_vec(progress).unwrap().len();
    let number = regex::Regex::new(r"\d{4}").unwrap();
    let names = store.names();
    let patterns = names.iter().map(|name| number.replace(name, "*").into_owned());
    (bytes, patterns.collect())
}

#[tokio::test]
async fn the_status_of_a_session_does_not_grow_with_its_turns() {
    let (world, store, progress) = ended_after(20).await;
    let (before, few) = listed(&world, &store, &progress);
    let (world, store, progress) = ended_after(TURNS).await;
    let (after, many) = listed(&world, &store, &progress);
    println!("{before} bytes after 20 turns, {after} after {TURNS}");
    assert!(after <= before + DIGITS, "{before} bytes, then {after}");
    assert_eq!(few, many);
}

/// Bytes as they are and as a Secret holds them.
#[derive(Clone, Copy, Default)]
struct Stored {
    plain: usize,
    packed: usize,
}

impl Stored {
    fn add(&mut self, bytes: &[u8]) {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(bytes).unwrap();
        self.plain += bytes.len();
        self.packed += encoder.finish().unwrap().len();
    }
}

#[tokio::test]
async fn what_is_stored_of_a_session_beside_its_replies_and_its_files_is_small() {
    let (_, store, progress) = ended_after(TURNS).await;
    assert_eq!(progress.attempt, TURNS, "each turn had a test run");
    let mut kinds: BTreeMap<&str, Stored> = BTreeMap::new();
    for name in store.names() {
        let kind = match name.strip_prefix("documents/") {
            Some(name) if name.starts_with("step-") => "results of tools",
            Some(name) if name.starts_with("run-") => "test runs",
            Some(name) if name.starts_with("solution-") || name.starts_with("tests-") => "files",
            None if name.ends_with("-turn.json") => continue,
            _ => "other",
        };
        let bytes = store.read(&name).await.unwrap().unwrap();
        kinds.entry(kind).or_default().add(&bytes);
    }
    for mut entry in Ledger::new(&store).entries(progress.sequence).await.unwrap() {
        let reply = std::mem::take(&mut entry.reply);
        kinds
            .entry("replies")
            .or_default()
            .add(&serde_json::to_vec(&reply).unwrap());
        kinds
            .entry("around replies")
            .or_default()
            .add(&serde_json::to_vec(&entry).unwrap());
    }
    for (kind, stored) in &kinds {
        println!("{kind}: {} bytes, {} packed", stored.plain, stored.packed);
    }
    let beside: usize = ["results of tools", "test runs"]
        .iter()
        .map(|kind| kinds[kind].packed)
        .sum();
    assert!(beside <= MOST_RECORDED, "{beside} bytes");
    let around = kinds["around replies"];
    assert!(around.plain <= TURNS as usize * 512, "{} bytes", around.plain);
}
