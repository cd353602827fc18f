//! What the API server keeps of tasks and runs: statuses, snapshots, documents.

pub mod cache;
pub mod cleanup;
pub mod documents;
pub mod index;
pub mod own;
pub mod pack;
pub mod parts;
pub mod progress;
pub mod result;
pub mod revision;
pub mod size;
pub mod snapshot;
pub mod store;
pub mod unpack;
