//! `kubectl-codegen local run`: the program of a finished task on values and files of the user's, in the real sandbox.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests say what they expect"
)]

mod support;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use serde_json::{Value, json};
use support::{document, examples, expect_code, manifest, program};
use tempfile::TempDir;

/// Adds up amounts; what it writes breaks its constraint where an item's amounts are below nothing together.
const TOTALS: &str = r#"apiVersion: codegen-operator.dev/v1alpha1
kind: CodeGenTask
metadata: {name: totals}
spec:
  prompt: Total the amounts of each item.
  model: {name: some-model}
  samples: [{name: sales, inline: "item,amount\npear,2\nfig,3\n"}]
  constraints: [every total is at least 0, item is never missing]
  inputs:
    - {name: title, type: String}
    - {name: factor, type: Float, default: "1"}
    - {name: notes, type: Dir}
  outputs:
    - {name: totals, type: File, format: CSV}
    - {name: parts, type: Dir}
    - {name: title, type: String}
    - {name: all, type: Float}
  testing: {mode: Skip}
  sandbox:
    secrets: [{name: TOKEN, secretKeyRef: {name: shop, key: token}}]
---
apiVersion: v1
kind: Secret
metadata: {name: shop}
stringData: {token: hunter-2222}
"#;

const TOTALS_PROGRAM: &str = r#""""Total the amounts of each item."""

import argparse
import csv
import os
from pathlib import Path

OUTPUTS = Path("/var/outputs")


def total(rows: list[dict[str, str]], factor: float) -> dict[str, float]:
    """Return the sum of the amounts of each item."""
    totals: dict[str, float] = {}
    for row in rows:
        totals[row["item"]] = totals.get(row["item"], 0.0) + float(row["amount"]) * factor
    return totals


def main() -> None:
    """Read the sales and write their totals."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sales", required=True)
    parser.add_argument("--title", required=True)
    parser.add_argument("--factor", type=float, default=1.0)
    parser.add_argument("--notes", required=True)
    args = parser.parse_args()
    if args.title == "tell":
        raise SystemExit("the token is " + os.environ["TOKEN"])
    if args.title == "hog":
        print(len(bytearray(4 << 30)))
    with open(args.sales, newline="", encoding="utf-8") as file:
        totals = total(list(csv.DictReader(file)), args.factor)
    with open(OUTPUTS / "totals", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["item", "total"])
        writer.writerows(totals.items())
    (OUTPUTS / "parts").mkdir()
    for note in sorted(Path(args.notes).iterdir()):
        (OUTPUTS / "parts" / note.name).write_text(note.read_text() + "\n")
    (OUTPUTS / "title").write_text(args.title)
    (OUTPUTS / "all").write_text(str(sum(totals.values())))


if __name__ == "__main__":
    main()
"#;

fn run(folder: &Path, args: &[&str]) -> Output {
    command(folder, args).output().unwrap()
}

fn command(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kubectl-codegen"));
    command.args(["local", "run"]).arg(folder).args(args);
    command
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The finished penguins task, made once for all tests of this file.
fn penguins() -> PathBuf {
    static MADE: OnceLock<TempDir> = OnceLock::new();
    let made = MADE.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let example = examples().join("penguins");
        let done = program(folder.path())
            .args(manifest(&example))
            .arg("--replay")
            .arg(example.join("replies.jsonl"))
            .output()
            .unwrap();
        expect_code(&done, 0);
        folder
    });
    made.path().to_owned()
}

/// The folder of the finished totals task, its manifest, and a folder for its notes.
fn totals() -> (PathBuf, PathBuf, PathBuf) {
    static MADE: OnceLock<TempDir> = OnceLock::new();
    let made = MADE.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let check = |constraint: u8, column: &str, kind: &str, arguments: Value| {
            json!({"constraint": constraint, "column": column, "kind": kind, "arguments": arguments})
        };
        let checks = [
            check(0, "total", "greater_or_equal", json!(["0"])),
            check(1, "item", "not_null", json!([])),
        ];
        let replies = [
            json!({"kind": "constraints", "reply": {"checks": checks}}),
            json!({"kind": "plan", "reply": {
                "description": "Totals.", "approach": "Add up.", "libraries": [],
                "cases": [
                    {"about": "an item twice is one total", "inputs": [{"name": "sales", "value": "item,amount\npear,2\nfig,3\npear,5\n"}, {"name": "title", "value": "a"}, {"name": "notes/a.txt", "value": "a note"}], "refused": false, "expect": [{"output": "totals", "check": "SameRows", "at": "", "value": "item,total\npear,7\nfig,3", "tolerance": ""}, {"output": "all", "check": "Equals", "at": "", "value": "10", "tolerance": ""}]},
                    {"about": "the factor applies to every amount", "inputs": [{"name": "sales", "value": "item,amount\npear,2\nfig,3\n"}, {"name": "title", "value": "a"}, {"name": "factor", "value": "2"}, {"name": "notes/a.txt", "value": "a note"}], "refused": false, "expect": [{"output": "totals", "check": "Equals", "at": "item=fig/total", "value": "6", "tolerance": ""}, {"output": "all", "check": "Equals", "at": "", "value": "10", "tolerance": ""}]},
                    {"about": "title and notes as they are", "inputs": [{"name": "sales", "value": "item,amount\nÖl,1\n"}, {"name": "title", "value": "Süß & sauer"}, {"name": "notes/a.txt", "value": "a note"}], "refused": false, "expect": [{"output": "title", "check": "Equals", "at": "", "value": "Süß & sauer", "tolerance": ""}, {"output": "parts/a.txt", "check": "Contains", "at": "", "value": "a note", "tolerance": ""}, {"output": "totals", "check": "Contains", "at": "item", "value": "Öl", "tolerance": ""}]},
                    {"about": "a total of nothing is allowed", "inputs": [{"name": "sales", "value": "item,amount\npear,2\npear,-2\n"}, {"name": "title", "value": "a"}, {"name": "notes/a.txt", "value": "a note"}], "refused": false, "expect": [{"output": "totals", "check": "Equals", "at": "item=pear/total", "value": "0", "tolerance": ""}]},
                    {"about": "no sales", "inputs": [{"name": "sales", "value": "item,amount\n"}, {"name": "title", "value": "a"}, {"name": "notes/a.txt", "value": "a note"}], "refused": false, "expect": [{"output": "totals", "check": "Rows", "at": "", "value": "0", "tolerance": ""}, {"output": "all", "check": "Equals", "at": "", "value": "0", "tolerance": ""}]},
                ],
                "unstable": [],
                "invariants": ["RowOrder", "ColumnOrder", "ExtraColumn"],
            }}),
            json!({"kind": "code", "reply": {"code": TOTALS_PROGRAM, "packages": [], "systemPackages": []}}),
        ];
        let lines: Vec<String> = replies.iter().map(ToString::to_string).collect();
        fs::write(at("replies.jsonl"), lines.join("\n")).unwrap();
        fs::write(at("task.yaml"), TOTALS).unwrap();
        fs::create_dir(at("notes")).unwrap();
        fs::write(at("notes/a.txt"), "from a note").unwrap();
        let done = program(&at("results"))
            .arg("-f")
            .arg(at("task.yaml"))
            .arg("--replay")
            .arg(at("replies.jsonl"))
            .output()
            .unwrap();
        expect_code(&done, 0);
        folder
    });
    (
        made.path().join("results"),
        made.path().join("task.yaml"),
        made.path().join("notes"),
    )
}

/// A run of the totals task, with its Secret.
fn total(args: &[&str]) -> Output {
    let (folder, task, notes) = totals();
    let task = task.display().to_string();
    let notes = format!("notes=@{}", notes.display());
    let all = ["-f", &task, "--input", &notes];
    run(&folder, &[&all[..], args].concat())
}

#[test]
fn another_file_and_another_value_give_other_outputs_of_the_same_program() {
    let target = tempfile::tempdir().unwrap();
    let file = target.path().join("today.csv");
    fs::write(
        &file,
        "species,body_mass_g,island,bill_length_mm,bill_depth_mm,flipper_length_mm,sex,year\n\
         Emu,3000,a,1.5,1.5,1,male,2026\nEmu,4001,a,1.5,1.5,1,male,2026\nRhea,,a,1.5,1.5,1,male,2026\n",
    )
    .unwrap();
    let out = target.path().join("out");
    let input = format!("measurements=@{}", file.display());
    let done = run(
        &penguins(),
        &[
            "--input",
            &input,
            "--input",
            "decimals=2",
            "--output-dir",
            out.to_str().unwrap(),
        ],
    );
    expect_code(&done, 0);
    assert_eq!(
        stdout(&done),
        format!(
            "OUTPUT   TYPE  VALUE\nsummary  File  {} (47 bytes)\nspecies  Int   1\n",
            out.join("summary.csv").display()
        )
    );
    assert_eq!(stderr(&done), "");
    assert_eq!(
        fs::read_to_string(out.join("summary.csv")).unwrap(),
        "species,count,mean_body_mass_g\r\nEmu,2,3500.50\r\n"
    );
}

#[test]
fn without_inputs_the_program_runs_on_the_samples_and_defaults() {
    let done = run(&penguins(), &["-o", "json"]);
    expect_code(&done, 0);
    let run = document(&done);
    assert_eq!(run["kind"], "CodeGenRun");
    let status = &run["status"];
    assert_eq!(status["stage"], "Succeeded");
    let names: Vec<&str> = [
        "/inputs/0/from",
        "/inputs/1/value",
        "/outputs/0/fileName",
        "/outputs/1/value",
    ]
    .iter()
    .map(|path| status.pointer(path).and_then(Value::as_str).unwrap_or_default())
    .collect();
    assert_eq!(names, ["Default", "1", "summary.csv", "3"]);
    let published = fs::read(penguins().join("outputs/summary.csv")).unwrap();
    assert_eq!(status["outputs"][0]["bytes"], published.len());
}

#[test]
fn everything_wrong_with_the_inputs_is_said_and_nothing_runs() {
    let done = run(
        &penguins(),
        &[
            "--input",
            "decimals=ten",
            "--input",
            "measurement=@absent.csv",
            "--input",
            "measurements=a.csv",
        ],
    );
    expect_code(&done, 2);
    assert_eq!(
        stderr(&done),
        "error: input \"measurements\" is a File, not the text \"a.csv\": give a file, as @a.csv\n\
         error: input \"decimals\" is an Int, \"ten\" is not: give a whole number like 2\n\
         error: the program has no input \"measurement\": did you mean \"measurements\"?\n"
    );
    let absent = run(&penguins(), &["--input", "measurements=@absent.csv"]);
    expect_code(&absent, 2);
    assert!(
        stderr(&absent).starts_with("error: measurements: cannot read absent.csv: No such file"),
        "{}",
        stderr(&absent)
    );
}

#[test]
fn a_program_that_fails_gives_its_exit_code_and_its_last_lines() {
    let mut child = command(&penguins(), &["--input", "measurements=@-", "-o", "json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"a,b\n1,2\n").unwrap();
    let done = child.wait_with_output().unwrap();
    expect_code(&done, 1);
    let status = document(&done)["status"].clone();
    assert_eq!(status["stage"], "Failed");
    assert_eq!(status["reason"], "ProgramFailed");
    assert_eq!(status["exitCode"], 1);
    assert_eq!(
        status["message"],
        "the program ended with exit code 1: KeyError: 'body_mass_g'"
    );
    assert!(status["lastLines"].as_str().unwrap().contains("Traceback"));
    let told = stderr(&done);
    assert!(
        told.starts_with("! input measurements: expected the columns species, island,"),
        "{told}"
    );
    assert!(
        told.contains("error: the program ended with exit code 1: KeyError: 'body_mass_g'\n"),
        "{told}"
    );
    assert!(
        told.contains("\n    File \"/sandbox/solution.py\", line "),
        "{told}"
    );
}

#[test]
fn an_input_that_breaks_a_constraint_warns_and_is_refused_only_where_that_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("heavy.csv");
    let sample = fs::read_to_string(examples().join("penguins/penguins.csv")).unwrap();
    fs::write(&file, sample.replacen(",3750,", ",99999,", 1)).unwrap();
    let input = format!("measurements=@{}", file.display());
    let warning = "1 value breaks body_mass_g between 2000 and 8000 (line 2: \"99999\")";

    let done = run(&penguins(), &["--input", &input, "-o", "json"]);
    expect_code(&done, 0);
    assert_eq!(stderr(&done), format!("! input measurements: {warning}\n"));
    let finding = document(&done)["status"]["findings"][0].clone();
    assert_eq!(finding["severity"], "Warning");
    assert_eq!(
        (&finding["column"], &finding["count"]),
        (&json!("body_mass_g"), &json!(1))
    );

    let refused = run(&penguins(), &["--input", &input, "--validation", "enforce"]);
    expect_code(&refused, 1);
    assert_eq!(stdout(&refused), "");
    assert_eq!(
        stderr(&refused),
        format!("error: the program was not run: input measurements: {warning}\n")
    );
    let quiet = run(&penguins(), &["--input", &input, "--validation", "off"]);
    expect_code(&quiet, 0);
    assert_eq!(stderr(&quiet), "");
}

#[test]
fn an_output_that_breaks_a_constraint_on_its_columns_fails_the_run() {
    let args = ["--input", "title=a", "--input", "factor=-1"];
    let done = total(&args);
    expect_code(&done, 1);
    assert_eq!(
        stderr(&done),
        "error: output totals: 2 values break total greater than or equal to 0 (line 2: \"-2.0\", line 3: \"-3.0\")\n"
    );
    let warned = total(&[&args[..], &["--validation", "warn", "-o", "value"]].concat());
    expect_code(&warned, 0);
    assert!(
        stderr(&warned).starts_with("! output totals: 2 values break total"),
        "{}",
        stderr(&warned)
    );
}

#[test]
fn values_are_bare_in_declared_order_and_folders_are_written() {
    let target = tempfile::tempdir().unwrap();
    let out = target.path().join("out");
    let args = [
        "--input",
        "title=@one\ntwo",
        "-o",
        "value",
        "--output-dir",
        out.to_str().unwrap(),
    ];
    let done = total(&args);
    expect_code(&done, 0);
    let (table, parts) = (out.join("totals.csv"), out.join("parts"));
    assert_eq!(
        stdout(&done),
        format!("{}\n{}\n@one\\ntwo\n5\n", table.display(), parts.display())
    );
    assert_eq!(fs::read_to_string(parts.join("a.txt")).unwrap(), "from a note\n");

    let again = total(&args);
    expect_code(&again, 2);
    assert!(
        stderr(&again).contains("parts is not empty"),
        "{}",
        stderr(&again)
    );
}

#[test]
fn a_folder_that_another_run_writes_to_is_refused_until_that_has_ended() {
    let target = tempfile::tempdir().unwrap();
    let out = target.path().join("out");
    let args = ["--input", "title=x", "--output-dir", out.to_str().unwrap()];
    let other = codegen_operator::local::run::write::hold(&out).unwrap();
    let refused = total(&args);
    expect_code(&refused, 2);
    let told = stderr(&refused);
    assert!(
        told.contains(&format!("{} is in use", out.display())) && told.contains("--output-dir"),
        "{told}"
    );
    assert!(fs::read_dir(&out).unwrap().next().is_none());
    drop(other);
    expect_code(&total(&args), 0);
}

#[test]
fn a_secret_reaches_the_program_and_nothing_that_is_shown() {
    let done = total(&["--input", "title=tell"]);
    expect_code(&done, 1);
    let told = stderr(&done);
    assert!(told.contains("the token is [redacted:TOKEN]"), "{told}");
    assert!(!told.contains("hunter-2222"), "{told}");

    let (folder, _, notes) = totals();
    let notes = format!("notes=@{}", notes.display());
    let without = run(&folder, &["--input", "title=tell", "--input", &notes]);
    expect_code(&without, 2);
    assert!(
        stderr(&without).contains("refers to Secret shop, which is not among the manifests"),
        "{}",
        stderr(&without)
    );
}

#[test]
fn the_limit_that_a_program_met_is_named() {
    let done = total(&["--input", "title=hog", "-o", "json"]);
    expect_code(&done, 1);
    let status = document(&done)["status"].clone();
    assert_eq!(status["reason"], "LimitExceeded", "{status:#}");
    assert_eq!(status["limit"], "Memory");
    assert!(
        stderr(&done).contains("sandbox.resources.limits.memory"),
        "{}",
        stderr(&done)
    );
}

#[test]
fn an_input_without_a_default_must_be_given() {
    let done = total(&[]);
    expect_code(&done, 2);
    assert_eq!(
        stderr(&done),
        "error: input \"title\" has no default: give it a text\n"
    );
}

#[test]
fn a_program_that_was_edited_is_not_the_one_that_runs() {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("results");
    let status = Command::new("cp")
        .arg("-r")
        .arg(penguins())
        .arg(&copy)
        .status()
        .unwrap();
    assert!(status.success());
    fs::write(copy.join("solution.py"), "raise SystemExit(7)\n").unwrap();
    let done = run(&copy, &[]);
    expect_code(&done, 0);
    assert!(
        stderr(&done).contains("solution.py was changed since its tests passed"),
        "{}",
        stderr(&done)
    );
}

#[test]
fn a_folder_without_a_finished_task_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let done = run(folder.path(), &[]);
    expect_code(&done, 2);
    assert!(
        stderr(&done).contains("holds no finished task"),
        "{}",
        stderr(&done)
    );

    let example = examples().join("penguins");
    let replies = fs::read_to_string(example.join("replies.jsonl")).unwrap();
    let first: Vec<&str> = replies.lines().take(2).collect();
    fs::write(folder.path().join("replies.jsonl"), first.join("\n")).unwrap();
    let cut = program(&folder.path().join("results"))
        .args(manifest(&example))
        .arg("--replay")
        .arg(folder.path().join("replies.jsonl"))
        .output()
        .unwrap();
    expect_code(&cut, 1);
    let unfinished = run(&folder.path().join("results"), &[]);
    expect_code(&unfinished, 2);
    assert!(
        stderr(&unfinished).contains("has not succeeded"),
        "{}",
        stderr(&unfinished)
    );
}
