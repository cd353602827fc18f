//! MCP clients against servers of this machine: one of the library, good and bad ones of the tests, one over standard streams.

mod command;
mod fake;
mod listing;
mod unasked;

use std::sync::atomic::{AtomicUsize, Ordering};

use axum::http::StatusCode;
use axum::response::IntoResponse as _;
use reqwest::redirect::Policy;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ListToolsResult, PaginatedRequestParams,
    ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use rstest::rstest;
use serde_json::json;

use self::fake::{Fake, Had, Reply, broken, endless, silence};
use super::call::KEY_IN_META;
use super::*;
use crate::DEFAULT_MAX_BYTES;
use crate::test_support::QUICK;
use codegen_code_mode::signature::Effect;
use codegen_egress::client_to;
use codegen_model::Secret;

const TOKEN: &str = "tok-0123456789";
/// Long enough for every answer that comes.
const LONG: Duration = Duration::from_mins(1);
/// For answers that never come.
const SHORT: Duration = Duration::from_millis(250);

fn client_of(server: McpServer, origin: &str) -> McpClient {
    let options = McpOptions {
        name: "docs".to_owned(),
        server,
        max_bytes: DEFAULT_MAX_BYTES,
        gate: Some(EgressGate::direct(&[origin], &[])),
    };
    McpClient::new(options).unwrap().with_policy(QUICK)
}

fn client(fake: &Fake) -> McpClient {
    let server = McpServer::Url {
        url: fake.url.clone(),
        headers: vec![(
            "authorization".to_owned(),
            Secret::new(&format!("Bearer {TOKEN}")),
        )],
    };
    client_of(server, &fake.origin)
}

fn tool() -> Tool {
    Tool {
        name: "search".to_owned(),
        description: String::new(),
        parameters: json!({"type": "object"}),
        result: None,
        effect: Effect::Once,
        is_loosened: false,
    }
}

fn idempotent() -> Tool {
    Tool {
        effect: Effect::Idempotent,
        ..tool()
    }
}

async fn call(client: &McpClient, tool: &Tool, timeout: Duration) -> Called {
    let arguments = json!({"q": "refund"}).as_object().unwrap().clone();
    client.call(tool, arguments, Some("run-1/7"), timeout).await
}

async fn list(client: &McpClient, only: &[&str]) -> Result<Vec<Tool>, ToolError> {
    let only: Vec<String> = only.iter().map(|name| (*name).to_owned()).collect();
    client.list_tools(&only, Instant::now() + LONG).await
}

fn raised(called: Called) -> ToolException {
    match called {
        Called::Raised(raised) => {
            assert!(!raised.message.contains(TOKEN), "{}", raised.message);
            raised
        }
        Called::Returned(value) => panic!("{value}"),
    }
}

/// A server that answers calls by `reply` and all else as usual.
async fn fake(reply: impl Fn(usize) -> Reply + Clone + Send + Sync + 'static) -> Fake {
    let calls = Arc::new(AtomicUsize::new(0));
    Fake::start(move |had| match had.message["method"].as_str() {
        Some("tools/call") => reply(calls.fetch_add(1, Ordering::Relaxed)),
        _ => Reply::Usual,
    })
    .await
}

fn found() -> Value {
    json!({"found": 7})
}

#[tokio::test]
async fn a_server_of_the_handshakes_time_lists_its_tools_and_is_called() {
    let fake = fake(|_| Reply::Usual).await;
    let client = client(&fake);
    assert_eq!(list(&client, &[]).await.unwrap(), [tool()]);
    assert_eq!(call(&client, &tool(), LONG).await, Called::Returned(found()));
    assert_eq!(fake.had("initialize").len(), 1);
    let had = fake.had("tools/call").remove(0);
    assert_eq!(had.headers["authorization"], format!("Bearer {TOKEN}"));
    assert_eq!(had.headers["idempotency-key"], "run-1/7");
    assert_eq!(had.headers["mcp-session-id"], "session-1");
    assert_eq!(had.message["params"]["_meta"][KEY_IN_META], "run-1/7");
    assert_eq!(had.message["params"]["arguments"], json!({"q": "refund"}));
}

struct Library;

impl ServerHandler for Library {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        page: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let is_first = page.and_then(|page| page.cursor).is_none();
        let name = if is_first { "first" } else { "second" };
        let tool = rmcp::model::Tool::new(name, "Does something.", Arc::new(Map::new()));
        let mut listed = ListToolsResult::with_all_items(vec![tool]);
        listed.next_cursor = is_first.then(|| "2".to_owned());
        Ok(listed)
    }

    async fn call_tool(
        &self,
        call: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let value = json!({"name": call.name, "arguments": call.arguments});
        Ok(CallToolResponse::Complete(CallToolResult::structured(value)))
    }
}

#[rstest]
#[case::as_an_event(false)]
#[case::as_json(true)]
#[tokio::test]
async fn a_server_of_the_library_lists_page_after_page_and_replies(#[case] as_json: bool) {
    let mut config = StreamableHttpServerConfig::default();
    config.json_response = as_json;
    let service =
        StreamableHttpService::new(|| Ok(Library), Arc::new(LocalSessionManager::default()), config);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, axum::Router::new().fallback_service(service)).await });
    let server = McpServer::Url {
        url: format!("{origin}/mcp"),
        headers: Vec::new(),
    };
    let client = client_of(server, &origin);
    let names = list(&client, &[])
        .await
        .unwrap()
        .into_iter()
        .map(|tool| tool.name);
    assert_eq!(names.collect::<Vec<_>>(), ["first", "second"]);
    let expected = json!({"name": "search", "arguments": {"q": "refund"}});
    assert_eq!(call(&client, &tool(), LONG).await, Called::Returned(expected));
}

#[tokio::test]
async fn a_reply_may_be_an_event_after_others() {
    let fake = fake(|_| Reply::Sse(json!({"structuredContent": {"found": 7}, "content": []}))).await;
    assert_eq!(
        call(&client(&fake), &tool(), LONG).await,
        Called::Returned(found())
    );
}

#[rstest]
#[case(json!([{"type": "text", "text": "plain"}]), json!("plain"))]
#[case(json!([{"type": "text", "text": "[1, 2]"}]), json!([1, 2]))]
#[case(json!([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]), json!("a\nb"))]
#[case(json!([]), json!(null))]
#[tokio::test]
async fn texts_are_joined_and_read_as_json_where_they_are(#[case] content: Value, #[case] expected: Value) {
    let fake = fake(move |_| Reply::Json(json!({"content": content}))).await;
    assert_eq!(
        call(&client(&fake), &tool(), LONG).await,
        Called::Returned(expected)
    );
}

#[rstest]
#[case(json!({"content": [{"type": "image", "data": "aGk=", "mimeType": "image/png"}]}), "replied with an image (image/png), which a program cannot have")]
#[case(json!({"content": [{"type": "text", "text": "no such page"}], "isError": true}), "failed: no such page")]
#[case(json!({"content": [], "structuredContent": {"found": "x"}}), "at `/found`: ")]
#[case(json!({"resultType": "input_required", "inputRequests": {}}), "asks for input of a person")]
#[tokio::test]
async fn a_result_that_a_program_cannot_have_is_named(#[case] result: Value, #[case] why: &str) {
    let fake = fake(move |_| Reply::Json(result.clone())).await;
    let tool = Tool {
        result: Some(json!({"properties": {"found": {"type": "number"}}})),
        ..tool()
    };
    let raised = raised(call(&client(&fake), &tool, LONG).await);
    assert!(raised.message.starts_with("tool `search` "), "{}", raised.message);
    assert!(raised.message.contains(why), "{}", raised.message);
    assert_eq!(
        (raised.kind, raised.was_sent),
        (RaisedKind::RuntimeError, Sent::Answered)
    );
}

#[rstest]
#[case(-32_602, RaisedKind::ValueError)]
#[case(-32_603, RaisedKind::RuntimeError)]
#[tokio::test]
async fn an_error_of_the_protocol_is_quoted_without_secrets(#[case] code: i64, #[case] kind: RaisedKind) {
    let fake = fake(move |_| Reply::Error(code, format!("q is too short for {TOKEN}"))).await;
    let raised = raised(call(&client(&fake), &tool(), LONG).await);
    let expected = format!("tool `search` failed: q is too short for [redacted:authorization] ({code})");
    assert_eq!(raised.message, expected);
    assert_eq!((raised.kind, raised.was_sent), (kind, Sent::Answered));
}

#[tokio::test]
async fn a_session_that_is_lost_is_opened_again_and_the_call_made() {
    let fake = fake(|count| match count {
        1 => Reply::Raw(StatusCode::NOT_FOUND.into_response()),
        _ => Reply::Usual,
    })
    .await;
    let client = client(&fake);
    for _ in 0..2 {
        assert_eq!(call(&client, &tool(), LONG).await, Called::Returned(found()));
    }
    assert_eq!(
        (fake.had("initialize").len(), fake.had("tools/call").len()),
        (2, 3)
    );
}

#[tokio::test]
async fn a_session_that_is_lost_at_once_is_opened_once() {
    let fake = fake(|_| Reply::Raw(StatusCode::NOT_FOUND.into_response())).await;
    let raised = raised(call(&client(&fake), &tool(), LONG).await);
    assert_eq!(
        (raised.kind, raised.was_sent),
        (RaisedKind::ConnectionError, Sent::No)
    );
    assert!(
        raised.message.contains("replicas share sessions"),
        "{}",
        raised.message
    );
    assert_eq!(
        (fake.had("initialize").len(), fake.had("tools/call").len()),
        (2, 2)
    );
}

#[rstest]
#[case::json("application/json")]
#[case::events("text/event-stream")]
#[tokio::test]
async fn a_call_whose_connection_broke_is_made_again_only_where_that_does_no_harm(
    #[case] content_type: &'static str,
) {
    let cut_once = move |count| match count {
        0 => Reply::Raw(broken(content_type)),
        _ => Reply::Usual,
    };
    let server = fake(cut_once).await;
    let raised = raised(call(&client(&server), &tool(), LONG).await);
    assert_eq!(
        (raised.kind, raised.was_sent),
        (RaisedKind::ConnectionError, Sent::Perhaps),
        "{}",
        raised.message
    );
    assert_eq!(server.had("tools/call").len(), 1);
    let server = fake(cut_once).await;
    assert_eq!(
        call(&client(&server), &idempotent(), LONG).await,
        Called::Returned(found())
    );
}

#[rstest]
#[case::json("application/json", "{\"x\": \"")]
#[case::an_event("text/event-stream", "data: ")]
#[tokio::test]
async fn a_reply_without_an_end_is_not_held(#[case] content_type: &'static str, #[case] start: &'static str) {
    let fake = fake(move |_| Reply::Raw(endless(content_type, start))).await;
    let raised = raised(call(&client(&fake), &idempotent(), LONG).await);
    assert_eq!(
        raised.message,
        "tool `search` replied with more than 1048576 bytes, the limit: ask it for less at a time"
    );
    assert_eq!(
        (raised.kind, raised.was_sent),
        (RaisedKind::RuntimeError, Sent::Answered)
    );
    assert_eq!(fake.had("tools/call").len(), 1);
}

#[tokio::test]
async fn a_server_fault_is_tried_again_where_a_second_call_does_no_harm() {
    let fault_once = |count| match count {
        0 => Reply::Raw(StatusCode::INTERNAL_SERVER_ERROR.into_response()),
        _ => Reply::Usual,
    };
    let server = fake(fault_once).await;
    assert_eq!(
        call(&client(&server), &idempotent(), LONG).await,
        Called::Returned(found())
    );
    let server = fake(fault_once).await;
    let raised = raised(call(&client(&server), &tool(), LONG).await);
    assert_eq!(raised.message, "tool `search` answered 500");
    assert_eq!(server.had("tools/call").len(), 1);
}

#[tokio::test]
async fn a_call_that_was_turned_away_for_a_while_is_made_again() {
    let fake = fake(|count| match count {
        0 => Reply::Raw((StatusCode::TOO_MANY_REQUESTS, [("retry-after", "0")]).into_response()),
        _ => Reply::Usual,
    })
    .await;
    assert_eq!(
        call(&client(&fake), &tool(), LONG).await,
        Called::Returned(found())
    );
}

#[tokio::test]
async fn a_call_ends_when_its_time_is_over_and_the_server_hears_of_it() {
    let fake = fake(|_| Reply::Raw(silence())).await;
    let client = client(&fake);
    let raised = raised(call(&client, &idempotent(), SHORT).await);
    assert_eq!(
        (raised.kind, raised.was_sent),
        (RaisedKind::TimeoutError, Sent::Perhaps),
        "{}",
        raised.message
    );
    let deadline = Instant::now() + LONG;
    while fake.had("notifications/cancelled").is_empty() {
        assert!(Instant::now() < deadline, "nothing was cancelled");
        tokio::task::yield_now().await;
    }
    assert_eq!(fake.had("tools/call").len(), 1);
}

#[tokio::test]
async fn a_server_that_never_opens_a_session_holds_nobody_up() {
    let fake = Fake::start(|_| Reply::Raw(silence())).await;
    let client = client(&fake);
    let error = client.list_tools(&[], Instant::now() + SHORT).await.unwrap_err();
    assert!(
        error.to_string().contains("did not list its tools in time"),
        "{error}"
    );
    assert!(error.is_transient());
    let raised = raised(call(&client, &tool(), SHORT).await);
    assert_eq!(
        (raised.kind, raised.was_sent),
        (RaisedKind::TimeoutError, Sent::No)
    );
    assert_eq!(fake.had("tools/call").len(), 0);
}

#[rstest]
#[case(StatusCode::UNAUTHORIZED, "check its credentials", false)]
#[case(StatusCode::NOT_FOUND, "check that this is where it speaks MCP", false)]
#[case(StatusCode::SERVICE_UNAVAILABLE, "answered 503", true)]
#[tokio::test]
async fn a_server_that_refuses_a_session_is_reported(
    #[case] status: StatusCode,
    #[case] why: &str,
    #[case] is_transient: bool,
) {
    let fake = Fake::start(move |_| Reply::Raw((status, format!("not with {TOKEN}")).into_response())).await;
    let error = list(&client(&fake), &[]).await.unwrap_err();
    assert!(error.to_string().contains(why), "{error}");
    assert!(!error.to_string().contains(TOKEN), "{error}");
    assert_eq!(error.is_transient(), is_transient, "{error}");
}

#[tokio::test]
async fn a_call_that_found_no_server_was_not_sent() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let server = McpServer::Url {
        url: origin.clone(),
        headers: Vec::new(),
    };
    let raised = raised(call(&client_of(server, &origin), &tool(), LONG).await);
    assert_eq!(
        (raised.kind, raised.was_sent),
        (RaisedKind::ConnectionError, Sent::No)
    );
    assert!(
        raised.message.contains("its MCP server cannot be reached"),
        "{}",
        raised.message
    );
    assert!(raised.message.ends_with("(5 tries)"), "{}", raised.message);
}

#[tokio::test]
async fn a_redirect_takes_no_credentials_to_another_host() {
    let other = fake(|_| Reply::Usual).await;
    let to = other.url.clone();
    let fake = Fake::start(move |_| {
        Reply::Raw((StatusCode::TEMPORARY_REDIRECT, [("location", to.clone())]).into_response())
    })
    .await;
    assert!(list(&client(&fake), &[]).await.is_err());
    assert_eq!(
        other.had("initialize").len() + other.had("server/discover").len(),
        0
    );
}

#[tokio::test]
async fn without_the_policy_of_redirects_a_key_goes_to_another_host() {
    let other = fake(|_| Reply::Usual).await;
    let to = other.url.clone();
    let fake = Fake::start(move |_| {
        Reply::Raw((StatusCode::TEMPORARY_REDIRECT, [("location", to.clone())]).into_response())
    })
    .await;
    let client = client_to(None, &fake.url.parse().unwrap());
    let client = client.redirect(Policy::default()).build().unwrap();
    let request = client.post(&fake.url).header("x-api-key", TOKEN).body("{}");
    request.send().await.unwrap();
    let had = other.all().remove(0);
    assert_eq!(had.headers["x-api-key"], TOKEN);
}

#[tokio::test]
async fn what_a_server_asks_of_its_client_is_refused() {
    let asks = |had: &Had| {
        if had.message["method"] != "tools/call" {
            return Reply::Usual;
        }
        let sampling = json!({"jsonrpc": "2.0", "id": 90, "method": "sampling/createMessage", "params": {
            "messages": [{"role": "user", "content": {"type": "text", "text": "write"}}], "maxTokens": 9}});
        let roots = json!({"jsonrpc": "2.0", "id": 91, "method": "roots/list"});
        let result = json!({"jsonrpc": "2.0", "id": had.message["id"], "result": {"content": []}});
        let events = [sampling, roots, result].map(|event| format!("data: {event}\n\n"));
        Reply::Raw(([("content-type", "text/event-stream")], events.concat()).into_response())
    };
    let fake = Fake::start(asks).await;
    assert_eq!(
        call(&client(&fake), &tool(), LONG).await,
        Called::Returned(Value::Null)
    );
    let deadline = Instant::now() + LONG;
    let refusals = || {
        let answers = fake.all().into_iter().map(|had| had.message);
        let answers = answers.filter(|message| message["error"]["code"] == json!(-32_601));
        answers
            .map(|message| message["id"].as_i64().unwrap())
            .collect::<Vec<_>>()
    };
    while refusals().len() < 2 {
        assert!(Instant::now() < deadline, "{:?}", refusals());
        tokio::task::yield_now().await;
    }
}
