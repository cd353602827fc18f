//! Why a tool cannot be used at all: what is wrong with its definition, or with what its server says of it.

use thiserror::Error;

use crate::egress::Refused;

/// A tool, or a server of tools, that cannot be used. No message holds a header's value.
#[derive(Error, Clone, Debug, PartialEq, Eq)]
pub(crate) enum ToolError {
    /// An address that is none.
    #[error("the URL of tool `{tool}` cannot be used: {why}")]
    Url {
        /// Name of the tool or server.
        tool: String,
        /// What is wrong and what to write instead.
        why: String,
    },
    /// Whoever runs the operator does not let it speak to this address.
    #[error("tool `{tool}`: {refused}")]
    Refused {
        /// Name of the tool or server.
        tool: String,
        /// Why, and how it is opened.
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
        /// What is wrong.
        why: String,
    },
    /// A JSON Schema that is none.
    #[error("the {part} of tool `{tool}` cannot be used as a JSON Schema: {why}")]
    Schema {
        /// Name of the tool.
        tool: String,
        /// `parameters` or `result`.
        part: &'static str,
        /// What is wrong.
        why: String,
    },
    /// An MCP server that could not be asked.
    #[error("the MCP server `{server}` {why}")]
    Server {
        /// Name of the server.
        server: String,
        /// What happened and what to do next.
        why: String,
        /// Whether another try may help.
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
    /// An MCP server with more tools than a prompt can hold.
    #[error("the MCP server `{server}` lists {} than {limit} tools: name those to use in `toolNames`", if *.of_the_named { "more of the named" } else { "more" })]
    TooManyTools {
        /// Name of the server.
        server: String,
        /// The limit.
        limit: usize,
        /// Whether `toolNames` was set.
        of_the_named: bool,
    },
    /// An MCP server whose list of tools goes beyond a bound.
    #[error("the MCP server `{server}` {bound}")]
    ListTooLong {
        /// Name of the server.
        server: String,
        /// Which bound, and what to do.
        bound: ListBound,
    },
    /// An MCP server whose tools cannot be distinguished.
    #[error(
        "the MCP server `{server}` lists two tools named `{tool}`, and nobody can say which one a call means: leave it out by \
         naming the others in `toolNames`, or have the server fixed"
    )]
    DuplicateTool {
        /// Name of the server.
        server: String,
        /// Name of the tools.
        tool: String,
    },
}

/// A bound of a list of tools. Once those of `toolNames` are found nothing further is read, which is the way out of each.
#[derive(Error, Clone, Debug, PartialEq, Eq)]
pub(crate) enum ListBound {
    /// Pages.
    #[error(
        "lists its tools on more than {0} pages, the limit: name those to use in `toolNames`, or have it list more of them on a page"
    )]
    Pages(usize),
    /// A page that leads back to one before it.
    #[error(
        "lists its tools in a loop: a page leads to one that was read before it; name those to use in `toolNames`, or have the server fixed"
    )]
    Repeated,
    /// Bytes of all that it lists.
    #[error("lists tools of more than {0} bytes together, the limit: name those to use in `toolNames`")]
    Listed(usize),
    /// Bytes of the tools that are used.
    #[error(
        "describes the tools to use in more than {0} bytes, the limit, mostly in their schemas: name those to use in `toolNames`, and fewer of them"
    )]
    Used(usize),
}

impl ToolError {
    /// Whether another try may help although nobody changes anything.
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
