//! Makes the calls of a program on this machine.

use std::time::Duration;

use serde_json::{Map, Value};

use crate::code_mode::journal::Outcome;
use crate::engine::code_mode::clients::ToolClients;
use crate::engine::code_mode::{CallKey, Made, ToolCaller};
use crate::pipeline::code_mode::SourcedTool;

/// Makes calls through the clients of a question's tools.
pub(super) struct Caller {
    /// The clients.
    pub clients: ToolClients,
    /// Name of the question, the same at every command that goes on with it.
    pub name: String,
    /// Time of one call.
    pub timeout: Duration,
}

impl ToolCaller for Caller {
    async fn call(&self, tool: &SourcedTool, key: &CallKey, arguments: &Map<String, Value>) -> Made {
        let key = format!("{}-{}-{}", self.name, key.attempt, key.number);
        let made = self.clients.call(tool, &key, arguments, self.timeout).await;
        made.unwrap_or_else(|| not_here(&tool.tool.name))
    }

    async fn read_text(&self, _handle: &Value, _limit: usize) -> Outcome {
        Outcome::Raised {
            kind: "ValueError".to_owned(),
            message: "there is no such file: no tool of this agent gives files".to_owned(),
        }
    }
}

fn not_here(tool: &str) -> Made {
    Made::Blocked {
        message: format!("`{tool}` cannot be called on this machine: ask again with --fresh"),
        needs_person: true,
    }
}
