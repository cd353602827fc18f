//! Every attempt of a task that needed more than one: what was run, what came of it, how it was diagnosed, what changed after it.

use std::collections::BTreeMap;

use similar::TextDiff;

use super::{AttemptRecord, Files, SOLUTION, TESTS, test_output};
use crate::EngineError;
use crate::documents::from_bytes;
use codegen_core::call::CallKind;
use codegen_core::progress::Progress;
use codegen_ledger::{Entry, Store};

/// Folder of the attempts.
pub const ATTEMPTS: &str = "attempts";

/// The files of all attempts; none where the first one was the last, for then it is the result itself.
pub(super) async fn files<S: Store>(
    progress: &Progress,
    store: &S,
    entries: &[Entry],
) -> Result<Files, EngineError> {
    let mut files = Files::new();
    if progress.attempts.len() < 2 {
        return Ok(files);
    }
    let mut before = BTreeMap::new();
    for attempt in &progress.attempts {
        let number = attempt.number;
        let folder = format!("{ATTEMPTS}/{number}");
        let name = format!("documents/run-{number:04}.json");
        let Some(bytes) = store.read(&name).await? else {
            continue;
        };
        let record: AttemptRecord = from_bytes(&name, &bytes)?;
        files.insert(
            format!("{folder}/{TEST_OUTPUT}"),
            test_output(&record).into_bytes(),
        );
        let diagnosis = format!("documents/diagnosis-{number:04}.json");
        if let Some(bytes) = store.read(&diagnosis).await? {
            files.insert(format!("{folder}/diagnosis.json"), bytes);
        }
        for (path, what) in [(SOLUTION, "solution"), (TESTS, "tests")] {
            let Some(text) = source_of(&record, what, store, entries).await? else {
                continue;
            };
            if let Some(earlier) = before.insert(path, text.clone())
                && earlier != text
            {
                let diff = difference(&earlier, &text, &format!("a/{path}"), &format!("b/{path}"));
                files.insert(format!("{folder}/{path}.diff"), diff.into_bytes());
            }
            files.insert(format!("{folder}/{path}"), text.into_bytes());
        }
    }
    Ok(files)
}

/// Name of the file with what the phases of a run printed.
pub(super) const TEST_OUTPUT: &str = "test-output.txt";

/// The source (`solution`, `tests`) that was the newest when the attempt began. A reply that was refused left none.
pub async fn source_of<S: Store>(
    record: &AttemptRecord,
    what: &str,
    store: &S,
    entries: &[Entry],
) -> Result<Option<String>, EngineError> {
    let named = match what {
        "solution" => record.solution.as_ref(),
        _ => record.tests.as_ref(),
    };
    if let Some(document) = named
        && let Some(bytes) = store.read(&document.name).await?
    {
        return Ok(Some(String::from_utf8_lossy(&bytes).into_owned()));
    }
    // Records of earlier versions name neither.
    let is_source = |kind| match kind {
        CallKind::Code | CallKind::FixCode => what == "solution",
        CallKind::Tests | CallKind::FixTests => what == "tests",
        CallKind::Constraints
        | CallKind::Plan
        | CallKind::Diagnosis
        | CallKind::FixEnvironment
        | CallKind::Cases
        | CallKind::MoreCases
        | CallKind::Scope
        | CallKind::Turn
        | CallKind::Outputs
        | CallKind::Program => false,
    };
    let written = entries
        .iter()
        .rev()
        .filter(|entry| is_source(entry.kind) && entry.finished_at <= record.started_at);
    for entry in written {
        let name = format!("documents/{what}-{:04}.py", entry.sequence);
        if let Some(bytes) = store.read(&name).await? {
            return Ok(Some(String::from_utf8_lossy(&bytes).into_owned()));
        }
    }
    Ok(None)
}

/// Compares two versions of a file, as a unified diff.
#[must_use]
pub fn difference(before: &str, after: &str, old: &str, new: &str) -> String {
    TextDiff::from_lines(before, after)
        .unified_diff()
        .header(old, new)
        .to_string()
}
