//! Gates of local runs, without anybody at a terminal.

use std::fs;
use std::path::Path;
use std::process::{Output, Stdio};

use serde_json::{Value, json};

use crate::support::{document, examples, expect_code, program};

/// The smallest example, which waits at these gates.
fn task(folder: &Path, gates: &[&str]) {
    let text = fs::read_to_string(examples().join("prompt-only/task.yaml")).unwrap();
    let mut task: Value = serde_saphyr::from_str(&text).unwrap();
    task["spec"]["approvals"] = json!(gates);
    fs::write(folder.join("task.json"), task.to_string()).unwrap();
}

fn run(folder: &Path, more: &[&str]) -> Output {
    program(&folder.join("out"))
        .arg("-f")
        .arg(folder.join("task.json"))
        .arg("--replay")
        .arg(examples().join("prompt-only/replies.jsonl"))
        .args(more)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

#[test]
fn a_task_stops_at_each_gate_that_nobody_approves_of_and_goes_on_from_there() {
    let folder = tempfile::tempdir().unwrap();
    task(folder.path(), &["Result", "Plan"]);
    let first = run(folder.path(), &[]);
    expect_code(&first, 1);
    let told = String::from_utf8_lossy(&first.stderr);
    assert!(told.contains("with --approve Plan, or at a terminal"), "{told}");
    let status = &document(&first)["status"];
    assert_eq!(status["reason"], "AwaitingApproval", "{status:#}");
    assert_eq!(
        (&status["stage"], &status["modelCalls"]),
        (&json!("GeneratingCode"), &json!(1))
    );
    assert_eq!(status["approval"]["gate"], "Plan");

    let second = run(folder.path(), &["--approve", "plan"]);
    expect_code(&second, 1);
    let status = &document(&second)["status"];
    assert_eq!(
        (&status["stage"], &status["modelCalls"]),
        (&json!("Passed"), &json!(3))
    );
    assert_eq!(status["approval"]["gate"], "Result");
    assert!(
        folder.path().join("out/solution.py").exists(),
        "what is to be approved can be read"
    );

    let third = run(folder.path(), &["--approve", "Plan,Result"]);
    expect_code(&third, 0);
    let status = &document(&third)["status"];
    assert_eq!(
        (&status["stage"], &status["modelCalls"]),
        (&json!("Succeeded"), &json!(3))
    );
    let gates: Vec<&Value> = status["approvals"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["gate"])
        .collect();
    assert_eq!(gates, ["Plan", "Result"]);
}

#[test]
fn a_gate_that_is_taken_away_is_waited_at_no_more() {
    let folder = tempfile::tempdir().unwrap();
    task(folder.path(), &["Packages"]);
    expect_code(&run(folder.path(), &["--approve", "Image"]), 1);
    task(folder.path(), &[]);
    let done = run(folder.path(), &[]);
    expect_code(&done, 0);
    assert_eq!(document(&done)["status"]["modelCalls"], 3);
}
