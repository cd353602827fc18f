//! Steps of an agent's turn that follow each other at once: nothing of them waits until what is recorded before comes back by a watch.
//!
//! ```text
//! commands have ended -> their results, the state with the intent of the call -> the call of the next turn
//! a reply is recorded -> the state, beside it the sandbox's job -> the sandbox
//! ```

use futures::future::join;

use super::data::DataReader;
use super::record::Advanced;
use super::{Engine, EngineError, Step};
use crate::ledger::Store;
use crate::model::Model;
use crate::pipeline::active::seconds_left;
use crate::pipeline::call::CallKind;
use crate::pipeline::machine::Decision;
use crate::pipeline::progress::Progress;
use crate::sandbox::Sandbox;

/// A step that is recorded.
pub(super) enum Recorded {
    /// What follows is a matter of another one.
    Stands(Step),
    /// This is done at once.
    Follows(Decision),
}

/// What may follow a step at once.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Follow {
    /// The call of the next turn, after commands.
    Turn,
    /// Commands, after a turn's reply.
    Commands,
    /// Nothing.
    Nothing,
}

impl Follow {
    /// What may follow this decision.
    pub(super) const fn after(decision: &Decision) -> Self {
        match decision {
            Decision::RunCommands => Self::Turn,
            Decision::Call(CallKind::Turn) => Self::Commands,
            _ => Self::Nothing,
        }
    }
}

impl<M: Model, S: Store, B: Sandbox, D: DataReader> Engine<'_, M, S, B, D> {
    /// Writes the state after a step, and begins beside that what follows it.
    pub(super) async fn record_and_follow(
        &self,
        advanced: Advanced,
        follow: Follow,
    ) -> Result<(Progress, Recorded), EngineError> {
        let decision = self.decide(&advanced.next);
        let is_due = match follow {
            Follow::Turn => decision == Decision::Call(CallKind::Turn),
            Follow::Commands => decision == Decision::RunCommands,
            Follow::Nothing => false,
        };
        match follow {
            Follow::Turn if is_due && (self.may_follow)(&decision) => self.record_before_turn(advanced).await,
            Follow::Commands if is_due && (self.may_follow)(&decision) => {
                self.record_before_commands(advanced).await
            }
            _ => {
                self.write(&advanced).await?;
                Ok((advanced.next, Recorded::Stands(Step::Advanced)))
            }
        }
    }

    /// The call follows once its intent is written; what it needs is read meanwhile.
    async fn record_before_turn(&self, advanced: Advanced) -> Result<(Progress, Recorded), EngineError> {
        let left = seconds_left(self.task, &advanced.next, (self.clock)());
        let ready = self.model.get_ready(left);
        let (written, is_ready) = join(Box::pin(self.write(&advanced)), Box::pin(ready)).await;
        written?;
        let recorded = match self.decide(&advanced.next) {
            decision @ Decision::Call(CallKind::Turn) if is_ready => Recorded::Follows(decision),
            _ => Recorded::Stands(Step::Advanced),
        };
        Ok((advanced.next, recorded))
    }

    /// The sandbox of the commands is made once the state is written, and what it needs beside that. What keeps it from starting is said by
    /// the next step, which finds it or makes it.
    async fn record_before_commands(&self, advanced: Advanced) -> Result<(Progress, Recorded), EngineError> {
        let mut written = None;
        // Reads what is in memory, and what cannot be read is said by the next step.
        if let Ok(Some((image, job))) = self.commands_job(&advanced.next).await {
            let needs = async {
                let done = Box::pin(self.write(&advanced)).await;
                let is_written = done.is_ok();
                written = Some(done);
                is_written
            };
            let repeat = self.first_execution(&advanced.next);
            Box::pin(self.sandbox.begin_after(&image, &job, repeat, needs)).await;
        }
        match written {
            Some(written) => written?,
            None => self.write(&advanced).await?,
        }
        Ok((advanced.next, Recorded::Stands(Step::Advanced)))
    }
}
