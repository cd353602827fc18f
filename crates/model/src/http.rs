//! One HTTP client for all providers: tries, pauses, deadlines, size limits.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use futures::future::BoxFuture;
use reqwest::header::{HeaderMap, LOCATION};
use reqwest::{Client, Method, StatusCode};
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use super::ModelError;
use super::connecting::{Connecting, ObserveConnections};
use super::endpoint::{Endpoint, is_quota_exhausted};
use super::retry::{RetryPolicy, is_transient, may_be_billed, retry_after};
use codegen_core::causes::with_causes;
use codegen_egress::{Refused, client_to, within_the_origin};

/// Largest answer that is read, bytes after decompression.
pub(super) const LARGEST_ANSWER: usize = 16 * 1024 * 1024;
const MOST_REDIRECTS: usize = 5;

/// Waits that long: a field, so that tests need not wait.
pub(super) type Pause = Arc<dyn Fn(Duration) -> BoxFuture<'static, ()> + Send + Sync>;

/// An answer that is final: 2xx, or a status that a repeat would not change.
#[derive(Debug)]
pub(super) struct FinalResponse {
    pub status: u16,
    pub body: Vec<u8>,
    location: Option<String>,
}

impl FinalResponse {
    pub const fn is_success(&self) -> bool {
        matches!(self.status, 200..=299)
    }
}

/// Sends requests to one endpoint.
pub(super) struct Http {
    pub endpoint: Endpoint,
    call_deadline: Duration,
    task_deadline: Option<Instant>,
    policy: RetryPolicy,
    pause: Pause,
    /// Built at the first request: a replayed run must not wait for the system's certificates to be read.
    client: OnceLock<Client>,
    /// Watch on whether the client makes a connection now.
    connecting: Connecting,
}

/// Failure of one try, when another may succeed and costs nothing more: no model had the request.
enum Failure {
    Connection(String),
    Status {
        status: u16,
        retry_after: Option<Duration>,
        may_be_billed: bool,
        detail: String,
    },
}

impl Http {
    pub fn new(endpoint: Endpoint, call_deadline: Duration, task_deadline: Option<Instant>) -> Self {
        Self {
            endpoint,
            call_deadline,
            task_deadline,
            policy: RetryPolicy::default(),
            pause: Arc::new(|pause| Box::pin(tokio::time::sleep(pause))),
            client: OnceLock::new(),
            connecting: Connecting::default(),
        }
    }

    #[cfg(test)]
    pub(crate) fn with_pause(mut self, pause: Pause) -> Self {
        self.pause = pause;
        self
    }

    /// The moment at which a call that begins now must have ended.
    pub fn deadline(&self) -> Instant {
        let own = Instant::now() + self.call_deadline;
        self.task_deadline.map_or(own, |task| task.min(own))
    }

    /// Posts `body` until there is a final answer, the tries are used up, or `deadline` passes. What may be billed is not tried
    /// again here: whoever keeps the budget decides whether there is another call.
    pub async fn post(&self, body: &Value, deadline: Instant) -> Result<FinalResponse, ModelError> {
        let begun = Instant::now();
        if begun >= deadline {
            return Err(self.deadline_exceeded(0, Duration::ZERO, None));
        }
        let client = self.client()?;
        let mut tries = 0;
        let mut before = None;
        loop {
            tries += 1;
            let attempt = self.connecting.observe(self.try_once(client, body));
            let Ok(outcome) = timeout_at(deadline, attempt).await else {
                return Err(self.deadline_exceeded(tries, deadline - begun, before));
            };
            let failure = match outcome? {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            if let Failure::Status {
                may_be_billed: true, ..
            } = failure
            {
                return Err(self.given_up(failure, tries));
            }
            let asked = match &failure {
                Failure::Status { retry_after, .. } => *retry_after,
                Failure::Connection(_) => None,
            };
            let pause = self.policy.pause(tries, asked, fastrand::f64());
            let resumes = Instant::now().checked_add(pause);
            // A pause beyond the deadline is of no use: the caller gets the error at once, with the pause that the server asked for.
            if tries >= self.policy.max_tries || resumes.is_none_or(|at| at >= deadline) {
                return Err(self.given_up(failure, tries));
            }
            tracing::debug!(
                endpoint = self.endpoint.shown,
                tries,
                ?pause,
                "model call failed, will be repeated"
            );
            before = Some(failure);
            (self.pause)(pause).await;
        }
    }

    /// The JSON of a 2xx answer; for any other the error that it means.
    pub fn json(&self, answer: &FinalResponse) -> Result<Value, ModelError> {
        if !answer.is_success() {
            return Err(self
                .endpoint
                .rejection(answer.status, &answer.body, answer.location.as_deref()));
        }
        serde_json::from_slice(&answer.body).map_err(|error| {
            self.endpoint
                .malformed(&format!("not JSON ({error})"), &answer.body)
        })
    }

    fn client(&self) -> Result<&Client, ModelError> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let make = || {
            client_to(self.endpoint.gate.as_ref(), &self.endpoint.url)
                .connector_layer(ObserveConnections)
                // A connection that the server has closed meanwhile looks like one that ended after the request was sent.
                .pool_max_idle_per_host(0)
                .redirect(within_the_origin(&Method::POST, MOST_REDIRECTS))
                .build()
        };
        let client = self.endpoint.client(make);
        let client = client.map_err(|error| ModelError::Client {
            detail: with_causes(&error),
        })?;
        Ok(self.client.get_or_init(|| client))
    }

    /// One try. The outer error is final, the inner one may be repeated.
    async fn try_once(
        &self,
        client: &Client,
        body: &Value,
    ) -> Result<Result<FinalResponse, Failure>, ModelError> {
        let request = client
            .post(self.endpoint.url.clone())
            .headers(self.endpoint.headers.clone())
            .json(body);
        let response = match request.send().await {
            Ok(response) => response,
            // A refused address is no fault of the network, and refused at every try.
            Err(error) => match Refused::within(&error) {
                Some(refused) => return Err(refused.into()),
                // No name, no route, refused, no TLS, or too slow: the request stayed here.
                None if error.is_connect() || error.is_builder() => {
                    return Ok(Err(Failure::Connection(self.connection_detail(error))));
                }
                None => return Err(self.cut_reply(error)),
            },
        };
        let status = response.status();
        let headers = response.headers().clone();
        let body = match self.read_body(response).await? {
            Ok(body) => body,
            Err(error) => return Err(self.cut_reply(error)),
        };
        Ok(self.judge(status, &headers, body))
    }

    fn judge(
        &self,
        status: StatusCode,
        headers: &HeaderMap,
        body: Vec<u8>,
    ) -> Result<FinalResponse, Failure> {
        let status = status.as_u16();
        let text = String::from_utf8_lossy(&body);
        // A 429 for want of credit does not pass by waiting.
        if is_transient(status) && !(status == 429 && is_quota_exhausted(&text)) {
            return Err(Failure::Status {
                status,
                retry_after: retry_after(headers, SystemTime::now()),
                may_be_billed: may_be_billed(status, &body),
                detail: self.endpoint.explanation(&text),
            });
        }
        let location = headers
            .get(LOCATION)
            .and_then(|value| value.to_str().ok())
            .map(str::to_owned);
        Ok(FinalResponse {
            status,
            body,
            location,
        })
    }

    /// The whole body. The outer error says that it is too large, the inner one that the connection ended.
    async fn read_body(
        &self,
        mut response: reqwest::Response,
    ) -> Result<Result<Vec<u8>, reqwest::Error>, ModelError> {
        let mut body = Vec::new();
        loop {
            match response.chunk().await {
                Ok(Some(chunk)) if body.len() + chunk.len() > LARGEST_ANSWER => {
                    return Err(ModelError::TooLarge {
                        endpoint: self.endpoint.shown.clone(),
                        limit: LARGEST_ANSWER,
                    });
                }
                Ok(Some(chunk)) => body.extend_from_slice(&chunk),
                Ok(None) => return Ok(Ok(body)),
                Err(error) => return Ok(Err(error)),
            }
        }
    }

    fn connection_detail(&self, error: reqwest::Error) -> String {
        // The address may hold secrets in its query.
        self.endpoint.excerpt(&with_causes(&error.without_url()))
    }

    /// The request was sent, and no whole reply came back.
    fn cut_reply(&self, error: reqwest::Error) -> ModelError {
        ModelError::CutReply {
            endpoint: self.endpoint.shown.clone(),
            detail: self.connection_detail(error),
        }
    }

    fn given_up(&self, failure: Failure, tries: u32) -> ModelError {
        let endpoint = self.endpoint.shown.clone();
        match failure {
            Failure::Connection(detail) => ModelError::Unreachable {
                endpoint,
                address_from: self.endpoint.named.address,
                tries,
                detail,
            },
            Failure::Status {
                status,
                retry_after,
                may_be_billed,
                detail,
            } => ModelError::Unavailable {
                endpoint,
                status,
                tries,
                retry_after,
                may_be_billed,
                detail,
            },
        }
    }

    fn deadline_exceeded(&self, tries: u32, allowed: Duration, before: Option<Failure>) -> ModelError {
        let was_sent = tries > 0 && !self.connecting.is_under_way();
        let now = match (tries, was_sent) {
            (0, _) => "the time was over before the request was sent",
            (_, true) => "the request was sent, and the server stayed silent",
            (_, false) => "no connection came about",
        };
        let detail = match before {
            None => now.to_owned(),
            Some(Failure::Connection(detail)) => format!("{now}; the try before failed: {detail}"),
            Some(Failure::Status { status, detail, .. }) => {
                format!("{now}; the try before got {status}: {detail}")
            }
        };
        ModelError::DeadlineExceeded {
            endpoint: self.endpoint.shown.clone(),
            tries,
            allowed,
            was_sent,
            detail,
        }
    }
}

#[cfg(test)]
mod tests;
