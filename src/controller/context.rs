//! What all looks at tasks share. All of it can be lost: what must survive stands in the API server.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures::{Stream, StreamExt as _};
use jiff::Timestamp;
use kube::runtime::reflector::{ObjectRef, Store};
use kube::{Client, ResourceExt as _};
use tokio::sync::{Semaphore, broadcast};
use tokio_util::sync::CancellationToken;

use super::config::{ApprovalSettings, Gates, History, OperatorConfig};
use super::runs::known::Runs;
use crate::api::CodeGenTask;
use crate::controller::record::documents::Documents;
use crate::controller::record::snapshot::{self, Snapshot};
use crate::controller::schedule::admission::Admissions;
use crate::controller::schedule::awaited::Waits;
use crate::controller::schedule::calls::CallPool;
use crate::controller::schedule::decisions::Decisions;
use crate::controller::schedule::held::Held;
use crate::controller::sources::downloads::Downloads;
use crate::controller::telemetry::events::Events;
use crate::controller::telemetry::metrics::{Metrics, Reconciled};
use crate::data::worker::Client as Worker;
use crate::egress::EgressGate;
use crate::ledger::StoreError;
use crate::package_index::PackageIndex;
use crate::pipeline::package_policy::Rules;
use crate::pipeline::task::Task;
use crate::sandbox::KubernetesSandbox;
use crate::sandbox::kubernetes::isolation::Isolation;
use crate::sandbox::kubernetes::settings::Settings;
use crate::sandbox::kubernetes::{MountedInput, Owner, RegistryCache};

/// Woken tasks that may wait to be looked at; one that is lost is looked at when its pause is over.
const MOST_WOKEN: usize = 4096;
/// Tasks that are cleared up after at once when the operator begins: many may have ended just before.
const CLEARED_AT_ONCE: usize = 4;
/// First pause before something is tried again; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// What all looks share.
pub struct Context {
    /// Speaks to the API server.
    pub client: Client,
    /// What the operator was told of builds and sandboxes.
    pub settings: Settings,
    /// Reads data in a child process.
    pub worker: Worker,
    /// What registries said.
    pub registries: RegistryCache,
    /// What package indexes said.
    pub index: PackageIndex,
    /// Which packages may be installed, whatever a task says.
    pub packages: Rules,
    /// What is known of how the cluster isolates.
    pub isolation: Isolation,
    /// Who waits to know more of that.
    pub held: Held,
    /// When this operator began to work.
    pub since: Timestamp,
    /// Places for tasks after which another operator may not have cleared up.
    pub clearing: Semaphore,
    /// What is counted.
    pub metrics: Metrics,
    /// No call starts after this.
    pub stopping: CancellationToken,
    /// Samples at URLs.
    pub downloads: Downloads,
    /// Which model endpoints are spoken to.
    pub models: EgressGate,
    /// Places of model calls.
    pub calls: CallPool,
    /// How long finished tasks are kept.
    pub history: History,
    /// Places of tasks.
    pub admissions: Admissions,
    /// What users are told.
    pub events: Events,
    /// Where every task waits for a person, and who vouches for names.
    pub approvals: ApprovalSettings,
    /// What persons decided.
    pub decisions: Decisions,
    /// What tasks wait for.
    pub waits: Waits<CodeGenTask>,
    /// Runs of finished programs.
    pub runs: Runs,
    tasks: Mutex<HashMap<String, Known>>,
    woken: broadcast::Sender<ObjectRef<CodeGenTask>>,
    known: Mutex<Vec<Store<CodeGenTask>>>,
}

/// What is remembered of a task that runs.
#[derive(Default)]
struct Known {
    /// Version that was written last.
    version: u64,
    run: String,
    documents: Arc<Documents>,
    snapshot: Option<(String, Arc<Snapshot>)>,
    announced: Arc<AtomicU32>,
    pauses: u32,
    /// When it is looked at if nothing changes before, and what its last look came to.
    due: Option<(Instant, Reconciled)>,
}

impl Context {
    /// Nothing is known yet.
    #[must_use]
    pub fn new(
        client: Client,
        config: &OperatorConfig,
        gates: Gates,
        (worker, registries): (Worker, RegistryCache),
        events: Events,
        metrics: Metrics,
        stopping: CancellationToken,
    ) -> Self {
        let calls = config.limits.max_calls_per_endpoint;
        let (admissions, admitted) = Admissions::new(config.limits, metrics.clone());
        let woken = broadcast::Sender::new(MOST_WOKEN);
        tokio::spawn(announce(admitted, woken.clone()));
        let settings = config.sandbox_settings();
        Self {
            isolation: Isolation::awaiting(&settings.sandbox.node_pools()),
            held: Held::default(),
            since: Timestamp::now(),
            clearing: Semaphore::new(CLEARED_AT_ONCE),
            client,
            downloads: Downloads::new(gates.samples),
            models: gates.models,
            calls: CallPool::new(calls, stopping.clone(), metrics.clone()),
            events,
            admissions,
            waits: Waits::default(),
            runs: Runs::new(config.limits, metrics.clone()),
            approvals: config.approvals.clone(),
            decisions: Decisions::default(),
            history: config.history,
            known: Mutex::default(),
            woken,
            settings,
            registries,
            index: PackageIndex::new(Some(gates.indexes), config.build.index_authorities.clone()),
            packages: config.packages.clone(),
            worker,
            metrics,
            stopping,
            tasks: Mutex::default(),
        }
    }

    /// Where the code of a task runs.
    #[must_use]
    pub fn sandbox<'a>(
        &'a self,
        task: &'a Task,
        owner: &'a Owner,
        inputs: &'a BTreeMap<String, MountedInput>,
    ) -> KubernetesSandbox<'a> {
        KubernetesSandbox {
            client: self.client.clone(),
            settings: &self.settings,
            task,
            owner,
            inputs,
            outputs: None,
            is_under_way: false,
            registries: &self.registries,
            index: &self.index,
        }
    }

    fn tasks(&self) -> MutexGuard<'_, HashMap<String, Known>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a newer version than this one was written by us.
    pub fn is_stale(&self, uid: &str, object: &CodeGenTask) -> bool {
        self.tasks()
            .get(uid)
            .is_some_and(|known| version(object) < known.version)
    }

    /// Whether this operator worked on the task and does not know of its last version: the reply to a write of its own was lost,
    /// or somebody changed the task since.
    pub fn has_missed(&self, uid: &str, object: &CodeGenTask) -> bool {
        self.tasks()
            .get(uid)
            .is_some_and(|known| !known.run.is_empty() && known.version < version(object))
    }

    /// Remembers what was written.
    pub fn wrote(&self, uid: &str, object: &CodeGenTask) {
        self.tasks().entry(uid.to_owned()).or_default().version = version(object);
    }

    /// Forgets a task that is gone or has ended.
    pub fn forget(&self, uid: &str) {
        self.tasks().remove(uid);
        self.downloads.forget(uid);
        self.admissions.leave(uid);
        self.waits.stop(uid);
        self.held.forget(uid);
    }

    /// The documents of a run that are in memory.
    pub fn documents(&self, uid: &str, run: &str) -> Arc<Documents> {
        let mut tasks = self.tasks();
        let known = tasks.entry(uid.to_owned()).or_default();
        if known.run != run {
            run.clone_into(&mut known.run);
            known.documents = Arc::default();
        }
        Arc::clone(&known.documents)
    }

    /// Number of the task's call that is announced and not started.
    pub fn announced(&self, uid: &str) -> Arc<AtomicU32> {
        let mut tasks = self.tasks();
        Arc::clone(&tasks.entry(uid.to_owned()).or_default().announced)
    }

    /// Whether a call of the task is announced and not started.
    #[must_use]
    pub fn has_announced(&self, uid: &str) -> bool {
        let tasks = self.tasks();
        tasks
            .get(uid)
            .is_some_and(|known| known.announced.load(Ordering::Relaxed) != 0)
    }

    /// The snapshot `name`.
    pub async fn snapshot(&self, owner: &Owner, name: &str) -> Result<Option<Arc<Snapshot>>, StoreError> {
        let known = self
            .tasks()
            .get(&owner.uid)
            .and_then(|known| known.snapshot.clone());
        if let Some((known, snapshot)) = known
            && known == name
        {
            return Ok(Some(snapshot));
        }
        let found = snapshot::read(&self.client, owner, name).await?;
        Ok(found.map(|snapshot| self.remember_snapshot(owner, name, snapshot)))
    }

    /// Keeps a snapshot in memory.
    pub fn remember_snapshot(&self, owner: &Owner, name: &str, snapshot: Snapshot) -> Arc<Snapshot> {
        let snapshot = Arc::new(snapshot);
        let mut tasks = self.tasks();
        tasks.entry(owner.uid.clone()).or_default().snapshot = Some((name.to_owned(), Arc::clone(&snapshot)));
        snapshot
    }

    /// The pause before the next look at a task that is held: longer each time.
    pub fn pause(&self, uid: &str) -> Duration {
        let mut tasks = self.tasks();
        let known = tasks.entry(uid.to_owned()).or_default();
        let pause = FIRST_PAUSE.saturating_mul(1 << known.pauses.min(10));
        known.pauses += 1;
        pause.min(LONGEST_PAUSE)
    }

    /// The task is looked at again after `pause`, should nothing change before; no pause is kept of a task that is not known.
    pub fn due(&self, uid: &str, pause: Option<Duration>, came_to: Reconciled) {
        if let Some(known) = self.tasks().get_mut(uid) {
            let at = pause.and_then(|pause| Instant::now().checked_add(pause));
            known.due = at.map(|at| (at, came_to));
        }
    }

    /// What the last look came to, where nothing but its pause has led to this one.
    pub fn pause_is_over(&self, uid: &str) -> Option<Reconciled> {
        let (at, came_to) = self.tasks().get_mut(uid)?.due.take()?;
        (at <= Instant::now()).then_some(came_to)
    }

    /// The task goes on: the next pause is short again.
    pub fn calm(&self, uid: &str) {
        if let Some(known) = self.tasks().get_mut(uid) {
            known.pauses = 0;
        }
    }

    /// Whether no further call may start.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        self.stopping.is_cancelled()
    }

    /// Forgets every task that was deleted while nobody watched.
    pub fn forget_deleted(&self) {
        let tasks = self.known_tasks();
        let there: HashSet<&str> = tasks
            .iter()
            .filter_map(|task| task.metadata.uid.as_deref())
            .collect();
        self.tasks().retain(|uid, _| there.contains(uid.as_str()));
        self.waits.keep_only(&there);
        self.held.keep_only(&there);
        self.admissions.keep_only(&tasks);
    }

    /// Where the tasks of a controller are found.
    pub fn knows(&self, tasks: Store<CodeGenTask>) {
        self.known
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(tasks);
    }

    /// Every task that there is.
    #[must_use]
    pub fn known_tasks(&self) -> Vec<Arc<CodeGenTask>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.iter().flat_map(Store::state).collect()
    }

    /// Has a task looked at.
    pub fn wake(&self, task: ObjectRef<CodeGenTask>) {
        // Nobody listens only when the operator ends.
        let _ = self.woken.send(task);
    }

    /// The tasks that must be looked at because what they waited for is there, from now on.
    #[must_use]
    pub fn woken(&self) -> broadcast::Receiver<ObjectRef<CodeGenTask>> {
        self.woken.subscribe()
    }
}

/// Tells every controller whom the gate let in.
async fn announce(
    admitted: impl Stream<Item = ObjectRef<CodeGenTask>> + Send + 'static,
    woken: broadcast::Sender<ObjectRef<CodeGenTask>>,
) {
    admitted
        .for_each(|task| {
            // Nobody listens only when the operator ends.
            let _ = woken.send(task);
            std::future::ready(())
        })
        .await;
}

/// Resource versions of one object grow.
fn version(object: &CodeGenTask) -> u64 {
    object
        .resource_version()
        .and_then(|version| version.parse().ok())
        .unwrap_or_default()
}
