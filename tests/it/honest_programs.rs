//! Programs and suites that are right, in many styles: none is refused before it runs, every suite passes, and every program
//! gives the same result.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use codegen_api::values::{Input, Output};
use codegen_core::python::Module;
use codegen_core::python::contract::unnamed;
use codegen_core::python::suite::may_have_tests;
use codegen_core::sandbox::{
    InputMount, OutputContent, OutputReport, Phase, PhaseEnd, PhaseReport, ProgramPhase, TestOutcome,
};
use serde_json::json;

const SAMPLE: &str = "name,group,value\na,x,1\nb,y,2.5\nc,x,\nd,y,4\ne,x,2.5\n";
const MEAN: &str = "2.5";
const TABLE: [&str; 3] = ["group,total", "x,3.5", "y,6.5"];

struct Honest {
    name: String,
    program: String,
    suite: String,
}

/// Every program with its suite. A suite that has no program of its own is of `readers.py`'s first.
fn all() -> Vec<Honest> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/honest_programs");
    let mut all: Vec<Honest> = Vec::new();
    for file in ["readers.py", "structure.py", "suites.py"] {
        let text = std::fs::read_to_string(folder.join(file)).unwrap();
        for part in text.split("# === ").skip(1) {
            let (name, rest) = part.split_once('\n').unwrap();
            let (program, suite) = rest.split_once("# --- tests\n").unwrap();
            let program = if program.is_empty() {
                &all[0].program
            } else {
                program
            };
            all.push(Honest {
                name: name.to_owned(),
                program: program.to_owned(),
                suite: suite.to_owned(),
            });
        }
    }
    all
}

fn given<T: serde::de::DeserializeOwned>(rows: &[(&str, &str)]) -> Vec<T> {
    let row =
        |(name, kind): &(&str, &str)| serde_json::from_value(json!({"name": name, "type": kind})).unwrap();
    rows.iter().map(row).collect()
}

#[test]
fn no_honest_program_and_no_honest_suite_is_refused_before_it_runs() {
    let all = all();
    assert!(all.len() >= 60, "{}", all.len());
    let inputs: Vec<Input> = given(&[("data", "File"), ("digits", "Int")]);
    let outputs: Vec<Output> = given(&[("mean", "Float"), ("table", "File")]);
    let mut refused = String::new();
    for honest in &all {
        let program = Module::parse(&honest.program).unwrap();
        let suite = Module::parse(&honest.suite).unwrap();
        for what in unnamed(program.source(), &inputs, &outputs) {
            writeln!(refused, "{}: {what}", honest.name).unwrap();
        }
        if !may_have_tests(&suite) {
            writeln!(refused, "{}: no test", honest.name).unwrap();
        }
    }
    assert_eq!(refused, "");
}

#[tokio::test]
async fn every_honest_program_passes_its_suite_and_gives_the_same_result() {
    let all = all();
    let folder = tempfile::tempdir().unwrap();
    let sample = folder.path().join("data.csv");
    std::fs::write(&sample, SAMPLE).unwrap();
    let mut programs: BTreeMap<&str, &str> = BTreeMap::new();
    let mut phases = Vec::new();
    for honest in &all {
        phases.push(crate::jobs::tests(&honest.program, &honest.suite));
        if programs.insert(&honest.program, &honest.name).is_none() {
            phases.push(run_of(&honest.program));
        }
    }
    let mut job = crate::jobs::job(phases);
    job.limits.timeout_seconds = 300.0;
    job.inputs = vec![InputMount {
        name: "data".into(),
        file_name: "data.csv".into(),
        source: sample.display().to_string(),
        content: Vec::new(),
    }];
    let report = crate::environment::run(&job).await;
    assert_eq!(report.phases.len(), job.phases.len(), "the job came to its end");
    let mut wrong = String::new();
    let mut index = 0;
    for honest in &all {
        let mut phase = || {
            index += 1;
            &report.phases[index - 1]
        };
        writeln!(wrong, "{}", suite_fault(phase(), &honest.name)).unwrap();
        if programs.remove(honest.program.as_str()).is_some() {
            writeln!(wrong, "{}", program_fault(phase(), &honest.name)).unwrap();
        }
    }
    assert_eq!(wrong.trim(), "");
}

fn run_of(program: &str) -> Phase {
    let Phase::Program(phase) = crate::jobs::program(program, &["mean", "table"]) else {
        unreachable!()
    };
    let args = ["--data", "/var/inputs/data.csv", "--digits", "1"];
    Phase::Program(ProgramPhase {
        args: args.map(str::to_owned).to_vec(),
        ..phase
    })
}

/// What did not pass; empty when all of it did.
fn suite_fault(phase: &PhaseReport, name: &str) -> String {
    let session = phase.tests.as_ref().unwrap();
    let failed = session
        .results
        .iter()
        .filter(|result| result.outcome != TestOutcome::Passed);
    let failed: Vec<String> = failed.map(|result| format!("{result:?}")).collect();
    if !session.collected.is_empty()
        && failed.is_empty()
        && session.collection_errors.is_empty()
        && session.session_exit == Some(0)
    {
        return String::new();
    }
    format!(
        "{name}: {failed:?}{:?}\n{}",
        session.collection_errors, phase.stderr
    )
}

fn program_fault(phase: &PhaseReport, name: &str) -> String {
    let text = |output: &OutputReport| match &output.content {
        OutputContent::File(content) => {
            let bytes = BASE64_STANDARD.decode(content).unwrap();
            String::from_utf8(bytes).unwrap()
        }
        other => format!("{other:?}"),
    };
    let outputs: Vec<String> = phase.outputs.iter().map(text).collect();
    let is_right = phase.end == PhaseEnd::Exited(0)
        && outputs[0].trim() == MEAN
        && outputs[1].lines().map(str::trim).eq(TABLE);
    if is_right {
        return String::new();
    }
    format!("{name}: {:?} {outputs:?}\n{}", phase.end, phase.stderr)
}
