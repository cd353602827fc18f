//! Steps of an agent's turn that follow each other at once: nothing of them waits until what is recorded before comes back by a watch.
//!
//! ```text
//! commands have ended -> their results with the intent of the call -> the call of the next turn, beside it the state
//! a reply is recorded -> the state, beside it the sandbox's job -> the sandbox
//! ```

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

/// A state after a step.
#[expect(
    clippy::large_enum_variant,
    reason = "there is one at a time, and it is taken apart at once"
)]
pub(super) enum Recorded {
    /// It is written, where it has changed.
    Written(Progress, Step),
    /// It is written beside the call of the next turn, which follows at once.
    BesideCall(Advanced),
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
    /// Writes the state after a step, unless that is done beside what follows.
    pub(super) async fn record_and_follow(
        &self,
        advanced: Advanced,
        follow: Follow,
    ) -> Result<Recorded, EngineError> {
        let (progress, step) = match follow {
            Follow::Turn if self.is_turn_due(&advanced).await => {
                return Ok(Recorded::BesideCall(advanced));
            }
            Follow::Commands => self.record_and_begin_commands(advanced).await?,
            Follow::Turn | Follow::Nothing => self.record_alone(advanced).await?,
        };
        Ok(Recorded::Written(progress, step))
    }

    /// Makes the call of the next turn, whose intent is recorded with the step before it, and writes the state beside it.
    pub(super) async fn call_next_turn(&self, unwritten: &Advanced) -> Result<(Progress, Step), EngineError> {
        let started = self.begin();
        let progress = unwritten.next.clone();
        let (progress, outcome) = self.call(progress, CallKind::Turn, Some(unwritten)).await?;
        let advanced = self.advanced(progress, outcome, started).await?;
        self.record_and_begin_commands(advanced).await
    }

    /// Whether the call of the next turn is made at once.
    async fn is_turn_due(&self, advanced: &Advanced) -> bool {
        let decision = self.decide(&advanced.next);
        let left = seconds_left(self.task, &advanced.next, (self.clock)());
        advanced.is_call_recorded
            && decision == Decision::Call(CallKind::Turn)
            && (self.may_follow)(&decision)
            && self.model.get_ready(left).await
    }

    /// Writes the state after a step. Where commands are next, their sandbox is made once it is written, and what that needs beside it. What
    /// keeps it from starting is said by the next step, which finds it or makes it.
    async fn record_and_begin_commands(&self, advanced: Advanced) -> Result<(Progress, Step), EngineError> {
        let decision = self.decide(&advanced.next);
        if decision != Decision::RunCommands || !(self.may_follow)(&decision) {
            return self.record_alone(advanced).await;
        }
        // Reads what is in memory, and what cannot be read is said by the next step.
        let Ok(Some((image, job))) = self.commands_job(&advanced.next).await else {
            return self.record_alone(advanced).await;
        };
        let mut written = None;
        let needs = async {
            let done = Box::pin(self.write(&advanced)).await;
            let is_written = done.is_ok();
            written = Some(done);
            is_written
        };
        let repeat = self.first_execution(&advanced.next);
        Box::pin(self.sandbox.begin_after(&image, &job, repeat, needs)).await;
        match written {
            Some(written) => written?,
            // The sandbox was not asked for what it needs.
            None => self.write(&advanced).await?,
        }
        Ok((advanced.next, Step::Advanced))
    }

    async fn record_alone(&self, advanced: Advanced) -> Result<(Progress, Step), EngineError> {
        self.write(&advanced).await?;
        Ok((advanced.next, Step::Advanced))
    }
}
