//! Clients of the tools that a program calls: HTTP endpoints and MCP servers.
//!
//! A call ends as a value or as an exception that the program can catch, which says whether the tool may have had the call: what
//! follows from an unknown outcome is for the caller to decide. Requests go through the egress gate, replies are bounded before they
//! are in memory, and no message holds a header's value.

mod call;
mod error;
mod held;
mod http;
mod json;
mod mcp;
mod target;
#[cfg(test)]
mod test_support;
mod tries;

pub use call::{Called, RaisedKind, Sent, ToolException};
pub use error::ToolError;
pub use held::computed;
pub use http::{HttpEndpoint, HttpToolOptions};
pub use mcp::{AllowedCommand, McpClient, McpOptions, McpServer, kill_servers};

/// Largest reply that is read where nothing else is set, bytes after decompression.
pub const DEFAULT_MAX_BYTES: usize = 1024 * 1024;
