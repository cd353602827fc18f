//! A conversation with tools as messages, and what comes back as one.

use serde_json::{Map, Value, json};

use crate::pipeline::call::Request;
use crate::pipeline::conversation::{Conversation, Exchange, Tool, ToolCall};

pub(super) fn tools(conversation: &Conversation) -> Vec<Value> {
    let tool = |tool: &Tool| {
        json!({
            "type": "function",
            "function": {"name": tool.name, "description": tool.description, "parameters": tool.input_schema},
        })
    };
    conversation.tools.iter().map(tool).collect()
}

pub(super) fn messages(request: &Request, conversation: &Conversation) -> Vec<Value> {
    let mut messages = vec![
        json!({"role": "system", "content": request.system}),
        json!({"role": "user", "content": request.user_message()}),
    ];
    for exchange in &conversation.exchanges {
        messages.push(said(exchange));
        messages.extend(
            exchange
                .results
                .iter()
                .map(|result| json!({"role": "tool", "tool_call_id": result.id, "content": result.text})),
        );
        if !exchange.note.is_empty() {
            messages.push(json!({"role": "user", "content": exchange.note}));
        }
    }
    messages
}

fn said(exchange: &Exchange) -> Value {
    let mut message = Map::new();
    message.insert("role".to_owned(), "assistant".into());
    message.insert("content".to_owned(), exchange.text.as_str().into());
    if exchange.calls.is_empty() {
        return message.into();
    }
    let calls = exchange.echo.clone().unwrap_or_else(|| {
        let call = |call: &ToolCall| {
            let arguments = match &call.input {
                // What was no JSON goes back as it came.
                Value::String(raw) => raw.clone(),
                input => input.to_string(),
            };
            json!({"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}})
        };
        exchange.calls.iter().map(call).collect()
    });
    message.insert("tool_calls".to_owned(), calls);
    message.into()
}

/// The calls of a message, and these as they are where a server adds to them what it wants back (the signature of a thought).
pub(super) fn read(message: &Map<String, Value>) -> (Vec<ToolCall>, Option<Value>) {
    const STANDARD: [&str; 4] = ["id", "type", "function", "index"];
    let Some(Value::Array(given)) = message.get("tool_calls") else {
        return (Vec::new(), None);
    };
    let calls = given.iter().map(|call| {
        let arguments = call["function"]["arguments"].as_str().unwrap_or_default();
        ToolCall {
            id: call["id"].as_str().unwrap_or_default().to_owned(),
            name: call["function"]["name"].as_str().unwrap_or_default().to_owned(),
            input: serde_json::from_str(arguments).unwrap_or_else(|_| arguments.into()),
        }
    });
    let has_more = given
        .iter()
        .filter_map(Value::as_object)
        .any(|call| call.keys().any(|key| !STANDARD.contains(&key.as_str())));
    (calls.collect(), has_more.then(|| given.as_slice().into()))
}
