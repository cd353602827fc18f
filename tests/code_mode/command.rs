//! Tools of a server that is a program of this machine.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{document, expect_code};
use crate::{Case, stderr};

const SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/code_mode/stdio_server.py");

fn case(program: &str, behaviour: &str) -> Case {
    let case = Case::new(&[program, program, program]);
    let command = json!(["python3", SERVER, behaviour]);
    case.agent(&[json!({"name": "sums", "mcp": {"command": command}})]);
    case
}

/// Whether a process is there; one that has ended and was not waited for is not.
fn is_alive(id: &str) -> bool {
    let status = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    let state = status.rsplit_once(") ").map(|(_, rest)| rest.starts_with('Z'));
    state == Some(false)
}

#[test]
fn a_program_calls_a_server_that_is_a_command_and_ends_with_the_question() {
    let case = case("total = await add(2, 3)\ntotal['sum'] * 2", "good");
    let output = case.ask();
    expect_code(&output, 0);
    assert_eq!(document(&output)["value"], 10);
    let ids = fs::read_to_string(case.path("pids")).unwrap();
    let deadline = Instant::now() + Duration::from_secs(30);
    for id in ids.split(' ') {
        while is_alive(id) {
            assert!(Instant::now() < deadline, "{id} lives on");
            std::thread::yield_now();
        }
    }
}

#[test]
fn a_command_gets_no_keys_of_whoever_asks() {
    let case = case("await variables()", "good");
    let mut command = case.command("Which variables are there?");
    let output = command.env("SOME_API_KEY", "sk-1").output().unwrap();
    expect_code(&output, 0);
    let names: Vec<Value> = document(&output)["value"].as_array().unwrap().clone();
    assert!(names.contains(&json!("PATH")), "{names:?}");
    assert!(!names.contains(&json!("SOME_API_KEY")), "{names:?}");
}

#[test]
fn what_a_command_said_before_its_end_is_shown_and_bounded() {
    let case = case("await add(2, 3)", "fail");
    let output = case.ask();
    expect_code(&output, 1);
    let said = document(&output).to_string();
    assert!(said.contains("and said: the index is gone"), "{said}");
    let shown = stderr(&output);
    assert!(said.len() + shown.len() < 30_000, "{said}\n{shown}");
}

#[test]
fn a_command_that_is_not_there_is_named_before_the_model_is_asked() {
    let case = Case::new(&["1"]);
    case.agent(&[json!({"name": "sums", "mcp": {"command": ["no-such-server"]}})]);
    let output = case.ask();
    expect_code(&output, 2);
    assert!(
        stderr(&output).contains("`no-such-server` could not be started"),
        "{}",
        stderr(&output)
    );
    assert_eq!(case.shop.count("model"), 0);
}
