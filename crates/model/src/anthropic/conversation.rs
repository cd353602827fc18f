//! A conversation with tools as messages, and what comes back as one.

use serde_json::{Value, json};

use codegen_core::call::Request;
use codegen_core::conversation::{Conversation, Exchange, ModelTool, ToolCall};

/// Stand-in for a reply without a word: a message must not be empty.
const SILENCE: &str = "(no answer)";

pub(super) fn tools(conversation: &Conversation) -> Vec<Value> {
    let tool = |tool: &ModelTool| json!({"name": tool.name, "description": tool.description, "input_schema": tool.input_schema});
    conversation.tools.iter().map(tool).collect()
}

/// Every message. What each request has in common with the one before it ends where a mark for the server's cache stands.
pub(super) fn messages(request: &Request, conversation: &Conversation) -> Vec<Value> {
    let first = json!([
        {"type": "text", "text": request.prefix, "cache_control": {"type": "ephemeral"}},
        {"type": "text", "text": request.instruction},
    ]);
    let mut messages = vec![json!({"role": "user", "content": first})];
    for exchange in &conversation.exchanges {
        messages.push(json!({"role": "assistant", "content": said(exchange)}));
        messages.push(json!({"role": "user", "content": answered(exchange)}));
    }
    let newest = messages
        .last_mut()
        .and_then(|message| message["content"].as_array_mut());
    if let Some(block) = newest.and_then(|blocks| blocks.last_mut()) {
        block["cache_control"] = json!({"type": "ephemeral"});
    }
    messages
}

fn said(exchange: &Exchange) -> Value {
    if let Some(echo) = &exchange.echo {
        return echo.clone();
    }
    let text = match exchange.text.trim() {
        "" if exchange.calls.is_empty() => Some(SILENCE),
        "" => None,
        text => Some(text),
    };
    let text = text.map(|text| json!({"type": "text", "text": text}));
    let calls = exchange.calls.iter().map(|call| {
        let input = if call.input.is_object() {
            call.input.clone()
        } else {
            json!({})
        };
        json!({"type": "tool_use", "id": call.id, "name": call.name, "input": input})
    });
    text.into_iter().chain(calls).collect()
}

fn answered(exchange: &Exchange) -> Value {
    let results = exchange.results.iter().map(|result| {
        json!({"type": "tool_result", "tool_use_id": result.id, "content": result.text, "is_error": result.is_error})
    });
    let note = (!exchange.note.is_empty()).then(|| json!({"type": "text", "text": exchange.note}));
    results.chain(note).collect()
}

/// Text, calls, and the blocks as they are where there are others (a signed thought must come back as it was).
pub(super) fn read(blocks: &[Value]) -> (String, Vec<ToolCall>, Option<Value>) {
    let is_of = |block: &Value, kind: &str| block["type"].as_str() == Some(kind);
    let text = blocks.iter().filter(|block| is_of(block, "text"));
    let text = text.filter_map(|block| block["text"].as_str()).collect();
    let calls = blocks
        .iter()
        .filter(|block| is_of(block, "tool_use"))
        .map(|block| ToolCall {
            id: block["id"].as_str().unwrap_or_default().to_owned(),
            name: block["name"].as_str().unwrap_or_default().to_owned(),
            input: block["input"].clone(),
        });
    let has_others = blocks
        .iter()
        .any(|block| !is_of(block, "text") && !is_of(block, "tool_use"));
    (text, calls.collect(), has_others.then(|| blocks.into()))
}
