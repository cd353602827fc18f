//! Every example runs, in a real sandbox with a real pytest, on its recorded replies.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use rstest::rstest;
use serde_json::Value;

use crate::support::{document, examples, expect_code, manifest, program, replayed};

struct Expected {
    calls: u64,
    attempts: usize,
}

fn run(name: &str) -> Vec<Value> {
    let folder = examples().join(name);
    let output = tempfile::tempdir().unwrap();
    let done = program(output.path())
        .args(manifest(&folder))
        .args(["--approve", "Plan,Packages,Image,Result"])
        .arg("--replay")
        .arg(folder.join("replies.jsonl"))
        .arg("--replay-strict")
        .output()
        .unwrap();
    expect_code(&done, 0);
    let document = document(&done);
    match document["items"].as_array() {
        Some(items) => items.clone(),
        None => vec![document],
    }
}

#[rstest]
#[case::penguins("penguins", Expected { calls: 6, attempts: 2 })]
#[case::penguins_agent("penguins-agent", Expected { calls: 7, attempts: 2 })]
#[case::csv_batch("csv-batch", Expected { calls: 3, attempts: 1 })]
#[case::sensor_analysis("sensor-analysis", Expected { calls: 4, attempts: 1 })]
#[case::sensor_analysis_agent("sensor-analysis-agent", Expected { calls: 7, attempts: 2 })]
#[case::log_analysis("log-analysis", Expected { calls: 3, attempts: 1 })]
#[case::multi_input("multi-input", Expected { calls: 5, attempts: 2 })]
#[case::multi_input_agent("multi-input-agent", Expected { calls: 5, attempts: 2 })]
#[case::durable("durable", Expected { calls: 6, attempts: 1 })]
#[case::durable_agent("durable-agent", Expected { calls: 7, attempts: 2 })]
#[case::river_level("river-level", Expected { calls: 4, attempts: 1 })]
#[case::environment_fix("environment-fix", Expected { calls: 4, attempts: 2 })]
#[case::approvals("approvals", Expected { calls: 3, attempts: 1 })]
#[case::code_mode("code-mode", Expected { calls: 3, attempts: 1 })]
#[case::prompt_only("prompt-only", Expected { calls: 3, attempts: 1 })]
#[case::prompt_only_agent("prompt-only-agent", Expected { calls: 3, attempts: 1 })]
fn an_example_succeeds_with_the_calls_and_attempts_that_it_shows(
    #[case] name: &str,
    #[case] expected: Expected,
) {
    for task in run(name) {
        let status = &task["status"];
        assert_eq!(status["stage"], "Succeeded", "{name}: {status:#}");
        assert_eq!(
            status["modelCalls"].as_u64(),
            Some(expected.calls),
            "{name}: {status:#}"
        );
        assert_eq!(
            status["attempts"].as_array().map(Vec::len),
            Some(expected.attempts),
            "{name}: {status:#}"
        );
        assert_eq!(status["rehearsal"]["result"], "Passed", "{name}: {status:#}");
        assert_eq!(
            status["evidence"]["strength"], "Independent",
            "{name}: {status:#}"
        );
    }
}

#[test]
fn every_example_with_replies_is_run_by_this_file() {
    let source = include_str!("examples.rs");
    let folders: BTreeSet<String> = std::fs::read_dir(examples())
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().join("replies.jsonl").exists())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    let missing: Vec<_> = folders
        .iter()
        .filter(|name| !source.contains(&format!("(\"{name}\",")))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn the_results_of_a_task_run_with_plain_python_and_list_every_attempt() {
    let folder = examples().join("penguins");
    let output = tempfile::tempdir().unwrap();
    let run = |replies: &Path, output: &Path| {
        let done = program(output)
            .args(manifest(&folder))
            .arg("--replay")
            .arg(replies)
            .arg("--replay-strict")
            .output()
            .unwrap();
        expect_code(&done, 0);
    };
    run(&folder.join("replies.jsonl"), output.path());
    let read = |path: &str| std::fs::read_to_string(output.path().join(path)).unwrap();

    assert!(read("attempts/1/test-output.txt").contains("Failed"));
    assert!(read("attempts/1/diagnosis.json").contains("rootCause"));
    assert_ne!(read("attempts/1/solution.py"), read("solution.py"));
    assert_eq!(read("attempts/2/solution.py"), read("solution.py"));
    let difference = read("attempts/2/solution.py.diff");
    assert!(
        difference.starts_with("--- a/solution.py\n+++ b/solution.py\n"),
        "{difference}"
    );
    assert!(read("Dockerfile").contains("\nCOPY solution.py .\n"));

    let again = tempfile::tempdir().unwrap();
    run(&output.path().join("replies.jsonl"), again.path());
    let summary = std::fs::read(again.path().join("outputs/summary.csv")).unwrap();
    assert_eq!(summary, read("outputs/summary.csv").into_bytes());

    let elsewhere = output.path().join("run elsewhere");
    let done = Command::new("sh")
        .arg(output.path().join("run.sh"))
        .arg(&elsewhere)
        .arg("--measurements")
        .arg(examples().join("penguins/penguins.csv"))
        .arg("--decimals=1")
        .output()
        .unwrap();
    expect_code(&done, 0);
    let summary = std::fs::read(elsewhere.join("summary")).unwrap();
    assert_eq!(summary, read("outputs/summary.csv").into_bytes());
}

#[test]
fn the_demo_fails_a_test_first_and_says_why_and_what_it_fixed() {
    let folder = examples().join("penguins");
    let output = tempfile::tempdir().unwrap();
    let done = replayed(&folder, output.path());
    expect_code(&done, 0);
    let status = document(&done)["status"].clone();
    let attempts = status["attempts"].as_array().unwrap();
    assert_eq!(attempts[0]["tests"]["failed"], 1, "{status:#}");
    assert_eq!(attempts[1]["tests"]["failed"], 0, "{status:#}");
    assert_eq!(
        attempts[1]["acceptanceTests"]["passed"],
        attempts[1]["acceptanceTests"]["total"]
    );
    let summary = std::fs::read_to_string(output.path().join("outputs/summary.csv"))
        .or_else(|_| std::fs::read_to_string(output.path().join("outputs/summary")))
        .unwrap();
    assert!(summary.contains("Adelie,151,3700.7"), "{summary}");
    let schemas = std::fs::read_to_string(output.path().join("schemas.py")).unwrap();
    assert!(
        schemas.contains("measurements_constraints = pa.DataFrameSchema("),
        "{schemas}"
    );
    assert!(output.path().join("solution.py").exists());
    assert!(output.path().join("test_solution.py").exists());
}
