//! What of private samples reaches a model, the status or the terminal: canaries in cells of every kind, looked for in every
//! request of a task that fails in every way.

use rstest::rstest;
use serde_json::{Value, json};

use crate::support::task::{Done, ScriptedTask};

/// A text that stands in the samples, and the first level that may tell it.
const CANARIES: &[(&str, &str)] = &[
    ("quillfeather", "Rows"),
    ("tillerman", "Rows"),
    ("48.62", "Rows"),
    ("1987-06-15", "Rows"),
    ("brackwater", "Rows"),
    ("sparrowhawk", "Rows"),
    ("wrenmoss", "Rows"),
    ("ploverdene", "Rows"),
    ("ospreylog", "Rows"),
    ("kestrel@", "Rows"),
    ("godwitvalue", "Rows"),
    // Said by the program and its tests alone.
    ("rose on quillfeather", "Rows"),
    ("quillfeather: of marsh", "Rows"),
    ("KeyError: of 48.62", "Rows"),
    ("'mass', 'of 1987-06-15'", "Rows"),
    ("(line 2: ", "Rows"),
    ("{'who': 'member1'", "Rows"),
    ("exit code 77", "Rows"),
    ("commonheron", "Statistics"),
    ("912.25", "Statistics"),
];

const LEVELS: [&str; 4] = ["SchemaOnly", "Statistics", "RedactedRows", "Rows"];

/// Twenty rows; the eleventh is of canaries, and lies in the middle of every range.
fn people() -> String {
    let row = |number: u32| {
        let city = match number {
            4 | 8 | 12 | 16 => "sparrowhawk",
            number if number % 2 == 0 => "stork",
            _ => "commonheron",
        };
        if number == 11 {
            return format!("quillfeather,{city},48.62,1987-06-15,\"marsh, tillerman\",NULLbrackwater\n");
        }
        let mass = f64::from(number * number * 2) + 0.25 + if number == 20 { 112.0 } else { 0.0 };
        format!(
            "member{number},{city},{mass},19{:02}-01-{number:02},,c{number}\n",
            70 + number * 2
        )
    };
    let rows: Vec<String> = (1..=20).map(row).collect();
    format!("who,city,mass,day,note,code\n{}", rows.concat())
}

fn events() -> String {
    let line = |second: u32| format!("2026-01-05T10:00:{second:02}Z INFO started worker {second}\n");
    let mut lines: Vec<String> = (10..30).map(line).collect();
    lines[2] = "2026-01-05T10:00:12Z ERROR ospreylog is gone\n".into();
    lines.concat()
}

fn tree() -> String {
    let line = |number: u32| format!("{{\"id\": {number}, \"user\": {{\"city\": \"Basel\"}}}}\n");
    let mut lines: Vec<String> = (1..=19).map(line).collect();
    lines.push(
        "{\"id\": 20, \"user\": {\"city\": \"Basel\", \"kestrel@example.org\": \"godwitvalue\"}}\n".into(),
    );
    lines.concat()
}

const PLAIN: &str =
    "wrenmoss,ploverdene\nreed,fen\nsedge,carr\nrush,mere\nheath,tarn\nbog,beck\nmoss,ghyll\n";

const PROGRAM: &str = r#""""Reads some samples."""

import argparse
import csv
import sys


def double(number: int) -> int:
    """Return twice the number."""
    return number * 2


def read_people(path: str = "/var/inputs/people.csv") -> list:
    """Return the rows of a table."""
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def line_of(path: str, number: int) -> str:
    """Return one line of a file."""
    with open(path, encoding="utf-8") as file:
        return file.read().splitlines()[number]


def write(total: str, table: str) -> None:
    """Write the outputs."""
    with open("/var/outputs/total", "w") as file:
        file.write(total)
    with open("/var/outputs/table", "w") as file:
        file.write(table)


WORK

def main() -> None:
    """Run."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--people", default="/var/inputs/people.csv")
    parser.add_argument("--plain", default="/var/inputs/plain.csv")
    parser.add_argument("--events", default="/var/inputs/events.log")
    parser.add_argument("--tree", default="/var/inputs/tree.jsonl")
    work(parser.parse_args())


if __name__ == "__main__":
    main()
"#;

/// What `work` does in each attempt.
const ATTEMPTS: [&str; 7] = [
    // Prints rows and says them in the message.
    r#"    told = [str(rows[10]), rows[3]["city"], rows[0]["city"], line_of(args.plain, 0)]
    told += [line_of(args.events, 2), line_of(args.tree, -1)]
    print(*told)
    print(*told, file=sys.stderr)
    raise ValueError(f"rose on {rows[10]['who']} " + " ".join(told))"#,
    // Makes an exception's name of a cell.
    r#"    raise type(rows[10]["who"], (Exception,), {})("of " + rows[10]["note"])"#,
    // Forges a traceback, and ends with a code of its own.
    r#"    cell, other = rows[10]["who"], rows[10]["mass"]
    print("Traceback (most recent call last):", file=sys.stderr)
    print(f'  File "/{cell}/solution.py", line 3, in {cell}', file=sys.stderr)
    print(f"KeyError: of {other}", file=sys.stderr)
    raise SystemExit(77)"#,
    // Names a column, and a value beside it.
    r#"    raise KeyError("mass", "of " + rows[10]["day"], rows[10]["code"])"#,
    // Says nothing but its exit code.
    r#"    print(rows[10]["who"])
    raise SystemExit(77)"#,
    // Writes outputs of which one is of another type and one breaks a constraint.
    r#"    masses = [row["mass"] for row in rows]
    write(rows[10]["who"], "mass\n" + "\n".join(masses[8:14]) + "\n")"#,
    // Says something to its owner.
    r#"    print(rows[10]["who"])
    raise LookupError(rows[10]["who"])"#,
];

fn work(body: &str) -> String {
    format!(
        "def work(args: argparse.Namespace) -> None:\n    \"\"\"Do the work.\"\"\"\n    rows = read_people(args.people)\n{body}\n"
    )
}

const SUITE: &str = "import solution\n\n\ndef test_double():\n    assert solution.double(2) == 4\n\n\n\
                     def test_reads():\n    assert solution.read_people() == []\n";
const CORRECTED_TESTS: &str = "def test_reads():\n    assert solution.double(3) == 6\n";

fn diagnosis(types: &[(&str, &str)]) -> Value {
    let row = |(index, (error_type, function)): (usize, &(&str, &str))| {
        json!({
            "failure": index + 1, "errorType": error_type, "expected": "a result", "actual": "none",
            "rootCause": "a mistake", "suggestedFix": "mend it", "functions": [function], "packages": [],
            "systemPackages": [],
        })
    };
    json!({"failures": types.iter().enumerate().map(row).collect::<Vec<_>>()})
}

fn task(exposure: &str) -> ScriptedTask {
    let sample =
        |name: &str, key: &str| json!({"name": name, "configMapKeyRef": {"name": "data", "key": key}});
    let spec = json!({
        "exposure": exposure,
        "samples": [
            sample("people", "people.csv"), sample("plain", "plain.csv"), sample("events", "events.log"),
            sample("tree", "tree.jsonl"),
        ],
        "constraints": ["mass is less than 5"],
        "outputs": [{"name": "total", "type": "Int"}, {"name": "table", "type": "File", "format": "CSV"}],
        "limits": {"maxIterations": ATTEMPTS.len()},
        "sandbox": {"timeout": "30s"},
    });
    let data = json!({
        "people.csv": people(), "plain.csv": PLAIN, "events.log": events(), "tree.jsonl": tree(),
    });
    let check = json!({"constraint": 0, "column": "mass", "kind": "less_than", "arguments": ["5"]});
    let mut written = ScriptedTask::new(spec)
        .config_map("data", &data)
        .reply("constraints", &json!({"checks": [check]}))
        .reply("scope", &json!({"answers": [{"line": 1, "holds": true}]}))
        .code(&PROGRAM.replace("WORK", &work(ATTEMPTS[0])))
        .tests(SUITE)
        .reply(
            "diagnosis",
            &diagnosis(&[("test_error", "test_reads"), ("logic", "work")]),
        )
        .reply("fix_tests", &json!({"code": CORRECTED_TESTS}));
    for body in &ATTEMPTS[1..] {
        written = written
            .reply("fix_code", &json!({"code": work(body)}))
            .reply("diagnosis", &diagnosis(&[("logic", "work"), ("logic", "work")]));
    }
    written
}

/// What came of the task, and every request that the model saw.
async fn run(exposure: &str) -> (Done, Vec<String>) {
    let (done, requests) = task(exposure).run_served().await;
    (done.did_not_succeed(), requests)
}

#[rstest]
#[tokio::test(flavor = "multi_thread")]
async fn no_request_contains_what_the_exposure_level_hides(
    #[values("SchemaOnly", "Statistics", "RedactedRows", "Rows")] exposure: &str,
) {
    let (done, requests) = run(exposure).await;
    let status = done.status();
    assert_eq!(
        status["attempts"].as_array().map(Vec::len),
        Some(ATTEMPTS.len()),
        "{status:#}\n{}",
        done.said()
    );
    let level = |name: &str| LEVELS.iter().position(|known| *known == name).unwrap();
    let seen = requests.join("\n");
    let shown = done.said();
    for (canary, first) in CANARIES {
        let may_tell = level(exposure) >= level(first);
        assert_eq!(seen.contains(canary), may_tell, "{canary} at {exposure}:\n{seen}");
        assert!(
            may_tell || !shown.contains(canary),
            "{canary} at {exposure}:\n{shown}"
        );
    }
    assert!(
        done.test_output().contains("quillfeather"),
        "the owner of the data sees everything"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_learns_where_an_execution_on_private_samples_failed() {
    let (done, requests) = run("SchemaOnly").await;
    let attempts = done.status()["attempts"].clone();
    let summary = |attempt: usize| {
        attempts[attempt]["summary"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    let seen = requests.join("\n");
    for (attempt, told, place) in [
        (0, "test_reads: FileNotFoundError", ""),
        (1, "rehearsal: Exception: line ", " in work"),
        (2, "rehearsal: KeyError: line 3 in the module", ""),
        (3, "rehearsal: KeyError: line ", " in work, column mass"),
        (4, "the program ended with exit code 1", ""),
        (5, "output total: expected ", "found something else"),
        (6, "rehearsal: LookupError: line ", " in work"),
    ] {
        let summary = summary(attempt);
        assert!(
            summary.contains(told) && summary.contains(place),
            "{told}: {summary}"
        );
    }
    assert!(seen.contains("6 values break the constraint mass"), "{seen}");
    assert!(seen.contains("rehearsal: ValueError: line "), "{seen}");
    assert!(seen.contains("The data is private"), "{seen}");
}
