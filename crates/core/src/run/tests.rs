//! Tests of what a run may be given, how the program is called, and what its report is worth.

use std::collections::BTreeMap;

use rstest::rstest;

use super::*;
use crate::redact::Redactor;
use crate::sandbox::{
    LimitKind, NetworkAccess, OutputContent, Phase, PhaseEnd, PhaseName, PhaseReport, Report,
};
use crate::task::{FrozenFile, Task};
use crate::test_support::{phase, report, task};
use crate::verdict::{BrokenOutput, OutputTooLarge};
use codegen_api::run::{OutputClaim, Validation};
use codegen_api::run_status::{DataSide, Finding, InputOrigin, Severity};
use codegen_api::sandbox::Sandbox;
use codegen_api::values::{FileFormat, Input, Output, ValueType};

mod ends;
mod rehearsals;

fn input(name: &str, type_: ValueType, default: Option<&str>) -> Input {
    Input {
        name: name.into(),
        type_,
        default: default.map(str::to_owned),
        example: None,
        description: None,
        source: None,
    }
}

fn frozen(name: &str, file_name: &str) -> FrozenFile {
    FrozenFile {
        name: name.into(),
        file_name: file_name.into(),
        sha256: format!("digest of {file_name}"),
        bytes: 3,
        is_dir: file_name == name,
    }
}

/// A program with one option of each kind; `measurements` has a sample, `decimals` a default, `site` nothing.
fn program() -> Task {
    Task {
        samples: vec![frozen("measurements", "penguins.csv")],
        inputs: vec![
            input("measurements", ValueType::File, None),
            input("decimals", ValueType::Int, Some("1")),
            input("site", ValueType::String, None),
            Input {
                example: Some("0.5".into()),
                ..input("ratio", ValueType::Float, None)
            },
            input("photos", ValueType::Dir, None),
        ],
        outputs: vec![Output {
            name: "summary".into(),
            type_: ValueType::File,
            format: Some(FileFormat::CSV),
            description: None,
        }],
        ..task()
    }
}

fn values(given: &[(&str, &str)]) -> BTreeMap<String, String> {
    given
        .iter()
        .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
        .collect()
}

/// Returns the values that must be given.
fn compulsory() -> BTreeMap<String, String> {
    values(&[("site", "-Torgersen"), ("ratio", "0.25")])
}

fn photos() -> FrozenFile {
    frozen("photos", "photos")
}

fn run_of(settings: RunSettings<'_>) -> ResolvedRun {
    resolve(&program(), &compulsory(), &[photos()], settings).unwrap()
}

fn resolved() -> ResolvedRun {
    run_of(RunSettings::default())
}

fn finding(severity: Severity) -> Finding {
    Finding {
        severity,
        of: DataSide::Output,
        name: "summary".into(),
        column: "count".into(),
        check: "count greater than 0".into(),
        count: 2,
        first: vec!["line 2: \"0\"".into(), "line 5: \"-1\"".into()],
    }
}

#[test]
fn what_is_not_given_is_the_sample_or_the_default() {
    let run = resolved();
    assert_eq!(
        run.arguments(),
        [
            "--measurements",
            "/var/inputs/measurements.csv",
            "--decimals",
            "1",
            "--site=-Torgersen",
            "--ratio",
            "0.25",
            "--photos",
            "/var/inputs/photos",
        ]
    );
    let origins: Vec<InputOrigin> = run.inputs.iter().map(|input| input.from).collect();
    let (given, default) = (InputOrigin::Given, InputOrigin::Default);
    assert_eq!(origins, [default, default, given, given, given]);
}

#[test]
fn a_given_file_stands_in_the_place_of_the_sample_under_the_same_name() {
    let files = [frozen("measurements", "today.tsv"), photos()];
    let run = resolve(&program(), &compulsory(), &files, RunSettings::default()).unwrap();
    let mounts = run.mounts(|input, file| format!("{:?}/{}", input.from, file.file_name));
    let shown: Vec<_> = mounts
        .iter()
        .map(|mount| format!("{} {} {}", mount.name, mount.file_name, mount.source))
        .collect();
    assert_eq!(
        shown,
        [
            "measurements measurements.tsv Given/today.tsv",
            "photos photos Given/photos"
        ]
    );
}

#[test]
fn everything_that_is_wrong_is_said_at_once() {
    let given = values(&[("decimals", "ten"), ("measurements", "a.csv"), ("decimal", "2")]);
    let told: Vec<String> = resolve(&program(), &given, &[], RunSettings::default())
        .unwrap_err()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        told,
        [
            "input \"measurements\" is a File, not the text \"a.csv\": give a file",
            "input \"decimals\" is an Int, \"ten\" is not: give a whole number like 2",
            "input \"site\" has no default: give it a text",
            "input \"ratio\" has no default (its example is for the rehearsal alone): give it a decimal number like 0.5",
            "input \"photos\" has no default: give it a folder",
            "the program has no input \"decimal\": did you mean \"decimals\"?",
        ]
    );
}

#[rstest]
#[case(
    "decimals",
    GivenInput::File,
    "input \"decimals\" is an Int, not a file: give its value, a whole number like 2"
)]
#[case(
    "measurements",
    GivenInput::Folder,
    "input \"measurements\" is a File, and a folder was given: give a file"
)]
#[case(
    "photos",
    GivenInput::File,
    "input \"photos\" is a Dir, and a file was given: give a folder"
)]
#[case(
    "colour",
    GivenInput::Text("red"),
    "the program has no input \"colour\": it has measurements, decimals, site, ratio, photos"
)]
fn a_fault_says_what_to_give(#[case] name: &str, #[case] given: GivenInput<'_>, #[case] expected: &str) {
    let told: Vec<String> = faults(&ProgramOptions::from(&program()), &[(name, given)])
        .iter()
        .map(ToString::to_string)
        .filter(|fault| !fault.contains("has no default"))
        .collect();
    assert_eq!(told, [expected]);
}

#[test]
fn the_content_of_a_file_is_no_fault_before_it_is_read() {
    let given = [
        ("measurements", GivenInput::Content),
        ("photos", GivenInput::Content),
    ];
    let told: Vec<_> = faults(&ProgramOptions::from(&program()), &given);
    assert_eq!(told.len(), 2, "site and ratio alone are missing: {told:?}");
}

#[test]
fn an_input_that_is_given_twice_is_refused() {
    let given = [("site", GivenInput::Text("a")), ("site", GivenInput::Text("b"))];
    let told = faults(&ProgramOptions::from(&program()), &given);
    assert!(
        told.contains(&InputFault::Twice { name: "site".into() }),
        "{told:?}"
    );
}

#[test]
fn a_run_takes_the_sandbox_of_its_task_but_for_what_it_gives_and_for_retries() {
    let mut task = program();
    task.sandbox.retries = 3;
    task.sandbox.env = values(&[("TZ", "UTC")]);
    let own: Sandbox =
        serde_json::from_str(r#"{"timeout": "7s", "resources": {"limits": {"memory": "64Mi"}}}"#).unwrap();
    let settings = RunSettings {
        sandbox: Some(&own),
        ..RunSettings::default()
    };
    let run = resolve(&task, &compulsory(), &[photos()], settings).unwrap();
    assert_eq!(run.sandbox.retries, 0);
    assert!((run.sandbox.timeout_seconds - 7.0).abs() < 1e-9);
    assert_eq!(run.sandbox.memory_bytes, 64 << 20);
    assert!((run.sandbox.cpus - task.sandbox.cpus).abs() < 1e-9);
    assert_eq!(run.sandbox.env, task.sandbox.env);
}

#[test]
fn a_variable_of_the_run_that_is_a_secret_of_the_task_is_refused() {
    let mut task = program();
    let secrets = r#"{"secrets": [{"name": "TOKEN", "secretKeyRef": {"name": "a", "key": "b"}}]}"#;
    task.sandbox.secrets = serde_json::from_str::<Sandbox>(secrets).unwrap().secrets;
    let own: Sandbox = serde_json::from_str(r#"{"env": {"TOKEN": "x"}}"#).unwrap();
    let settings = RunSettings {
        sandbox: Some(&own),
        ..RunSettings::default()
    };
    let told = resolve(&task, &compulsory(), &[photos()], settings).unwrap_err();
    assert_eq!(
        told[0].to_string(),
        "spec.sandbox.secrets: the variable \"TOKEN\" is also set under env: remove one of the two"
    );
}

#[test]
fn the_job_is_the_program_alone() {
    let run = resolved();
    let job = run.job("print()", &values(&[("TOKEN", "x")]), |_, file| {
        file.file_name.clone()
    });
    let [Phase::Program(program)] = job.phases.as_slice() else {
        panic!("{job:?}")
    };
    assert_eq!(program.name, PhaseName::Run);
    assert_eq!(program.outputs, ["summary"]);
    assert_eq!(job.env["TOKEN"], "x");
    assert_eq!(job.network, NetworkAccess::Denied);
}

#[test]
fn the_key_changes_with_what_decides_the_outputs_and_with_nothing_else() {
    let base = resolved();
    let key = |run: &ResolvedRun| run.key("program", "image");
    let mut limits = base.clone();
    limits.sandbox.timeout_seconds = 1.0;
    limits.sandbox.memory_bytes = 1;
    assert_eq!(key(&limits), key(&base));
    let mut renamed = base.clone();
    if let ResolvedValue::File(file) = &mut renamed.inputs[0].value {
        file.file_name = "other.csv".into();
    }
    assert_eq!(
        key(&renamed),
        key(&base),
        "the program sees measurements.csv either way"
    );

    let changes: [fn(&mut ResolvedRun); 5] = [
        |run| run.inputs[1].value = ResolvedValue::Text("2".into()),
        |run| {
            if let ResolvedValue::File(file) = &mut run.inputs[0].value {
                file.sha256 = "other".into();
            }
        },
        |run| run.sandbox.env = values(&[("TZ", "UTC")]),
        |run| run.validation = Some(Validation::Enforce),
        |run| run.outputs.clear(),
    ];
    for (number, change) in changes.iter().enumerate() {
        let mut run = base.clone();
        change(&mut run);
        assert_ne!(key(&run), key(&base), "change {number}");
    }
    assert_ne!(base.key("other", "image"), key(&base));
    assert_ne!(base.key("program", "other"), key(&base));
}

#[rstest]
#[case(None, Some(Severity::Warning), Some(Severity::Violation))]
#[case(
    Some(Validation::Enforce),
    Some(Severity::Violation),
    Some(Severity::Violation)
)]
#[case(Some(Validation::Warn), Some(Severity::Warning), Some(Severity::Warning))]
#[case(Some(Validation::Off), None, None)]
fn inputs_are_warned_of_and_outputs_are_a_promise_unless_the_run_says_otherwise(
    #[case] validation: Option<Validation>,
    #[case] inputs: Option<Severity>,
    #[case] outputs: Option<Severity>,
) {
    assert_eq!(
        checks::Severities::from(validation),
        checks::Severities { inputs, outputs }
    );
}

#[test]
fn what_an_object_declares_is_what_its_program_takes() {
    let spec = serde_json::json!({
        "prompt": "p",
        "samples": [{"name": "measurements", "inline": "a\n1\n"}],
        "inputs": [
            {"name": "measurements", "type": "File"},
            {"name": "rates", "type": "File", "source": {"configMapKeyRef": {"name": "a", "key": "b"}}},
            {"name": "site", "type": "String"},
        ],
    });
    let options =
        ProgramOptions::from(&serde_json::from_value::<codegen_api::CodeGenTaskSpec>(spec).unwrap());
    let names: Vec<&str> = options.inputs.iter().map(|input| input.name.as_str()).collect();
    assert_eq!(names, ["measurements", "rates", "site"]);
    let told: Vec<String> = faults(&options, &[]).iter().map(ToString::to_string).collect();
    assert_eq!(told, ["input \"site\" has no default: give it a text"]);
}
