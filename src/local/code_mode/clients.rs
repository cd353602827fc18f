//! The clients of an agent's tools, with the headers that the manifests' Secrets give.

use super::error::AskError;
use super::headers::headers;
use crate::egress::EgressGate;
use crate::engine::code_mode::clients::{Servers, ToolClients};
use crate::local::commands::Allowed;
use crate::local::objects::Objects;
use crate::pipeline::code_mode::{SourcedTool, ToolOrigin};

/// A client for each of `tools`; `servers` are those that there are already. Nothing is sent.
pub(super) fn clients(
    tools: &[SourcedTool],
    (servers, allowed): (Servers, &Allowed),
    gate: EgressGate,
    namespace: &str,
    objects: &Objects,
) -> Result<ToolClients, AskError> {
    let mut clients = ToolClients::new(Some(gate), servers);
    for tool in tools {
        if let Some(server) = clients.needs(tool) {
            let name = &tool.tool.name;
            if let ToolOrigin::McpCommand { command, .. } = &tool.origin {
                clients.add_command(name, command, allowed.command(name, command)?)?;
                continue;
            }
            let field = format!("{} of {name}", server.field);
            let values = headers(server.headers, (&field, server.url), namespace, objects)?;
            clients.add(tool, values)?;
        }
    }
    Ok(clients)
}
