//! Whether a call may be made: at once, once a person has approved of exactly it, or not at all.

use super::journal::OpenJournal;
use super::{CodeModeEngine, CodeModeError, Happened, ToolCaller};
use crate::code_mode::journal::{Approved, Call, Ended, Entry, Outcome};
use crate::ledger::Store;
use crate::model::Model;
use crate::pipeline::code_mode::{
    AwaitedCall, Progress, Waits, asked, call_hash, is_approved, is_cut, refusal,
};

/// Whether a call may be made.
pub(super) enum Permit {
    /// It may.
    Granted,
    /// A person has refused it: what the program gets in its place.
    Refused(Outcome),
    /// Nobody has decided yet.
    Awaited,
}

impl<M: Model, S: Store, T: ToolCaller> CodeModeEngine<'_, M, S, T> {
    /// Whether `call` may be made. What was decided is in the journal afterwards, so that nobody is asked about it again.
    pub(super) async fn permit(
        &self,
        progress: &Progress,
        journal: &mut OpenJournal<'_, S>,
        call: &Call,
    ) -> Result<Permit, CodeModeError> {
        if !self.question.requires_approval(&call.tool) {
            return Ok(Permit::Granted);
        }
        let hash = call_hash(self.uid, progress.attempt, call);
        if journal.journal().is_approved(call.number, &hash) {
            return Ok(Permit::Granted);
        }
        let Some(decision) = progress.decision(&hash) else {
            return Ok(Permit::Awaited);
        };
        if is_approved(decision) {
            let approved = Approved {
                number: call.number,
                hash,
                decided_by: decision.decided_by.clone(),
            };
            journal.write(Entry::Approved(approved)).await?;
            return Ok(Permit::Granted);
        }
        let outcome = refusal(call, decision);
        let now = (self.clock)().to_string();
        let ended = Ended {
            call: call.clone(),
            outcome: outcome.clone(),
            is_copy: false,
            is_refused: true,
            started_at: now.clone(),
            ended_at: now,
        };
        journal.write(Entry::Ended(ended)).await?;
        self.happened(&Happened::CallRefused {
            attempt: progress.attempt,
            number: call.number,
            tool: call.tool.clone(),
        });
        Ok(Permit::Refused(outcome))
    }

    /// What the program waits for: the first of `calls`, which persons decide about one after another.
    pub(super) async fn wait_for_approval(
        &self,
        progress: &Progress,
        calls: &[Call],
        waits: Waits,
    ) -> Result<Waits, CodeModeError> {
        let Some((call, more)) = calls.split_first() else {
            return Ok(waits);
        };
        let attempt = progress.attempt;
        let document = if is_cut(call) {
            let name = format!("documents/call-{attempt:04}-{:05}.json", call.number);
            Some(self.put(name, call).await?)
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
