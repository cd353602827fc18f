//! Start of programs: programs go in, sessions come out, each with a worker of its own.

use std::path::PathBuf;
use std::time::Duration;

use crate::binary;
use crate::error::Error;
use crate::process::WorkerProcess;
use crate::protocol::{Program, ToWorker, WorkerLimits, to_frame};
use crate::session::ProgramSession;

/// The longest program that is run.
const MOST_CODE: usize = 1024 * 1024;
/// Time of a worker to start and to read its program, besides the grace.
const START: Duration = Duration::from_secs(10);

/// Binary and limits with which workers are started.
#[derive(Clone, Debug)]
pub struct Interpreter {
    /// The binary `codegen-interpreter`. Where none is given it is searched for.
    pub binary: Option<PathBuf>,
    /// The most memory that any program may ask for in its limits, in bytes. Default 50 MiB.
    pub memory_bytes: u64,
    /// Time after a program's time limit at which its worker is killed, if it does not answer. Default 2 s.
    pub grace: Duration,
}

impl Default for Interpreter {
    fn default() -> Self {
        Self {
            binary: None,
            memory_bytes: WorkerLimits::default().memory_bytes,
            grace: Duration::from_secs(2),
        }
    }
}

impl Interpreter {
    /// Starts a program in a worker of its own. How many there are at once is for whoever starts them to bound.
    pub async fn start(&self, program: Program) -> Result<ProgramSession, Error> {
        if program.code.len() > MOST_CODE {
            return Err(Error::ProgramTooLong {
                bytes: program.code.len(),
                limit: MOST_CODE,
            });
        }
        let limits = program.limits;
        if limits.memory_bytes > self.memory_bytes {
            return Err(Error::MemoryAbove {
                asked: limits.memory_bytes,
                limit: self.memory_bytes,
            });
        }
        let frame = to_frame(&ToWorker::<()>::Run(program))?;
        let binary = binary::find(self.binary.as_deref())?;
        let mut process = WorkerProcess::spawn(&binary, self.memory_bytes)?;
        process.send(&frame, self.grace + START).await?;
        Ok(ProgramSession::new(process, limits, self.grace))
    }
}
