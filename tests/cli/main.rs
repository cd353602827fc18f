//! The program from outside: what it says to wrong command lines, manifests and machines.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests say what they expect"
)]

mod completion;
mod new;
#[path = "../support/mod.rs"]
mod support;
mod terminal;

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::process::{Output, Stdio};

use clap::CommandFactory as _;
use codegen_ledger::Seals;
use codegen_operator::cli::args::Cli;
use predicates::prelude::*;
use predicates::str::{contains, starts_with};

use crate::support::{codegen, folder};

const TASK: &str = "\
apiVersion: codegen-operator.dev/v1alpha1
kind: CodeGenTask
metadata: {name: sum}
spec:
  prompt: add the numbers
  model: {name: some-model, apiKeySecretRef: {name: openai, key: api-key}}
  samples: [{name: a, configMapKeyRef: {name: numbers, key: a.csv}}]
";
const NUMBERS: &str =
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: numbers}\ndata: {a.csv: \"x\\n1\\n\"}\n";

/// Ends with code 2, and says why on stderr alone.
fn refused(folder: &Path, arguments: &[&str], why: impl Predicate<str>) {
    codegen(folder)
        .args(arguments)
        .assert()
        .code(2)
        .stdout("")
        .stderr(why);
}

#[test]
fn the_short_help_has_examples_and_the_long_one_exit_codes() {
    let folder = folder(&[]);
    codegen(folder.path())
        .args(["local", "-h"])
        .assert()
        .success()
        .stdout(contains("--replay"));
    codegen(folder.path())
        .args(["local", "--help"])
        .assert()
        .success()
        .stdout(contains("Examples:").and(contains("3    this machine cannot isolate programs")));
}

#[test]
fn a_command_line_without_a_manifest_is_wrong_usage() {
    let folder = folder(&[]);
    refused(folder.path(), &["local"], contains(". holds no manifest"));
    refused(
        folder.path(),
        &["local", "gone"],
        contains("gone is not there: name a folder"),
    );
    refused(
        folder.path(),
        &["local", "-k", "gone"],
        contains("gone is not there: correct the path"),
    );
    refused(
        folder.path(),
        &["local", "-f", "a", "--sample", "x"],
        contains("name=path"),
    );
    refused(
        folder.path(),
        &["local", "-f", "a", "--replay-strict"],
        contains("--replay"),
    );
}

#[test]
fn the_manual_page_is_printed() {
    let folder = folder(&[]);
    codegen(folder.path())
        .arg("man")
        .assert()
        .success()
        .stdout(contains(".TH"));
}

#[test]
fn help_says_of_each_command_what_its_own_help_says() {
    let folder = folder(&[]);
    let said = |arguments: &[&str]| {
        let output = codegen(folder.path()).args(arguments).output().unwrap();
        support::expect_code(&output, 0);
        String::from_utf8(output.stdout).unwrap()
    };
    let command = Cli::command();
    for name in command.get_subcommands().map(clap::Command::get_name) {
        assert_eq!(said(&["help", name]), said(&[name, "--help"]), "{name}");
    }
    assert_eq!(said(&["help", "local", "run"]), said(&["local", "run", "--help"]));
    assert_eq!(said(&["help"]), said(&["--help"]));
}

#[test]
fn a_reader_that_stops_reading_is_no_error() {
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_kubectl-codegen"))
        .args(["completion", "bash"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let Output { status, stderr, .. } = child.wait_with_output().unwrap();
    assert!(
        status.success() && stderr.is_empty(),
        "{status} {}",
        String::from_utf8_lossy(&stderr)
    );
}

#[test]
fn a_missing_file_is_named() {
    let folder = folder(&[]);
    refused(
        folder.path(),
        &["local", "-f", "absent.yaml"],
        starts_with("error: cannot read absent.yaml: "),
    );
}

#[test]
fn what_an_option_names_wrongly_is_refused_and_not_passed_over() {
    let files = [
        ("task.yaml", TASK),
        ("kustomization.yaml", "resources: [task.yaml]\n"),
        ("a.csv", "x\n"),
    ];
    let folder = folder(&files);
    for (arguments, words) in [
        (
            "-f task.yaml --claim data=.",
            "--claim data=...: no task reads a PersistentVolumeClaim of that name; they read none",
        ),
        (
            "-f task.yaml --sample a=a.csv --sample a=b.csv",
            "--sample a is given twice, as a.csv and as b.csv: keep one",
        ),
        (
            "-k kustomization.yaml",
            "kustomization.yaml is a file, and -k takes the folder of a kustomization: write -k .",
        ),
        // With the sample given, in either way of writing it, the next that is missing is the key.
        ("-f task.yaml --sample a=@a.csv", "Secret openai"),
        ("-f task.yaml --sample a=a.csv", "Secret openai"),
    ] {
        for command in ["local", "context"] {
            if command == "context" && words == "Secret openai" {
                continue;
            }
            codegen(folder.path())
                .arg(command)
                .args(arguments.split(' '))
                .assert()
                .code(2)
                .stdout("")
                .stderr(contains(words));
        }
    }
}

#[test]
fn what_keeps_environments_from_being_built_is_found_before_a_call() {
    let task = "apiVersion: codegen-operator.dev/v1alpha1\nkind: CodeGenTask\nmetadata: {name: sum}\nspec: {prompt: add, model: {name: \
                m}, image: {indexURL: 'http://127.0.0.1:1/simple'}}\n";
    let folder = folder(&[("task.yaml", task), ("file", "")]);
    for (cache, code, words) in [
        ("file/cache", 2, "environments cannot be stored in "),
        (
            "cache",
            1,
            "the package index does not answer: http://127.0.0.1:1/simple",
        ),
    ] {
        codegen(folder.path())
            .env("CODEGEN_CACHE_DIR", folder.path().join(cache))
            .args(["local", "-f", "task.yaml", "--model-url", "http://127.0.0.1:1/v1"])
            .assert()
            .code(code)
            .stderr(contains(words).and(contains("model endpoint").not()));
    }
    // Nothing of it is asked where an environment is there: the model is what is missing then.
    let environment = folder.path().join("cache/environments/any");
    fs::create_dir_all(&environment).unwrap();
    fs::write(environment.join("environment.json"), "{}").unwrap();
    codegen(folder.path())
        .env("CODEGEN_CACHE_DIR", folder.path().join("cache"))
        .args(["local", "-f", "task.yaml", "--model-url", "http://127.0.0.1:1/v1"])
        .args(["--model-timeout", "1s"])
        .timeout(std::time::Duration::from_mins(2))
        .assert()
        .failure()
        .stderr(contains("package index").not());
}

#[test]
fn a_key_that_stands_twice_is_warned_of() {
    let text = format!("{NUMBERS}---\n{TASK}").replace("  prompt:", "  prompt: x\n  prompt:");
    let folder = folder(&[("task.yaml", &text)]);
    codegen(folder.path())
        .args(["context", "-f", "task.yaml"])
        .assert()
        .success()
        .stderr(contains(
            "the key \"prompt\" stands twice, and the last one counts",
        ));
}

#[test]
fn every_unknown_field_is_named_with_its_document() {
    let text = format!(
        "{NUMBERS}---\n{}",
        TASK.replace("prompt:", "promt: x\n  modle: y\n  prompt:")
    );
    let folder = folder(&[("task.yaml", &text)]);
    refused(
        folder.path(),
        &["local", "-f", "task.yaml"],
        contains("error: task.yaml (document 2) spec.promt: ")
            .and(contains("error: task.yaml (document 2) spec.modle: ")),
    );
}

#[test]
fn a_document_that_unfolds_without_end_is_refused_at_once() {
    let mut text = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
    for level in 1..14 {
        let aliases = vec![format!("*a{}", level - 1); 9].join(", ");
        writeln!(text, "a{level}: &a{level} [{aliases}]").unwrap();
    }
    let folder = folder(&[("bomb.yaml", &text)]);
    codegen(folder.path())
        .args(["local", "-f", "bomb.yaml"])
        .timeout(std::time::Duration::from_mins(1))
        .assert()
        .code(2)
        .stderr(starts_with("error: bomb.yaml (document 1): "));
}

#[test]
fn a_missing_config_map_names_both_ways_to_give_it() {
    let folder = folder(&[("task.yaml", TASK)]);
    refused(
        folder.path(),
        &["local", "-f", "task.yaml"],
        contains("ConfigMap numbers").and(contains("--sample a=PATH")),
    );
}

#[test]
fn a_missing_secret_names_every_way_to_give_the_key() {
    let folder = folder(&[("task.yaml", &format!("{NUMBERS}---\n{TASK}"))]);
    refused(
        folder.path(),
        &["local", "-f", "task.yaml"],
        contains("Secret openai")
            .and(contains("OPENAI_API_KEY"))
            .and(contains("--model-key-env")),
    );
}

#[test]
fn a_value_of_a_secret_is_never_shown() {
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: openai}\nstringData: {other: hunter2}\n";
    let folder = folder(&[("task.yaml", &format!("{NUMBERS}---\n{secret}---\n{TASK}"))]);
    refused(
        folder.path(),
        &["local", "-vv", "-f", "task.yaml"],
        contains("which has other").and(contains("hunter2").not()),
    );
}

#[test]
fn a_task_that_is_not_there_lists_those_that_are() {
    let folder = folder(&[("task.yaml", TASK)]);
    refused(
        folder.path(),
        &["local", "-f", "task.yaml", "--task", "mean"],
        contains("no CodeGenTask named mean: there is sum"),
    );
}

#[test]
fn a_manifest_may_come_from_standard_input() {
    let folder = folder(&[]);
    codegen(folder.path())
        .args(["local", "-f", "-"])
        .write_stdin("kind: [\n")
        .assert()
        .code(2)
        .stderr(starts_with(
            "error: standard input (document 1): cannot be read as YAML",
        ));
}

#[test]
fn the_second_process_on_a_task_learns_who_holds_it() {
    let folder = folder(&[("task.yaml", &format!("{NUMBERS}---\n{TASK}"))]);
    let state = folder.path().join("out/.runs");
    fs::create_dir_all(&state).unwrap();
    let mut held = File::create(state.join("lock")).unwrap();
    held.try_lock().unwrap();
    let holder = br#"{"pid": 4711, "host": "laptop", "command": "kubectl-codegen local, task sum,", "since": "2026-01-02T03:04:05Z"}"#;
    let sealed = Seals::of_user(".runs").unwrap().seal("lock", holder);
    held.write_all(&sealed).unwrap();
    refused(
        folder.path(),
        &[
            "local",
            "-f",
            "task.yaml",
            "--output",
            "out",
            "--replay",
            "replies.jsonl",
        ],
        contains(
            "out is in use: kubectl-codegen local, task sum, (process 4711 on laptop) holds it since 2026-01-02T03:04:05Z",
        ),
    );
}

#[test]
fn documents_that_the_local_command_does_not_use_are_reported_and_ignored() {
    let service = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\n";
    let folder = folder(&[("task.yaml", &format!("{service}---\n{TASK}"))]);
    refused(
        folder.path(),
        &["local", "-f", "task.yaml", "--color", "never"],
        starts_with("! task.yaml (document 1): Service is ignored"),
    );
}

#[test]
fn a_kustomization_is_read_with_k() {
    let folder = folder(&[
        (
            "kustomization.yaml",
            "resources: [task.yaml]\ngeneratorOptions: {disableNameSuffixHash: true}\nconfigMapGenerator: [{name: numbers, files: [b.csv]}]\n",
        ),
        ("task.yaml", TASK),
        ("b.csv", "x\n1\n"),
    ]);
    refused(
        folder.path(),
        &["local", "-k", "."],
        contains("refers to key a.csv of ConfigMap numbers, which has b.csv"),
    );
}

#[test]
fn a_folder_that_holds_no_result_says_what_to_name() {
    let folder = folder(&[]);
    for verb in ["tests", "logs", "diff", "watch", "cost", "code"] {
        refused(
            folder.path(),
            &[verb, "./nothing"],
            contains("./nothing holds no result of kubectl-codegen local").and(contains("codegen-out/NAME")),
        );
    }
    refused(
        folder.path(),
        &["local", "--again", "./nothing"],
        contains("./nothing holds no result of kubectl-codegen local"),
    );
}

#[test]
fn a_local_result_is_not_followed_and_prices_are_read_before_anything_is_asked() {
    let folder = folder(&[("prices.yaml", "models: {a: 1}")]);
    refused(
        folder.path(),
        &["logs", "-f", "./sum"],
        contains("a local run shows what it does itself"),
    );
    for (prices, message) in [
        ("absent.yaml", "cannot read absent.yaml"),
        ("prices.yaml", "no table of prices"),
    ] {
        refused(
            folder.path(),
            &["cost", "./sum", "--prices", prices],
            contains(message),
        );
    }
    refused(
        folder.path(),
        &["cost", "--price", "free"],
        contains("some-model=2.50/10"),
    );
}

#[test]
fn a_verb_that_is_gone_names_what_does_its_work() {
    let folder = folder(&[]);
    for (line, successor) in [
        (&["events", "./sum"][..], "kubectl-codegen watch NAME"),
        (&["list", "-A"], "kubectl get codegentasks"),
        (&["replay", "sum"], "kubectl-codegen local --again FOLDER"),
    ] {
        refused(folder.path(), line, contains(successor));
    }
}
