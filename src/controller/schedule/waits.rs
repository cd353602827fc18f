//! What tasks and runs wait for that a person must fix: polled by name until it changes.
//!
//! A watch needs the right to list, and so to read, every Secret of the cluster. The operator has no such right: it asks for
//! the metadata of the few objects that waiting tasks refer to, about once a second, and never for more than so many a second.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::future::select_all;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::GetParams;
use kube::runtime::reflector::ObjectRef;
use kube::{Api, Client, Resource, ResourceExt as _};
use tokio::sync::Notify;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};

use crate::api::{CodeGenAgent, CodeGenRun, CodeGenTask};
use crate::controller::sources::read::config_maps;
use crate::pipeline::task::{ModelSettings, Task};

/// Pause between two reads of the same object.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// Pause between two requests: where much is waited for, each object is read less often.
const BETWEEN_REQUESTS: Duration = Duration::from_millis(50);
/// What was changed since then counts as changed at the first read: a task may have seen what was before. The clocks of the API
/// server and of this process may differ, and a read too many does no harm.
const NEW: SignedDuration = SignedDuration::from_mins(1);

/// An object that a task refers to, and that a person creates or corrects.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PolledObject {
    kind: ObjectKind,
    namespace: String,
    name: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum ObjectKind {
    Secret,
    ConfigMap,
    Agent,
}

impl PolledObject {
    /// A Secret.
    #[must_use]
    pub fn secret(namespace: &str, name: &str) -> Self {
        Self::of(ObjectKind::Secret, namespace, name)
    }

    /// A ConfigMap.
    #[must_use]
    pub fn config_map(namespace: &str, name: &str) -> Self {
        Self::of(ObjectKind::ConfigMap, namespace, name)
    }

    /// An agent.
    #[must_use]
    pub fn agent(namespace: &str, name: &str) -> Self {
        Self::of(ObjectKind::Agent, namespace, name)
    }

    fn of(kind: ObjectKind, namespace: &str, name: &str) -> Self {
        Self {
            kind,
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }
}

/// What a run reads when it starts.
#[must_use]
pub fn of_start(task: &CodeGenTask) -> BTreeSet<PolledObject> {
    let namespace = task.namespace().unwrap_or_default();
    let agents = task.spec.agent_ref.iter();
    let config_maps = config_maps(task).into_iter();
    agents
        .map(|agent| PolledObject::agent(&namespace, &agent.name))
        .chain(config_maps.map(|(_, name)| PolledObject::config_map(&namespace, &name)))
        .collect()
}

/// What a run reads on its way: credentials are never frozen.
#[must_use]
pub fn of_run(task: &Task) -> BTreeSet<PolledObject> {
    let variables = task.sandbox.secrets.iter();
    let images = task.image.push_secret.iter().chain(&task.image.pull_secret);
    let names = variables
        .map(|variable| &variable.secret_key_ref.name)
        .chain(images);
    let mut objects = of_model(&task.namespace, &task.model);
    objects.extend(names.map(|name| PolledObject::secret(&task.namespace, name)));
    objects
}

/// The `ConfigMaps` that the inputs of a run of a program come from.
#[must_use]
pub fn of_inputs(run: &CodeGenRun) -> BTreeSet<PolledObject> {
    let namespace = run.namespace().unwrap_or_default();
    let sources = run.spec.inputs.iter().filter_map(|input| input.source.as_ref());
    let names = sources.filter_map(|source| source.content()?.config_map());
    names
        .map(|name| PolledObject::config_map(&namespace, name))
        .collect()
}

/// What calls of a model need.
#[must_use]
pub fn of_model(namespace: &str, model: &ModelSettings) -> BTreeSet<PolledObject> {
    let headers = model
        .headers
        .iter()
        .filter_map(|header| header.value_from.as_ref());
    let secrets = model.api_key_secret_ref.iter().chain(headers);
    secrets
        .map(|reference| PolledObject::secret(namespace, &reference.name))
        .collect()
}

/// Who waits for what: tasks, or runs of programs. Objects that nobody waits for are not read.
#[derive(Debug)]
pub struct Waits<K: Resource<DynamicType = ()>> {
    state: Mutex<State<K>>,
    added: Notify,
}

impl<K: Resource<DynamicType = ()>> Default for Waits<K> {
    fn default() -> Self {
        Self {
            state: Mutex::new(State {
                waiting: HashMap::new(),
                objects: BTreeMap::new(),
                changed: HashSet::new(),
            }),
            added: Notify::new(),
        }
    }
}

#[derive(Debug)]
struct State<K: Resource<DynamicType = ()>> {
    /// By the uid of who waits.
    waiting: HashMap<String, (ObjectRef<K>, BTreeSet<PolledObject>)>,
    objects: BTreeMap<PolledObject, Object>,
    /// Uids of those for which something has changed since their last pass.
    changed: HashSet<String>,
}

/// An object that somebody waits for.
#[derive(Debug, Default)]
struct Object {
    /// What was seen last; `None` before the first read.
    seen: Option<Seen>,
    /// Uids of those who wait for it, and whether it was read since they do.
    waiting: HashMap<String, bool>,
}

/// The version of an object; `None` where there is none.
type Seen = Option<String>;

/// What was read of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    version: Seen,
    /// Whether it was made or changed a moment ago, so perhaps after a task had read it and before the task waited for it.
    is_new: bool,
}

impl<K: Resource<DynamicType = ()>> Waits<K> {
    /// The task or run waits for a change of any of `objects`.
    pub fn wait(&self, uid: &str, who: ObjectRef<K>, objects: BTreeSet<PolledObject>) {
        let mut state = self.state();
        // The same objects again: what was seen of them stays, so that a change between two passes counts.
        if state
            .waiting
            .get(uid)
            .is_some_and(|(_, before)| *before == objects)
        {
            return;
        }
        state.stop(uid);
        for object in &objects {
            let entry = state.objects.entry(object.clone()).or_default();
            entry.waiting.insert(uid.to_owned(), false);
        }
        state.waiting.insert(uid.to_owned(), (who, objects));
        self.added.notify_one();
    }

    /// Notified when somebody waits for something more.
    pub const fn added(&self) -> &Notify {
        &self.added
    }

    /// It waits no more.
    pub fn stop(&self, uid: &str) {
        let mut state = self.state();
        state.changed.remove(uid);
        state.stop(uid);
    }

    /// Who waits.
    pub fn uids(&self) -> Vec<String> {
        self.state().waiting.keys().cloned().collect()
    }

    /// Whether something has changed that it waited for; true once.
    pub fn take_woken(&self, uid: &str) -> bool {
        self.state().changed.remove(uid)
    }

    /// Whether it waits for anything.
    #[cfg(test)]
    pub fn is_waiting(&self, uid: &str) -> bool {
        self.state().waiting.contains_key(uid)
    }

    /// What is waited for.
    pub fn objects(&self) -> Vec<PolledObject> {
        self.state().objects.keys().cloned().collect()
    }

    /// Takes note of an object, and says who waited for the change.
    pub fn saw(&self, object: &PolledObject, found: &Found) -> Vec<ObjectRef<K>> {
        let mut state = self.state();
        // Everybody stopped waiting while the request was under way.
        let Some(entry) = state.objects.get_mut(object) else {
            return Vec::new();
        };
        let before = entry.seen.replace(found.version.clone());
        // The first read has nothing to compare with: `is_new` stands in for that.
        let has_changed = before.is_some() && before != entry.seen;
        let mut woken = Vec::new();
        for (uid, was_looked_at) in &mut entry.waiting {
            if has_changed || (found.is_new && !*was_looked_at) {
                woken.push(uid.clone());
            }
            *was_looked_at = true;
        }
        let of = |uid| state.waiting.get(uid).map(|(who, _)| who.clone());
        let who = woken.iter().filter_map(of).collect();
        // `take_woken` shows the pass that it may retry at once.
        state.changed.extend(woken);
        who
    }

    fn state(&self) -> MutexGuard<'_, State<K>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Resource<DynamicType = ()>> State<K> {
    fn stop(&mut self, uid: &str) {
        for object in self
            .waiting
            .remove(uid)
            .into_iter()
            .flat_map(|(_, objects)| objects)
        {
            if let Some(entry) = self.objects.get_mut(&object) {
                entry.waiting.remove(uid);
                if entry.waiting.is_empty() {
                    self.objects.remove(&object);
                }
            }
        }
    }
}

/// Those of one kind who wait for such objects.
pub trait Waiters: Sync {
    /// What they wait for.
    fn objects(&self) -> Vec<PolledObject>;

    /// Takes note of an object, and wakes whoever waited for the change.
    fn notice(&self, object: &PolledObject, found: &Found);

    /// Notified when there is something more to wait for.
    fn added(&self) -> &Notify;
}

/// Polls what is waited for, and wakes whoever waits for what has changed: one pace for all kinds, and one request for what several wait
/// for. Does not end.
pub async fn poll_dependencies(client: &Client, kinds: &[&dyn Waiters]) {
    let mut pace = interval(BETWEEN_REQUESTS);
    // After a slow request the next ones keep their distance, instead of catching up.
    pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let round = Instant::now();
        let objects: BTreeSet<PolledObject> = kinds.iter().flat_map(|kind| kind.objects()).collect();
        if objects.is_empty() {
            something_more(kinds).await;
            continue;
        }
        for object in objects {
            pace.tick().await;
            // What cannot be read now is tried again; the task itself says what is wrong.
            if let Ok(found) = object.find(client).await {
                for kind in kinds {
                    kind.notice(&object, &found);
                }
            }
        }
        // What is new is read at once: a change long before its first read is not noticed.
        let next = sleep_until(round + CHECK_INTERVAL);
        tokio::select! {
            () = next => {}
            () = something_more(kinds) => {}
        }
    }
}

/// Ends when any of them waits for something more.
async fn something_more(kinds: &[&dyn Waiters]) {
    select_all(kinds.iter().map(|kind| Box::pin(kind.added().notified()))).await;
}

impl PolledObject {
    async fn find(&self, client: &Client) -> Result<Found, kube::Error> {
        match self.kind {
            ObjectKind::Secret => self.find_as::<Secret>(client).await,
            ObjectKind::ConfigMap => self.find_as::<ConfigMap>(client).await,
            ObjectKind::Agent => self.find_as::<CodeGenAgent>(client).await,
        }
    }

    async fn find_as<K>(&self, client: &Client) -> Result<Found, kube::Error>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>
            + Clone
            + std::fmt::Debug
            + serde::de::DeserializeOwned,
    {
        let api: Api<K> = Api::namespaced(client.clone(), &self.namespace);
        // From the memory of the API server.
        let cached = GetParams {
            resource_version: Some("0".to_owned()),
        };
        let found = api.get_metadata_opt_with(&self.name, &cached).await?;
        Ok(Found {
            is_new: found
                .as_ref()
                .is_some_and(|found| changed_after(&found.metadata, Timestamp::now() - NEW)),
            version: found.and_then(|found| found.resource_version()),
        })
    }
}

fn changed_after(metadata: &ObjectMeta, moment: Timestamp) -> bool {
    // Metadata has no other time of the last change.
    let changes = metadata.managed_fields.iter().flatten();
    changes
        .filter_map(|fields| fields.time.as_ref())
        .chain(&metadata.creation_timestamp)
        .any(|time| time.0 >= moment)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::CodeGenTaskSpec;
    use crate::pipeline::test_support::task as resolved;

    fn secret(name: &str) -> PolledObject {
        PolledObject::secret("data", name)
    }

    fn task(name: &str) -> ObjectRef<CodeGenTask> {
        ObjectRef::new(name).within("data")
    }

    fn version(number: u32) -> Found {
        Found {
            version: Some(number.to_string()),
            is_new: false,
        }
    }

    fn nothing() -> Found {
        Found {
            version: None,
            is_new: false,
        }
    }

    #[test]
    fn whoever_waits_for_an_object_is_woken_when_it_appears_changes_or_goes() {
        let waits = Waits::<CodeGenTask>::default();
        let openai = secret("openai");
        waits.wait("1", task("a"), BTreeSet::from([openai.clone()]));
        assert_eq!(waits.saw(&openai, &nothing()), [], "the first look");
        assert_eq!(waits.saw(&openai, &nothing()), [], "nothing has changed");
        for next in [version(7), version(9), nothing()] {
            assert_eq!(waits.saw(&openai, &next), [task("a")]);
            assert!(waits.take_woken("1"));
            assert!(!waits.take_woken("1"));
        }
    }

    #[test]
    fn a_task_that_goes_on_waiting_after_a_check_misses_no_change_meanwhile() {
        let waits = Waits::<CodeGenTask>::default();
        let openai = secret("openai");
        let wait = || waits.wait("1", task("a"), BTreeSet::from([openai.clone()]));
        wait();
        waits.saw(&openai, &nothing());
        wait();
        assert_eq!(waits.saw(&openai, &version(7)), [task("a")]);
    }

    #[test]
    fn what_was_created_between_a_tasks_pass_and_the_first_check_wakes_it_once() {
        let waits = Waits::<CodeGenTask>::default();
        let openai = secret("openai");
        let made = Found {
            is_new: true,
            ..version(7)
        };
        let wait = || waits.wait("1", task("a"), BTreeSet::from([openai.clone()]));
        wait();
        assert_eq!(waits.saw(&openai, &made), [task("a")]);
        assert!(waits.take_woken("1"));
        wait();
        assert_eq!(waits.saw(&openai, &made), []);
        // Another one whose pass came before, and that waits since.
        waits.wait("2", task("b"), BTreeSet::from([openai.clone()]));
        assert_eq!(waits.saw(&openai, &made), [task("b")]);
        assert_eq!(waits.saw(&openai, &made), []);
    }

    #[test]
    fn an_object_is_new_by_its_creation_and_by_its_last_change() {
        let made = |at: &str, changed: &str| -> ObjectMeta {
            serde_json::from_value(serde_json::json!({
                "creationTimestamp": at,
                "managedFields": [{"manager": "kubectl", "operation": "Update", "time": changed}],
            }))
            .unwrap()
        };
        let moment: Timestamp = "2026-11-21T20:00:00Z".parse().unwrap();
        let is_new = |at, changed| changed_after(&made(at, changed), moment);
        assert!(is_new("2026-11-21T20:00:01Z", "2026-11-21T20:00:01Z"));
        assert!(is_new("2026-11-01T20:00:00Z", "2026-11-21T20:00:01Z"));
        assert!(!is_new("2026-11-01T20:00:00Z", "2026-11-21T19:59:59Z"));
        assert!(!changed_after(&ObjectMeta::default(), moment));
    }

    #[test]
    fn what_nobody_waits_for_any_more_is_not_read() {
        let waits = Waits::<CodeGenTask>::default();
        let (openai, registry) = (secret("openai"), secret("registry"));
        waits.wait("1", task("a"), BTreeSet::from([openai.clone(), registry.clone()]));
        waits.wait("2", task("b"), BTreeSet::from([registry.clone()]));
        waits.stop("1");
        assert_eq!(waits.objects(), std::slice::from_ref(&registry));
        assert_eq!(waits.saw(&openai, &version(1)), []);
        waits.saw(&registry, &version(1));
        assert_eq!(waits.saw(&registry, &version(2)), [task("b")]);
        assert!(!waits.take_woken("1"));
        waits.wait("2", task("b"), BTreeSet::new());
        assert_eq!(waits.objects(), []);
    }

    #[test]
    fn a_start_waits_for_agent_and_sources_and_a_run_for_credentials() {
        let spec: CodeGenTaskSpec = serde_json::from_value(serde_json::json!({
            "prompt": "p",
            "agentRef": {"name": "shared"},
            "samples": [{"name": "s", "configMapKeyRef": {"name": "penguins", "key": "penguins.csv"}}],
            "model": {"name": "m", "apiKeySecretRef": {"name": "openai", "key": "api-key"}},
        }))
        .unwrap();
        let mut asked = CodeGenTask::new("a", spec);
        asked.metadata.namespace = Some("data".to_owned());
        let wanted = [
            PolledObject::config_map("data", "penguins"),
            PolledObject::agent("data", "shared"),
        ];
        assert_eq!(of_start(&asked), BTreeSet::from(wanted));

        let mut task = resolved();
        task.namespace = "data".to_owned();
        task.image.push_secret = Some("registry".to_owned());
        task.model.api_key_secret_ref = Some(crate::api::common::SecretKeyRef {
            name: "openai".to_owned(),
            key: "api-key".to_owned(),
        });
        let wanted = ["openai", "registry"].map(secret);
        assert_eq!(of_run(&task), BTreeSet::from(wanted));
    }
}
