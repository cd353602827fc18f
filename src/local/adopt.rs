//! Takes over the result of a succeeded task that asked the same, and whose folder lies beside that of this one; or the program of the
//! run before, where only what proves it has changed since.
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
use codegen_core::python::in_process::imports_program;
use codegen_core::reuse::{adopted, is_allowed, is_carried_over, key_of, may_adopt, may_hold, needed};
use codegen_core::stage::Stage;
use codegen_core::task::Task;
use codegen_ledger::{Created, FolderStore, Store as _, StoreError};

/// A task that has ended.
struct Origin {
    name: String,
    progress: Progress,
    /// Its documents by name.
    documents: BTreeMap<String, Vec<u8>>,
}

/// Makes what an earlier task came to this one's own, where `store` is empty: the program of its own former revision where only proofs
/// have changed since, else, with `neighbours`, the result of the latest one that asked the same. Returns whose it is.
pub(super) async fn adopt(
    prepared: &Prepared,
    store: &FolderStore,
    has_neighbours: bool,
) -> Result<Option<String>, StoreError> {
    if !may_adopt(&prepared.task) || store.load().await?.is_some() {
        return Ok(None);
    }
    if let Some(former) = &prepared.former
        && let Some(origin) = former_program(former, &prepared.task).await
    {
        // What proves it is new, whatever the task says of results that are taken over.
        let task = Task {
            reruns_tests: true,
            ..prepared.task.clone()
        };
        let origin = Origin {
            progress: Progress {
                acceptance_is_apart: is_apart(prepared),
                ..origin.progress
            },
            ..origin
        };
        let text = "the program of the run before was held against them first, without a call; --fresh makes one anew";
        return Ok(take(origin, &task, store).await?.then(|| text.to_owned()));
    }
    let Some(key) = prepared.task.reuse_key().filter(|_| has_neighbours) else {
        return Ok(None);
    };
    let mut origins = Vec::new();
    // Only reads.
    for folder in neighbours(prepared.folder.root()) {
        origins.extend(neighbour(&folder, &key, &prepared.task).await);
    }
    origins.sort_by_key(|origin| std::cmp::Reverse(origin.progress.completed_at));
    let Some(origin) = origins.into_iter().next() else {
        return Ok(None);
    };
    let tests = if prepared.task.reruns_tests {
        "its tests were run again"
    } else {
        "no test was run again"
    };
    let text = format!(
        "{} asked the same and succeeded: its program is adopted, {tests}; --fresh makes one anew",
        origin.name
    );
    Ok(take(origin, &prepared.task, store).await?.then_some(text))
}

/// Reports whether the acceptance tests run the program from outside of its process.
fn is_apart(prepared: &Prepared) -> bool {
    let file = prepared.task.acceptance_tests.as_ref();
    let text = file.and_then(|file| fs::read_to_string(prepared.run.acceptance(&file.file_name)).ok());
    text.is_some_and(|text| !imports_program(&text))
}

/// Makes what an origin came to the task's own; false where the task makes its program itself.
async fn take(origin: Origin, task: &Task, store: &FolderStore) -> Result<bool, StoreError> {
    let documents = origin.documents.iter();
    for (name, bytes) in documents.filter(|(name, _)| is_carried_over(task, name)) {
        // A kill may have left a part of another one.
        if let Created::Existed(there) = store.create(name, bytes).await?
            && there != *bytes
        {
            return Ok(false);
        }
    }
    let hash = task.decisive_hash();
    let progress = adopted(task, &origin.progress, &origin.name, &hash, Timestamp::now());
    // Last: what it names is there.
    store.save(&progress).await?;
    Ok(true)
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

/// The program of the task's own former revision, where it may be held against the present proofs.
async fn former_program(former: &RevisionFolder, task: &Task) -> Option<Origin> {
    origin(former, |asked, progress| may_hold(task, asked, progress)).await
}

/// Returns what the task of this folder left, if it asked the same, succeeded, is whole, and may be taken over.
async fn neighbour(folder: &Path, key: &str, task: &Task) -> Option<Origin> {
    let revision = RevisionFolder::latest(folder).ok()??;
    let is_the_same = |asked: &Task, progress: &Progress| {
        progress.stage == Stage::Succeeded
            && key_of(asked, progress).as_deref() == Some(key)
            && is_allowed(task, progress)
    };
    origin(&revision, is_the_same).await
}

/// Returns what a revision left, if it is one that is wanted, whole, and this user's.
async fn origin(
    revision: &RevisionFolder,
    is_wanted: impl FnOnce(&Task, &Progress) -> bool,
) -> Option<Origin> {
    // Not even with --trust: what this task goes on with would be sealed as this user's.
    if revision.is_foreign() {
        return None;
    }
    let asked = revision.task().ok()??;
    let store = revision.existing_store();
    let progress: Progress = store.load().await.ok()??;
    if !is_wanted(&asked, &progress) {
        return None;
    }
    let documents = store.all().await.ok()?;
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
