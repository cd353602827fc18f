//! What a run gives, and how it fails.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Stdio;

use codegen_core::digest::sha256_of;
use serde_json::json;

use crate::support::{document, examples, expect_code};
use crate::tasks::{command, penguins, run, stderr, stdout, total, totals};

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
        told.starts_with("! input measurements: lacks the columns species, island,")
            && told.contains("the task's sample; give a file that has what the\n  sample has\n"),
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
fn an_empty_file_in_the_place_of_a_sample_is_called_empty() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("today.csv");
    fs::write(&file, "").unwrap();
    let input = format!("measurements=@{}", file.display());
    let done = run(&penguins(), &["--input", &input, "--validation", "enforce"]);
    expect_code(&done, 1);
    assert_eq!(
        stderr(&done),
        "error: the program was not run: input measurements: expected a table like the sample (today.csv is empty; give a header and \
         rows)\n"
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
fn values_are_printed_bare_in_declared_order_and_folders_are_written() {
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

/// Sales whose totals have more bytes than are brought back from a sandbox.
fn many_sales(folder: &Path) -> String {
    let rows: Vec<String> = (0..200_000)
        .map(|number| format!("item-{number:06},1\n"))
        .collect();
    let file = folder.join("many.csv");
    fs::write(&file, format!("item,amount\n{}", rows.concat())).unwrap();
    format!("sales=@{}", file.display())
}

#[test]
fn a_large_output_is_moved_to_its_folder_and_shown_by_size_and_digest() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let sales = many_sales(folder.path());
    let args = [
        "--input",
        "title=a",
        "--input",
        &sales,
        "--output-dir",
        out.to_str().unwrap(),
    ];
    let done = total(&[&args[..], &["-o", "json"]].concat());
    expect_code(&done, 0);
    let output = document(&done)["status"]["outputs"][0].clone();
    let file = out.join("totals.csv");
    // The header, and a line of 17 bytes with its line end for each.
    assert_eq!(output["bytes"], 12 + 200_000 * 17);
    assert_eq!(fs::metadata(&file).unwrap().len(), 12 + 200_000 * 17);
    let digest = sha256_of(&mut fs::File::open(&file).unwrap()).unwrap();
    assert_eq!(output["sha256"], digest);
    let mode = |name: &str| fs::metadata(out.join(name)).unwrap().permissions().mode();
    assert_eq!(
        mode("totals.csv"),
        mode("parts/a.txt"),
        "as that of what is small"
    );
    let mut names: Vec<_> = fs::read_dir(&out)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["parts", "totals.csv"], "nothing else is left there");
}

#[test]
fn a_large_output_that_breaks_a_constraint_fails_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let sales = many_sales(folder.path());
    let done = total(&["--input", "title=a", "--input", "factor=-1", "--input", &sales]);
    expect_code(&done, 1);
    assert!(
        stderr(&done).contains(
            "output totals: 200000 values break total greater than or equal to 0 (line 2: \"-1.0\""
        ),
        "{}",
        stderr(&done)
    );
}
