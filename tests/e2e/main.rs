//! The operator on a real cluster, as its users meet it. `make e2e` gives the cluster, installs the operator and runs these; each has a
//! namespace of its own and removes it, and a failure says what the cluster had to say.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "tests say what they expect"
)]

mod account;
mod agent_examples;
mod admission;
mod approvals;
mod changes;
mod code_mode;
mod deletion;
mod examples;
mod faults;
mod export;
mod full;
#[path = "../support/identity.rs"]
mod identity;
mod isolation;
mod leadership;
mod outcomes;
mod ownership;
mod packages;
mod packaging;
mod parity;
mod permissions;
mod publish;
mod registry;
mod reuse;
mod river;
mod run_command;
mod runs;
mod secrets;
mod sources;
mod space;
mod reports;
mod retry;
mod verbs;
mod waiting;
