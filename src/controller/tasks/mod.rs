//! Tasks: one reconcile pass, from the status that is there to the next one.

mod builds;
mod control;
mod finish;
mod memory;
mod owners;
pub(super) mod reconcile;
mod reuse;
mod revision;
