//! Choice of the inputs of a run that are held to the rules of its task.

use std::collections::BTreeMap;

use rstest::rstest;

use crate::run_data::{ColumnsByInput, RunData};
use codegen_api::run::Validation;
use codegen_api::values::{Input, ValueType};
use codegen_core::checks::{ColumnCheck, Rule};
use codegen_core::run::{ResolvedInput, RunSettings, resolve};
use codegen_core::task::{FrozenFile, Task};
use codegen_core::test_support::task;
use codegen_data::worker::WorkerClient;

/// A program with a file and a folder, both given.
fn program() -> (Task, Vec<FrozenFile>) {
    let input = |name: &str, type_| Input {
        name: name.to_owned(),
        type_,
        default: None,
        example: None,
        description: None,
        source: None,
    };
    let file = |name: &str, is_dir| FrozenFile {
        name: name.to_owned(),
        file_name: name.to_owned(),
        sha256: String::new(),
        bytes: 1,
        is_dir,
    };
    let task = Task {
        inputs: vec![input("table", ValueType::File), input("photos", ValueType::Dir)],
        ..task()
    };
    (task, vec![file("table", false), file("photos", true)])
}

#[rstest]
#[case::by_default(None, true, &["photos", "table"])]
#[case::enforced(Some(Validation::Enforce), true, &["photos", "table"])]
#[case::not_asked_for(Some(Validation::Off), true, &[])]
#[case::without_a_rule(None, false, &[])]
#[tokio::test]
async fn a_folder_and_a_file_that_cannot_be_read_here_are_said_to_be_unchecked_where_there_are_rules(
    #[case] validation: Option<Validation>,
    #[case] has_rules: bool,
    #[case] expected: &[&str],
) {
    let (task, files) = program();
    let settings = RunSettings {
        validation,
        ..RunSettings::default()
    };
    let run = resolve(&task, &BTreeMap::new(), &files, settings).unwrap();
    let rule = ColumnCheck::new(0, "mass", Rule::NotNull);
    let rules = if has_rules { vec![rule] } else { Vec::new() };
    // Nothing is read, so that nothing is started.
    let no_program = WorkerClient::new("/nowhere".as_ref(), [""; 0]);
    let data = RunData {
        client: &no_program,
        columns: &ColumnsByInput::new(),
        checks: &rules,
    };
    let checked = data.inputs(&run, |_, _| None).await.unwrap();
    let mut inputs: Vec<_> = run.inputs.iter().map(ResolvedInput::status).collect();
    checked.mark(&mut inputs);
    let mut unchecked: Vec<&str> = inputs
        .iter()
        .filter(|input| input.unchecked)
        .map(|input| input.name.as_str())
        .collect();
    unchecked.sort_unstable();
    assert_eq!(unchecked, expected);
    assert_eq!(checked.findings, []);
}
