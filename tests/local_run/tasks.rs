//! Two finished tasks, and a run of their programs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{examples, expect_code, program, replayed};

/// Adds up amounts; what it writes breaks its constraint where an item's amounts are below nothing together.
pub const TOTALS: &str = r#"apiVersion: codegen-operator.dev/v1alpha1
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

pub const TOTALS_PROGRAM: &str = r#""""Total the amounts of each item."""

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

pub fn run(folder: &Path, args: &[&str]) -> Output {
    command(folder, args).output().unwrap()
}

pub fn command(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kubectl-codegen"));
    command.args(["local", "run"]).arg(folder).args(args);
    command
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The finished penguins task, made once for all tests of this file.
pub fn penguins() -> PathBuf {
    static MADE: OnceLock<TempDir> = OnceLock::new();
    let made = MADE.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let example = examples().join("penguins");
        expect_code(&replayed(&example, folder.path()), 0);
        folder
    });
    made.path().to_owned()
}

/// The folder of the finished totals task, its manifest, and a folder for its notes.
pub fn totals() -> (PathBuf, PathBuf, PathBuf) {
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
pub fn total(args: &[&str]) -> Output {
    let (folder, task, notes) = totals();
    let task = task.display().to_string();
    let notes = format!("notes=@{}", notes.display());
    let all = ["-f", &task, "--input", &notes];
    run(&folder, &[&all[..], args].concat())
}
