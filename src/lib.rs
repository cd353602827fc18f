//! A Kubernetes operator that turns a prompt, sample data and typed outputs into a tested Python program.
//!
//! Modules in order of dependency: each may use those before it, never one after it.

#[doc(inline)]
pub use codegen_code_mode as code_mode;
#[doc(inline)]
pub use codegen_data as data;
#[doc(inline)]
pub use codegen_interpreter as interpreter;

pub mod api;
pub mod pipeline;
pub mod egress;
pub mod model;
pub mod tools;
pub mod ledger;
pub mod registry;
pub mod package_index;
pub mod sandbox;
pub mod engine;
pub mod sources;
pub mod local;
pub mod controller;
pub mod cli;
