//! The record of a task in the folder of a local result.

use std::path::Path;

use jiff::Timestamp;

use super::task::{Place, RecordedTask};
use crate::cli::command::CommandError;
use crate::local::folder::{QUESTION, RevisionFolder};
use crate::local::trust::foreign_notice;
use codegen_core::causes::with_causes;
use codegen_core::progress::Progress;
use codegen_core::status::{StatusContext, status};
use codegen_ledger::{Key, Store as _};

/// Message about a folder of `ask`.
const OF_A_QUESTION: &str = "it is of a question that kubectl-codegen ask was asked, and of no task: program.py, answer.txt, journal.jsonl and status.yaml in it say what came of it, and the same kubectl-codegen ask goes on with it; a question in a cluster is codemoderun/NAME";

/// Reports whether a folder holds the result of a task.
pub(in crate::cli) fn is_result(folder: &Path) -> bool {
    RevisionFolder::latest(folder).is_ok_and(|found| found.is_some())
}

/// Reads what is recorded of the task whose results are in `folder`. Nothing of it is changed or locked.
pub(in crate::cli) async fn from_folder(folder: &Path) -> Result<RecordedTask, CommandError> {
    let shown = folder.display();
    let wrong = |error: &dyn std::fmt::Display| CommandError::usage(format!("{shown}: {error}"));
    let latest = RevisionFolder::latest(folder).map_err(|error| wrong(&error))?;
    let revision = latest.ok_or_else(|| {
        CommandError::usage(format!(
                "{shown} holds no result of kubectl-codegen local: name the folder of one task (codegen-out/NAME), or a task of a cluster by its name, without a slash"
            ))
    })?;
    if revision.read(QUESTION).is_ok_and(|question| question.is_some()) {
        return Err(wrong(&OF_A_QUESTION));
    }
    let task = revision.task().map_err(|error| wrong(&error))?;
    let task = task.ok_or_else(|| {
        wrong(&"it does not say which task it is of: another version of this program made it")
    })?;
    let store = revision.existing_store();
    let damaged = |error: codegen_ledger::StoreError| wrong(&with_causes(&error));
    let progress: Option<Progress> = store.load().await.map_err(damaged)?;
    let documents = store.all().await.map_err(damaged)?;
    let status = progress
        .as_ref()
        .map(|progress| status(&task, progress, StatusContext::default(), Timestamp::now()));
    Ok(RecordedTask {
        name: task.name.clone(),
        place: Place::Folder(folder.to_owned()),
        status: status.unwrap_or_default(),
        progress,
        task: Some(task),
        documents,
        withheld: None,
        foreign: revision.is_foreign().then(|| {
            let key_is_new = Key::find().is_ok_and(|key| key.is_none());
            foreign_notice(folder, key_is_new)
        }),
        // They are the user's own, on the user's own machine.
        is_private: false,
    })
}
