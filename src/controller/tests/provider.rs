//! A model behind HTTP that gives each kind of call its reply, the same each time; of an agent each turn its own, which are a list.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use wiremock::matchers::method;
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

use codegen_core::call::CallKind;

/// A server of replies.
pub struct Provider(MockServer);

impl Provider {
    /// One that knows these replies and no others.
    pub async fn start(replies: &[(CallKind, Value)]) -> Self {
        let server = MockServer::start().await;
        let replies: BTreeMap<String, String> = replies
            .iter()
            .map(|(kind, reply)| (kind.as_str().to_owned(), reply.to_string()))
            .collect();
        Mock::given(method("POST"))
            .respond_with(move |request: &Request| match replies.get(&kind_of(request)) {
                Some(turns) if kind_of(request) == TURN => {
                    ResponseTemplate::new(200).set_body_json(turn(turns, request))
                }
                Some(reply) => ResponseTemplate::new(200).set_body_json(completion(reply)),
                None => ResponseTemplate::new(400),
            })
            .mount(&server)
            .await;
        Self(server)
    }

    /// Returns the address at which it listens, as a setting names it.
    pub fn origin(&self) -> String {
        self.0.uri()
    }

    /// The host and port alone.
    pub fn host(&self) -> String {
        self.0.address().to_string()
    }

    /// Returns the bodies of all calls, as text.
    pub async fn said(&self) -> Vec<String> {
        let requests = self.0.received_requests().await.unwrap();
        let text = |request: &Request| String::from_utf8_lossy(&request.body).into_owned();
        requests.iter().map(text).collect()
    }

    /// The kinds of all calls that came in.
    pub async fn calls(&self) -> Vec<String> {
        let requests = self.0.received_requests().await.unwrap();
        requests.iter().map(kind_of).collect()
    }
}

const TURN: &str = "turn";

fn body_of(request: &Request) -> Value {
    serde_json::from_slice(&request.body).unwrap()
}

/// Returns the reply of an agent after as many turns as the request has: the tools that it calls.
fn turn(turns: &str, request: &Request) -> Value {
    let turns: Vec<Vec<(String, Value)>> = serde_json::from_str(turns).unwrap();
    let body = body_of(request);
    let messages = body["messages"].as_array().unwrap().iter();
    let number = messages.filter(|message| message["role"] == "assistant").count();
    let call = |(index, (name, input)): (usize, &(String, Value))| {
        let function = json!({"name": name, "arguments": input.to_string()});
        json!({"id": format!("call-{number}-{index}"), "type": "function", "function": function})
    };
    let calls: Vec<Value> = turns[number].iter().enumerate().map(call).collect();
    let mut completion = completion("");
    completion["choices"][0]["message"]["tool_calls"] = calls.into();
    completion
}

fn kind_of(request: &Request) -> String {
    let body = body_of(request);
    if body.get("tools").is_some() {
        return TURN.to_owned();
    }
    let name = body.pointer("/response_format/json_schema/name");
    name.and_then(Value::as_str).unwrap().to_owned()
}

fn completion(reply: &str) -> Value {
    let message = json!({"role": "assistant", "content": reply});
    json!({
        "id": "1", "object": "chat.completion", "created": 0, "model": "test-model",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
    })
}
