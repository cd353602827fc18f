//! Tasks: one reconcile pass, from the status that is there to the next one.

pub mod approvals;
pub mod builds;
pub mod control;
pub mod finish;
pub mod model;
pub mod owners;
pub mod reconcile;
pub mod reuse;
pub mod revision;
