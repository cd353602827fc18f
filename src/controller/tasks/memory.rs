//! Memory of tasks while they are worked on.

use std::sync::Arc;

use kube::Client;

use crate::controller::config::ConcurrencyLimits;
use crate::controller::record::cache::ended_in;
use crate::controller::record::documents::RevisionDocuments;
use crate::controller::record::snapshot::{self, Snapshot};
use crate::controller::schedule::gate::PlaceCount;
use crate::controller::schedule::shared::{Shared, SharedKind};
use crate::controller::telemetry::metrics::Metrics;
use codegen_api::CodeGenTask;
use codegen_api::conditions::reason;
use codegen_ledger::StoreError;
use codegen_sandbox::kubernetes::Owner;

/// Memory of one task.
#[derive(Default)]
pub struct TaskMemory {
    revision: String,
    documents: Arc<RevisionDocuments>,
    snapshot: Option<(String, Arc<Snapshot>)>,
}

impl SharedKind for CodeGenTask {
    type Memory = TaskMemory;
    type Beside = ();

    fn places(limits: ConcurrencyLimits) -> PlaceCount {
        PlaceCount::of_tasks(limits)
    }

    fn count_queued(metrics: &Metrics, waiting: usize) {
        metrics.set_queued(waiting);
    }

    fn has_begun(&self) -> bool {
        self.status.as_ref().is_some_and(|status| status.run.is_some())
    }

    /// Begun, not at its end, and not in anybody's hands.
    fn is_under_way(&self) -> bool {
        let reason = self.status.as_ref().and_then(|status| status.reason.as_deref());
        self.has_begun()
            && ended_in(self).is_none()
            && self.spec.suspend != Some(true)
            && [reason::PROGRESSING, reason::INFRASTRUCTURE]
                .iter()
                .any(|under_way| reason == Some(under_way))
    }

    fn was_worked_on(memory: &TaskMemory) -> bool {
        !memory.revision.is_empty()
    }
}

impl Shared<CodeGenTask> {
    /// The documents of a revision that are in memory.
    pub fn documents(&self, uid: &str, revision: &str) -> Arc<RevisionDocuments> {
        self.with(uid, |memory| {
            // Another run has other documents under the same names.
            if memory.revision != revision {
                revision.clone_into(&mut memory.revision);
                memory.documents = Arc::default();
            }
            Arc::clone(&memory.documents)
        })
    }

    /// The snapshot `name`.
    pub async fn snapshot(
        &self,
        client: &Client,
        owner: &Owner,
        name: &str,
    ) -> Result<Option<Arc<Snapshot>>, StoreError> {
        let known = self.recall(&owner.uid, |memory| memory.snapshot.clone());
        if let Some((_, snapshot)) = known.flatten().filter(|(known, _)| known == name) {
            return Ok(Some(snapshot));
        }
        let found = snapshot::read(client, &owner.namespace, name).await?;
        Ok(found.map(|snapshot| self.remember_snapshot(owner, name, snapshot)))
    }

    /// Keeps a snapshot in memory.
    pub fn remember_snapshot(&self, owner: &Owner, name: &str, snapshot: Snapshot) -> Arc<Snapshot> {
        let snapshot = Arc::new(snapshot);
        let remembered = Some((name.to_owned(), Arc::clone(&snapshot)));
        self.with(&owner.uid, |memory| memory.snapshot = remembered);
        snapshot
    }
}
