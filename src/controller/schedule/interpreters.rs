//! Room for programs of code mode: how many run at once, and what memory each of them may have.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use crate::controller::hold::{Blocked, misconfigured};
use crate::controller::telemetry::metrics::Metrics;
use codegen_data::turns::Turns;

const MEBIBYTE: u64 = 1024 * 1024;

/// Places for programs, given to namespaces by turns, and in each in the order in which they were asked for.
#[derive(Debug)]
pub struct Interpreters {
    places: Arc<Semaphore>,
    /// The most that one program may have.
    bytes: u64,
    turns: Turns,
    stopping: CancellationToken,
    metrics: Metrics,
}

/// Room for one program, free again when it is dropped.
#[derive(Debug)]
pub struct ProgramRoom {
    _place: OwnedSemaphorePermit,
    metrics: Metrics,
}

impl ProgramRoom {
    fn new(place: OwnedSemaphorePermit, metrics: &Metrics) -> Self {
        metrics.code_mode().interpreter_started();
        Self {
            _place: place,
            metrics: metrics.clone(),
        }
    }
}

impl Drop for ProgramRoom {
    fn drop(&mut self) {
        self.metrics.code_mode().interpreter_ended();
    }
}

impl Interpreters {
    /// All of it is free: `places` programs, each of at most `bytes`.
    #[must_use]
    pub fn new(places: usize, bytes: u64, stopping: CancellationToken, metrics: Metrics) -> Self {
        Self {
            places: Arc::new(Semaphore::new(places.clamp(1, Semaphore::MAX_PERMITS))),
            bytes,
            turns: Turns::default(),
            stopping,
            metrics,
        }
    }

    /// Refuses a program that would have more memory than one may.
    pub fn check(&self, agent: &str, bytes: u64) -> Result<(), Blocked> {
        if bytes <= self.bytes {
            return Ok(());
        }
        let mebibytes = |bytes: u64| bytes.div_ceil(MEBIBYTE);
        Err(misconfigured(format!(
            "limits.memory of the CodeModeAgent {agent} gives a program {}Mi, and a program may have {}Mi: lower it and ask again, or have \
             whoever runs the operator raise codeMode.interpreterMemory and the memory of its Pod",
            mebibytes(bytes),
            mebibytes(self.bytes),
        )))
    }

    /// Room for a program, where there is some and nobody waits for it.
    #[must_use]
    pub fn try_reserve(&self) -> Option<ProgramRoom> {
        let _turn = self.turns.try_take()?;
        let place = Arc::clone(&self.places).try_acquire_owned().ok()?;
        Some(ProgramRoom::new(place, &self.metrics))
    }

    /// Room for a program of a namespace, waited for in turn; `None` where the operator ends before.
    pub async fn reserve(&self, namespace: &str) -> Option<ProgramRoom> {
        let room = async {
            let _turn = self.turns.take(namespace).await;
            let place = Arc::clone(&self.places).acquire_owned().await.ok()?;
            Some(ProgramRoom::new(place, &self.metrics))
        };
        tokio::select! {
            room = room => room,
            () = self.stopping.cancelled() => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    fn interpreters(places: usize) -> Interpreters {
        Interpreters::new(places, 100 * MEBIBYTE, CancellationToken::new(), Metrics::new())
    }

    #[test]
    fn a_program_that_would_have_more_than_one_may_is_refused_with_what_to_change() {
        let all = interpreters(4);
        assert!(all.check("shop", 100 * MEBIBYTE).is_ok());
        let Blocked(hold) = all.check("shop", 100 * MEBIBYTE + 1).unwrap_err();
        for part in [
            "CodeModeAgent shop",
            "101Mi",
            "100Mi",
            "codeMode.interpreterMemory",
        ] {
            assert!(hold.message.contains(part), "{}", hold.message);
        }
    }

    #[test]
    fn there_are_no_more_programs_than_places() {
        let all = interpreters(1);
        let first = all.try_reserve();
        let mut next = Box::pin(all.reserve("a"));
        assert!((&mut next).now_or_never().is_none());
        drop(first);
        assert!(next.now_or_never().flatten().is_some());
    }

    #[test]
    fn a_namespace_with_one_program_waits_for_one_of_another_that_has_many() {
        let all = interpreters(1);
        let first = all.try_reserve();
        let mut crowd: Vec<_> = (0..50).map(|_| Box::pin(all.reserve("crowd"))).collect();
        assert!(crowd.iter_mut().all(|next| next.now_or_never().is_none()));
        let mut one = Box::pin(all.reserve("one"));
        assert!((&mut one).now_or_never().is_none());
        drop(first);
        // The first of the crowd was at the head already.
        assert!((&mut crowd[0]).now_or_never().is_some());
        assert!(crowd[1..].iter_mut().all(|next| next.now_or_never().is_none()));
        assert!(one.now_or_never().flatten().is_some());
    }

    #[test]
    fn who_waits_goes_when_the_operator_ends() {
        let all = interpreters(1);
        let _first = all.try_reserve();
        all.stopping.cancel();
        assert!(matches!(all.reserve("a").now_or_never(), Some(None)));
    }
}
