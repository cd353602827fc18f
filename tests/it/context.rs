//! `kubectl-codegen context` from outside: what it prints is what a task sends.

use std::fs;
use std::path::Path;
use std::process::Output;

use predicates::prelude::*;
use predicates::str::{contains, starts_with};
use serde_json::Value;

use crate::support::terminal::Terminal;
use crate::support::{codegen, examples, expect_code, folder, manifest, replayed};

fn context(folder: &Path) -> assert_cmd::Command {
    let mut command = codegen(folder);
    command.arg("context");
    command
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

const TASK: &str = "\
apiVersion: codegen-operator.dev/v1alpha1
kind: CodeGenTask
metadata: {name: sum}
spec:
  prompt: add the numbers
  model: {name: some-model, apiKeySecretRef: {name: absent, key: api-key}}
  maxSampleRows: 1
  samples: [{name: a, inline: \"x,y\\n1,2\\n3,4\\n5,\\n\"}]
";

#[test]
fn the_text_is_byte_for_byte_what_a_task_puts_into_its_prompts() {
    let example = examples().join("penguins");
    let run = tempfile::tempdir().unwrap();
    expect_code(&replayed(&example, run.path()), 0);
    let elsewhere = folder(&[]);
    let printed = context(elsewhere.path())
        .args(manifest(&example))
        .output()
        .unwrap();
    expect_code(&printed, 0);
    let sent = fs::read_to_string(run.path().join("data-context.txt")).unwrap();
    assert_eq!(stdout(&printed), sent);
    let conversation = fs::read_to_string(run.path().join("conversation.jsonl")).unwrap();
    let quoted = Value::from(sent.trim_end()).to_string();
    assert!(conversation.contains(quoted.trim_matches('"')));
}

#[test]
fn it_needs_no_key_says_nothing_else_and_leaves_nothing_behind() {
    let folder = folder(&[("task.yaml", TASK)]);
    let scratch = tempfile::tempdir().unwrap();
    context(folder.path())
        .env("TMPDIR", scratch.path())
        .args(["-f", "task.yaml"])
        .assert()
        .success()
        .stdout(starts_with("## a (a.csv): CSV, 3 rows, 2 columns\n"))
        .stderr("");
    let left: Vec<_> = fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left, ["task.yaml"]);
    assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 0);
}

#[test]
fn rows_and_tokens_are_those_of_the_task_unless_the_command_line_says_others() {
    let folder = folder(&[("task.yaml", TASK)]);
    let rows = |arguments: &[&str]| {
        let output = context(folder.path())
            .args(["-f", "task.yaml", "-o", "json"])
            .args(arguments)
            .output()
            .unwrap();
        expect_code(&output, 0);
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        let shown = document["samples"][0]["content"]["table"]["rows"]
            .as_array()
            .unwrap()
            .len();
        (document["maxSampleRows"].clone(), shown)
    };
    assert_eq!(rows(&[]), (1.into(), 1));
    assert_eq!(rows(&["--max-sample-rows", "0"]), (0.into(), 0));
    assert!(rows(&["--max-sample-rows", "3"]).1 > 1);
}

#[test]
fn what_does_not_fit_the_tokens_is_named() {
    let penguins = examples().join("penguins/penguins.csv");
    let folder = folder(&[]);
    let output = context(folder.path())
        .args(["-o", "json", "--max-context-tokens", "200"])
        .arg(penguins)
        .output()
        .unwrap();
    expect_code(&output, 0);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(document["estimatedTokens"].as_u64().unwrap() <= 200);
    assert!(
        document["cut"][0].as_str().unwrap().starts_with("penguins: "),
        "{document:#}"
    );
    assert_eq!(document["samples"][0]["content"]["table"]["records"], 344);
}

#[test]
fn every_field_of_the_document_stands_on_the_page_on_data() {
    let page = include_str!("../../docs/data.md");
    let folder = folder(&[("a.csv", "a,b\n1,2\n")]);
    let output = context(folder.path())
        .args(["a.csv", "-o", "json"])
        .output()
        .unwrap();
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let sample = &document["samples"][0];
    let column = &sample["content"]["table"]["columns"][0];
    for field in document
        .as_object()
        .unwrap()
        .keys()
        .chain(sample.as_object().unwrap().keys())
    {
        assert!(page.contains(&format!("`{field}`")), "{field}");
    }
    for field in [
        "name", "type", "values", "nulls", "distinct", "isUnique", "numbers", "times", "top",
    ] {
        assert!(column.get(field).is_some(), "{field}: {column:#}");
    }
    assert!(column["numbers"]["histogram"].is_array(), "{column:#}");
}

#[test]
fn one_bad_file_does_not_hide_the_others() {
    let folder = folder(&[("good.csv", "a,b\n1,2\n")]);
    fs::create_dir(folder.path().join("none")).unwrap();
    context(folder.path())
        .args(["good.csv", "absent.csv", "none"])
        .assert()
        .code(2)
        .stdout(starts_with("## good (good.csv): CSV, 1 row, 2 columns\n").and(contains("absent").not()))
        .stderr(
            contains("error: absent: cannot read absent.csv: ")
                .and(contains("correct the path"))
                .and(contains("none is a folder without files of its own")),
        );
    let output = context(folder.path())
        .args(["-o", "json", "absent.csv", "good.csv"])
        .output()
        .unwrap();
    expect_code(&output, 2);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["failed"][0]["sample"], "absent");
    assert_eq!(document["samples"][0]["name"], "good");
}

#[test]
fn standard_input_and_pipes_are_described_as_files_are() {
    let folder = folder(&[]);
    for path in ["-", "/dev/stdin"] {
        context(folder.path())
            .arg(path)
            .write_stdin("a,b\n1,2\n")
            .assert()
            .success()
            .stdout(starts_with("## stdin (stdin): CSV, 1 row, 2 columns\n"));
    }
    let script = "\"$0\" context <(printf 'a,b\\n1,2\\n') <(printf '{\"a\": 1}')";
    let output = std::process::Command::new("bash")
        .args(["-c", script, env!("CARGO_BIN_EXE_kubectl-codegen")])
        .output()
        .unwrap();
    expect_code(&output, 0);
    let text = stdout(&output);
    assert!(
        text.contains(": CSV, 1 row, 2 columns") && text.contains(": one JSON document"),
        "{text}"
    );
}

#[test]
fn a_folder_is_described_by_its_files_and_one_of_manifests_says_how() {
    let folder = folder(&[("b.csv", "a,b\n1,2\n"), ("a.json", "{\"a\": 1}")]);
    context(folder.path()).arg(".").assert().success().stdout(
        starts_with("## a (a.json): one JSON document").and(contains("## b (b.csv): CSV, 1 row, 2 columns")),
    );
    context(folder.path())
        .arg(examples().join("penguins"))
        .assert()
        .code(2)
        .stdout("")
        .stderr(contains("with -k "));
}

#[test]
fn contexts_of_several_tasks_are_separated() {
    let folder = folder(&[]);
    context(folder.path())
        .arg("-k")
        .arg(examples().join("csv-batch"))
        .assert()
        .success()
        .stdout(
            starts_with("==> sales-marketplace <==\n## sales (sales.csv): ")
                .and(contains("==> sales-webshop <==\n")),
        );
    let output = context(folder.path())
        .args(["-o", "yaml", "-k"])
        .arg(examples().join("csv-batch"))
        .output()
        .unwrap();
    expect_code(&output, 0);
    let document: Value = serde_saphyr::from_str(&stdout(&output)).unwrap();
    assert_eq!(document["items"][2]["task"], "sales-webshop");
}

#[test]
fn no_cell_is_printed_at_the_level_of_schemas() {
    let folder = folder(&[("a.csv", "city,n\nOslo,41\nOslo,42\nRoma,43\n")]);
    for (format, level, is_told) in [
        ("text", "SchemaOnly", false),
        ("json", "SchemaOnly", false),
        ("yaml", "schemaonly", false),
        ("json", "Rows", true),
    ] {
        let output = context(folder.path())
            .args(["a.csv", "-o", format, "--exposure", level])
            .output()
            .unwrap();
        expect_code(&output, 0);
        let text = stdout(&output);
        assert!(text.contains("city"), "{text}");
        assert_eq!(text.contains("Oslo"), is_told, "{format} {level}: {text}");
        assert_eq!(text.contains("43"), is_told, "{format} {level}: {text}");
    }
}

#[test]
fn the_schema_is_printed_as_one_module() {
    let folder = folder(&[]);
    context(folder.path())
        .args(["-o", "pandera"])
        .arg(examples().join("multi-input/data/orders.csv"))
        .arg(examples().join("multi-input/data/customers.csv"))
        .assert()
        .success()
        .stdout(contains("orders_schema = ").and(contains("def read_customers(path):")));
}

#[test]
fn a_task_without_samples_sends_nothing() {
    let folder = folder(&[]);
    context(folder.path())
        .arg("-f")
        .arg(examples().join("prompt-only"))
        .assert()
        .success()
        .stdout("")
        .stderr("");
}

#[test]
fn a_wrong_command_line_says_what_to_write() {
    let folder = folder(&[("a.csv", "a\n1\n"), ("task.yaml", TASK)]);
    let wrong: [(&[&str], &str); 5] = [
        (&[], "<FILE|FOLDER|-|--filename"),
        (&["a.csv", "-f", "task.yaml"], "cannot be used with"),
        (&["a.csv", "--max-sample-rows", "10001"], "--max-sample-rows"),
        (&["a.csv", "--max-context-tokens", "199"], "200..=1000000"),
        (&["a.csv", "--plot", "-o", "json"], "leave out -o"),
    ];
    for (arguments, said) in wrong {
        context(folder.path())
            .args(arguments)
            .assert()
            .code(2)
            .stdout("")
            .stderr(contains(said));
    }
    context(folder.path())
        .args(["-f", "task.yaml", "--sample", "b=a.csv"])
        .assert()
        .code(2)
        .stderr(contains("the task has no sample of that name; it has a"));
}

#[test]
fn joins_are_printed_as_data() {
    let folder = folder(&[]);
    let samples = examples().join("multi-input/data");
    let output = context(folder.path())
        .args(["-o", "json"])
        .args([samples.join("orders.csv"), samples.join("customers.csv")])
        .output()
        .unwrap();
    expect_code(&output, 0);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(
        document["text"]
            .as_str()
            .unwrap()
            .contains("Join: orders.customer_id")
    );
    let join = &document["joins"][0];
    assert_eq!(join["left"]["sample"], "orders", "{join}");
    assert_eq!(join["left"]["column"], "customer_id", "{join}");
    assert_eq!(join["right"]["isUnique"], true, "{join}");
}

#[test]
fn completion_and_help_know_the_command() {
    let folder = folder(&[]);
    let mut command = assert_cmd::Command::cargo_bin("kubectl-codegen").unwrap();
    command
        .current_dir(folder.path())
        .args(["completion", "bash"])
        .assert()
        .success()
        .stdout(contains("--max-context-tokens"));
    context(folder.path())
        .arg("--help")
        .assert()
        .success()
        .stdout(contains("Examples:").and(contains("130  interrupted")));
}

/// What the program writes to a terminal of this many columns.
fn on_a_terminal(folder: &Path, columns: u16, environment: &[(&str, &str)], arguments: &[&str]) -> String {
    let terminal = Terminal {
        columns,
        environment,
        ..Terminal::default()
    };
    let (seen, code) = terminal.run(folder, &[&["context"], arguments].concat());
    assert_eq!(code, Some(0), "{seen}");
    seen
}

#[test]
fn a_terminal_shows_the_price_and_plots_of_its_width() {
    let folder = folder(&[]);
    let penguins = examples().join("penguins/penguins.csv");
    let penguins = penguins.to_str().unwrap();
    let screen = on_a_terminal(folder.path(), 60, &[], &["--plot", "--color", "never", penguins]);
    let words: Vec<_> = screen.split_whitespace().collect();
    let text = words.join(" ");
    assert!(
        text.contains("tokens of at most 4,000 in every call; 1 sample, 0 remarks"),
        "{screen}"
    );
    let price = screen.lines().take_while(|line| !line.starts_with("## "));
    assert!(price.clone().count() > 1, "{screen}");
    for line in price {
        assert!(line.trim_end().chars().count() <= 60, "{line}");
    }
    let plots: Vec<_> = screen.lines().filter(|line| line.starts_with("    ")).collect();
    assert!(
        plots
            .iter()
            .any(|line| line.contains("Adelie") && line.contains('█')),
        "{screen}"
    );
    assert!(
        plots
            .iter()
            .any(|line| line.contains("missing") && line.contains("2 of 344 (0.6 %)")),
        "{screen}"
    );
    assert!(
        plots.iter().all(|line| line.trim_end().chars().count() <= 60),
        "{screen}"
    );
    let plain = on_a_terminal(
        folder.path(),
        80,
        &[("LANG", "C"), ("NO_COLOR", "1")],
        &["--plot", penguins],
    );
    assert!(!plain.contains('█') && !plain.contains('\u{1b}'), "{plain}");
    let dumb = on_a_terminal(folder.path(), 80, &[("TERM", "dumb")], &["--plot", penguins]);
    assert!(!dumb.contains('\u{1b}'), "{dumb}");
    let coloured = on_a_terminal(folder.path(), 80, &[], &["--plot", penguins]);
    assert!(coloured.contains("\u{1b}[36m"), "{coloured}");
}

#[test]
fn data_cannot_steer_the_terminal_and_goes_unchanged_into_a_pipe() {
    let folder = folder(&[("a.csv", "a,b\n\u{1b}[2Jx,1\ny,2\n")]);
    let screen = on_a_terminal(folder.path(), 80, &[], &["--color", "never", "a.csv"]);
    assert!(
        screen.contains("\\u{1b}[2Jx,1") && !screen.contains('\u{1b}'),
        "{screen}"
    );
    context(folder.path())
        .arg("a.csv")
        .assert()
        .success()
        .stdout(contains("\u{1b}[2Jx,1"));
}

#[test]
fn plots_go_below_their_columns_and_change_nothing_else() {
    let folder = folder(&[]);
    let penguins = examples().join("penguins/penguins.csv");
    let plain = stdout(&context(folder.path()).arg(&penguins).output().unwrap());
    let drawn = stdout(
        &context(folder.path())
            .arg("--plot")
            .arg(&penguins)
            .output()
            .unwrap(),
    );
    assert_ne!(plain, drawn);
    let rest: String = drawn
        .split_inclusive('\n')
        .filter(|line| !line.starts_with("    "))
        .collect();
    assert_eq!(rest, plain);
}
