//! A layer more on an image that a registry has, and what refers to the image, against real registries with htpasswd.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "tests say what they expect"
)]

#[path = "../support/docker_registry.rs"]
mod docker_registry;
mod layers;
mod place;
mod referrers;
#[path = "../support/referrers_registry.rs"]
mod referrers_registry;
mod tags;
