//! Errors of running a program that are no fault that the interpreter reported.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use thiserror::Error;

/// Reason that a program was not run to its end.
#[derive(Debug, Error)]
pub enum Error {
    /// The binary of the workers is nowhere.
    #[error(
        "the interpreter `{name}` was not found in {searched}; it belongs in the folder of this program: from a release unpack the whole \
         archive, or run `kubectl krew upgrade codegen`; from source run `make install`, or `cargo build -p codegen-interpreter-worker` \
         with this program's profile; in an image copy both programs as the Dockerfile does; elsewhere set {variable} to its path"
    )]
    BinaryMissing {
        /// Its file name.
        name: &'static str,
        /// Places that were searched.
        searched: String,
        /// The environment variable that names it.
        variable: &'static str,
    },
    /// The binary could not be started.
    #[error("the interpreter {} could not be started: {source}; check that it is a program of this system", program.display())]
    Spawn {
        /// The binary.
        program: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// The worker ended in the middle of a program.
    #[error("the interpreter's process ended before the program did: {reason}")]
    WorkerDied {
        /// Manner in which it ended.
        reason: Death,
    },
    /// The program is longer than any worker takes.
    #[error("the program has {bytes} bytes and at most {limit} are run; ask for a shorter one")]
    ProgramTooLong {
        /// Its size.
        bytes: usize,
        /// The bound.
        limit: usize,
    },
    /// A limit of the program is above what the pool's workers are confined to.
    #[error(
        "the program may take {asked} bytes of memory, but the workers were started for {limit}; raise that"
    )]
    MemoryAbove {
        /// Bytes of the program's limits.
        asked: u64,
        /// Bytes of the pool's.
        limit: u64,
    },
    /// The next event was asked for while calls wait, or after the end; or there is not one outcome for each call that waits.
    #[error("the session expects {expected}")]
    OutOfTurn {
        /// Step that it expects instead.
        expected: &'static str,
    },
    /// A message could not be encoded.
    #[error("a message for the interpreter could not be encoded: {0}")]
    Encode(#[from] serde_json::Error),
}

/// Manner in which a worker ended that should not have.
#[derive(Debug, Error)]
pub enum Death {
    /// Its allocator ended it.
    #[error("the program took more than its {limit} bytes of memory at once")]
    Memory {
        /// The program's limit.
        limit: u64,
    },
    /// It did not answer in time, and was killed.
    #[error("it did not answer within {after:?} of its own time and was killed")]
    Deadline {
        /// The program's time limit with the grace.
        after: Duration,
    },
    /// It made a system call that it must not make.
    #[error("it made a forbidden system call and was killed by the kernel")]
    ForbiddenCall,
    /// A signal ended it: killed from outside, a stack that overflowed, a fault of the interpreter.
    #[error("signal {0} ended it")]
    Signal(i32),
    /// It exited.
    #[error("it exited with code {0}")]
    Exit(i32),
    /// It sent what is no message.
    #[error("it broke the protocol: {0}")]
    Protocol(String),
    /// Its pipe failed.
    #[error("its pipe failed: {0}")]
    Pipe(#[from] io::Error),
}

impl From<Death> for Error {
    fn from(reason: Death) -> Self {
        Self::WorkerDied { reason }
    }
}
