//! Chat completions, as `OpenAI` and most other servers speak them.

use std::sync::{Mutex, PoisonError};

use serde_json::{Map, Value, json};

use super::endpoint::Endpoint;
use super::http::{FinalResponse, Http};
use super::{Model, ModelError, ModelOptions, Secret, estimated_input};
use codegen_core::call::{FinishReason, Reply, Request, Usage};
use codegen_data::context::estimate_tokens;

mod conversation;

/// A model behind `POST {baseURL}/chat/completions`.
///
/// Servers differ in what they accept, so a refused feature is replaced by the next simpler one and the choice is kept
/// for the later calls of this client.
pub struct OpenAi {
    pub(super) http: Http,
    model: String,
    parameters: Map<String, Value>,
    dialect: Mutex<Dialect>,
}

/// Parameters that this server was found to accept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Dialect {
    format: Format,
    limit: Limit,
}

/// Way in which a reply of the schema is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    /// The server enforces the schema.
    JsonSchema,
    /// The server enforces JSON; the schema stands in the message.
    JsonObject,
    /// The schema stands in the message.
    Text,
}

/// The name of the output limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Limit {
    MaxCompletionTokens,
    MaxTokens,
}

impl Limit {
    const fn parameter(self) -> &'static str {
        match self {
            Self::MaxCompletionTokens => "max_completion_tokens",
            Self::MaxTokens => "max_tokens",
        }
    }
}

impl Dialect {
    const RICHEST: Self = Self {
        format: Format::JsonSchema,
        limit: Limit::MaxCompletionTokens,
    };

    /// The next simpler dialect when `refusal` speaks of a feature of this one. The limit goes first: its other name
    /// takes nothing away.
    fn simplified(self, refusal: &str) -> Option<Self> {
        const FORMAT_WORDS: [&str; 4] = ["response_format", "json_schema", "structured output", "strict"];
        let refusal = refusal.to_lowercase();
        // One that is too large is a matter of its value, not of its name.
        let names_limit = refusal.contains(self.limit.parameter()) && !refusal.contains("too large");
        if names_limit && self.limit == Limit::MaxCompletionTokens {
            return Some(Self {
                limit: Limit::MaxTokens,
                ..self
            });
        }
        let names_format = FORMAT_WORDS.iter().any(|word| refusal.contains(word));
        let format = match self.format {
            Format::JsonSchema if names_format => Format::JsonObject,
            Format::JsonObject if names_format || refusal.contains("json_object") => Format::Text,
            Format::JsonSchema | Format::JsonObject | Format::Text => return None,
        };
        Some(Self { format, ..self })
    }
}

impl OpenAi {
    /// A client; no connection is made before the first call.
    pub fn new(options: &ModelOptions) -> Result<Self, ModelError> {
        let key = options.key_to_send();
        let headers: Vec<_> = key
            .map(|key| ("authorization", Secret::new(&format!("Bearer {}", key.expose()))))
            .into_iter()
            .collect();
        let endpoint = Endpoint::new(options, "chat/completions", &headers)?;
        Ok(Self {
            http: Http::new(endpoint, options.call_deadline, options.task_deadline),
            model: options.settings.name.clone(),
            parameters: options.settings.parameters.clone(),
            dialect: Mutex::new(Dialect::RICHEST),
        })
    }

    fn body(&self, request: &Request, dialect: Dialect) -> Value {
        let mut user = request.user_message();
        if request.conversation.is_none() && dialect.format != Format::JsonSchema {
            user.push_str(
                "\n\nAnswer with one JSON object that is valid under this JSON Schema, and with nothing else:\n",
            );
            user.push_str(&request.schema.to_string());
        }
        let mut body = Map::new();
        let limits = [Limit::MaxCompletionTokens, Limit::MaxTokens];
        // A limit of the user's, under either name, goes in the place of ours.
        if !limits
            .iter()
            .any(|limit| self.parameters.contains_key(limit.parameter()))
        {
            body.insert(
                dialect.limit.parameter().to_owned(),
                request.max_output_tokens.into(),
            );
        }
        if let Some(format) = response_format(request, dialect.format) {
            body.insert("response_format".to_owned(), format);
        }
        body.extend(self.parameters.clone());
        // These three make the call what it is: a reply is read whole, for this model and these messages.
        body.remove("stream");
        body.insert("model".to_owned(), self.model.clone().into());
        if let Some(conversation) = &request.conversation {
            let messages = conversation::messages(request, conversation);
            body.insert("messages".to_owned(), messages.into());
            body.insert("tools".to_owned(), conversation::tools(conversation).into());
            return Value::Object(body);
        }
        let system = json!({"role": "system", "content": request.system});
        body.insert(
            "messages".to_owned(),
            json!([system, {"role": "user", "content": user}]),
        );
        Value::Object(body)
    }

    fn dialect(&self) -> Dialect {
        *self.dialect.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Caches a dialect that the server was seen to accept.
    fn cache_dialect(&self, dialect: Dialect) {
        *self.dialect.lock().unwrap_or_else(PoisonError::into_inner) = dialect;
    }
}

impl Model for OpenAi {
    async fn call(&self, request: &Request) -> Result<Reply, ModelError> {
        // One deadline for all tries, those in a simpler form included.
        let deadline = self.http.deadline();
        let mut dialect = self.dialect();
        loop {
            let answer = self.http.post(&self.body(request, dialect), deadline).await?;
            if let Some(simpler) = simpler_dialect(dialect, &answer) {
                let endpoint = &self.http.endpoint.shown;
                tracing::info!(endpoint, ?simpler, "the server refused a feature; trying without");
                dialect = simpler;
                continue;
            }
            let json = self.http.json(&answer)?;
            // Only now: a simpler request that fails as well shows nothing about the first one.
            self.cache_dialect(dialect);
            return reply(&json, request).ok_or_else(|| {
                self.http
                    .endpoint
                    .malformed("it has no choice with a message", &answer.body)
            });
        }
    }
}

/// The dialect in which a refused call is worth repeating.
fn simpler_dialect(used: Dialect, answer: &FinalResponse) -> Option<Dialect> {
    if !matches!(answer.status, 400 | 404 | 422) {
        return None;
    }
    used.simplified(&String::from_utf8_lossy(&answer.body))
}

fn response_format(request: &Request, format: Format) -> Option<Value> {
    if request.conversation.is_some() {
        return None;
    }
    match format {
        Format::JsonSchema => Some(json!({
            "type": "json_schema",
            "json_schema": {"name": request.kind.as_str(), "strict": true, "schema": request.schema},
        })),
        Format::JsonObject => Some(json!({"type": "json_object"})),
        Format::Text => None,
    }
}

fn reply(json: &Value, request: &Request) -> Option<Reply> {
    let choice = json.pointer("/choices/0")?;
    let message = choice.get("message")?.as_object()?;
    let content = text_of(message.get("content"));
    let refusal = message
        .get("refusal")
        .and_then(Value::as_str)
        .filter(|refusal| !refusal.is_empty());
    let (text, finish) = match refusal {
        Some(refusal) if content.is_empty() => (refusal.to_owned(), FinishReason::Refused),
        _ => (
            content,
            finish_reason(choice.get("finish_reason").and_then(Value::as_str)),
        ),
    };
    let (calls, echo) = conversation::read(message);
    let usage = usage(json.get("usage"), request, &text);
    Some(Reply {
        text,
        finish,
        usage,
        calls,
        echo,
        model: None,
    })
}

/// The text of a message: a string, or parts of which the text ones count.
fn text_of(content: Option<&Value>) -> String {
    match content {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => parts
            .iter()
            .filter_map(|part| part.get("text")?.as_str())
            .collect(),
        _ => String::new(),
    }
}

fn finish_reason(name: Option<&str>) -> FinishReason {
    match name {
        None | Some("stop" | "tool_calls") => FinishReason::Complete,
        Some("length") => FinishReason::Length,
        Some("content_filter") => FinishReason::Refused,
        Some(other) => FinishReason::Other(other.to_owned()),
    }
}

/// Tokens as the server counted them. Some leave reasoning out of `completion_tokens` but not out of the total.
fn usage(usage: Option<&Value>, request: &Request, text: &str) -> Usage {
    let count = |name: &str| usage.and_then(|usage| usage.get(name)?.as_u64());
    let input = count("prompt_tokens").unwrap_or_else(|| estimated_input(request));
    let counted = count("completion_tokens").unwrap_or_else(|| estimate_tokens(text));
    let rest = count("total_tokens").map_or(0, |total| total.saturating_sub(input));
    Usage {
        input,
        output: counted.max(rest),
    }
}

#[cfg(test)]
mod tests;
