//! Destination of the calls of tools.

use serde_json::{Map, Value};

use codegen_code_mode::journal::CallOutcome;
use codegen_core::code_mode::SourcedTool;

/// A key that follows from the run, the program and the place of a call, the same at every try: for `Idempotency-Key`, and for the names of
/// objects that are made for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallKey {
    /// Number of the program.
    pub attempt: u32,
    /// Place of the call among those of the program.
    pub number: u32,
}

/// Outcome of making a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Made {
    /// It has ended.
    Ended(CallOutcome),
    /// Its outcome comes from the run of that name.
    Pending(String),
    /// It was sent, and nobody knows what it came to.
    Unknown(String),
    /// It was not sent; a person, or time, must change something.
    Blocked {
        /// Change that is needed.
        message: String,
        /// True where a person must make it.
        needs_person: bool,
    },
}

/// Makes calls of tools.
pub trait ToolCaller: Send + Sync {
    /// Makes a call whose arguments are those of the tool's schema. Made twice with one key, a durable call is the same call.
    fn call(
        &self,
        tool: &SourcedTool,
        key: &CallKey,
        arguments: &Map<String, Value>,
    ) -> impl Future<Output = Made> + Send;

    /// The beginning of the text file that a handle stands for.
    fn read_text(&self, handle: &Value, limit: usize) -> impl Future<Output = Made> + Send;
}
