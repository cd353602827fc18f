//! A conversation with tools: what an agent said, which tools it called, and what they answered.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A tool that a model may call.
#[derive(Serialize, Clone, Debug, PartialEq)]
pub struct ModelTool {
    /// Its name.
    pub name: &'static str,
    /// Description of its effect.
    pub description: &'static str,
    /// JSON Schema of its input.
    pub input_schema: Value,
}

/// A call of a tool.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
pub struct ToolCall {
    /// By which its result is known.
    pub id: String,
    /// Name of the tool.
    pub name: String,
    /// Its input; a string where what the model wrote is no JSON.
    pub input: Value,
}

/// Result of a call.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct ToolResult {
    /// Of the call.
    pub id: String,
    /// As the model reads it.
    pub text: String,
    /// True where the call failed.
    pub is_error: bool,
}

/// One reply of a model and what was said to it.
#[derive(Serialize, Clone, Debug, PartialEq)]
pub struct Exchange {
    /// Text of the model besides its calls.
    pub text: String,
    /// Calls that it made, in order.
    pub calls: Vec<ToolCall>,
    /// The message as its provider wrote it, where it holds more than text and calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub echo: Option<Value>,
    /// One result for each call, in order.
    pub results: Vec<ToolResult>,
    /// Text that it is told besides; empty for nothing.
    pub note: String,
}

/// Messages and tools that follow the first message.
#[derive(Serialize, Clone, Debug, PartialEq)]
pub struct Conversation {
    /// The tools.
    pub tools: Vec<ModelTool>,
    /// Everything that was said since, in order.
    pub exchanges: Vec<Exchange>,
}
