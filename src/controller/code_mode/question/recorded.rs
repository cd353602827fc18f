//! What is recorded of a question.

use std::sync::Arc;

use super::QuestionPass;
use crate::controller::code_mode::store::CodeModeStore;
use crate::controller::error::ReconcileError;
use crate::controller::hold::misconfigured;
use crate::controller::record::records::QUESTION;
use crate::ledger::{Store as _, StoreError};
use crate::pipeline::code_mode::{Progress, Question, UnreadableState};

impl QuestionPass<'_> {
    /// Where the answer stands; none where nothing is recorded.
    pub(super) fn progress(&self) -> Result<Option<Progress>, ReconcileError> {
        let status = self.object.status.as_ref();
        let recorded = status.and_then(|status| status.progress.clone());
        let read = recorded
            .map(|recorded| Progress::read(recorded.into()))
            .transpose();
        read.map_err(|error| match error {
            UnreadableState::Newer(_) => misconfigured(error.to_string()).into(),
            UnreadableState::Damaged(error) => self
                .damaged("the progress in its status", &error.to_string())
                .into(),
        })
    }

    pub(super) fn damaged(&self, what: &str, detail: &str) -> StoreError {
        StoreError::Damaged {
            name: format!("CodeModeRun {}/{}, {what}", self.owner.namespace, self.owner.name),
            detail: detail.to_owned(),
        }
    }

    pub(super) fn store(&self) -> CodeModeStore<'_> {
        let documents = self.context.code_mode_runs.documents(self.uid());
        CodeModeStore::new(
            self.context.client.clone(),
            &self.owner,
            documents,
            self.object.clone(),
        )
    }

    /// What the question goes by, as it was frozen.
    pub(super) async fn question(&self) -> Result<Arc<Question>, ReconcileError> {
        if let Some(question) = self.context.code_mode_runs.question(self.uid()) {
            return Ok(question);
        }
        let bytes = self.store().read(QUESTION).await?;
        let bytes = bytes.ok_or_else(|| self.damaged("the Secret with its question", "it is gone"))?;
        let question = serde_json::from_slice(&bytes);
        let question = question.map_err(|error| self.damaged("its question", &error.to_string()))?;
        Ok(self
            .context
            .code_mode_runs
            .cache_question(self.uid(), Arc::new(question)))
    }
}
