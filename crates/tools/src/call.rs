//! Outcome of a call of a tool.

use serde_json::Value;

/// End of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Called {
    /// The tool returned a value.
    Returned(Value),
    /// There is no value; the program gets an exception.
    Raised(ToolException),
}

/// An exception that a program can catch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolException {
    /// Its class in Python.
    pub kind: RaisedKind,
    /// Account of what happened, to which tool, and what to do next.
    pub message: String,
    /// Answer to whether the tool may have had the call.
    pub was_sent: Sent,
}

/// Exception classes of Python, by their names there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display, strum::IntoStaticStr)]
pub enum RaisedKind {
    /// The tool failed, or replied with what cannot be used.
    RuntimeError,
    /// The arguments cannot be used.
    ValueError,
    /// The time of the call was over.
    TimeoutError,
    /// No connection came about, or it broke.
    ConnectionError,
    /// The tool refused the credentials.
    PermissionError,
}

/// Knowledge of whether a tool had a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sent {
    /// It had not: nothing of the call left this process.
    No,
    /// It answered, so what it did is what its answer says.
    Answered,
    /// It may have had the call, and nobody knows what it did.
    Perhaps,
}

impl ToolException {
    /// An exception about `tool`; `what` continues its name.
    #[must_use]
    pub fn new(kind: RaisedKind, was_sent: Sent, tool: &str, what: &str) -> Self {
        Self {
            kind,
            message: format!("tool `{tool}` {what}"),
            was_sent,
        }
    }
}
