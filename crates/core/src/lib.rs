//! Decisions: the state machine, verdicts, prompts, package detection, test patching.
//!
//! Pure: no `async`, no client, no clock (time comes in as an argument), no files.

pub mod accept;
pub mod active;
pub mod agent;
pub mod approval;
pub mod bounds;
pub mod budget;
pub mod call;
pub mod cases;
pub mod causes;
pub mod checks;
pub mod code_mode;
pub mod conversation;
mod repetition;
pub mod diagnosis;
pub mod evidence;
pub mod failed_check;
pub mod digest;
pub mod image_tag;
pub mod lock;
pub mod machine;
pub mod models;
pub mod mounts;
pub mod package_policy;
pub mod private_samples;
pub mod progress;
pub mod prompts;
pub mod protocol;
pub mod publication;
pub mod python;
pub mod quoted;
pub mod redact;
pub mod reuse;
pub mod reply;
pub mod retry;
pub mod run;
pub mod sandbox;
pub mod scope;
pub mod stage;
pub mod status;
pub mod stored_outputs;
pub mod task;
pub mod terminal;
#[cfg(any(test, feature = "test-support"))]
#[allow(
    missing_docs,
    clippy::missing_panics_doc,
    clippy::must_use_candidate,
    clippy::panic,
    clippy::unwrap_used,
    reason = "fixtures of tests"
)]
pub mod test_support;
pub mod verdict;
pub mod wildcard;
