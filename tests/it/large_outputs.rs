//! Outputs that are larger than what a sandbox brings back: written to a disk, checked there, kept as files.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::{Command, Output};

use codegen_core::digest::sha256_of;
use rstest::rstest;
use serde_json::{Value, json};

use crate::support::task::{Done, ScriptedTask, indented};
use crate::support::{document, expect_code, program};

/// A program whose `main` does this in `/var/outputs`, with `table(name, lines)` to write a CSV file.
fn code(body: &str) -> String {
    format!(
        "{}\n\ndef main():\n    \"\"\"Write the outputs.\"\"\"\n    os.chdir('/var/outputs')\n{}\n\nif __name__ == '__main__':\n    main()\n",
        r#""""Write a table."""

import os
import sys
import time


def table(name, lines):
    """Write a table of so many lines of 64 bytes."""
    with open(name, 'w', encoding='ascii') as file:
        file.write('number,text\n')
        for number in range(lines):
            file.write(f'{number:09d},{"x" * 53}\n')
"#,
        indented(body)
    )
}

/// 8 MiB of such lines, and more than what is brought back.
const LINES: usize = 131_072;

fn spec(outputs: &Value, disk: Option<&str>) -> Value {
    let mut spec = json!({
        "outputs": outputs,
        "testing": {"mode": "Skip", "cases": "Off"},
        "limits": {"maxIterations": 1},
    });
    if let Some(disk) = disk {
        spec["sandbox"] = json!({"resources": {"limits": {"ephemeral-storage": disk}}});
    }
    spec
}

fn table_and_count() -> Value {
    json!([
        {"name": "table", "type": "File", "format": "CSV"},
        {"name": "count", "type": "Int"},
    ])
}

fn sha256(path: &Path) -> String {
    sha256_of(&mut File::open(path).unwrap()).unwrap()
}

fn rehearsal(done: &Done) -> Value {
    done.status()["rehearsal"].clone()
}

#[test]
fn a_large_output_is_a_success_shown_by_size_and_digest_and_lies_among_the_results() {
    let written = ScriptedTask::new(spec(&table_and_count(), None)).code(&code(&format!(
        "table('table', {LINES})\nopen('count', 'w').write('{LINES}')"
    )));
    let done = written.run().succeeded();
    let status = done.status();
    assert_eq!(status["attempts"].as_array().unwrap().len(), 1);
    assert_eq!(status["modelCalls"], 2);
    let file = done.out().join("outputs/table.csv");
    let metadata = fs::metadata(&file).unwrap();
    assert_eq!(
        (metadata.len(), metadata.mode() & 0o777, metadata.nlink()),
        (8_388_620, 0o600, 1)
    );
    let message = rehearsal(&done)["message"].as_str().unwrap().to_owned();
    assert_eq!(rehearsal(&done)["result"], "Passed");
    assert_eq!(
        message,
        format!(
            "the output table has 8388620 bytes, sha256 {}, and was checked on the disk that the program wrote it to",
            &sha256(&file)[..12]
        )
    );
    // What fits is as ever.
    assert_eq!(done.file("outputs/count"), LINES.to_string());
    it_is_there_when_the_command_is_run_again(&done, &file);
}

fn it_is_there_when_the_command_is_run_again(done: &Done, file: &Path) {
    let again = || -> Output {
        program(&done.out())
            .arg("-f")
            .arg(done.out().with_file_name("task.yaml"))
            .arg("--replay")
            .arg(done.out().with_file_name("replies.jsonl"))
            .output()
            .unwrap()
    };
    let before = sha256(file);
    let same = again();
    expect_code(&same, 0);
    assert_eq!(document(&same)["status"]["modelCalls"], 2);
    assert_eq!(sha256(file), before);
    // Whoever has edited it keeps what was edited.
    fs::write(file, "mine").unwrap();
    expect_code(&again(), 0);
    assert_eq!(fs::read_to_string(file).unwrap(), "mine");
}

#[test]
fn a_large_folder_is_checked_and_stored_whole() {
    let outputs = json!([{"name": "pages", "type": "Dir"}]);
    let body =
        format!("os.makedirs('pages/deep')\ntable('pages/deep/a', {LINES})\nopen('pages/b', 'w').write('b')");
    let done = ScriptedTask::new(spec(&outputs, None))
        .code(&code(&body))
        .run()
        .succeeded();
    assert_eq!(
        fs::metadata(done.out().join("outputs/pages/deep/a"))
            .unwrap()
            .len(),
        8_388_620
    );
    assert_eq!(done.file("outputs/pages/b"), "b");
    assert!(
        rehearsal(&done)["message"]
            .as_str()
            .unwrap()
            .contains("2 files, 8388621 bytes"),
        "{}",
        rehearsal(&done)
    );
}

#[test]
fn an_output_that_takes_the_memory_of_its_sandbox_goes_to_a_disk() {
    let mut spec = spec(&table_and_count(), None);
    spec["sandbox"] = json!({"resources": {"limits": {"memory": "64Mi"}}});
    let body = "chunk = b'x' * 1048576\nwith open('table', 'wb') as file:\n    file.write(b'text\\n')\n    \
                for _ in range(128):\n        file.write(chunk[:-1] + b'\\n')\nopen('count', 'w').write('128')";
    let done = ScriptedTask::new(spec).code(&code(body)).run().succeeded();
    let file = done.out().join("outputs/table.csv");
    assert_eq!(fs::metadata(file).unwrap().len(), (128 << 20) + 5);
}

#[rstest]
#[case::a_link_beside_it(
    "os.makedirs('pages/deep')\ntable('pages/a', 131072)\nos.symlink('/etc/passwd', 'pages/deep/z')",
    "is not a file"
)]
#[case::a_pipe_beside_it(
    "os.makedirs('pages/deep')\ntable('pages/a', 131072)\nos.mkfifo('pages/deep/z')",
    "is not a file"
)]
#[case::a_link("table('large', 131072)\nos.symlink('large', 'pages')", "a link is there")]
#[case::more_than_the_disk_takes(
    "os.mkdir('pages')\nfor n in range(64):\n    table(f'pages/{n}', 131072)",
    "disk space for its outputs"
)]
#[case::more_than_a_file_may_have(
    "os.mkdir('pages')\nwith open('pages/sparse', 'wb') as file:\n    file.truncate(10 << 40)",
    "File too large"
)]
#[test]
fn a_program_that_leaves_something_else_on_the_disk_fails_with_what_it_was(
    #[case] body: &str,
    #[case] words: &str,
) {
    let outputs = json!([{"name": "pages", "type": "Dir"}]);
    let done = ScriptedTask::new(spec(&outputs, Some("64Mi")))
        .code(&code(body))
        .run()
        .did_not_succeed();
    let message = rehearsal(&done)["message"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    assert!(message.contains(words), "{message}\n{}", done.said());
    assert!(!done.out().join("outputs").exists(), "nothing of it is a result");
}

#[rstest]
#[case::of_another_format(
    "table('table', 131072)\nopen('table', 'a').write('1,2,3\\n')",
    "not valid CSV: line 131074 has 3 fields"
)]
#[case::that_breaks_a_constraint(
    "table('table', 131072)\nopen('table', 'a').write('-1,x\\n')",
    "number greater than or equal to 0"
)]
#[test]
fn a_large_output_is_held_to_format_and_constraints(#[case] body: &str, #[case] words: &str) {
    let mut spec = spec(&table_and_count(), Some("64Mi"));
    spec["constraints"] = json!(["every number is at least 0"]);
    let checks = json!({"checks": [
        {"constraint": 0, "column": "number", "kind": "greater_or_equal", "arguments": ["0"]},
    ]});
    let body = format!("{body}\nopen('count', 'w').write('1')");
    let done = ScriptedTask::new(spec)
        .reply("constraints", &checks)
        .code(&code(&body))
        .run()
        .did_not_succeed();
    let message = rehearsal(&done)["message"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    assert!(message.contains(words), "{message}\n{}", done.said());
}

#[test]
fn a_process_that_is_left_behind_writes_nothing_after_the_end_of_the_program() {
    let body = "table('table', 131072)\nopen('count', 'w').write('1')\nif os.fork() == 0:\n    os.setsid()\n    \
                while True:\n        with open('table', 'a') as file:\n            file.write('1,x\\n')";
    let done = ScriptedTask::new(spec(&table_and_count(), Some("1Gi")))
        .code(&code(body))
        .run()
        .succeeded();
    let file = done.out().join("outputs/table.csv");
    let (bytes, digest) = (fs::metadata(&file).unwrap().len(), sha256(&file));
    let message = rehearsal(&done)["message"].as_str().unwrap().to_owned();
    assert!(
        message.contains(&format!("{bytes} bytes, sha256 {}", &digest[..12])),
        "{message}, and there are {bytes} bytes of {digest}"
    );
}

#[test]
fn a_text_that_is_too_long_still_waits_for_a_person() {
    let outputs = json!([{"name": "text", "type": "String"}]);
    let body = "open('text', 'w').write('x' * (2 << 20))";
    let done = ScriptedTask::new(spec(&outputs, None)).code(&code(body)).run();
    expect_code(&done.output, 1);
    let said = done.said();
    assert!(
        said.contains("2097152 bytes") && said.contains("declare a long text as a File"),
        "{said}"
    );
    assert_eq!(done.status()["attempts"], json!([]));
}

#[test]
fn a_run_of_the_program_prints_its_only_output_whole() {
    let outputs = json!([{"name": "table", "type": "File", "format": "CSV"}]);
    let body = format!("table('table', {LINES})");
    let done = ScriptedTask::new(spec(&outputs, None))
        .code(&code(&body))
        .run()
        .succeeded();
    let ran = Command::new(env!("CARGO_BIN_EXE_kubectl-codegen"))
        .args(["local", "run", "-o", "value"])
        .arg(done.out())
        .output()
        .unwrap();
    expect_code(&ran, 0);
    assert_eq!(
        ran.stdout,
        fs::read(done.out().join("outputs/table.csv")).unwrap()
    );
}
