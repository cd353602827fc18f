//! Judges files with the data worker and with Pandera, and compares row by row.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use codegen_core::checks::{ColumnCheck, Rule};
use codegen_core::sandbox::{InputMount, Job, OutputContent, Phase, PhaseEnd};
use codegen_data::checks::text::in_words;
use codegen_data::checks::{CheckOutcome, CheckReport};
use codegen_data::describe::DescribeOptions;
use codegen_data::schema::infer_all;
use codegen_data::schema::pandera::to_pandera;
use codegen_data::source::Source;
use codegen_data::worker::{ChildRequest, Response, WorkerClient};
use codegen_sandbox::{Progressing, Sandbox as _};
use serde::Deserialize;
use serde_json::json;

use crate::support;

/// Versions whose verdicts are compared.
const PACKAGES: [&str; 5] = [
    "openpyxl==3.1.5",
    "pandas==3.0.1",
    "pandera==0.35.0",
    "pyarrow==22.0.0",
    "zstandard==0.25.0",
];
/// Rows that the worker names for a check.
const NAMED: usize = 5;

/// A file and the rules on its columns.
#[derive(Clone, Debug)]
pub struct Case {
    pub name: String,
    pub file_name: &'static str,
    pub bytes: Vec<u8>,
    pub checks: Vec<ColumnCheck>,
}

impl Case {
    pub fn new(name: &str, file_name: &'static str, bytes: &[u8], rules: Vec<(&str, Rule)>) -> Self {
        let checks = rules
            .into_iter()
            .map(|(column, rule)| ColumnCheck::new(0, column, rule));
        Self {
            name: name.into(),
            file_name,
            bytes: bytes.to_vec(),
            checks: checks.collect(),
        }
    }
}

#[derive(Deserialize)]
struct Judged {
    fault: Option<String>,
    rows: Option<u64>,
    #[serde(default)]
    failures: Vec<(String, Option<usize>, u64)>,
}

/// Judges every case both ways; what differs, in words.
pub async fn differences(cases: &[Case]) -> String {
    let ours = by_worker(cases).await;
    let modules: Vec<&str> = ours.iter().map(|(_, module)| module.as_str()).collect();
    let theirs = by_pandera(cases, &modules).await;
    let mut differences = String::new();
    for ((case, (report, module)), judged) in cases.iter().zip(&ours).zip(&theirs) {
        for difference in differing(case, report, module, judged) {
            let text: String = String::from_utf8_lossy(&case.bytes).chars().take(1_000).collect();
            let _ = writeln!(differences, "== {}: {difference}\n{text}\n{module}\n", case.name);
        }
    }
    differences
}

fn differing(case: &Case, report: &CheckReport, module: &str, judged: &Judged) -> Vec<String> {
    if let Some(fault) = &judged.fault {
        return vec![format!("Python fails\n{fault}")];
    }
    if judged.rows != Some(report.records) {
        return vec![format!(
            "{:?} rows in pandas, {} here",
            judged.rows, report.records
        )];
    }
    let compared = report
        .results
        .iter()
        .enumerate()
        .filter(|(_, result)| is_printed(&result.check, module))
        .filter_map(|(position, result)| {
            let CheckOutcome::Checked {
                violations, first, ..
            } = &result.outcome
            else {
                return Some(format!("{:?}: {:?}", result.check, result.outcome));
            };
            let theirs = rows_of(case, position, module, judged);
            let named: Vec<u64> = first.iter().map(|one| one.record).collect();
            let expected: Vec<u64> = theirs.iter().copied().take(NAMED).collect();
            let is_equal = named == expected && *violations == theirs.len() as u64;
            (!is_equal).then(|| {
                format!(
                    "{:?}: {violations} {named:?} here, {theirs:?} in Pandera",
                    result.check
                )
            })
        });
    compared.collect()
}

/// Whether a check is one of Pandera's in a module, and no comment.
fn is_printed(check: &ColumnCheck, module: &str) -> bool {
    let comment = format!("# Not here: {}", in_words(check).replace(char::is_control, " "));
    !module.lines().any(|line| line.trim() == comment.trim())
}

/// Records that Pandera names for a check, counted from 1.
fn rows_of(case: &Case, position: usize, module: &str, judged: &Judged) -> BTreeSet<u64> {
    let check = &case.checks[position];
    let number = (check.rule != Rule::NotNull).then(|| {
        let before = &case.checks[..position];
        let is_like = |other: &&ColumnCheck| {
            other.column == check.column && other.rule != Rule::NotNull && is_printed(other, module)
        };
        before.iter().filter(is_like).count()
    });
    let failures = judged.failures.iter();
    failures
        .filter(|(column, failed, _)| *column == check.column && *failed == number)
        .map(|(_, _, row)| row + 1)
        .collect()
}

async fn by_worker(cases: &[Case]) -> Vec<(CheckReport, String)> {
    let requests: Vec<ChildRequest> = cases.iter().flat_map(requests).collect();
    let program = Path::new(env!("CARGO_BIN_EXE_kubectl-codegen"));
    let responses = WorkerClient::new(program, ["worker"])
        .run(&requests)
        .await
        .unwrap();
    let mut responses = responses.into_iter().map(Result::unwrap);
    let mut judged = Vec::new();
    for case in cases {
        let (Some(Response::Profile(profile)), Some(Response::Report(report))) =
            (responses.next(), responses.next())
        else {
            panic!("{}: other answers", case.name)
        };
        let schemas = infer_all(&profile, &case.checks);
        assert!(!schemas.is_empty(), "{}: no schema: {profile:?}", case.name);
        judged.push((report, to_pandera(&schemas, &case.checks)));
    }
    judged
}

fn requests(case: &Case) -> [ChildRequest; 2] {
    let source = Source::bytes(&case.bytes);
    [
        ChildRequest::Describe {
            source: source.clone(),
            name: "s".into(),
            file_name: case.file_name.into(),
            options: DescribeOptions::default(),
        },
        ChildRequest::Check {
            source,
            file_name: case.file_name.into(),
            format: None,
            checks: case.checks.clone(),
        },
    ]
}

async fn by_pandera(cases: &[Case], modules: &[&str]) -> Vec<Judged> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("cases.json");
    let listed: Vec<_> = cases.iter().zip(modules).map(|(case, module)| {
        json!({"fileName": case.file_name, "bytes": BASE64_STANDARD.encode(&case.bytes), "module": module})
    }).collect();
    std::fs::write(&file, serde_json::to_vec(&listed).unwrap()).unwrap();
    let Phase::Program(mut phase) = support::program(include_str!("judge.py"), &["results"]) else {
        panic!("a program")
    };
    phase.max_output_bytes = 32 << 20;
    let mut job = Job {
        inputs: vec![InputMount {
            name: "cases".into(),
            file_name: "cases.json".into(),
            source: file.display().to_string(),
            content: Vec::new(),
        }],
        ..support::job(vec![Phase::Program(phase)])
    };
    job.limits.memory_bytes = 2 << 30;
    job.limits.timeout_seconds = 300.0;
    let environment = support::build(&support::spec(&PACKAGES)).await.unwrap();
    let Progressing::Done(mut report) = support::sandbox().run(&environment.image, &job, 0).await.unwrap()
    else {
        panic!("a local job is done when it answers")
    };
    let phase = report.phases.remove(0);
    assert_eq!(phase.end, PhaseEnd::Exited(0), "{}", phase.stderr);
    let OutputContent::File(text) = &phase.outputs[0].content else {
        panic!("no results: {}", phase.stderr)
    };
    serde_json::from_slice(&BASE64_STANDARD.decode(text).unwrap()).unwrap()
}
