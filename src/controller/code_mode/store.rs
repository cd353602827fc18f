//! A question in Kubernetes objects: the progress in the status of its run, every reply and document in a Secret of its own. When it has
//! ended, all of them are in one.

use std::sync::Arc;

use jiff::Timestamp;
use kube::Client;
use serde::de::DeserializeOwned;
use tokio::sync::Mutex;

use super::archive::archive;
use crate::controller::api;
use crate::controller::record::cleanup::{CleanupTarget, clear_components};
use crate::controller::record::documents::RevisionDocuments;
use crate::controller::record::records::QUESTION;
use crate::controller::record::secret_documents::SecretDocuments;
use crate::controller::record::unpack::unpack_of;
use codegen_api::code_mode::{CodeModeRun, CodeModeRunStatus};
use codegen_core::code_mode::{
    Answer, Question, QuestionProgress, QuestionStatusContext, conversation, conversation_document,
    conversation_file, status,
};
use codegen_core::progress::Document;
use codegen_engine::code_mode::record::{documents, program};
use codegen_ledger::{Created, Store, StoreError};
use codegen_sandbox::kubernetes::Owner;
use codegen_sandbox::kubernetes::names::{self, Component};

/// Objects that were packed when a question ended.
#[derive(Default)]
struct Packed {
    /// Name of the Secret.
    result: Option<String>,
    /// The conversation with the answer.
    conversation: Option<Document>,
}

/// The store of one question.
pub struct CodeModeStore<'a> {
    secrets: SecretDocuments<'a>,
    object: Mutex<CodeModeRun>,
}

impl<'a> CodeModeStore<'a> {
    /// The store of `object`, whose documents belong to `owner`.
    #[must_use]
    pub fn new(
        client: Client,
        owner: &'a Owner,
        cached: Arc<RevisionDocuments>,
        object: CodeModeRun,
    ) -> Self {
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

    /// Packs what a question that has ended leaves.
    async fn pack(&self, progress: &QuestionProgress, answer: Option<&Answer>) -> Result<Packed, StoreError> {
        let mut all = documents(self, progress).await?;
        let mut packed = Packed::default();
        if let Some(bytes) = self.read(QUESTION).await? {
            if let Some(answer) = answer {
                let question: Question =
                    serde_json::from_slice(&bytes).map_err(|error| damaged(QUESTION, &error))?;
                let file = conversation_file(&conversation(&question, answer));
                let document = conversation_document(&file);
                all.insert(document.name.clone(), file);
                packed.conversation = Some(document);
            }
            all.insert(QUESTION.to_owned(), bytes);
        }
        packed.result = archive(&self.secrets.client, self.secrets.owner, progress, all).await?;
        Ok(packed)
    }

    /// Reads what was packed when the question ended; whether it was.
    async fn unpack(&self) -> Result<bool, StoreError> {
        let result = {
            let object = self.object.lock().await;
            object.status.as_ref().and_then(|status| status.result.clone())
        };
        let Some(result) = result else {
            return Ok(false);
        };
        let Owner { namespace, uid, .. } = self.secrets.owner;
        for (name, bytes) in unpack_of(&self.secrets.client, namespace, &result, uid).await? {
            self.secrets.cached.buffer(&name, bytes);
        }
        Ok(true)
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
    type Progress = QuestionProgress;

    async fn load(&self) -> Result<Option<QuestionProgress>, StoreError> {
        Ok(QuestionProgress::recorded_in(&*self.object.lock().await)?)
    }

    async fn save(&self, progress: &QuestionProgress) -> Result<(), StoreError> {
        let answer: Option<Answer> = self.document(progress.answer.as_ref()).await?;
        let code = match &progress.program {
            Some(document) => program(self, document).await?,
            None => None,
        };
        // Before the status that names it: a kill in between leaves what the next pass finds.
        let packed = if progress.stage.is_terminal() {
            self.pack(progress, answer.as_ref()).await?
        } else {
            Packed::default()
        };
        let mut object = self.object.lock().await;
        let before = object.status.clone().unwrap_or_default();
        let owner = self.secrets.owner;
        let how_to_decide = format!(
            "kubectl-codegen approve codemoderun/{} --namespace {}, or reject",
            owner.name, owner.namespace
        );
        let around = QuestionStatusContext {
            how_to_decide: &how_to_decide,
            generation: object.metadata.generation,
            hold: None,
            answer: answer.as_ref(),
            code: code.as_deref(),
            conversation: packed.conversation.as_ref(),
        };
        let shown = status(progress, &before.conditions, &around, Timestamp::now());
        let next = CodeModeRun {
            status: Some(CodeModeRunStatus {
                progress: serde_json::to_value(progress)
                    .ok()
                    .and_then(|progress| progress.as_object().cloned()),
                result: packed.result.clone(),
                ..shown
            }),
            ..object.clone()
        };
        let written = api::replace_status(&self.secrets.client, &next).await?;
        check_stored(&written)?;
        *object = written;
        // After the status: until the end is recorded, the next pass needs what is removed here.
        if packed.result.is_some() {
            clear(&self.secrets.client, self.secrets.owner).await;
        }
        Ok(())
    }

    async fn create(&self, document: &str, bytes: &[u8]) -> Result<Created, StoreError> {
        if let Some(there) = self.secrets.cached.get(document) {
            return Ok(Created::Existed(there));
        }
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
        if self.secrets.cached.get(document).is_none() && self.unpack().await? {
            return Ok(self.secrets.cached.get(document));
        }
        if self.secrets.cached.are_all() {
            return Ok(self.secrets.cached.get(document));
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

/// Removes what is packed. What stays for want of an answer goes with the question.
pub async fn clear(client: &Client, owner: &Owner) {
    clear_components(client, CleanupTarget::of(owner), &[Component::Record], None).await;
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
