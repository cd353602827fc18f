//! Permission of a call: at once, once a person has approved of exactly it, or not at all.

use super::execute::{Course, Wish};
use super::journal::OpenJournal;
use super::{CodeModeEngine, Happened, ToolCaller};
use crate::EngineError;
use crate::documents::put_json;
use codegen_code_mode::journal::{Approved, Call, CallEnd, JournalEntry};
use codegen_core::code_mode::{
    AwaitedCall, QuestionProgress, Waits, asked, call_hash, is_approved, is_cut, refusal,
};
use codegen_ledger::Store;
use codegen_model::Model;

impl<M: Model, S: Store<Progress = QuestionProgress>, T: ToolCaller> CodeModeEngine<'_, M, S, T> {
    /// Decides whether `call` may be made. The decision is in the journal afterwards, so that nobody is asked about it again.
    pub(super) async fn permit(
        &self,
        progress: &QuestionProgress,
        journal: &mut OpenJournal<'_, S>,
        call: Call,
    ) -> Result<Course, EngineError> {
        let granted = |call| Ok(Course::Wanted(Wish { call, copy: None }));
        if !self.question.requires_approval(&call.tool) {
            return granted(call);
        }
        let hash = call_hash(self.uid, progress.attempt, &call);
        if journal.journal().is_approved(call.number, &hash) {
            return granted(call);
        }
        let Some(decision) = progress.decision(&hash) else {
            return Ok(Course::Undecided(call));
        };
        if is_approved(decision) {
            let approved = Approved {
                number: call.number,
                hash,
                decided_by: decision.decided_by.clone(),
            };
            journal.write(JournalEntry::Approved(approved)).await?;
            return granted(call);
        }
        let outcome = refusal(&call, decision);
        let now = (self.clock)().to_string();
        let refused = Happened::CallRefused {
            attempt: progress.attempt,
            number: call.number,
            tool: call.tool.clone(),
        };
        let ended = CallEnd {
            call,
            outcome: outcome.clone(),
            is_copy: false,
            is_refused: true,
            started_at: now.clone(),
            ended_at: now,
        };
        journal.write(JournalEntry::Ended(ended)).await?;
        self.happened(&refused);
        Ok(Course::Answered(outcome))
    }

    /// Returns the call that the program waits for: the first of `calls`, which persons decide about one after another.
    pub(super) async fn wait_for_approval(
        &self,
        progress: &QuestionProgress,
        calls: &[Call],
        waits: Waits,
    ) -> Result<Waits, EngineError> {
        let Some((call, more)) = calls.split_first() else {
            return Ok(waits);
        };
        let attempt = progress.attempt;
        let document = if is_cut(call) {
            let name = format!("documents/call-{attempt:04}-{:05}.json", call.number);
            Some(put_json(self.store, name, call).await?)
        } else {
            None
        };
        let approval = AwaitedCall {
            number: call.number,
            tool: call.tool.clone(),
            asked: asked(self.uid, attempt, call, self.question.tool(&call.tool)),
            document,
            more: u32::try_from(more.len()).unwrap_or(u32::MAX),
        };
        Ok(Waits {
            approval: Some(approval),
            ..waits
        })
    }
}
