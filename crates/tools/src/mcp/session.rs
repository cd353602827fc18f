//! A session with an MCP server: the handshake, and what says that it is over.

use std::sync::Arc;

use reqwest::Method;
use rmcp::model::{ClientCapabilities, ClientConfig, Implementation, ProtocolVersion};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, RunningService, serve_client_with_lifecycle,
};
use rmcp::transport::{IntoTransport, StreamableHttpClientTransport};
use rmcp::{ClientHandler, Peer, RoleClient};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::command::{AllowedCommand, ServerProcess, start};
use super::fault::McpFault;
use super::transport::HttpClient;
use super::{LONGEST_TEXT, McpOptions};
use crate::target::{Target, parse_url};
use crate::tries::{FailedTry, Repeat};
use crate::{RaisedKind, Sent, ToolError, ToolException};
use codegen_core::causes::with_causes;
use codegen_core::redact::Redactor;
use codegen_model::Secret;

/// Way in which an MCP server is reached.
#[derive(Clone, Debug)]
pub enum McpServer {
    /// By streamable HTTP.
    Url {
        /// Address of its endpoint.
        url: String,
        /// Headers of every request.
        headers: Vec<(String, Secret)>,
    },
    /// By the standard streams of a process that is started for it, as whoever runs this one has allowed.
    Command(AllowedCommand),
}

/// Makes sessions with one server.
pub(super) enum Connector {
    Http(Arc<Target>),
    Command(AllowedCommand),
}

impl Connector {
    pub fn new(options: McpOptions) -> Result<Self, ToolError> {
        Ok(match options.server {
            McpServer::Url { url, headers } => {
                let url = parse_url(&options.name, &url)?;
                let target = Target::new(&options.name, Method::POST, url, &headers, options.gate)?;
                Self::Http(Arc::new(target))
            }
            McpServer::Command(command) => Self::Command(command),
        })
    }

    /// A new session. Whoever waits for it sets the deadline; what was begun ends with this future.
    pub async fn connect(&self, max_bytes: usize) -> Result<McpSession, NoSession> {
        match self {
            Self::Http(target) => McpSession::over_http(target, max_bytes).await,
            Self::Command(command) => McpSession::of_a_process(command, max_bytes).await,
        }
    }
}

impl McpSession {
    async fn over_http(target: &Arc<Target>, max_bytes: usize) -> Result<Self, NoSession> {
        let client = target.client().map_err(NoSession::Client)?.clone();
        // A request would wait for its answer as long as the server likes.
        let over = CancellationToken::new();
        let end = over.clone().drop_guard();
        let client = HttpClient {
            target: Arc::clone(target),
            inner: client,
            max_bytes,
            over,
        };
        let transport = StreamableHttpClientTransport::with_client(client.clone(), client.config());
        let service = shake_hands(transport).await.map_err(|error| {
            fault_of(&error).map_or_else(
                || NoSession::Handshake(target.redactor.excerpt(&with_causes(&error), LONGEST_TEXT)),
                NoSession::Fault,
            )
        })?;
        Ok(Self {
            service,
            redactor: target.redactor.clone(),
            behind: Behind::Http { _end: end },
        })
    }

    async fn of_a_process(command: &AllowedCommand, max_bytes: usize) -> Result<Self, NoSession> {
        let (process, output, input) = start(command, max_bytes).map_err(NoSession::Start)?;
        let redactor = Redactor::default();
        match shake_hands((output, input)).await {
            Ok(service) => Ok(Self {
                service,
                redactor,
                behind: Behind::Process(Box::new(process)),
            }),
            Err(error) => {
                let words = if is_of_the_connection(&error) {
                    process.last_words().await
                } else {
                    None
                };
                let why = words.unwrap_or_else(|| with_causes(&error));
                Err(NoSession::Handshake(redactor.excerpt(&why, LONGEST_TEXT)))
            }
        }
    }
}

/// The newest protocol that both speak: servers of before `server/discover` get the handshake of their time.
async fn shake_hands<T, E, A>(
    transport: T,
) -> Result<RunningService<RoleClient, McpHandler>, ClientInitializeError>
where
    T: IntoTransport<RoleClient, E, A>,
    E: std::error::Error + Send + Sync + 'static,
{
    let lifecycle = ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::LATEST],
        legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
    };
    serve_client_with_lifecycle(McpHandler, transport, lifecycle).await
}

/// Reports whether the handshake ended with its connection, and not by what the server answered.
fn is_of_the_connection(error: &ClientInitializeError) -> bool {
    match error {
        ClientInitializeError::ConnectionClosed(_) | ClientInitializeError::TransportError { .. } => true,
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => is_of_the_connection(fallback),
        _ => false,
    }
}

/// The fault of the transport that ended a handshake.
fn fault_of(error: &ClientInitializeError) -> Option<McpFault> {
    match error {
        ClientInitializeError::TransportError { error, .. } => McpFault::within(error.error.as_ref()),
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => fault_of(fallback),
        _ => None,
    }
}

/// Client as a server sees it: it calls tools, and does nothing for servers. What they ask of it is refused.
pub(super) struct McpHandler;

impl ClientHandler for McpHandler {
    fn get_info(&self) -> ClientConfig {
        let itself = Implementation::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), itself)
    }
}

/// A session that is open, or was.
pub(super) struct McpSession {
    service: RunningService<RoleClient, McpHandler>,
    redactor: Redactor,
    behind: Behind,
}

/// The requests or the process that end with a session.
enum Behind {
    /// Its requests.
    Http { _end: DropGuard },
    /// The server itself.
    Process(Box<ServerProcess>),
}

impl McpSession {
    pub fn peer(&self) -> &Peer<RoleClient> {
        self.service.peer()
    }

    pub fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    pub fn is_open(&self) -> bool {
        !self.service.is_closed() && !self.service.peer().is_transport_closed()
    }

    /// Returns what the process behind it did that explains its end.
    pub async fn last_words(&self) -> Option<String> {
        match &self.behind {
            Behind::Process(process) => process.last_words().await,
            Behind::Http { .. } => None,
        }
    }
}

/// Reason for which there is no session.
#[derive(Clone, Debug)]
pub(super) enum NoSession {
    /// No client could be built.
    Client(String),
    /// No process could be started.
    Start(String),
    /// The request failed.
    Fault(McpFault),
    /// The server answers, but not as the protocol says.
    Handshake(String),
}

impl NoSession {
    /// Returns the failure of a call that needs the session. Opening one twice does no harm. The message continues the name of the server.
    pub fn failure(&self) -> FailedTry {
        let (kind, message) = match self {
            Self::Fault(fault) => {
                let mut failure = fault.failure();
                failure.raised.was_sent = Sent::No;
                if failure.repeat != Repeat::Never {
                    failure.repeat = Repeat::Always;
                }
                return failure;
            }
            Self::Client(why) => (RaisedKind::RuntimeError, why.clone()),
            Self::Start(why) => (RaisedKind::ConnectionError, why.clone()),
            Self::Handshake(why) => (
                RaisedKind::ConnectionError,
                format!("did not open a session: {why}; check that this is where it speaks MCP"),
            ),
        };
        FailedTry::from(ToolException {
            kind,
            message,
            was_sent: Sent::No,
        })
    }
}
