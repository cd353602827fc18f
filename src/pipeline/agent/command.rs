//! A command line as the policy judged it, and as a sandbox runs it.

use serde_json::Value;

/// What is said of a command line, and what a sandbox is to run for it.
#[derive(Clone, Debug, PartialEq)]
pub enum Judged {
    /// It runs in the sandbox, as it was read.
    Safe(Value),
    /// It asks for the task's own tests.
    Tests {
        /// What runs in the sandbox before them; where it fails, they do not run.
        before: Option<Value>,
    },
    /// It is turned away, for this reason.
    Denied(String),
}

/// A command for the sandbox.
#[derive(Clone, Debug, PartialEq)]
pub struct Command {
    /// As the policy read it.
    pub script: Value,
    /// Milliseconds that it may take; the sandbox's own limit where there is none.
    pub timeout: Option<f64>,
    /// Whether the same call asks for the tests after it.
    pub is_before_tests: bool,
}
