//! The tools that a server lists.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use rmcp::model::{JsonObject, PaginatedRequestParams, Tool as Listed};
use rmcp::service::ServiceError;
use rmcp::{Peer, RoleClient};
use serde_json::Value;

use codegen_code_mode::signature::{Effect, Tool};
use codegen_core::digest::sha256_hex;
use codegen_core::redact::Redactor;

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
fn described(listed: Listed, redactor: &Redactor) -> Tool {
    let hints = listed.annotations.unwrap_or_default();
    let effect = if hints.read_only_hint == Some(true) {
        Effect::ReadOnly
    } else if hints.idempotent_hint == Some(true) {
        Effect::Idempotent
    } else {
        Effect::Once
    };
    let title = listed.title.or(hints.title);
    let description = listed.description.map(Cow::into_owned).or(title);
    let schema = |schema: Arc<JsonObject>| Value::Object(schema.as_ref().clone());
    Tool {
        name: listed.name.into_owned(),
        description: cut(&redactor.redact(&description.unwrap_or_default())),
        parameters: schema(listed.input_schema),
        result: listed.output_schema.map(schema),
        effect,
        is_loosened: false,
    }
}

/// Length of a tool as JSON.
fn bytes(tool: &Listed) -> usize {
    serde_json::to_vec(tool).map_or(0, |json| json.len())
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(LONGEST_DESCRIPTION) {
        Some((end, _)) => text[..end].to_owned(),
        None => text.to_owned(),
    }
}

/// Reason for which there is no list.
pub(super) enum ListFailure {
    /// The server did not answer.
    Service(ServiceError),
    /// Fault of a list that cannot be used; the text continues the name of the server.
    List(String),
}

/// Reads page after page, and of the tools those named `only`, or all where no name is given.
pub(super) async fn read(
    peer: &Peer<RoleClient>,
    redactor: &Redactor,
    only: &[String],
) -> Result<Vec<Tool>, ListFailure> {
    let mut found = Found {
        only,
        ..Found::default()
    };
    let mut cursor = None;
    let mut seen = BTreeSet::new();
    for _ in 0..MOST_PAGES {
        let page = PaginatedRequestParams::default().with_cursor(cursor);
        let page = peer.list_tools(Some(page)).await.map_err(|error| match error {
            ServiceError::UnexpectedResponse => ListFailure::List(UNREADABLE.to_owned()),
            error => ListFailure::Service(error),
        })?;
        found.add(page.tools, redactor).map_err(ListFailure::List)?;
        let Some(next) = page.next_cursor.filter(|_| !found.is_complete()) else {
            return Ok(found.tools);
        };
        if !seen.insert(sha256_hex(next.as_bytes())) {
            return Err(ListFailure::List(REPEATED.to_owned()));
        }
        cursor = Some(next);
    }
    Err(ListFailure::List(format!(
        "lists its tools on more than {MOST_PAGES} pages, the limit: {WAY_OUT}, or have it list more of them on a page"
    )))
}

/// Nothing further is read once those of `toolNames` are found.
const WAY_OUT: &str = "name those to use in `toolNames`";
const UNREADABLE: &str = "lists a tool that cannot be read: have the server fixed";
const REPEATED: &str = "lists its tools in a loop: a page leads to one that was read before it; name those to use in `toolNames`, or have \
                        the server fixed";

#[derive(Default)]
struct Found<'a> {
    only: &'a [String],
    names: BTreeSet<String>,
    listed: usize,
    listed_bytes: usize,
    used_bytes: usize,
    tools: Vec<Tool>,
}

impl Found<'_> {
    fn add(&mut self, page: Vec<Listed>, redactor: &Redactor) -> Result<(), String> {
        self.listed += page.len();
        self.listed_bytes += page.iter().map(bytes).sum::<usize>();
        if self.listed_bytes > MOST_LISTED_BYTES {
            return Err(format!(
                "lists tools of more than {MOST_LISTED_BYTES} bytes together, the limit: {WAY_OUT}"
            ));
        }
        for tool in page {
            if !self.only.is_empty() && self.only.iter().all(|name| *name != tool.name) {
                continue;
            }
            self.used_bytes += bytes(&tool);
            if !self.names.insert(tool.name.to_string()) {
                return Err(format!(
                    "lists two tools named `{}`, and nobody can say which one a call means: leave it out by naming the others in \
                     `toolNames`, or have the server fixed",
                    tool.name
                ));
            }
            self.tools.push(described(tool, redactor));
        }
        if self.used_bytes > MOST_USED_BYTES {
            return Err(format!(
                "describes the tools to use in more than {MOST_USED_BYTES} bytes, the limit, mostly in their schemas: {WAY_OUT}, and fewer of \
                 them"
            ));
        }
        let counts = [(self.tools.len(), MOST_TOOLS), (self.listed, MOST_LISTED)];
        match counts.into_iter().find(|(count, limit)| count > limit) {
            Some((_, limit)) => Err(format!("lists more than {limit} tools: {WAY_OUT}")),
            None => Ok(()),
        }
    }

    /// Reports whether every tool that is named was found, so that nothing further is to be read.
    fn is_complete(&self) -> bool {
        !self.only.is_empty() && self.only.iter().all(|name| self.names.contains(name))
    }
}
