//! State that all passes over the objects of one kind share. All of it can be lost: what must survive stands in the API server.

use std::cell::Cell;
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use kube::ResourceExt as _;
use kube::runtime::reflector::{ObjectRef, Store};
use tokio::sync::broadcast;

use super::corrections::POLL_INTERVAL;
use super::gate::{Admission, Claim, PlaceCount, PlaceGate, Woken};
use crate::controller::config::ConcurrencyLimits;
use crate::controller::telemetry::metrics::{Metrics, Reconciled};
use codegen_api::Namespaced;
use codegen_core::progress::pause_after;
use codegen_core::stage::Category;

/// Woken objects that may wait for their pass; one that is lost is reconciled when its pause is over.
const MOST_WOKEN: usize = 4096;
/// Share of each object that waits for a person in the pause between two polls of one of them: all together poll 20 times a second.
const SHARE_OF_POLLS: Duration = Duration::from_millis(50);

/// A kind of object that a controller brings to its end.
pub trait SharedKind: Namespaced {
    /// Memory of one of them.
    type Memory: Default + Send;
    /// Memory beside that of the single objects.
    type Beside: Default + Send;

    /// Returns the places: how many may be under way at once.
    fn places(limits: ConcurrencyLimits) -> PlaceCount;
    /// So many wait for a place.
    fn count_queued(_metrics: &Metrics, _waiting: usize) {}
    /// Reports whether steps of it are recorded.
    fn has_begun(&self) -> bool;
    /// Reports whether it had a place when its status was written.
    fn is_under_way(&self) -> bool;
    /// Reports whether this process has worked on the object of this memory.
    fn was_worked_on(_memory: &Self::Memory) -> bool {
        false
    }
}

/// State that all passes share.
pub struct Shared<K: SharedKind> {
    remembered: Mutex<HashMap<String, Remembered<K::Memory>>>,
    beside: Mutex<K::Beside>,
    stores: Mutex<Vec<Store<K>>>,
    woken: broadcast::Sender<ObjectRef<K>>,
    gate: Mutex<PlaceGate>,
    metrics: Metrics,
}

#[derive(Default)]
struct Remembered<M> {
    /// Version that was written last.
    version: u64,
    pauses: u32,
    /// True while it waits for a person.
    is_for_a_person: bool,
    /// Time at which its next pass is due if nothing changes before, and the outcome of the last one.
    due: Option<(Instant, Reconciled)>,
    memory: M,
}

impl<K: SharedKind> Shared<K> {
    /// Nothing is remembered yet.
    #[must_use]
    pub fn new(limits: ConcurrencyLimits, metrics: Metrics) -> Self {
        Self {
            remembered: Mutex::default(),
            beside: Mutex::default(),
            stores: Mutex::default(),
            woken: broadcast::Sender::new(MOST_WOKEN),
            gate: Mutex::new(PlaceGate::new(K::places(limits))),
            metrics,
        }
    }

    fn remembered(&self) -> MutexGuard<'_, HashMap<String, Remembered<K::Memory>>> {
        // The data stays valid even if a pass panics while it holds the lock.
        self.remembered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the memory beside that of the single objects.
    pub fn beside(&self) -> MutexGuard<'_, K::Beside> {
        self.beside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Acts on what is remembered of one.
    pub fn with<T>(&self, uid: &str, act: impl FnOnce(&mut K::Memory) -> T) -> T {
        act(&mut self.remembered().entry(uid.to_owned()).or_default().memory)
    }

    /// Asks the memory of one object, where there is any.
    pub fn recall<T>(&self, uid: &str, ask: impl FnOnce(&K::Memory) -> T) -> Option<T> {
        self.remembered().get(uid).map(|known| ask(&known.memory))
    }

    /// Adds the store in which the objects of a controller are found.
    pub fn knows(&self, store: Store<K>) {
        self.stores
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(store);
    }

    /// Every object that there is.
    #[must_use]
    pub fn all(&self) -> Vec<Arc<K>> {
        let stores = self.stores.lock().unwrap_or_else(PoisonError::into_inner);
        stores.iter().flat_map(Store::state).collect()
    }

    /// The object of that name as the watch has it now.
    #[must_use]
    pub fn named(&self, name: &ObjectRef<K>) -> Option<Arc<K>> {
        let stores = self.stores.lock().unwrap_or_else(PoisonError::into_inner);
        stores.iter().find_map(|store| store.get(name))
    }

    /// The object as the watch has it now, or another one of its name.
    #[must_use]
    pub fn latest(&self, object: &K) -> Option<Arc<K>> {
        self.named(&ObjectRef::from_obj(object))
    }

    /// Reports whether at least `limit` objects are like that; the rest is not asked about.
    #[must_use]
    pub fn are_at_least(&self, limit: usize, is_like_that: impl Fn(&K) -> bool) -> bool {
        let found = Cell::new(0);
        let is_last = |object: &K| {
            found.set(found.get() + usize::from(is_like_that(object)));
            found.get() >= limit
        };
        let stores = self.stores.lock().unwrap_or_else(PoisonError::into_inner);
        limit == 0 || stores.iter().any(|store| store.find(is_last).is_some())
    }

    /// Reports whether this operator has written a newer version than this one.
    #[must_use]
    pub fn is_stale(&self, object: &K) -> bool {
        // The watch is behind: a pass over this version would decide again what is recorded.
        self.remembered()
            .get(uid_of(object))
            .is_some_and(|known| version(object) < known.version)
    }

    /// Reports whether this operator worked on the object and does not know of its last version: the reply to a write of its own was lost,
    /// or somebody changed the object since.
    #[must_use]
    pub fn has_missed(&self, object: &K) -> bool {
        self.remembered()
            .get(uid_of(object))
            .is_some_and(|known| K::was_worked_on(&known.memory) && known.version < version(object))
    }

    /// Reports whether this operator worked on the object of that uid, and has not seen its end yet.
    #[must_use]
    pub fn has_worked_on(&self, uid: &str) -> bool {
        self.recall(uid, K::was_worked_on).unwrap_or_default()
    }

    /// Remembers what was written.
    pub fn wrote(&self, object: &K) {
        self.remembered()
            .entry(uid_of(object).to_owned())
            .or_default()
            .version = version(object);
    }

    /// Drops what is remembered of an object that is gone or has ended, and gives its place to others.
    pub fn release(&self, uid: &str) {
        self.remembered().remove(uid);
        self.leave(uid);
    }

    /// Uids of those that are remembered, wait or have a place, and that are not there: they were deleted while nobody watched.
    #[must_use]
    pub fn deleted(&self) -> BTreeSet<String> {
        let mut uids: BTreeSet<String> = self.remembered().keys().cloned().collect();
        uids.extend(self.gate().uids());
        // Empty most of the time, so that nothing else is asked.
        if !uids.is_empty() {
            for object in self.all() {
                uids.remove(uid_of(object.as_ref()));
            }
        }
        uids
    }

    /// The pause before the next pass over an object that is held: longer each time.
    #[must_use]
    pub fn pause(&self, object: &K) -> Duration {
        let mut remembered = self.remembered();
        let known = remembered.entry(uid_of(object).to_owned()).or_default();
        let pause = pause_after(known.pauses, Category::Infrastructure);
        known.pauses = known.pauses.saturating_add(1);
        pause.unsigned_abs()
    }

    /// Shortens the pause of one that waits for a person, so that a correction is noticed within 5 s. Where more than a hundred wait, it is
    /// later: all together poll 20 times a second.
    #[must_use]
    pub fn pause_for_correction(&self, object: &K, pause: Duration) -> Duration {
        let mut remembered = self.remembered();
        let known = remembered.entry(uid_of(object).to_owned()).or_default();
        known.is_for_a_person = true;
        let waiting = remembered.values().filter(|known| known.is_for_a_person).count();
        let share = SHARE_OF_POLLS.saturating_mul(u32::try_from(waiting).unwrap_or(u32::MAX));
        pause.min(POLL_INTERVAL.max(share))
    }

    /// The pause of a step that is tried again then.
    #[must_use]
    pub fn pause_until(&self, object: &K, until: Timestamp, is_for_a_person: bool) -> Duration {
        let pause = Duration::try_from(until.duration_since(Timestamp::now())).unwrap_or_default();
        if is_for_a_person {
            self.pause_for_correction(object, pause)
        } else {
            pause
        }
    }

    /// The object goes on: the next pause is short again.
    pub fn reset_backoff(&self, object: &K) {
        if let Some(known) = self.remembered().get_mut(uid_of(object)) {
            known.pauses = 0;
            known.is_for_a_person = false;
        }
    }

    /// The next pass is after `pause`, should nothing change before; for an object that is not remembered no pause is stored.
    pub fn due(&self, object: &K, pause: Option<Duration>, came_to: Reconciled) {
        if let Some(known) = self.remembered().get_mut(uid_of(object)) {
            let at = pause.and_then(|pause| Instant::now().checked_add(pause));
            known.due = at.map(|at| (at, came_to));
        }
    }

    /// Returns the outcome of the last pass, where nothing but its pause has led to this one.
    pub fn pause_is_over(&self, object: &K) -> Option<Reconciled> {
        let (at, came_to) = self.remembered().get_mut(uid_of(object))?.due.take()?;
        (at <= Instant::now()).then_some(came_to)
    }

    fn gate(&self) -> MutexGuard<'_, PlaceGate> {
        self.gate.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks for a place; what limits it when there is none.
    #[must_use]
    pub fn admit(&self, object: &K) -> Option<String> {
        let mut gate = self.gate();
        let admission = gate.ask(claim(object));
        K::count_queued(&self.metrics, gate.waiting());
        match admission {
            Admission::Go => None,
            Admission::Queued { limit } => Some(limit),
        }
    }

    /// The object needs its place no more, or waits for none.
    pub fn leave(&self, uid: &str) {
        let mut gate = self.gate();
        let next = gate.done(uid);
        self.let_in(&gate, next);
    }

    /// Gives those that were under way before this process the places that they had. Called with every object that there is,
    /// before the first pass.
    pub fn resume(&self, objects: &[Arc<K>]) {
        let mut gate = self.gate();
        for object in objects.iter().filter(|object| object.is_under_way()) {
            gate.resume(&claim(object.as_ref()));
        }
    }

    fn let_in(&self, gate: &PlaceGate, next: Vec<Woken>) {
        K::count_queued(&self.metrics, gate.waiting());
        for Woken { namespace, name } in next {
            self.wake(ObjectRef::new(&name).within(&namespace));
        }
    }

    /// Has an object reconciled.
    pub fn wake(&self, object: ObjectRef<K>) {
        // Nobody listens only when the operator ends.
        let _ = self.woken.send(object);
    }

    /// Has those reconciled that wait for something like that.
    pub fn wake_those(&self, wait: impl Fn(&K) -> bool) {
        let stores = self.stores.lock().unwrap_or_else(PoisonError::into_inner);
        for store in stores.iter() {
            // Looked at in their place: a copy of the list at each change would cost memory.
            let none = store.find(|object| {
                if wait(object) {
                    self.wake(ObjectRef::from_obj(object));
                }
                false
            });
            debug_assert!(none.is_none());
        }
    }

    /// The objects that must be reconciled because what they waited for is there, from now on.
    #[must_use]
    pub fn woken(&self) -> broadcast::Receiver<ObjectRef<K>> {
        self.woken.subscribe()
    }
}

fn uid_of<K: SharedKind>(object: &K) -> &str {
    object.meta().uid.as_deref().unwrap_or_default()
}

fn claim<K: SharedKind>(object: &K) -> Claim {
    Claim {
        uid: uid_of(object).to_owned(),
        namespace: object.namespace().unwrap_or_default(),
        name: object.name_any(),
        created: object
            .creation_timestamp()
            .map_or(Timestamp::UNIX_EPOCH, |time| time.0),
        has_begun: object.has_begun(),
    }
}

/// Resource versions of one object grow.
fn version<K: SharedKind>(object: &K) -> u64 {
    object
        .resource_version()
        .and_then(|version| version.parse().ok())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests;
