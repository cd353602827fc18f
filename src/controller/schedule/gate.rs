//! Admission of tasks and of runs of programs: a place each, under a limit in all and one for each namespace.
//!
//! A place that becomes free goes to the namespace with the fewest running tasks, among equals to the one that was served
//! longest ago, and in it to the oldest task; so no namespace waits for all tasks of another one. One place in ten is for namespaces that
//! have none, so that whoever comes last does not wait for those who have all the others. Decisions only: no clock, no client.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use jiff::Timestamp;

use crate::controller::config::ConcurrencyLimits;

/// Number of places, and their use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlaceCount {
    /// In all.
    pub all: usize,
    /// For each namespace; 0 for as many as there are.
    pub each: usize,
    /// As messages say it: what has a place, and the setting for all and for each namespace.
    pub words: (&'static str, &'static str, &'static str),
}

/// One place in so many is for namespaces without a running task.
const ONE_IN: usize = 10;

impl PlaceCount {
    /// Places that a namespace gets none of once it has one.
    const fn reserved(&self) -> usize {
        self.all / ONE_IN
    }

    /// Places for tasks.
    #[must_use]
    pub const fn of_tasks(limits: ConcurrencyLimits) -> Self {
        Self {
            all: limits.max_concurrent_tasks,
            each: limits.max_tasks_per_namespace,
            words: ("task", "maxConcurrentTasks", "maxTasksPerNamespace"),
        }
    }

    /// Places for runs of programs.
    #[must_use]
    pub const fn of_runs(limits: ConcurrencyLimits) -> Self {
        Self {
            all: limits.max_concurrent_runs,
            each: limits.max_runs_per_namespace,
            words: ("run", "maxConcurrentRuns", "maxRunsPerNamespace"),
        }
    }

    /// Places for questions of code mode, besides those of runs and as many.
    #[must_use]
    pub const fn of_code_mode(limits: ConcurrencyLimits) -> Self {
        Self {
            words: ("code mode run", "maxConcurrentRuns", "maxRunsPerNamespace"),
            ..Self::of_runs(limits)
        }
    }
}

/// A task that asks for a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Its uid.
    pub uid: String,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Time of its creation.
    pub created: Timestamp,
    /// True where steps of it are done already: it goes before those that have not begun.
    pub has_begun: bool,
}

/// Answer to a task that asks for a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Admission {
    /// It has a place.
    Go,
    /// It waits.
    Queued {
        /// Limit that holds it, the same text for as long as it does.
        limit: String,
    },
}

/// A task that got a place while it waited: it must be reconciled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Woken {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// Order of the tasks of a namespace: those that have begun, then the oldest.
type Rank = (bool, Timestamp, String);

#[derive(Debug, Default)]
struct Namespace {
    running: usize,
    waiting: BTreeSet<Rank>,
    /// Number of the last place that it was given; 0 for none.
    served: u64,
}

/// The places.
#[derive(Debug)]
pub struct PlaceGate {
    places: PlaceCount,
    namespaces: BTreeMap<String, Namespace>,
    /// Namespace of each running task.
    running: HashMap<String, String>,
    waiting: HashMap<String, Claim>,
    given: u64,
}

impl PlaceGate {
    /// No task runs or waits.
    #[must_use]
    pub fn new(places: PlaceCount) -> Self {
        Self {
            places,
            namespaces: BTreeMap::new(),
            running: HashMap::new(),
            waiting: HashMap::new(),
            given: 0,
        }
    }

    /// The task keeps the place that it had before the operator started, also above a limit that is lower now. Called for
    /// every task that runs, before the first [`Self::ask`].
    pub fn resume(&mut self, claim: &Claim) {
        self.forget_waiting(&claim.uid);
        if !self.running.contains_key(&claim.uid) {
            self.give(claim);
        }
    }

    /// Asks for a place. Whoever has one keeps it; whoever gets none is remembered and woken when there is one.
    pub fn ask(&mut self, claim: Claim) -> Admission {
        if self.running.contains_key(&claim.uid) {
            return Admission::Go;
        }
        self.forget_waiting(&claim.uid);
        let rank = rank(&claim);
        let uid = claim.uid.clone();
        let namespace = self.namespaces.entry(claim.namespace.clone()).or_default();
        namespace.waiting.insert(rank);
        self.waiting.insert(uid.clone(), claim);
        // Nobody waits while there is a place for them, so a free one is for this task.
        let woken = self.fill();
        debug_assert!(woken.len() <= 1);
        match self.waiting.get(&uid) {
            None => Admission::Go,
            Some(claim) => Admission::Queued {
                limit: self.limit(&claim.namespace),
            },
        }
    }

    /// Gives up the place, or the wait for one: the task has ended, is deleted or suspended, or waits for a person. Says who
    /// got a place by that.
    #[must_use = "whoever got a place must be looked at again"]
    pub fn done(&mut self, uid: &str) -> Vec<Woken> {
        self.forget_waiting(uid);
        if let Some(name) = self.running.remove(uid)
            && let Some(namespace) = self.namespaces.get_mut(&name)
        {
            namespace.running -= 1;
            self.drop_if_empty(&name);
        }
        self.fill()
    }

    /// Those that have a place or wait for one.
    pub fn uids(&self) -> impl Iterator<Item = String> {
        self.running.keys().chain(self.waiting.keys()).cloned()
    }

    /// Returns the number of tasks that have a place.
    #[cfg(test)]
    pub fn running(&self) -> usize {
        self.running.len()
    }

    /// Returns the number of tasks that wait for a place.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Gives every free place away.
    fn fill(&mut self) -> Vec<Woken> {
        let mut woken = Vec::new();
        while let Some(claim) = self.next().and_then(|uid| self.waiting.get(&uid).cloned()) {
            self.forget_waiting(&claim.uid);
            self.give(&claim);
            woken.push(Woken {
                namespace: claim.namespace,
                name: claim.name,
            });
        }
        woken
    }

    /// Uid of the task that the next free place is for.
    fn next(&self) -> Option<String> {
        let free = self.places.all.saturating_sub(self.running.len());
        if free == 0 {
            return None;
        }
        let is_kept = free <= self.places.reserved();
        let open = self
            .namespaces
            .values()
            .filter(|namespace| self.has_room(namespace) && !(is_kept && namespace.running > 0));
        // Fewest tasks first, then served longest ago: a thousand tasks of one namespace do not starve another.
        let best = open
            .filter(|namespace| !namespace.waiting.is_empty())
            .min_by_key(|namespace| (namespace.running, namespace.served))?;
        best.waiting.first().map(|(_, _, uid)| uid.clone())
    }

    fn has_room(&self, namespace: &Namespace) -> bool {
        match self.places.each {
            0 => true,
            limit => namespace.running < limit,
        }
    }

    fn give(&mut self, claim: &Claim) {
        self.given += 1;
        let namespace = self.namespaces.entry(claim.namespace.clone()).or_default();
        namespace.running += 1;
        namespace.served = self.given;
        self.running.insert(claim.uid.clone(), claim.namespace.clone());
    }

    fn forget_waiting(&mut self, uid: &str) {
        if let Some(claim) = self.waiting.remove(uid)
            && let Some(namespace) = self.namespaces.get_mut(&claim.namespace)
        {
            namespace.waiting.remove(&rank(&claim));
            self.drop_if_empty(&claim.namespace);
        }
    }

    fn drop_if_empty(&mut self, name: &str) {
        let is_empty = |namespace: &Namespace| namespace.running == 0 && namespace.waiting.is_empty();
        if self.namespaces.get(name).is_some_and(is_empty) {
            self.namespaces.remove(name);
        }
    }

    /// Names the limit that holds a waiting task of the namespace.
    fn limit(&self, namespace: &str) -> String {
        let is_full = self
            .namespaces
            .get(namespace)
            .is_some_and(|present| !self.has_room(present));
        let PlaceCount { all, each, words } = self.places;
        let (one, of_all, of_each) = words;
        if is_full {
            format!(
                "at most {each} {one}s of a namespace go on at once (limits.{of_each} of the operator): it starts when another {one} \
                 of {namespace} ends"
            )
        } else {
            let kept = match self.places.reserved() {
                0 => String::new(),
                kept => format!("; {kept} places are for namespaces that have none"),
            };
            format!(
                "at most {all} {one}s run at once (limits.{of_all} of the operator): it starts when another one ends and its turn \
                 has come{kept}"
            )
        }
    }
}

fn rank(claim: &Claim) -> Rank {
    // `false` comes first in an order.
    (!claim.has_begun, claim.created, claim.uid.clone())
}

#[cfg(test)]
mod tests;
