//! The operator as a process: serves its health, waits until it may work, works, and ends in order.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use futures::future::{join_all, join5};
use ipnet::IpNet;
use kube::Client;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::controller::api::namespaced;
use crate::controller::approvals;
use crate::controller::code_mode;
use crate::controller::config::OperatorConfig;
use crate::controller::context::Context;
use crate::controller::control::control;
use crate::controller::isolation;
use crate::controller::process::health::{self, Readiness, Unread};
use crate::controller::process::leader::Leadership;
use crate::controller::record::cache;
use crate::controller::runs;
use crate::controller::telemetry::events::Events;
use crate::controller::telemetry::metrics::Metrics;
use codegen_api::code_mode::{CodeModeAgent, CodeModeRun};
use codegen_api::{CodeGenApproval, CodeGenRun, CodeGenTask};
use codegen_data::worker::WorkerClient as Worker;
use codegen_sandbox::kubernetes::{RegistryCache, Signing, api_servers};

/// Pause before the served definitions are checked again.
const CHECK_INTERVAL: Duration = Duration::from_secs(5);

/// Pause between two counts of the tasks.
const COUNT_AGAIN: Duration = Duration::from_secs(10);
/// Time that events have to be sent when the operator ends.
const LAST_EVENTS: Duration = Duration::from_secs(3);

/// Identity of this process.
#[derive(Clone, Debug)]
pub struct Identity {
    /// Name of its Pod, or of the machine.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
    /// Secret in its namespace with the keys that environments are signed with.
    pub signing_secret: String,
    /// This program: reads data as a child process.
    pub program: PathBuf,
}

/// Runs the operator until it is asked to stop or loses its leadership. `Ok(false)` means that it lost it.
pub async fn operate(config: OperatorConfig, identity: Identity) -> anyhow::Result<bool> {
    let client = Client::try_default()
        .await
        .context("no way to the API server: set KUBECONFIG, or run inside of a cluster")?;
    let ending = CancellationToken::new();
    let stopping = stop_signal(ending.child_token())?;
    let metrics = Metrics::new();
    let (ready, readiness) = watch::channel(Readiness::NotReady("the operator starts".to_owned()));
    let listener = TcpListener::bind(config.listen)
        .await
        .with_context(|| format!("cannot listen on {}", config.listen))?;
    // Before the work: probes are answered while definitions and Lease are waited for.
    let server = tokio::spawn(health::serve(
        listener,
        readiness,
        metrics.clone(),
        ending.clone(),
    ));
    let leads = work(&config, &identity, client, &ready, stopping, metrics).await;
    // After the work: a liveness probe must not fail while what is in flight is finished.
    ending.cancel();
    server.await.context("the health server ended by itself")??;
    leads
}

async fn work(
    config: &OperatorConfig,
    identity: &Identity,
    client: Client,
    ready: &watch::Sender<Readiness>,
    stopping: CancellationToken,
    metrics: Metrics,
) -> anyhow::Result<bool> {
    // Only reads. With older definitions installed the API server would drop fields that this version writes.
    if stopping
        .run_until_cancelled(definitions(&client, ready))
        .await
        .is_none()
    {
        return Ok(true);
    }
    // Writes the Lease and nothing else until it is won.
    let mut leadership = campaign(config, identity, &client, ready);
    if stopping.run_until_cancelled(leadership.won()).await.is_none() {
        leadership.release().await;
        return Ok(true);
    }
    tracing::info!(name = identity.name, "this operator leads");
    metrics.set_leader(true);
    let lost = leadership.lost();
    // Who has lost the Lease stops like one that is asked to: no new step, and what is in flight ends.
    tokio::spawn({
        let (lost, stopping) = (lost.clone(), stopping.clone());
        async move {
            lost.cancelled().await;
            stopping.cancel();
        }
    });
    // Reads: only the cluster says where the API server is, which no request for a task may reach.
    let Some(servers) = stopping.run_until_cancelled(api_servers(&client)).await else {
        leadership.release().await;
        return Ok(!lost.is_cancelled());
    };
    let (mut context, sending) = share(config, identity, client, servers, stopping, metrics);
    context.calls.follow(leadership.lead());
    let context = Arc::new(context);
    run_controllers(&context, config, identity, ready).await;
    // The last sender of Events: without it the queue never ends.
    drop(context);
    if tokio::time::timeout(LAST_EVENTS, sending).await.is_err() {
        tracing::warn!("some events were not sent in time");
    }
    let has_lost = lost.is_cancelled();
    // Released last: from here on another replica may work.
    leadership.release().await;
    Ok(!has_lost)
}

/// Asks to lead, where more than one replica may do so.
fn campaign(
    config: &OperatorConfig,
    identity: &Identity,
    client: &Client,
    ready: &watch::Sender<Readiness>,
) -> Leadership {
    if !config.leader_election.enabled {
        return Leadership::always();
    }
    // Whoever waits for the lease can work as soon as it has it.
    ready.send_replace(Readiness::Ready);
    Leadership::campaign(
        client.clone(),
        &identity.namespace,
        &identity.name,
        &config.leader_election,
    )
}

/// Makes the state that all passes share, and the task that sends Events until nobody has it any more.
fn share(
    config: &OperatorConfig,
    identity: &Identity,
    client: Client,
    servers: Vec<IpNet>,
    stopping: CancellationToken,
    metrics: Metrics,
) -> (Context, JoinHandle<()>) {
    let worker = Worker::new(&identity.program, ["worker"]).with_at_most(config.limits.max_readers);
    let (events, sending) = Events::new(client.clone(), identity.name.clone(), metrics.clone());
    let gates = config.gates(servers);
    let signing = Signing::in_secret(client.clone(), &identity.namespace, &identity.signing_secret);
    let registries = RegistryCache::new(signing, gates.closed.clone());
    let read = (worker, registries);
    let context = Context::new(client, config, gates, read, events, metrics, stopping);
    (context, tokio::spawn(sending))
}

/// Reconciles, and does beside that what no object asks for, until the operator is told to stop.
async fn run_controllers(
    context: &Arc<Context>,
    config: &OperatorConfig,
    identity: &Identity,
    ready: &watch::Sender<Readiness>,
) {
    let beside = [
        tokio::spawn(count_tasks(Arc::clone(context))),
        tokio::spawn(isolation::check_periodically(
            Arc::clone(context),
            identity.namespace.clone(),
        )),
    ];
    watch_all_kinds(context, config, ready).await;
    // These background tasks never end by themselves.
    for task in beside {
        task.abort();
    }
}

/// Runs the controllers of tasks and runs for every watched namespace, until the operator is asked to stop.
async fn watch_all_kinds(context: &Arc<Context>, config: &OperatorConfig, ready: &watch::Sender<Readiness>) {
    let namespaces = if config.watch_namespaces.is_empty() {
        vec![None]
    } else {
        config
            .watch_namespaces
            .iter()
            .map(|name| Some(name.as_str()))
            .collect()
    };
    // Tasks and runs of each. Code mode is not waited for: where the operator has no right to its kinds, everything else works.
    let unread = Unread::new(2 * namespaces.len(), ready);
    join_all(namespaces.into_iter().map(|namespace| {
        let selector = &config.task_selector;
        join5(
            control::<CodeGenTask>(Arc::clone(context), namespace, selector, Some(&unread)),
            approvals::watch_decisions(context, namespaced::<CodeGenApproval>(&context.client, namespace)),
            control::<CodeGenRun>(Arc::clone(context), namespace, selector, Some(&unread)),
            control::<CodeModeAgent>(Arc::clone(context), namespace, selector, None),
            control::<CodeModeRun>(Arc::clone(context), namespace, selector, None),
        )
    }))
    .await;
}

/// Keeps the numbers of tasks and runs up to date.
async fn count_tasks(context: Arc<Context>) {
    loop {
        context
            .metrics
            .set_runs(runs::memory::counts(&context.runs.all()));
        let questions = code_mode::memory::counts(&context.code_mode_runs.all());
        context.metrics.code_mode().set_runs(questions);
        context.metrics.set_tasks(cache::counts(&context.tasks.all()));
        tokio::time::sleep(COUNT_AGAIN).await;
    }
}

/// Waits until the API server serves every field that this version writes.
async fn definitions(client: &Client, ready: &watch::Sender<Readiness>) {
    let mut told = String::new();
    loop {
        let why = match health::missing_fields(client).await {
            Ok(missing) => match health::explain(&missing) {
                None => return,
                Some(why) => why,
            },
            Err(error) => format!("the definitions cannot be read: {error}"),
        };
        // Once for each cause, not at each check.
        if why != told {
            tracing::warn!(why, "not ready");
            told.clone_from(&why);
            ready.send_replace(Readiness::NotReady(why));
        }
        tokio::time::sleep(CHECK_INTERVAL).await;
    }
}

/// Cancelled by SIGTERM or Ctrl-C; what is in flight is finished then. A second one ends the process at once.
fn stop_signal(stopping: CancellationToken) -> anyhow::Result<CancellationToken> {
    let mut terminate = signal(SignalKind::terminate()).context("cannot listen for SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot listen for SIGINT")?;
    let told = stopping.clone();
    tokio::spawn(async move {
        loop {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            if told.is_cancelled() {
                tracing::warn!("asked to stop a second time: this process ends at once");
                // As shells report a process that Ctrl-C has ended.
                std::process::exit(130);
            }
            tracing::info!("asked to stop: what is in flight is finished and recorded");
            told.cancel();
        }
    });
    Ok(stopping)
}
