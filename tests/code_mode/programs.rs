//! Programs of finished tasks as tools: run in a real sandbox, once for equal arguments, also where a kill came between.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use rstest::rstest;
use serde_json::{Value, json};

use crate::support::{document, expect_code};
use crate::{Case, QUESTION, stderr};

const COUNTING: &str = r#""""Count the words of a text."""

import argparse
from pathlib import Path


def main() -> None:
    """Read the text, write it and the number of its words."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--text", required=True)
    parser.add_argument("--upper", default="false")
    args = parser.parse_args()
    text = Path(args.text).read_text()
    if not text.strip():
        raise ValueError("there are no words")
    Path("/var/outputs/copy").write_text(text.upper() if args.upper == "true" else text)
    Path("/var/outputs/words").write_text(str(len(text.split())))
    Path("/var/outputs/letters").mkdir()
    Path("/var/outputs/letters/a.txt").write_text(text[:1])


if __name__ == "__main__":
    main()
"#;

const FINISH: &str = "kubectl-codegen local -f agent.json -f task.json --task word-count";

/// A case whose agent has the program of a task besides its other tools.
fn case(programs: &[&str]) -> Case {
    let case = Case::new(programs);
    let mut tools = case.tools();
    tools.push(json!({"name": "count", "taskRef": {"name": "word-count"}}));
    case.agent(&tools);
    task(&case, "Count the words of a text.");
    case
}

/// Writes the manifest of the task.
fn task(case: &Case, prompt: &str) {
    let task = json!({
        "apiVersion": "codegen-operator.dev/v1alpha1", "kind": "CodeGenTask", "metadata": {"name": "word-count"},
        "spec": {
            "prompt": prompt, "model": {"name": "m"}, "testing": {"mode": "Skip", "cases": "Off"},
            "samples": [{"name": "text", "inline": "one two", "fileName": "text.txt"}],
            "inputs": [{"name": "upper", "type": "Bool", "default": "false"}],
            "outputs": [{"name": "copy", "type": "File", "format": "Text"}, {"name": "words", "type": "Int"}, {"name": "letters", "type": "Dir"}],
        },
    });
    fs::write(case.path("task.json"), task.to_string()).unwrap();
}

/// Writes the program of the task by recorded replies, of which the first `replies` are there, with a command that a message gave.
fn finish(case: &Case, code: &str, replies: usize, command: &str) -> Output {
    let plan =
        json!({"description": "Counts.", "approach": "Split.", "libraries": [], "cases": [], "unstable": []});
    let lines = [
        json!({"kind": "plan", "reply": plan}).to_string(),
        json!({"kind": "code", "reply": {"code": code, "packages": [], "systemPackages": []}}).to_string(),
    ];
    fs::write(case.path("replies.jsonl"), lines[..replies].join("\n")).unwrap();
    Command::new(env!("CARGO_BIN_EXE_kubectl-codegen"))
        .current_dir(case.folder.path())
        .args(command.split_whitespace().skip(1))
        .args(["--replay", "replies.jsonl"])
        .output()
        .unwrap()
}

/// A case whose task is finished.
fn finished(programs: &[&str]) -> Case {
    let case = case(programs);
    expect_code(&finish(&case, COUNTING, 2, FINISH), 0);
    case
}

fn ask(case: &Case) -> Output {
    let mut command = case.command(QUESTION);
    command.args(["-f", "task.json"]).output().unwrap()
}

/// The runs that the question has made, by their folders.
fn runs(case: &Case) -> Vec<PathBuf> {
    let state = fs::read_dir(case.path("out/.runs")).unwrap();
    let calls = state.map(|entry| entry.unwrap().path().join("calls"));
    let calls = calls
        .filter(|path| path.is_dir())
        .flat_map(|path| fs::read_dir(path).unwrap());
    calls.map(|entry| entry.unwrap().path()).collect()
}

const PASSING_ON: &str = "import asyncio
first, same = await asyncio.gather(count(text='a b c'), count('a b c'))
again = await count(text=first['copy'], upper=True)
sample = await count()
try:
    await read_text(first['letters'])
except ValueError as error:
    print(error)
try:
    await count(text=first['letters'])
except ValueError as error:
    print(error)
[first == same, first['words'], again['words'], await read_text(again['copy'], 3), sample['words']]";

#[test]
fn a_finished_program_is_a_tool_whose_files_other_calls_take() {
    let case = finished(&[PASSING_ON]);
    let output = ask(&case);
    expect_code(&output, 0);
    let document = document(&output);
    assert_eq!(document["value"], json!([true, 3, 3, "A B", 2]));
    assert_eq!(document["toolCalls"], json!({"count": 5, "read_text": 2}));
    let journal = case.read("journal.jsonl");
    assert!(
        journal.contains("is a folder, which read_text does not read"),
        "{journal}"
    );
    assert!(journal.contains("is a File, and a folder was given"), "{journal}");
    assert_eq!(runs(&case).len(), 3, "equal calls are one run");
    let copies = fs::read_dir(case.path("out/files")).unwrap();
    let copies: Vec<String> = copies
        .map(|run| fs::read_to_string(run.unwrap().path().join("copy.txt")).unwrap())
        .collect();
    assert_eq!(copies.len(), 3);
    for text in ["a b c", "A B C", "one two"] {
        assert!(copies.iter().any(|copy| copy == text), "{copies:?}");
    }
}

#[test]
fn a_program_that_fails_is_an_exception() {
    let program = "said = ''\ntry:\n    await count(text=' ')\nexcept RuntimeError as error:\n    said = str(error)\nsaid";
    let case = finished(&[program]);
    let output = ask(&case);
    expect_code(&output, 0);
    let answer = document(&output)["answer"].clone();
    let answer = answer.as_str().unwrap();
    assert!(answer.starts_with("the run word-count-"), "{answer}");
    assert!(
        answer.contains("exit code 1: ValueError: there are no words"),
        "{answer}"
    );
    assert!(runs(&case).is_empty());
}

#[rstest]
#[case::another_run("{'file': 'word-count-0/copy', 'sha256': first['copy']['sha256'], 'bytes': 1}")]
#[case::another_content("{'file': first['copy']['file'], 'sha256': '0', 'bytes': 1}")]
#[case::a_value(
    "{'file': first['copy']['file'].replace('/copy', '/words'), 'sha256': first['copy']['sha256'], 'bytes': 1}"
)]
#[case::a_path("{'file': '../../agent.json', 'sha256': first['copy']['sha256'], 'bytes': 1}")]
fn a_file_that_no_call_gave_is_not_read_and_not_passed_on(#[case] handle: &str) {
    let program = format!(
        "first = await count(text='a')
made_up: File = {handle}
said = []
try:
    await read_text(made_up)
except ValueError as error:
    said.append(str(error))
try:
    await count(text=made_up)
except ValueError as error:
    said.append(str(error))
said"
    );
    let case = finished(&[&program]);
    let output = ask(&case);
    expect_code(&output, 0);
    let said = document(&output)["value"].clone();
    let said: Vec<String> = serde_json::from_value(said).unwrap();
    let is_refused = |said: &str| {
        let said = said.trim_start_matches("text: ");
        said.starts_with("no tool gave the file ") || said.contains(" is no file: pass on what a tool gave")
    };
    assert!(
        said.len() == 2 && said.iter().all(|said| is_refused(said)),
        "{said:?}"
    );
}

const WAITING: &str = "counted = await count(text='a b')
left = await slow()
[counted['words'], left]";

/// Asks, and kills the command when the run of the program has ended and the next call is in flight.
fn kill_after_the_run(case: &Case) {
    let mut command = case.command(QUESTION);
    command
        .args(["-f", "task.json"])
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    case.shop.until("slow");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_run_that_had_ended_before_a_kill_is_not_made_again() {
    let case = finished(&[WAITING]);
    kill_after_the_run(&case);
    let made = runs(&case);
    let record = |path: &PathBuf| fs::read_to_string(path.join("run.json")).unwrap();
    let before: Vec<String> = made.iter().map(record).collect();
    let output = ask(&case);
    expect_code(&output, 0);
    assert_eq!(document(&output)["value"], json!([2, 7]));
    assert_eq!(runs(&case), made);
    assert_eq!(made.iter().map(record).collect::<Vec<_>>(), before);
    let run: Value = serde_json::from_str(before[0].rsplit_once("\n\"hmac").unwrap().0).unwrap();
    assert_eq!(run["kind"], "CodeGenRun");
    assert_eq!(run["spec"]["inputs"][0]["source"]["inline"], "a b");
}

#[test]
fn a_question_does_not_go_on_with_another_program_than_it_began_with() {
    let case = finished(&[WAITING]);
    kill_after_the_run(&case);
    let other = COUNTING.replace("len(text.split())", "len(text)");
    let fresh = format!("{FINISH} --fresh");
    expect_code(&finish(&case, &other, 2, &fresh), 0);
    let output = ask(&case);
    expect_code(&output, 2);
    let said = stderr(&output);
    assert!(
        said.contains("the program of CodeGenTask word-count is another one than when this was asked; --fresh asks with the new one"),
        "{said}"
    );
}

#[test]
fn a_task_that_is_not_among_the_manifests_is_named() {
    let case = finished(&["1"]);
    let output = case.ask();
    expect_code(&output, 2);
    let said = stderr(&output);
    assert!(
        said.contains("taskRef of tool `count` refers to CodeGenTask word-count, which is not among the manifests: add its document with -f"),
        "{said}"
    );
}

/// How far the task of a case came.
enum Came {
    Nowhere,
    ToItsPlan,
    ToItsEndBeforeItChanged,
}

#[rstest]
#[case(Came::Nowhere, "there is no program in codegen-out/word-count")]
#[case(Came::ToItsPlan, "it is in stage GeneratingCode")]
#[case(
    Came::ToItsEndBeforeItChanged,
    "its manifest has changed since its program passed the tests"
)]
fn a_task_that_is_not_finished_is_refused_with_the_command_that_finishes_it(
    #[case] came: Came,
    #[case] expected: &str,
) {
    let case = case(&["(await count())['words']"]);
    match came {
        Came::Nowhere => {}
        Came::ToItsPlan => expect_code(&finish(&case, COUNTING, 1, FINISH), 1),
        Came::ToItsEndBeforeItChanged => {
            expect_code(&finish(&case, COUNTING, 2, FINISH), 0);
            task(&case, "Count the words of a text, as wc does.");
        }
    }
    let refused = ask(&case);
    expect_code(&refused, 2);
    let said = stderr(&refused);
    assert!(
        said.contains(&format!(
            "CodeGenTask word-count is not finished, {expected}; finish it with: {FINISH}"
        )),
        "{said}"
    );
    assert_eq!(case.shop.count("model"), 0);
    let command = said.split("finish it with: ").nth(1).unwrap().to_owned();
    expect_code(&finish(&case, COUNTING, 2, &command), 0);
    let answered = ask(&case);
    expect_code(&answered, 0);
    assert_eq!(document(&answered)["value"], 2);
}
