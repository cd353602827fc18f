//! A model that answers from a script.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde_json::Value;

use codegen_core::call::{CallKind, FinishReason, ModelIndex, Reply, Request, Usage};
use codegen_core::conversation::ToolCall;
use codegen_model::{Model, ModelError};

/// A model that answers from a script: replies by kind, the last of a kind repeated for ever.
#[derive(Default)]
pub struct Script {
    replies: BTreeMap<(ModelIndex, CallKind), Vec<Scripted>>,
    asked: Mutex<BTreeMap<(ModelIndex, CallKind), usize>>,
    /// The model that the next replies of the script are of.
    of: ModelIndex,
    /// Duration of a call.
    pub takes: Duration,
    /// Every request that came in, lives of the task together.
    pub requests: Mutex<Vec<Request>>,
}

#[derive(Clone)]
enum Scripted {
    Reply(Reply),
    Error(ModelError),
}

impl Script {
    pub fn new() -> Self {
        Self::default()
    }

    /// What follows are replies of this model.
    pub fn of(self, of: ModelIndex) -> Self {
        Self { of, ..self }
    }

    fn push(&mut self, kind: CallKind, reply: Scripted) {
        self.replies.entry((self.of, kind)).or_default().push(reply);
    }

    pub fn with(self, kind: CallKind, reply: &Value) -> Self {
        self.with_text(kind, &reply.to_string(), FinishReason::Complete)
    }

    pub fn with_text(mut self, kind: CallKind, text: &str, finish: FinishReason) -> Self {
        let usage = Usage {
            input: 100,
            output: 10,
        };
        let reply = Reply {
            text: text.to_owned(),
            finish,
            usage,
            ..Reply::default()
        };
        self.push(kind, Scripted::Reply(reply));
        self
    }

    /// Adds a turn of an agent, with its text and the tools that it calls.
    pub fn with_turn(mut self, text: &str, calls: &[(&str, Value)]) -> Self {
        let call = |(index, (name, input)): (usize, &(&str, Value))| ToolCall {
            id: format!("toolu-{index}"),
            name: (*name).to_owned(),
            input: input.clone(),
        };
        let reply = Reply {
            text: text.to_owned(),
            usage: Usage {
                input: 100,
                output: 10,
            },
            calls: calls.iter().enumerate().map(call).collect(),
            ..Reply::default()
        };
        self.push(CallKind::Turn, Scripted::Reply(reply));
        self
    }

    pub fn with_error(mut self, kind: CallKind, error: ModelError) -> Self {
        self.push(kind, Scripted::Error(error));
        self
    }

    pub fn calls(&self) -> usize {
        self.requests.lock().unwrap().len()
    }

    /// Calls whose reply is recorded are not made again, so the n-th call of a kind is known by what the ledger holds: a call
    /// that was lost is answered as it would have been.
    pub fn forget_lost(&self, of: ModelIndex, kind: CallKind) {
        *self.asked.lock().unwrap().entry((of, kind)).or_insert(1) -= 1;
    }
}

impl Model for Script {
    async fn call(&self, request: &Request) -> Result<Reply, ModelError> {
        self.requests.lock().unwrap().push(request.clone());
        let begun = Instant::now();
        while begun.elapsed() < self.takes {
            tokio::task::yield_now().await;
        }
        let mut asked = self.asked.lock().unwrap();
        let wanted = (request.model.index, request.kind);
        let number = asked.entry(wanted).or_insert(0);
        let replies = self
            .replies
            .get(&wanted)
            .unwrap_or_else(|| panic!("no reply of kind {} of {}", request.kind, request.model.index));
        let reply = replies[(*number).min(replies.len() - 1)].clone();
        *number += 1;
        match reply {
            Scripted::Reply(reply) => Ok(reply),
            Scripted::Error(error) => Err(error),
        }
    }
}
