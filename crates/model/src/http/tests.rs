use std::net::{TcpListener, TcpStream};
use std::sync::Mutex;

use serde_json::json;
use wiremock::matchers::{method, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

use super::*;
use crate::test_support::{KEY, no_pause, options, raw_server};
use crate::{ModelOptions, Secret};
use codegen_api::model::Provider;
use codegen_core::stage::Category;

const SHORT: Duration = Duration::from_millis(40);

type Pauses = Arc<Mutex<Vec<Duration>>>;

fn http_with(base_url: &str, change: impl FnOnce(&mut ModelOptions)) -> (Http, Pauses) {
    let mut options = options(Provider::OpenAI, base_url);
    change(&mut options);
    let authorization = Secret::new(&format!("Bearer {KEY}"));
    let endpoint = Endpoint::new(&options, "chat/completions", &[("authorization", authorization)]).unwrap();
    let (pause, pauses) = no_pause();
    (
        Http::new(endpoint, options.call_deadline, options.task_deadline).with_pause(pause),
        pauses,
    )
}

async fn send(http: &Http) -> Result<Value, ModelError> {
    let answer = http.post(&json!({"ask": 1}), http.deadline()).await?;
    http.json(&answer)
}

/// A server that gives `first` once and `then` ever after.
async fn server(first: ResponseTemplate, then: ResponseTemplate) -> MockServer {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .respond_with(first)
        .up_to_n_times(1)
        .mount(&server)
        .await;
    Mock::given(method("POST"))
        .respond_with(then)
        .mount(&server)
        .await;
    server
}

fn ok() -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_json(json!({"fine": true}))
}

async fn error_for(answer: ResponseTemplate) -> (ModelError, usize) {
    let server = server(answer.clone(), answer).await;
    let error = send(&http_with(&server.uri(), |_| {}).0).await.unwrap_err();
    (error, server.received_requests().await.unwrap().len())
}

#[tokio::test]
async fn a_rate_limit_is_waited_for_as_the_server_asks() {
    let limited = ResponseTemplate::new(429).insert_header("retry-after", "7");
    let server = server(limited, ok()).await;
    let (http, pauses) = http_with(&server.uri(), |_| {});
    assert_eq!(send(&http).await.unwrap(), json!({"fine": true}));
    let pauses = pauses.lock().unwrap().clone();
    assert_eq!(pauses.len(), 1);
    assert!(
        pauses[0] >= Duration::from_secs(7) && pauses[0] < Duration::from_secs(8),
        "{pauses:?}"
    );
}

#[tokio::test]
async fn a_server_fault_is_tried_again() {
    let server = server(ResponseTemplate::new(500), ok()).await;
    let (http, pauses) = http_with(&server.uri(), |_| {});
    send(&http).await.unwrap();
    assert_eq!(pauses.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn a_fault_that_stays_ends_after_five_tries() {
    let (error, tries) = error_for(ResponseTemplate::new(529).set_body_string("overloaded")).await;
    assert_eq!(tries, 5);
    assert_eq!(error.category(), Category::Infrastructure);
    assert!(
        error
            .to_string()
            .ends_with("/chat/completions answered 529 (5 tries): overloaded"),
        "{error}"
    );
}

#[tokio::test]
async fn a_pause_longer_than_the_call_is_returned_to_the_caller() {
    let limited = ResponseTemplate::new(429)
        .insert_header("retry-after", "600")
        .set_body_string("slow down");
    let server = server(limited, ok()).await;
    let (http, pauses) = http_with(&server.uri(), |_| {});
    let error = send(&http).await.unwrap_err();
    assert!(pauses.lock().unwrap().is_empty());
    assert_eq!(error.retry_after(), Some(Duration::from_mins(10)));
    assert!(
        error
            .to_string()
            .ends_with("answered 429 (1 try): slow down; it asks to wait 600 s"),
        "{error}"
    );
}

#[tokio::test]
async fn a_silent_server_is_left_at_the_deadline() {
    let silent = ok().set_delay(Duration::from_mins(1));
    let server = server(silent.clone(), silent).await;
    let (http, _) = http_with(&server.uri(), |options| options.call_deadline = SHORT);
    let error = send(&http).await.unwrap_err();
    assert!(
        matches!(error, ModelError::DeadlineExceeded { tries: 1, .. }),
        "{error}"
    );
    assert!(
        error
            .to_string()
            .ends_with("(1 try begun); the request was sent, and the server stayed silent"),
        "{error}"
    );
    assert_eq!(error.category(), Category::Infrastructure);
    assert!(error.may_be_billed());
}

/// A server that takes connections and does with each what `then` does.
fn server_of_connections(then: impl Fn(TcpStream) + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("https://{}/v1", listener.local_addr().unwrap());
    std::thread::spawn(move || listener.incoming().flatten().for_each(then));
    address
}

#[tokio::test]
async fn a_connection_without_tls_is_one_over_which_nothing_was_sent() {
    let address = server_of_connections(drop);
    let error = send(&http_with(&address, |_| {}).0).await.unwrap_err();
    assert!(
        matches!(error, ModelError::Unreachable { tries: 5, .. }),
        "{error}"
    );
    assert!(!error.may_be_billed());
}

#[tokio::test]
async fn a_call_whose_time_ends_while_it_connects_was_not_sent() {
    let held = Mutex::new(Vec::new());
    let address = server_of_connections(move |stream| held.lock().unwrap().push(stream));
    let (http, _) = http_with(&address, |options| options.call_deadline = SHORT);
    let error = send(&http).await.unwrap_err();
    assert!(
        matches!(error, ModelError::DeadlineExceeded { tries: 1, .. }),
        "{error}"
    );
    assert!(error.to_string().ends_with("no connection came about"), "{error}");
    assert!(!error.may_be_billed());
}

#[tokio::test]
async fn a_gateway_that_gave_up_waiting_is_not_asked_again_for_the_model_may_be_billed() {
    let (error, tries) = error_for(ResponseTemplate::new(504).set_body_string("timeout")).await;
    assert_eq!((tries, error.may_be_billed()), (1, true), "{error}");
    let (error, tries) = error_for(ResponseTemplate::new(503).set_body_string("starting")).await;
    assert_eq!((tries, error.may_be_billed()), (5, false), "{error}");
}

#[tokio::test]
async fn a_flag_that_gave_the_address_is_what_the_message_names() {
    let named = |options: &mut ModelOptions| options.named.address = "--model-url";
    let error = send(&http_with("http://127.0.0.1:1/v1", named).0)
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("check --model-url,"), "{error}");
    let error = send(&http_with("http://127.0.0.1:1/v1", |_| {}).0)
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("check spec.model.baseURL,"), "{error}");
}

#[tokio::test]
async fn the_tasks_deadline_ends_a_call_before_its_own() {
    let silent = ok().set_delay(Duration::from_mins(1));
    let server = server(silent.clone(), silent).await;
    let (http, _) = http_with(&server.uri(), |options| {
        options.task_deadline = Some(Instant::now() + SHORT);
    });
    assert!(matches!(
        send(&http).await,
        Err(ModelError::DeadlineExceeded { .. })
    ));
}

#[tokio::test]
async fn a_call_without_time_sends_nothing() {
    let server = server(ok(), ok()).await;
    let (http, _) = http_with(&server.uri(), |options| {
        options.task_deadline = Some(Instant::now());
    });
    let error = send(&http).await.unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("the time was over before the request was sent"),
        "{error}"
    );
    assert!(server.received_requests().await.unwrap().is_empty());
}

#[tokio::test]
async fn a_refused_connection_is_tried_again_and_then_named() {
    // Port 1 (tcpmux) is one that no test server can be given.
    let base = "http://user:geheim@127.0.0.1:1/v1";
    let secrets = |options: &mut ModelOptions| {
        options
            .settings
            .query
            .insert("key".to_owned(), "query-secret".to_owned());
    };
    let error = send(&http_with(base, secrets).0).await.unwrap_err();
    let text = format!("{error} {error:?}");
    assert!(
        matches!(error, ModelError::Unreachable { tries: 5, .. }),
        "{text}"
    );
    assert!(text.contains("http://127.0.0.1:1/v1/chat/completions"), "{text}");
    assert!(text.contains("Connection refused"), "{text}");
    assert!(
        !text.contains("query-secret") && !text.contains("geheim"),
        "{text}"
    );
}

#[tokio::test]
async fn a_reply_that_is_cut_is_not_asked_for_again_for_it_may_be_billed() {
    let cut =
        b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{\"fi".to_vec();
    let before_the_answer = Vec::new();
    for answer in [cut, before_the_answer] {
        let error = send(&http_with(&raw_server(vec![answer]), |_| {}).0)
            .await
            .unwrap_err();
        assert!(matches!(error, ModelError::CutReply { .. }), "{error}");
        assert!(error.may_be_billed());
    }
}

#[tokio::test]
async fn a_rejected_request_is_sent_once() {
    let (error, tries) = error_for(ResponseTemplate::new(400).set_body_string("no such parameter")).await;
    assert_eq!((tries, error.category()), (1, Category::Configuration));
}

#[tokio::test]
async fn a_refusal_of_a_call_without_a_key_says_that_none_was_sent() {
    let server = server(ResponseTemplate::new(401), ok()).await;
    let (http, _) = http_with(&server.uri(), |options| options.api_key = None);
    let error = send(&http).await.unwrap_err();
    let why = "check the API key: none was sent (no spec.model.apiKeySecretRef is set; locally OPENAI_API_KEY is read)";
    assert!(error.to_string().contains(why), "{error}");
}

#[tokio::test]
async fn a_refused_key_names_its_source_and_never_the_key() {
    let echo = json!({"error": {"message": format!("Incorrect API key provided: {KEY}; got Bearer {KEY}")}});
    let (error, _) = error_for(ResponseTemplate::new(401).set_body_json(echo)).await;
    let text = format!("{error} {error:?}");
    assert!(!text.contains(KEY), "{text}");
    assert!(
        text.contains(
            "refused the credentials (401): Incorrect API key provided: [redacted:API key]; got Bearer \
             [redacted:API key]; check the API key: no spec.model.apiKeySecretRef is set; locally OPENAI_API_KEY is read"
        ),
        "{text}"
    );
}

#[tokio::test]
async fn an_echo_is_cut_after_the_secrets_are_taken_out() {
    let echo = format!("{}{KEY}", "x".repeat(495));
    let (error, _) = error_for(ResponseTemplate::new(422).set_body_string(echo)).await;
    let ModelError::Rejected { detail, .. } = error else {
        panic!("{error}")
    };
    assert_eq!(detail, format!("{}[reda ...", "x".repeat(495)));
}

#[tokio::test]
async fn each_http_status_has_its_own_error() {
    let body = |status: u16, text: &str| ResponseTemplate::new(status).set_body_string(text);
    let (error, _) = error_for(body(404, r#"{"detail":"no such model"}"#)).await;
    assert!(
        error
            .to_string()
            .contains("answered 404: no such model; check spec.model.name (`test-model`)"),
        "{error}"
    );
    let (error, _) = error_for(body(
        400,
        r#"{"error":{"code":"context_length_exceeded","message":"too long"}}"#,
    ))
    .await;
    assert!(matches!(error, ModelError::ContextTooLong { .. }), "{error}");
    assert!(
        error.to_string().contains("lower limits.maxContextTokens"),
        "{error}"
    );
    let (error, tries) = error_for(body(429, r#"{"error":{"code":"insufficient_quota"}}"#)).await;
    assert!(matches!(error, ModelError::QuotaExhausted { .. }), "{error}");
    assert_eq!((tries, error.category()), (1, Category::Configuration));
}

#[tokio::test]
async fn a_web_page_and_broken_json_have_different_messages() {
    let page = "<!DOCTYPE html><html><title>Welcome</title></html>";
    let (error, _) = error_for(ResponseTemplate::new(200).set_body_string(page)).await;
    assert!(matches!(error, ModelError::WebPage { .. }), "{error}");
    assert_eq!(error.category(), Category::Configuration);
    let (error, _) = error_for(ResponseTemplate::new(200).set_body_string("{\"choices\": [")).await;
    assert!(matches!(error, ModelError::Malformed { .. }), "{error}");
    assert_eq!(error.category(), Category::Infrastructure);
}

#[tokio::test]
async fn an_endless_answer_is_left_at_the_limit() {
    let (error, tries) =
        error_for(ResponseTemplate::new(200).set_body_bytes(vec![b' '; LARGEST_ANSWER + 1])).await;
    assert_eq!(tries, 1);
    assert!(
        matches!(
            error,
            ModelError::TooLarge {
                limit: LARGEST_ANSWER,
                ..
            }
        ),
        "{error}"
    );
}

#[tokio::test]
async fn a_redirect_to_another_host_gets_no_credentials() {
    let target = MockServer::start().await;
    Mock::given(method("POST"))
        .respond_with(ok())
        .mount(&target)
        .await;
    let location = format!("{}/elsewhere?token=abc", target.uri());
    let (error, _) = error_for(ResponseTemplate::new(307).insert_header("location", location.as_str())).await;
    assert!(target.received_requests().await.unwrap().is_empty());
    assert!(
        error
            .to_string()
            .contains(&format!("redirects to {}/elsewhere, where", target.uri())),
        "{error}"
    );
}

#[tokio::test]
async fn a_redirect_on_the_same_host_is_followed() {
    let server = MockServer::start().await;
    let moved = ResponseTemplate::new(308).insert_header("location", "/v2/chat");
    Mock::given(path("/v1/chat/completions"))
        .respond_with(moved)
        .mount(&server)
        .await;
    Mock::given(method("POST"))
        .and(path("/v2/chat"))
        .respond_with(ok())
        .mount(&server)
        .await;
    let http = http_with(&format!("{}/v1", server.uri()), |_| {}).0;
    assert_eq!(send(&http).await.unwrap(), json!({"fine": true}));
}

#[test]
fn settings_that_make_no_request_are_named() {
    let error = Endpoint::new(&options(Provider::OpenAI, "localhost:8000/v1"), "chat", &[]).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("spec.model.baseURL cannot be used: "),
        "{error}"
    );
    let mut options = options(Provider::OpenAI, "http://127.0.0.1/v1");
    options
        .headers
        .push(("x-token".to_owned(), Secret::new("first\nsecond")));
    let error = Endpoint::new(&options, "chat", &[]).unwrap_err().to_string();
    assert!(
        error.starts_with("the request header `x-token` cannot be used: "),
        "{error}"
    );
    assert!(!error.contains("second"), "{error}");
}

#[test]
fn no_client_is_built_before_the_first_request() {
    assert!(http_with("https://127.0.0.1/v1", |_| {}).0.client.get().is_none());
}
