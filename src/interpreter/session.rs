//! One run of a program: events out, outcomes in.

use std::sync::Weak;
use std::time::Duration;

use crate::error::{Death, Error};
use crate::protocol::{Call, Finished, FromWorker, Limits, Outcome, Raised, ToWorker, to_frame};
use crate::replies;
use crate::workers::{Shared, Worker};

/// What a program came to.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// It waits for these calls, in the order in which it made them.
    Calls(Vec<Call>),
    /// It came to its end.
    Finished(Finished),
    /// An exception ended it.
    Raised(Raised),
}

/// Whose turn it is.
#[derive(Debug)]
enum Turn {
    /// The worker's.
    Worker,
    /// The host's, to answer these calls: number and tool.
    Host(Vec<(u32, String)>),
    /// Nobody's: the program has ended or its worker died.
    Over,
}

/// A running program. Dropping it before its end kills the worker.
#[derive(Debug)]
pub struct Session {
    /// Until the program has ended.
    worker: Option<Worker>,
    pool: Weak<Shared>,
    limits: Limits,
    /// The longest that the worker may take over all its messages.
    time: Duration,
    spent: Duration,
    turn: Turn,
}

impl Session {
    pub(crate) fn new(worker: Worker, pool: Weak<Shared>, limits: Limits, grace: Duration) -> Self {
        Self {
            worker: Some(worker),
            pool,
            limits,
            time: Duration::from_millis(limits.time_ms) + grace,
            spent: Duration::ZERO,
            turn: Turn::Worker,
        }
    }

    /// The next event of the program. It may be dropped and asked for again.
    pub async fn next(&mut self) -> Result<Event, Error> {
        let expected = match (&self.turn, &mut self.worker) {
            (Turn::Worker, Some(worker)) => {
                let most = most_bytes(&self.limits);
                let received = worker.process.receive(most, self.time, &mut self.spent).await;
                return self.event(received);
            }
            (Turn::Host(_), _) => "answers to the calls of the last event",
            (Turn::Worker | Turn::Over, _) => "nothing any more: the program has ended",
        };
        Err(Error::OutOfTurn { expected })
    }

    fn event(&mut self, received: Result<FromWorker, Death>) -> Result<Event, Error> {
        let event = match received {
            Ok(FromWorker::Calls { calls }) => {
                let names = calls.iter().map(|call| (call.id, call.name.clone()));
                self.turn = Turn::Host(names.collect());
                return Ok(Event::Calls(calls));
            }
            Ok(FromWorker::Finished(finished)) => Event::Finished(finished),
            Ok(FromWorker::Raised(raised)) => Event::Raised(raised),
            Err(reason) => return Err(self.end(reason)),
        };
        self.turn = Turn::Over;
        if let (Some(worker), Some(pool)) = (self.worker.take(), self.pool.upgrade()) {
            pool.take_back(worker);
        }
        Ok(event)
    }

    /// Answers all calls of the last event, in their order.
    pub async fn answer(&mut self, outcomes: Vec<Outcome>) -> Result<(), Error> {
        let (Turn::Host(calls), Some(worker)) = (&self.turn, &mut self.worker) else {
            return Err(Error::OutOfTurn {
                expected: "that the next event is asked for",
            });
        };
        if calls.len() != outcomes.len() {
            return Err(Error::OutcomesMismatch {
                calls: calls.len(),
                given: outcomes.len(),
            });
        }
        let results = replies::within(&self.limits, calls, outcomes)?;
        let frame = to_frame(&ToWorker::Answer { results })?;
        match worker.process.send(&frame, self.time).await {
            Ok(()) => {
                self.turn = Turn::Worker;
                Ok(())
            }
            Err(reason) => Err(self.end(reason)),
        }
    }

    /// The process number of the worker, while the program runs.
    #[must_use]
    pub fn worker_id(&self) -> Option<u32> {
        self.worker.as_ref().and_then(|worker| worker.process.id())
    }

    /// Lets the worker go, which takes no other program.
    fn end(&mut self, reason: Death) -> Error {
        self.turn = Turn::Over;
        self.worker = None;
        with_bound(reason, self.limits.memory_bytes).into()
    }
}

/// A death of memory, with the bound that was met.
fn with_bound(reason: Death, bytes: u64) -> Death {
    match reason {
        Death::Memory { .. } => Death::Memory { limit: bytes },
        other => other,
    }
}

/// The longest message that a worker may send about a program with these limits.
fn most_bytes(limits: &Limits) -> usize {
    /// What was printed may have to be escaped, every byte by six.
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
