//! The first pass over a question: it is frozen, and the model is asked at once.

use std::sync::Arc;

use futures::future::join;
use jiff::Timestamp;

use super::QuestionPass;
use crate::controller::code_mode::start::{agent_of, freeze};
use crate::controller::control::PassResult;
use crate::controller::hold::queued;
use crate::controller::record::records::QUESTION;
use crate::controller::telemetry::metrics::Reconciled;
use codegen_core::code_mode::{Question, QuestionProgress};
use codegen_ledger::{Created, Store as _};

impl QuestionPass<'_> {
    /// Freezes what the question goes by, and asks the model. The first progress is recorded with the intent of that call.
    pub(super) async fn start(&mut self) -> PassResult {
        // Reads the agent with its tools, and the conversation before.
        let agent = agent_of(self.context, &self.object).await?;
        if let Some(limit) = self.context.code_mode_runs.admit(&self.object) {
            return Err(queued(limit).into());
        }
        let question = Box::pin(freeze(self.context, &self.object, &agent)).await?;
        // Before anything is recorded or paid for.
        let memory = question.limits.memory_bytes;
        self.context.interpreters.check(&question.agent, memory)?;
        let question = Arc::new(question);
        let progress = QuestionProgress::start(Timestamp::now());
        let store = self.store();
        // Plain data with string keys: writing it to memory cannot fail.
        let bytes = serde_json::to_vec(&question).unwrap_or_default();
        // What the call needs is read meanwhile.
        let (frozen, needs) = join(store.create(QUESTION, &bytes), self.needs(&question, &progress)).await;
        if let Created::Existed(bytes) = frozen? {
            // Of a pass that was killed before the status: what is frozen counts.
            let question = serde_json::from_slice(&bytes);
            let question: Question =
                question.map_err(|error| self.damaged("its question", &error.to_string()))?;
            return self.begin(Arc::new(question), &progress).await;
        }
        self.context.code_mode_runs.documents(self.uid()).set_all(true);
        match needs {
            Ok(Some(needs)) => {
                let runs = &self.context.code_mode_runs;
                runs.cache_question(self.uid(), Arc::clone(&question));
                let (written, done) = Box::pin(self.take(&question, progress, None, needs)).await;
                self.took(written, done)
            }
            // The operator ends.
            Ok(None) => Ok((None, Reconciled::Idle)),
            Err(why) => {
                self.begin(Arc::clone(&question), &progress).await?;
                Err(why.into())
            }
        }
    }

    /// Records the first progress of a question that is frozen, and nothing else.
    async fn begin(&mut self, question: Arc<Question>, progress: &QuestionProgress) -> PassResult {
        let store = self.store();
        store.save(progress).await?;
        self.context.code_mode_runs.cache_question(self.uid(), question);
        let written = store.into_object();
        self.context.code_mode_runs.reset_backoff(&written);
        self.remember(written);
        Ok((None, Reconciled::Advanced))
    }
}
