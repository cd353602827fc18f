//! The HTTP of a session: through the gate, with the server's headers, bounded, and with errors that hold neither address nor secrets. What
//! a server sends is in the answers to requests, each of which is read up to its reply; no other stream is open, and none is taken up again.

use std::collections::HashMap;
use std::error::Error as StdError;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::BoxStream;
use http::{HeaderName, HeaderValue};
use rmcp::model::{
    ClientJsonRpcMessage, ClientResult, ErrorCode, ErrorData, GetExtensions as _, JsonRpcMessage, RequestId,
    ServerJsonRpcMessage, ServerRequest,
};
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpClientTransportConfig, StreamableHttpError,
    StreamableHttpPostResponse, StreamableHttpResponseLimits,
};
use sse_stream::Sse;
use tokio_util::sync::CancellationToken;

use super::fault::McpFault;
use crate::target::Target;
use codegen_egress::Refused;

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// Bytes of all events that answer one request.
const MOST_EVENT_BYTES: usize = 16 * 1024 * 1024;
/// Time for a server to take the answer to what it asks of its client.
const ANSWER_DEADLINE: Duration = Duration::from_secs(2);

type Streamed = BoxStream<'static, Result<Sse, SseError>>;
type Headers = HashMap<HeaderName, HeaderValue>;
type Failed = StreamableHttpError<McpFault>;

/// The key that distinguishes a call from every other one.
#[derive(Clone)]
pub(super) struct CallHeader(HeaderValue);

impl CallHeader {
    pub fn new(key: &str) -> Option<Self> {
        HeaderValue::from_str(key).ok().map(Self)
    }
}

/// The client of one session.
#[derive(Clone)]
pub(super) struct HttpClient {
    pub target: Arc<Target>,
    pub inner: reqwest::Client,
    pub max_bytes: usize,
    /// Cancelled where nobody waits for its answers any more.
    pub over: CancellationToken,
}

/// The address of a message.
#[derive(Clone)]
struct Place {
    uri: Arc<str>,
    session: Option<Arc<str>>,
    headers: Headers,
}

impl HttpClient {
    /// The settings of its transport. A lost session is made again by whoever knows what may be repeated.
    pub fn config(&self) -> StreamableHttpClientTransportConfig {
        let headers = self.target.headers.iter();
        let headers = headers
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        StreamableHttpClientTransportConfig::with_uri(self.target.url.as_str())
            .custom_headers(headers)
            .max_sse_event_size(self.max_bytes)
            .max_json_response_size(self.max_bytes)
            .reinit_on_expired_session(false)
    }

    async fn post(
        &self,
        place: Place,
        message: ClientJsonRpcMessage,
    ) -> Result<StreamableHttpPostResponse, McpFault> {
        let mut limits = StreamableHttpResponseLimits::default();
        limits.max_sse_event_size = self.max_bytes;
        limits.max_json_response_size = self.max_bytes;
        let sent = self.inner.post_message_with_response_limits(
            place.uri,
            message,
            place.session,
            None,
            place.headers,
            limits,
        );
        sent.await.map_err(|error| self.fault_of(error))
    }

    /// Sends a message, and reads what answers it up to the reply.
    async fn exchange(
        &self,
        mut place: Place,
        message: ClientJsonRpcMessage,
    ) -> Result<StreamableHttpPostResponse, McpFault> {
        let JsonRpcMessage::Request(request) = &message else {
            // Nothing is to be said to an answer or a notification; what comes could go on for ever.
            self.post(place, message).await?;
            return Ok(StreamableHttpPostResponse::Accepted);
        };
        let id = request.id.clone();
        let without_key = place.clone();
        if let Some(CallHeader(key)) = request.request.extensions().get() {
            place.headers.insert(IDEMPOTENCY_KEY, key.clone());
        }
        match self.post(place, message).await? {
            StreamableHttpPostResponse::Sse(stream, session) => {
                let reply = self.reply(stream, &id, &without_key).await?;
                Ok(StreamableHttpPostResponse::Json(reply, session))
            }
            StreamableHttpPostResponse::Json(reply, session) => match reply_to(&id, reply) {
                Some(reply) => Ok(StreamableHttpPostResponse::Json(reply, session)),
                None => Err(McpFault::Protocol("it replies to another request".to_owned())),
            },
            StreamableHttpPostResponse::Accepted => Err(McpFault::Protocol(
                "it took the request and sends no reply".to_owned(),
            )),
            _ => Err(McpFault::Protocol("an answer of an unknown kind".to_owned())),
        }
    }

    /// The reply in a stream. What the server asks meanwhile is answered before anything further is read, as long as it takes answers.
    async fn reply(
        &self,
        mut stream: Streamed,
        id: &RequestId,
        place: &Place,
    ) -> Result<ServerJsonRpcMessage, McpFault> {
        let mut bytes = 0;
        let mut takes_answers = true;
        while let Some(event) = stream.next().await {
            let event = event.map_err(|error| self.fault_of_stream(&error))?;
            let texts = [&event.event, &event.data, &event.id];
            bytes += texts.into_iter().flatten().map(String::len).sum::<usize>();
            if bytes > MOST_EVENT_BYTES {
                return Err(McpFault::TooMuch(MOST_EVENT_BYTES));
            }
            let message = event.data.and_then(|data| serde_json::from_str(&data).ok());
            match message {
                Some(JsonRpcMessage::Request(asked)) if takes_answers => {
                    let answer = answer(&asked.id, &asked.request);
                    let sent = self.post(place.clone(), answer);
                    takes_answers = tokio::time::timeout(ANSWER_DEADLINE, sent).await.is_ok();
                }
                Some(message) => {
                    if let Some(reply) = reply_to(id, message) {
                        return Ok(reply);
                    }
                }
                None => {}
            }
        }
        Err(McpFault::Cut("its stream ended".to_owned()))
    }

    fn fault_of_stream(&self, error: &SseError) -> McpFault {
        let text = error.to_string();
        // The transport has no type for it.
        if text.contains("event exceeded the maximum size") {
            return McpFault::TooLarge(self.max_bytes);
        }
        let source = match error {
            SseError::Body(source) => reqwest_error(source.as_ref()),
            _ => None,
        };
        match source {
            Some(error) if error.is_body() || error.is_decode() || error.is_request() => {
                McpFault::Cut("its stream broke off".to_owned())
            }
            _ => McpFault::Protocol(self.target.excerpt(&text)),
        }
    }

    /// An error without address and secrets.
    fn fault_of(&self, error: StreamableHttpError<reqwest::Error>) -> McpFault {
        match error {
            StreamableHttpError::SessionExpired => McpFault::SessionLost,
            StreamableHttpError::ResponseBodyTooLarge { max_size } => McpFault::TooLarge(max_size),
            StreamableHttpError::HttpStatus(error) => McpFault::Status {
                status: error.status,
                retry_after: error.retry_after,
                said: String::new(),
            },
            StreamableHttpError::AuthRequired(_) => McpFault::of_status(401),
            StreamableHttpError::InsufficientScope(_) => McpFault::of_status(403),
            StreamableHttpError::Client(error) => self.fault_of_client(error),
            StreamableHttpError::UnexpectedServerResponse(text) => self.fault_of_answer(&text),
            other => McpFault::Protocol(self.target.excerpt(&other.to_string())),
        }
    }

    /// The transport reports an answer that is an error as `HTTP 404 Not Found: ` and the beginning of its body.
    fn fault_of_answer(&self, text: &str) -> McpFault {
        let status = text
            .strip_prefix("HTTP ")
            .and_then(|rest| rest.get(..3)?.parse().ok());
        match status {
            Some(status) => McpFault::Status {
                status,
                retry_after: None,
                said: text
                    .split_once(": ")
                    .map_or_else(String::new, |(_, body)| self.target.excerpt(body)),
            },
            None => McpFault::Protocol(self.target.excerpt(text)),
        }
    }

    fn fault_of_client(&self, error: reqwest::Error) -> McpFault {
        if let Some(refused) = Refused::within(&error) {
            return McpFault::Refused(refused);
        }
        if error.is_connect() || error.is_builder() {
            return McpFault::NotSent(self.target.causes(error));
        }
        if let Some(status) = error.status() {
            return McpFault::of_status(status.as_u16());
        }
        McpFault::Cut(self.target.causes(error))
    }
}

fn reqwest_error<'a>(error: &'a (dyn StdError + 'static)) -> Option<&'a reqwest::Error> {
    let mut causes = std::iter::successors(Some(error), |cause| (*cause).source());
    causes.find_map(|cause| cause.downcast_ref())
}

/// The message, if it replies to this request: servers may write its number as a text.
fn reply_to(id: &RequestId, message: ServerJsonRpcMessage) -> Option<ServerJsonRpcMessage> {
    let is_it = |other: &RequestId| other.to_string() == id.to_string();
    match message {
        JsonRpcMessage::Response(mut reply) if is_it(&reply.id) => {
            reply.id = id.clone();
            Some(JsonRpcMessage::Response(reply))
        }
        JsonRpcMessage::Error(mut reply) if reply.id.as_ref().is_none_or(is_it) => {
            reply.id = Some(id.clone());
            Some(JsonRpcMessage::Error(reply))
        }
        _ => None,
    }
}

/// Answers a request of a server: this client is there, and does nothing for servers.
fn answer(id: &RequestId, request: &ServerRequest) -> ClientJsonRpcMessage {
    if matches!(request, ServerRequest::PingRequest(_)) {
        return ClientJsonRpcMessage::response(ClientResult::empty(()), id.clone());
    }
    let why = "this client does nothing for servers";
    let error = ErrorData::new(ErrorCode::METHOD_NOT_FOUND, why, None);
    ClientJsonRpcMessage::error(error, Some(id.clone()))
}

impl StreamableHttpClient for HttpClient {
    type Error = McpFault;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        _token: Option<String>,
        headers: Headers,
    ) -> Result<StreamableHttpPostResponse, Failed> {
        let place = Place {
            uri,
            session,
            headers,
        };
        let exchanged = tokio::select! {
            biased;
            () = self.over.cancelled() => Err(McpFault::Cut("nobody waits for it any more".to_owned())),
            exchanged = self.exchange(place, message) => exchanged,
        };
        exchanged.map_err(StreamableHttpError::Client)
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        _token: Option<String>,
        headers: Headers,
    ) -> Result<(), Failed> {
        let deleted = self.inner.delete_session(uri, session, None, headers).await;
        deleted.map_err(|error| StreamableHttpError::Client(self.fault_of(error)))
    }

    async fn get_stream(
        &self,
        _uri: Arc<str>,
        _session: Option<Arc<str>>,
        _last_event: Option<String>,
        _token: Option<String>,
        _headers: Headers,
    ) -> Result<Streamed, Failed> {
        // Of all errors one that no further request follows.
        Err(StreamableHttpError::ServerDoesNotSupportSse)
    }
}
