//! The agent backend: a model that decides with tools what to do next, turn by turn, until its program has passed.
//!
//! All of it is a function of what is recorded: the replies of the model and one [`Step`] for whatever they came to. The session is
//! replayed from these ([`Session`]), so that a restart knows as much as the process before it.

mod cases;
mod command;
mod command_results;
mod conversation;
mod room;
mod session;
mod step;
mod test_result;
mod tools;
mod turn;
mod workspace;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

pub use cases::doubtful;
pub use command::AgentCommand;
pub use conversation::conversation;
pub use session::{AgentSession, MAX_DENIALS, MAX_REPEATS, Pending, Proceeded};
pub use step::{AgentStep, CallResult, CommandResult, CommandRun, EarlyEnd, INTERCEPTED};
pub use test_result::{build_failed, missing, reported_cases, test_result};
pub use tools::TOOLS;
pub use workspace::{MAX_BYTES, MAX_FILES, PACKAGES, SOLUTION, TESTS, WORKSPACE, Workspace};

/// Test runs with the same failures after changes before the task stops.
pub const MAX_SAME_FAILURES: u32 = 3;
/// Attempts that the state holds one by one; the first of more give way.
pub const LISTED_ATTEMPTS: usize = 10;

/// Progress of an agent. Contents lie in the store, by the numbers that stand here.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct AgentProgress {
    /// Turns of the present try.
    pub turns: u32,
    /// Number of the present try's first step.
    pub first_step: u32,
    /// Number of the next step, counted from 0.
    pub next_step: u32,
    /// Number of the present turn's call in the ledger; 0 before the first.
    pub sequence: u32,
    /// Next need of the task.
    pub next: Next,
    /// State of program, suite and packages when they passed last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passed: Option<String>,
    /// State of them at the last test run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tested: Option<String>,
    /// Test runs in a row that failed in the same way.
    pub same_failures: u32,
    /// Cases that were worked out again: none is twice.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub rechecked_cases: BTreeSet<String>,
    /// Counts of calls, and of how they ended.
    pub counts: ToolCounts,
}

/// Tool calls of a task, over all its tries.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct ToolCounts {
    /// Turns.
    pub turns: u32,
    /// By name of the tool.
    pub by_tool: BTreeMap<String, u32>,
    /// Commands in which a program was refused.
    pub denied: u32,
    /// Calls that failed otherwise.
    pub failed: u32,
}

/// Next need of an agent's task.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub enum Next {
    /// Another turn of the model.
    #[default]
    Ask,
    /// A sandbox for commands.
    Run,
    /// The tests of program and suite as they are.
    Test,
    /// Event that was waited for has come: the turn goes on.
    Continue,
    /// The program has passed as it is, and the agent says that it is done.
    Done,
}

#[cfg(test)]
mod tests;
