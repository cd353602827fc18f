//! Tools as a program of code mode sees them, and the journal of its calls.
//!
//! A tool is described by JSON Schema, wherever it comes from. Here that becomes a Python signature, which is both what the model reads
//! and what its program is held to; the arguments of a call become JSON again. Nothing here does I/O.

pub mod arguments;
pub mod certain;
pub mod ending;
pub mod faults;
pub mod finite;
pub mod journal;
mod lines;
pub mod names;
pub mod prompt;
pub mod python;
pub mod reply;
pub mod schema;
pub mod signature;
pub mod types;

#[cfg(test)]
mod tests;
