//! A pool of workers: programs and checks go in, sessions and diagnostics come out.

use std::sync::Arc;
use std::time::Duration;

use crate::error::{Death, Error};
use crate::protocol::{Diagnostic, FromWorker, Limits, Run, ToWorker, to_frame};
use crate::session::{Session, with_bound};
use crate::workers::{Settings, Shared};

/// The longest program that is run or checked, its stubs included.
const MOST_CODE: usize = 1024 * 1024;
/// The most that a check can have to say.
const MOST_DIAGNOSTICS: usize = 4 * 1024 * 1024;

/// A program to run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// Its source.
    pub code: String,
    /// Names of the tools that it can call.
    pub functions: Vec<String>,
    /// What it may take.
    pub limits: Limits,
}

/// Workers that run and check programs. A clone is the same pool.
#[derive(Clone, Debug)]
pub struct Pool(Arc<Shared>);

impl Pool {
    /// A pool that starts its first worker with the first program.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self(Arc::new(Shared::new(settings)))
    }

    /// Starts a program as soon as a worker is free.
    pub async fn start(&self, program: Program) -> Result<Session, Error> {
        let settings = &self.0.settings;
        bound(program.code.len())?;
        let limits = program.limits;
        if limits.memory_bytes > settings.memory_bytes {
            return Err(Error::MemoryAbovePool {
                asked: limits.memory_bytes,
                limit: settings.memory_bytes,
            });
        }
        let frame = to_frame(&ToWorker::<()>::Run(Run {
            code: program.code,
            functions: program.functions,
            limits,
        }))?;
        let worker = self.0.send(&self.0.runners, &frame).await?;
        Ok(Session::new(
            worker,
            Arc::downgrade(&self.0),
            limits,
            settings.grace,
        ))
    }

    /// Checks the types of a program whose tools have these stubs: `async def rate(base: str) -> float: ...`, with the classes that
    /// they name.
    pub async fn check(&self, code: String, stubs: String) -> Result<Vec<Diagnostic>, Error> {
        bound(code.len().saturating_add(stubs.len()))?;
        let frame = to_frame(&ToWorker::<()>::Check { code, stubs })?;
        let mut worker = self.0.send(&self.0.checkers, &frame).await?;
        let settings = &self.0.settings;
        let mut spent = Duration::ZERO;
        let received = worker
            .process
            .receive(MOST_DIAGNOSTICS, settings.check_time, &mut spent)
            .await;
        match received {
            Ok(FromWorker::<()>::Checked { diagnostics }) => {
                self.0.take_back_to(&self.0.checkers, worker);
                Ok(diagnostics)
            }
            Ok(_) => Err(Death::Protocol("it did not answer what it was asked".to_owned()).into()),
            Err(reason) => Err(with_bound(reason, settings.check_memory_bytes).into()),
        }
    }

    /// Workers that wait for a program at the moment, those that check types included.
    #[must_use]
    pub fn idle_workers(&self) -> usize {
        self.0.runners.idle_workers() + self.0.checkers.idle_workers()
    }
}

fn bound(bytes: usize) -> Result<(), Error> {
    if bytes > MOST_CODE {
        return Err(Error::ProgramTooLong {
            bytes,
            limit: MOST_CODE,
        });
    }
    Ok(())
}
