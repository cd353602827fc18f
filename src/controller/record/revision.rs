//! A revision of a task: everything that its steps go by.

use std::sync::Arc;

use crate::controller::record::snapshot::Snapshot;
use codegen_api::status::SnapshotStatus;
use codegen_core::task::Task;
use codegen_sandbox::kubernetes::Owner;

/// Request of a task in one version of its spec, with its inputs as they were.
pub struct Revision {
    /// The task without open questions.
    pub task: Task,
    /// Owner of its objects.
    pub owner: Owner,
    /// Its inputs.
    pub snapshot: Arc<Snapshot>,
    /// Place of the inputs in the cluster.
    pub snapshot_status: SnapshotStatus,
    /// Generation of the spec that is acted on.
    pub generation: Option<i64>,
    /// Wish for another try that is acted on.
    pub retry: Option<String>,
    /// Stage of the task when the pass began.
    pub stage: Option<String>,
}
