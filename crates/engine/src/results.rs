//! Results of a task: program, suite, outputs, conversation, each under its path, and the references of the status to them.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::EngineError;
use super::attempt::AttemptRecord;
use super::damaged;
use codegen_api::common::Exposure;
use codegen_api::status::ArtifactRef;
use codegen_api::values::{FileFormat, Output};
use codegen_core::agent::{AgentStep, Workspace};
use codegen_core::call::CallKind;
use codegen_core::checks::ColumnCheck;
use codegen_core::digest::sha256_hex;
use codegen_core::progress::{Document, Progress};
use codegen_core::sandbox::{OutputContent, OutputReport, PhaseReport};
use codegen_core::task::Task;
use codegen_core::verdict::FailedCheck;
use codegen_data::profile::SampleProfile;
use codegen_data::schema::infer_all;
use codegen_data::schema::pandera::to_pandera;
use codegen_ledger::{Entry, Ledger, Store, export_replies};

mod agent;
mod attempts;
mod standalone;

pub use self::attempts::{difference, source_of};

/// Files by path.
pub type Files = BTreeMap<String, Vec<u8>>;

/// Path of the program.
pub const SOLUTION: &str = "solution.py";
/// Path of the suite.
pub const TESTS: &str = "test_solution.py";
/// Path of the replies, as a recorded model takes them.
pub const REPLIES: &str = "replies.jsonl";
/// Folder of what the program wrote on the samples.
pub const OUTPUTS: &str = "outputs";
/// Folder of the samples and inputs that the task ran with, which are the defaults of its runs.
pub const INPUTS: &str = "inputs";

/// Everything that a task leaves.
#[derive(Clone, Debug, Default)]
pub struct Results {
    /// Files by path.
    pub files: Files,
    /// References of the status to them.
    pub artifacts: Vec<ArtifactRef>,
    /// Outputs on the samples: name and value, of files and folders their size.
    pub outputs: Vec<(String, String)>,
    /// Examples that the last attempt failed: name, and what was expected and came.
    pub failed_examples: Vec<(String, String)>,
    /// Outputs that are not among the files, for they were checked where they lay.
    pub large: Vec<LargeOutput>,
}

/// An output that lies, if anywhere, where it was checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LargeOutput {
    /// Its name.
    pub name: String,
    /// Its path among the results.
    pub path: String,
    /// SHA-256 of the file, or of the folder as a whole, hex.
    pub sha256: String,
}

impl Results {
    /// Adds a file that the status names.
    fn add(&mut self, artifact: &str, path: &str, bytes: Vec<u8>) {
        self.artifacts.push(ArtifactRef {
            name: artifact.to_owned(),
            sha256: sha256_hex(&bytes),
            bytes: i64::try_from(bytes.len()).unwrap_or(i64::MAX),
        });
        self.files.insert(path.to_owned(), bytes);
    }
}

/// Collects the results of a task that has ended, or waits. `entries` are its calls.
pub async fn collect<S: Store>(
    task: &Task,
    progress: &Progress,
    store: &S,
    entries: &[Entry],
) -> Result<Results, EngineError> {
    let mut results = Results::default();
    let lock = add_documents(&mut results, progress, store).await?;
    let record = attempt_record(store, progress).await?;
    if let Some(record) = &record {
        results.add(
            "test-output",
            attempts::TEST_OUTPUT,
            test_output(record).into_bytes(),
        );
    }
    let steps = agent::steps(progress, store).await?;
    results.add(
        "conversation",
        "conversation.jsonl",
        conversation(store, entries, &steps).await?,
    );
    // What was taken over has neither steps nor turns of its own.
    let has_turns =
        progress.adopted_from.is_none() && entries.iter().any(|entry| entry.kind == CallKind::Turn);
    if has_turns {
        results.add("agent-trace", agent::TRACE, agent::trace(&steps, entries));
    }
    if progress.documents.solution.is_none() {
        add_untested(&mut results, &agent::workspace(&steps, entries));
    }
    results.artifacts.push(samples_artifact(task));
    let files = &mut results.files;
    for output in record.iter().flat_map(AttemptRecord::outputs) {
        publish_output(output, &task.outputs, files);
    }
    files.insert(REPLIES.to_owned(), export_replies(entries).into_bytes());
    files.extend(attempts::files(progress, store, entries).await?);
    let needed = standalone::files(task, progress, lock.as_deref());
    files.extend(
        needed
            .into_iter()
            .map(|(path, text)| (path.to_owned(), text.into_bytes())),
    );
    if let Some(AttemptRecord {
        findings,
        failed_examples,
        ..
    }) = record
    {
        let named = failed_examples.into_iter();
        results.failed_examples = named.map(|failed| (failed.id, failed.message)).collect();
        results.large = findings
            .stored
            .into_iter()
            .filter_map(|stored| {
                Some(LargeOutput {
                    path: output_path(&stored.output, &task.outputs),
                    name: stored.output,
                    sha256: stored.sha256?,
                })
            })
            .collect();
        results.outputs = findings.values;
    }
    Ok(results)
}

/// Adds what the task recorded as documents; returns the list of installed packages.
async fn add_documents<S: Store>(
    results: &mut Results,
    progress: &Progress,
    store: &S,
) -> Result<Option<Vec<u8>>, EngineError> {
    let documents = &progress.documents;
    let parts = [
        ("solution", SOLUTION, &documents.solution),
        ("tests", TESTS, &documents.tests),
        ("data-context", "data-context.txt", &documents.context),
        ("constraints", "constraints.json", &documents.checks),
        ("cases", "cases.json", &documents.cases),
    ];
    for (artifact, path, document) in parts {
        if let Some(bytes) = read(store, document.as_ref())
            .await?
            .filter(|bytes| !bytes.is_empty())
        {
            results.add(artifact, path, bytes);
        }
    }
    let lock = progress.build.lock.as_ref().map(|lock| &lock.document);
    let lock = read(store, lock).await?;
    if let Some(bytes) = &lock {
        results.add("packages", standalone::LOCK, bytes.clone());
    }
    if let Some(bytes) = read(store, documents.profiles.as_ref()).await?
        && let Some(code) = schemas(&bytes, read(store, documents.checks.as_ref()).await?.as_deref())
    {
        results.add("schemas", "schemas.py", code.into_bytes());
    }
    Ok(lock)
}

/// Adds what an agent wrote that never asked for its tests.
fn add_untested(results: &mut Results, workspace: &Workspace) {
    let files = [
        ("solution", SOLUTION, SOLUTION),
        ("tests", workspace.suite(), TESTS),
    ];
    for (artifact, file, path) in files {
        if let Some(bytes) = workspace.get(file) {
            results.add(artifact, path, bytes.to_vec());
        }
    }
}

/// Reports whether inputs, outputs, and printed text of tests, may hold data that no model was to see.
#[must_use]
pub fn is_private(task: &Task) -> bool {
    task.exposure <= Exposure::SchemaOnly && task.frozen_inputs().next().is_some()
}

/// Takes out what holds data of the samples where a model saw no more than their schema. Says what is left out.
pub fn without_data(task: &Task, files: &mut Files) -> Vec<String> {
    if !is_private(task) {
        return Vec::new();
    }
    let is_below = |folder: &str, path: &str| {
        path.strip_prefix(folder)
            .is_some_and(|rest| rest.starts_with('/'))
    };
    let holds_data = |path: &String| {
        [OUTPUTS, INPUTS].iter().any(|folder| is_below(folder, path)) || path.ends_with(attempts::TEST_OUTPUT)
    };
    files
        .extract_if(.., |path, _| holds_data(path))
        .map(|(path, _)| path)
        .collect()
}

async fn read<S: Store>(store: &S, document: Option<&Document>) -> Result<Option<Vec<u8>>, EngineError> {
    match document {
        Some(document) => Ok(store.read(&document.name).await?),
        None => Ok(None),
    }
}

async fn attempt_record<S: Store>(
    store: &S,
    progress: &Progress,
) -> Result<Option<AttemptRecord>, EngineError> {
    let document = progress.documents.run.as_ref();
    let Some(bytes) = read(store, document).await? else {
        return Ok(None);
    };
    serde_json::from_slice(&bytes)
        .map(Some)
        .map_err(|error| damaged("the record of the last run", &error.to_string()))
}

/// The schemas of the samples with the constraints on their columns, as Python.
fn schemas(profiles: &[u8], checks: Option<&[u8]>) -> Option<String> {
    let profiles: Vec<SampleProfile> = serde_json::from_slice(profiles).ok()?;
    let checks: Vec<ColumnCheck> = checks.map_or_else(Vec::new, |bytes| {
        serde_json::from_slice(bytes).unwrap_or_default()
    });
    let schemas: Vec<_> = profiles
        .iter()
        .flat_map(|profile| infer_all(profile, &checks))
        .collect();
    (!schemas.is_empty()).then(|| to_pandera(&schemas, &checks))
}

/// One line a message, in order.
async fn conversation<S: Store>(
    store: &S,
    entries: &[Entry],
    steps: &BTreeMap<u32, Vec<AgentStep>>,
) -> Result<Vec<u8>, EngineError> {
    let messages = agent::said(Ledger::new(store).conversation(entries).await?, steps);
    let mut lines = Vec::new();
    for message in messages {
        // Plain data with string keys: writing it to memory cannot fail.
        lines.extend(serde_json::to_vec(&message).unwrap_or_default());
        lines.push(b'\n');
    }
    Ok(lines)
}

fn samples_artifact(task: &Task) -> ArtifactRef {
    let lines: String = task.samples.iter().fold(String::new(), |mut text, sample| {
        let _ = writeln!(text, "{}  {}", sample.sha256, sample.file_name);
        text
    });
    let bytes: u64 = task.samples.iter().map(|sample| sample.bytes).sum();
    ArtifactRef {
        name: "samples".into(),
        sha256: sha256_hex(lines.as_bytes()),
        bytes: i64::try_from(bytes).unwrap_or(i64::MAX),
    }
}

/// Renders the printed text of the phases, and the text of every failure.
#[must_use]
pub fn test_output(record: &AttemptRecord) -> String {
    let mut text = format!("attempt {}: {}\n", record.attempt, record.verdict.summary());
    for phase in &record.report.phases {
        let _ = write!(
            text,
            "\n== {:?}: {:?} after {:.2} s\n",
            phase.name, phase.end, phase.seconds
        );
        write_phase(&mut text, phase);
    }
    let verdict = &record.verdict;
    let cases = verdict.failed.iter().filter(|check| check.source.is_case());
    let decided = cases.map(|check| (check, "failed"));
    let reported = verdict
        .reported
        .iter()
        .map(|check| (check, "failed, and only reported"));
    for (check, how) in decided.chain(reported) {
        let FailedCheck { detail, .. } = check;
        let _ = writeln!(
            text,
            "\n== {} {how}: {}\n{}",
            detail.id,
            detail.message,
            detail.text.trim_end()
        );
    }
    let of_the_owner = [
        ("acceptance ", &record.failed_acceptance),
        ("", &record.failed_examples),
    ];
    for (kind, detail) in of_the_owner
        .into_iter()
        .flat_map(|(kind, failed)| failed.iter().map(move |detail| (kind, detail)))
    {
        let _ = writeln!(
            text,
            "\n== {kind}{} failed: {}\n{}",
            detail.id,
            detail.message,
            detail.text.trim_end()
        );
    }
    text
}

fn write_phase(text: &mut String, phase: &PhaseReport) {
    for result in phase.tests.iter().flat_map(|tests| &tests.results) {
        let _ = writeln!(text, "{:?} {}", result.outcome, result.id);
        if let Some(failure) = &result.failure {
            let _ = writeln!(text, "{}", failure.text.trim_end());
        }
    }
    for failure in phase.tests.iter().flat_map(|tests| &tests.collection_errors) {
        let _ = writeln!(text, "cannot collect {}\n{}", failure.id, failure.text.trim_end());
    }
    for (name, output) in [("stdout", &phase.stdout), ("stderr", &phase.stderr)] {
        if !output.trim().is_empty() {
            let _ = writeln!(text, "-- {name}\n{}", output.trim_end());
        }
    }
}

/// Path of an output: under `outputs/`, a file with the ending of its format.
fn output_path(name: &str, declared: &[Output]) -> String {
    let declared = declared.iter().find(|one| one.name == name);
    let format = declared.and_then(|one| one.format);
    format!("{OUTPUTS}/{name}{}", format.map_or("", FileFormat::ending))
}

/// An output under its path.
fn publish_output(output: &OutputReport, declared: &[Output], files: &mut Files) {
    let base = output_path(&output.name, declared);
    match &output.content {
        OutputContent::File(text) => {
            if let Ok(bytes) = STANDARD.decode(text) {
                files.insert(base, bytes);
            }
        }
        OutputContent::Dir(entries) => {
            for (path, text) in entries {
                if let Ok(bytes) = STANDARD.decode(text) {
                    files.insert(format!("{base}/{path}"), bytes);
                }
            }
        }
        OutputContent::Missing | OutputContent::TooLarge(_) | OutputContent::NotAFile(_) => {}
    }
}
