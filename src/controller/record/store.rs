//! A run in Kubernetes objects: the progress in the task's status, every reply and document in a Secret of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use kube::Client;
use tokio::sync::Mutex;

use crate::controller::api;
use crate::controller::record::cache::ended_in;
use crate::controller::record::documents::RevisionDocuments;
use crate::controller::record::progress;
use crate::controller::record::records::{call_of, source_in};
use crate::controller::record::revision::Revision;
use crate::controller::record::secret_documents::SecretDocuments;
use crate::controller::record::size::truncated_status;
use crate::controller::record::unpack::unpack;
use crate::controller::record::{cleanup, result};
use codegen_api::CodeGenTask;
use codegen_core::progress::Progress;
use codegen_core::stage::Stage;
use codegen_core::status::{IsolationShown, StatusContext, status};
use codegen_ledger::{Created, Store, StoreError};
use codegen_sandbox::kubernetes::names::{self, Component};

/// The store of one task's present run.
pub struct KubernetesStore<'a> {
    secrets: SecretDocuments<'a>,
    run: &'a Revision,
    isolation: IsolationShown,
    state: Mutex<State>,
}

/// State that was written last.
struct State {
    object: CodeGenTask,
    /// Names of all documents.
    index: BTreeSet<String>,
    /// True where all documents were read from the result of an earlier end of the run.
    is_unpacked: bool,
}

impl<'a> KubernetesStore<'a> {
    /// The store of `object`. What was read or written goes to `documents`, so that the next step need not ask again.
    #[must_use]
    pub fn new(
        client: Client,
        run: &'a Revision,
        documents: Arc<RevisionDocuments>,
        isolation: IsolationShown,
        object: CodeGenTask,
    ) -> Self {
        let index = object.status.as_ref().map(progress::index).unwrap_or_default();
        let owner = &run.owner;
        Self {
            secrets: SecretDocuments {
                client,
                owner,
                labels: names::labels(&owner.name, &owner.uid, Component::Record),
                cached: documents,
            },
            run,
            isolation,
            state: Mutex::new(State {
                object,
                index,
                is_unpacked: false,
            }),
        }
    }

    /// The task as it was written last.
    #[must_use]
    pub fn into_object(self) -> CodeGenTask {
        self.state.into_inner().object
    }

    /// Takes documents that another task has made. They are in memory until the task's own result holds them.
    pub async fn take_over(&self, documents: BTreeMap<String, Vec<u8>>) {
        let mut state = self.state.lock().await;
        for (name, bytes) in documents {
            self.secrets.cached.buffer(&name, bytes);
            state.index.insert(name);
        }
    }

    /// Every document by name. `earlier` is the result of an earlier end of the run, which holds those from before it.
    async fn all(
        &self,
        index: &BTreeSet<String>,
        earlier: Option<&String>,
    ) -> Result<BTreeMap<String, Vec<u8>>, StoreError> {
        let mut all = match earlier {
            Some(result) => unpack(&self.secrets.client, &self.run.owner.namespace, result).await?,
            None => BTreeMap::new(),
        };
        for document in index {
            if !all.contains_key(document)
                && let Some(bytes) = self.secrets.read(document).await?
            {
                all.insert(document.clone(), bytes);
            }
        }
        Ok(all)
    }

    /// Reports whether a program or a suite stands as it is in the reply that gave it, which is recorded already.
    fn is_in_reply(&self, document: &str, bytes: &[u8]) -> bool {
        call_of(document)
            .and_then(|call| self.secrets.cached.get(&call))
            .and_then(|entry| source_in(&entry))
            .is_some_and(|source| source == bytes)
    }

    /// Unpacks what an earlier end of this run packed together, where the run goes on after that end.
    async fn unpack(&self) -> Result<bool, StoreError> {
        let mut state = self.state.lock().await;
        let result = state
            .object
            .status
            .as_ref()
            .and_then(|status| status.result.clone());
        let Some(result) = result.filter(|_| !state.is_unpacked) else {
            return Ok(false);
        };
        state.is_unpacked = true;
        for (name, bytes) in unpack(&self.secrets.client, &self.run.owner.namespace, &result).await? {
            self.secrets.cached.buffer(&name, bytes);
        }
        Ok(true)
    }
}

impl Store for KubernetesStore<'_> {
    type Progress = Progress;

    async fn load(&self) -> Result<Option<Progress>, StoreError> {
        let state = self.state.lock().await;
        let recorded = state.object.status.as_ref().map(progress::recorded);
        Ok(recorded.transpose()?.flatten())
    }

    async fn save(&self, progress: &Progress) -> Result<(), StoreError> {
        let mut state = self.state.lock().await;
        let before = state.object.status.clone().unwrap_or_default();
        let mut around = StatusContext {
            generation: self.run.generation,
            before: &before.conditions,
            isolation: Some(self.isolation.clone()),
            ..StatusContext::default()
        };
        let mut result = None;
        let mut superseded = None;
        let had_ended = ended_in(&state.object).is_some();
        let ends = progress.stage.is_terminal() && !had_ended;
        // Whoever is to approve of the program must be able to read it.
        let passed = Stage::Passed.as_str();
        let proposes = progress.stage == Stage::Passed && before.stage.as_deref() != Some(passed);
        if ends || proposes {
            let all = self.all(&state.index, before.result.as_ref()).await?;
            // Before the status that names it: a kill in between leaves a result that the next pass finds.
            let kept = result::archive(&self.secrets.client, self.run, progress, all).await?;
            around.artifacts = kept.artifacts;
            superseded = before.result.as_ref().map(|_| kept.name.clone());
            result = Some(kept.name);
        } else if progress.stage.is_terminal() || progress.stage.has_passed() {
            around.artifacts.clone_from(&before.artifacts);
        }
        let is_later = progress.stage.is_terminal() && had_ended;
        if is_later {
            // Nothing runs any more.
            around.isolation = IsolationShown::said(&before.conditions);
        }
        let mut shown = status(&self.run.task, progress, around, Timestamp::now());
        shown.snapshot = Some(self.run.snapshot_status.clone());
        shown.retry_handled.clone_from(&self.run.retry);
        if is_later {
            // What was written by another version stands under the key of that one.
            shown.reuse_key = before.reuse_key;
        }
        // Where a run goes on after an end, its documents are in that end's result until the next one.
        shown.result = result.or(before.result);
        let mut next = state.object.clone();
        let recorded = progress::record(shown, progress, &state.index);
        next.status = Some(truncated_status(recorded, &state.object)?);
        state.object = replace_status(&self.secrets.client, &next).await?;
        // After the status: until the end is recorded, the next pass needs what is removed here.
        if ends {
            cleanup::clear(&self.secrets.client, self.run, progress, superseded.as_deref()).await;
        }
        Ok(())
    }

    async fn create(&self, document: &str, bytes: &[u8]) -> Result<Created, StoreError> {
        if self.state.lock().await.index.contains(document)
            && let Some(found) = self.read(document).await?
        {
            return Ok(Created::Existed(found));
        }
        let created = self.write(document, bytes).await;
        // A reply is paid for and must not be asked for again.
        if created.is_err() {
            self.secrets.cached.hold(document, bytes);
        }
        created
    }

    fn buffer(&self, document: &str, bytes: &[u8]) {
        self.secrets.cached.hold(document, bytes);
    }

    async fn read(&self, document: &str) -> Result<Option<Vec<u8>>, StoreError> {
        // Written before it is used: what is in memory alone would be lost with the process.
        for (name, bytes) in self.secrets.cached.held(document) {
            self.write(&name, &bytes).await?;
        }
        let cached = &self.secrets.cached;
        let mut found = if cached.are_all() {
            cached.get(document)
        } else {
            self.secrets.read(document).await?
        };
        if found.is_none() && self.unpack().await? {
            found = self.secrets.cached.get(document);
        }
        if let Some(bytes) = &found {
            self.secrets.cached.put(document, bytes);
            self.state.lock().await.index.insert(document.to_owned());
        }
        Ok(found)
    }
}

impl KubernetesStore<'_> {
    /// Writes a document that was not written or read before.
    async fn write(&self, document: &str, bytes: &[u8]) -> Result<Created, StoreError> {
        let created = self.write_parts(document, bytes).await?;
        self.secrets.cached.wrote(document);
        self.state.lock().await.index.insert(document.to_owned());
        Ok(created)
    }

    async fn write_parts(&self, document: &str, bytes: &[u8]) -> Result<Created, StoreError> {
        if self.is_in_reply(document, bytes) {
            self.secrets.cached.put(document, bytes);
            return Ok(Created::New);
        }
        self.secrets.create(document, bytes).await
    }
}

/// Writes the status of `task` over the version that it was read at; gives the task as it is then.
pub async fn replace_status(client: &Client, task: &CodeGenTask) -> Result<CodeGenTask, StoreError> {
    let written = api::replace_status(client, task).await?;
    if !lost_progress(task, &written) {
        return Ok(written);
    }
    let namespace = task.metadata.namespace.as_deref().unwrap_or_default();
    let name = task.metadata.name.as_deref().unwrap_or_default();
    Err(StoreError::Remote {
        action: format!("keep the state of CodeGenTask {namespace}/{name}"),
        source:
            "the API server drops fields of its status: apply the definitions of this version of the operator"
                .into(),
    })
}

/// Reports whether definitions of another version made the API server drop what was written.
fn lost_progress(sent: &CodeGenTask, written: &CodeGenTask) -> bool {
    let has_progress = |task: &CodeGenTask| {
        let status = task.status.as_ref();
        status.is_some_and(|status| status.progress.is_some() && status.snapshot.is_some())
    };
    let asks = |task: &CodeGenTask| {
        task.status
            .as_ref()
            .is_some_and(|status| status.approval.is_some())
    };
    (has_progress(sent) && !has_progress(written)) || (asks(sent) && !asks(written))
}
