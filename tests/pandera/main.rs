//! The printed schemas and constraints in real Pandera, against the checks of the data worker.
//!
//! Pandera runs in the sandbox; its environment is built once and kept in the cache folder.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests say what they expect"
)]

mod cases;
mod compare;
mod files;
#[path = "../support/jobs.rs"]
mod jobs;
mod lead;
mod random;
#[expect(dead_code, reason = "the tests of the sandbox use the rest")]
#[path = "../sandbox/support.rs"]
mod support;
