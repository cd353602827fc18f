//! Another try of a task on this machine, after any end.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::json;

use crate::support::{document, examples, expect_code, program};

const HINT: &str = "the answer is wanted in lower case";

/// The smallest example on these replies.
fn run(folder: &Path, replies: &str, more: &[&str]) -> Output {
    let recording = folder.join("replies.jsonl");
    fs::write(&recording, replies).unwrap();
    program(&folder.join("out"))
        .arg("-f")
        .arg(examples().join("prompt-only/task.yaml"))
        .arg("--replay")
        .arg(recording)
        .args(more)
        .output()
        .unwrap()
}

/// The recorded replies that another try asks for again.
fn program_and_suite(replies: &str) -> String {
    let is_either = |line: &&str| line.contains(r#""kind": "code""#) || line.contains(r#""kind": "tests""#);
    let lines: Vec<&str> = replies.lines().filter(is_either).collect();
    assert_eq!(lines.len(), 2, "{lines:?}");
    lines.join("\n")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_task_that_has_succeeded_is_tried_again_with_a_hint() {
    let folder = tempfile::tempdir().unwrap();
    let replies = fs::read_to_string(examples().join("prompt-only/replies.jsonl")).unwrap();
    let first = run(folder.path(), &replies, &[]);
    expect_code(&first, 0);
    let calls = document(&first)["status"]["modelCalls"].as_u64().unwrap();

    let bare = run(folder.path(), &replies, &["--retry"]);
    expect_code(&bare, 2);
    assert!(
        said(&bare).contains("ask for a new plan, or give a hint"),
        "{}",
        said(&bare)
    );

    let more = format!("{}\n{}\n", replies.trim_end(), program_and_suite(&replies));
    let asked = ["--retry", "--hint", HINT];
    let again = run(folder.path(), &more, &asked);
    expect_code(&again, 0);
    let status = document(&again)["status"].clone();
    assert_eq!(status["modelCalls"], calls + 2, "{status:#}");
    assert_eq!(status["attempts"].as_array().unwrap().len(), 2);
    let retry = &status["retries"][0];
    assert_eq!(
        (&retry["hint"], &retry["after"]),
        (&json!(HINT), &json!("Succeeded"))
    );
    let left = |name: &str| fs::read_to_string(folder.path().join("out").join(name)).unwrap();
    assert!(left("status.yaml").contains(HINT));
    assert!(left("conversation.jsonl").contains(HINT));
    assert!(folder.path().join("out/attempts/1/solution.py").exists());

    let mut watch = Command::new(env!("CARGO_BIN_EXE_kubectl-codegen"));
    let story = watch
        .arg("watch")
        .arg(folder.path().join("out"))
        .output()
        .unwrap();
    expect_code(&story, 0);
    let story = said(&story);
    let sentence = format!("after Succeeded; the hint: {HINT}");
    assert!(story.contains(&sentence), "{story}");

    // A replay makes the same tries, and needs nothing but the folder.
    let mut replay = Command::new(env!("CARGO_BIN_EXE_kubectl-codegen"));
    let replayed = replay
        .args(["local", "--again"])
        .arg(folder.path().join("out"))
        .output()
        .unwrap();
    expect_code(&replayed, 0);
    let told = String::from_utf8_lossy(&replayed.stdout).into_owned();
    let same = format!("came to the same end on {} recorded replies", calls + 2);
    assert!(told.contains(&same), "{told}");
}

#[test]
fn more_tries_than_a_status_lists_are_shown_and_replayed_to_the_same_end() {
    let folder = tempfile::tempdir().unwrap();
    let replies = fs::read_to_string(examples().join("prompt-only/replies.jsonl")).unwrap();
    let mut all = replies.trim_end().to_owned();
    expect_code(&run(folder.path(), &all, &[]), 0);
    for number in 1..=7 {
        all = format!("{all}\n{}", program_and_suite(&replies));
        let hint = format!("hint {number}");
        let again = run(folder.path(), &all, &["--retry", "--hint", &hint]);
        expect_code(&again, 0);
    }
    let out = folder.path().join("out");
    let shown = |verb: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kubectl-codegen"));
        let done = command.args(verb).arg(&out).output().unwrap();
        expect_code(&done, 0);
        done
    };
    let story = said(&shown(&["watch"]));
    for number in 1..=7 {
        assert!(story.contains(&format!("the hint: hint {number}")), "{story}");
    }
    let replayed = String::from_utf8_lossy(&shown(&["local", "--again"]).stdout).into_owned();
    assert!(
        replayed.contains("came to the same end") && !replayed.contains("on the way there"),
        "{replayed}"
    );
}

#[test]
fn what_is_said_of_a_retry_without_one_is_refused() {
    for given in [["--replan"].as_slice(), &["--hint", "x"]] {
        let folder = tempfile::tempdir().unwrap();
        let ended = run(folder.path(), "", given);
        expect_code(&ended, 2);
        assert!(said(&ended).contains("--retry"), "{}", said(&ended));
    }
}
