//! Advances a task by an outcome, and writes the state that follows.

use std::time::Duration;

use super::data::DataReader;
use super::event::Event;
use super::{Began, Engine, EngineError};
use codegen_api::approval::AwaitedApproval;
use codegen_core::approval;
use codegen_core::diagnosis::name;
use codegen_core::machine::{Outcome, advance};
use codegen_core::progress::Progress;
use codegen_core::stage::Stage;
use codegen_ledger::{Store, StoreError};
use codegen_model::Model;
use codegen_sandbox::Sandbox;

/// A state after a step, and the one before it.
struct Advanced {
    before: Progress,
    next: Progress,
    asked: Option<AwaitedApproval>,
    is_retry: bool,
    ends_iteration: bool,
}

impl<M: Model, S: Store<Progress = Progress>, B: Sandbox, D: DataReader> Engine<'_, M, S, B, D> {
    /// Advances by `outcome` and writes the result.
    pub(super) async fn record(
        &self,
        progress: Progress,
        outcome: Outcome,
        started: Began,
    ) -> Result<Progress, EngineError> {
        let advanced = self.advanced(progress, outcome, started)?;
        self.write(&advanced).await?;
        Ok(advanced.next)
    }

    /// The state after `outcome`, which is yet to be written.
    fn advanced(
        &self,
        progress: Progress,
        outcome: Outcome,
        started: Began,
    ) -> Result<Advanced, EngineError> {
        let now = (self.clock)();
        let ends_iteration = matches!(outcome, Outcome::Tested(_) | Outcome::Diagnosed(_));
        let is_retry = matches!(outcome, Outcome::Retried(_));
        if let Outcome::Decided(decision) = &outcome {
            self.emit(&Event::Decided(decision.clone()));
        }
        let was_idle = matches!(&outcome, Outcome::Blocked(blocked) if blocked.was_idle);
        let took = if was_idle {
            Duration::ZERO
        } else {
            started.instant.elapsed()
        };
        // Only decides.
        let mut next = advance(self.task, &progress, outcome, now)?;
        next.count_step(started.at, took, now);
        let asked = approval::awaited(self.task, &next);
        // The time that a person takes to decide does not count against the deadline.
        if asked.is_some() {
            next.pause_at(now);
        }
        Ok(Advanced {
            before: progress,
            next,
            asked,
            is_retry,
            ends_iteration,
        })
    }

    /// Writes a state, and says what has happened with it.
    async fn write(&self, advanced: &Advanced) -> Result<(), EngineError> {
        let Advanced {
            before,
            next,
            asked,
            is_retry,
            ends_iteration,
        } = advanced;
        store_retries(self.store, before, next).await?;
        self.save(next).await?;
        // After the write: an Event says only what is recorded.
        if let Some(event) = is_retry.then(|| retried(next)).flatten() {
            self.emit(&event);
        }
        if let Some(waiting) = &next.waiting {
            self.emit(&Event::Waiting {
                category: waiting.category,
                message: waiting.message.clone(),
                retry_at: waiting.retry_at,
            });
        } else if *ends_iteration && next.stage != Stage::Diagnosing {
            self.report_attempt(next);
        }
        if (next.stage, next.attempt) != (before.stage, before.attempt) {
            self.emit(&Event::StageEntered {
                stage: next.stage,
                attempt: next.attempt,
            });
        }
        if let Some(asked) = asked {
            self.emit(&Event::ApprovalAwaited(asked.clone()));
        }
        Ok(())
    }

    /// One line an attempt: what went wrong, what was added.
    fn report_attempt(&self, progress: &Progress) {
        let Some(attempt) = progress.attempts.last() else {
            return;
        };
        let mut error_types: Vec<String> = attempt
            .diagnosis
            .iter()
            .map(|failure| name(failure.error_type).to_owned())
            .collect();
        error_types.sort();
        error_types.dedup();
        self.emit(&Event::IterationFinished {
            attempt: progress.attempt,
            passed: progress.stage.has_passed()
                || progress
                    .agent
                    .as_ref()
                    .is_some_and(|agent| agent.passed.is_some()),
            error_types,
            packages_added: attempt.packages_added.clone(),
        });
    }
}

/// Stores the tries that `next` has no more in its state; before that is saved.
pub async fn store_retries<S: Store>(
    store: &S,
    before: &Progress,
    next: &Progress,
) -> Result<(), StoreError> {
    for (name, retry) in before.leaving_retries(next) {
        // Plain data with string keys: writing it to memory cannot fail.
        let bytes = serde_json::to_vec(retry).unwrap_or_default();
        store.create(&name, &bytes).await?;
    }
    Ok(())
}

/// Returns the event for the last wish for another try.
#[must_use]
pub fn retried(progress: &Progress) -> Option<Event> {
    let refused = progress.retry_refused.clone();
    let refused = refused.map(|why| Event::RetryRefused { why });
    let begun = progress.retries.last().cloned();
    refused.or_else(|| begun.map(|retry| Event::Retried { retry }))
}
