//! The clients of an agent's tools that are servers, and calls through them.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::tools::Made;
use crate::api::code_mode::ToolHeader;
use crate::code_mode::journal::Outcome;
use crate::code_mode::signature::{Effect, Tool};
use crate::egress::EgressGate;
use crate::model::Secret;
use crate::pipeline::code_mode::{ListedTool, SourcedTool, ToolOrigin};
use crate::tools::{
    AllowedCommand, Called, DEFAULT_MAX_BYTES, HttpTool, HttpToolOptions, McpClient, McpOptions, McpServer,
    McpTool, Raised, Sent, ToolError,
};

/// Headers with their values.
pub(crate) type Headers = Vec<(String, Secret)>;

/// Clients of MCP servers by what distinguishes the servers.
pub(crate) type Servers = BTreeMap<String, McpClient>;

/// The clients of the tools of one question.
#[derive(Default)]
pub(crate) struct ToolClients {
    /// What requests go through; none where whoever runs this process wrote the addresses.
    gate: Option<EgressGate>,
    http: BTreeMap<String, HttpTool>,
    servers: Servers,
}

/// A server that a tool has, and as whom it is spoken to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spoken<'a> {
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
        match &tool.origin {
            ToolOrigin::Http { url, headers, .. } => Some(Spoken {
                field: "http.url",
                url,
                headers,
            })
            .filter(|_| !self.http.contains_key(&tool.tool.name)),
            ToolOrigin::Mcp { url, headers, .. } => Some(Spoken {
                field: "mcp.url",
                url,
                headers,
            })
            .filter(|_| !self.servers.contains_key(&server_key(url, headers))),
            ToolOrigin::McpCommand { command, .. } => Some(Spoken {
                field: "mcp.command",
                url: "",
                headers: &[],
            })
            .filter(|_| !self.servers.contains_key(&command_key(command))),
            ToolOrigin::Task { .. } | ToolOrigin::Program { .. } => None,
        }
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
                self.http.insert(tool.tool.name.clone(), HttpTool::new(options)?);
            }
            ToolOrigin::Mcp { url, headers, .. } => {
                let client = server(&tool.tool.name, url, values, self.gate.clone())?;
                self.servers.insert(server_key(url, headers), client);
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

    /// Adds the client of a server that is a program of this machine.
    pub fn add_command(
        &mut self,
        tool: &str,
        argv: &[String],
        command: &AllowedCommand,
    ) -> Result<(), ToolError> {
        let client = command_server(tool, command)?;
        self.servers.insert(command_key(argv), client);
        Ok(())
    }

    /// Makes a call of a tool that is a server's. `None` where there is no client for it.
    pub async fn call(
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
            ToolOrigin::Mcp {
                url,
                tool: listed,
                headers,
            } => {
                let client = self.servers.get(&server_key(url, headers))?;
                let listed = as_listed(listed, &tool.tool);
                client.call(&listed, arguments.clone(), Some(key), timeout).await
            }
            ToolOrigin::McpCommand {
                command,
                tool: listed,
            } => {
                let client = self.servers.get(&command_key(command))?;
                let listed = as_listed(listed, &tool.tool);
                client.call(&listed, arguments.clone(), Some(key), timeout).await
            }
            ToolOrigin::Task { .. } | ToolOrigin::Program { .. } => return None,
        };
        let is_repeatable = tool.retries_unknown || tool.tool.effect.is_repeatable();
        Some(made(called, is_repeatable))
    }
}

/// What distinguishes one server from others: where it is, and as whom it is spoken to.
#[must_use]
pub(crate) fn server_key(url: &str, headers: &[ToolHeader]) -> String {
    json!([url, headers]).to_string()
}

/// What distinguishes a server that is a program.
#[must_use]
pub(crate) fn command_key(command: &[String]) -> String {
    json!({"command": command}).to_string()
}

/// A client of a server that is a program of this machine. It gets no variables but those that every such server gets.
pub(crate) fn command_server(name: &str, command: &AllowedCommand) -> Result<McpClient, ToolError> {
    McpClient::new(McpOptions {
        name: name.to_owned(),
        server: McpServer::Command {
            command: command.clone(),
            env: Vec::new(),
        },
        max_bytes: DEFAULT_MAX_BYTES,
        gate: None,
    })
}

/// A client of the server at `url`, called `name` in messages.
pub(crate) fn server(
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

/// A tool as its server lists it, for programs.
#[must_use]
pub(crate) fn listed(tool: McpTool) -> ListedTool {
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
fn as_listed(name: &str, tool: &Tool) -> McpTool {
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

/// What a call came to: nobody knows it of one that may have been made and must not be made twice.
fn made(called: Called, is_repeatable: bool) -> Made {
    match called {
        Called::Returned(value) => Made::Ended(Outcome::Returned(value)),
        Called::Raised(Raised {
            message,
            was_sent: Sent::Perhaps,
            ..
        }) if !is_repeatable => Made::Unknown(message),
        Called::Raised(Raised { kind, message, .. }) => Made::Ended(Outcome::Raised {
            kind: kind.to_string(),
            message,
        }),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::tools::{OnStart, RaisedKind};

    fn failed(was_sent: Sent) -> Called {
        Called::Raised(Raised {
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
        let expected = Made::Ended(Outcome::Raised {
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
        let allowed = AllowedCommand::by_the_user(argv.to_vec(), OnStart::default());
        let mut clients = ToolClients::new(None, Servers::new());
        clients.add_command("add", &argv, &allowed).unwrap();
        assert!(clients.needs(&of_a_command()).is_none());
    }

    #[test]
    fn what_may_have_been_done_and_must_not_be_done_twice_is_unknown() {
        let expected = Made::Unknown("gave no reply".to_owned());
        assert_eq!(made(failed(Sent::Perhaps), false), expected);
    }
}
