//! A question with everything that it goes by: the agent as it was, its tools, the conversation so far.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::task::ModelSettings;
use codegen_api::code_mode::{HttpMethod, ToolHeader};
use codegen_api::common::LocalRef;
use codegen_code_mode::prompt::{ChatMessage, Persona};
use codegen_code_mode::signature::{Effect, Tool, Toolbox, ToolboxError};

/// Everything that one run goes by; frozen when it starts.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Question {
    /// Namespace of run and agent.
    pub namespace: String,
    /// Name of the agent.
    pub agent: String,
    /// The model with defaults applied.
    pub model: ModelSettings,
    /// Persona of the agent.
    pub persona: Persona,
    /// Its tools.
    pub tools: Vec<SourcedTool>,
    /// Those of them whose calls each wait until a person has decided.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub require_approval: BTreeSet<String>,
    /// The conversation before the question.
    pub history: Vec<ChatMessage>,
    /// The question.
    pub message: String,
    /// Limits on what it may spend.
    pub limits: QuestionLimits,
}

/// A tool, and where a call of it goes.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct SourcedTool {
    /// The tool as programs see it.
    pub tool: Tool,
    /// Destination of a call.
    pub origin: ToolOrigin,
    /// True where a call whose outcome nobody knows is made again, whatever the tool does.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub retries_unknown: bool,
}

/// Destination of a call.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ToolOrigin {
    /// A run of a task's program.
    Task {
        /// The task.
        name: String,
        /// Identity of its program, and of the data that it runs with where nothing else is given.
        #[serde(default)]
        program: String,
    },
    /// A run of a published program.
    Program {
        /// The image.
        image: String,
        /// Secret to pull it with.
        pull_secret: Option<LocalRef>,
    },
    /// A request.
    Http {
        /// Its method.
        method: HttpMethod,
        /// The address with parameters in braces.
        url: String,
        /// Headers from Secrets.
        headers: Vec<ToolHeader>,
    },
    /// A tool of an MCP server.
    Mcp {
        /// Address of the server.
        url: String,
        /// Name of the tool at the server.
        tool: String,
        /// Headers from Secrets.
        headers: Vec<ToolHeader>,
    },
    /// A tool of an MCP server that is a program of this machine.
    McpCommand {
        /// Program and arguments.
        command: Vec<String>,
        /// Name of the tool at the server.
        tool: String,
    },
}

impl ToolOrigin {
    /// As `status.tools` says it.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Task { .. } => "Task",
            Self::Program { .. } => "Program",
            Self::Http { .. } => "HTTP",
            Self::Mcp { .. } | Self::McpCommand { .. } => "MCP",
        }
    }
}

/// A tool that is not there, or not yet.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct UnresolvedTool {
    /// Fault, with its tool and the remedy.
    pub message: String,
    /// True where it may come by itself.
    pub is_awaited: bool,
}

/// Limits on what a question may spend.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct QuestionLimits {
    /// Programs after the first.
    pub max_retries: u32,
    /// Calls of tools by one program.
    pub max_tool_calls: u32,
    /// Milliseconds of the interpreter.
    pub interpreter_ms: u64,
    /// Bytes of the interpreter.
    pub memory_bytes: u64,
    /// Seconds of one call of a tool that is no task.
    pub tool_seconds: f64,
    /// Tokens of all calls of the model.
    pub max_tokens: u64,
    /// Calls of the model.
    pub max_model_calls: u32,
    /// Seconds of active time.
    pub deadline_seconds: f64,
}

impl Question {
    /// The tools with their signatures.
    pub fn toolbox(&self) -> Result<Toolbox, ToolboxError> {
        Toolbox::new(self.tools.iter().map(|sourced| sourced.tool.clone()).collect())
    }

    /// The tool of that name.
    #[must_use]
    pub fn tool(&self, name: &str) -> Option<&SourcedTool> {
        self.tools.iter().find(|sourced| sourced.tool.name == name)
    }

    /// Reports whether a call of `tool` whose outcome nobody knows may be made again.
    #[must_use]
    pub fn is_repeatable(&self, tool: &str) -> bool {
        // Not among them: built in, and those read.
        self.tool(tool)
            .is_none_or(|sourced| sourced.retries_unknown || sourced.tool.effect.is_repeatable())
    }

    /// Reports whether a person decides about each call of `tool`.
    #[must_use]
    pub fn requires_approval(&self, tool: &str) -> bool {
        self.require_approval.contains(tool)
    }

    /// Returns the effect of a call of `tool` on the world.
    #[must_use]
    pub fn effect(&self, tool: &str) -> Effect {
        self.tool(tool)
            .map_or(Effect::ReadOnly, |sourced| sourced.tool.effect)
    }
}

/// JSON Schema of a tool without parameters.
#[must_use]
pub(super) fn no_parameters() -> Value {
    serde_json::json!({"type": "object", "properties": {}, "additionalProperties": false})
}

/// A schema as a value; of none, that of no parameters.
#[must_use]
pub(super) fn parameters_or_none(schema: Option<&Map<String, Value>>) -> Value {
    schema.map_or_else(no_parameters, |schema| Value::Object(schema.clone()))
}
