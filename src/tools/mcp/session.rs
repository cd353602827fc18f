//! A session with an MCP server: the handshake, and what says that it is over.

use std::sync::Arc;
use std::time::Duration;

use reqwest::Method;
use rmcp::model::{
    ClientCapabilities, ClientConfig, ErrorData, Implementation, ListRootsRequestMethod, ProtocolVersion,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, RequestContext, RunningService, serve_client_with_lifecycle,
};
use rmcp::transport::{IntoTransport, StreamableHttpClientTransport};
use rmcp::{ClientHandler, Peer, RoleClient};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::command::{AllowedCommand, Command, Process};
use super::fault::Fault;
use super::transport::HttpClient;
use super::{LONGEST_TEXT, McpOptions};
use crate::model::Secret;
use crate::pipeline::causes::with_causes;
use crate::pipeline::redact::Redactor;
use crate::tools::target::{Target, parse_url};
use crate::tools::tries::Repeat;
use crate::tools::{RaisedKind, Sent, ToolError};

/// How an MCP server is reached.
#[derive(Clone, Debug)]
pub(crate) enum McpServer {
    /// By streamable HTTP.
    Url {
        /// Address of its endpoint.
        url: String,
        /// Headers of every request.
        headers: Vec<(String, Secret)>,
    },
    /// By the standard streams of a process that is started for it.
    Command {
        /// The program, which whoever runs this process has allowed to be started.
        command: AllowedCommand,
        /// Variables beside those that every server gets.
        env: Vec<(String, Secret)>,
    },
}

/// Makes sessions with one server.
pub(super) struct Connector {
    endpoint: Endpoint,
    max_bytes: usize,
}

enum Endpoint {
    Http(Arc<Target>),
    Command(Command),
}

impl Connector {
    pub fn new(options: McpOptions) -> Result<Self, ToolError> {
        let endpoint = match options.server {
            McpServer::Url { url, headers } => {
                let url = parse_url(&options.name, &url)?;
                let target = Target::new(&options.name, Method::POST, url, &headers, options.gate)?;
                Endpoint::Http(Arc::new(target))
            }
            McpServer::Command { command, env } => {
                Endpoint::Command(Command::new(&options.name, command, env)?)
            }
        };
        Ok(Self {
            endpoint,
            max_bytes: options.max_bytes,
        })
    }

    /// A new session. Whoever waits for it sets the deadline; what was begun ends with this future.
    pub async fn connect(&self) -> Result<Session, NoSession> {
        match &self.endpoint {
            Endpoint::Http(target) => self.connect_over_http(target).await,
            Endpoint::Command(command) => self.start(command).await,
        }
    }

    async fn connect_over_http(&self, target: &Arc<Target>) -> Result<Session, NoSession> {
        let client = target.client().map_err(NoSession::Client)?.clone();
        // A request would wait for its answer as long as the server likes.
        let over = CancellationToken::new();
        let end = over.clone().drop_guard();
        let client = HttpClient::new(Arc::clone(target), client, self.max_bytes, over);
        let transport = StreamableHttpClientTransport::with_client(client.clone(), client.config());
        let service = shake_hands(transport).await.map_err(|error| {
            fault_of(&error).map_or_else(
                || NoSession::Handshake(target.redactor.excerpt(&with_causes(&error), LONGEST_TEXT)),
                NoSession::Fault,
            )
        })?;
        Ok(Session {
            service,
            redactor: target.redactor.clone(),
            behind: Behind::Http { _end: end },
        })
    }

    async fn start(&self, command: &Command) -> Result<Session, NoSession> {
        let (process, input, output) = command.start(self.max_bytes).map_err(NoSession::Start)?;
        let service = shake_hands((output, input)).await;
        match service {
            Ok(service) => Ok(Session {
                service,
                redactor: command.redactor().clone(),
                behind: Behind::Process(Box::new(process)),
            }),
            Err(error) => {
                let why = if is_of_the_connection(&error) {
                    process.last_words().await
                } else {
                    None
                };
                let why = why.unwrap_or_else(|| with_causes(&error));
                Err(NoSession::Handshake(
                    command.redactor().excerpt(&why, LONGEST_TEXT),
                ))
            }
        }
    }
}

/// The newest protocol that both speak: servers of before `server/discover` get the handshake of their time.
async fn shake_hands<T, E, A>(
    transport: T,
) -> Result<RunningService<RoleClient, Client>, ClientInitializeError>
where
    T: IntoTransport<RoleClient, E, A>,
    E: std::error::Error + Send + Sync + 'static,
{
    let lifecycle = ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::LATEST],
        legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
    };
    serve_client_with_lifecycle(Client, transport, lifecycle).await
}

/// Whether the handshake ended with its connection, and not by what the server answered.
fn is_of_the_connection(error: &ClientInitializeError) -> bool {
    match error {
        ClientInitializeError::ConnectionClosed(_) | ClientInitializeError::TransportError { .. } => true,
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => is_of_the_connection(fallback),
        _ => false,
    }
}

/// The fault of the transport that ended a handshake.
fn fault_of(error: &ClientInitializeError) -> Option<Fault> {
    match error {
        ClientInitializeError::TransportError { error, .. } => Fault::within(error.error.as_ref()),
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => fault_of(fallback),
        _ => None,
    }
}

/// What this client is for a server: it calls tools, and does nothing for servers. What they ask of it is refused.
pub(super) struct Client;

impl ClientHandler for Client {
    fn get_info(&self) -> ClientConfig {
        let itself = Implementation::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), itself)
    }

    #[expect(deprecated, reason = "servers may still ask for roots")]
    async fn list_roots(
        &self,
        _: RequestContext<RoleClient>,
    ) -> Result<rmcp::model::ListRootsResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListRootsRequestMethod>())
    }
}

/// A session that is open, or was.
pub(super) struct Session {
    service: RunningService<RoleClient, Client>,
    redactor: Redactor,
    behind: Behind,
}

/// The requests or the process that end with a session.
enum Behind {
    /// Its requests.
    Http { _end: DropGuard },
    /// The server itself.
    Process(Box<Process>),
}

impl Session {
    pub fn peer(&self) -> &Peer<RoleClient> {
        self.service.peer()
    }

    pub fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    pub fn is_open(&self) -> bool {
        !self.service.is_closed() && !self.service.peer().is_transport_closed()
    }

    /// What the process behind it did that explains its end.
    pub async fn last_words(&self) -> Option<String> {
        match &self.behind {
            Behind::Process(process) => process.last_words().await,
            Behind::Http { .. } => None,
        }
    }
}

/// Why there is no session.
#[derive(Clone, Debug)]
pub(super) enum NoSession {
    /// No client could be built.
    Client(String),
    /// No process could be started.
    Start(String),
    /// The request failed.
    Fault(Fault),
    /// The server answers, but not as the protocol says.
    Handshake(String),
}

impl NoSession {
    /// What continues the name of the server.
    pub fn why(&self) -> String {
        match self {
            Self::Client(why) | Self::Start(why) => why.clone(),
            Self::Fault(fault) => fault.to_string(),
            Self::Handshake(why) => {
                format!("did not open a session: {why}; check that this is where it speaks MCP")
            }
        }
    }

    /// The class of the exception for a call that needs the session.
    pub fn kind(&self) -> RaisedKind {
        match self {
            Self::Client(_) => RaisedKind::RuntimeError,
            Self::Start(_) | Self::Handshake(_) => RaisedKind::ConnectionError,
            Self::Fault(fault) => fault.failure(Sent::No).raised.kind,
        }
    }

    /// Whether another try may bring one.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Client(_) | Self::Start(_) | Self::Handshake(_) => false,
            // Opening a session twice does no harm.
            Self::Fault(fault) => fault.failure(Sent::No).repeat != Repeat::Never,
        }
    }

    /// The pause that the server asks for.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Fault(fault) => fault.failure(Sent::No).retry_after,
            _ => None,
        }
    }
}
