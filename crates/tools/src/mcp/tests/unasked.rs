//! Servers that send what nobody asked for: requests, and events before a reply.

use std::sync::Mutex as SyncMutex;

use axum::body::{Body, Bytes};
use axum::http::Method;
use tokio::sync::{mpsc, oneshot};

use super::*;

const EVENTS: [(&str, &str); 1] = [("content-type", "text/event-stream")];

fn event(message: &Value) -> String {
    format!("data: {message}\n\n")
}

/// A reply of these messages, each an event.
fn events(messages: impl IntoIterator<Item = Value>) -> Reply {
    let text: String = messages.into_iter().map(|message| event(&message)).collect();
    Reply::Raw((EVENTS, text).into_response())
}

fn ping(id: usize) -> Value {
    json!({"jsonrpc": "2.0", "id": format!("ping-{id}"), "method": "ping"})
}

/// Returns what a server says of its work meanwhile.
fn news(bytes: usize) -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x".repeat(bytes)}})
}

fn reply_to(id: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": {"structuredContent": found(), "content": []}})
}

fn is_answer(had: &Had) -> bool {
    had.method == Method::POST && had.message["method"].is_null()
}

#[tokio::test]
async fn of_a_server_that_asks_and_takes_no_answers_one_request_is_answered_and_none_is_held() {
    let fake = Fake::start(|had| match had.message["method"].as_str() {
        Some("tools/call") => events((0..5_000).map(ping).chain([reply_to(&had.message["id"])])),
        // It takes no answer.
        None if is_answer(had) => Reply::Raw(silence()),
        _ => Reply::Usual,
    })
    .await;
    assert_eq!(
        call(&client(&fake), &tool(), LONG).await,
        Called::Returned(found())
    );
    let answers = fake.all().iter().filter(|had| is_answer(had)).count();
    assert_eq!(answers, 1);
}

#[tokio::test]
async fn of_a_server_that_is_left_no_connection_stays() {
    let (open, closed) = oneshot::channel::<()>();
    let open = Arc::new(SyncMutex::new(Some(open)));
    let fake = Fake::start(move |had| match had.message["method"].as_str() {
        Some("tools/list") => {
            let next = |(id, open)| async move {
                let mut ping = ping(id);
                // Long ones, so that their sum is there soon.
                ping["params"] = json!({"_meta": {"about": "x".repeat(100_000)}});
                let text = event(&ping);
                Some((Ok::<_, std::io::Error>(Bytes::from(text)), (id + 1, open)))
            };
            let open = open.lock().unwrap().take();
            let body = Body::from_stream(futures::stream::unfold((0, open), next));
            Reply::Raw((EVENTS, body).into_response())
        }
        None if is_answer(had) => Reply::Raw(silence()),
        _ => Reply::Usual,
    })
    .await;
    let client = client(&fake);
    let error = list(&client, &[]).await.unwrap_err();
    let why = "did not list its tools: it sent more than 16777216 bytes before its reply";
    assert!(error.to_string().contains(why), "{error}");
    // Dropped with the body that is written to the connection.
    let closed = tokio::time::timeout(LONG, closed).await;
    assert!(closed.unwrap().is_err());
}

/// Pings, each after the answer to the one before, and a reply after the last answer.
fn pinging(pings: usize, id: &Value, answers: mpsc::UnboundedReceiver<()>) -> Reply {
    let reply = event(&reply_to(id));
    let next = move |(sent, mut answers): (usize, mpsc::UnboundedReceiver<()>)| {
        let reply = reply.clone();
        async move {
            if sent > pings {
                return None;
            }
            if sent > 0 {
                answers.recv().await?;
            }
            let text = if sent < pings { event(&ping(sent)) } else { reply };
            Some((Ok::<_, std::io::Error>(Bytes::from(text)), (sent + 1, answers)))
        }
    };
    let body = Body::from_stream(futures::stream::unfold((0, answers), next));
    Reply::Raw((EVENTS, body).into_response())
}

#[tokio::test]
async fn a_server_that_pings_now_and_then_is_answered() {
    let (answered, answers) = mpsc::unbounded_channel();
    let answers = Arc::new(SyncMutex::new(Some(answers)));
    let fake = Fake::start(move |had| match had.message["method"].as_str() {
        Some("tools/call") => {
            let answers = answers.lock().unwrap().take().unwrap();
            pinging(300, &had.message["id"], answers)
        }
        None if is_answer(had) => {
            answered.send(()).unwrap();
            Reply::Usual
        }
        _ => Reply::Usual,
    })
    .await;
    assert_eq!(
        call(&client(&fake), &tool(), LONG).await,
        Called::Returned(found())
    );
}

#[tokio::test]
async fn events_without_an_end_before_a_reply_are_left_in_their_middle() {
    let talkative = |method: &'static str, times: usize| {
        Fake::start(move |had| match had.message["method"].as_str() {
            Some(asked) if asked == method => {
                let talk = std::iter::repeat_n(news(500_000), times);
                events(talk.chain([reply_to(&had.message["id"])]))
            }
            _ => Reply::Usual,
        })
    };
    let why = "sent more than 16777216 bytes before its reply";
    let fake = talkative("tools/call", 40).await;
    let raised = raised(call(&client(&fake), &idempotent(), LONG).await);
    assert!(raised.message.contains(why), "{}", raised.message);
    assert_eq!(fake.had("tools/call").len(), 1);
    let fake = talkative("tools/list", 40).await;
    let error = list(&client(&fake), &[]).await.unwrap_err().to_string();
    assert!(error.contains(why), "{error}");
    let fake = talkative("tools/call", 4).await;
    assert_eq!(
        call(&client(&fake), &tool(), LONG).await,
        Called::Returned(found())
    );
}
