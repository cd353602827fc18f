//! Runs a model's short programs in worker processes.
//!
//! A program is in the subset of Python that Monty runs. It calls its tools as `async def` functions; each call leaves the
//! worker as a message, and whoever holds the session answers it. The interpreter itself is in another package
//! (`codegen-interpreter-worker`), so nothing that uses this one compiles or contains it.

pub mod protocol;

mod binary;
mod error;
mod start;
mod process;
mod replies;
mod session;

pub use error::{Death, Error};
pub use protocol::{Program, ProgramEnd, Raised, ReplyOutcome, WorkerCall, WorkerEvent, WorkerLimits};
pub use session::ProgramSession;
pub use start::Interpreter;
