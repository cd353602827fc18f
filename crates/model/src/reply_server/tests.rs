use tokio::net::TcpListener;

use super::*;
use crate::test_support::{options, request};
use crate::{Anthropic, Model, OpenAi};
use codegen_api::model::Provider;
use codegen_core::call::{FinishReason, Reply, Request, Usage};
use codegen_core::conversation::{Conversation, Exchange, ToolCall, ToolResult};

const TWO_PLANS: &str = r#"
{"kind":"plan","text":"I would rather talk.","finish":"length","usage":{"input":5,"output":2}}
{"kind":"plan","reply":{"description":"second"},"usage":{"input":7,"output":3}}
{"kind":"code","reply":{"code":"pass"}}
"#;

/// Serves on loopback until the test ends; returns the address without a path.
async fn serve(server: ReplyServer) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, server.router()).await });
    address
}

async fn serve_one(recording: &str) -> String {
    let mut server = ReplyServer::new(Duration::ZERO);
    server.add(Some("one"), recording).unwrap();
    serve(server).await
}

fn client(address: &str, base: &str) -> OpenAi {
    OpenAi::new(&options(Provider::OpenAI, &format!("{address}{base}"))).unwrap()
}

async fn ask(client: &OpenAi, kind: CallKind, instruction: &str) -> Reply {
    let request = Request {
        kind,
        instruction: instruction.to_owned(),
        ..request()
    };
    client.call(&request).await.unwrap()
}

#[tokio::test]
async fn a_reply_has_the_recorded_text_finish_and_usage() {
    let address = serve_one(TWO_PLANS).await;
    assert_eq!(
        ask(&client(&address, "/one/v1"), CallKind::Plan, "plan").await,
        Reply {
            text: "I would rather talk.".to_owned(),
            finish: FinishReason::Length,
            usage: Usage { input: 5, output: 2 },
            ..Reply::default()
        }
    );
}

#[tokio::test]
async fn distinct_requests_get_the_replies_of_their_kind_in_turn_and_then_from_the_first_on() {
    let address = serve_one(TWO_PLANS).await;
    let client = client(&address, "/one/v1");
    let mut texts = Vec::new();
    for instruction in ["plan", "plan again", "plan a third time"] {
        texts.push(ask(&client, CallKind::Plan, instruction).await.text);
        assert_eq!(
            ask(&client, CallKind::Code, instruction).await.text,
            r#"{"code":"pass"}"#
        );
    }
    assert_eq!(
        texts,
        [
            "I would rather talk.",
            r#"{"description":"second"}"#,
            "I would rather talk."
        ]
    );
}

#[tokio::test]
async fn a_repeated_request_gets_the_reply_that_it_got_before() {
    let address = serve_one(TWO_PLANS).await;
    let first = ask(&client(&address, "/one/v1"), CallKind::Plan, "plan").await;
    // Another client, as of another task or after a restart.
    let again = ask(&client(&address, "/one/v1"), CallKind::Plan, "plan").await;
    assert_eq!(again, first);
    let counts: Value = get_json(&format!("{address}/requests")).await;
    assert_eq!(
        counts,
        json!({"/one/v1": {"plan": {"requests": 2, "distinct": 1}}})
    );
}

async fn get_json(address: &str) -> Value {
    reqwest::get(address).await.unwrap().json().await.unwrap()
}

#[tokio::test]
async fn each_recording_answers_under_its_own_address() {
    let mut server = ReplyServer::new(Duration::ZERO);
    server.add(None, TWO_PLANS).unwrap();
    server
        .add(
            Some("other"),
            r#"{"kind":"plan","reply":{"description":"other"}}"#,
        )
        .unwrap();
    assert_eq!(server.base_paths().collect::<Vec<_>>(), ["/other/v1", "/v1"]);
    let address = serve(server).await;
    let plan = |base| {
        let client = client(&address, base);
        async move { ask(&client, CallKind::Plan, "plan").await.text }
    };
    assert_eq!(plan("/v1").await, "I would rather talk.");
    assert_eq!(plan("/other/v1").await, r#"{"description":"other"}"#);
    let error = client(&address, "/third/v1").call(&request()).await.unwrap_err();
    assert!(
        error.to_string().contains("base addresses are /other/v1, /v1"),
        "{error}"
    );
}

#[tokio::test]
async fn a_kind_without_a_reply_is_refused_with_the_kinds_that_have_one() {
    let address = serve_one(TWO_PLANS).await;
    let asked = Request {
        kind: CallKind::Diagnosis,
        ..request()
    };
    let error = client(&address, "/one/v1").call(&asked).await.unwrap_err();
    assert!(
        error
            .to_string()
            .contains("names \"diagnosis\", there are replies to plan, code"),
        "{error}"
    );
}

#[tokio::test]
async fn tokens_are_estimated_where_the_recording_does_not_say() {
    let address = serve_one(TWO_PLANS).await;
    let usage = ask(&client(&address, "/one/v1"), CallKind::Code, "code")
        .await
        .usage;
    assert_eq!(usage.output, estimate_tokens(r#"{"code":"pass"}"#));
    assert!(usage.input > 10, "{usage:?}");
}

#[tokio::test]
async fn a_reply_takes_at_least_the_given_time() {
    let latency = Duration::from_millis(20);
    let mut server = ReplyServer::new(latency);
    server.add(None, TWO_PLANS).unwrap();
    let client = client(&serve(server).await, "/v1");
    let begin = std::time::Instant::now();
    ask(&client, CallKind::Plan, "plan").await;
    assert!(begin.elapsed() >= latency, "{:?}", begin.elapsed());
}

#[test]
fn a_name_that_cannot_stand_in_an_address_and_a_second_recording_for_one_are_refused() {
    let mut server = ReplyServer::new(Duration::ZERO);
    assert!(server.add(Some("a/b"), TWO_PLANS).is_err());
    assert!(server.add(Some(""), TWO_PLANS).is_err());
    server.add(Some("a"), TWO_PLANS).unwrap();
    let error = server.add(Some("a"), TWO_PLANS).unwrap_err();
    assert_eq!(
        error.to_string(),
        "two recordings are given for /a/v1: give each its own name, as in --replies name=FILE"
    );
    let error = server.add(Some("b"), "{\"kind\":\"plan\"}").unwrap_err();
    assert!(error.to_string().contains("line 1"), "{error}");
}

const TURNS: &str = r#"
{"kind":"turn","text":"I look.","calls":[{"id":"a","name":"Bash","input":{"command":"ls"}},{"id":"b","name":"Read","input":{"file_path":"x"}}]}
{"kind":"turn","text":"Done."}
{"kind":"plan","reply":{"description":"first"}}
"#;

fn turn(exchanges: Vec<Exchange>) -> Request {
    Request {
        kind: CallKind::Turn,
        conversation: Some(Conversation {
            tools: codegen_core::agent::TOOLS.clone(),
            exchanges,
        }),
        ..request()
    }
}

/// Returns what was said and answered in the first turn.
fn first_turn(reply: &Reply) -> Exchange {
    let result = |call: &ToolCall| ToolResult {
        id: call.id.clone(),
        text: "nothing".to_owned(),
        is_error: call.name == "Read",
    };
    Exchange {
        text: reply.text.clone(),
        calls: reply.calls.clone(),
        echo: None,
        results: reply.calls.iter().map(result).collect(),
        note: "Go on.".to_owned(),
    }
}

async fn converse(model: &impl Model) -> [Reply; 3] {
    let first = model.call(&turn(Vec::new())).await.unwrap();
    let second = model.call(&turn(vec![first_turn(&first)])).await.unwrap();
    [first, second, model.call(&request()).await.unwrap()]
}

#[tokio::test]
async fn tools_are_called_and_answered_in_both_protocols_alike() {
    let (one, other) = (serve_one(TURNS).await, serve_one(TURNS).await);
    let openai = converse(&client(&one, "/one/v1")).await;
    let anthropic = Anthropic::new(&options(Provider::Anthropic, &format!("{other}/one/v1"))).unwrap();
    let anthropic = converse(&anthropic).await;
    let without_usage = |replies: [Reply; 3]| {
        replies.map(|reply| Reply {
            usage: Usage::default(),
            ..reply
        })
    };
    assert_eq!(without_usage(openai.clone()), without_usage(anthropic));
    let names: Vec<&str> = openai[0].calls.iter().map(|call| call.name.as_str()).collect();
    assert_eq!(
        (openai[0].text.as_str(), names),
        ("I look.", vec!["Bash", "Read"])
    );
    assert_eq!((openai[1].text.as_str(), openai[1].calls.len()), ("Done.", 0));
}
