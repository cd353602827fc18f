//! A revision of a task: everything that its steps go by.

use std::sync::Arc;

use crate::api::status::SnapshotStatus;
use crate::controller::record::snapshot::Snapshot;
use crate::pipeline::task::Task;
use crate::sandbox::kubernetes::Owner;

/// What a task asks for in one version of its spec, with its inputs as they were.
pub struct Revision {
    /// The task without open questions.
    pub task: Task,
    /// Whose children its objects are.
    pub owner: Owner,
    /// Its inputs.
    pub snapshot: Arc<Snapshot>,
    /// Where these lie.
    pub snapshot_status: SnapshotStatus,
    /// Generation of the spec that is acted on.
    pub generation: Option<i64>,
    /// Which wish for another try is acted on.
    pub retry: Option<String>,
    /// Where it stood when the pass began.
    pub stage: Option<String>,
}
