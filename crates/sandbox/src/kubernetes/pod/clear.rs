//! Removing the Pods of a task.

use k8s_openapi::api::core::v1::{Pod, Secret};
use kube::Api;
use kube::api::{DeleteParams, ListParams};

use super::super::names::Component;
use super::super::{KubernetesSandbox, names};
use super::cluster;
use crate::SandboxError;

/// Removes every Pod and job of the task, whatever run they belong to.
pub async fn clear(sandbox: &KubernetesSandbox<'_>) -> Result<(), SandboxError> {
    let owner = sandbox.owner;
    let selector = format!(
        "{}={},{} in ({},{})",
        names::TASK_UID,
        owner.uid,
        names::COMPONENT,
        Component::Sandbox.as_str(),
        Component::Reader.as_str(),
    );
    let all = ListParams::default().labels(&selector);
    let now = DeleteParams::default();
    let failed = || {
        cluster(format!(
            "delete the sandboxes of {}/{}",
            owner.namespace, owner.name
        ))
    };
    let pods: Api<Pod> = Api::namespaced(sandbox.client.clone(), &owner.namespace);
    let jobs: Api<Secret> = Api::namespaced(sandbox.client.clone(), &owner.namespace);
    let (pods, jobs) = tokio::join!(
        pods.delete_collection(&now, &all),
        jobs.delete_collection(&now, &all)
    );
    pods.map_err(|error| failed()(error))?;
    jobs.map_err(|error| failed()(error))?;
    Ok(())
}
