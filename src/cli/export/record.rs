//! The record of an exported task as a local result has it, so that the commands for local results take the folder.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path};

use crate::cli::command::CommandError;
use crate::cli::recorded::RecordedTask;
use crate::local::folder::{FolderError, RevisionFolder, TASK, TaskFolder};
use crate::local::freeze::ACCEPTANCE;
use codegen_core::causes::with_causes;
use codegen_core::progress::Progress;
use codegen_core::task::Task;
use codegen_engine::results::{Files, INPUTS};
use codegen_ledger::Store as _;

/// Record of a task that has ended.
pub(super) struct TaskRecord {
    task: Task,
    progress: Progress,
    documents: BTreeMap<String, Vec<u8>>,
    acceptance_tests: Option<Vec<u8>>,
}

impl TaskRecord {
    /// The record of a task that has ended and whose data a folder may hold; `None` of any other.
    pub fn of(recorded: &RecordedTask, acceptance_tests: Option<Vec<u8>>) -> Option<Self> {
        let (Some(task), Some(progress)) = (&recorded.task, &recorded.progress) else {
            return None;
        };
        if !recorded.has_ended() || recorded.is_private || recorded.withheld.is_some() {
            return None;
        }
        Some(Self {
            task: task.clone(),
            progress: progress.clone(),
            documents: recorded.documents.clone(),
            acceptance_tests,
        })
    }

    /// Writes it beside the results; `files` have what the task ran with.
    pub async fn write(&self, target: &TaskFolder, files: &Files) -> Result<(), CommandError> {
        let hash = self.task.decisive_hash();
        // The same may have been asked for here, and come to something else.
        let is_this = match target.existing(&hash) {
            Ok(None) => true,
            Ok(Some(there)) => self.agrees(&there).await,
            // Somebody else has made it.
            Err(FolderError::Foreign { .. }) => false,
            Err(error) => return Err(CommandError::usage(error)),
        };
        if !is_this {
            target.set_aside(&hash).map_err(CommandError::usage)?;
        }
        let staging = target.staging().map_err(CommandError::usage)?;
        self.stage(&staging, files)?;
        let revision = target.revision(&hash, &staging).map_err(CommandError::usage)?;
        let task = serde_json::to_vec(&self.task).unwrap_or_default();
        revision.write(TASK, &task).map_err(CommandError::usage)?;
        let stored = |error: codegen_ledger::StoreError| CommandError::usage(with_causes(&error));
        let store = revision.store().map_err(stored)?;
        for (name, bytes) in self.documents.iter().filter(|(name, _)| is_of_a_record(name)) {
            store.create(name, bytes).await.map_err(stored)?;
        }
        // Last: what it names is there.
        store.save(&self.progress).await.map_err(stored)
    }

    /// Reports whether each document that is there already is the same here.
    async fn agrees(&self, there: &RevisionFolder) -> bool {
        let documents = there.existing_store::<Progress>().all().await;
        documents.is_ok_and(|documents| {
            documents
                .iter()
                .all(|(name, bytes)| self.documents.get(name) == Some(bytes))
        })
    }

    /// Puts what the task ran with where a revision takes it from.
    fn stage(&self, staging: &Path, files: &Files) -> Result<(), CommandError> {
        let inputs = files
            .iter()
            .filter(|(path, _)| path.starts_with(&format!("{INPUTS}/")));
        let mut all: Vec<(String, &Vec<u8>)> = inputs.map(|(path, bytes)| (path.clone(), bytes)).collect();
        if let (Some(file), Some(bytes)) = (&self.task.acceptance_tests, &self.acceptance_tests) {
            all.push((format!("{ACCEPTANCE}/{}", file.file_name), bytes));
        }
        for (path, bytes) in all {
            // Whoever wrote the record may not have meant well.
            if !is_plain(&path) {
                return Err(CommandError::usage(format!(
                    "refused to write {path}: it leaves the folder"
                )));
            }
            let place = staging.join(&path);
            let folder = place.parent().unwrap_or(staging);
            let written = fs::create_dir_all(folder).and_then(|()| fs::write(&place, bytes));
            written
                .map_err(|error| CommandError::usage(format!("cannot write {}: {error}", place.display())))?;
        }
        Ok(())
    }
}

fn is_plain(path: &str) -> bool {
    let mut parts = Path::new(path).components();
    !path.is_empty() && parts.all(|part| matches!(part, Component::Normal(_)))
}

/// Reports whether a document has a place in the record of a folder: `calls/0001-plan.json`, `documents/run-0001.json`.
fn is_of_a_record(name: &str) -> bool {
    let parts = name.split_once('/');
    parts.is_some_and(|(folder, rest)| {
        ["calls", "documents"].contains(&folder) && is_plain(rest) && !rest.contains('/')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_that_would_lie_outside_of_the_record_is_none_of_it() {
        for name in ["calls/0001-plan.json", "documents/run-0001.json"] {
            assert!(is_of_a_record(name), "{name}");
        }
        for name in [
            "calls/../../x",
            "documents/..",
            "/etc/x",
            "progress.json",
            "documents/a/b",
            "documents/",
        ] {
            assert!(!is_of_a_record(name), "{name}");
        }
    }
}
