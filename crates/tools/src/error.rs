//! Errors: why a tool cannot be used at all: what is wrong with its definition, or with what its server says of it.

use thiserror::Error;

use codegen_egress::Refused;

/// A tool, or a server of tools, that cannot be used. No message holds a header's value.
#[derive(Error, Clone, Debug, PartialEq, Eq)]
pub enum ToolError {
    /// An address that is none.
    #[error("the URL of tool `{tool}` cannot be used: {why}")]
    Url {
        /// Name of the tool or server.
        tool: String,
        /// Description of the fault and of what to write instead.
        why: String,
    },
    /// Refusal: the operator does not speak to this address, as whoever runs it decided.
    #[error("tool `{tool}`: {refused}")]
    Refused {
        /// Name of the tool or server.
        tool: String,
        /// Reason, and how it is opened.
        refused: Refused,
    },
    /// A method that has no meaning for a tool.
    #[error("tool `{tool}` cannot be called by {method}: write GET, HEAD, POST, PUT, PATCH or DELETE")]
    Method {
        /// Name of the tool.
        tool: String,
        /// The method.
        method: String,
    },
    /// A request header that cannot be sent.
    #[error("the header `{header}` of tool `{tool}` cannot be sent: {why}")]
    Header {
        /// Name of the tool or server.
        tool: String,
        /// Name of the header.
        header: String,
        /// Description of the fault.
        why: String,
    },
    /// A JSON Schema that is none.
    #[error("the {part} of tool `{tool}` cannot be used as a JSON Schema: {why}")]
    Schema {
        /// Name of the tool.
        tool: String,
        /// `parameters` or `result`.
        part: &'static str,
        /// Description of the fault.
        why: String,
    },
    /// An MCP server that could not be asked, or lists what cannot be used.
    #[error("the MCP server `{server}` {why}")]
    Server {
        /// Name of the server.
        server: String,
        /// Account of what happened and of what to do next.
        why: String,
        /// True where another try may help.
        is_transient: bool,
    },
    /// A server that is a program, where none is started.
    #[error(
        "the MCP server of tool `{tool}` is a command, which only a laptop starts: run it in the cluster and give mcp.url"
    )]
    Command {
        /// Name of the tool.
        tool: String,
    },
}

impl ToolError {
    /// Reports whether another try may help although nobody changes anything.
    #[must_use]
    pub const fn is_transient(&self) -> bool {
        matches!(
            self,
            Self::Server {
                is_transient: true,
                ..
            }
        )
    }
}
