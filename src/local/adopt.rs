//! Takes over the result of a succeeded task that asked the same, and whose folder lies beside that of this one.
//!
//! What is taken over is read whole and compared with the digests in its record before anything follows from it: a neighbour that is
//! damaged counts as if it were not there.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::folder::{REVISIONS, RevisionFolder};
use super::prepare::Prepared;
use codegen_core::digest::sha256_hex;
use codegen_core::progress::Progress;
use codegen_core::reuse::{adopted, is_allowed, is_carried_over, key_of, may_adopt, needed};
use codegen_core::stage::Stage;
use codegen_core::task::Task;
use codegen_ledger::{Created, FolderStore, Store as _, StoreError};

/// Folders of a record that hold its documents.
const DOCUMENTS: [&str; 2] = ["calls", "documents"];

/// A succeeded task.
struct Origin {
    name: String,
    progress: Progress,
    /// Its documents by name.
    documents: BTreeMap<String, Vec<u8>>,
}

/// Makes the result of the latest neighbour that asked the same the task's own, where `store` is empty; says whose it is.
pub(super) async fn adopt(prepared: &Prepared, store: &FolderStore) -> Result<Option<String>, StoreError> {
    let task = &prepared.task;
    let Some(key) = task.reuse_key().filter(|_| may_adopt(task)) else {
        return Ok(None);
    };
    if store.load().await?.is_some() {
        return Ok(None);
    }
    let mut origins = Vec::new();
    // Only reads.
    for folder in neighbours(prepared.folder.root()) {
        origins.extend(origin(&folder, &key, task).await);
    }
    origins.sort_by_key(|origin| std::cmp::Reverse(origin.progress.completed_at));
    let Some(origin) = origins.into_iter().next() else {
        return Ok(None);
    };
    let documents = origin.documents.iter();
    for (name, bytes) in documents.filter(|(name, _)| is_carried_over(task, name)) {
        // A kill may have left a part of another one: then the task makes its program itself.
        if let Created::Existed(there) = store.create(name, bytes).await?
            && there != *bytes
        {
            return Ok(None);
        }
    }
    let progress = adopted(
        task,
        &origin.progress,
        &origin.name,
        &task.decisive_hash(),
        Timestamp::now(),
    );
    // Last: what it names is there.
    store.save(&progress).await?;
    let tests = if progress.stage.is_terminal() {
        "no test was run again"
    } else {
        "its tests were run again"
    };
    Ok(Some(format!(
        "{} asked the same and succeeded: its program is adopted, {tests}; --fresh makes one anew",
        origin.name
    )))
}

/// The folders of results beside `own` that belong to the same user.
fn neighbours(own: &Path) -> Vec<PathBuf> {
    let Ok(own) = own.canonicalize() else {
        return Vec::new();
    };
    let owner = |path: &Path| path.symlink_metadata().ok().map(|found| found.uid());
    let beside = own.parent().and_then(|parent| fs::read_dir(parent).ok());
    let paths = beside.into_iter().flatten().flatten().map(|entry| entry.path());
    let is_one = |path: &PathBuf| {
        let state = path.join(REVISIONS);
        // A link may lead to what somebody else has written.
        let are_folders = [path, &state]
            .iter()
            .all(|path| path.symlink_metadata().is_ok_and(|found| found.is_dir()));
        *path != own && are_folders && owner(&state) == owner(&own)
    };
    let mut found: Vec<PathBuf> = paths.filter(is_one).collect();
    found.sort();
    found
}

/// Returns what the task of this folder left, if it asked the same, succeeded, is whole, and may be taken over.
async fn origin(folder: &Path, key: &str, task: &Task) -> Option<Origin> {
    let run = RevisionFolder::latest(folder).ok()??;
    // Not even with --trust: what this task goes on with would be sealed as this user's.
    if run.is_foreign() {
        return None;
    }
    let asked = run.task().ok()??;
    let record = run.record();
    if !record.is_dir() {
        return None;
    }
    let store = run.existing_store();
    let progress: Progress = store.load().await.ok()??;
    let is_the_same = progress.stage == Stage::Succeeded
        && key_of(&asked, &progress).as_deref() == Some(key)
        && is_allowed(task, &progress);
    if !is_the_same {
        return None;
    }
    let mut documents = BTreeMap::new();
    for name in names(&record) {
        let bytes = store.read(&name).await.ok()??;
        documents.insert(name, bytes);
    }
    let is_whole = progress.documents.solution.is_some()
        && needed(&progress).into_iter().all(|document| {
            let bytes = documents.get(&document.name);
            bytes.is_some_and(|bytes| sha256_hex(bytes) == document.sha256)
        });
    is_whole.then_some(Origin {
        name: asked.name,
        progress,
        documents,
    })
}

/// The names of all documents of a record.
fn names(record: &Path) -> Vec<String> {
    let files = DOCUMENTS.iter().flat_map(|folder| {
        let entries = fs::read_dir(record.join(folder)).into_iter().flatten().flatten();
        entries.filter_map(move |entry| Some(format!("{folder}/{}", entry.file_name().to_str()?)))
    });
    files.collect()
}
