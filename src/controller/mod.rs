//! The operator: tasks in a cluster, each advanced by one decision at a time.

pub mod admission;
mod approvals;
mod awaited;
mod builds;
mod cache;
pub mod calls;
mod claims;
pub mod config;
pub mod context;
mod credentials;
mod documents;
mod downloads;
pub mod events;
pub mod finish;
pub mod gate;
pub mod health;
pub mod hold;
mod index;
mod isolation;
pub mod leader;
pub mod logging;
pub mod metrics;
mod model;
mod own;
mod parts;
pub mod operate;
pub mod progress;
pub mod reconcile;
mod reuse;
mod run;
pub mod runs;
pub mod selector;
mod size;
pub mod snapshot;
pub(crate) mod sources;
mod stop;
pub mod store;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use futures::StreamExt as _;
use futures::future::{join3, ready};
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use kube::core::PartialObjectMeta;
use kube::runtime::controller::Config as ControllerConfig;
use kube::runtime::reflector::{self, ObjectRef, Store};
use kube::runtime::watcher::{self, watcher};
use kube::runtime::{Controller, WatchStreamExt as _};
use kube::{Api, Client, Resource, ResourceExt};
use tokio::sync::broadcast::error::RecvError;

use self::context::Context;
use self::health::Unread;
use self::selector::TaskSelector;
use crate::api::{CodeGenApproval, CodeGenTask};
use crate::pipeline::stage::Stage;
use crate::sandbox::kubernetes::elsewhere;
use crate::sandbox::kubernetes::names::{self, Component};

/// Looks after the selected tasks of one namespace, or of all, until it is told to stop and what is in flight has ended.
pub(crate) async fn control(
    context: Arc<Context>,
    namespace: Option<&str>,
    selector: &TaskSelector,
    unread: &Unread<'_>,
) {
    let client = &context.client;
    let ours = watcher::Config::default().labels(&format!("{}={}", names::MANAGED_BY, names::OPERATOR));
    let stopping = context.stopping.clone();
    let (tasks, writer) = reflector::store();
    context.knows(tasks.clone());
    let (there, seen_by, of) = (tasks.clone(), Arc::clone(&context), namespace.map(str::to_owned));
    // Each page of the first list is whole in memory until it is trimmed.
    let few_at_once = watcher::Config::default().page_size(50).labels(selector.as_str());
    let changes = watcher(api::<CodeGenTask>(client, namespace), few_at_once)
        .default_backoff()
        .modify(cache::trim)
        .reflect(writer)
        .inspect(move |event| match event {
            Ok(watcher::Event::Delete(task)) => {
                seen_by.runs.task_has_changed(task);
                let uid = task.uid().unwrap_or_default();
                seen_by.forget(&uid);
                builds::task_is_gone(&seen_by, uid);
            }
            // The first list, before any look, or one after a break.
            Ok(watcher::Event::InitDone) => {
                seen_by.forget_deleted();
                seen_by.admissions.resume(&there.state());
                builds::tasks_are(&seen_by, of.clone(), &there.state());
            }
            Ok(watcher::Event::Apply(task) | watcher::Event::InitApply(task)) => {
                seen_by.runs.task_is_there(task);
            }
            Ok(watcher::Event::Init) | Err(_) => {}
        })
        .applied_objects();
    let known = tasks.clone();
    let of_tasks = format!("{}={},!{}", names::MANAGED_BY, names::OPERATOR, names::RUN);
    let of_tasks = watcher::Config::default().labels(&of_tasks);
    let pods = api::<PartialObjectMeta<Pod>>(client, namespace);
    let jobs = api::<PartialObjectMeta<Job>>(client, namespace);
    let looks = Controller::for_stream(changes, tasks.clone())
        .watches(pods, of_tasks, move |pod| tasks_of_pod(&pod, &known))
        .watches(jobs, ours, |job| tasks_of_job(&job));
    let looks = builds::watched_elsewhere(&context, namespace, looks, &tasks)
        .reconcile_on(woken(&context, namespace))
        .with_config(ControllerConfig::default().concurrency(0))
        .graceful_shutdown_on(async move { stopping.cancelled().await })
        .run(reconcile::reconcile, reconcile::retry_later, Arc::clone(&context))
        .for_each(|result| {
            if let Err(error) = result {
                tracing::debug!(%error, "a look did not end well");
            }
            ready(())
        });
    let filled = async {
        if tasks.wait_until_ready().await.is_ok() {
            unread.read();
        }
    };
    let looks = stop::in_order(looks, &tasks, &context.stopping);
    let deciding = approvals::keep_watching(&context, api::<CodeGenApproval>(client, namespace));
    join3(looks, filled, deciding).await;
}

/// The tasks of a namespace, or of all, for which there is now what they waited for.
fn woken(
    context: &Context,
    namespace: Option<&str>,
) -> impl futures::Stream<Item = ObjectRef<CodeGenTask>> + Send + 'static {
    let namespace = namespace.map(str::to_owned);
    futures::stream::unfold(context.woken(), |mut woken| async move {
        loop {
            match woken.recv().await {
                Ok(task) => return Some((task, woken)),
                // Those that were lost are looked at when their pause is over.
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return None,
            }
        }
    })
    .filter(move |task| ready(namespace.is_none() || task.namespace == namespace))
}

fn api<K>(client: &Client, namespace: Option<&str>) -> Api<K>
where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
{
    match namespace {
        Some(namespace) => Api::namespaced(client.clone(), namespace),
        None => Api::all(client.clone()),
    }
}

/// The tasks that wait for a Job: its owners, or those that it names where it is in another namespace than they.
fn tasks_of_job(job: &PartialObjectMeta<Job>) -> Vec<ObjectRef<CodeGenTask>> {
    let waiting = elsewhere::waiting(&job.metadata).into_iter();
    let waiting = waiting.map(|task| ObjectRef::new(&task.name).within(&task.namespace));
    waiting.chain(owners(job)).collect()
}

/// The tasks that own a child.
fn owners<K: ResourceExt>(child: &K) -> Vec<ObjectRef<CodeGenTask>> {
    let namespace = child.namespace().unwrap_or_default();
    let owners = child.owner_references().iter();
    owners
        .filter(|owner| owner.kind == "CodeGenTask")
        .map(|owner| ObjectRef::new(&owner.name).within(&namespace))
        .collect()
}

/// The tasks that a Pod may bring on. That of a build belongs to its Job, and to every task of
/// the namespace that waits for an image.
fn tasks_of_pod(pod: &PartialObjectMeta<Pod>, tasks: &Store<CodeGenTask>) -> Vec<ObjectRef<CodeGenTask>> {
    if pod.labels().get(names::COMPONENT).map(String::as_str) != Some(Component::Build.as_str()) {
        return owners(pod);
    }
    let namespace = elsewhere::namespace_of_tasks(pod);
    let waits = |task: &CodeGenTask| {
        let stage = task.status.as_ref().and_then(|status| status.stage.as_deref());
        task.namespace() == namespace && stage == Some(Stage::AwaitingImage.as_str())
    };
    tasks
        .state_filter(waits)
        .iter()
        .map(|task| ObjectRef::from_obj(task.as_ref()))
        .collect()
}
