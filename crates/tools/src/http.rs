//! A tool that is one HTTP endpoint.

mod reply;
mod template;

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION};
use reqwest::{Method, Request, Response, StatusCode, Url};
use serde_json::{Map, Value};
use tokio::time::{Instant, timeout_at};

use self::template::UrlTemplate;
use super::held::first_allowed;
use super::target::{Target, parse_url};
use super::tries::{FailedTry, Repeat, Tries, meaning};
use super::{Called, RaisedKind, Sent, ToolError, ToolException};
use codegen_code_mode::faults::HeldTo;
use codegen_egress::{EgressGate, Refused};
use codegen_model::{Connecting, RetryPolicy, Secret, retry_after};

/// Bytes that are read of an answer that is an error.
const LONGEST_ERROR: usize = 16 * 1024;
const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// Definition of an HTTP tool.
#[derive(Clone, Debug)]
pub struct HttpToolOptions {
    /// Name of the tool, for messages.
    pub name: String,
    /// GET, HEAD, POST, PUT, PATCH or DELETE.
    pub method: String,
    /// Address with `{parameter}` in its path.
    pub url: String,
    /// JSON Schema of the arguments, an object.
    pub parameters: Value,
    /// JSON Schema of the result.
    pub result: Option<Value>,
    /// Headers of every request.
    pub headers: Vec<(String, Secret)>,
    /// Largest reply, bytes after decompression.
    pub max_bytes: usize,
    /// Gate for the addresses that are spoken to; any where none is given, for whoever runs this process wrote the address.
    pub gate: Option<EgressGate>,
}

/// An HTTP endpoint as a tool.
#[derive(Debug)]
pub struct HttpEndpoint {
    target: Target,
    method: Method,
    template: UrlTemplate,
    result: Option<Arc<HeldTo>>,
    max_bytes: usize,
    policy: RetryPolicy,
}

impl HttpEndpoint {
    /// The tool, or what is wrong with its definition. Nothing is sent.
    pub fn new(options: HttpToolOptions) -> Result<Self, ToolError> {
        let name = &options.name;
        let method = method(name, &options.method)?;
        let template = UrlTemplate::new(&options.url, &options.parameters).map_err(|why| ToolError::Url {
            tool: name.clone(),
            why,
        })?;
        let url = parse_url(name, template.base().as_str())?;
        let result = options.result.as_ref().map(HeldTo::new).transpose();
        Ok(Self {
            target: Target::new(name, method.clone(), url, &options.headers, options.gate)?,
            method,
            template,
            result: result
                .map(|schema| schema.map(Arc::new))
                .map_err(|why| ToolError::Schema {
                    tool: options.name,
                    part: "result",
                    why: why.to_string(),
                })?,
            max_bytes: options.max_bytes,
            policy: RetryPolicy::default(),
        })
    }

    #[cfg(test)]
    pub(crate) fn with_policy(mut self, policy: RetryPolicy) -> Self {
        self.policy = policy;
        self
    }

    /// Reports whether a second call does what the first one did, as HTTP defines the method.
    pub fn is_idempotent(&self) -> bool {
        self.method.is_idempotent()
    }

    /// Calls the tool; all tries together take no longer than `timeout`. `key` distinguishes this call from every other one, for a
    /// server that would not make it twice.
    pub async fn call(&self, arguments: &Map<String, Value>, key: Option<&str>, timeout: Duration) -> Called {
        let request = match self.request(arguments, key) {
            Ok(request) => request,
            Err(raised) => return Called::Raised(raised),
        };
        let tries = Tries {
            deadline: Instant::now() + timeout,
            policy: self.policy,
            is_idempotent: self.is_idempotent(),
        };
        tries
            .run(|| self.try_once(&request, timeout, tries.deadline))
            .await
    }

    fn request(&self, arguments: &Map<String, Value>, key: Option<&str>) -> Result<Request, ToolException> {
        let invalid = |what: &str| self.raised(RaisedKind::ValueError, Sent::No, what);
        let (mut url, rest) = self
            .template
            .fill(arguments)
            .map_err(|why| invalid(&format!("was called with arguments that cannot be used: {why}")))?;
        let mut headers = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static("application/json"))]);
        let mut body = None;
        if has_body(&self.method) {
            let json = template::body(&rest);
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            body = Some(json.to_string());
        } else {
            template::add_query(&mut url, &rest);
        }
        if let Some(key) = key {
            let key = HeaderValue::from_str(key).map_err(|_| invalid("has a key that is no header value"))?;
            headers.insert(IDEMPOTENCY_KEY, key);
        }
        // Those of the user take the place of ours.
        headers.extend(self.target.headers.clone());
        let mut request = Request::new(self.method.clone(), url);
        *request.headers_mut() = headers;
        *request.body_mut() = body.map(Into::into);
        Ok(request)
    }

    async fn try_once(
        &self,
        request: &Request,
        timeout: Duration,
        deadline: Instant,
    ) -> Result<Called, FailedTry> {
        let connecting = Connecting::default();
        let exchange = connecting.observe(self.exchange(request, deadline));
        match timeout_at(deadline, exchange).await {
            Ok(outcome) => outcome,
            Err(_) => Err(self.timed_out(timeout, !connecting.is_under_way()).into()),
        }
    }

    async fn exchange(&self, request: &Request, deadline: Instant) -> Result<Called, FailedTry> {
        let client = self
            .target
            .client()
            .map_err(|why| self.raised(RaisedKind::RuntimeError, Sent::No, &why))?;
        let Some(request) = request.try_clone() else {
            let what = "has a request that cannot be sent";
            return Err(self.raised(RaisedKind::RuntimeError, Sent::No, what).into());
        };
        let response = client
            .execute(request)
            .await
            .map_err(|error| self.not_answered(error))?;
        let status = response.status();
        if status.is_success() {
            return self.returned(response, deadline).await;
        }
        let headers = response.headers().clone();
        let url = response.url().clone();
        let (text, _) = self.read(response, LONGEST_ERROR).await?;
        Err(self.rejection(status, &headers, &url, &String::from_utf8_lossy(&text)))
    }

    async fn returned(&self, response: Response, deadline: Instant) -> Result<Called, FailedTry> {
        let content_type = response.headers().get(CONTENT_TYPE).cloned();
        let content_type = content_type.as_ref().and_then(|value| value.to_str().ok());
        let (body, is_whole) = match response.content_length() {
            Some(length) if length > self.max_bytes as u64 => (Vec::new(), false),
            _ => self.read(response, self.max_bytes).await?,
        };
        let answered = |what: &str| self.raised(RaisedKind::RuntimeError, Sent::Answered, what);
        if !is_whole {
            return Err(answered(&format!(
                "replied with more than {} bytes, the limit: ask it for less at a time",
                self.max_bytes
            ))
            .into());
        }
        let value = self.value(content_type, &body, deadline).await;
        let value = value.map_err(|fault| answered(&self.target.excerpt(&fault)))?;
        // A server may repeat what it was sent, and a program's values are recorded.
        Ok(Called::Returned(self.target.redactor.redact_json(value)))
    }

    async fn value(
        &self,
        content_type: Option<&str>,
        body: &[u8],
        deadline: Instant,
    ) -> Result<Value, String> {
        let mut values = reply::values(content_type, body)?;
        let Some(schema) = self.result.clone() else {
            return Ok(values.swap_remove(0));
        };
        let allowed = first_allowed(move || Some(schema), values, deadline).await;
        allowed.map_err(|fault| format!("replied with what its result schema does not allow: {fault}"))
    }

    /// At most `limit` bytes of a body, and whether that is all of it.
    async fn read(&self, mut response: Response, limit: usize) -> Result<(Vec<u8>, bool), FailedTry> {
        let mut body = Vec::new();
        loop {
            match response.chunk().await {
                Ok(Some(chunk)) if body.len() + chunk.len() > limit => {
                    body.extend_from_slice(&chunk[..limit - body.len()]);
                    return Ok((body, false));
                }
                Ok(Some(chunk)) => body.extend_from_slice(&chunk),
                Ok(None) => return Ok((body, true)),
                Err(error) => return Err(self.cut(error)),
            }
        }
    }

    fn not_answered(&self, error: reqwest::Error) -> FailedTry {
        if let Some(refused) = Refused::within(&error) {
            let what = format!("was not called: {refused}");
            return self.raised(RaisedKind::ConnectionError, Sent::No, &what).into();
        }
        if !error.is_connect() && !error.is_builder() {
            return self.cut(error);
        }
        // No name, no route, refused, no TLS, or too slow: the request stayed here.
        let what = format!("cannot be reached: {}", self.target.causes(error));
        let raised = self.raised(RaisedKind::ConnectionError, Sent::No, &what);
        FailedTry::new(raised, Repeat::Always)
    }

    /// The request was sent, and no whole reply came back.
    fn cut(&self, error: reqwest::Error) -> FailedTry {
        let what = format!(
            "was called, and the connection ended before its reply was whole: {}",
            self.target.causes(error)
        );
        let raised = self.raised(RaisedKind::ConnectionError, Sent::Perhaps, &what);
        FailedTry::new(raised, Repeat::IfIdempotent)
    }

    fn timed_out(&self, timeout: Duration, was_sent: bool) -> ToolException {
        let seconds = timeout.as_secs_f64();
        let (was_sent, why) = if was_sent {
            (Sent::Perhaps, "the request was sent, and no whole reply came")
        } else {
            (Sent::No, "no connection came about")
        };
        let what = format!("gave no reply within {seconds} s: {why}");
        self.raised(RaisedKind::TimeoutError, was_sent, &what)
    }

    /// Turns an answer other than 2xx into the failure that it means.
    fn rejection(&self, status: StatusCode, headers: &HeaderMap, url: &Url, body: &str) -> FailedTry {
        if let (true, Some(location)) = (status.is_redirection(), headers.get(LOCATION)) {
            return self.redirected(url, location.to_str().unwrap_or_default()).into();
        }
        let retry_after = retry_after(headers, SystemTime::now());
        let (kind, was_sent, repeat) = meaning(status.as_u16(), retry_after.is_some());
        let what = format!("answered {}: {}", status.as_u16(), self.target.excerpt(body));
        FailedTry {
            raised: self.raised(kind, was_sent, &what),
            repeat,
            retry_after,
        }
    }

    fn redirected(&self, from: &Url, location: &str) -> ToolException {
        let to = from.join(location).map_or_else(
            |_| "an unreadable address".to_owned(),
            |url| url.origin().ascii_serialization(),
        );
        let what =
            format!("redirects to {to}, and is not followed there: set its URL to the address that answers");
        self.raised(RaisedKind::RuntimeError, Sent::Answered, &what)
    }

    fn raised(&self, kind: RaisedKind, was_sent: Sent, what: &str) -> ToolException {
        ToolException::new(kind, was_sent, &self.target.name, what)
    }
}

fn method(tool: &str, name: &str) -> Result<Method, ToolError> {
    let method = Method::from_bytes(name.as_bytes()).ok();
    let supported = [
        Method::GET,
        Method::HEAD,
        Method::POST,
        Method::PUT,
        Method::PATCH,
        Method::DELETE,
    ];
    method
        .filter(|method| supported.contains(method))
        .ok_or_else(|| ToolError::Method {
            tool: tool.to_owned(),
            method: name.to_owned(),
        })
}

fn has_body(method: &Method) -> bool {
    matches!(*method, Method::POST | Method::PUT | Method::PATCH)
}

#[cfg(test)]
mod tests;
