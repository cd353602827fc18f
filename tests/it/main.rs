//! Tests from outside that need no cluster: a file for each subject, one program for all of them.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests say what they expect"
)]

#[path = "../support/docker_registry.rs"]
mod docker_registry;
#[allow(dead_code, reason = "the tests of the sandbox use the rest")]
#[path = "../sandbox/support.rs"]
mod environment;
#[path = "../support/jobs.rs"]
mod jobs;
#[path = "../support/mod.rs"]
mod support;

mod approvals;
mod bad_input;
mod chart;
mod context;
mod crds;
mod examples;
mod exposure;
mod honest_programs;
mod honest_verdict;
mod interruption;
mod large_outputs;
mod launcher;
mod layers;
mod local_reuse;
mod model_faults;
mod models;
mod real_files;
mod registry;
mod retry;
mod sandbox_settings;
mod second_chance;
mod sources;
mod status_size;
mod stopping;
mod types;
mod words;
