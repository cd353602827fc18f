//! `kubectl-codegen local run`: the program of a finished task on values and files of the user's, in the real sandbox.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests say what they expect"
)]

mod for_each;
mod inputs;
mod outputs;
mod planted;
#[path = "../support/mod.rs"]
mod support;
mod tasks;
mod verbs;
