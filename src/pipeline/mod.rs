//! Decisions: the state machine, verdicts, prompts, package detection, test patching.
//!
//! Pure: no `async`, no client, no clock (time comes in as an argument), no files.

pub mod call;
pub mod checks;
pub mod digest;
pub mod python;
pub mod redact;
pub mod sandbox;
pub mod stage;
pub mod task;
