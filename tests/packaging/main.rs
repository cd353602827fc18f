//! What the charts and `deploy/` come to, seen by the programs that take them: Helm, kustomize, and the engines of Argo CD and Flux, which
//! `make packaging` has. What ships is seen without them.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests say what they expect"
)]

mod charts;
mod deploy;
mod health;
mod new;
mod shipped;
mod tool;
