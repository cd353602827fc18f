//! HTTP tools against servers on loopback, good and bad ones.

use std::io::Write as _;
use std::sync::atomic::Ordering;

use flate2::Compression;
use flate2::write::GzEncoder;
use rstest::rstest;
use serde_json::json;
use wiremock::matchers::{body_json, header, method, path, query_param};
use wiremock::{Mock, MockServer, ResponseTemplate};

use super::*;
use crate::DEFAULT_MAX_BYTES;
use crate::test_support::{Conduct, QUICK, RawServer};

const TOKEN: &str = "tok-0123456789";
/// Long enough for every answer that comes.
const LONG: Duration = Duration::from_mins(1);
/// For answers that never come.
const SHORT: Duration = Duration::from_millis(250);

fn options(method: &str, url: &str) -> HttpToolOptions {
    let origin: Url = url.replace(['{', '}'], "").parse().unwrap();
    HttpToolOptions {
        name: "rate".to_owned(),
        method: method.to_owned(),
        url: url.to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {"base": {"type": "string"}, "on": {"type": "string"}, "to": {"type": "array"}},
            "required": ["base"],
        }),
        result: None,
        headers: vec![(
            "authorization".to_owned(),
            Secret::new(&format!("Bearer {TOKEN}")),
        )],
        max_bytes: DEFAULT_MAX_BYTES,
        gate: Some(EgressGate::direct(&[&origin.origin().ascii_serialization()], &[])),
    }
}

fn tool(options: HttpToolOptions) -> HttpEndpoint {
    HttpEndpoint::new(options).unwrap().with_policy(QUICK)
}

async fn call(method: &str, url: &str) -> Called {
    tool(options(method, url))
        .call(&arguments(&json!({"base": "EUR"})), None, LONG)
        .await
}

fn arguments(value: &Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

fn raised(called: Called) -> ToolException {
    match called {
        Called::Raised(raised) => {
            assert!(!raised.message.contains(TOKEN), "{}", raised.message);
            assert!(raised.message.starts_with("tool `rate` "), "{}", raised.message);
            raised
        }
        Called::Returned(value) => panic!("{value}"),
    }
}

/// A server that gives `first` once and `then` ever after.
async fn server(first: ResponseTemplate, then: ResponseTemplate) -> MockServer {
    let server = MockServer::start().await;
    for (answer, times) in [(first, 1), (then, u64::MAX)] {
        Mock::given(path("/rate"))
            .respond_with(answer)
            .up_to_n_times(times)
            .mount(&server)
            .await;
    }
    server
}

async fn count(server: &MockServer) -> usize {
    server.received_requests().await.unwrap().len()
}

fn ok() -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_json(json!(1.25))
}

fn response(head: &str, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n{body}").into_bytes()
}

#[tokio::test]
async fn arguments_become_path_and_query_and_the_key_a_header() {
    let server = MockServer::start().await;
    Mock::given(method("GET"))
        .and(path("/v1/a%2Fb"))
        .and(query_param("on", "2026-01-02"))
        .and(header("idempotency-key", "run-1/7"))
        .and(header("accept", "application/json"))
        .and(header("authorization", format!("Bearer {TOKEN}").as_str()))
        .respond_with(ok())
        .mount(&server)
        .await;
    let tool = tool(options("GET", &format!("{}/v1/{{base}}", server.uri())));
    let arguments = arguments(&json!({"base": "a/b", "on": "2026-01-02", "to": ["USD", "GBP"]}));
    assert_eq!(
        tool.call(&arguments, Some("run-1/7"), LONG).await,
        Called::Returned(json!(1.25))
    );
    let request = server.received_requests().await.unwrap().remove(0);
    assert_eq!(request.url.query(), Some("on=2026-01-02&to=USD&to=GBP"));
}

#[tokio::test]
async fn arguments_of_a_post_are_its_body() {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .and(path("/v1/EUR"))
        .and(body_json(json!({"to": ["USD"]})))
        .respond_with(ok())
        .mount(&server)
        .await;
    let tool = tool(options("POST", &format!("{}/v1/{{base}}", server.uri())));
    let arguments = arguments(&json!({"base": "EUR", "to": ["USD"]}));
    assert_eq!(
        tool.call(&arguments, None, LONG).await,
        Called::Returned(json!(1.25))
    );
}

#[rstest]
#[case(500)]
#[case(502)]
#[case(503)]
#[tokio::test]
async fn a_server_fault_is_tried_again_where_a_second_call_does_no_harm(#[case] status: u16) {
    let faulty = server(ResponseTemplate::new(status), ok()).await;
    assert_eq!(
        call("GET", &format!("{}/rate", faulty.uri())).await,
        Called::Returned(json!(1.25))
    );
    let faulty = server(ResponseTemplate::new(status), ok()).await;
    let raised = raised(call("POST", &format!("{}/rate", faulty.uri())).await);
    assert_eq!(raised.kind, RaisedKind::RuntimeError);
    // Of the server behind a gateway that gave up nobody knows.
    let expected = if status == 502 {
        Sent::Perhaps
    } else {
        Sent::Answered
    };
    assert_eq!(raised.was_sent, expected);
    assert_eq!(count(&faulty).await, 1);
}

#[rstest]
#[case(429)]
#[case(503)]
#[tokio::test]
async fn a_call_that_was_turned_away_for_a_while_is_made_again(#[case] status: u16) {
    let limited = ResponseTemplate::new(status).insert_header("retry-after", "0");
    let server = server(limited, ok()).await;
    assert_eq!(
        call("POST", &format!("{}/rate", server.uri())).await,
        Called::Returned(json!(1.25))
    );
    assert_eq!(count(&server).await, 2);
}

#[tokio::test]
async fn a_pause_that_is_longer_than_the_call_is_named_and_not_waited_for() {
    let limited = ResponseTemplate::new(429).insert_header("retry-after", "600");
    let server = server(limited, ok()).await;
    let raised = raised(call("GET", &format!("{}/rate", server.uri())).await);
    assert!(
        raised.message.ends_with("asks to wait 600 s"),
        "{}",
        raised.message
    );
    assert_eq!(count(&server).await, 1);
}

#[rstest]
#[case(400, RaisedKind::ValueError)]
#[case(401, RaisedKind::PermissionError)]
#[case(404, RaisedKind::RuntimeError)]
#[tokio::test]
async fn a_rejection_is_quoted_without_secrets(#[case] status: u16, #[case] kind: RaisedKind) {
    let body = format!("no such thing for {TOKEN} {}", "x".repeat(2_000));
    let server = server(ResponseTemplate::new(status).set_body_string(body), ok()).await;
    let raised = raised(call("GET", &format!("{}/rate", server.uri())).await);
    assert_eq!((raised.kind, raised.was_sent), (kind, Sent::Answered));
    let start = format!("tool `rate` answered {status}: no such thing for [redacted:authorization] xxx");
    assert!(raised.message.starts_with(&start), "{}", raised.message);
    assert!(raised.message.len() < 600, "{}", raised.message.len());
    assert_eq!(count(&server).await, 1);
}

#[tokio::test]
async fn a_redirect_takes_no_credentials_to_another_host() {
    let other = server(ok(), ok()).await;
    let to = format!("{}/rate?token={TOKEN}", other.uri());
    let server = server(
        ResponseTemplate::new(307).insert_header("location", to.as_str()),
        ok(),
    )
    .await;
    // The other one is open as well: it is the redirect that is refused.
    let mut options = options("GET", &format!("{}/rate", server.uri()));
    options.gate = Some(EgressGate::direct(&[&server.uri(), &other.uri()], &[]));
    let raised = raised(
        tool(options)
            .call(&arguments(&json!({"base": "EUR"})), None, LONG)
            .await,
    );
    assert!(
        raised.message.contains(&format!("redirects to {}", other.uri())),
        "{}",
        raised.message
    );
    assert_eq!(count(&other).await, 0);
}

#[tokio::test]
async fn a_redirect_on_the_same_host_is_followed_three_times() {
    let server = MockServer::start().await;
    for (from, to) in [("/rate", "/1"), ("/1", "/2"), ("/2", "/3"), ("/long", "/rate")] {
        Mock::given(path(from))
            .respond_with(ResponseTemplate::new(302).insert_header("location", to))
            .mount(&server)
            .await;
    }
    Mock::given(path("/3")).respond_with(ok()).mount(&server).await;
    assert_eq!(
        call("GET", &format!("{}/rate", server.uri())).await,
        Called::Returned(json!(1.25))
    );
    let raised = raised(call("GET", &format!("{}/long", server.uri())).await);
    assert!(
        raised.message.contains("is not followed there"),
        "{}",
        raised.message
    );
}

#[rstest]
#[case("content-length: 104857600")]
#[case("connection: close")]
#[tokio::test]
async fn a_reply_of_100_megabytes_is_not_held(#[case] head: &str) {
    let server = RawServer::start(vec![Conduct::Flood(response(head, ""))]).await;
    let raised = raised(call("GET", &format!("{}/rate", server.url)).await);
    assert_eq!(
        raised.message,
        "tool `rate` replied with more than 1048576 bytes, the limit: ask it for less at a time"
    );
    assert_eq!(
        (raised.kind, raised.was_sent),
        (RaisedKind::RuntimeError, Sent::Answered)
    );
    // What the buffers of the connection hold was taken beside it.
    assert!(server.flooded.load(Ordering::Relaxed) < 32 * DEFAULT_MAX_BYTES);
    assert_eq!(server.requests().len(), 1);
}

#[rstest]
#[case::of_a_value(200, "replied with more than 1048576 bytes, the limit")]
#[case::of_an_error(400, "answered 400: ")]
#[tokio::test]
async fn a_reply_that_unfolds_to_64_megabytes_is_not_held(#[case] status: u16, #[case] words: &str) {
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    for _ in 0..64 {
        packed.write_all(&vec![b'0'; 1 << 20]).unwrap();
    }
    let packed = packed.finish().unwrap();
    assert!(packed.len() < 128 * 1024);
    let bomb = ResponseTemplate::new(status)
        .insert_header("content-encoding", "gzip")
        .set_body_bytes(packed);
    let server = server(bomb.clone(), bomb).await;
    let raised = raised(call("POST", &format!("{}/rate", server.uri())).await);
    assert!(raised.message.contains(words), "{}", raised.message);
    assert!(raised.message.len() < 1_000, "{} bytes", raised.message.len());
    assert_eq!(raised.was_sent, Sent::Answered);
}

#[tokio::test]
async fn a_reply_that_is_not_what_its_schema_says_is_named_by_its_place() {
    let server = server(
        ResponseTemplate::new(200).set_body_json(json!({"rates": ["x"]})),
        ok(),
    )
    .await;
    let mut options = options("GET", &format!("{}/rate", server.uri()));
    options.result = Some(json!({"properties": {"rates": {"items": {"type": "number"}}}}));
    let raised = raised(
        tool(options)
            .call(&arguments(&json!({"base": "EUR"})), None, LONG)
            .await,
    );
    assert!(raised.message.contains("`/rates/0`"), "{}", raised.message);
    assert!(
        raised.message.contains("`/properties/rates/items/type`"),
        "{}",
        raised.message
    );
    assert_eq!(raised.was_sent, Sent::Answered);
}

#[tokio::test]
async fn what_a_server_repeats_of_its_headers_is_no_value() {
    let echo = ResponseTemplate::new(200).set_body_json(json!({"authorization": format!("Bearer {TOKEN}")}));
    let server = server(echo.clone(), echo).await;
    let expected = json!({"authorization": "[redacted:authorization]"});
    assert_eq!(
        call("GET", &format!("{}/rate", server.uri())).await,
        Called::Returned(expected)
    );
}

#[tokio::test]
async fn an_empty_reply_is_none() {
    let server = server(ResponseTemplate::new(204), ok()).await;
    assert_eq!(
        call("DELETE", &format!("{}/rate", server.uri())).await,
        Called::Returned(Value::Null)
    );
}

#[rstest]
#[case::before_the_status(Conduct::Send(Vec::new()))]
#[case::within_the_body(Conduct::Send(response("content-length: 9", "{")))]
#[tokio::test]
async fn a_call_whose_connection_broke_is_made_again_where_that_does_no_harm(#[case] cut: Conduct) {
    let ok = Conduct::Send(response("content-length: 1", "7"));
    let server = RawServer::start(vec![cut.clone(), ok.clone()]).await;
    assert_eq!(
        call("GET", &format!("{}/rate", server.url)).await,
        Called::Returned(json!("7"))
    );
    let server = RawServer::start(vec![cut, ok]).await;
    let raised = raised(call("POST", &format!("{}/rate", server.url)).await);
    assert_eq!(
        (raised.kind, raised.was_sent),
        (RaisedKind::ConnectionError, Sent::Perhaps)
    );
    assert!(
        raised
            .message
            .contains("the connection ended before its reply was whole"),
        "{}",
        raised.message
    );
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn a_call_that_found_nobody_was_not_sent() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/rate", listener.local_addr().unwrap());
    drop(listener);
    let raised = raised(call("POST", &url).await);
    assert_eq!(
        (raised.kind, raised.was_sent),
        (RaisedKind::ConnectionError, Sent::No)
    );
    assert!(raised.message.contains("cannot be reached"), "{}", raised.message);
    assert!(raised.message.ends_with("(5 tries)"), "{}", raised.message);
}

#[rstest]
#[case::silent("http", Conduct::Hang, Sent::Perhaps)]
#[case::byte_by_byte("http", Conduct::Drip(response("content-length: 100000", "")), Sent::Perhaps)]
#[case::before_tls_is_there("https", Conduct::Hang, Sent::No)]
#[tokio::test]
async fn a_call_ends_when_its_time_is_over(
    #[case] scheme: &str,
    #[case] conduct: Conduct,
    #[case] was_sent: Sent,
) {
    let server = RawServer::start(vec![conduct]).await;
    let options = options("POST", &format!("{}/rate", server.url.replace("http", scheme)));
    let raised = raised(
        tool(options)
            .call(&arguments(&json!({"base": "EUR"})), None, SHORT)
            .await,
    );
    assert_eq!(
        (raised.kind, raised.was_sent),
        (RaisedKind::TimeoutError, was_sent),
        "{}",
        raised.message
    );
    assert!(
        raised.message.contains("gave no reply within 0.25 s"),
        "{}",
        raised.message
    );
}

#[tokio::test]
async fn arguments_that_name_another_address_are_not_sent() {
    let server = server(ok(), ok()).await;
    let tool = tool(options("GET", &format!("{}/v1/{{base}}/rate", server.uri())));
    let raised = raised(tool.call(&arguments(&json!({"base": ".."})), None, LONG).await);
    assert_eq!((raised.kind, raised.was_sent), (RaisedKind::ValueError, Sent::No));
    assert_eq!(count(&server).await, 0);
}

#[rstest]
#[case("GET", "https://rates.example/{base}", "x", "line break")]
#[case("GET", "https://rates.example/{base}", "host", "belongs to the connection")]
#[case("TRACE", "https://rates.example/{base}", "x", "cannot be called by TRACE")]
#[case("GET", "https://u:p@rates.example/{base}", "x", "read from a Secret")]
#[case("GET", "ftp://rates.example/{base}", "x", "write an http or https address")]
#[case(
    "GET",
    "http://rates.example/{base}",
    "x",
    "plain http is spoken to listed hosts only"
)]
#[case("GET", "https://169.254.169.254/{base}", "x", "not a public one")]
fn a_definition_that_cannot_work_is_refused(
    #[case] method: &str,
    #[case] url: &str,
    #[case] header: &str,
    #[case] why: &str,
) {
    let mut options = options(method, "https://rates.example/{base}");
    options.url = url.to_owned();
    options.gate = Some(EgressGate::direct(&[], &[]));
    let value = if why == "line break" { "a\nb" } else { "a" };
    options.headers = vec![(header.to_owned(), Secret::new(value))];
    let error = HttpEndpoint::new(options).unwrap_err();
    assert!(error.to_string().contains(why), "{error}");
}
