//! What an agent did and said: the trace of its calls, and the messages of its turns.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::engine::agent::step_name;
use crate::engine::{EngineError, damaged};
use crate::ledger::{Entry, Message, Role, Store};
use crate::pipeline::agent::{CallResult, Step};
use crate::pipeline::call::CallKind;
use crate::pipeline::progress::Progress;

/// Path of the trace.
pub(super) const TRACE: &str = "agent-trace.jsonl";

/// Every step of a task, over all its tries, by the number of the turn's call in the ledger.
pub(super) async fn steps<S: Store>(
    progress: &Progress,
    store: &S,
) -> Result<BTreeMap<u32, Vec<Step>>, EngineError> {
    let mut steps: BTreeMap<u32, Vec<Step>> = BTreeMap::new();
    let count = progress.agent.as_ref().map_or(0, |agent| agent.next_step);
    for number in 0..count {
        let name = step_name(number);
        // A result that was taken over has no steps.
        let Some(bytes) = store.read(&name).await? else {
            continue;
        };
        let step: Step =
            serde_json::from_slice(&bytes).map_err(|error| damaged(&name, &error.to_string()))?;
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
    started_at: jiff::Timestamp,
    finished_at: jiff::Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    exit: Option<i32>,
    failed: bool,
    bytes: usize,
    output: &'a str,
}

/// Every call with its input and its whole output, one line each.
pub(super) fn trace(steps: &BTreeMap<u32, Vec<Step>>, entries: &[Entry]) -> Vec<u8> {
    let mut lines = Vec::new();
    for entry in entries.iter().filter(|entry| entry.kind == CallKind::Turn) {
        let of_turn = steps.get(&entry.sequence).into_iter().flatten();
        let results = of_turn.flat_map(|step| step.results.iter().map(move |result| (step.turn, result)));
        for (call, (turn, result)) in entry.reply.calls.iter().zip(results) {
            let line = TracedCall {
                turn,
                tool: &result.tool,
                input: &call.input,
                class: &result.class,
                started_at: result.started_at,
                finished_at: result.finished_at,
                exit: result.exit,
                failed: result.is_error,
                bytes: result.text.len(),
                output: &result.text,
            };
            // Plain data with string keys: writing it to memory cannot fail.
            lines.extend(serde_json::to_vec(&line).unwrap_or_default());
            lines.push(b'\n');
        }
    }
    lines
}

/// The messages as they were said: of a turn that follows another, what is new.
pub(super) fn said(messages: Vec<Message>, steps: &BTreeMap<u32, Vec<Step>>) -> Vec<Message> {
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

fn answers_of(turn: &Message, step: &Step) -> Vec<Message> {
    let message = |role, content: &str| Message {
        role,
        content: content.to_owned(),
        calls: Vec::new(),
        ..turn.clone()
    };
    let results = step
        .results
        .iter()
        .map(|result: &CallResult| message(Role::Tool, &result.text));
    let note = (!step.note.is_empty()).then(|| message(Role::User, &step.note));
    results.chain(note).collect()
}
