#![expect(
    clippy::needless_pass_by_value,
    reason = "JSON literals read better when they are handed over"
)]

use serde_json::{Value, json};
use wiremock::matchers::{header, method, path};
use wiremock::{Mock, MockServer, Request as Received, ResponseTemplate};

use super::*;
use crate::test_support::{KEY, no_pause, options, request};
use codegen_api::model::Provider;

fn message(content: Value, stop_reason: &str) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_json(json!({
        "type": "message",
        "content": content,
        "stop_reason": stop_reason,
        "usage": {
            "input_tokens": 12, "cache_creation_input_tokens": 100,
            "cache_read_input_tokens": 1000, "output_tokens": 9,
        },
    }))
}

fn tool_use(input: Value) -> Value {
    json!([{"type": "tool_use", "id": "t1", "name": "plan", "input": input}])
}

async fn server(answer: ResponseTemplate) -> MockServer {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .and(path("/v1/messages"))
        .and(header("anthropic-version", "2023-06-01"))
        .respond_with(answer)
        .mount(&server)
        .await;
    server
}

fn model_with(server: &MockServer, change: impl FnOnce(&mut ModelOptions)) -> Anthropic {
    let mut options = options(Provider::Anthropic, &format!("{}/v1", server.uri()));
    change(&mut options);
    let mut model = Anthropic::new(&options).unwrap();
    model.http = model.http.with_pause(no_pause().0);
    model
}

async fn reply_to(content: Value, stop_reason: &str) -> Reply {
    let server = server(message(content, stop_reason)).await;
    model_with(&server, |_| {}).call(&request()).await.unwrap()
}

#[tokio::test]
async fn the_request_body_is_as_documented() {
    let server = server(message(tool_use(json!({})), "tool_use")).await;
    model_with(&server, |_| {}).call(&request()).await.unwrap();
    let received = server.received_requests().await.unwrap();
    insta::assert_json_snapshot!(received[0].body_json::<Value>().unwrap());
    assert_eq!(received[0].headers["x-api-key"], KEY);
    assert!(!received[0].headers.contains_key("authorization"));
}

#[tokio::test]
async fn the_tools_input_is_the_text_and_cached_tokens_are_input() {
    let reply = reply_to(tool_use(json!({"description": "x", "n": 1})), "tool_use").await;
    assert_eq!(
        reply,
        Reply {
            text: r#"{"description":"x","n":1}"#.to_owned(),
            finish: FinishReason::Complete,
            usage: Usage {
                input: 1112,
                output: 9
            },
            ..Reply::default()
        }
    );
}

#[tokio::test]
async fn text_without_a_tool_call_passes_through_untouched() {
    let text = "```json\n{\"description\": \"x\"}\n```";
    let reply = reply_to(
        json!([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": text}]),
        "end_turn",
    )
    .await;
    assert_eq!(
        (reply.text.as_str(), reply.finish),
        (text, FinishReason::Complete)
    );
}

#[tokio::test]
async fn stop_reasons_are_read() {
    assert_eq!(
        reply_to(tool_use(json!({})), "max_tokens").await.finish,
        FinishReason::Length
    );
    assert_eq!(reply_to(json!([]), "refusal").await.finish, FinishReason::Refused);
    assert_eq!(
        reply_to(json!([]), "pause_turn").await.finish,
        FinishReason::Other("pause_turn".to_owned())
    );
}

#[tokio::test]
async fn the_users_parameters_and_headers_win() {
    let server = MockServer::start().await;
    Mock::given(header("anthropic-version", "gateway-1"))
        .and(header("authorization", "Bearer gateway"))
        .respond_with(message(tool_use(json!({})), "tool_use"))
        .mount(&server)
        .await;
    let model = model_with(&server, |options| {
        options.settings.parameters = json!({"max_tokens": 64, "temperature": 0})
            .as_object()
            .unwrap()
            .clone();
        options
            .headers
            .push(("Anthropic-Version".to_owned(), Secret::new("gateway-1")));
        options
            .headers
            .push(("Authorization".to_owned(), Secret::new("Bearer gateway")));
    });
    model.call(&request()).await.unwrap();
    let received = server.received_requests().await.unwrap();
    assert!(!received[0].headers.contains_key("x-api-key"));
    let body: Value = received[0].body_json().unwrap();
    assert_eq!(
        (&body["max_tokens"], &body["temperature"]),
        (&json!(64), &json!(0))
    );
}

#[tokio::test]
async fn a_model_that_refuses_a_forced_tool_is_asked_to_call_it_and_forced_once_only() {
    let server = MockServer::start().await;
    let answer = |received: &Received| {
        let body: Value = received.body_json().unwrap();
        if body.pointer("/tool_choice/type") == Some(&json!("tool")) {
            let error = "Thinking may not be enabled when tool_choice forces tool use.";
            return ResponseTemplate::new(400).set_body_json(json!({"error": {"message": error}}));
        }
        message(tool_use(json!({"description": "x"})), "tool_use")
    };
    Mock::given(method("POST"))
        .respond_with(answer)
        .mount(&server)
        .await;
    let model = model_with(&server, |_| {});
    model.call(&request()).await.unwrap();
    model.call(&request()).await.unwrap();
    let received = server.received_requests().await.unwrap();
    assert_eq!(received.len(), 3);
    let body: Value = received[2].body_json().unwrap();
    assert_eq!(
        body.pointer("/messages/0/content/1/text"),
        Some(&json!(
            "Plan the program.\n\nAnswer by calling the tool `plan` once."
        ))
    );
}

#[tokio::test]
async fn an_answer_without_content_is_malformed() {
    let server = server(ResponseTemplate::new(200).set_body_json(json!({"type": "message"}))).await;
    let error = model_with(&server, |_| {}).call(&request()).await.unwrap_err();
    assert!(matches!(error, ModelError::Malformed { .. }), "{error}");
}
