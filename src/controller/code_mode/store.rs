//! A question in Kubernetes objects: the progress in the status of its run, every reply and document in a Secret of its own.

use std::sync::Arc;

use jiff::Timestamp;
use kube::Client;
use serde::de::DeserializeOwned;
use tokio::sync::Mutex;

use crate::api::code_mode::{CodeModeRun, CodeModeRunStatus};
use crate::controller::api;
use crate::controller::record::documents::Documents;
use crate::controller::record::secret_documents::SecretDocuments;
use crate::ledger::{Created, Store, StoreError};
use crate::pipeline::code_mode::{Answer, Progress, StatusContext, status};
use crate::pipeline::progress::Document;
use crate::sandbox::kubernetes::Owner;
use crate::sandbox::kubernetes::names::{self, Component};

/// The store of one question.
pub struct CodeModeStore<'a> {
    secrets: SecretDocuments<'a>,
    object: Mutex<CodeModeRun>,
}

impl<'a> CodeModeStore<'a> {
    /// The store of `object`, whose documents belong to `owner`.
    #[must_use]
    pub fn new(client: Client, owner: &'a Owner, cached: Arc<Documents>, object: CodeModeRun) -> Self {
        Self {
            secrets: SecretDocuments {
                client,
                owner,
                labels: names::labels_of_run(&owner.name, &owner.uid, Component::Record),
                cached,
            },
            object: Mutex::new(object),
        }
    }

    /// The run as it was written last.
    #[must_use]
    pub fn into_object(self) -> CodeModeRun {
        self.object.into_inner()
    }

    async fn document<D: DeserializeOwned>(
        &self,
        document: Option<&Document>,
    ) -> Result<Option<D>, StoreError> {
        let Some(document) = document else { return Ok(None) };
        let bytes = self.read(&document.name).await?;
        let read = bytes.map(|bytes| serde_json::from_slice(&bytes)).transpose();
        read.map_err(|error| damaged(&document.name, &error))
    }
}

impl Store for CodeModeStore<'_> {
    async fn load(&self) -> Result<Option<Vec<u8>>, StoreError> {
        let object = self.object.lock().await;
        let progress = object.status.as_ref().and_then(|status| status.progress.as_ref());
        // Plain data with string keys: writing it to memory cannot fail.
        Ok(progress.map(|progress| serde_json::to_vec(progress).unwrap_or_default()))
    }

    async fn save(&self, bytes: &[u8]) -> Result<(), StoreError> {
        let unreadable = |error| damaged("progress", &error);
        let progress: Progress = serde_json::from_slice(bytes).map_err(unreadable)?;
        let answer: Option<Answer> = self.document(progress.answer.as_ref()).await?;
        let code: Option<String> = self.document(progress.program.as_ref()).await?;
        let mut object = self.object.lock().await;
        let before = object.status.clone().unwrap_or_default();
        let owner = self.secrets.owner;
        let how_to_decide = format!(
            "kubectl-codegen approve codemoderun/{} --namespace {}, or reject",
            owner.name, owner.namespace
        );
        let around = StatusContext {
            how_to_decide: &how_to_decide,
            generation: object.metadata.generation,
            hold: None,
            answer: answer.as_ref(),
            code: code.as_deref(),
        };
        let shown = status(&progress, &before.conditions, &around, Timestamp::now());
        let next = CodeModeRun {
            status: Some(CodeModeRunStatus {
                progress: Some(serde_json::from_slice(bytes).map_err(unreadable)?),
                ..shown
            }),
            ..object.clone()
        };
        let written = api::replace_status(&self.secrets.client, &next).await?;
        check_stored(&written)?;
        *object = written;
        Ok(())
    }

    async fn create(&self, document: &str, bytes: &[u8]) -> Result<Created, StoreError> {
        let created = self.secrets.create(document, bytes).await;
        match &created {
            Ok(_) => self.secrets.cached.wrote(document),
            // A reply is paid for and must not be asked for again.
            Err(_) => self.secrets.cached.hold(document, bytes),
        }
        created
    }

    fn buffer(&self, document: &str, bytes: &[u8]) {
        self.secrets.cached.hold(document, bytes);
    }

    async fn read(&self, document: &str) -> Result<Option<Vec<u8>>, StoreError> {
        // Written before it is used: what is in memory alone would be lost with the process.
        for (name, bytes) in self.secrets.cached.held(document) {
            self.secrets.create(&name, &bytes).await?;
            self.secrets.cached.wrote(&name);
        }
        let found = self.secrets.read(document).await?;
        if let Some(bytes) = &found {
            self.secrets.cached.put(document, bytes);
        }
        Ok(found)
    }
}

fn damaged(name: &str, error: &serde_json::Error) -> StoreError {
    StoreError::Damaged {
        name: name.to_owned(),
        detail: error.to_string(),
    }
}

/// Definitions of another version would have the API server drop the state.
fn check_stored(written: &CodeModeRun) -> Result<(), StoreError> {
    let is_stored = written
        .status
        .as_ref()
        .is_some_and(|status| status.progress.is_some());
    if is_stored {
        return Ok(());
    }
    let namespace = written.metadata.namespace.as_deref().unwrap_or_default();
    let name = written.metadata.name.as_deref().unwrap_or_default();
    Err(StoreError::Remote {
        action: format!("keep the state of CodeModeRun {namespace}/{name}"),
        source:
            "the API server drops fields of its status: apply the definitions of this version of the operator"
                .into(),
    })
}
