//! An MCP server of before `server/discover` that answers as a test likes.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// A request that the server had.
#[derive(Clone, Debug)]
pub(super) struct Had {
    pub method: Method,
    pub headers: HeaderMap,
    pub message: Value,
}

/// Answer to a request.
pub(super) enum Reply {
    Json(Value),
    Sse(Value),
    Error(i64, String),
    Raw(Response),
    /// As a server of its time would.
    Usual,
}

pub(super) struct Fake {
    pub url: String,
    pub origin: String,
    had: Arc<Mutex<Vec<Had>>>,
}

impl Fake {
    /// A server that answers by `behave` what it does not leave as usual.
    pub async fn start(behave: impl Fn(&Had) -> Reply + Clone + Send + Sync + 'static) -> Self {
        let had: Arc<Mutex<Vec<Had>>> = Arc::default();
        let log = Arc::clone(&had);
        let answer = move |method: Method, headers: HeaderMap, body: Bytes| {
            let message = serde_json::from_slice(&body).unwrap_or(Value::Null);
            let request = Had {
                method,
                headers,
                message,
            };
            log.lock().unwrap().push(request.clone());
            let reply = behave(&request);
            async move { response(&request, reply) }
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, Router::new().fallback(answer)).await });
        Self {
            url: format!("{origin}/mcp"),
            origin,
            had,
        }
    }

    pub fn all(&self) -> Vec<Had> {
        self.had.lock().unwrap().clone()
    }

    /// The requests of a method of the protocol.
    pub fn had(&self, method: &str) -> Vec<Had> {
        let had = self.all().into_iter();
        had.filter(|had| had.message["method"] == method).collect()
    }
}

fn response(request: &Had, reply: Reply) -> Response {
    let id = &request.message["id"];
    let result = |result: &Value| json!({"jsonrpc": "2.0", "id": id, "result": result});
    match reply {
        Reply::Json(value) => axum::Json(result(&value)).into_response(),
        Reply::Sse(value) => {
            let comment = ": a comment\n\nevent: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\
                           \"params\":{\"level\":\"info\",\"data\":\"working\"}}\n\n";
            let body = format!("{comment}data: {}\n\n", result(&value));
            ([("content-type", "text/event-stream")], body).into_response()
        }
        Reply::Error(code, message) => {
            let error = json!({"code": code, "message": message});
            axum::Json(json!({"jsonrpc": "2.0", "id": id, "error": error})).into_response()
        }
        Reply::Raw(response) => response,
        Reply::Usual => usual(request, &result),
    }
}

fn usual(request: &Had, result: &dyn Fn(&Value) -> Value) -> Response {
    if request.method == Method::GET {
        return StatusCode::METHOD_NOT_ALLOWED.into_response();
    }
    match request.message["method"].as_str().unwrap_or_default() {
        "initialize" => {
            let initialized = json!({
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "fake", "version": "1"},
            });
            (
                [("mcp-session-id", "session-1")],
                axum::Json(result(&initialized)),
            )
                .into_response()
        }
        "server/discover" => (StatusCode::BAD_REQUEST, "no session").into_response(),
        "tools/list" => axum::Json(result(&json!({"tools": [tool("search")]}))).into_response(),
        "tools/call" => {
            let content = json!([{"type": "text", "text": "{\"found\": 7}"}]);
            axum::Json(result(&json!({"content": content}))).into_response()
        }
        _ => StatusCode::ACCEPTED.into_response(),
    }
}

pub(super) fn tool(name: &str) -> Value {
    json!({"name": name, "inputSchema": {"type": "object"}})
}

/// A response whose body goes on for ever.
pub(super) fn endless(content_type: &'static str, start: &'static str) -> Response {
    let start = futures::stream::iter([Ok::<_, std::io::Error>(Bytes::from_static(start.as_bytes()))]);
    let rest = futures::stream::repeat_with(|| Ok(Bytes::from_static(&[b'x'; 16_384])));
    let body = Body::from_stream(futures::StreamExt::chain(start, rest));
    ([("content-type", content_type)], body).into_response()
}

/// A response that begins and never goes on.
pub(super) fn silence() -> Response {
    let never = futures::stream::pending::<Result<Bytes, std::io::Error>>();
    ([("content-type", "application/json")], Body::from_stream(never)).into_response()
}

/// A response whose connection breaks within the body.
pub(super) fn broken(content_type: &'static str) -> Response {
    let pieces = [
        Ok(Bytes::from_static(b"data: {")),
        Err(std::io::Error::other("cut")),
    ];
    (
        [("content-type", content_type)],
        Body::from_stream(futures::stream::iter(pieces)),
    )
        .into_response()
}
