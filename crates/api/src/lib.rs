//! The custom resources: what a user writes and what the operator answers.
//!
//! Types, defaults, validation rules and user-facing documentation of the group
//! `codegen-operator.dev/v1alpha1`. No I/O.
//!
//! Enums have an empty schema description: theirs would replace that of an optional field, which says more.

pub mod agent;
pub mod approval;
pub mod case;
pub mod code_mode;
pub mod common;
pub mod conditions;
pub mod crd;
pub mod duration;
pub mod image;
pub mod limits;
pub mod model;
pub mod namespaced;
pub mod packages;
pub mod publish;
pub mod quantity;
pub mod retry;
pub mod run;
pub mod run_status;
pub mod sandbox;
pub mod secret_use;
pub mod source;
pub mod status;
pub mod task;
pub mod type_name;
pub mod validate;
pub mod values;

pub use agent::{CodeGenAgent, CodeGenAgentSpec};
pub use approval::CodeGenApproval;
pub use code_mode::{CodeModeAgent, CodeModeRun};
pub use crd::{crds, crds_yaml};
pub use namespaced::Namespaced;
pub use run::{CodeGenRun, CodeGenRunSpec};
pub use run_status::CodeGenRunStatus;
pub use status::CodeGenTaskStatus;
pub use task::{CodeGenTask, CodeGenTaskSpec};

/// API group of every kind of this project.
pub const GROUP: &str = "codegen-operator.dev";
/// Version of every kind of this project.
pub const VERSION: &str = "v1alpha1";
