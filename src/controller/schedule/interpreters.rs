//! Room for programs of code mode: how many run at once, and what memory all of them may take together.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use crate::controller::hold::{Blocked, misconfigured};
use crate::controller::telemetry::metrics::Metrics;
use crate::data::turns::Turns;

const MEBIBYTE: u64 = 1024 * 1024;

/// Places for programs and their memory, given to namespaces by turns, and in each in the order in which they were asked for.
#[derive(Debug)]
pub struct Interpreters {
    memory: Arc<Semaphore>,
    /// All of the memory.
    mebibytes: u32,
    places: Arc<Semaphore>,
    turns: Turns,
    stopping: CancellationToken,
    metrics: Metrics,
}

/// Room for one program, free again when it is dropped.
#[derive(Debug)]
pub struct Room {
    _memory: OwnedSemaphorePermit,
    _place: OwnedSemaphorePermit,
    metrics: Metrics,
}

impl Room {
    fn new(memory: OwnedSemaphorePermit, place: OwnedSemaphorePermit, metrics: &Metrics) -> Self {
        metrics.code_mode().interpreter_started();
        Self {
            _memory: memory,
            _place: place,
            metrics: metrics.clone(),
        }
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.metrics.code_mode().interpreter_ended();
    }
}

impl Interpreters {
    /// All of it is free: `places` programs, and `bytes` for all of them.
    #[must_use]
    pub fn new(places: usize, bytes: u64, stopping: CancellationToken, metrics: Metrics) -> Self {
        let mebibytes = u32::try_from(bytes / MEBIBYTE).unwrap_or(u32::MAX);
        let permits = usize::try_from(mebibytes).unwrap_or(usize::MAX);
        Self {
            memory: Arc::new(Semaphore::new(permits.min(Semaphore::MAX_PERMITS))),
            mebibytes,
            places: Arc::new(Semaphore::new(places.clamp(1, Semaphore::MAX_PERMITS))),
            turns: Turns::default(),
            stopping,
            metrics,
        }
    }

    /// Refuses a program that would not fit if it ran alone.
    pub fn check(&self, agent: &str, bytes: u64) -> Result<(), Blocked> {
        let asked = mebibytes(bytes);
        if asked <= self.mebibytes {
            return Ok(());
        }
        Err(misconfigured(format!(
            "limits.memory of the CodeModeAgent {agent} gives a program {asked}Mi, and all programs together have {}Mi: lower it and ask \
             again, or have whoever runs the operator raise codeMode.interpreterMemory and the memory of its Pod",
            self.mebibytes
        )))
    }

    /// Room for a program of so many bytes, where there is some and nobody waits for it.
    #[must_use]
    pub fn try_reserve(&self, bytes: u64) -> Option<Room> {
        let _turn = self.turns.try_take()?;
        let memory = Arc::clone(&self.memory)
            .try_acquire_many_owned(mebibytes(bytes))
            .ok()?;
        let place = Arc::clone(&self.places).try_acquire_owned().ok()?;
        Some(Room::new(memory, place, &self.metrics))
    }

    /// What a program waits for.
    #[must_use]
    pub fn full(&self, bytes: u64) -> String {
        format!(
            "other programs run: this one needs {}Mi of the {}Mi that all have together (codeMode.interpreterMemory), and one of the places \
             of codeMode.maxInterpreters",
            mebibytes(bytes),
            self.mebibytes
        )
    }

    /// Room for a program of a namespace, waited for in turn; `None` where the operator ends before.
    pub async fn reserve(&self, namespace: &str, bytes: u64) -> Option<Room> {
        let room = async {
            let _turn = self.turns.take(namespace).await;
            let memory = Arc::clone(&self.memory)
                .acquire_many_owned(mebibytes(bytes))
                .await
                .ok()?;
            let place = Arc::clone(&self.places).acquire_owned().await.ok()?;
            Some(Room::new(memory, place, &self.metrics))
        };
        tokio::select! {
            room = room => room,
            () = self.stopping.cancelled() => None,
        }
    }
}

/// Rounded up, so that what is promised is there.
fn mebibytes(bytes: u64) -> u32 {
    u32::try_from(bytes.div_ceil(MEBIBYTE)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    fn interpreters(places: usize, mebibytes: u64) -> Interpreters {
        Interpreters::new(
            places,
            mebibytes * MEBIBYTE,
            CancellationToken::new(),
            Metrics::new(),
        )
    }

    #[test]
    fn programs_that_run_together_fit_into_the_memory_of_all() {
        let all = interpreters(4, 100);
        let first = all.try_reserve(60 * MEBIBYTE).unwrap();
        assert!(all.try_reserve(41 * MEBIBYTE).is_none());
        assert!(all.try_reserve(40 * MEBIBYTE).is_some());
        drop(first);
        assert!(all.try_reserve(100 * MEBIBYTE).is_some());
    }

    #[test]
    fn a_program_that_does_not_fit_alone_is_refused_with_what_to_change() {
        let all = interpreters(4, 100);
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
    fn a_large_program_gets_its_turn_before_smaller_ones_that_came_later() {
        let all = interpreters(4, 100);
        let first = all.try_reserve(60 * MEBIBYTE);
        let mut large = Box::pin(all.reserve("a", 90 * MEBIBYTE));
        assert!((&mut large).now_or_never().is_none());
        assert!(all.try_reserve(MEBIBYTE).is_none(), "it would wait for ever");
        drop(first);
        assert!(large.now_or_never().flatten().is_some());
    }

    #[test]
    fn there_are_no_more_programs_than_places() {
        let all = interpreters(1, 100);
        let first = all.try_reserve(MEBIBYTE);
        let mut next = Box::pin(all.reserve("a", MEBIBYTE));
        assert!((&mut next).now_or_never().is_none());
        drop(first);
        assert!(next.now_or_never().flatten().is_some());
    }

    #[test]
    fn a_namespace_with_one_program_waits_for_one_of_another_that_has_many() {
        let all = interpreters(1, 100);
        let first = all.try_reserve(MEBIBYTE);
        let mut crowd: Vec<_> = (0..50)
            .map(|_| Box::pin(all.reserve("crowd", MEBIBYTE)))
            .collect();
        assert!(crowd.iter_mut().all(|next| next.now_or_never().is_none()));
        let mut one = Box::pin(all.reserve("one", MEBIBYTE));
        assert!((&mut one).now_or_never().is_none());
        drop(first);
        // The first of the crowd was at the head already.
        assert!((&mut crowd[0]).now_or_never().is_some());
        assert!(crowd[1..].iter_mut().all(|next| next.now_or_never().is_none()));
        assert!(one.now_or_never().flatten().is_some());
    }

    #[test]
    fn who_waits_goes_when_the_operator_ends() {
        let all = interpreters(1, 100);
        let _first = all.try_reserve(MEBIBYTE);
        all.stopping.cancel();
        assert!(matches!(all.reserve("a", MEBIBYTE).now_or_never(), Some(None)));
    }
}
