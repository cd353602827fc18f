//! The operator: tasks in a cluster, each advanced by one decision at a time.

pub mod calls;
pub mod config;
pub mod context;
pub mod credentials;
pub mod documents;
pub mod events;
mod finish;
pub mod gate;
pub mod health;
pub mod hold;
pub mod leader;
pub mod logging;
pub mod metrics;
mod model;
pub mod progress;
pub mod reconcile;
mod run;
pub mod snapshot;
mod sources;
pub mod store;

use std::sync::Arc;

use futures::StreamExt as _;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::runtime::controller::Config as ControllerConfig;
use kube::runtime::reflector::ObjectRef;
use kube::runtime::{Controller, watcher};

use self::context::Context;
use crate::api::CodeGenTask;
use crate::sandbox::kubernetes::names;

/// Runs the controller until it is told to stop, and what is in flight has ended.
pub async fn control(context: Arc<Context>) {
    let client = context.client.clone();
    let ours = watcher::Config::default().labels(&format!("{}={}", names::MANAGED_BY, names::OPERATOR));
    let stopping = context.stopping.clone();
    Controller::new(
        Api::<CodeGenTask>::all(client.clone()),
        watcher::Config::default(),
    )
    .watches(Api::<Pod>::all(client.clone()), ours.clone(), |pod| task_of(&pod))
    .watches(Api::<Job>::all(client), ours, |job| task_of(&job))
    .with_config(ControllerConfig::default().concurrency(0))
    .graceful_shutdown_on(async move { stopping.cancelled().await })
    .run(reconcile::reconcile, reconcile::retry_later, context)
    .for_each(|result| async move {
        if let Err(error) = result {
            tracing::debug!(%error, "reconcile");
        }
    })
    .await;
}

/// The task that a child belongs to.
fn task_of<K: kube::ResourceExt>(child: &K) -> Option<ObjectRef<CodeGenTask>> {
    let owner = child
        .owner_references()
        .iter()
        .find(|owner| owner.kind == "CodeGenTask")?;
    Some(ObjectRef::new(&owner.name).within(&child.namespace()?))
}
