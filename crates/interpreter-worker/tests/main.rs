//! Real workers, driven through the pool as the operator drives them.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests say what they expect"
)]

mod confinement;
mod deaths;
mod fakes;
mod limits;
mod sources;
mod support;
mod syntax;
mod tools;
mod values;
