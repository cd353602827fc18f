//! Recorded replies: a model that answers from JSON Lines, without a network.

use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Model, ModelError, estimated_input};
use codegen_core::call::{CallKind, FinishReason, Reply, Request, Usage, request_hash};
use codegen_core::conversation::ToolCall;
use codegen_data::context::estimate_tokens;

/// One line of a recording.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RecordedReply {
    /// Kind of the call.
    pub kind: CallKind,
    /// Hash of the request; a recording written by hand may leave it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_hash: Option<String>,
    /// The reply, where it is a JSON object. Exactly one of `reply` and `text` is given, where there are no `calls`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<Value>,
    /// The reply as raw text, where it is anything else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Tools that it calls, `text` being what it says besides.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<RecordedToolCall>,
    /// `complete` (when left out), `length`, `refused`, or what a provider called it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish: Option<String>,
    /// Tokens; estimated when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Name of the model that gave the reply, where that is another than the task's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// A call of a tool.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RecordedToolCall {
    /// By which its result is known; a recording written by hand may leave it out.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// Name of the tool.
    pub name: String,
    /// Its input.
    pub input: Value,
}

impl RecordedReply {
    /// The line that replays `reply`.
    #[must_use]
    pub fn new(kind: CallKind, request_hash: &str, reply: &Reply) -> Self {
        let object = serde_json::from_str(&reply.text).ok().filter(Value::is_object);
        let call = |call: &ToolCall| RecordedToolCall {
            id: call.id.clone(),
            name: call.name.clone(),
            input: call.input.clone(),
        };
        Self {
            calls: reply.calls.iter().map(call).collect(),
            kind,
            request_hash: Some(request_hash.to_owned()),
            text: object.is_none().then(|| reply.text.clone()),
            reply: object,
            finish: match &reply.finish {
                FinishReason::Complete => None,
                FinishReason::Length => Some("length".to_owned()),
                FinishReason::Refused => Some("refused".to_owned()),
                FinishReason::Other(name) => Some(name.clone()),
            },
            usage: Some(reply.usage),
            model: reply.model.clone(),
        }
    }

    /// The reply; `estimated_input` counts the request's tokens where the recording does not say.
    pub(super) fn to_reply(&self, estimated_input: impl FnOnce() -> u64) -> Reply {
        let text = match (&self.reply, &self.text) {
            (Some(reply), _) => reply.to_string(),
            (None, text) => text.clone().unwrap_or_default(),
        };
        let finish = match self.finish.as_deref() {
            None | Some("complete") => FinishReason::Complete,
            Some("length") => FinishReason::Length,
            Some("refused") => FinishReason::Refused,
            Some(other) => FinishReason::Other(other.to_owned()),
        };
        let call = |call: &RecordedToolCall| ToolCall {
            id: call.id.clone(),
            name: call.name.clone(),
            input: call.input.clone(),
        };
        let calls: Vec<ToolCall> = self.calls.iter().map(call).collect();
        let usage = self.usage.unwrap_or_else(|| Usage {
            input: estimated_input(),
            output: estimate_tokens(&text)
                + calls
                    .iter()
                    .map(|call| estimate_tokens(&call.input.to_string()))
                    .sum::<u64>(),
        });
        Reply {
            text,
            finish,
            usage,
            calls,
            echo: None,
            model: self.model.clone(),
        }
    }
}

/// A model that answers each call with the next line, which must be of the kind that is asked for.
#[derive(Debug)]
pub struct Recorded {
    name: String,
    /// Line (counted from 1) and reply.
    lines: Vec<(usize, RecordedReply)>,
    next: Mutex<usize>,
    /// Lines whose reply answered another request than it was recorded for.
    changed: Mutex<Vec<usize>>,
    strict: bool,
}

impl Recorded {
    /// Reads a recording. `name` stands for it in messages; empty lines are passed over.
    pub fn parse(name: &str, recording: &str) -> Result<Self, ModelError> {
        Ok(Self {
            name: name.to_owned(),
            lines: parse_lines(name, recording)?,
            next: Mutex::new(0),
            changed: Mutex::default(),
            strict: false,
        })
    }

    /// Begins after the first `replies` replies: those that a resumed task has in its ledger.
    #[must_use]
    pub fn skip(mut self, replies: usize) -> Self {
        self.next = Mutex::new(replies);
        self
    }

    /// Answers calls of these kinds alone: replies of other kinds are passed over, and not counted.
    #[must_use]
    pub fn only(mut self, is_wanted: impl Fn(CallKind) -> bool) -> Self {
        self.lines.retain(|(_, recorded)| is_wanted(recorded.kind));
        self
    }

    /// Makes a changed request an error instead of a warning.
    #[must_use]
    pub const fn strict(mut self, strict: bool) -> Self {
        self.strict = strict;
        self
    }

    /// Returns what a person should know of replies that answered another request than they were recorded for; `None` without any.
    #[must_use]
    pub fn mismatch(&self) -> Option<String> {
        let changed = self.changed.lock().unwrap_or_else(PoisonError::into_inner);
        let first = changed.first()?;
        let replies = match changed.len() {
            1 => "1 reply was".to_owned(),
            count => format!("{count} replies were"),
        };
        Some(format!(
            "{replies} recorded for another request than the one answered now (the first in line {first} of {}), so that the \
             result may not be what was recorded: record the task again, or let --replay-strict stop at the first",
            self.name
        ))
    }

    fn next(&self) -> MutexGuard<'_, usize> {
        self.next.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer(&self, request: &Request) -> Result<Reply, ModelError> {
        let mut next = self.next();
        let Some((line, recorded)) = self.lines.get(*next) else {
            return Err(ModelError::RecordingEnded {
                recording: self.name.clone(),
                replies: self.lines.len(),
                asked: request.kind,
            });
        };
        if recorded.kind != request.kind {
            return Err(ModelError::RecordingMismatch {
                recording: self.name.clone(),
                line: *line,
                asked: request.kind,
                found: recorded.kind,
            });
        }
        self.check_hash(*line, recorded, request)?;
        // Counted only now: a reply of another kind is not used up.
        *next += 1;
        Ok(recorded.to_reply(|| estimated_input(request)))
    }

    fn check_hash(&self, line: usize, recorded: &RecordedReply, request: &Request) -> Result<(), ModelError> {
        let asked = request_hash(request);
        let Some(hash) = recorded.request_hash.as_deref().filter(|hash| *hash != asked) else {
            return Ok(());
        };
        if self.strict {
            return Err(ModelError::RecordingChanged {
                recording: self.name.clone(),
                line,
                kind: request.kind,
                recorded: hash.chars().take(12).collect(),
                asked: asked.chars().take(12).collect(),
            });
        }
        let mut changed = self.changed.lock().unwrap_or_else(PoisonError::into_inner);
        changed.push(line);
        tracing::debug!(
            recording = self.name,
            line,
            "a reply was recorded for another request"
        );
        Ok(())
    }
}

impl Model for Recorded {
    async fn call(&self, request: &Request) -> Result<Reply, ModelError> {
        self.answer(request)
    }
}

/// Every reply of a recording with its line, counted from 1.
pub(super) fn parse_lines(name: &str, recording: &str) -> Result<Vec<(usize, RecordedReply)>, ModelError> {
    recording
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
        .map(|(index, line)| parse_line(name, index + 1, line).map(|reply| (index + 1, reply)))
        .collect()
}

fn parse_line(recording: &str, line: usize, text: &str) -> Result<RecordedReply, ModelError> {
    let unreadable = |detail: String| ModelError::RecordingUnreadable {
        recording: recording.to_owned(),
        line,
        detail,
    };
    let reply: RecordedReply = serde_json::from_str(text).map_err(|error| unreadable(error.to_string()))?;
    if reply.calls.is_empty() && reply.reply.is_some() == reply.text.is_some() {
        return Err(unreadable("give exactly one of `reply` and `text`".to_owned()));
    }
    Ok(reply)
}

#[cfg(test)]
mod tests;
