//! Anthropic Messages, with the reply as the input of a tool that the model is made to call.

use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Map, Value, json};

use super::endpoint::Endpoint;
use super::http::{FinalResponse, Http};
use super::{Model, ModelError, ModelOptions, Secret, estimated_input};
use codegen_core::call::{FinishReason, Reply, Request, Usage};
use codegen_core::conversation::Conversation;
use codegen_data::context::estimate_tokens;

mod conversation;

const VERSION: &str = "2023-06-01";

/// A model behind `POST {baseURL}/messages`.
pub struct Anthropic {
    pub(super) http: Http,
    model: String,
    parameters: Map<String, Value>,
    /// Set when the model refused to be made to call a tool (extended thinking forbids it); then it is asked to.
    tool_is_a_request: AtomicBool,
}

impl Anthropic {
    /// A client; no connection is made before the first call.
    pub fn new(options: &ModelOptions) -> Result<Self, ModelError> {
        let mut headers = vec![("anthropic-version", Secret::new(VERSION))];
        if let Some(key) = options.key_to_send() {
            headers.push(("x-api-key", key.clone()));
        }
        let endpoint = Endpoint::new(options, "messages", &headers)?;
        Ok(Self {
            http: Http::new(endpoint, options.call_deadline, options.task_deadline),
            model: options.settings.name.clone(),
            parameters: options.settings.parameters.clone(),
            tool_is_a_request: AtomicBool::new(false),
        })
    }

    fn body(&self, request: &Request, tool_is_a_request: bool) -> Value {
        match &request.conversation {
            Some(conversation) => self.conversation_body(request, conversation),
            None => self.schema_body(request, tool_is_a_request),
        }
    }

    fn conversation_body(&self, request: &Request, conversation: &Conversation) -> Value {
        let mut body = self.common_body(request, None);
        body.insert(
            "messages".to_owned(),
            conversation::messages(request, conversation).into(),
        );
        body.insert("tools".to_owned(), conversation::tools(conversation).into());
        Value::Object(body)
    }

    /// Builds the part of the body that every request has: what the user's parameters may replace, these, and what they may not.
    fn common_body(&self, request: &Request, tool_choice: Option<Value>) -> Map<String, Value> {
        let mut body = Map::new();
        body.insert("max_tokens".to_owned(), request.max_output_tokens.into());
        body.extend(tool_choice.map(|choice| ("tool_choice".to_owned(), choice)));
        body.extend(self.parameters.clone());
        // These make the call what it is: a reply is read whole, for this model, these messages and these tools.
        body.remove("stream");
        body.insert("model".to_owned(), self.model.clone().into());
        // Marks the end of what every call of a run begins with, so that the server may cache it.
        let system =
            json!([{"type": "text", "text": request.system, "cache_control": {"type": "ephemeral"}}]);
        body.insert("system".to_owned(), system);
        body
    }

    fn schema_body(&self, request: &Request, tool_is_a_request: bool) -> Value {
        let name = request.kind.as_str();
        let mut instruction = request.instruction.clone();
        let tool_choice = if tool_is_a_request {
            instruction.push_str("\n\nAnswer by calling the tool `");
            instruction.push_str(name);
            instruction.push_str("` once.");
            json!({"type": "auto", "disable_parallel_tool_use": true})
        } else {
            json!({"type": "tool", "name": name, "disable_parallel_tool_use": true})
        };
        let mut body = self.common_body(request, Some(tool_choice));
        let content = json!([
            {"type": "text", "text": request.prefix, "cache_control": {"type": "ephemeral"}},
            {"type": "text", "text": instruction},
        ]);
        body.insert(
            "messages".to_owned(),
            json!([{"role": "user", "content": content}]),
        );
        let description = "Gives the answer.";
        let tool = json!({"name": name, "description": description, "input_schema": request.schema});
        body.insert("tools".to_owned(), json!([tool]));
        Value::Object(body)
    }

    /// Reports whether the answer refuses a tool call that was forced by us.
    fn refuses_forced_tool(&self, answer: &FinalResponse) -> bool {
        answer.status == 400
            // What the user has set is left as it is, and the refusal is shown.
            && !self.parameters.contains_key("tool_choice")
            && String::from_utf8_lossy(&answer.body).contains("tool_choice")
    }
}

impl Model for Anthropic {
    async fn call(&self, request: &Request) -> Result<Reply, ModelError> {
        // One deadline for all tries, those in a simpler form included.
        let deadline = self.http.deadline();
        let mut tool_is_a_request = self.tool_is_a_request.load(Ordering::Relaxed);
        loop {
            let answer = self
                .http
                .post(&self.body(request, tool_is_a_request), deadline)
                .await?;
            if !tool_is_a_request && request.conversation.is_none() && self.refuses_forced_tool(&answer) {
                tool_is_a_request = true;
                continue;
            }
            let json = self.http.json(&answer)?;
            // Only now: a simpler request that fails as well shows nothing about the first one.
            self.tool_is_a_request.store(tool_is_a_request, Ordering::Relaxed);
            return reply(&json, request).ok_or_else(|| {
                self.http
                    .endpoint
                    .malformed("it has no content blocks", &answer.body)
            });
        }
    }
}

fn reply(json: &Value, request: &Request) -> Option<Reply> {
    let blocks = json.get("content")?.as_array()?;
    let finish = finish_reason(json.get("stop_reason").and_then(Value::as_str));
    if request.conversation.is_some() {
        let (text, calls, echo) = conversation::read(blocks);
        let written = serde_json::to_string(&calls).unwrap_or_default();
        return Some(Reply {
            usage: usage(json.get("usage"), request, &format!("{text}{written}")),
            text,
            finish,
            calls,
            echo,
            model: None,
        });
    }
    let called = |block: &&Value| {
        block.get("type").and_then(Value::as_str) == Some("tool_use")
            && block.get("name").and_then(Value::as_str) == Some(request.kind.as_str())
    };
    // A model may answer in text all the same; whether that is of use is judged like every reply.
    let text = match blocks.iter().find(called).and_then(|block| block.get("input")) {
        Some(input) => input.to_string(),
        None => blocks
            .iter()
            .filter_map(|block| block.get("text")?.as_str())
            .collect(),
    };
    let usage = usage(json.get("usage"), request, &text);
    Some(Reply {
        text,
        finish,
        usage,
        ..Reply::default()
    })
}

fn finish_reason(name: Option<&str>) -> FinishReason {
    match name {
        None | Some("tool_use" | "end_turn" | "stop_sequence") => FinishReason::Complete,
        Some("max_tokens" | "model_context_window_exceeded") => FinishReason::Length,
        Some("refusal") => FinishReason::Refused,
        Some(other) => FinishReason::Other(other.to_owned()),
    }
}

/// Tokens as the server counted them; what the cache took or gave is input too.
fn usage(usage: Option<&Value>, request: &Request, text: &str) -> Usage {
    let count = |name: &str| usage.and_then(|usage| usage.get(name)?.as_u64());
    let cached = ["cache_creation_input_tokens", "cache_read_input_tokens"];
    let input = count("input_tokens").map_or_else(
        || estimated_input(request),
        |fresh| fresh + cached.iter().filter_map(|name| count(name)).sum::<u64>(),
    );
    Usage {
        input,
        output: count("output_tokens").unwrap_or_else(|| estimate_tokens(text)),
    }
}

#[cfg(test)]
mod tests;
