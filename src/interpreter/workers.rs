//! The workers of a pool: who has a place, who is ready, and how those that are done come back.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::available_parallelism;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use crate::binary;
use crate::error::Error;
use crate::process::Process;
use crate::protocol::Limits;

/// How many workers there are, and how long.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The binary `codegen-interpreter`. Where none is given it is searched for.
    pub binary: Option<PathBuf>,
    /// Programs that run at once; others wait. Default: one for each processor.
    pub workers: usize,
    /// How long a worker waits for another program before it ends. Default 60 s.
    pub idle: Duration,
    /// Programs that one worker runs before another takes its place. Default 1,000.
    pub programs_per_worker: u32,
    /// The most memory that any program may ask for in its limits, in bytes. Default 50 MiB.
    pub memory_bytes: u64,
    /// How long after a program's time limit its worker is killed, if it does not answer. Default 2 s.
    pub grace: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            binary: None,
            workers: available_parallelism().map_or(2, usize::from),
            idle: Duration::from_mins(1),
            programs_per_worker: 1000,
            memory_bytes: Limits::default().memory_bytes,
            grace: Duration::from_secs(2),
        }
    }
}

/// Time of a worker to start and to read its program, besides the grace.
const START: Duration = Duration::from_secs(10);

/// What sessions give their workers back to.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) settings: Settings,
    places: Arc<Semaphore>,
    idle: Mutex<IdleWorkers>,
}

#[derive(Debug, Default)]
struct IdleWorkers {
    list: Vec<Idle>,
    /// A task ends those that wait for too long.
    is_watched: bool,
}

#[derive(Debug)]
struct Idle {
    process: Process,
    since: Instant,
}

/// A process and its place among those that the pool may have.
#[derive(Debug)]
pub(crate) struct Worker {
    pub(crate) process: Process,
    pub(crate) place: OwnedSemaphorePermit,
}

impl Shared {
    /// No worker is there yet.
    pub(crate) fn new(settings: Settings) -> Self {
        Self {
            places: Arc::new(Semaphore::new(settings.workers.clamp(1, Semaphore::MAX_PERMITS))),
            idle: Mutex::default(),
            settings,
        }
    }

    /// A worker that has this frame.
    pub(crate) async fn send(&self, frame: &[u8]) -> Result<Worker, Error> {
        let place = self.place().await?;
        let limit = self.settings.grace + START;
        // One that was idle may end before the frame reaches it.
        while let Some(mut process) = self.take_idle() {
            if process.send(frame, limit).await.is_ok() {
                return Ok(Worker { process, place });
            }
        }
        let program = binary::find(self.settings.binary.as_deref())?;
        let mut process = Process::spawn(&program, self.settings.memory_bytes)?;
        process.send(frame, limit).await?;
        Ok(Worker { process, place })
    }

    /// Takes a worker back whose program has ended.
    pub(crate) fn take_back(self: &Arc<Self>, mut worker: Worker) {
        worker.process.programs += 1;
        let is_worn = worker.process.programs >= self.settings.programs_per_worker;
        if is_worn || !worker.process.is_reusable() {
            return;
        }
        let mut idle = self.idle();
        idle.list.push(Idle {
            process: worker.process,
            since: Instant::now(),
        });
        if !idle.is_watched
            && let Ok(runtime) = Handle::try_current()
        {
            idle.is_watched = true;
            runtime.spawn(end_idle(Arc::downgrade(self), self.settings.idle));
        }
        drop(idle);
        // Only now may another take the place: it finds the worker.
        drop(worker.place);
    }

    async fn place(&self) -> Result<OwnedSemaphorePermit, Error> {
        let places = Arc::clone(&self.places);
        // Nobody closes it.
        places.acquire_owned().await.map_err(|_| Error::OutOfTurn {
            expected: "a pool that was not closed",
        })
    }

    fn idle(&self) -> MutexGuard<'_, IdleWorkers> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many wait for a program.
    pub(crate) fn idle_workers(&self) -> usize {
        self.idle().list.len()
    }

    /// The one that worked last, whose pages are still warm.
    fn take_idle(&self) -> Option<Process> {
        let mut idle = self.idle();
        while let Some(mut last) = idle.list.pop() {
            if last.process.is_reusable() {
                return Some(last.process);
            }
        }
        None
    }
}

/// Ends workers that have waited for so long, until none is left.
async fn end_idle(pool: Weak<Shared>, longest: Duration) {
    loop {
        let next = {
            let Some(pool) = pool.upgrade() else { return };
            let mut idle = pool.idle();
            idle.list.retain(|worker| worker.since.elapsed() < longest);
            let next = idle.list.iter().map(|worker| worker.since + longest).min();
            idle.is_watched = next.is_some();
            next
        };
        match next {
            Some(deadline) => tokio::time::sleep_until(deadline).await,
            None => return,
        }
    }
}
