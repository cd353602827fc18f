//! Runs as a kind: what a change brings on, and which children are watched.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use kube::core::PartialObjectMeta;
use kube::runtime::Controller;
use kube::runtime::reflector::Store;
use kube::runtime::watcher;

use super::memory;
use super::reconcile::RunPass;
use crate::controller::api::{namespaced, owners};
use crate::controller::context::Context;
use crate::controller::control::Controlled;
use crate::controller::schedule::shared::Shared;
use codegen_api::CodeGenRun;
use codegen_sandbox::kubernetes::names;

impl Controlled for CodeGenRun {
    type Pass<'a> = RunPass<'a>;

    fn shared(context: &Context) -> &Shared<Self> {
        &context.runs
    }

    fn pass(self, context: &Context) -> RunPass<'_> {
        RunPass::new(self, context)
    }

    fn trim(&mut self) {
        memory::trim(self);
    }

    fn release(context: &Context, uid: &str) {
        context.runs.release(uid);
        context.downloads.forget(uid);
    }

    fn observe(context: &Arc<Context>, _: Option<&str>, event: &watcher::Event<Self>, all: &Store<Self>) {
        match event {
            watcher::Event::Delete(run) => {
                Self::release(context, run.metadata.uid.as_deref().unwrap_or_default());
                context.runs.has_changed(run);
            }
            watcher::Event::Apply(run) => context.runs.is_there(run),
            // The first list, before any pass, or one after a break.
            watcher::Event::InitDone => {
                Self::forget_deleted(context);
                context.runs.resume(&all.state());
            }
            // Each of the list has a pass of its own.
            watcher::Event::Init | watcher::Event::InitApply(_) => {}
        }
    }

    fn watch_children(
        controller: Controller<Self>,
        context: &Arc<Context>,
        namespace: Option<&str>,
        _: &Store<Self>,
    ) -> Controller<Self> {
        // Pods of runs have a label of their own, so that a run wakes no task and a task no run.
        let theirs = format!("{}={},{}", names::MANAGED_BY, names::OPERATOR, names::RUN);
        let theirs = watcher::Config::default().labels(&theirs);
        // As metadata, for memory: a pass reads the Pod that it needs by name.
        let pods = namespaced::<PartialObjectMeta<Pod>>(&context.client, namespace);
        controller.watches(pods, theirs, |pod| owners(&pod))
    }
}
