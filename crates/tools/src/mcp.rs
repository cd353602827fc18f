//! Tools of MCP servers, over streamable HTTP or of a command of this machine.

mod call;
mod command;
mod fault;
mod listing;
mod result;
mod session;
mod transport;

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{CancelledNotificationParam, ErrorCode, RequestId};
use rmcp::service::{PeerRequestOptions, ServiceError};
use rmcp::{Peer, RoleClient};
use serde_json::{Map, Value};
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout_at};

use self::call::McpCall;
pub use self::command::{AllowedCommand, kill_servers};
use self::fault::McpFault;
pub use self::session::McpServer;
use self::session::{Connector, McpSession, NoSession};
use super::tries::{FailedTry, Repeat, Tries};
use super::{Called, RaisedKind, Sent, ToolError, ToolException};
use codegen_code_mode::signature::Tool;
use codegen_egress::EgressGate;
use codegen_model::RetryPolicy;

/// Time to have a server let go of a call that nobody waits for.
const CANCEL_DEADLINE: Duration = Duration::from_secs(2);
/// Sessions in which a call is tried: the one that there is, and another where the server has lost it.
const SESSIONS_OF_A_TRY: u32 = 2;
/// Bytes of a server's text that a message may hold: an error is evidence for the next program.
const LONGEST_TEXT: usize = 2_000;

/// Settings of a client of an MCP server.
#[derive(Clone, Debug)]
pub struct McpOptions {
    /// Name of the server, for messages.
    pub name: String,
    /// Way in which it is reached.
    pub server: McpServer,
    /// Largest message of the server, bytes after decompression.
    pub max_bytes: usize,
    /// Gate for the addresses that are spoken to; any where none is given, for whoever runs this process wrote the address.
    pub gate: Option<EgressGate>,
}

/// A client of one MCP server. Its session is made at the first use, and made again when it is lost.
pub struct McpClient {
    name: String,
    connector: Connector,
    max_bytes: usize,
    policy: RetryPolicy,
    session: Mutex<Option<Arc<McpSession>>>,
}

impl McpClient {
    /// The client, or what is wrong with its settings. Nothing is sent or started.
    pub fn new(options: McpOptions) -> Result<Self, ToolError> {
        Ok(Self {
            name: options.name.clone(),
            max_bytes: options.max_bytes,
            connector: Connector::new(options)?,
            policy: RetryPolicy::default(),
            session: Mutex::new(None),
        })
    }

    #[cfg(test)]
    pub(crate) fn with_policy(mut self, policy: RetryPolicy) -> Self {
        self.policy = policy;
        self
    }

    /// The tools of the server, of the names `only` where there are any. Whatever the server does, it ends at `deadline`.
    pub async fn list_tools(&self, only: &[String], deadline: Instant) -> Result<Vec<Tool>, ToolError> {
        let given = deadline.saturating_duration_since(Instant::now());
        let listed = timeout_at(deadline, self.list(only)).await;
        let listed = listed.unwrap_or_else(|_| {
            let why = format!(
                "did not list its tools in time ({} s): check that it speaks MCP there; where it lists very \
                 many, name those to use in `toolNames`, after which no further page is asked for",
                given.as_secs_f64().ceil()
            );
            Err((why, true))
        });
        listed.map_err(|(why, is_transient)| ToolError::Server {
            server: self.name.clone(),
            why,
            is_transient,
        })
    }

    /// The tools, or why there is no list and whether another try may help.
    async fn list(&self, only: &[String]) -> Result<Vec<Tool>, (String, bool)> {
        let session = self.session().await.map_err(|error| {
            let failure = error.failure();
            (failure.raised.message, failure.repeat != Repeat::Never)
        })?;
        match listing::read(session.peer(), session.redactor(), only).await {
            Ok(tools) => Ok(tools),
            Err(listing::ListFailure::List(why)) => Err((why, false)),
            Err(listing::ListFailure::Service(error)) => {
                self.forget(&session).await;
                let raised = self.failure(&session, error).await.raised;
                Err((format!("did not list its tools: it {}", raised.message), true))
            }
        }
    }

    /// Calls `tool`, which has the server's name. `key` distinguishes this call from every other one, for a server that would not make it
    /// twice.
    pub async fn call(
        &self,
        tool: &Tool,
        arguments: Map<String, Value>,
        key: Option<&str>,
        timeout: Duration,
    ) -> Called {
        let call = McpCall {
            tool,
            arguments,
            key,
            timeout,
        };
        let tries = Tries {
            deadline: Instant::now() + timeout,
            policy: self.policy,
            is_idempotent: tool.effect.is_repeatable(),
        };
        tries.run(|| self.try_once(&call, tries.deadline)).await
    }

    async fn try_once(&self, call: &McpCall<'_>, deadline: Instant) -> Result<Called, FailedTry> {
        for _ in 0..SESSIONS_OF_A_TRY {
            let session = match timeout_at(deadline, self.session()).await {
                Ok(session) => session.map_err(|error| call.no_session(&error))?,
                Err(_) => return Err(call.no_time().into()),
            };
            match self.call_within(&session, call, deadline).await {
                Some(called) => return called,
                None => self.forget(&session).await,
            }
        }
        let what = "was refused with a session that the server had just opened: check the server's log, and that its replicas share sessions";
        let raised = call.raised(RaisedKind::ConnectionError, Sent::No, what);
        Err(raised.into())
    }

    /// Calls a tool within a session. `None` where the server has refused it with the session, so that it did not make it.
    async fn call_within(
        &self,
        session: &McpSession,
        call: &McpCall<'_>,
        deadline: Instant,
    ) -> Option<Result<Called, FailedTry>> {
        let request = call.request();
        let sending = session
            .peer()
            .send_request_with_option(request, PeerRequestOptions::no_options());
        let error = match timeout_at(deadline, sending).await {
            Ok(Ok(handle)) => {
                let id = handle.id.clone();
                match timeout_at(deadline, handle.await_response()).await {
                    Ok(Ok(result)) => {
                        return Some(Ok(call.called(result, session.redactor(), deadline).await));
                    }
                    Ok(Err(error)) => error,
                    Err(_) => {
                        cancel(session.peer().clone(), id);
                        return Some(Err(call.timed_out().into()));
                    }
                }
            }
            Ok(Err(error)) => error,
            Err(_) => return Some(Err(call.timed_out().into())),
        };
        if matches!(McpFault::of(&error), Some(McpFault::SessionLost)) {
            return None;
        }
        let mut failure = self.failure(session, error).await;
        failure.raised.message = format!("tool `{}` {}", call.tool.name, failure.raised.message);
        Some(Err(failure))
    }

    /// Turns an error of the protocol or of the connection into a failure; the message has no name of a tool yet.
    async fn failure(&self, session: &McpSession, error: ServiceError) -> FailedTry {
        if let Some(fault) = McpFault::of(&error) {
            return fault.failure();
        }
        match error {
            ServiceError::McpError(error) => {
                let kind = match error.code {
                    ErrorCode::INVALID_PARAMS => RaisedKind::ValueError,
                    _ => RaisedKind::RuntimeError,
                };
                let text = session.redactor().excerpt(&error.message, LONGEST_TEXT);
                FailedTry::from(ToolException {
                    kind,
                    message: format!("failed: {text} ({})", error.code.0),
                    was_sent: Sent::Answered,
                })
            }
            ServiceError::UnexpectedResponse => {
                McpFault::Protocol("a result of another kind".to_owned()).failure()
            }
            error => {
                let cause = session.last_words().await.unwrap_or_else(|| error.to_string());
                McpFault::Cut(session.redactor().excerpt(&cause, LONGEST_TEXT)).failure()
            }
        }
    }

    /// The session, made where there is none.
    async fn session(&self) -> Result<Arc<McpSession>, NoSession> {
        let mut session = self.session.lock().await;
        if let Some(session) = session.as_ref().filter(|session| session.is_open()) {
            return Ok(Arc::clone(session));
        }
        let made = Arc::new(self.connector.connect(self.max_bytes).await?);
        *session = Some(Arc::clone(&made));
        Ok(made)
    }

    /// Has the next use make another session, unless somebody did already. Calls that are under way in `lost` go on there.
    async fn forget(&self, lost: &Arc<McpSession>) {
        let mut session = self.session.lock().await;
        if session.as_ref().is_some_and(|current| Arc::ptr_eq(current, lost)) {
            *session = None;
        }
    }
}

/// Says to the server that nobody waits for the call any more, without waiting for it.
fn cancel(peer: Peer<RoleClient>, id: RequestId) {
    tokio::spawn(async move {
        let cancelled =
            CancelledNotificationParam::new(Some(id), Some("the time of the call is over".to_owned()));
        let _ = tokio::time::timeout(CANCEL_DEADLINE, peer.notify_cancelled(cancelled)).await;
    });
}

#[cfg(test)]
mod tests;
