//! The clients of an agent's tools.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use serde_json::{Value, json};

use super::error::AskError;
use super::headers::headers;
use crate::api::code_mode::{HttpMethod, ToolHeader};
use crate::code_mode::signature::{Effect, Tool};
use crate::local::objects::Objects;
use crate::pipeline::code_mode::{ListedTool, SourcedTool, ToolOrigin};
use crate::tools::{DEFAULT_MAX_BYTES, HttpTool, HttpToolOptions, McpClient, McpOptions, McpServer, McpTool};

/// Clients of servers by what distinguishes them.
pub(super) type Servers = BTreeMap<String, McpClient>;

/// The clients of the tools of one question.
pub(super) struct Clients {
    http: BTreeMap<String, HttpTool>,
    servers: Servers,
}

impl Clients {
    /// A client for each of `tools`; `servers` are those that there are already. Nothing is sent.
    pub fn new(
        tools: &[SourcedTool],
        mut servers: Servers,
        namespace: &str,
        objects: &Objects,
    ) -> Result<Self, AskError> {
        let mut http = BTreeMap::new();
        for SourcedTool { tool, origin, .. } in tools {
            match origin {
                ToolOrigin::Http {
                    method,
                    url,
                    headers: wanted,
                } => {
                    let field = format!("http.url of tool {}", tool.name);
                    let headers = headers(wanted, (&field, url), namespace, objects)?;
                    http.insert(tool.name.clone(), http_client(tool, *method, url, headers)?);
                }
                ToolOrigin::Mcp {
                    url, headers: wanted, ..
                } => {
                    if let Entry::Vacant(place) = servers.entry(server_key(url, wanted)) {
                        place.insert(server(&tool.name, url, wanted, namespace, objects)?);
                    }
                }
                ToolOrigin::Task { .. } | ToolOrigin::Program { .. } => {}
            }
        }
        Ok(Self { http, servers })
    }

    /// The client of a tool that is a request.
    pub fn http(&self, tool: &str) -> Option<&HttpTool> {
        self.http.get(tool)
    }

    /// The client of the server at `url`.
    pub fn server(&self, url: &str, headers: &[ToolHeader]) -> Option<&McpClient> {
        self.servers.get(&server_key(url, headers))
    }
}

/// What distinguishes one server from others: where it is, and as whom it is spoken to.
pub(super) fn server_key(url: &str, headers: &[ToolHeader]) -> String {
    json!([url, headers]).to_string()
}

/// A client of the server at `url`, called `name` in messages.
pub(super) fn server(
    name: &str,
    url: &str,
    wanted: &[ToolHeader],
    namespace: &str,
    objects: &Objects,
) -> Result<McpClient, AskError> {
    let field = format!("mcp.url of {name}");
    let headers = headers(wanted, (&field, url), namespace, objects)?;
    let options = McpOptions {
        name: name.to_owned(),
        server: McpServer::Url {
            url: url.to_owned(),
            headers,
        },
        max_bytes: DEFAULT_MAX_BYTES,
        // Whoever runs this command wrote the address.
        gate: None,
    };
    Ok(McpClient::new(options)?)
}

/// A tool as its server lists it, for programs.
pub(super) fn listed(tool: McpTool) -> ListedTool {
    let effect = if tool.read_only {
        Effect::ReadOnly
    } else if tool.is_idempotent() {
        Effect::Idempotent
    } else {
        Effect::Once
    };
    ListedTool {
        name: tool.name,
        description: tool.description.or(tool.title).unwrap_or_default(),
        parameters: tool.input_schema,
        result: tool.output_schema,
        effect,
    }
}

/// The tool of a server as it was listed when the question was asked.
pub(super) fn as_listed(name: &str, tool: &Tool) -> McpTool {
    McpTool {
        name: name.to_owned(),
        title: None,
        description: None,
        input_schema: tool.parameters.clone(),
        output_schema: tool.result.clone(),
        read_only: tool.effect == Effect::ReadOnly,
        idempotent: tool.effect.is_repeatable(),
        destructive: !tool.effect.is_repeatable(),
    }
}

fn http_client(
    tool: &Tool,
    method: HttpMethod,
    url: &str,
    headers: Vec<(String, crate::model::Secret)>,
) -> Result<HttpTool, AskError> {
    let options = HttpToolOptions {
        name: tool.name.clone(),
        method: method.as_str().to_owned(),
        url: url.to_owned(),
        parameters: tool.parameters.clone(),
        result: tool.result.clone().filter(|schema| *schema != Value::Null),
        headers,
        max_bytes: DEFAULT_MAX_BYTES,
        gate: None,
    };
    Ok(HttpTool::new(options)?)
}
