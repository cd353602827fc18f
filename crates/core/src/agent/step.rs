//! Record of a turn, in one or several steps: one for each time that a sandbox was waited for.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

/// Text about a command that printed nothing.
pub(super) const NO_OUTPUT: &str = "(no output)";

/// The class of a command that ran.
pub(super) const SAFE: &str = "Safe";
/// The class of a call that asked for tests.
pub const INTERCEPTED: &str = "Intercepted";
/// The class of a command in which a program was refused.
pub(super) const DENIED: &str = "Denied";

/// One step of a turn, with its results.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct AgentStep {
    /// Turn of the try, counted from 1.
    pub turn: u32,
    /// Number of the turn's call in the ledger.
    pub sequence: u32,
    /// Results of the turn's next calls, in order.
    pub results: Vec<CallResult>,
    /// Files that commands changed, in base64; `None` for one that is gone.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub changes: BTreeMap<String, Option<String>>,
    /// Text that the agent is told besides the results; empty for nothing.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// Cases whose failure the agent is told of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reported_cases: Vec<String>,
    /// Reason for which the tests that were asked for last were not run; empty where they were.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub not_tested: String,
}

impl AgentStep {
    /// Returns the results of calls that are over.
    pub fn calls(&self) -> impl Iterator<Item = &CallResult> {
        self.results.iter().filter(|result| !result.is_partial)
    }

    /// Returns true where there is nothing to record.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.results.is_empty() && self.changes.is_empty() && self.note.is_empty()
    }
}

/// Result of one tool call.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct CallResult {
    /// Name of the tool.
    pub tool: String,
    /// Input of the call, in a line: the command, or the file.
    #[serde(default)]
    pub what: String,
    /// Class of a command: it ran (`Safe`), it asked for the tests (`Intercepted`), a program in it was refused (`Denied`); empty for other
    /// tools.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub class: String,
    /// Text that is told, whole.
    pub text: String,
    /// True where the call failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
    /// True for the part of a call before the tests that it asks for: the call itself has another result.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_partial: bool,
    /// Exit code of a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<i32>,
    /// Bytes of the whole result, of which `text` may be a part.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub bytes: u64,
    /// Time at which the call was begun.
    pub started_at: Timestamp,
    /// Time at which its result was there.
    pub finished_at: Timestamp,
}

impl CallResult {
    /// A result that was there at once.
    #[must_use]
    pub fn at_once(tool: &str, result: Result<String, String>, now: Timestamp) -> Self {
        let is_error = result.is_err();
        Self {
            tool: tool.to_owned(),
            what: String::new(),
            class: String::new(),
            text: result.unwrap_or_else(|why| why),
            is_error,
            is_partial: false,
            exit: None,
            bytes: 0,
            started_at: now,
            finished_at: now,
        }
    }

    /// Joins the result of a call until it asked for the tests with the result of those.
    #[must_use]
    pub(super) fn followed_by(self, next: Self) -> Self {
        Self {
            text: format!("{}\n{}", self.text, next.text),
            bytes: self.bytes.saturating_add(next.bytes),
            started_at: self.started_at,
            ..next
        }
    }

    /// Returns the name of the tool and how the call ended: nothing that a model wrote, which may repeat rows of the samples.
    #[must_use]
    pub fn outcome(&self) -> String {
        let how = match (self.is_denied(), self.is_error) {
            (true, _) => " (denied)",
            (false, true) => " (failed)",
            (false, false) => "",
        };
        format!("{}{how}", self.tool)
    }

    /// The call and how it ended, in a line.
    #[must_use]
    pub fn headline(&self) -> String {
        let Self { tool, what, .. } = self;
        // How it ended comes first: the rest may be cut.
        match (self.is_denied(), self.exit, self.is_error) {
            (true, _, _) => format!("{tool} (denied) {what}"),
            // A limit that was met within a pipe leaves the exit code of its end.
            (false, None | Some(0), true) => format!("{tool} (failed) {what}"),
            (false, Some(code), true) => format!("{tool} (exit code {code}) {what}"),
            (false, _, false) => format!("{tool} {what}"),
        }
    }

    /// Reports whether a program in a command was refused.
    #[must_use]
    pub fn is_denied(&self) -> bool {
        self.class == DENIED
    }
}

/// Report of a sandbox about a turn's commands.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub struct CommandRun {
    /// One entry for each command that was begun, in order.
    pub results: Vec<CommandResult>,
    /// Files of the workspace that changed, in base64; `None` for one that is gone.
    pub changes: BTreeMap<String, Option<String>>,
    /// Entries of the workspace that are not taken into it, each with the reason.
    pub left_out: Vec<String>,
    /// True where the sandbox ended without a report, so that nothing is known of what it did.
    #[serde(skip)]
    pub is_lost: bool,
}

/// Reason for which a sandbox did not end as one does whose commands have all run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EarlyEnd {
    /// Its processes met a limit together, whichever of them was ended for it: its name.
    Limit(String),
    /// Something else, in these words.
    Other(String),
}

impl EarlyEnd {
    /// The same in a sentence.
    pub(super) fn words(&self) -> String {
        match self {
            Self::Limit(name) => format!("It ended because a limit was met: {name}."),
            Self::Other(words) => words.clone(),
        }
    }
}

/// Result of one command.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub struct CommandResult {
    /// Exit code.
    pub exit: i32,
    /// Text that it wrote to both streams, in order.
    pub output: String,
    /// Wall time, seconds.
    pub seconds: f64,
    /// True where it was ended because its time was over.
    pub timed_out: bool,
    /// Bytes that it wrote, of which `output` may be a part.
    pub bytes: u64,
    /// Time at which it began, in seconds since 1970 by the clock of the sandbox.
    pub started_at: Option<f64>,
    /// True where the sandbox ended while it ran: nothing else is known of it.
    pub interrupted: bool,
    /// True where it started pytest and was ended there.
    pub asks_for_tests: bool,
    /// Programs that were refused in it, each with what to do instead.
    pub denied: Vec<String>,
}

impl CommandResult {
    pub(super) const fn has_failed(&self) -> bool {
        self.exit != 0 || self.timed_out || self.interrupted
    }

    /// Returns the times at which it began and ended, where the sandbox says so.
    pub(super) fn times(&self) -> Option<(Timestamp, Timestamp)> {
        let started = Timestamp::UNIX_EPOCH
            .checked_add(seconds(self.started_at?)?)
            .ok()?;
        let ended = if self.interrupted {
            // It is not known when that was.
            Timestamp::MAX
        } else {
            started.checked_add(seconds(self.seconds)?).ok()?
        };
        Some((started, ended))
    }
}

fn seconds(number: f64) -> Option<SignedDuration> {
    SignedDuration::try_from_secs_f64(number).ok()
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde wants it")]
const fn is_zero(number: &u64) -> bool {
    *number == 0
}
