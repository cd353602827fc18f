//! The tools that a server lists.

use std::collections::BTreeSet;

use rmcp::model::{
    ClientRequest, Extensions, ListToolsRequest, ListToolsRequestMethod, PaginatedRequestParams,
    ServerResult, Tool,
};
use rmcp::service::ServiceError;
use rmcp::{Peer, RoleClient};
use serde_json::Value;

use super::LONGEST_TEXT;
use crate::pipeline::digest::sha256_hex;
use crate::pipeline::redact::Redactor;
use crate::tools::{ListBound, ToolError};

/// Tools of one server that a prompt can hold.
const MOST_TOOLS: usize = 512;
/// Tools that are read to find those of given names.
const MOST_LISTED: usize = 2_000;
/// Pages that are read.
const MOST_PAGES: usize = 200;
/// Bytes of all tools that are read; no more than one page of them is held.
const MOST_LISTED_BYTES: usize = 16 * 1024 * 1024;
/// Bytes of the tools that are used, all of which are held, frozen with each question, and written into a prompt.
const MOST_USED_BYTES: usize = 1024 * 1024;
/// Characters of a description.
const LONGEST_DESCRIPTION: usize = 1_024;

/// A tool as its server describes it. Nothing of it is to be believed: texts are data for a prompt, hints are the server's word.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct McpTool {
    /// Its name with the server.
    pub name: String,
    /// A name for people.
    pub title: Option<String>,
    /// What it does, cut to 1,024 characters.
    pub description: Option<String>,
    /// JSON Schema of the arguments.
    pub input_schema: Value,
    /// JSON Schema of the structured result.
    pub output_schema: Option<Value>,
    /// Whether it says that it changes nothing.
    pub read_only: bool,
    /// Whether it says that a second call with the same arguments does nothing more.
    pub idempotent: bool,
    /// Whether it may destroy something; it may unless it denies that.
    pub destructive: bool,
}

impl McpTool {
    /// Whether a second call does no harm, by the server's word.
    pub const fn is_idempotent(&self) -> bool {
        self.read_only || self.idempotent
    }
}

impl McpTool {
    /// Length of what is held of it.
    fn bytes(&self) -> usize {
        let texts = [self.title.as_ref(), self.description.as_ref()];
        let texts: usize = texts.into_iter().flatten().map(String::len).sum();
        let result = self
            .output_schema
            .as_ref()
            .map_or(0, |schema| schema.to_string().len());
        self.name.len() + texts + self.input_schema.to_string().len() + result
    }

    fn new(tool: Tool, redactor: &Redactor) -> Self {
        let cut = |text: &str| cut(&redactor.redact(text));
        let hints = tool.annotations.unwrap_or_default();
        let read_only = hints.read_only_hint.unwrap_or(false);
        let title = tool.title.or(hints.title.clone());
        Self {
            name: tool.name.into_owned(),
            title: title.as_deref().map(cut),
            description: tool.description.as_deref().map(cut),
            input_schema: Value::Object(tool.input_schema.as_ref().clone()),
            output_schema: tool
                .output_schema
                .map(|schema| Value::Object(schema.as_ref().clone())),
            read_only,
            idempotent: hints.idempotent_hint.unwrap_or(false),
            destructive: !read_only && hints.destructive_hint.unwrap_or(true),
        }
    }
}

/// Length of a tool as JSON.
fn bytes(tool: &Tool) -> usize {
    serde_json::to_vec(tool).map_or(0, |json| json.len())
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(LONGEST_DESCRIPTION) {
        Some((end, _)) => text[..end].to_owned(),
        None => text.to_owned(),
    }
}

/// Why there is no list.
pub(super) enum Failed {
    /// The server did not answer.
    Service(ServiceError),
    /// What it listed cannot be used.
    Tools(ToolError),
}

/// Reads page after page, and of the tools those named `only`, or all where no name is given.
pub(super) async fn read(
    server: &str,
    peer: &Peer<RoleClient>,
    redactor: &Redactor,
    only: &[String],
) -> Result<Vec<McpTool>, Failed> {
    let mut found = Found::new(server, redactor, only);
    let mut cursor = None;
    let mut seen = BTreeSet::new();
    for _ in 0..MOST_PAGES {
        let page = PaginatedRequestParams::default().with_cursor(cursor);
        let page = match peer.list_tools(Some(page.clone())).await {
            Ok(page) => page,
            Err(error) => return Err(unreadable(server, peer, redactor, page, error).await),
        };
        found.add(page.tools).map_err(Failed::Tools)?;
        let Some(next) = page.next_cursor.filter(|_| !found.is_complete()) else {
            return Ok(found.tools);
        };
        if !seen.insert(sha256_hex(next.as_bytes())) {
            return Err(Failed::Tools(found.too_long(ListBound::Repeated)));
        }
        cursor = Some(next);
    }
    Err(Failed::Tools(found.too_long(ListBound::Pages(MOST_PAGES))))
}

/// Why a list cannot be used. One with a tool that is none is a result of another kind, which is asked for again to say which tool it is.
async fn unreadable(
    server: &str,
    peer: &Peer<RoleClient>,
    redactor: &Redactor,
    page: PaginatedRequestParams,
    error: ServiceError,
) -> Failed {
    if !matches!(error, ServiceError::UnexpectedResponse) {
        return Failed::Service(error);
    }
    let request = ListToolsRequest {
        method: ListToolsRequestMethod,
        params: Some(page),
        extensions: Extensions::default(),
    };
    let again = peer.send_request(ClientRequest::ListToolsRequest(request)).await;
    let fault = match &again {
        Ok(ServerResult::CustomResult(result)) => unreadable_tool(&result.0),
        _ => None,
    };
    let Some(fault) = fault else {
        return Failed::Service(error);
    };
    Failed::Tools(ToolError::Server {
        server: server.to_owned(),
        why: format!(
            "lists a tool that cannot be read, {}: have the server fixed",
            redactor.excerpt(&fault, LONGEST_TEXT)
        ),
        is_transient: false,
    })
}

/// The first tool of a list that is none, and why.
fn unreadable_tool(list: &Value) -> Option<String> {
    let mut tools = list["tools"].as_array()?.iter().enumerate();
    tools.find_map(|(place, tool)| {
        let error = serde_json::from_value::<Tool>(tool.clone()).err()?;
        Some(match tool["name"].as_str() {
            Some(name) => format!("`{name}`: {error}"),
            None => format!("number {}, which has no name: {error}", place + 1),
        })
    })
}

struct Found<'a> {
    server: &'a str,
    redactor: &'a Redactor,
    only: &'a [String],
    names: BTreeSet<String>,
    listed: usize,
    listed_bytes: usize,
    used_bytes: usize,
    tools: Vec<McpTool>,
}

impl<'a> Found<'a> {
    fn new(server: &'a str, redactor: &'a Redactor, only: &'a [String]) -> Self {
        Self {
            server,
            redactor,
            only,
            names: BTreeSet::new(),
            listed: 0,
            listed_bytes: 0,
            used_bytes: 0,
            tools: Vec::new(),
        }
    }

    fn add(&mut self, page: Vec<Tool>) -> Result<(), ToolError> {
        self.listed += page.len();
        self.listed_bytes += page.iter().map(bytes).sum::<usize>();
        if self.listed_bytes > MOST_LISTED_BYTES {
            return Err(self.too_long(ListBound::Listed(MOST_LISTED_BYTES)));
        }
        let is_wanted = |tool: &Tool| self.only.is_empty() || self.only.iter().any(|name| *name == tool.name);
        let wanted: Vec<Tool> = page.into_iter().filter(is_wanted).collect();
        for tool in wanted {
            if !self.names.insert(tool.name.to_string()) {
                return Err(ToolError::DuplicateTool {
                    server: self.server.to_owned(),
                    tool: tool.name.into_owned(),
                });
            }
            let tool = McpTool::new(tool, self.redactor);
            self.used_bytes += tool.bytes();
            if self.used_bytes > MOST_USED_BYTES {
                return Err(self.too_long(ListBound::Used(MOST_USED_BYTES)));
            }
            self.tools.push(tool);
        }
        if self.tools.len() > MOST_TOOLS {
            return Err(self.too_many(MOST_TOOLS));
        }
        if self.listed > MOST_LISTED {
            return Err(self.too_many(MOST_LISTED));
        }
        Ok(())
    }

    /// Whether every tool that is named was found, so that nothing further is to be read.
    fn is_complete(&self) -> bool {
        !self.only.is_empty() && self.only.iter().all(|name| self.names.contains(name))
    }

    fn too_long(&self, bound: ListBound) -> ToolError {
        ToolError::ListTooLong {
            server: self.server.to_owned(),
            bound,
        }
    }

    fn too_many(&self, limit: usize) -> ToolError {
        ToolError::TooManyTools {
            server: self.server.to_owned(),
            limit,
            of_the_named: !self.only.is_empty(),
        }
    }
}
