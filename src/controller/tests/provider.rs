//! A model behind HTTP that gives each kind of call its reply, the same each time.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use wiremock::matchers::method;
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

use crate::pipeline::call::CallKind;

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
                Some(reply) => ResponseTemplate::new(200).set_body_json(completion(reply)),
                None => ResponseTemplate::new(400),
            })
            .mount(&server)
            .await;
        Self(server)
    }

    /// Where it listens, as a setting names it.
    pub fn origin(&self) -> String {
        self.0.uri()
    }

    /// The host and port alone.
    pub fn host(&self) -> String {
        self.0.address().to_string()
    }

    /// What all calls said, as text.
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

fn kind_of(request: &Request) -> String {
    let body: Value = serde_json::from_slice(&request.body).unwrap();
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
