//! Objects that are stored of tasks and runs at the API server: statuses, snapshots, documents.

pub(super) mod cache;
pub(super) mod cleanup;
pub(super) mod documents;
mod index;
pub(super) mod own;
pub(super) mod pack;
pub(crate) mod parts;
pub mod progress;
pub(crate) mod records;
pub(super) mod result;
pub(super) mod revision;
pub(super) mod secret_documents;
pub(super) mod size;
pub(crate) mod snapshot;
pub(super) mod store;
pub(crate) mod unpack;
