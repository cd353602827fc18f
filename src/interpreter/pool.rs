//! A pool of workers: programs go in, sessions come out.

use std::sync::Arc;

use crate::error::Error;
use crate::protocol::{Limits, Run, ToWorker, to_frame};
use crate::session::Session;
use crate::workers::{Settings, Shared};

/// The longest program that is run.
const MOST_CODE: usize = 1024 * 1024;

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

/// Workers that run programs. A clone is the same pool.
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
        if program.code.len() > MOST_CODE {
            return Err(Error::ProgramTooLong {
                bytes: program.code.len(),
                limit: MOST_CODE,
            });
        }
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
        let worker = self.0.send(&frame).await?;
        Ok(Session::new(
            worker,
            Arc::downgrade(&self.0),
            limits,
            settings.grace,
        ))
    }

    /// Workers that wait for a program at the moment.
    #[must_use]
    pub fn idle_workers(&self) -> usize {
        self.0.idle_workers()
    }
}
