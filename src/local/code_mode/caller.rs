//! Makes the calls of a program on this machine.

use std::time::Duration;

use serde_json::{Map, Value};

use super::programs::ProgramCaller;
use crate::engine::code_mode::clients::ToolClients;
use crate::engine::code_mode::{CallKey, Made, ToolCaller};
use crate::pipeline::code_mode::{SourcedTool, ToolOrigin};

/// Makes calls of programs in sandboxes, and the others through clients.
pub(super) struct Caller<'a> {
    /// The programs.
    pub programs: ProgramCaller<'a>,
    /// The clients.
    pub clients: ToolClients,
    /// Name of the question, the same at every command that goes on with it.
    pub name: String,
    /// Time of one call.
    pub timeout: Duration,
}

impl ToolCaller for Caller<'_> {
    async fn call(&self, tool: &SourcedTool, key: &CallKey, arguments: &Map<String, Value>) -> Made {
        let made = if let ToolOrigin::Task { name, .. } = &tool.origin {
            self.programs.call(tool, name, arguments).await
        } else {
            let key = format!("{}-{}-{}", self.name, key.attempt, key.number);
            self.clients.call(tool, &key, arguments, self.timeout).await
        };
        made.unwrap_or_else(|| not_here(&tool.tool.name))
    }

    async fn read_text(&self, handle: &Value, limit: usize) -> Made {
        Made::Ended(self.programs.read_text(handle, limit))
    }
}

fn not_here(tool: &str) -> Made {
    Made::Blocked {
        message: format!("`{tool}` cannot be called on this machine: ask again with --fresh"),
        needs_person: true,
    }
}
