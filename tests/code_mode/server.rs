//! A shop on the loopback: HTTP tools, MCP servers by streamable HTTP, and a model with the replies of a test.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{any, get, post};
use axum::{Json, Router};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ListToolsResult, PaginatedRequestParams,
    ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};

/// Longest wait for something that must happen.
const PATIENCE: Duration = Duration::from_mins(2);

/// What the shop had, and what its model still says.
#[derive(Default)]
struct Log {
    requests: Mutex<Vec<String>>,
    changed: Condvar,
    replies: Mutex<VecDeque<String>>,
}

impl Log {
    fn add(&self, request: impl Into<String>) -> usize {
        let request = request.into();
        let mut requests = self.requests.lock().unwrap();
        requests.push(request.clone());
        self.changed.notify_all();
        requests.iter().filter(|other| **other == request).count()
    }
}

/// The shop. It ends with the test.
pub struct Shop {
    /// Its address without a path.
    pub origin: String,
    log: Arc<Log>,
    runtime: Option<Runtime>,
}

impl Shop {
    /// A shop whose model answers with these programs, in order.
    pub fn open(programs: &[&str]) -> Self {
        let log = Arc::new(Log::default());
        let reply = |program: &&str| json!({"program": program}).to_string();
        *log.replies.lock().unwrap() = programs.iter().map(reply).collect();
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        let listener = runtime
            .block_on(tokio::net::TcpListener::bind("127.0.0.1:0"))
            .unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let router = router(Arc::clone(&log));
        runtime.spawn(async move { axum::serve(listener, router).await });
        Self {
            origin,
            log,
            runtime: Some(runtime),
        }
    }

    /// How often it had this request.
    pub fn count(&self, request: &str) -> usize {
        let requests = self.log.requests.lock().unwrap();
        requests.iter().filter(|other| *other == request).count()
    }

    /// Waits until it has had this request.
    pub fn until(&self, request: &str) {
        let requests = self.log.requests.lock().unwrap();
        let is_missing = |requests: &mut Vec<String>| !requests.iter().any(|other| other == request);
        let (requests, waited) = self
            .log
            .changed
            .wait_timeout_while(requests, PATIENCE, is_missing)
            .unwrap();
        assert!(!waited.timed_out(), "no {request} among {requests:?}");
    }
}

impl Drop for Shop {
    fn drop(&mut self) {
        // Requests that are never answered must not hold up the end.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

fn router(log: Arc<Log>) -> Router {
    Router::new()
        .route("/v1/chat/completions", post(model))
        .route("/rate/{base}", get(rate))
        .route("/slow", get(slow))
        .route("/refund", any(refund))
        .nest_service("/mcp", service(vec![stock()], &log))
        .nest_service("/empty", service(Vec::new(), &log))
        .with_state(log)
}

async fn model(State(log): State<Arc<Log>>) -> Response {
    log.add("model".to_owned());
    let Some(reply) = log.replies.lock().unwrap().pop_front() else {
        return (StatusCode::BAD_REQUEST, "no reply is left").into_response();
    };
    let message = json!({"role": "assistant", "content": reply});
    Json(json!({
        "model": "m",
        "choices": [{"message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10},
    }))
    .into_response()
}

async fn rate(State(log): State<Arc<Log>>, Path(base): Path<String>, headers: HeaderMap) -> Response {
    log.add(format!("rate {base}"));
    if let Some(key) = headers.get("x-key") {
        log.add(format!("key {}", key.to_str().unwrap()));
    }
    match base.as_str() {
        "USD" => Json(1.5).into_response(),
        "CHF" => Json(0.5).into_response(),
        other => (StatusCode::NOT_FOUND, format!("there is no currency {other}")).into_response(),
    }
}

/// Answers the second request alone.
async fn slow(State(log): State<Arc<Log>>) -> Response {
    if log.add("slow".to_owned()) == 1 {
        std::future::pending::<()>().await;
    }
    Json(7).into_response()
}

/// Gives money back; never answers about the order `lost`.
async fn refund(State(log): State<Arc<Log>>, method: Method, uri: Uri, body: String) -> Response {
    let order: Value = serde_json::from_str(&body).unwrap_or_default();
    let order = order["order"].as_str().unwrap_or_default().to_owned();
    log.add(format!("{method} {} {order}", uri.path()));
    if order == "lost" {
        std::future::pending::<()>().await;
    }
    Json(json!({"refunded": true})).into_response()
}

fn stock() -> Tool {
    let schema = json!({"type": "object", "properties": {"item": {"type": "string"}}, "required": ["item"]});
    let schema = schema.as_object().unwrap().clone();
    Tool::new("stock", "How many are left.", Arc::new(schema))
        .with_annotations(ToolAnnotations::new().read_only(true))
}

fn service(tools: Vec<Tool>, log: &Arc<Log>) -> StreamableHttpService<Server, LocalSessionManager> {
    let log = Arc::clone(log);
    let server = Server { tools, log };
    StreamableHttpService::new(
        move || Ok(server.clone()),
        Arc::new(LocalSessionManager::default()),
        StreamableHttpServerConfig::default(),
    )
}

#[derive(Clone)]
struct Server {
    tools: Vec<Tool>,
    log: Arc<Log>,
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools.clone()))
    }

    async fn call_tool(
        &self,
        call: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = json!(call.arguments);
        let item = arguments["item"].as_str().unwrap_or_default();
        self.log.add(format!("stock {item}"));
        let left = json!({"left": item.len()});
        Ok(CallToolResponse::Complete(CallToolResult::structured(left)))
    }
}
