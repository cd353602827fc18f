//! The present turn of an agent: its reply, and what its calls came to so far.

use super::step::CallResult;
use crate::call::{FinishReason, Reply};
use crate::conversation::ToolCall;

/// Event that comes again where an agent gets nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Repeated {
    Call,
    Claim,
    Cut,
    Refusal,
}

/// The present turn.
#[derive(Clone, Debug)]
pub(super) struct AgentTurn {
    pub(super) number: u32,
    pub(super) sequence: u32,
    pub(super) reply: Reply,
    pub(super) results: Vec<CallResult>,
    /// Result of the next call until it asked for the tests.
    pub(super) earlier: Option<CallResult>,
    pub(super) note: String,
}

impl AgentTurn {
    pub(super) fn next_call(&self) -> Option<&ToolCall> {
        self.reply.calls.get(self.results.len())
    }

    /// Reports whether its next call may lack its end.
    pub(super) fn is_cut(&self, index: usize) -> bool {
        self.reply.finish == FinishReason::Length && index + 1 == self.reply.calls.len()
    }

    /// Returns the text for an agent whose reply ended before it said what is to be done.
    pub(super) fn unfinished(&self) -> Option<String> {
        if !self.reply.calls.is_empty() {
            return None;
        }
        let why = match &self.reply.finish {
            FinishReason::Length => "it met the limit of output tokens. Say less at a time".to_owned(),
            FinishReason::Refused => {
                "it was refused. If a part of the task stands against it, do the rest".to_owned()
            }
            FinishReason::Other(name) if is_pause(name) => format!("the provider ended it ({name})"),
            FinishReason::Complete | FinishReason::Other(_) => return None,
        };
        Some(format!(
            "Your reply ended before it called a tool: {why}.\nGo on with the tools; when everything has passed, say so without calling one."
        ))
    }

    pub(super) const fn repeated(&self) -> Repeated {
        match self.reply.finish {
            FinishReason::Length => Repeated::Cut,
            FinishReason::Refused => Repeated::Refusal,
            FinishReason::Complete | FinishReason::Other(_) => Repeated::Claim,
        }
    }

    pub(super) fn is_over(&self) -> bool {
        self.next_call().is_none() && (!self.reply.calls.is_empty() || !self.note.is_empty())
    }
}

/// Reports whether this name of an end means that the model has not said everything, or not so that it can be read.
fn is_pause(name: &str) -> bool {
    name == "pause_turn" || name.to_lowercase().contains("malformed")
}
