//! The operator and its command line, which turn a prompt, sample data and typed outputs into a tested Python program.
//!
//! Modules in order of dependency: each may use those before it, never one after it. What they stand on are the crates in `crates/`.

pub mod local;
pub mod controller;
pub mod cli;
