//! The clients of an agent's tools, with the headers that the manifests' Secrets give.

use super::error::AskError;
use crate::local::commands::AllowedCommands;
use crate::local::credentials::tool_header;
use crate::local::objects::Objects;
use codegen_api::code_mode::ToolHeader;
use codegen_api::secret_use::{SecretUse, check_tool_host};
use codegen_core::code_mode::{SourcedTool, ToolOrigin};
use codegen_egress::EgressGate;
use codegen_engine::code_mode::clients::{Servers, ToolClients, command_server};
use codegen_model::Secret;
use codegen_sources::find;

/// A client for each of `tools`; `servers` are those that there are already. Nothing is sent.
pub(super) fn clients(
    tools: &[SourcedTool],
    (servers, allowed): (Servers, &AllowedCommands),
    gate: EgressGate,
    namespace: &str,
    objects: &Objects,
) -> Result<ToolClients, AskError> {
    let mut clients = ToolClients::new(Some(gate), servers);
    for tool in tools {
        if let Some(server) = clients.needs(tool) {
            let name = &tool.tool.name;
            if let ToolOrigin::McpCommand { command, .. } = &tool.origin {
                let client = command_server(name, allowed.command(name, command)?)?;
                clients.add_server(&tool.origin, client);
                continue;
            }
            let field = format!("{} of {name}", server.field);
            let values = headers(server.headers, (&field, server.url), namespace, objects)?;
            clients.add(tool, values)?;
        }
    }
    Ok(clients)
}

/// The headers that requests to `url` carry. `field` is that of the address.
pub(super) fn headers(
    wanted: &[ToolHeader],
    (field, url): (&str, &str),
    namespace: &str,
    objects: &Objects,
) -> Result<Vec<(String, Secret)>, AskError> {
    let header = |header: &ToolHeader| {
        let reference = &header.secret_key_ref;
        let of_header = format!("the header {} of {field}", header.name);
        let value = tool_header(reference, &of_header, namespace, objects)?;
        if let Some(secret) = find(&objects.secret_labels, namespace, &reference.name) {
            let allowed = SecretUse::Tool
                .check(secret)
                .and_then(|()| check_tool_host(&secret.metadata, field, url));
            allowed.map_err(|refusal| AskError::Request(format!("{of_header}: {refusal}")))?;
        }
        Ok((header.name.clone(), value))
    };
    wanted.iter().map(header).collect()
}
