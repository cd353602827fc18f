//! What the charts and `deploy/` come to, seen by the programs that take them: Helm, kustomize, and the engines of Argo CD and Flux.
//! `make packaging` has these programs and runs this.
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
mod tool;
