//! The local sandbox with real environments, real bubblewrap and real pytest.
//!
//! Environments are built once and kept in the cache folder, so that later runs start at once.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests say what they expect"
)]

mod acceptance;
mod alike;
mod archives;
mod authorities;
mod cases;
mod command_wall;
mod commands;
mod environments;
#[path = "../support/python_index.rs"]
mod index;
mod internet;
mod isolation;
#[path = "../support/jobs.rs"]
mod jobs;
mod limits;
mod near_misses;
mod outputs;
mod packages;
mod pytest_sessions;
#[path = "../support/server.rs"]
mod server;
mod support;
mod walls;
mod walls_down;
mod wheels;
