//! State that all passes share. All of it can be lost: what must survive stands in the API server.

use std::collections::BTreeMap;

use codegen_interpreter::Interpreter;
use jiff::Timestamp;
use kube::Client;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::config::{ApprovalSettings, Gates, History, OperatorConfig};
use crate::controller::schedule::calls::CallPool;
use crate::controller::schedule::decisions::Decisions;
use crate::controller::schedule::interpreters::Interpreters;
use crate::controller::schedule::shared::Shared;
use crate::controller::selector::TaskSelector;
use crate::controller::sources::downloads::Downloads;
use crate::controller::telemetry::events::Events;
use crate::controller::telemetry::metrics::Metrics;
use codegen_api::code_mode::{CodeModeAgent, CodeModeRun};
use codegen_api::{CodeGenRun, CodeGenTask};
use codegen_core::package_policy::Rules;
use codegen_core::task::Task;
use codegen_data::worker::WorkerClient as Worker;
use codegen_egress::EgressGate;
use codegen_model::SharedClient;
use codegen_package_index::PackageIndex;
use codegen_sandbox::KubernetesSandbox;
use codegen_sandbox::kubernetes::isolation::Isolation;
use codegen_sandbox::kubernetes::settings::Settings;
use codegen_sandbox::kubernetes::{MountedInput, Owner, RegistryCache};

/// Tasks that are cleared up after at once when the operator begins: many may have ended just before.
const CLEARED_AT_ONCE: usize = 4;

/// State that all passes share.
pub struct Context {
    /// Speaks to the API server.
    pub client: Client,
    /// The operator's settings of builds and sandboxes.
    pub settings: Settings,
    /// Reads data in a child process.
    pub worker: Worker,
    /// Answers of registries.
    pub registries: RegistryCache,
    /// Answers of package indexes.
    pub index: PackageIndex,
    /// Packages that may be installed, whatever a task says.
    pub packages: Rules,
    /// Programs that commands of agents are refused besides those that have no use there.
    pub denied_commands: Vec<String>,
    /// Results of the isolation checks.
    pub isolation: Isolation,
    /// Time at which this operator began to work.
    pub since: Timestamp,
    /// Places for tasks after which another operator may not have cleared up.
    pub clearing: Semaphore,
    /// Counters and gauges.
    pub metrics: Metrics,
    /// No call starts after this.
    pub stopping: CancellationToken,
    /// Samples at URLs.
    pub downloads: Downloads,
    /// Model endpoints that may be spoken to.
    pub models: EgressGate,
    /// The client of calls to models over https.
    pub model_client: SharedClient,
    /// Tools of code mode that may be spoken to.
    pub tools: EgressGate,
    /// Runs programs of code mode, each in a process of its own.
    pub interpreter: Interpreter,
    /// Room for them.
    pub interpreters: Interpreters,
    /// Objects that this operator works on.
    pub selector: TaskSelector,
    /// Places of model calls.
    pub calls: CallPool,
    /// Retention of finished tasks.
    pub history: History,
    /// Events for users.
    pub events: Events,
    /// Gates at which every task waits for a person, and the policy that vouches for names.
    pub approvals: ApprovalSettings,
    /// Decisions of persons.
    pub decisions: Decisions,
    /// Memory of tasks.
    pub tasks: Shared<CodeGenTask>,
    /// Memory of runs of finished programs.
    pub runs: Shared<CodeGenRun>,
    /// Memory of agents of code mode.
    pub code_mode_agents: Shared<CodeModeAgent>,
    /// Memory of questions to them.
    pub code_mode_runs: Shared<CodeModeRun>,
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
        let settings = config.sandbox_settings();
        Self {
            isolation: Isolation::awaiting(&settings.sandbox.node_pools()),
            since: Timestamp::now(),
            clearing: Semaphore::new(CLEARED_AT_ONCE),
            client,
            downloads: Downloads::new(gates.samples),
            models: gates.models,
            model_client: SharedClient::default(),
            tools: gates.tools,
            interpreter: config.code_mode.interpreter(),
            interpreters: Interpreters::new(
                config.code_mode.max_interpreters,
                config.code_mode.interpreter_memory.0,
                stopping.clone(),
                metrics.clone(),
            ),
            selector: config.task_selector.clone(),
            calls: CallPool::new(calls, stopping.clone(), metrics.clone()),
            events,
            tasks: Shared::new(config.limits, metrics.clone()),
            runs: Shared::new(config.limits, metrics.clone()),
            code_mode_agents: Shared::new(config.limits, metrics.clone()),
            code_mode_runs: Shared::new(config.limits, metrics.clone()),
            approvals: config.approvals.clone(),
            decisions: Decisions::default(),
            history: config.history,
            settings,
            registries,
            index: PackageIndex::new(Some(gates.indexes), config.build.index_authorities.clone()),
            packages: config.packages.clone(),
            denied_commands: config.agent.denied_commands.clone(),
            worker,
            metrics,
            stopping,
        }
    }

    /// Returns the sandbox in which the code of a task runs.
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
}
