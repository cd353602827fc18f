//! One run of a program: events out, outcomes in.

use std::time::Duration;

use crate::error::{Death, Error};
use crate::process::WorkerProcess;
use crate::protocol::{ReplyOutcome, ToWorker, WorkerEvent, WorkerLimits, to_frame};
use crate::replies;

/// A running program. Dropping it before its end kills the worker.
#[derive(Debug)]
pub struct ProgramSession {
    /// Until the program has ended.
    worker: Option<WorkerProcess>,
    limits: WorkerLimits,
    /// The longest that the worker may take over all its messages.
    time: Duration,
    spent: Duration,
    /// The calls that wait for answers: number and tool. Meanwhile it is the host's turn.
    calls: Option<Vec<(u32, String)>>,
}

impl ProgramSession {
    pub(crate) fn new(worker: WorkerProcess, limits: WorkerLimits, grace: Duration) -> Self {
        Self {
            worker: Some(worker),
            limits,
            time: Duration::from_millis(limits.time_ms) + grace,
            spent: Duration::ZERO,
            calls: None,
        }
    }

    /// The next event of the program. It may be dropped and asked for again.
    pub async fn next(&mut self) -> Result<WorkerEvent, Error> {
        let expected = match (&self.calls, &mut self.worker) {
            (None, Some(worker)) => {
                let most = most_bytes(&self.limits);
                let received = worker.receive(most, self.time, &mut self.spent).await;
                return self.event(received);
            }
            (Some(_), _) => "answers to the calls of the last event",
            (None, None) => "nothing any more: the program has ended",
        };
        Err(Error::OutOfTurn { expected })
    }

    fn event(&mut self, received: Result<WorkerEvent, Death>) -> Result<WorkerEvent, Error> {
        let event = received.map_err(|reason| self.end(reason))?;
        if let WorkerEvent::Calls(calls) = &event {
            let names = calls.iter().map(|call| (call.id, call.name.clone()));
            self.calls = Some(names.collect());
        } else {
            self.worker = None;
        }
        Ok(event)
    }

    /// Answers all calls of the last event, in their order.
    pub async fn answer(&mut self, outcomes: Vec<ReplyOutcome>) -> Result<(), Error> {
        let (Some(calls), Some(worker)) = (&self.calls, &mut self.worker) else {
            return Err(Error::OutOfTurn {
                expected: "that the next event is asked for",
            });
        };
        if calls.len() != outcomes.len() {
            return Err(Error::OutOfTurn {
                expected: "an outcome for each call of the last event",
            });
        }
        let results = replies::within(&self.limits, calls, outcomes)?;
        let frame = to_frame(&ToWorker::Answer { results })?;
        match worker.send(&frame, self.time).await {
            Ok(()) => {
                self.calls = None;
                Ok(())
            }
            Err(reason) => Err(self.end(reason)),
        }
    }

    /// The process number of the worker, while the program runs.
    #[must_use]
    pub fn worker_id(&self) -> Option<u32> {
        self.worker.as_ref().and_then(WorkerProcess::id)
    }

    /// Lets the worker go.
    fn end(&mut self, reason: Death) -> Error {
        (self.calls, self.worker) = (None, None);
        match reason {
            // With the bound that was met.
            Death::Memory { .. } => Death::Memory {
                limit: self.limits.memory_bytes,
            },
            other => other,
        }
        .into()
    }
}

/// The longest message that a worker may send about a program with these limits.
fn most_bytes(limits: &WorkerLimits) -> usize {
    /// Factor by which escapes may lengthen what was printed: every byte becomes six.
    const ESCAPED: u64 = 6;
    /// Names of calls, text of the final value, message and traceback of an exception.
    const REST: u64 = 2 * 1024 * 1024;
    let printed = limits.print_bytes.saturating_mul(ESCAPED);
    let most = limits
        .value_bytes
        .saturating_mul(2)
        .saturating_add(printed)
        .saturating_add(REST);
    usize::try_from(most).unwrap_or(usize::MAX)
}
