//! Language models behind one trait: OpenAI-compatible servers, Anthropic Messages, recorded replies.
//!
//! A client sends one request and returns one reply. It repeats what the network or an overloaded server spoils, within a
//! deadline; whether a reply is any good is for `codegen-core` to say.

mod anthropic;
mod connecting;
mod endpoint;
mod error;
mod http;
mod openai;
mod options;
mod recorded;
mod reply_server;
mod retry;
mod secret;
mod shared_client;
#[cfg(test)]
mod test_support;

use std::future::Future;

pub use anthropic::Anthropic;
pub use connecting::{Connecting, ObserveConnections};
pub use error::ModelError;
pub use openai::OpenAi;
pub use options::{ModelOptions, NamedIn};
pub use recorded::{Recorded, RecordedReply};
pub use reply_server::{ReplyServer, ReplyServerError};
pub use retry::{RetryPolicy, retry_after};
pub use secret::Secret;
pub use shared_client::SharedClient;

use codegen_api::model::Provider;
use codegen_core::call::{Reply, Request};
use codegen_data::context::estimate_tokens;

/// A language model.
pub trait Model: Send + Sync {
    /// Sends one request and returns the reply, or says why there is none.
    fn call(&self, request: &Request) -> impl Future<Output = Result<Reply, ModelError>> + Send;
}

/// Tokens of a request whose server does not count them.
fn estimated_input(request: &Request) -> u64 {
    let conversation = match request.conversation {
        Some(_) => request.form(),
        None => String::new(),
    };
    [request.system.clone(), request.user_message(), conversation]
        .iter()
        .map(|text| estimate_tokens(text))
        .sum()
}

/// Any of the models that this crate knows, so that a caller can hold one without naming its type.
pub enum AnyModel {
    /// An OpenAI-compatible server.
    OpenAi(Box<OpenAi>),
    /// An Anthropic Messages server.
    Anthropic(Box<Anthropic>),
    /// Recorded replies.
    Recorded(Recorded),
}

impl AnyModel {
    /// The client for the provider in `options`; no connection is made before the first call.
    pub fn new(options: &ModelOptions) -> Result<Self, ModelError> {
        Ok(match options.settings.provider {
            Provider::OpenAI => Self::OpenAi(Box::new(OpenAi::new(options)?)),
            Provider::Anthropic => Self::Anthropic(Box::new(Anthropic::new(options)?)),
        })
    }

    /// Returns what a person should know of recorded replies that do not fit what was asked; `None` where all do.
    pub fn mismatch(&self) -> Option<String> {
        match self {
            Self::Recorded(model) => model.mismatch(),
            Self::OpenAi(_) | Self::Anthropic(_) => None,
        }
    }
}

impl Model for AnyModel {
    async fn call(&self, request: &Request) -> Result<Reply, ModelError> {
        match self {
            Self::OpenAi(model) => model.call(request).await,
            Self::Anthropic(model) => model.call(request).await,
            Self::Recorded(model) => model.call(request).await,
        }
    }
}
