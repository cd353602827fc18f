//! Builds in a namespace of their own (`build.namespace`): what is watched there, and who does not wait for them any more.

use std::collections::HashSet;
use std::sync::Arc;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::core::PartialObjectMeta;
use kube::runtime::reflector::Store;
use kube::runtime::{Controller, watcher};

use crate::controller::context::Context;
use crate::controller::tasks::owners::tasks_of_job;
use crate::controller::tasks::owners::tasks_of_pod;
use codegen_api::CodeGenTask;
use codegen_sandbox::kubernetes::{build_namespace, names};

/// Watches the builds of the tasks of `namespace` where they are not made in it. Who watches all namespaces sees them anyway.
pub fn watch_build_namespace(
    context: &Context,
    namespace: Option<&str>,
    looks: Controller<CodeGenTask>,
    tasks: &Store<CodeGenTask>,
) -> Controller<CodeGenTask> {
    let (Some(builds), Some(namespace)) = (&context.settings.build.namespace, namespace) else {
        return looks;
    };
    if builds == namespace {
        return looks;
    }
    let selector = format!(
        "{}={},{}={namespace}",
        names::MANAGED_BY,
        names::OPERATOR,
        names::TASK_NAMESPACE
    );
    let its = watcher::Config::default().labels(&selector);
    let known = tasks.clone();
    let pods: Api<PartialObjectMeta<Pod>> = Api::namespaced(context.client.clone(), builds);
    let jobs: Api<PartialObjectMeta<Job>> = Api::namespaced(context.client.clone(), builds);
    looks
        .watches(pods, its.clone(), move |pod| tasks_of_pod(&pod, &known))
        .watches(jobs, its, |job| tasks_of_job(&job))
}

/// Removes the builds that only a deleted task waited for. One that another operator works on from now on is not deleted.
pub fn task_is_gone(context: &Arc<Context>, uid: String) {
    if context.settings.build.namespace.is_none() {
        return;
    }
    let context = Arc::clone(context);
    // Not awaited: the watch of tasks goes on meanwhile.
    tokio::spawn(async move {
        if let Some(builds) = &context.settings.build.namespace
            && let Err(error) = build_namespace::release(&context.client, builds, &uid).await
        {
            tracing::warn!(%error, namespace = builds, "builds of a deleted task could not be removed; they end by themselves");
        }
    });
}

/// Removes the builds for tasks that were deleted while nobody watched. `tasks` are those of the namespace `of`, or all.
pub fn tasks_are(context: &Arc<Context>, of: Option<String>, tasks: &[Arc<CodeGenTask>]) {
    if context.settings.build.namespace.is_none() {
        return;
    }
    let there: HashSet<String> = tasks
        .iter()
        .filter_map(|task| task.metadata.uid.clone())
        .collect();
    let context = Arc::clone(context);
    // Not awaited: the watch of tasks goes on meanwhile.
    tokio::spawn(async move {
        if let Some(builds) = &context.settings.build.namespace
            && let Err(error) =
                build_namespace::sweep(&context.client, builds, of.as_deref(), |uid| there.contains(uid))
                    .await
        {
            tracing::warn!(%error, namespace = builds, "builds without tasks could not be looked for; they end by themselves");
        }
    });
}
