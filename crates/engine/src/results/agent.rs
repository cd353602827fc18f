//! Acts and words of an agent: the trace of its calls, and the messages of its turns.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::EngineError;
use crate::agent::step_name;
use crate::documents::from_bytes;
use codegen_core::agent::{AgentSession, AgentStep, CallResult, INTERCEPTED, Workspace};
use codegen_core::call::CallKind;
use codegen_core::conversation::ToolCall;
use codegen_core::progress::Progress;
use codegen_ledger::{Entry, Message, Role, Store};

/// Path of the trace.
pub(super) const TRACE: &str = "agent-trace.jsonl";

/// Every step of a task, over all its tries, by the number of the turn's call in the ledger.
pub(super) async fn steps<S: Store>(
    progress: &Progress,
    store: &S,
) -> Result<BTreeMap<u32, Vec<AgentStep>>, EngineError> {
    let mut steps: BTreeMap<u32, Vec<AgentStep>> = BTreeMap::new();
    let count = progress.agent.as_ref().map_or(0, |agent| agent.next_step);
    for number in 0..count {
        let name = step_name(number);
        // A result that was taken over has no steps.
        let Some(bytes) = store.read(&name).await? else {
            continue;
        };
        let step: AgentStep = from_bytes(&name, &bytes)?;
        steps.entry(step.sequence).or_default().push(step);
    }
    Ok(steps)
}

/// One call of a tool, as a line of the trace.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TracedCall<'a> {
    turn: u32,
    tool: &'a str,
    input: &'a serde_json::Value,
    #[serde(skip_serializing_if = "str::is_empty")]
    class: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    started_at: Option<jiff::Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    finished_at: Option<jiff::Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exit: Option<i32>,
    /// `Denied`, `ExitCode`, `LimitHit`, `TestsFailed`, `NotRun` or `Refused`.
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<&'static str>,
    bytes: u64,
    output: &'a str,
}

impl<'a> TracedCall<'a> {
    fn new(turn: u32, call: &'a ToolCall, result: Option<&'a CallResult>) -> Self {
        Self {
            turn,
            tool: &call.name,
            input: &call.input,
            class: result.map_or("", |result| &result.class),
            started_at: result.map(|result| result.started_at),
            finished_at: result.map(|result| result.finished_at),
            exit: result.and_then(|result| result.exit),
            failure: result.map_or(Some("NotRun"), failure),
            bytes: result.map_or(0, |result| result.bytes),
            output: result.map_or("", |result| &result.text),
        }
    }
}

/// Names the way in which a call failed, in a word.
fn failure(result: &CallResult) -> Option<&'static str> {
    match (result.is_error, result.class.as_str(), result.exit) {
        (false, ..) => None,
        (true, "Denied", _) => Some("Denied"),
        (true, INTERCEPTED, None) => Some("TestsFailed"),
        (true, "Safe", None) => Some("NotRun"),
        (true, _, Some(0)) => Some("LimitHit"),
        (true, _, Some(_)) => Some("ExitCode"),
        (true, _, None) => Some("Refused"),
    }
}

/// Every call with its input and its output, one line each; of a turn in which the task ended also those that were not made.
pub(super) fn trace(steps: &BTreeMap<u32, Vec<AgentStep>>, entries: &[Entry]) -> Vec<u8> {
    let mut lines = Vec::new();
    let mut turn = 0;
    for entry in entries.iter().filter(|entry| entry.kind == CallKind::Turn) {
        let of_turn = steps.get(&entry.sequence).map(Vec::as_slice).unwrap_or_default();
        turn = of_turn.first().map_or(turn + 1, |step| step.turn);
        let mut results = of_turn.iter().flat_map(AgentStep::calls);
        for call in &entry.reply.calls {
            let line = TracedCall::new(turn, call, results.next());
            // Plain data with string keys: writing it to memory cannot fail.
            lines.extend(serde_json::to_vec(&line).unwrap_or_default());
            lines.push(b'\n');
        }
    }
    lines
}

/// The files as the last session left them.
pub(super) fn workspace(steps: &BTreeMap<u32, Vec<AgentStep>>, entries: &[Entry]) -> Workspace {
    let mut session = AgentSession::default();
    for entry in entries {
        let Some(of_turn) = steps.get(&entry.sequence) else {
            continue;
        };
        if of_turn.first().is_some_and(|step| step.turn == 1) {
            session = AgentSession::default();
        }
        session.begin(entry.sequence, entry.reply.clone());
        for step in of_turn {
            session.take(step);
        }
    }
    session.workspace().clone()
}

/// The messages as they were said: of a turn that follows another, what is new.
pub(super) fn said(messages: Vec<Message>, steps: &BTreeMap<u32, Vec<AgentStep>>) -> Vec<Message> {
    let mut said = Vec::with_capacity(messages.len());
    for message in messages {
        let is_turn = message.kind == CallKind::Turn;
        let of_turn = steps.get(&message.call).filter(|_| is_turn);
        let is_first = match of_turn.and_then(|steps| steps.first()) {
            Some(step) => step.turn == 1,
            // The last turn, which says that it is done, has no step.
            None => !said
                .iter()
                .any(|before: &Message| before.kind == CallKind::Turn && before.call < message.call),
        };
        if is_turn && message.role != Role::Assistant && !is_first {
            continue;
        }
        let answers = of_turn.filter(|_| message.role == Role::Assistant);
        let answers: Vec<Message> = answers
            .into_iter()
            .flatten()
            .flat_map(|step| answers_of(&message, step))
            .collect();
        said.push(message);
        said.extend(answers);
    }
    said
}

fn answers_of(turn: &Message, step: &AgentStep) -> Vec<Message> {
    let message = |role, content: &str| Message {
        role,
        content: content.to_owned(),
        calls: Vec::new(),
        ..turn.clone()
    };
    let results = step
        .calls()
        .map(|result: &CallResult| message(Role::Tool, &result.text));
    let note = (!step.note.is_empty()).then(|| message(Role::User, &step.note));
    results.chain(note).collect()
}
