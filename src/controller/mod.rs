//! The operator: tasks in a cluster, each advanced by one decision at a time.
//!
//! ```text
//! operate                       the process from its start to its end
//!   code_mode                   agents with tools, and questions to them
//!     runs, tasks               one controller each: what is watched, a reconcile pass, its steps
//!     pooled_model              calls of models, within what an endpoint bears
//!     claims, isolation         what Pods of the operator's own find out
//!     approvals                 what persons decided at gates
//!       control                 one controller for every kind
//!       context                 what all passes share, and nothing that must survive
//!         schedule              who may work now, and what is waited for
//!           sources             what tasks and runs refer to, read once
//!             record            what is stored at the API server
//!               process         replicas, health, the end of the process
//!                 telemetry     Events, metrics, log
//! ```
//!
//! Each room uses those below it, never one above.

mod api;
mod approvals;
mod claims;
pub(crate) mod code_mode;
pub mod config;
mod context;
mod control;
mod error;
mod hold;
mod isolation;
pub mod operate;
mod pooled_model;
pub mod process;
pub mod record;
pub mod runs;
mod schedule;
mod selector;
pub(crate) mod sources;
mod tasks;
pub mod telemetry;
#[cfg(test)]
pub(crate) mod tests;
