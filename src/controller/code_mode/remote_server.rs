//! MCP servers that the cluster knows by an object of kagent.

use kube::{Api, Client, CustomResource};
use serde::{Deserialize, Serialize};

use super::hold::awaited;
use crate::api::code_mode::ToolHeader;
use crate::api::common::SecretKeyRef;
use crate::controller::hold::{Blocked, unreachable};
use crate::pipeline::code_mode::McpAddress;

/// What is read of kagent's definition.
#[derive(CustomResource, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[kube(
    group = "kagent.dev",
    version = "v1alpha2",
    kind = "RemoteMCPServer",
    namespaced,
    schema = "disabled"
)]
#[serde(rename_all = "camelCase")]
struct RemoteMcpServerSpec {
    url: String,
    #[serde(default)]
    protocol: Protocol,
    #[serde(default)]
    headers_from: Vec<Header>,
}

#[derive(Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
enum Protocol {
    #[default]
    StreamableHttp,
    #[serde(other)]
    Other,
}

#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
struct Header {
    name: String,
    #[serde(default)]
    value_from: Option<ValueSource>,
}

#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
struct ValueSource {
    #[serde(rename = "type")]
    kind: String,
    name: String,
    key: String,
}

/// The address that the `RemoteMCPServer` of this name says. Its Secrets count as those of an agent do: by label and annotation.
pub async fn address_of(client: &Client, namespace: &str, name: &str) -> Result<McpAddress, Blocked> {
    let place = format!("serverRef refers to the RemoteMCPServer {namespace}/{name} (kagent.dev/v1alpha2)");
    let servers: Api<RemoteMCPServer> = Api::namespaced(client.clone(), namespace);
    let found = servers.get_opt(name).await;
    let found = found
        .map_err(|error| unreachable(&format!("read the RemoteMCPServer {namespace}/{name}"), &error))?;
    let Some(server) = found else {
        // A cluster without kagent answers alike.
        return Err(awaited(format!(
            "{place}, which is not there: create it where kagent is installed, correct the name, or give mcp.url instead"
        )));
    };
    if server.spec.protocol != Protocol::StreamableHttp {
        return Err(awaited(format!(
            "{place}, whose protocol is not STREAMABLE_HTTP: no other is spoken here"
        )));
    }
    let headers: Result<Vec<_>, _> = server.spec.headers_from.into_iter().map(header).collect();
    let headers = headers.map_err(|name| {
        awaited(format!(
            "{place}, whose header {name} does not come from a Secret: put its value into one, or give mcp.url and mcp.headersFrom instead"
        ))
    })?;
    Ok(McpAddress::Url {
        url: server.spec.url,
        headers,
    })
}

/// The header as an agent names it; the error is its name.
fn header(header: Header) -> Result<ToolHeader, String> {
    match header.value_from {
        Some(source) if source.kind == "Secret" => Ok(ToolHeader {
            name: header.name,
            secret_key_ref: SecretKeyRef {
                name: source.name,
                key: source.key,
            },
        }),
        _ => Err(header.name),
    }
}
