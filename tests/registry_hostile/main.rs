//! Registries that send the operator elsewhere, answer without an end, or put words into its mouth.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests say what they expect"
)]

mod answers;
mod logins;
mod redirects;
mod scene;
