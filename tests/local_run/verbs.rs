//! What is recorded of a local result, shown by the commands that show a task of a cluster.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::support::{document, examples, expect_code, replayed};
use crate::tasks::{penguins, stderr, stdout};

fn codegen(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_kubectl-codegen"))
        .args(args)
        .output()
        .unwrap()
}

/// What a command of the finished penguins task prints; it must end with `code`.
fn shown(verb: &str, args: &[&str], code: i32) -> String {
    let folder = penguins().display().to_string();
    let done = codegen(&[&[verb, &folder], args].concat());
    expect_code(&done, code);
    stdout(&done)
}

#[test]
fn the_tests_of_an_attempt_are_listed_and_one_has_its_traceback() {
    let last = shown("tests", &[], 0);
    assert!(last.starts_with("attempt 2 passed\nKIND"), "{last}");
    let folder = penguins().display().to_string();
    let failed = codegen(&["tests", &folder, "--attempt", "1", "--failed", "-o", "json"]);
    expect_code(&failed, 1);
    let failed = document(&failed);
    let test = failed["items"]
        .as_array()
        .unwrap()
        .iter()
        .find(|item| item["kind"] == "test")
        .unwrap();
    let name = test["name"].as_str().unwrap();
    let one = shown("tests", &[name, "--attempt", "1"], 1);
    assert!(
        one.contains(test["traceback"].as_str().unwrap().trim_end()),
        "{one}"
    );
}

#[test]
fn what_changed_between_attempts_is_a_diff_and_nothing_where_they_are_the_same() {
    let diff = shown("diff", &[], 1);
    assert!(diff.starts_with("--- 1/"), "{diff}");
    assert_eq!(shown("diff", &["2", "2"], 0), "");
}

#[test]
fn the_program_and_what_attempts_printed_are_those_of_the_folder() {
    let program = fs::read_to_string(penguins().join("solution.py")).unwrap();
    assert_eq!(shown("code", &[], 0), program);
    let output = fs::read_to_string(penguins().join("test-output.txt")).unwrap();
    assert_eq!(shown("logs", &[], 0), output);
    let all = shown("logs", &["--all"], 0);
    assert!(all.starts_with("attempt 1: ") && all.ends_with(&output), "{all}");
}

#[test]
fn calls_are_counted_and_cost_what_a_price_says() {
    let folder = penguins().display().to_string();
    let status: Value =
        serde_saphyr::from_str(&fs::read_to_string(penguins().join("status.yaml")).unwrap()).unwrap();
    let model = document(&codegen(&["cost", &folder, "-o", "json"]))["model"]
        .as_str()
        .unwrap()
        .to_owned();
    let priced = codegen(&[
        "cost",
        &folder,
        "-o",
        "json",
        "--price",
        &format!("{model}=1000000/0"),
    ]);
    expect_code(&priced, 0);
    let priced = document(&priced);
    let total = priced["items"].as_array().unwrap().last().unwrap();
    assert_eq!(total["calls"], status["modelCalls"]);
    assert_eq!(total["tokens"]["output"], status["tokens"]["output"]);
    assert_eq!(total["cost"].as_f64(), status["tokens"]["input"].as_f64());
    let unknown = codegen(&["cost", &folder]);
    assert!(stdout(&unknown).contains("unknown") && stderr(&unknown).contains("--price"));
}

#[test]
fn the_story_of_a_local_task_has_its_attempts_and_its_end_and_the_task_is_listed() {
    let folder = penguins().display().to_string();
    let done = codegen(&["watch", &folder]);
    expect_code(&done, 0);
    let story = stderr(&done);
    let attempts = (story.find("✗ attempt 1"), story.find("✓ attempt 2"));
    assert!(attempts.0.is_some() && attempts.0 < attempts.1, "{story}");
    assert!(
        stdout(&done).contains(" succeeded: TestsPassed"),
        "{}",
        stdout(&done)
    );

    let home = tempfile::tempdir().unwrap();
    let results = home.path().join("codegen-out");
    let listed = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kubectl-codegen"));
        let done = command.arg("watch").current_dir(home.path()).output().unwrap();
        expect_code(&done, 0);
        done
    };
    assert!(stderr(&listed()).contains("there are no results in codegen-out"));
    fs::create_dir_all(results.join("penguins")).unwrap();
    copy_folder(&penguins(), &results.join("penguins"));
    fs::create_dir(results.join("another")).unwrap();
    let table = stdout(&listed());
    let rows: Vec<&str> = table.lines().collect();
    assert!(
        rows.len() == 2 && rows[1].starts_with("codegen-out/penguins   Succeeded   TestsPassed"),
        "{table}"
    );
}

#[test]
fn the_calls_of_an_agent_are_shown_as_its_trace_has_them() {
    let folder = tempfile::tempdir().unwrap();
    expect_code(&replayed(&examples().join("penguins-agent"), folder.path()), 0);
    let trace = fs::read_to_string(folder.path().join("agent-trace.jsonl")).unwrap();
    let traced: Vec<Value> = trace
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let done = codegen(&["watch", folder.path().to_str().unwrap()]);
    expect_code(&done, 0);
    let story = stderr(&done);
    let calls: Vec<&str> = story.lines().filter(|line| line.contains(" turn ")).collect();
    assert!(calls.len() == traced.len() && calls.len() > 5, "{story}");
    for (line, call) in calls.iter().zip(&traced) {
        let turn = format!("turn {} ", call["turn"]);
        let tool = call["tool"].as_str().unwrap();
        assert!(line.contains(&turn) && line.contains(tool), "{line}: {call}");
    }
}

#[test]
fn a_local_result_is_replayed_to_the_same_end() {
    let done = codegen(&["local", "--again", &penguins().display().to_string()]);
    expect_code(&done, 0);
    assert!(
        stdout(&done).contains("came to the same end on"),
        "{}",
        stdout(&done)
    );
}

#[test]
fn a_record_that_somebody_has_changed_is_named_and_not_shown() {
    let copy = tempfile::tempdir().unwrap();
    copy_folder(&penguins(), copy.path());
    let state = copy.path().join(".runs");
    let latest = fs::read_to_string(state.join("latest")).unwrap();
    let latest = latest.lines().next().unwrap();
    let program = state.join(latest).join("record/calls/0001-constraints.json");
    let program = if program.exists() {
        program
    } else {
        program.with_file_name("0001-plan.json")
    };
    fs::write(&program, "{}").unwrap();
    let done = codegen(&["code", &copy.path().display().to_string()]);
    expect_code(&done, 2);
    assert!(
        stderr(&done).contains("is damaged: its seal does not match"),
        "{}",
        stderr(&done)
    );
    assert_eq!(stdout(&done), "");
}

pub fn copy_folder(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            fs::create_dir_all(&target).unwrap();
            copy_folder(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), &target).unwrap();
        }
    }
}

#[test]
fn a_bare_name_is_that_of_a_result_of_this_user_where_there_is_one() {
    let folder = tempfile::tempdir().unwrap();
    let results = folder.path().join("codegen-out/masses");
    let example = examples().join("penguins");
    let done = Command::new(env!("CARGO_BIN_EXE_kubectl-codegen"))
        .arg("local")
        .arg(&example)
        .arg("--replay")
        .arg(example.join("replies.jsonl"))
        .arg("--output")
        .arg(&results)
        .output()
        .unwrap();
    expect_code(&done, 0);
    let shown = format!("{}{}", stdout(&done), stderr(&done));
    assert!(shown.contains("species,count,mean_body_mass_g"), "{shown}");
    assert!(shown.contains("--input measurements=@FILE"), "{shown}");
    let named = |name: &str| {
        Command::new(env!("CARGO_BIN_EXE_kubectl-codegen"))
            .args(["code", name])
            .env("KUBECONFIG", folder.path().join("absent"))
            .env_remove("KUBERNETES_SERVICE_HOST")
            .current_dir(folder.path())
            .output()
            .unwrap()
    };
    let code = named("masses");
    expect_code(&code, 0);
    assert_eq!(
        stdout(&code),
        fs::read_to_string(results.join("solution.py")).unwrap()
    );
    assert!(
        stderr(&code).contains("masses: codegen-out/masses"),
        "{}",
        stderr(&code)
    );
    let absent = named("others");
    expect_code(&absent, 2);
    assert!(
        stderr(&absent).contains("there is no cluster to ask"),
        "{}",
        stderr(&absent)
    );
    // A folder of somebody else is no result of this user.
    fs::write(results.join(".runs/latest"), "0123456789ab").unwrap();
    expect_code(&named("masses"), 2);
}
