//! A server that answers from recordings, as OpenAI-compatible servers and as Anthropic's do: for demonstrations, tests and measurements
//! on a cluster.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::http::{StatusCode, Uri};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::{Value, json};
use thiserror::Error;

use self::dialect::ServerProtocol;
use super::ModelError;
use super::recorded::{RecordedReply, parse_lines};
use codegen_core::call::CallKind;
use codegen_core::digest::sha256_hex_of_parts;
use codegen_data::context::estimate_tokens;

mod dialect;

/// Recordings, each under a base address of its own.
///
/// What a request asks for is the name of its JSON Schema (of the tool that it forces), or a turn where it offers tools. The first distinct request of a kind gets the first reply of this
/// kind, the next distinct one the second, and after the last the first again; a request that was seen before gets the reply
/// that it got then. So any number of equal tasks may run at once, and a call that is repeated after a crash changes nothing.
#[derive(Debug, Default)]
pub struct ReplyServer {
    /// By base path (`/penguins/v1`).
    scripts: BTreeMap<String, Script>,
    latency: Duration,
}

/// A recording that cannot be served.
#[derive(Debug, Error)]
pub enum ReplyServerError {
    /// The name cannot stand in an address.
    #[error("{0:?} cannot be a name of replies: use lower-case letters, digits and dashes")]
    Name(String),
    /// Two recordings for one address.
    #[error("two recordings are given for {0}: give each its own name, as in --replies name=FILE")]
    Twice(String),
    /// A line is unreadable.
    #[error(transparent)]
    Recording(#[from] ModelError),
}

/// The replies of one recording by kind, and which requests got which.
#[derive(Debug)]
struct Script {
    replies: BTreeMap<CallKind, Vec<RecordedReply>>,
    seen: Mutex<BTreeMap<CallKind, Seen>>,
}

/// The requests of one kind.
#[derive(Debug, Default)]
struct Seen {
    requests: u64,
    /// Hash of a request -> how many distinct ones came before it.
    distinct: HashMap<String, usize>,
}

impl ReplyServer {
    /// A server without recordings that lets `latency` pass before each reply.
    #[must_use]
    pub fn new(latency: Duration) -> Self {
        Self {
            scripts: BTreeMap::new(),
            latency,
        }
    }

    /// Serves the JSON Lines of `recording` under `/{name}/v1`, or under `/v1` without a name.
    pub fn add(&mut self, name: Option<&str>, recording: &str) -> Result<(), ReplyServerError> {
        let base = match name {
            Some(name) if !is_name(name) => return Err(ReplyServerError::Name(name.to_owned())),
            Some(name) => format!("/{name}/v1"),
            None => "/v1".to_owned(),
        };
        if self.scripts.contains_key(&base) {
            return Err(ReplyServerError::Twice(base));
        }
        let mut replies: BTreeMap<CallKind, Vec<RecordedReply>> = BTreeMap::new();
        for (_, reply) in parse_lines(&base, recording)? {
            replies.entry(reply.kind).or_default().push(reply);
        }
        let seen = Mutex::default();
        self.scripts.insert(base, Script { replies, seen });
        Ok(())
    }

    /// The paths that are base addresses of models (`/penguins/v1`).
    pub fn base_paths(&self) -> impl Iterator<Item = &str> {
        self.scripts.keys().map(String::as_str)
    }

    /// The routes: `POST {base}/chat/completions` and `POST {base}/messages` for each recording, `GET /requests` (how many requests of each kind came, and
    /// how many of them were distinct), `GET /healthz`.
    pub fn router(self) -> Router {
        let server = Arc::new(self);
        let mut router = Router::new().route("/healthz", get(|| async { "ok" }));
        let counted = Arc::clone(&server);
        router = router.route("/requests", get(async move || Json(counted.counts())));
        for base in server.scripts.keys() {
            for dialect in ServerProtocol::ALL {
                let server = Arc::clone(&server);
                let path = format!("{base}/{}", dialect.path());
                let base = base.clone();
                router = router.route(
                    &path,
                    post(async move |Json(body): Json<Value>| server.answer(&base, dialect, &body).await),
                );
            }
        }
        router.fallback(async move |uri: Uri| {
            let bases: Vec<&str> = server.base_paths().collect();
            let message = format!(
                "nothing is served at {}: base addresses are {}",
                uri.path(),
                bases.join(", ")
            );
            refusal(StatusCode::NOT_FOUND, &message)
        })
    }

    async fn answer(&self, base: &str, dialect: ServerProtocol, body: &Value) -> (StatusCode, Json<Value>) {
        let Some(script) = self.scripts.get(base) else {
            return refusal(StatusCode::NOT_FOUND, "there is no such recording");
        };
        let Some((kind, recorded)) = script.reply_to(dialect, body) else {
            return refusal(StatusCode::BAD_REQUEST, &script.unknown(base, dialect, body));
        };
        tokio::time::sleep(self.latency).await;
        let reply = recorded.to_reply(|| estimate_tokens(&body["messages"].to_string()));
        tracing::info!(base, kind = kind.as_str(), "answered");
        (StatusCode::OK, Json(dialect.answer(body, kind, &reply)))
    }

    fn counts(&self) -> Value {
        self.scripts
            .iter()
            .map(|(base, script)| (base.clone(), script.counts()))
            .collect()
    }
}

impl Script {
    fn reply_to(&self, dialect: ServerProtocol, body: &Value) -> Option<(CallKind, &RecordedReply)> {
        let kind: CallKind = serde_json::from_value(dialect.kind_name(body)?).ok()?;
        let replies = self.replies.get(&kind)?;
        let hash = sha256_hex_of_parts(&[&body["messages"].to_string()]);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = seen.entry(kind).or_default();
        seen.requests += 1;
        let next = seen.distinct.len();
        let position = *seen.distinct.entry(hash).or_insert(next);
        Some((kind, replies.get(position % replies.len())?))
    }

    fn unknown(&self, base: &str, dialect: ServerProtocol, body: &Value) -> String {
        let kinds: Vec<&str> = self.replies.keys().map(|kind| kind.as_str()).collect();
        let asked = dialect.kind_name(body);
        let asked = asked.map_or_else(|| "no kind of call".to_owned(), |name| name.to_string());
        format!(
            "the recording at {base} has no reply: the request names {asked}, there are replies to {}",
            kinds.join(", ")
        )
    }

    fn counts(&self) -> Value {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.iter()
            .map(|(kind, seen)| {
                let counts = json!({"requests": seen.requests, "distinct": seen.distinct.len()});
                (kind.as_str().to_owned(), counts)
            })
            .collect()
    }
}

fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}

fn refusal(status: StatusCode, message: &str) -> (StatusCode, Json<Value>) {
    let error = json!({"error": {"message": message, "type": "invalid_request_error"}});
    (status, Json(error))
}

#[cfg(test)]
mod tests;
