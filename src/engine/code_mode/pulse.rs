//! What the state says of a program that runs for long.

use std::pin::pin;
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::{Instant, timeout_at};

use super::{CodeModeEngine, ToolCaller};
use crate::ledger::Store;
use crate::model::Model;
use crate::pipeline::causes::with_causes;
use crate::pipeline::code_mode::Progress;

/// How often the state says that a program still runs.
pub const PULSE: Duration = Duration::from_secs(30);

/// A program that runs, as the state has it.
pub(super) struct Pulse {
    /// The state, with the time counted.
    pub progress: Progress,
    began: Timestamp,
    /// Calls that it has made.
    pub calls: u32,
    next: Instant,
}

impl Pulse {
    pub fn new(progress: &Progress, began: Timestamp, every: Duration) -> Self {
        Self {
            progress: progress.clone(),
            began,
            calls: 0,
            next: Instant::now() + every,
        }
    }
}

impl<M: Model, S: Store, T: ToolCaller> CodeModeEngine<'_, M, S, T> {
    /// Waits for `work` of the program, and says in the state now and then that it runs.
    pub(super) async fn watched<F: Future>(&self, pulse: &mut Pulse, work: F) -> F::Output {
        let mut work = pin!(work);
        loop {
            match timeout_at(pulse.next, work.as_mut()).await {
                Ok(done) => return done,
                Err(_) => self.beat(pulse).await,
            }
        }
    }

    async fn beat(&self, pulse: &mut Pulse) {
        pulse.progress.runs_on(pulse.began, pulse.calls, (self.clock)());
        // Nothing rests on it, and what is under way must not be lost by it.
        if let Err(error) = self.save(&pulse.progress).await {
            tracing::debug!(
                error = with_causes(&error),
                "the state of a program that runs could not be written"
            );
        }
        pulse.next = Instant::now() + self.pulse;
    }
}
