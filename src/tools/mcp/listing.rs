//! The tools that a server lists.

use std::collections::BTreeSet;

use rmcp::model::{PaginatedRequestParams, Tool};
use rmcp::service::ServiceError;
use rmcp::{Peer, RoleClient};
use serde_json::Value;

use crate::pipeline::redact::Redactor;
use crate::tools::ToolError;

/// Tools of one server that a prompt can hold.
const MOST_TOOLS: usize = 512;
/// Tools that are read to find those of given names.
const MOST_LISTED: usize = 2_000;
const MOST_PAGES: usize = 200;
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
    for _ in 0..MOST_PAGES {
        let page = PaginatedRequestParams::default().with_cursor(cursor);
        let page = peer.list_tools(Some(page)).await.map_err(Failed::Service)?;
        found.add(page.tools).map_err(Failed::Tools)?;
        cursor = page.next_cursor;
        if cursor.is_none() {
            return Ok(found.tools);
        }
    }
    Err(Failed::Tools(found.too_many(MOST_LISTED)))
}

struct Found<'a> {
    server: &'a str,
    redactor: &'a Redactor,
    only: &'a [String],
    names: BTreeSet<String>,
    listed: usize,
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
            tools: Vec::new(),
        }
    }

    fn add(&mut self, page: Vec<Tool>) -> Result<(), ToolError> {
        self.listed += page.len();
        let is_wanted = |tool: &Tool| self.only.is_empty() || self.only.iter().any(|name| *name == tool.name);
        let wanted: Vec<Tool> = page.into_iter().filter(is_wanted).collect();
        for tool in wanted {
            if !self.names.insert(tool.name.to_string()) {
                return Err(ToolError::DuplicateTool {
                    server: self.server.to_owned(),
                    tool: tool.name.into_owned(),
                });
            }
            self.tools.push(McpTool::new(tool, self.redactor));
        }
        if self.tools.len() > MOST_TOOLS {
            return Err(self.too_many(MOST_TOOLS));
        }
        if self.listed > MOST_LISTED {
            return Err(self.too_many(MOST_LISTED));
        }
        Ok(())
    }

    fn too_many(&self, limit: usize) -> ToolError {
        ToolError::TooManyTools {
            server: self.server.to_owned(),
            limit,
            of_the_named: !self.only.is_empty(),
        }
    }
}
