//! What a run is given, and what it must be given.

use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::support::{document, examples, expect_code, manifest, program};
use crate::tasks::{penguins, run, stderr, stdout, total};

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
            "OUTPUT    TYPE   VALUE\nsummary   File   {} (47 bytes)\nspecies   Int    1\n",
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
    let inputs = ["decimals=ten", "measurement=1", "measurements=@absent.csv"];
    let absent = run(&penguins(), &inputs.map(|input| ["--input", input]).concat());
    expect_code(&absent, 2);
    assert_eq!(
        stderr(&absent),
        "error: measurements: cannot read absent.csv: No such file or directory (os error 2); correct the path\n\
         error: input \"decimals\" is an Int, \"ten\" is not: give a whole number like 2\n\
         error: the program has no input \"measurement\": did you mean \"measurements\"?\n"
    );
}

#[test]
fn the_folder_of_results_has_the_samples_that_runs_take_by_default() {
    let sample = fs::read(examples().join("penguins/penguins.csv")).unwrap();
    assert_eq!(fs::read(penguins().join("inputs/penguins.csv")).unwrap(), sample);
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
