//! A Kubernetes operator that turns a prompt, sample data and typed outputs into a tested Python program.
//!
//! Modules in order of dependency: each may use those before it, never one after it.

pub mod local;
pub mod controller;
pub mod cli;
