//! Tasks as a kind: what a change brings on, and which children are watched.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;
use kube::core::PartialObjectMeta;
use kube::runtime::Controller;
use kube::runtime::reflector::Store;
use kube::runtime::watcher;

use super::builds;
use super::owners::{tasks_of_job, tasks_of_pod};
use super::reconcile::TaskPass;
use crate::controller::api::namespaced;
use crate::controller::context::Context;
use crate::controller::control::Controlled;
use crate::controller::record::cache;
use crate::controller::schedule::shared::Shared;
use crate::controller::telemetry::metrics::Reconciled;
use codegen_api::CodeGenTask;
use codegen_sandbox::kubernetes::names;

impl Controlled for CodeGenTask {
    type Pass<'a> = TaskPass<'a>;

    fn shared(context: &Context) -> &Shared<Self> {
        &context.tasks
    }

    fn pass(self, context: &Context) -> TaskPass<'_> {
        TaskPass::new(self, context)
    }

    fn trim(&mut self) {
        cache::trim(self);
    }

    fn release(context: &Context, uid: &str) {
        context.tasks.release(uid);
        context.downloads.forget(uid);
    }

    fn observe(
        context: &Arc<Context>,
        namespace: Option<&str>,
        event: &watcher::Event<Self>,
        all: &Store<Self>,
    ) {
        match event {
            watcher::Event::Delete(task) => {
                // Runs that refer to it say then that it is gone.
                context.runs.task_has_changed(task);
                let uid = task.uid().unwrap_or_default();
                Self::release(context, &uid);
                builds::task_is_gone(context, uid);
            }
            // The first list, before any pass, or one after a break.
            watcher::Event::InitDone => {
                // Deletions during a break of the watch brought no event.
                Self::forget_deleted(context);
                context.tasks.resume(&all.state());
                // Once for all of them: tasks may have ended during the break as well.
                context.runs.tasks_are_there();
                context.code_mode_agents.tasks_are_there();
                builds::tasks_are(context, namespace.map(str::to_owned), &all.state());
            }
            watcher::Event::Apply(task) => {
                context.runs.task_is_there(task);
                context.code_mode_agents.task_is_there(task);
            }
            watcher::Event::Init | watcher::Event::InitApply(_) => {}
        }
    }

    fn watch_children(
        controller: Controller<Self>,
        context: &Arc<Context>,
        namespace: Option<&str>,
        all: &Store<Self>,
    ) -> Controller<Self> {
        let client = &context.client;
        let ours = watcher::Config::default().labels(&format!("{}={}", names::MANAGED_BY, names::OPERATOR));
        let of_tasks = format!("{}={},!{}", names::MANAGED_BY, names::OPERATOR, names::RUN);
        let of_tasks = watcher::Config::default().labels(&of_tasks);
        let pods = namespaced::<PartialObjectMeta<Pod>>(client, namespace);
        let jobs = namespaced::<PartialObjectMeta<Job>>(client, namespace);
        let known = all.clone();
        let controller = controller
            .watches(pods, of_tasks, move |pod| tasks_of_pod(&pod, &known))
            .watches(jobs, ours, |job| tasks_of_job(&job));
        builds::watch_build_namespace(context, namespace, controller, all)
    }

    fn count(context: &Context, came_to: Reconciled, took: Duration) {
        context.metrics.reconciled(came_to, took);
    }

    fn count_pause(&self, context: &Context, after: Reconciled) {
        context.metrics.pause_over(after);
        let (namespace, task) = (self.namespace().unwrap_or_default(), self.name_any());
        tracing::debug!(namespace, task, after = after.as_str(), "a pause is over");
    }
}
