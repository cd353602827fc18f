use serde_json::{Value, json};
use wiremock::matchers::{body_partial_json, header, method, path, query_param};
use wiremock::{Mock, MockServer, Request as Received, ResponseTemplate};

use super::*;
use crate::test_support::{KEY, no_pause, options, request};
use codegen_api::model::Provider;
use codegen_core::stage::Category;

fn completion(content: &str, finish: &str) -> Value {
    json!({
        "choices": [{"message": {"role": "assistant", "content": content}, "finish_reason": finish}],
        "usage": {"prompt_tokens": 41, "completion_tokens": 9, "total_tokens": 50},
    })
}

fn ok(body: Value) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_json(body)
}

async fn server(answer: ResponseTemplate) -> MockServer {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .and(path("/v1/chat/completions"))
        .respond_with(answer)
        .mount(&server)
        .await;
    server
}

fn model_with(server: &MockServer, change: impl FnOnce(&mut ModelOptions)) -> OpenAi {
    let mut options = options(Provider::OpenAI, &format!("{}/v1", server.uri()));
    change(&mut options);
    let mut model = OpenAi::new(&options).unwrap();
    model.http = model.http.with_pause(no_pause().0);
    model
}

fn model(server: &MockServer) -> OpenAi {
    model_with(server, |_| {})
}

async fn bodies(server: &MockServer) -> Vec<Value> {
    server
        .received_requests()
        .await
        .unwrap()
        .iter()
        .map(|request| request.body_json().unwrap())
        .collect()
}

#[tokio::test]
async fn the_request_body_is_as_documented() {
    let server = server(ok(completion("{}", "stop"))).await;
    model(&server).call(&request()).await.unwrap();
    insta::assert_json_snapshot!(bodies(&server).await[0]);
}

#[tokio::test]
async fn a_reply_has_its_text_finish_and_usage() {
    let server = server(ok(completion(r#"{"description":"x"}"#, "stop"))).await;
    let reply = model(&server).call(&request()).await.unwrap();
    assert_eq!(
        reply,
        Reply {
            text: r#"{"description":"x"}"#.to_owned(),
            finish: FinishReason::Complete,
            usage: Usage { input: 41, output: 9 },
            ..Reply::default()
        }
    );
}

#[tokio::test]
async fn a_cut_reply_says_so_and_keeps_its_text() {
    let server = server(ok(completion(r#"{"descrip"#, "length"))).await;
    let reply = model(&server).call(&request()).await.unwrap();
    assert_eq!(
        (reply.text.as_str(), reply.finish),
        (r#"{"descrip"#, FinishReason::Length)
    );
}

#[tokio::test]
async fn fenced_text_and_another_shape_pass_through_untouched() {
    for text in [
        "```json\n{\"description\": \"x\"}\n```",
        r#"[1, {"other": null}]"#,
        "I would rather talk.",
    ] {
        let server = server(ok(completion(text, "stop"))).await;
        assert_eq!(model(&server).call(&request()).await.unwrap().text, text);
    }
}

#[tokio::test]
async fn a_refusal_and_a_filter_are_refusals() {
    let message = json!({"role": "assistant", "content": null, "refusal": "I cannot help."});
    let refused = server(ok(
        json!({"choices": [{"message": message, "finish_reason": "stop"}]}),
    ))
    .await;
    let reply = model(&refused).call(&request()).await.unwrap();
    assert_eq!(
        (reply.text.as_str(), reply.finish),
        ("I cannot help.", FinishReason::Refused)
    );

    let filtered = server(ok(completion("", "content_filter"))).await;
    assert_eq!(
        model(&filtered).call(&request()).await.unwrap().finish,
        FinishReason::Refused
    );
}

#[tokio::test]
async fn missing_usage_is_estimated_and_hidden_reasoning_counts() {
    let server_without = server(ok(json!({"choices": [{"message": {"content": "abcdef"}}]}))).await;
    let usage = model(&server_without).call(&request()).await.unwrap().usage;
    let sent = request();
    let input = estimate_tokens(&sent.system) + estimate_tokens(&sent.user_message());
    assert_eq!(usage, Usage { input, output: 2 });

    let mut body = completion("{}", "stop");
    body["usage"] = json!({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 115});
    let server_reasoning = server(ok(body)).await;
    let usage = model(&server_reasoning).call(&request()).await.unwrap().usage;
    assert_eq!(
        usage,
        Usage {
            input: 10,
            output: 105
        }
    );
}

#[tokio::test]
async fn content_in_parts_is_joined() {
    let content = json!([{"type": "text", "text": "{\"a\""}, {"type": "text", "text": ":1}"}]);
    let server = server(ok(json!({"choices": [{"message": {"content": content}}]}))).await;
    assert_eq!(model(&server).call(&request()).await.unwrap().text, r#"{"a":1}"#);
}

#[tokio::test]
async fn the_users_parameters_headers_and_query_are_sent_as_they_are() {
    let server = MockServer::start().await;
    Mock::given(query_param("api-version", "2026-01-01"))
        .and(header("x-team", "penguins"))
        .and(header("authorization", format!("Bearer {KEY}").as_str()))
        .and(body_partial_json(
            json!({"temperature": 0, "max_tokens": 5, "seed": {"any": "thing"}}),
        ))
        .respond_with(ok(completion("{}", "stop")))
        .mount(&server)
        .await;
    let model = model_with(&server, |options| {
        let parameters = json!({"temperature": 0, "max_tokens": 5, "seed": {"any": "thing"}, "stream": true});
        options.settings.parameters = parameters.as_object().unwrap().clone();
        options
            .settings
            .query
            .insert("api-version".to_owned(), "2026-01-01".to_owned());
        options
            .headers
            .push(("X-Team".to_owned(), Secret::new("penguins")));
    });
    model.call(&request()).await.unwrap();
    let body = &bodies(&server).await[0];
    assert_eq!(body.get("max_completion_tokens"), None);
    assert_eq!(body.get("stream"), None);
}

#[tokio::test]
async fn a_header_with_credentials_keeps_the_keys_own_header_away() {
    let server = server(ok(completion("{}", "stop"))).await;
    let model = model_with(&server, |options| {
        options.headers.push(("api-key".to_owned(), Secret::new("azure")));
    });
    model.call(&request()).await.unwrap();
    let received = server.received_requests().await.unwrap();
    assert!(!received[0].headers.contains_key("authorization"));
    assert_eq!(received[0].headers["api-key"], "azure");
}

/// A server that knows neither JSON Schema, nor JSON mode unless `json_mode`, nor `max_completion_tokens`.
fn old_server(json_mode: bool) -> impl Fn(&Received) -> ResponseTemplate {
    let refuse =
        |message: &str| ResponseTemplate::new(400).set_body_json(json!({"error": {"message": message}}));
    move |received: &Received| {
        let body: Value = received.body_json().unwrap();
        if body.get("max_completion_tokens").is_some() {
            return refuse("Unrecognized request argument supplied: max_completion_tokens");
        }
        match body.pointer("/response_format/type").and_then(Value::as_str) {
            Some("json_schema") => refuse("This response_format type is unavailable now"),
            Some("json_object") if !json_mode => refuse("unknown field `response_format`"),
            _ => ok(completion("{}", "stop")),
        }
    }
}

async fn old_server_bodies(json_mode: bool) -> Vec<Value> {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .respond_with(old_server(json_mode))
        .mount(&server)
        .await;
    let model = model(&server);
    model.call(&request()).await.unwrap();
    model.call(&request()).await.unwrap();
    bodies(&server).await
}

#[tokio::test]
async fn a_server_without_json_schema_gets_json_mode_and_is_asked_once() {
    let bodies = old_server_bodies(true).await;
    assert_eq!(
        bodies.len(),
        4,
        "limit refused, schema refused, accepted, accepted at once"
    );
    assert_eq!(bodies[3], bodies[2]);
    insta::assert_json_snapshot!(bodies[3]);
}

#[tokio::test]
async fn a_server_without_json_mode_gets_the_schema_in_the_message() {
    let bodies = old_server_bodies(false).await;
    assert_eq!(bodies.len(), 5);
    assert_eq!(bodies[4].get("response_format"), None);
    let user = bodies[4]
        .pointer("/messages/1/content")
        .unwrap()
        .as_str()
        .unwrap();
    assert!(
        user.ends_with(&format!("and with nothing else:\n{}", request().schema)),
        "{user}"
    );
}

#[tokio::test]
async fn a_server_that_refuses_everything_ends_with_its_own_words() {
    let refusal = json!({"error": {"message": "response_format and max_completion_tokens: no"}});
    let server = server(ResponseTemplate::new(400).set_body_json(refusal)).await;
    let error = model(&server).call(&request()).await.unwrap_err();
    assert_eq!(server.received_requests().await.unwrap().len(), 4);
    assert!(
        matches!(&error, ModelError::Rejected { status: 400, detail, .. }
        if detail == "response_format and max_completion_tokens: no"),
        "{error}"
    );
}

#[tokio::test]
async fn a_simpler_request_that_fails_as_well_is_not_remembered() {
    let server = server(ResponseTemplate::new(400).set_body_string("response_format: nothing works")).await;
    let model = model(&server);
    model.call(&request()).await.unwrap_err();
    model.call(&request()).await.unwrap_err();
    let bodies = bodies(&server).await;
    assert_eq!(bodies.len(), 6);
    assert_eq!(bodies[3], bodies[0]);
}

#[tokio::test]
async fn a_rejection_for_another_reason_is_not_repeated() {
    let server = server(ResponseTemplate::new(400).set_body_string("temperature must be 1")).await;
    let error = model(&server).call(&request()).await.unwrap_err();
    assert_eq!(server.received_requests().await.unwrap().len(), 1);
    assert_eq!(error.category(), Category::Configuration);
}

#[tokio::test]
async fn an_answer_without_choices_shows_what_came_instead() {
    let server = server(ok(json!({"error": {"message": "upstream is down"}}))).await;
    let error = model(&server).call(&request()).await.unwrap_err();
    assert_eq!(error.category(), Category::Infrastructure);
    assert_eq!(
        error.to_string(),
        format!(
            "the model endpoint {}/v1/chat/completions sent an answer that is not of its protocol: it has no choice \
             with a message: {{\"error\":{{\"message\":\"upstream is down\"}}}}; if it stays so, check \
             spec.model.provider and the server's log",
            server.uri()
        )
    );
}
