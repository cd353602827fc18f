//! Tasks: one reconcile pass, from the status that is there to the next one.

pub(crate) mod approvals;
pub(crate) mod builds;
pub(crate) mod control;
pub(crate) mod finish;
pub(crate) mod memory;
pub(crate) mod model;
pub(crate) mod owners;
pub(crate) mod reconcile;
pub(crate) mod reuse;
pub(crate) mod revision;
