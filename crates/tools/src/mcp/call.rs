//! One call of a tool: its request, and what a result means for it, and what it means that there is none.

use std::time::Duration;

use rmcp::model::{CallToolRequest, CallToolRequestParams, ClientRequest, RequestMetaObject, ServerResult};
use serde_json::{Map, Value};
use tokio::time::Instant;

use super::session::NoSession;
use super::transport::CallHeader;
use super::{LONGEST_TEXT, result};
use crate::tries::FailedTry;
use crate::{Called, RaisedKind, Sent, ToolException};
use codegen_code_mode::signature::Tool;
use codegen_core::redact::Redactor;

/// The key of a call in its metadata; over HTTP it is the header `Idempotency-Key` too.
pub(super) const KEY_IN_META: &str = "codegen-operator.dev/idempotency-key";

/// A call as the program made it.
pub(super) struct McpCall<'a> {
    pub tool: &'a Tool,
    pub arguments: Map<String, Value>,
    pub key: Option<&'a str>,
    pub timeout: Duration,
}

impl McpCall<'_> {
    pub fn request(&self) -> ClientRequest {
        let params =
            CallToolRequestParams::new(self.tool.name.clone()).with_arguments(self.arguments.clone());
        let mut request = CallToolRequest::new(params);
        if let Some(key) = self.key {
            let mut meta = RequestMetaObject::new();
            meta.0.insert(KEY_IN_META.to_owned(), key.into());
            request.extensions.insert(meta);
            if let Some(header) = CallHeader::new(key) {
                request.extensions.insert(header);
            }
        }
        ClientRequest::CallToolRequest(request)
    }

    pub async fn called(&self, result: ServerResult, redactor: &Redactor, deadline: Instant) -> Called {
        match result::value(result, self.tool.result.clone(), deadline).await {
            // A server may repeat what it was sent, and a program's values are recorded.
            Ok(value) => Called::Returned(redactor.redact_json(value)),
            Err(what) => {
                let what = redactor.excerpt(&what, LONGEST_TEXT);
                Called::Raised(self.raised(RaisedKind::RuntimeError, Sent::Answered, &what))
            }
        }
    }

    pub fn no_session(&self, error: &NoSession) -> FailedTry {
        let mut failure = error.failure();
        let what = format!("was not called: its MCP server {}", failure.raised.message);
        failure.raised = self.raised(failure.raised.kind, Sent::No, &what);
        failure
    }

    /// The end of a call that was handed over: it may have been made.
    pub fn timed_out(&self) -> ToolException {
        let seconds = self.timeout.as_secs_f64();
        let what = format!("gave no reply within {seconds} s: the call was sent, and no whole reply came");
        self.raised(RaisedKind::TimeoutError, Sent::Perhaps, &what)
    }

    /// The end of a call whose time was over before there was a session.
    pub fn no_time(&self) -> ToolException {
        let seconds = self.timeout.as_secs_f64();
        let what = format!("gave no reply within {seconds} s: the call was not sent");
        self.raised(RaisedKind::TimeoutError, Sent::No, &what)
    }

    pub fn raised(&self, kind: RaisedKind, was_sent: Sent, what: &str) -> ToolException {
        ToolException::new(kind, was_sent, &self.tool.name, what)
    }
}
