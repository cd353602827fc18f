//! An operator with an API server, a model and a node, all of which a test plays. Nothing happens by itself: a test has one object
//! reconciled after the other.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use kube::ResourceExt as _;
use kube::runtime::controller::Action;
use kube::runtime::reflector::store::Writer;
use kube::runtime::reflector::{self, ObjectRef};
use kube::runtime::watcher::Event;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::controller::code_mode::memory;
use crate::controller::config::OperatorConfig;
use crate::controller::context::Context;
use crate::controller::control::{self, Controlled};
use crate::controller::record::progress::{index, record, recorded};
use crate::controller::telemetry::events::Events;
use crate::controller::telemetry::metrics::Metrics;
use crate::controller::tests::api_server::{ApiServer, NAMESPACE};
use crate::controller::tests::data_reader::data_reader;
use crate::controller::tests::node::Node;
use crate::controller::tests::provider::Provider;
use crate::controller::tests::registry::Registry;
use codegen_api::code_mode::{CodeModeAgent, CodeModeRun};
use codegen_api::{CodeGenRun, CodeGenTask, CodeGenTaskStatus};
use codegen_core::call::CallKind;
use codegen_core::progress::Progress;
use codegen_engine::test_support::{code, plan, tests};
use codegen_sandbox::kubernetes::RegistryCache;
use codegen_sandbox::kubernetes::isolation::{API_SERVER, IsolationVerdict};

/// Time that operators have been there, unless a test says otherwise: nothing ended just before they began.
const LONG: SignedDuration = SignedDuration::from_hours(1);
/// More passes than any object here needs.
const MOST_PASSES: usize = 60;

/// A cluster and an operator in it.
pub struct World {
    pub server: ApiServer,
    pub provider: Provider,
    pub registry: Registry,
    pub node: Node,
    pub context: Arc<Context>,
    pub config: OperatorConfig,
    tasks: Writer<CodeGenTask>,
    runs: Writer<CodeGenRun>,
    agents: Writer<CodeModeAgent>,
    questions: Writer<CodeModeRun>,
    sending: JoinHandle<()>,
}

/// A kind that a controller reconciles.
pub trait Kind: Controlled {
    const PLURAL: &'static str;

    fn cache(world: &mut World) -> &mut Writer<Self>;

    fn is_there(&self, context: &Context);

    fn is_gone(&self, context: &Context);
}

impl Kind for CodeGenTask {
    const PLURAL: &'static str = "codegentasks";

    fn cache(world: &mut World) -> &mut Writer<Self> {
        &mut world.tasks
    }

    fn is_there(&self, context: &Context) {
        context.runs.task_is_there(self);
        context.code_mode_agents.task_is_there(self);
    }

    fn is_gone(&self, context: &Context) {
        context.runs.task_has_changed(self);
        Self::release(context, &self.uid().unwrap());
    }
}

impl Kind for CodeGenRun {
    const PLURAL: &'static str = "codegenruns";

    fn cache(world: &mut World) -> &mut Writer<Self> {
        &mut world.runs
    }

    fn is_there(&self, context: &Context) {
        context.runs.is_there(self);
    }

    fn is_gone(&self, context: &Context) {
        Self::release(context, &self.uid().unwrap());
        context.runs.has_changed(self);
    }
}

impl Kind for CodeModeAgent {
    const PLURAL: &'static str = "codemodeagents";

    fn cache(world: &mut World) -> &mut Writer<Self> {
        &mut world.agents
    }

    fn is_there(&self, context: &Context) {
        memory::agent_has_changed(context, self);
    }

    fn is_gone(&self, context: &Context) {
        Self::release(context, &self.uid().unwrap());
    }
}

impl Kind for CodeModeRun {
    const PLURAL: &'static str = "codemoderuns";

    fn cache(world: &mut World) -> &mut Writer<Self> {
        &mut world.questions
    }

    fn is_there(&self, context: &Context) {
        memory::question_has_changed(context, self);
    }

    fn is_gone(&self, context: &Context) {
        Self::release(context, &self.uid().unwrap());
    }
}

impl World {
    /// A cluster that isolates, with nothing in it, and a model that writes a right program at once.
    pub async fn new() -> Self {
        Self::configured("{}").await
    }

    /// The same, with these settings of the operator.
    pub async fn configured(settings: &str) -> Self {
        Self::answering(settings, &[]).await
    }

    /// The same, with a model that has these replies besides.
    pub async fn answering(settings: &str, more: &[(CallKind, Value)]) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let program = "with open('/var/outputs/words', 'w') as file:\n        file.write('2')\n    return len(text.split())";
        let replies = [
            (CallKind::Plan, plan()),
            (CallKind::Code, code(program)),
            (CallKind::Tests, tests(2)),
        ];
        let provider = Provider::start(&[replies.as_slice(), more].concat()).await;
        let mut config = OperatorConfig::parse(&PathBuf::from("config.yaml"), settings).unwrap();
        config
            .model
            .allowed_endpoints
            .push(provider.origin().parse().unwrap());
        let registry = Registry::start().await;
        config.registries.insecure.push(registry.host());
        let server = ApiServer::default();
        let (context, sending) = start(&server, &config);
        let world = Self {
            tasks: reflector::store().1,
            runs: reflector::store().1,
            agents: reflector::store().1,
            questions: reflector::store().1,
            node: Node::default(),
            server,
            provider,
            registry,
            context,
            config,
            sending,
        };
        world.register_caches();
        world
    }

    /// The operator ends in order, and another one begins, which remembers nothing.
    pub async fn restart(&mut self) {
        let (context, sending) = start(&self.server, &self.config);
        let before = std::mem::replace(&mut self.context, context);
        drop(before);
        std::mem::replace(&mut self.sending, sending).await.unwrap();
        (self.tasks, self.runs) = (reflector::store().1, reflector::store().1);
        (self.agents, self.questions) = (reflector::store().1, reflector::store().1);
        self.register_caches();
        self.server.calls();
    }

    /// The same, and it begins just now.
    pub async fn restart_now(&mut self) {
        self.restart().await;
        Arc::get_mut(&mut self.context).unwrap().since = Timestamp::now();
    }

    fn register_caches(&self) {
        self.context.tasks.knows(self.tasks.as_reader());
        self.context.runs.knows(self.runs.as_reader());
        self.context.code_mode_agents.knows(self.agents.as_reader());
        self.context.code_mode_runs.knows(self.questions.as_reader());
    }

    /// The reasons of all Events about an object, once they are sent; ends this operator.
    pub async fn events(&mut self, name: &str) -> Vec<String> {
        self.restart().await;
        let mut events = self.server.all("events");
        events.retain(|event| event["regarding"]["name"] == name);
        let version = |event: &Value| {
            event["metadata"]["uid"]
                .as_str()?
                .strip_prefix("uid-")?
                .parse::<u64>()
                .ok()
        };
        events.sort_by_key(version);
        let reason = |event: &Value| event["reason"].as_str().unwrap().to_owned();
        events.iter().map(reason).collect()
    }

    /// Somebody applies a task; `spec` is what it asks for besides.
    pub fn apply_task(&self, name: &str, spec: &Value) {
        let mut whole = json!({
            "prompt": "Count the words of a text.",
            "model": {"name": "test-model", "baseURL": format!("{}/v1", self.provider.origin())},
            // Nothing is built.
            "image": {"reference": self.registry.image()},
        });
        for (field, value) in spec.as_object().unwrap() {
            whole[field] = value.clone();
        }
        self.server.create(json!({
            "apiVersion": "codegen-operator.dev/v1alpha1", "kind": "CodeGenTask", "metadata": {"name": name}, "spec": whole,
        }));
    }

    /// Somebody applies a run of a task's program.
    pub fn apply_run(&self, name: &str, spec: &Value) {
        self.server.create(json!({
            "apiVersion": "codegen-operator.dev/v1alpha1", "kind": "CodeGenRun", "metadata": {"name": name}, "spec": spec,
        }));
    }

    /// The object as it is in the cache, after everything that happened was watched.
    pub fn cached<K: Kind>(&mut self, name: &str) -> Arc<K> {
        self.watch_all();
        let reader = K::cache(self).as_reader();
        let found = reader.get(&ObjectRef::new(name).within(NAMESPACE));
        found.unwrap_or_else(|| panic!("there is no {} {name}", K::PLURAL))
    }

    /// Brings the caches up to date, and reports to the operator what is gone.
    pub fn watch_all(&mut self) {
        self.watch::<CodeGenTask>();
        self.watch::<CodeGenRun>();
        self.watch::<CodeModeAgent>();
        self.watch::<CodeModeRun>();
    }

    fn watch<K: Kind>(&mut self) {
        let there: Vec<K> = self
            .server
            .all(K::PLURAL)
            .into_iter()
            .map(|object| serde_json::from_value(object).unwrap())
            .collect();
        let context = Arc::clone(&self.context);
        let cache = K::cache(self);
        for known in cache.as_reader().state() {
            if !there.iter().any(|object| object.meta().uid == known.meta().uid) {
                known.is_gone(&context);
                cache.apply_watcher_event(&Event::Delete((*known).clone()));
            }
        }
        for mut object in there {
            object.trim();
            let reference = ObjectRef::from_obj(&object);
            let known = cache.as_reader().get(&reference);
            if known.is_some_and(|known| known.meta().resource_version == object.meta().resource_version) {
                continue;
            }
            object.is_there(&context);
            cache.apply_watcher_event(&Event::Apply(object));
        }
    }

    /// The object goes while the watch is broken: the list after that no longer has it, and nothing else says so.
    pub fn goes_unseen<K: Kind>(&mut self, name: &str) {
        let gone = self.cached::<K>(name);
        self.server.remove(K::PLURAL, name);
        let context = Arc::clone(&self.context);
        let cache = K::cache(self);
        cache.apply_watcher_event(&Event::Delete((*gone).clone()));
        K::observe(&context, None, &Event::InitDone, &cache.as_reader());
    }

    /// Reconciles the object as it is in the cache.
    pub async fn reconcile<K: Kind>(&mut self, name: &str) -> Action {
        let object = self.cached(name);
        self.reconcile_seen::<K>(object).await
    }

    /// Reconciles the object as it was seen at some time.
    pub async fn reconcile_seen<K: Kind>(&self, object: Arc<K>) -> Action {
        Box::pin(pass(object, &self.context)).await
    }

    /// Changes the recorded progress of a task.
    pub fn edit_progress(&self, name: &str, change: impl FnOnce(&mut Progress)) {
        self.server.edit("codegentasks", name, |task| {
            let status: CodeGenTaskStatus = serde_json::from_value(task["status"].take()).unwrap();
            let mut progress = recorded(&status).unwrap().unwrap();
            change(&mut progress);
            let documents = index(&status);
            task["status"] = serde_json::to_value(record(status, &progress, &documents)).unwrap();
        });
    }

    /// Reconciles the object after each change of it and each end of a Pod, until nothing changes any more.
    pub async fn settle<K: Kind>(&mut self, name: &str) -> Action {
        for _ in 0..MOST_PASSES {
            let before = self.cached::<K>(name);
            let action = self.reconcile::<K>(name).await;
            if self.server.get::<K>(name).is_none() {
                return action;
            }
            let has_changed =
                self.cached::<K>(name).meta().resource_version != before.meta().resource_version;
            let has_ended = self.node.end_pods(&self.server).await > 0;
            if !has_changed && !has_ended {
                return action;
            }
        }
        panic!("{name} never settles: {:#?}", self.server.calls());
    }

    /// The same with a task, which then has succeeded without a test that says much.
    pub async fn ends_well(&mut self, name: &str) {
        self.settle::<CodeGenTask>(name).await;
        let (found, message) = (
            self.stage_and_reason::<CodeGenTask>(name),
            self.message::<CodeGenTask>(name),
        );
        assert_eq!(found, "Succeeded Unverified", "{message}");
    }

    /// Reconciles the object until its status has this stage and reason.
    pub async fn until<K: Kind>(&mut self, name: &str, stage: &str) {
        for _ in 0..MOST_PASSES {
            if self.stage_and_reason::<K>(name) == stage {
                return;
            }
            let before = self.cached::<K>(name);
            self.reconcile::<K>(name).await;
            let has_changed =
                self.cached::<K>(name).meta().resource_version != before.meta().resource_version;
            if !has_changed && self.node.end_pods(&self.server).await == 0 {
                break;
            }
        }
        let (found, calls) = (self.stage_and_reason::<K>(name), self.server.calls());
        assert_eq!(found, stage, "{name}: {}; {calls:#?}", self.message::<K>(name));
    }

    /// Stage and reason of an object's status.
    pub fn stage_and_reason<K: Kind>(&self, name: &str) -> String {
        let status = &self.object::<K>(name)["status"];
        let word = |field: &str| status[field].as_str().unwrap_or_default().to_owned();
        format!("{} {}", word("stage"), word("reason")).trim().to_owned()
    }

    /// The message of an object's status.
    pub fn message<K: Kind>(&self, name: &str) -> String {
        let message = &self.object::<K>(name)["status"]["message"];
        message.as_str().unwrap_or_default().to_owned()
    }

    /// Status and reason of a condition (`True Pushed`).
    pub fn condition<K: Kind>(&self, name: &str, type_: &str) -> Option<String> {
        let object = self.object::<K>(name);
        let mut conditions = object["status"]["conditions"].as_array()?.iter();
        let found = conditions.find(|condition| condition["type"] == type_)?;
        Some(format!(
            "{} {}",
            found["status"].as_str()?,
            found["reason"].as_str()?
        ))
    }

    /// An object as the API server has it.
    pub fn object<K: Kind>(&self, name: &str) -> Value {
        let all = self.server.all(K::PLURAL);
        let found = all.into_iter().find(|object| object["metadata"]["name"] == name);
        found.unwrap_or_else(|| panic!("there is no {} {name}", K::PLURAL))
    }

    /// The status of a task.
    pub fn status_of(&self, name: &str) -> CodeGenTaskStatus {
        let task: CodeGenTask = self.server.get(name).unwrap();
        task.status.unwrap()
    }

    /// A task with an output that has succeeded.
    pub async fn succeeded(&mut self, name: &str) {
        self.node.outputs.insert("words".to_owned(), "2\n".to_owned());
        let spec = json!({"outputs": [{"name": "words", "type": "Int"}], "testing": {"cases": "Off"}});
        self.apply_task(name, &spec);
        self.settle::<CodeGenTask>(name).await;
        let (stage, calls) = (self.stage_and_reason::<CodeGenTask>(name), self.server.calls());
        assert!(
            stage.starts_with("Succeeded "),
            "{stage}: {}; {calls:#?}",
            self.message::<CodeGenTask>(name)
        );
        // Its end is read once.
        self.reconcile::<CodeGenTask>(name).await;
    }
}

/// A reconcile pass over an object, and when there is to be another one.
pub async fn pass<K: Controlled>(object: Arc<K>, context: &Arc<Context>) -> Action {
    match control::reconcile(Arc::clone(&object), Arc::clone(context)).await {
        Ok(action) => action,
        Err(error) => control::retry_later(object, &error, Arc::clone(context)),
    }
}

/// Waits for what other tasks of this process do at once.
pub async fn soon<T>(happens: impl Future<Output = T>) -> T {
    let happened = tokio::time::timeout(Duration::from_secs(10), happens).await;
    happened.unwrap_or_else(|_| panic!("it does not happen"))
}

/// An operator's process.
fn start(server: &ApiServer, config: &OperatorConfig) -> (Arc<Context>, JoinHandle<()>) {
    let (client, metrics) = (server.client(), Metrics::new());
    let (events, sending) = Events::new(client.clone(), "operator-0".to_owned(), metrics.clone());
    let sending = tokio::spawn(sending);
    let read = (data_reader(), RegistryCache::default());
    let gates = config.gates(Vec::new());
    let mut context = Context::new(
        client,
        config,
        gates,
        read,
        events,
        metrics,
        CancellationToken::new(),
    );
    context.since -= LONG;
    for pool in context.settings.sandbox.node_pools() {
        let blocked = vec![API_SERVER.to_owned()];
        context.isolation.found(
            &pool,
            IsolationVerdict::Enforced {
                blocked,
                unproved: Vec::new(),
            },
        );
    }
    (Arc::new(context), sending)
}
