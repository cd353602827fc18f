//! Makes the calls of a program in the cluster.

use std::time::Duration;

use kube::ResourceExt as _;
use serde_json::{Map, Value};

use super::children::ChildRuns;
use crate::api::code_mode::CodeModeRun;
use crate::controller::context::Context;
use crate::controller::hold::{Blocked, misconfigured};
use crate::controller::sources::credentials::tool_headers;
use crate::engine::code_mode::clients::{Servers, ToolClients};
use crate::engine::code_mode::{CallKey, Made, ToolCaller};
use crate::pipeline::code_mode::{Question, SourcedTool, ToolOrigin};
use crate::sandbox::kubernetes::Owner;

/// Makes calls: those of programs as runs, the others through clients.
pub struct Caller<'a> {
    children: ChildRuns<'a>,
    clients: ToolClients,
    uid: String,
    timeout: Duration,
}

impl<'a> Caller<'a> {
    /// Calls of `run`. Without clients: they are made by [`Self::prepare`].
    #[must_use]
    pub fn new(context: &'a Context, owner: &'a Owner, run: &CodeModeRun, question: &Question) -> Self {
        Self {
            children: ChildRuns::new(context, owner, run),
            clients: ToolClients::new(Some(context.tools.clone()), Servers::new()),
            uid: run.uid().unwrap_or_default(),
            timeout: Duration::try_from_secs_f64(question.limits.tool_seconds).unwrap_or(Duration::MAX),
        }
    }

    /// Makes the clients, with headers from Secrets as they are now. Nothing is sent.
    pub async fn prepare(&mut self, context: &Context, question: &Question) -> Result<(), Blocked> {
        for tool in &question.tools {
            let Some(server) = self.clients.needs(tool) else {
                continue;
            };
            let field = format!("{} of {}", server.field, tool.tool.name);
            let (namespace, at) = (&question.namespace, (field.as_str(), server.url));
            let headers = tool_headers(&context.client, namespace, server.headers, at).await?;
            let added = self.clients.add(tool, headers);
            added.map_err(|error| misconfigured(error.to_string()))?;
        }
        Ok(())
    }
}

impl ToolCaller for Caller<'_> {
    async fn call(&self, tool: &SourcedTool, key: &CallKey, arguments: &Map<String, Value>) -> Made {
        match &tool.origin {
            ToolOrigin::Task { .. } | ToolOrigin::Program { .. } => {
                self.children.call(tool, key, arguments).await
            }
            ToolOrigin::Http { .. } | ToolOrigin::Mcp { .. } | ToolOrigin::McpCommand { .. } => {
                let key = format!("{}-{}-{}", self.uid, key.attempt, key.number);
                let made = self.clients.call(tool, &key, arguments, self.timeout).await;
                made.unwrap_or_else(|| Made::Blocked {
                    message: format!("there is no client for `{}`", tool.tool.name),
                    needs_person: false,
                })
            }
        }
    }

    async fn read_text(&self, handle: &Value, limit: usize) -> Made {
        self.children.read_text(handle, limit).await
    }
}
