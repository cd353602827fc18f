//! Tasks that the change of a child brings on.

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kube::core::PartialObjectMeta;
use kube::runtime::reflector::{ObjectRef, Store};

use crate::controller::api::owners;
use codegen_api::CodeGenTask;
use codegen_core::stage::Stage;
use codegen_sandbox::kubernetes::build_namespace;
use codegen_sandbox::kubernetes::names::{self, Component};

/// The tasks that wait for a Job: its owners, or those that it names where it is in another namespace than they.
pub fn tasks_of_job(job: &PartialObjectMeta<Job>) -> Vec<ObjectRef<CodeGenTask>> {
    let waiting = build_namespace::waiting(&job.metadata).into_iter();
    let waiting = waiting.map(|task| ObjectRef::new(&task.name).within(&task.namespace));
    waiting.chain(owners(job)).collect()
}

/// The tasks that a Pod may bring on. That of a build belongs to its Job, and to every task of
/// the namespace that waits for an image.
pub fn tasks_of_pod(pod: &PartialObjectMeta<Pod>, tasks: &Store<CodeGenTask>) -> Vec<ObjectRef<CodeGenTask>> {
    if pod.labels().get(names::COMPONENT).map(String::as_str) != Some(Component::Build.as_str()) {
        return owners(pod);
    }
    let namespace = build_namespace::namespace_of_tasks(pod);
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
