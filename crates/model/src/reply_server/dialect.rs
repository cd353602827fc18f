//! The two protocols that recorded replies are served in: what a request asks for, and a reply as each says it.

use serde_json::{Value, json};

use codegen_core::call::{CallKind, FinishReason, Reply};
use codegen_core::conversation::ToolCall;

/// Protocol that a server is spoken to in.
#[derive(Clone, Copy, Debug)]
pub(super) enum ServerProtocol {
    /// Chat completions.
    OpenAi,
    /// Anthropic Messages.
    Anthropic,
}

impl ServerProtocol {
    pub const ALL: [Self; 2] = [Self::OpenAi, Self::Anthropic];

    /// Returns the path that requests are posted to, below the base address.
    pub const fn path(self) -> &'static str {
        match self {
            Self::OpenAi => "chat/completions",
            Self::Anthropic => "messages",
        }
    }

    /// Returns what a request asks for, as it names it: its schema or the tool that it forces; of a conversation, a turn.
    pub fn kind_name(self, body: &Value) -> Option<Value> {
        let turn = || Value::from(CallKind::Turn.as_str());
        match self {
            Self::OpenAi if body.get("tools").is_some() => Some(turn()),
            Self::OpenAi => body.pointer("/response_format/json_schema/name").cloned(),
            Self::Anthropic => match body.get("tool_choice") {
                None => Some(turn()),
                Some(choice) => choice.get("name").cloned(),
            },
        }
    }

    pub fn answer(self, body: &Value, kind: CallKind, reply: &Reply) -> Value {
        match self {
            Self::OpenAi => completion(body, reply),
            Self::Anthropic => message(body, kind, reply),
        }
    }
}

fn completion(body: &Value, reply: &Reply) -> Value {
    let finish = match &reply.finish {
        FinishReason::Complete if !reply.calls.is_empty() => "tool_calls",
        FinishReason::Complete => "stop",
        FinishReason::Length => "length",
        FinishReason::Refused => "content_filter",
        FinishReason::Other(name) => name,
    };
    let mut message = json!({"role": "assistant", "content": reply.text});
    if !reply.calls.is_empty() {
        let call = |call: &ToolCall| {
            let function = json!({"name": call.name, "arguments": call.input.to_string()});
            json!({"id": call.id, "type": "function", "function": function})
        };
        message["tool_calls"] = reply.calls.iter().map(call).collect();
    }
    let usage = reply.usage;
    json!({
        "id": "chatcmpl-recorded",
        "object": "chat.completion",
        "created": 0,
        "model": body["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {
            "prompt_tokens": usage.input,
            "completion_tokens": usage.output,
            "total_tokens": usage.input + usage.output,
        },
    })
}

fn message(body: &Value, kind: CallKind, reply: &Reply) -> Value {
    let stop = match &reply.finish {
        FinishReason::Complete if kind == CallKind::Turn && reply.calls.is_empty() => "end_turn",
        FinishReason::Complete => "tool_use",
        FinishReason::Length => "max_tokens",
        FinishReason::Refused => "refusal",
        FinishReason::Other(name) => name,
    };
    let input = serde_json::from_str::<Value>(&reply.text)
        .ok()
        .filter(Value::is_object);
    let content: Vec<Value> = match input {
        Some(input) if kind != CallKind::Turn => {
            vec![json!({"type": "tool_use", "id": "toolu_recorded", "name": kind.as_str(), "input": input})]
        }
        _ => {
            let text = (!reply.text.is_empty()).then(|| json!({"type": "text", "text": reply.text}));
            let calls = reply.calls.iter().map(
                |call| json!({"type": "tool_use", "id": call.id, "name": call.name, "input": call.input}),
            );
            text.into_iter().chain(calls).collect()
        }
    };
    json!({
        "id": "msg_recorded",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": content,
        "stop_reason": stop,
        "usage": {"input_tokens": reply.usage.input, "output_tokens": reply.usage.output},
    })
}
