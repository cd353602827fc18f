//! What the API server keeps of tasks and runs: statuses, snapshots, documents.

pub(crate) mod cache;
pub(crate) mod cleanup;
pub(crate) mod documents;
pub(crate) mod index;
pub(crate) mod own;
pub(crate) mod pack;
pub(crate) mod parts;
pub mod progress;
pub(crate) mod result;
pub(crate) mod revision;
pub(crate) mod size;
pub(crate) mod snapshot;
pub(crate) mod store;
pub(crate) mod unpack;
