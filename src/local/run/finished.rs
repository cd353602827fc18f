//! Remains of a task that succeeded, in a folder, as far as running its program takes it.

use std::path::Path;

use serde::de::DeserializeOwned;
use tokio::sync::OnceCell;

use super::error::LocalRunError;
use crate::local::folder::{FolderError, RevisionFolder};
use crate::local::trust::Trust;
use codegen_core::checks::ColumnCheck;
use codegen_core::digest::sha256_hex;
use codegen_core::lock::Lock;
use codegen_core::progress::{BuiltImage, Document, Progress};
use codegen_core::sandbox::NetworkAccess;
use codegen_core::stage::Stage;
use codegen_core::task::Task;
use codegen_data::profile::SampleProfile;
use codegen_engine::results::SOLUTION;
use codegen_engine::run_data::{ColumnsByInput, columns};
use codegen_ledger::{FolderStore, Key, Store as _, read_below};
use codegen_sandbox::BuiltEnvironment;

/// A task that succeeded.
#[derive(Debug)]
pub struct FinishedTask {
    /// The task without open questions.
    pub task: Task,
    /// The program that passed.
    pub program: String,
    /// The environment that it passed in.
    pub built: BuiltImage,
    /// Lock of its environment, archive by archive, and the hash of what it was asked to be.
    pub lock: Option<(String, Lock)>,
    /// Properties of the samples' columns.
    pub columns: ColumnsByInput,
    /// The constraints on columns.
    pub checks: Vec<ColumnCheck>,
    /// Folder with its samples and inputs.
    pub run: RevisionFolder,
    /// Notices for a person.
    pub notices: Vec<String>,
    /// The environment that its programs run in, once one has.
    pub(super) environment: OnceCell<BuiltEnvironment>,
}

impl FinishedTask {
    /// Reads what the task that ran last in `folder` left, where it is this user's or `trust` says so. Nothing of it is changed.
    pub async fn open(folder: &Path, trust: &Trust) -> Result<Self, LocalRunError> {
        let no_task = || LocalRunError::NoTask {
            folder: folder.to_owned(),
        };
        let run = RevisionFolder::latest(folder)?.ok_or_else(no_task)?;
        if run.is_foreign() && !trust.allows(folder).await {
            return Err(LocalRunError::Folder(FolderError::Foreign {
                results: folder.to_owned(),
                key_is_new: Key::find().is_ok_and(|key| key.is_none()),
            }));
        }
        let task = run.task()?.ok_or_else(no_task)?;
        let stored = LocalRunError::stored(folder);
        let record = run.record();
        if !record.is_dir() {
            return Err(no_task());
        }
        let store = run.existing_store();
        let progress: Progress = store.load().await.map_err(&stored)?.ok_or_else(no_task)?;
        let documents = &progress.documents;
        let (Stage::Succeeded, Some(solution), Some(built)) =
            (progress.stage, &documents.solution, &progress.build.built)
        else {
            return Err(LocalRunError::NotSucceeded {
                folder: folder.to_owned(),
                stage: progress.stage.to_string(),
            });
        };
        let reader = Reader {
            store: &store,
            folder,
        };
        let program = reader.bytes(solution).await?;
        let notices = edited(folder, &program)
            .into_iter()
            .chain(open_network(&task))
            .collect();
        Ok(Self {
            task,
            program: String::from_utf8(program).map_err(|error| LocalRunError::damaged(folder, error))?,
            built: built.clone(),
            lock: reader.lock(&progress).await?,
            columns: columns(
                &reader
                    .json::<Vec<SampleProfile>>(documents.profiles.as_ref())
                    .await?,
            ),
            checks: reader.json(documents.checks.as_ref()).await?,
            run,
            notices,
            environment: OnceCell::new(),
        })
    }
}

struct Reader<'a> {
    store: &'a FolderStore,
    folder: &'a Path,
}

impl Reader<'_> {
    async fn bytes(&self, document: &Document) -> Result<Vec<u8>, LocalRunError> {
        let stored = LocalRunError::stored(self.folder);
        let bytes = self.store.read(&document.name).await.map_err(stored)?;
        bytes
            // Somebody may have edited the record.
            .filter(|bytes| sha256_hex(bytes) == document.sha256)
            .ok_or_else(|| {
                LocalRunError::damaged(
                    self.folder,
                    format!("{} is missing or was changed", document.name),
                )
            })
    }

    async fn lock(&self, progress: &Progress) -> Result<Option<(String, Lock)>, LocalRunError> {
        let Some(recorded) = &progress.build.lock else {
            return Ok(None);
        };
        let bytes = self.bytes(&recorded.document).await?;
        let lock = Lock::parse(&String::from_utf8_lossy(&bytes)).filter(Lock::is_complete);
        Ok(lock.map(|lock| (recorded.environment.clone(), lock)))
    }

    /// Empty where there is no such document.
    async fn json<T: DeserializeOwned + Default>(
        &self,
        document: Option<&Document>,
    ) -> Result<T, LocalRunError> {
        let Some(document) = document else {
            return Ok(T::default());
        };
        let bytes = self.bytes(document).await?;
        if bytes.is_empty() {
            return Ok(T::default());
        }
        serde_json::from_slice(&bytes).map_err(|error| LocalRunError::damaged(self.folder, error))
    }
}

/// The notice of a task that opens the network to its program.
fn open_network(task: &Task) -> Option<String> {
    let is_open = task.sandbox.network != NetworkAccess::Denied;
    is_open.then(|| {
        format!(
            "the program of {} may reach the network, with what it is given: sandbox.network of its task is open",
            task.name
        )
    })
}

/// A program that was changed by hand has passed no test.
fn edited(folder: &Path, program: &[u8]) -> Option<String> {
    let path = folder.join(SOLUTION);
    let there = read_below(folder, Path::new(SOLUTION)).ok()??;
    (there != program).then(|| {
        format!(
            "{} was changed since its tests passed: the program that passed them is run",
            path.display()
        )
    })
}
