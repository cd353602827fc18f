//! The HTTP of a session: through the gate, with the server's headers, bounded, and with errors that hold neither address nor secrets.

use std::collections::HashMap;
use std::error::Error as StdError;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::BoxStream;
use http::{HeaderName, HeaderValue};
use rmcp::model::{ClientJsonRpcMessage, GetExtensions as _};
use rmcp::service::ServiceError;
use rmcp::transport::common::client_side_sse::ExponentialBackoff;
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpClientTransportConfig, StreamableHttpError,
    StreamableHttpPostResponse, StreamableHttpResponseLimits,
};
use sse_stream::Sse;
use tokio_util::sync::CancellationToken;

use super::fault::Fault;
use crate::egress::Refused;
use crate::model::Connecting;
use crate::tools::Sent;
use crate::tools::target::Target;

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// How often a stream that broke is taken up again where it ended, and how fast.
const MOST_RESUMPTIONS: usize = 5;
const LONGEST_RESUMPTION: Duration = Duration::from_secs(5);
/// Bytes of all events that answer one request, however often their stream was taken up again.
const MOST_EVENT_BYTES: usize = 16 * 1024 * 1024;
/// Time for a request that is let go of to end.
const ABANDON_DEADLINE: Duration = Duration::from_millis(500);

type Streamed = BoxStream<'static, Result<Sse, SseError>>;
type Headers = HashMap<HeaderName, HeaderValue>;

/// The request of one call, and what became of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Post {
    key: Option<HeaderValue>,
    connecting: Connecting,
    was_begun: Arc<AtomicBool>,
    /// Nobody waits for it any more.
    abandoned: CancellationToken,
    /// It is not being sent any more.
    ended: CancellationToken,
    answer: Arc<Answer>,
}

/// What came in answer to a request.
#[derive(Debug, Default)]
struct Answer {
    fault: Mutex<Option<Fault>>,
    event_bytes: AtomicUsize,
    /// By which the server knows where its stream ended.
    last_event: Mutex<Option<String>>,
}

impl Answer {
    fn fault(&self) -> Option<Fault> {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set_fault(&self, fault: Option<Fault>) {
        *self.fault.lock().unwrap_or_else(PoisonError::into_inner) = fault;
    }

    fn is_too_much(&self) -> bool {
        self.event_bytes.load(Ordering::SeqCst) > MOST_EVENT_BYTES
    }

    /// Takes an event of the stream, unless it is too much.
    fn take(&self, event: Sse) -> Result<Sse, Fault> {
        let texts = [&event.event, &event.data, &event.id];
        let bytes: usize = texts.into_iter().flatten().map(String::len).sum();
        self.event_bytes.fetch_add(bytes, Ordering::SeqCst);
        if self.is_too_much() {
            return Err(Fault::TooMuch(MOST_EVENT_BYTES));
        }
        if event.id.is_some() {
            self.last_event
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clone_from(&event.id);
        }
        Ok(event)
    }

    fn ended_at(&self, event: &str) -> bool {
        let last = self.last_event.lock().unwrap_or_else(PoisonError::into_inner);
        last.as_deref() == Some(event)
    }
}

impl Post {
    pub fn new(key: Option<&str>) -> Self {
        Self {
            key: key.and_then(|key| HeaderValue::from_str(key).ok()),
            ..Self::default()
        }
    }

    /// Whether the server may have the request, while there is no answer.
    pub fn was_sent(&self) -> Sent {
        if self.was_begun.load(Ordering::SeqCst) && !self.connecting.is_under_way() {
            Sent::Perhaps
        } else {
            Sent::No
        }
    }

    /// Has it not be sent from here on, and reports whether it was.
    pub async fn abandon(&self) -> Sent {
        self.abandoned.cancel();
        if !self.was_begun.load(Ordering::SeqCst) {
            return Sent::No;
        }
        // A connection that comes about meanwhile would be used.
        match tokio::time::timeout(ABANDON_DEADLINE, self.ended.cancelled()).await {
            Ok(()) => self.was_sent(),
            Err(_) => Sent::Perhaps,
        }
    }

    /// Whether it may still be sent; from then on it counts as begun.
    fn begin(&self) -> bool {
        self.answer.set_fault(None);
        self.was_begun.store(true, Ordering::SeqCst);
        let is_wanted = !self.abandoned.is_cancelled();
        self.was_begun.store(is_wanted, Ordering::SeqCst);
        is_wanted
    }

    /// The fault behind an error, if one of the transport is.
    pub fn fault_of(&self, error: &ServiceError) -> Option<Fault> {
        match error {
            // An answer, whatever happened before it.
            ServiceError::McpError(_) | ServiceError::UnexpectedResponse => None,
            ServiceError::TransportSend(error) => {
                Fault::within(error.error.as_ref()).or_else(|| self.fault())
            }
            _ => self.fault(),
        }
    }

    /// What went wrong with it last.
    pub fn fault(&self) -> Option<Fault> {
        self.answer.fault()
    }
}

/// The client of one session.
#[derive(Clone)]
pub(super) struct HttpClient {
    target: Arc<Target>,
    inner: reqwest::Client,
    handshake: CancellationToken,
    max_bytes: usize,
    /// Of requests that belong to no call: what they are answered with is bounded together.
    last: Post,
    /// The stream that answers no request.
    common: Arc<Answer>,
    /// Answers whose streams may be taken up again.
    open: Arc<Mutex<Vec<Weak<Answer>>>>,
}

impl HttpClient {
    /// A client whose requests of before the session's begin end when `handshake` is cancelled.
    pub fn new(
        target: Arc<Target>,
        inner: reqwest::Client,
        handshake: CancellationToken,
        max_bytes: usize,
    ) -> Self {
        Self {
            target,
            inner,
            handshake,
            max_bytes,
            last: Post::default(),
            common: Arc::default(),
            open: Arc::default(),
        }
    }

    /// The settings of its transport. A lost session is made again by whoever knows what may be repeated.
    pub fn config(&self) -> StreamableHttpClientTransportConfig {
        let mut resumption = ExponentialBackoff::default();
        resumption.max_times = Some(MOST_RESUMPTIONS);
        resumption.max_delay = Some(LONGEST_RESUMPTION);
        let headers = self.target.headers.iter();
        let headers = headers
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        let mut config = StreamableHttpClientTransportConfig::with_uri(self.target.url.as_str())
            .custom_headers(headers)
            .max_sse_event_size(self.max_bytes)
            .max_json_response_size(self.max_bytes)
            .reinit_on_expired_session(false);
        config.retry_config = Arc::new(resumption);
        config
    }

    /// What became of the requests that belong to no call.
    pub const fn last(&self) -> &Post {
        &self.last
    }

    async fn send(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        mut headers: Headers,
        limits: StreamableHttpResponseLimits,
    ) -> Result<StreamableHttpPostResponse, StreamableHttpError<Fault>> {
        let post = self.post_of(&message);
        let is_request = matches!(message, ClientJsonRpcMessage::Request(_));
        let _ended = post.ended.clone().drop_guard();
        if let Some(key) = &post.key {
            headers.insert(IDEMPOTENCY_KEY, key.clone());
        }
        let unwanted =
            || StreamableHttpError::Client(Fault::NotSent("nobody waits for it any more".to_owned()));
        if !post.begin() {
            return Err(unwanted());
        }
        let sending = self
            .inner
            .post_message_with_response_limits(uri, message, session, None, headers, limits);
        let response = tokio::select! {
            biased;
            () = self.handshake.cancelled() => return Err(unwanted()),
            () = post.abandoned.cancelled() => return Err(unwanted()),
            response = post.connecting.observe(sending) => response,
        };
        match response {
            // Nothing is to be said to an answer or a notification; such a stream could stay open for ever.
            Ok(StreamableHttpPostResponse::Sse(..)) if !is_request => {
                Ok(StreamableHttpPostResponse::Accepted)
            }
            Ok(StreamableHttpPostResponse::Sse(stream, session)) => Ok(StreamableHttpPostResponse::Sse(
                self.observed(stream, post.answer),
                session,
            )),
            Ok(response) => Ok(response),
            Err(error) => {
                let error = self.translated(error);
                if let StreamableHttpError::Client(fault) = &error {
                    post.answer.set_fault(Some(fault.clone()));
                }
                Err(error)
            }
        }
    }

    fn post_of(&self, message: &ClientJsonRpcMessage) -> Post {
        match message {
            ClientJsonRpcMessage::Request(request) => {
                let post = request.request.extensions().get::<Post>();
                post.unwrap_or(&self.last).clone()
            }
            ClientJsonRpcMessage::Notification(_) => self.last.clone(),
            ClientJsonRpcMessage::Response(_) | ClientJsonRpcMessage::Error(_) => Post::default(),
        }
    }

    /// A stream whose bytes and errors are noted for the call that it answers.
    fn observed(&self, stream: Streamed, answer: Arc<Answer>) -> Streamed {
        self.remember(&answer);
        let client = self.clone();
        let observe = move |event: Result<Sse, SseError>| {
            let taken = match event {
                Ok(event) => answer.take(event),
                Err(error) => Err(client.fault_of_stream(&error)),
            };
            taken.map_err(|fault| {
                answer.set_fault(Some(fault.clone()));
                SseError::Body(Box::new(fault))
            })
        };
        stream.map(observe).boxed()
    }

    fn remember(&self, answer: &Arc<Answer>) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|other| other.strong_count() > 0 && !std::ptr::eq(other.as_ptr(), Arc::as_ptr(answer)));
        open.push(Arc::downgrade(answer));
    }

    /// The answer whose stream ended at this event.
    fn answer_at(&self, event: Option<&str>) -> Arc<Answer> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let mut open = open.iter().filter_map(Weak::upgrade);
        let ended = event.and_then(|event| open.find(|answer| answer.ended_at(event)));
        ended.unwrap_or_else(|| Arc::clone(&self.common))
    }

    fn fault_of_stream(&self, error: &SseError) -> Fault {
        let text = error.to_string();
        // The transport has no type for it.
        if text.contains("event exceeded the maximum size") {
            return Fault::TooLarge(self.max_bytes);
        }
        let source = match error {
            SseError::Body(source) => reqwest_error(source.as_ref()),
            _ => None,
        };
        match source {
            Some(error) if error.is_body() || error.is_decode() || error.is_request() => {
                Fault::Cut("its stream broke off".to_owned())
            }
            _ => Fault::Protocol(self.target.excerpt(&text)),
        }
    }

    /// An error without address and secrets.
    fn translated(&self, error: StreamableHttpError<reqwest::Error>) -> StreamableHttpError<Fault> {
        StreamableHttpError::Client(match error {
            StreamableHttpError::ServerDoesNotSupportSse => {
                return StreamableHttpError::ServerDoesNotSupportSse;
            }
            StreamableHttpError::ServerDoesNotSupportDeleteSession => {
                return StreamableHttpError::ServerDoesNotSupportDeleteSession;
            }
            StreamableHttpError::SessionExpired => Fault::SessionLost,
            StreamableHttpError::ResponseBodyTooLarge { max_size } => Fault::TooLarge(max_size),
            StreamableHttpError::HttpStatus(error) => Fault::Status {
                status: error.status,
                retry_after: error.retry_after,
                said: String::new(),
            },
            StreamableHttpError::AuthRequired(_) => Fault::of_status(401),
            StreamableHttpError::InsufficientScope(_) => Fault::of_status(403),
            StreamableHttpError::Client(error) => self.fault_of_client(error),
            StreamableHttpError::UnexpectedServerResponse(text) => self.fault_of_answer(&text),
            other => Fault::Protocol(self.target.excerpt(&other.to_string())),
        })
    }

    /// The transport reports an answer that is an error as `HTTP 404 Not Found: ` and the beginning of its body.
    fn fault_of_answer(&self, text: &str) -> Fault {
        let status = text
            .strip_prefix("HTTP ")
            .and_then(|rest| rest.get(..3)?.parse().ok());
        match status {
            Some(status) => Fault::Status {
                status,
                retry_after: None,
                said: text
                    .split_once(": ")
                    .map_or_else(String::new, |(_, body)| self.target.excerpt(body)),
            },
            None => Fault::Protocol(self.target.excerpt(text)),
        }
    }

    fn fault_of_client(&self, error: reqwest::Error) -> Fault {
        if let Some(refused) = Refused::within(&error) {
            return Fault::Refused(refused);
        }
        if error.is_connect() || error.is_builder() {
            return Fault::NotSent(self.target.causes(error));
        }
        if let Some(status) = error.status() {
            return Fault::of_status(status.as_u16());
        }
        Fault::Cut(self.target.causes(error))
    }
}

fn reqwest_error<'a>(error: &'a (dyn StdError + 'static)) -> Option<&'a reqwest::Error> {
    let mut causes = std::iter::successors(Some(error), |cause| (*cause).source());
    causes.find_map(|cause| cause.downcast_ref())
}

impl StreamableHttpClient for HttpClient {
    type Error = Fault;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        _token: Option<String>,
        headers: Headers,
    ) -> Result<StreamableHttpPostResponse, StreamableHttpError<Fault>> {
        let mut limits = StreamableHttpResponseLimits::default();
        limits.max_sse_event_size = self.max_bytes;
        limits.max_json_response_size = self.max_bytes;
        self.send(uri, message, session, headers, limits).await
    }

    async fn post_message_with_response_limits(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        _token: Option<String>,
        headers: Headers,
        limits: StreamableHttpResponseLimits,
    ) -> Result<StreamableHttpPostResponse, StreamableHttpError<Fault>> {
        self.send(uri, message, session, headers, limits).await
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        _token: Option<String>,
        headers: Headers,
    ) -> Result<(), StreamableHttpError<Fault>> {
        let deleted = self.inner.delete_session(uri, session, None, headers).await;
        deleted.map_err(|error| self.translated(error))
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        _token: Option<String>,
        headers: Headers,
    ) -> Result<Streamed, StreamableHttpError<Fault>> {
        let answer = self.answer_at(last_event.as_deref());
        if answer.is_too_much() {
            // Of all errors one that no further request follows.
            return Err(StreamableHttpError::ServerDoesNotSupportSse);
        }
        let stream = self
            .inner
            .get_stream_with_max_sse_event_size(uri, session, last_event, None, headers, self.max_bytes)
            .await;
        let stream = stream.map_err(|error| self.translated(error))?;
        Ok(self.observed(stream, answer))
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        token: Option<String>,
        headers: Headers,
        _max_bytes: usize,
    ) -> Result<Streamed, StreamableHttpError<Fault>> {
        self.get_stream(uri, session, last_event, token, headers).await
    }
}
