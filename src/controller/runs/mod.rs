//! Runs of finished programs: each `CodeGenRun` is looked at as tasks are, one decision at a time.
//!
//! ```text
//! start     the task's program, the inputs -> what another run wrote for the same, or a pinned run
//! step      a sandbox runs it -> its outputs in Secrets of the run, the end in its status
//! ```
//!
//! From its pinned copy on a run depends on nothing but its own objects: task and sources may change or go.

mod artifact;
mod gather;
mod image;
pub mod known;
pub(crate) mod outputs;
mod pinned;
mod program;
pub(super) mod reconcile;
pub mod reuse;
mod source;
pub mod status;
mod step;
mod written;

use std::sync::Arc;

use futures::future::{join, ready};
use futures::{Stream, StreamExt as _};
use k8s_openapi::api::core::v1::Pod;
use kube::core::PartialObjectMeta;
use kube::runtime::controller::Config as ControllerConfig;
use kube::runtime::reflector::{self, ObjectRef};
use kube::runtime::watcher::{self, watcher};
use kube::runtime::{Controller, WatchStreamExt as _};
use kube::{Resource as _, ResourceExt as _};
use tokio::sync::broadcast::error::RecvError;

use super::api;
use super::context::Context;
use super::health::Unread;
use super::selector::TaskSelector;
use super::stop;
use crate::api::CodeGenRun;
use crate::sandbox::kubernetes::Owner;
use crate::sandbox::kubernetes::names;

/// Looks after the selected runs of one namespace, or of all, until it is told to stop and what is in flight has ended.
pub(crate) async fn control(
    context: Arc<Context>,
    namespace: Option<&str>,
    selector: &TaskSelector,
    unread: &Unread<'_>,
) {
    let client = &context.client;
    let stopping = context.stopping.clone();
    let (runs, writer) = reflector::store();
    context.runs.knows(runs.clone());
    let seen_by = Arc::clone(&context);
    let few_at_once = watcher::Config::default().page_size(50).labels(selector.as_str());
    let changes = watcher(api::<CodeGenRun>(client, namespace), few_at_once)
        .default_backoff()
        .modify(known::trim)
        .reflect(writer)
        .inspect(move |event| match event {
            Ok(watcher::Event::Delete(run)) => {
                seen_by
                    .downloads
                    .forget(run.metadata.uid.as_deref().unwrap_or_default());
                seen_by.runs.is_gone(run);
            }
            Ok(watcher::Event::Apply(run) | watcher::Event::InitApply(run)) => seen_by.runs.is_there(run),
            // The first list, before any look, or one after a break.
            Ok(watcher::Event::InitDone) => {
                seen_by.runs.forget_deleted();
                seen_by.runs.resume();
            }
            Ok(watcher::Event::Init) | Err(_) => {}
        })
        .applied_objects();
    let theirs = format!("{}={},{}", names::MANAGED_BY, names::OPERATOR, names::RUN);
    let theirs = watcher::Config::default().labels(&theirs);
    let pods = api::<PartialObjectMeta<Pod>>(client, namespace);
    let looks = Controller::for_stream(changes, runs.clone())
        .watches(pods, theirs, |pod| owners(&pod))
        .reconcile_on(woken(&context, namespace))
        .with_config(ControllerConfig::default().concurrency(0))
        .graceful_shutdown_on(async move { stopping.cancelled().await })
        .run(reconcile::reconcile, reconcile::retry_later, Arc::clone(&context))
        .for_each(|result| {
            if let Err(error) = result {
                tracing::debug!(%error, "a look at a run did not end well");
            }
            ready(())
        });
    let filled = async {
        if runs.wait_until_ready().await.is_ok() {
            unread.read();
        }
    };
    let looks = stop::in_order(looks, &runs, &context.stopping);
    join(looks, filled).await;
}

/// The runs of a namespace, or of all, for which there is now what they waited for.
fn woken(
    context: &Context,
    namespace: Option<&str>,
) -> impl Stream<Item = ObjectRef<CodeGenRun>> + Send + 'static {
    let namespace = namespace.map(str::to_owned);
    futures::stream::unfold(context.runs.woken(), |mut woken| async move {
        loop {
            match woken.recv().await {
                Ok(run) => return Some((run, woken)),
                // Those that were lost are looked at when their pause is over.
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return None,
            }
        }
    })
    .filter(move |run| ready(namespace.is_none() || run.namespace == namespace))
}

fn owners(pod: &PartialObjectMeta<Pod>) -> Vec<ObjectRef<CodeGenRun>> {
    let namespace = pod.namespace().unwrap_or_default();
    let owners = pod.owner_references().iter();
    owners
        .filter(|owner| owner.kind == "CodeGenRun")
        .map(|owner| ObjectRef::new(&owner.name).within(&namespace))
        .collect()
}

/// Whose children the objects of a run are. `run` tells executions on other inputs apart.
fn owner(object: &CodeGenRun, run: &str) -> Owner {
    Owner {
        namespace: object.namespace().unwrap_or_default(),
        name: object.name_any(),
        uid: object.uid().unwrap_or_default(),
        run: run.to_owned(),
        wish: String::new(),
        generation: object.metadata.generation.unwrap_or_default(),
        attempt: 0,
        reference: object.controller_owner_ref(&()).unwrap_or_default(),
    }
}
