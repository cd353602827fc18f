//! `kubectl-codegen new`: from a sentence and a file to a folder, and on to a tested program.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use assert_cmd::Command;
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::{Value, json};
use wiremock::matchers::method;
use wiremock::{Mock, MockServer};

use crate::support::{OpenAi, Replies, codegen, document, examples, expect_code, folder};

const PROMPT: &str = "Drop rows without a body mass; per species write count and mean body mass in grams, one decimal, \
    sorted by species.";

fn example(file: &str) -> String {
    examples().join("penguins").join(file).display().to_string()
}

/// The task of the example in words of the command line, but for its outputs.
fn penguins(folder: &Path) -> Command {
    let mut command = codegen(folder);
    command
        .args(["new", PROMPT, "--name", "penguin-masses", "-o", "penguins"])
        .args(["--sample", &format!("measurements={}", example("penguins.csv"))])
        .args(["--constraint", "body_mass_g is between 2000 and 8000 or missing"])
        .args(["--input", "decimals:Int=1"])
        .args(["--accept", &example("test_acceptance.py")]);
    command
}

const OUTPUTS: [&str; 4] = [
    "--output",
    "summary:CSV=One row per species, with the columns species, count and mean_body_mass_g.",
    "--output",
    "species:Int=Number of species in the summary.",
];

fn proposal(outputs: &Value) -> String {
    json!({"kind": "outputs", "reply": {"outputs": outputs}, "usage": {"input": 900, "output": 60}})
        .to_string()
        + "\n"
}

pub fn usable() -> String {
    proposal(&json!([
        {"name": "summary", "type": "CSV", "description": "One row per species, with count and mean_body_mass_g."},
        {"name": "species", "type": "Int", "description": "Number of species."},
    ]))
}

pub fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn task(folder: &Path) -> Value {
    serde_saphyr::from_str(&fs::read_to_string(folder.join("task.yaml")).unwrap()).unwrap()
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_sentence_and_a_file_become_a_tested_program_by_one_command() {
    let folder = folder(&[]);
    let done = penguins(folder.path())
        .args(OUTPUTS)
        .args(["--run", "--format", "json", "--replay", &example("replies.jsonl")])
        .output()
        .unwrap();
    expect_code(&done, 0);
    let status = document(&done)["status"].clone();
    assert_eq!(status["stage"], "Succeeded");
    assert_eq!(
        status["attempts"][1]["acceptanceTests"]["passed"], 2,
        "{status:#}"
    );
    assert_eq!(
        names(&folder.path().join("penguins")),
        [
            "kustomization.yaml",
            "penguins.csv",
            "task.yaml",
            "test_acceptance.py"
        ]
    );
    assert!(
        folder
            .path()
            .join("codegen-out/penguin-masses/solution.py")
            .exists()
    );

    // The same task by its folder is at its end already.
    codegen(folder.path())
        .args(["local", "-k", "penguins", "--replay", "/dev/null"])
        .assert()
        .success()
        .stdout(contains("nothing was called or run now"));
}

#[test]
fn a_sample_that_no_config_map_holds_is_run_on_a_laptop_as_it_is() {
    let folder = folder(&[]);
    let small = fs::read_to_string(example("penguins.csv")).unwrap();
    let (header, rows) = small.split_once('\n').unwrap();
    fs::write(
        folder.path().join("large.csv"),
        format!("{header}\n{}", rows.repeat(90)),
    )
    .unwrap();
    let new = |more: &[&str]| {
        codegen(folder.path())
            .args(["new", PROMPT, "--name", "penguin-masses", "-o", "the penguins"])
            .args(["--sample", "measurements=large.csv", "--input", "decimals:Int=1"])
            .args(["--constraint", "body_mass_g is between 2000 and 8000 or missing"])
            .args(OUTPUTS)
            .args(more)
            .output()
            .unwrap()
    };
    let done = new(&[]);
    expect_code(&done, 0);
    let said = String::from_utf8_lossy(&done.stdout);
    for line in [
        "  large.csv            sample measurements, on the claim penguin-masses-data in a cluster\n",
        "kubectl-codegen local -k 'the penguins' --claim penguin-masses-data='the penguins'\n",
        "  before that          a claim penguin-masses-data that has large.csv (docs/new.md)\n",
    ] {
        assert!(said.contains(line), "{line}\n{said}");
    }
    let done = new(&[
        "--force",
        "--run",
        "--format",
        "json",
        "--replay",
        &example("replies.jsonl"),
    ]);
    expect_code(&done, 0);
    let status = document(&done)["status"].clone();
    assert_eq!(status["stage"], "Succeeded");
    let bytes = fs::metadata(folder.path().join("large.csv")).unwrap().len();
    assert!(bytes > 1 << 20);
    assert_eq!(status["samples"][0]["bytes"], bytes);
}

#[test]
fn the_model_proposes_outputs_by_one_call_that_is_recorded_with_the_others() {
    let replies = usable() + &fs::read_to_string(example("replies.jsonl")).unwrap();
    let folder = folder(&[("replies.jsonl", &replies)]);
    let done = penguins(folder.path())
        .args([
            "--yes",
            "--run",
            "--replay",
            "replies.jsonl",
            "--record",
            "recorded.jsonl",
        ])
        .output()
        .unwrap();
    expect_code(&done, 0);
    let said = stderr(&done);
    assert!(said.contains("outputs          900 +    60 tokens"), "{said}");
    assert!(said.contains("summary:CSV"), "{said}");
    let outputs = &task(&folder.path().join("penguins"))["spec"]["outputs"];
    assert_eq!(outputs[0]["format"], "CSV");
    assert_eq!(
        outputs[1],
        json!({"name": "species", "type": "Int", "description": "Number of species."})
    );

    let recorded = fs::read_to_string(folder.path().join("recorded.jsonl")).unwrap();
    let kind = |line: &str| serde_json::from_str::<Value>(line).unwrap()["kind"].clone();
    let kinds: Vec<Value> = recorded.lines().map(kind).collect();
    let before: Vec<Value> = replies.lines().map(kind).collect();
    assert_eq!(kinds, before);
    penguins(folder.path())
        .args(["--yes", "--force", "--run", "--fresh"])
        .args(["--replay", "recorded.jsonl", "--replay-strict"])
        .assert()
        .success();
}

#[test]
fn a_proposal_that_no_manifest_could_have_is_asked_for_again_with_the_reason() {
    let path = proposal(&json!([{"name": "../x", "type": "CSV", "description": ""}]));
    let folder = folder(&[
        ("replies.jsonl", &(path.clone() + &usable())),
        ("bad.jsonl", &path.repeat(3)),
    ]);
    penguins(folder.path())
        .args(["--yes", "--replay", "replies.jsonl"])
        .assert()
        .success()
        .stderr(contains("cannot be used: outputs[0].name: "))
        .stdout(contains("kubectl-codegen local -k penguins"));
    codegen(folder.path())
        .args([
            "new",
            "mean mass",
            "-o",
            "other",
            "--yes",
            "--replay",
            "bad.jsonl",
        ])
        .assert()
        .code(1)
        .stdout("")
        .stderr(contains("3 replies that propose outputs could not be used").and(contains("--output")));
    assert!(!folder.path().join("other").exists());
}

#[test]
fn nobody_is_asked_where_there_is_no_terminal_and_nothing_is_spent() {
    let folder = folder(&[("replies.jsonl", &usable())]);
    penguins(folder.path())
        .args(["--replay", "replies.jsonl"])
        .assert()
        .code(2)
        .stdout("")
        .stderr(
            contains("--output summary:CSV")
                .and(contains("--yes"))
                .and(contains("tokens").not()),
        );
    assert_eq!(names(folder.path()), ["replies.jsonl"]);
}

#[tokio::test]
async fn a_model_is_asked_once_with_the_data_and_its_address_stands_in_the_manifest() {
    let folder = folder(&[
        ("replies.jsonl", &usable()),
        ("a.csv", "species,mass\nAdelie,3700\n"),
    ]);
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .respond_with(OpenAi(Replies::read(&folder.path().join("replies.jsonl"))))
        .mount(&server)
        .await;
    let address = format!("{}/v1", server.uri());
    let mut command = codegen(folder.path());
    command.args([
        "new",
        "mean mass",
        "--sample",
        "a.csv",
        "--yes",
        "--model",
        "own",
        "--model-url",
        &address,
    ]);
    let done = tokio::task::spawn_blocking(move || command.output().unwrap())
        .await
        .unwrap();
    expect_code(&done, 0);
    let requests = server.received_requests().await.unwrap();
    assert_eq!(requests.len(), 1);
    let request = String::from_utf8_lossy(&requests[0].body);
    assert!(
        request.contains("Adelie,3700") && request.contains("mean mass"),
        "{request}"
    );
    let spec = task(&folder.path().join("mean-mass"))["spec"].clone();
    assert_eq!(
        spec["model"],
        json!({"provider": "OpenAI", "name": "own", "baseURL": address})
    );
}

#[test]
fn a_folder_with_such_files_is_left_as_it_is_without_force() {
    let folder = folder(&[("a.csv", "a\n1\n")]);
    let arguments = [
        "new",
        "count the rows",
        "--sample",
        "a.csv",
        "--output",
        "rows:Int",
        "-o",
        ".",
    ];
    codegen(folder.path())
        .args(arguments)
        .assert()
        .code(2)
        .stdout("")
        .stderr(contains("./a.csv is there already").and(contains("--force")));
    assert_eq!(names(folder.path()), ["a.csv"]);
    fs::write(folder.path().join("task.yaml"), "mine").unwrap();
    codegen(folder.path())
        .args(arguments)
        .assert()
        .code(2)
        .stderr(contains("./a.csv, ./task.yaml are there already"));
    assert_eq!(
        fs::read_to_string(folder.path().join("task.yaml")).unwrap(),
        "mine"
    );
    codegen(folder.path())
        .args(arguments)
        .arg("--force")
        .assert()
        .success();
    assert_eq!(fs::read_to_string(folder.path().join("a.csv")).unwrap(), "a\n1\n");
    assert_eq!(task(folder.path())["kind"], "CodeGenTask");
}

#[test]
fn the_commands_that_come_next_can_be_copied_whatever_the_folder_is_called() {
    let folder = folder(&[("a.csv", "a\n1\n")]);
    for (name, shown) in [
        ("plain", "-k plain\n"),
        ("my task; rm -r x", "-k 'my task; rm -r x'\n"),
    ] {
        codegen(folder.path())
            .args([
                "new",
                "count the rows",
                "--sample",
                "a.csv",
                "--output",
                "rows:Int",
                "-o",
                name,
            ])
            .assert()
            .success()
            .stderr("")
            .stdout(
                contains(format!("kubectl-codegen local {shown}"))
                    .and(contains(format!("kubectl apply {shown}"))),
            );
    }
}

#[test]
fn texts_with_marks_of_yaml_shells_and_templates_are_what_the_task_says() {
    let folder = folder(&[("a.csv", "a\n1\n")]);
    let texts = [
        "say \"hello\" and 'bye': # not a comment",
        "first line\n\n  - second: {{ template }}\n---\n%YAML",
        "$(touch pwned) `touch pwned` ; & | > x",
        "ends with a break\n",
        "naïve \u{202e}turned\u{7} 数",
        "null",
    ];
    for (index, text) in texts.iter().enumerate() {
        let place = format!("t{index}");
        codegen(folder.path())
            .args([
                "new", text, "--sample", "a.csv", "--output", "rows:Int", "-o", &place,
            ])
            .args(["--constraint", text, "--input", &format!("title:String={text}")])
            .assert()
            .success();
        let spec = task(&folder.path().join(&place))["spec"].clone();
        assert_eq!(spec["prompt"], *text);
        assert_eq!(spec["constraints"][0], *text);
        assert_eq!(spec["inputs"][0]["default"], *text);
        codegen(folder.path())
            .args(["context", "-k", &place])
            .assert()
            .success();
    }
    assert!(!folder.path().join("pwned").exists());
}

#[test]
fn what_is_wrong_is_reported_before_there_is_a_folder() {
    let folder = folder(&[("empty.csv", ""), ("a.csv", "a\n1\n")]);
    fs::create_dir(folder.path().join("data")).unwrap();
    let before = names(folder.path());
    let wrong: [(&[&str], i32, &str); 7] = [
        (&["--sample", "empty.csv"], 2, "--sample empty.csv: is empty"),
        (&["--sample", "data"], 2, "--sample data: is a folder"),
        (
            &["--sample", "absent.csv"],
            2,
            "--sample absent.csv: cannot be read",
        ),
        (
            &["--sample", "a.csv", "--input", "a:Int=1"],
            2,
            "the task: an input with the name of a sample",
        ),
        (&["--input", "decimals:Int=one"], 2, "--input decimals: "),
        (&["--input", "decimals"], 2, "decimals:Int=1"),
        (&["--name", "My Task"], 2, "--name: Invalid value"),
    ];
    for (arguments, code, said) in wrong {
        codegen(folder.path())
            .args(["new", "count the rows", "--output", "rows:Int", "-o", "task"])
            .args(arguments)
            .assert()
            .code(code)
            .stdout("")
            .stderr(contains(said));
    }
    assert_eq!(names(folder.path()), before);
}

#[test]
fn a_pipe_is_a_sample_as_a_file_is() {
    let folder = folder(&[]);
    let done = std::process::Command::new("bash")
        .current_dir(folder.path())
        .args([
            "-c",
            "\"$0\" new 'count the rows' --sample birds=<(printf 'a,b\\n1,2\\n') --output rows:Int -o task",
        ])
        .arg(PathBuf::from(env!("CARGO_BIN_EXE_kubectl-codegen")))
        .output()
        .unwrap();
    expect_code(&done, 0);
    let spec = task(&folder.path().join("task"))["spec"].clone();
    assert_eq!(spec["samples"][0]["name"], "birds");
    let file = spec["samples"][0]["configMapKeyRef"]["key"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(
        fs::read_to_string(folder.path().join("task").join(file)).unwrap(),
        "a,b\n1,2\n"
    );
}

#[test]
fn the_key_is_there_before_any_file_is_and_the_same_command_goes_on() {
    let folder = folder(&[("a.csv", "a\n1\n")]);
    let arguments = [
        "new",
        "count the rows",
        "--sample",
        "a.csv",
        "--output",
        "rows:Int",
        "-o",
        "rows",
    ];
    codegen(folder.path())
        .args(arguments)
        .arg("--run")
        .env_remove("OPENAI_API_KEY")
        .assert()
        .code(2)
        .stderr(contains("OPENAI_API_KEY"));
    assert_eq!(names(folder.path()), ["a.csv"]);
    for _ in 0..2 {
        codegen(folder.path()).args(arguments).assert().success();
    }
    fs::write(folder.path().join("rows/a.csv"), "a\n2\n").unwrap();
    let changed = codegen(folder.path()).args(arguments).assert().code(2);
    changed.stderr(contains(
        "rows/a.csv, rows/task.yaml, rows/kustomization.yaml are there already",
    ));
}
