//! A command line as the policy judged it, and as a sandbox runs it.

use serde_json::Value;

use super::step::{CallResult, INTERCEPTED};

/// What is said of a command line, and what a sandbox is to run for it.
#[derive(Clone, Debug, PartialEq)]
pub enum Judged {
    /// It runs in the sandbox, as it was read.
    Safe(Value),
    /// It asks for the task's own tests.
    Tests(BesideTests),
    /// It is turned away, for this reason.
    Denied(String),
}

/// What runs in the sandbox before and after tests.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BesideTests {
    /// Before them; where it fails, they do not run.
    pub before: Option<Value>,
    /// After them, where they passed.
    pub passed: Option<Value>,
    /// After them, where they did not, or were not run.
    pub failed: Option<Value>,
}

impl BesideTests {
    /// What comes after these parts of a call, which are over.
    #[must_use]
    pub fn part_after(self, earlier: Option<&CallResult>) -> Part {
        let Self {
            before,
            passed,
            failed,
        } = self;
        match (earlier, before) {
            (None, Some(script)) if failed.is_some() => Part::Command(script, Then::TestsOrCommand),
            (None, Some(script)) => Part::Command(script, Then::Tests),
            (Some(earlier), _) if earlier.is_error => Part::last(failed),
            (Some(earlier), _) if earlier.class == INTERCEPTED => Part::last(passed),
            (None, None) | (Some(_), _) => Part::Tests,
        }
    }
}

/// A part of a call that asks for tests.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// A command, as the policy read it.
    Command(Value, Then),
    /// The tests.
    Tests,
    /// Nothing: the call is over.
    Over,
}

impl Part {
    fn last(script: Option<Value>) -> Self {
        script.map_or(Self::Over, |script| Self::Command(script, Then::Nothing))
    }
}

/// A command for the sandbox.
#[derive(Clone, Debug, PartialEq)]
pub struct Command {
    /// As the policy read it.
    pub script: Value,
    /// Milliseconds that it may take; the sandbox's own limit where there is none.
    pub timeout: Option<f64>,
    /// What the same call asks for after it.
    pub then: Then,
}

/// What a call asks for after a command of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// Nothing: it is over.
    Nothing,
    /// The tests, where the command succeeds.
    Tests,
    /// The tests, where the command succeeds, and else a further command.
    TestsOrCommand,
}
