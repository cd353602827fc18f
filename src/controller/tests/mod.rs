//! Scenarios: tasks and runs reconciled step by step against an API server in memory. Each says which calls are made, or that
//! none is.

pub mod api_server;
mod calls;
pub(crate) mod code_mode;
mod data_reader;
mod node;
mod provider;
mod registry;
mod request;
pub mod world;

mod adoption;
mod agent;
mod conflict;
mod deletion;
mod history;
mod hold;
mod large_outputs;
mod lost_reply;
mod publish_later;
mod pull_secret;
mod retry;
mod run_faults;
mod run_defaults;
mod runs;
mod stale;
mod tasks;
mod third_kind;
