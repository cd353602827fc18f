//! The clients of an agent's tools that are servers, and calls through them.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::tools::{CallKey, Made, ToolCaller};
use codegen_api::code_mode::ToolHeader;
use codegen_code_mode::journal::CallOutcome;
use codegen_code_mode::signature::Tool;
use codegen_core::code_mode::{Question, SourcedTool, ToolOrigin};
use codegen_egress::EgressGate;
use codegen_model::Secret;
use codegen_tools::{
    AllowedCommand, Called, DEFAULT_MAX_BYTES, HttpEndpoint, HttpToolOptions, McpClient, McpOptions,
    McpServer, Sent, ToolError, ToolException,
};

/// Headers with their values.
pub type Headers = Vec<(String, Secret)>;

/// Clients of MCP servers by what distinguishes the servers.
pub type Servers = BTreeMap<String, McpClient>;

/// The clients of the tools of one question.
#[derive(Default)]
pub struct ToolClients {
    /// Gate that requests go through; none where whoever runs this process wrote the addresses.
    gate: Option<EgressGate>,
    http: BTreeMap<String, HttpEndpoint>,
    servers: Servers,
}

/// A server that a tool has, and as whom it is spoken to.
#[derive(Clone, Copy, Debug)]
pub struct Spoken<'a> {
    /// The field with its address, for messages.
    pub field: &'static str,
    /// Its address.
    pub url: &'a str,
    /// The headers that it wants.
    pub headers: &'a [ToolHeader],
}

impl ToolClients {
    /// No client but those of `servers`.
    #[must_use]
    pub fn new(gate: Option<EgressGate>, servers: Servers) -> Self {
        Self {
            gate,
            http: BTreeMap::new(),
            servers,
        }
    }

    /// The server that `tool` needs a client of; none where it has one, or is a program.
    #[must_use]
    pub fn needs<'a>(&self, tool: &'a SourcedTool) -> Option<Spoken<'a>> {
        let has_client = match server_key(&tool.origin) {
            Some(key) => self.servers.contains_key(&key),
            None => self.http.contains_key(&tool.tool.name),
        };
        let (field, url, headers) = match &tool.origin {
            ToolOrigin::Http { url, headers, .. } => ("http.url", url.as_str(), headers.as_slice()),
            ToolOrigin::Mcp { url, headers, .. } => ("mcp.url", url.as_str(), headers.as_slice()),
            ToolOrigin::McpCommand { .. } => ("mcp.command", "", [].as_slice()),
            ToolOrigin::Task { .. } | ToolOrigin::Program { .. } => return None,
        };
        (!has_client).then_some(Spoken { field, url, headers })
    }

    /// Adds the client that `tool` needs. Nothing is sent.
    pub fn add(&mut self, tool: &SourcedTool, values: Headers) -> Result<(), ToolError> {
        match &tool.origin {
            ToolOrigin::Http { method, url, .. } => {
                let options = HttpToolOptions {
                    name: tool.tool.name.clone(),
                    method: method.as_str().to_owned(),
                    url: url.clone(),
                    parameters: tool.tool.parameters.clone(),
                    result: tool.tool.result.clone().filter(|schema| *schema != Value::Null),
                    headers: values,
                    max_bytes: DEFAULT_MAX_BYTES,
                    gate: self.gate.clone(),
                };
                self.http
                    .insert(tool.tool.name.clone(), HttpEndpoint::new(options)?);
            }
            ToolOrigin::Mcp { url, .. } => {
                let client = server(&tool.tool.name, url, values, self.gate.clone())?;
                self.add_server(&tool.origin, client);
            }
            // What is frozen may be anybody's: whoever starts a program of this machine adds its client.
            ToolOrigin::McpCommand { .. } => {
                return Err(ToolError::Command {
                    tool: tool.tool.name.clone(),
                });
            }
            ToolOrigin::Task { .. } | ToolOrigin::Program { .. } => {}
        }
        Ok(())
    }

    /// Adds the client of the server of `origin`.
    pub fn add_server(&mut self, origin: &ToolOrigin, client: McpClient) {
        let key = server_key(origin);
        self.servers.extend(key.map(|key| (key, client)));
    }

    /// Makes a call of a tool that is a server's. `None` where there is no client for it.
    async fn call(
        &self,
        tool: &SourcedTool,
        key: &str,
        arguments: &Map<String, Value>,
        timeout: Duration,
    ) -> Option<Made> {
        let called = match &tool.origin {
            ToolOrigin::Http { .. } => {
                let client = self.http.get(&tool.tool.name)?;
                client.call(arguments, Some(key), timeout).await
            }
            ToolOrigin::Mcp { tool: listed, .. } | ToolOrigin::McpCommand { tool: listed, .. } => {
                let client = self.servers.get(&server_key(&tool.origin)?)?;
                // By the name that its server has for it.
                let listed = Tool {
                    name: listed.clone(),
                    ..tool.tool.clone()
                };
                client.call(&listed, arguments.clone(), Some(key), timeout).await
            }
            ToolOrigin::Task { .. } | ToolOrigin::Program { .. } => return None,
        };
        let is_repeatable = tool.retries_unknown || tool.tool.effect.is_repeatable();
        Some(made(called, is_repeatable))
    }
}

/// Makes calls: those of finished programs by `P`, the others through clients.
pub struct Caller<P> {
    programs: P,
    clients: ToolClients,
    name: String,
    timeout: Duration,
}

impl<P> Caller<P> {
    /// Calls of the programs of `question`; `name` is what servers know it by, the same at every try.
    pub fn new(programs: P, clients: ToolClients, name: &str, question: &Question) -> Self {
        Self {
            programs,
            clients,
            name: name.to_owned(),
            timeout: Duration::try_from_secs_f64(question.limits.tool_seconds).unwrap_or(Duration::MAX),
        }
    }
}

impl<P: ToolCaller> ToolCaller for Caller<P> {
    async fn call(&self, tool: &SourcedTool, key: &CallKey, arguments: &Map<String, Value>) -> Made {
        if let ToolOrigin::Task { .. } | ToolOrigin::Program { .. } = tool.origin {
            return self.programs.call(tool, key, arguments).await;
        }
        let key = format!("{}-{}-{}", self.name, key.attempt, key.number);
        let made = self.clients.call(tool, &key, arguments, self.timeout).await;
        made.unwrap_or_else(|| not_here(tool))
    }

    async fn read_text(&self, handle: &Value, limit: usize) -> Made {
        self.programs.read_text(handle, limit).await
    }
}

/// Returns the outcome of a call that nothing here can make.
#[must_use]
pub fn not_here(tool: &SourcedTool) -> Made {
    Made::Blocked {
        message: format!("`{}` cannot be called here: ask again", tool.tool.name),
        needs_person: true,
    }
}

/// Returns the key that distinguishes the server of a tool from others: its place, and the identity with which it is spoken to.
#[must_use]
pub(super) fn server_key(origin: &ToolOrigin) -> Option<String> {
    match origin {
        ToolOrigin::Mcp { url, headers, .. } => Some(json!([url, headers]).to_string()),
        ToolOrigin::McpCommand { command, .. } => Some(json!({"command": command}).to_string()),
        ToolOrigin::Http { .. } | ToolOrigin::Task { .. } | ToolOrigin::Program { .. } => None,
    }
}

/// A client of a server that is a program of this machine. It gets no variables but those that every such server gets.
pub fn command_server(name: &str, command: &AllowedCommand) -> Result<McpClient, ToolError> {
    McpClient::new(McpOptions {
        name: name.to_owned(),
        server: McpServer::Command(command.clone()),
        max_bytes: DEFAULT_MAX_BYTES,
        gate: None,
    })
}

/// A client of the server at `url`, called `name` in messages.
pub fn server(
    name: &str,
    url: &str,
    headers: Headers,
    gate: Option<EgressGate>,
) -> Result<McpClient, ToolError> {
    McpClient::new(McpOptions {
        name: name.to_owned(),
        server: McpServer::Url {
            url: url.to_owned(),
            headers,
        },
        max_bytes: DEFAULT_MAX_BYTES,
        gate,
    })
}

/// Converts the outcome of a call: unknown for one that may have been made and must not be made twice.
fn made(called: Called, is_repeatable: bool) -> Made {
    match called {
        Called::Returned(value) => Made::Ended(CallOutcome::Returned(value)),
        Called::Raised(ToolException {
            message,
            was_sent: Sent::Perhaps,
            ..
        }) if !is_repeatable => Made::Unknown(message),
        Called::Raised(ToolException { kind, message, .. }) => Made::Ended(CallOutcome::Raised {
            kind: kind.to_string(),
            message,
        }),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use codegen_tools::RaisedKind;

    fn failed(was_sent: Sent) -> Called {
        Called::Raised(ToolException {
            kind: RaisedKind::TimeoutError,
            message: "gave no reply".to_owned(),
            was_sent,
        })
    }

    #[rstest]
    #[case(Sent::No, false)]
    #[case(Sent::Answered, false)]
    #[case(Sent::Perhaps, true)]
    fn a_program_catches_what_is_certain_or_can_be_asked_again(
        #[case] was_sent: Sent,
        #[case] is_repeatable: bool,
    ) {
        let expected = Made::Ended(CallOutcome::Raised {
            kind: "TimeoutError".to_owned(),
            message: "gave no reply".to_owned(),
        });
        assert_eq!(made(failed(was_sent), is_repeatable), expected);
    }

    fn of_a_command() -> SourcedTool {
        serde_json::from_value(json!({
            "tool": {"name": "add", "description": "", "parameters": {"type": "object"}, "result": null, "effect": "Once"},
            "origin": {"mcpCommand": {"command": ["touch", "made"], "tool": "add"}},
        }))
        .unwrap()
    }

    #[test]
    fn a_command_that_is_frozen_in_a_cluster_is_started_by_nobody() {
        let gate = EgressGate::direct(&[], &[]);
        let mut clients = ToolClients::new(Some(gate), Servers::new());
        let error = clients.add(&of_a_command(), Headers::new()).unwrap_err();
        assert!(error.to_string().contains("give mcp.url"), "{error}");
        assert!(clients.servers.is_empty());
        let argv = ["touch", "made"].map(str::to_owned);
        let allowed = AllowedCommand::by_the_user(argv.to_vec());
        let mut clients = ToolClients::new(None, Servers::new());
        clients.add_server(&of_a_command().origin, command_server("add", &allowed).unwrap());
        assert!(clients.needs(&of_a_command()).is_none());
    }

    #[test]
    fn what_may_have_been_done_and_must_not_be_done_twice_is_unknown() {
        let expected = Made::Unknown("gave no reply".to_owned());
        assert_eq!(made(failed(Sent::Perhaps), false), expected);
    }
}
