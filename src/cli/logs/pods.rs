//! The Pods that build images for a task, and their logs. Those of sandboxes print nothing but their report, which the record has.

use k8s_openapi::api::core::v1::{ContainerStatus, Pod};
use kube::ResourceExt as _;
use kube::api::{ListParams, LogParams};

use crate::cli::cluster::Cluster;
use codegen_sandbox::kubernetes::names::{self, Component};

/// Most of a log that is read at once, its last lines and its first bytes.
// An answer of the cluster is read up to 8 MiB.
const MOST_LINES: i64 = 20_000;
const MOST_BYTES: i64 = 6 << 20;

/// Returns the selector of the Pods that build for the task of a uid.
#[must_use]
pub(super) fn selector(uid: &str) -> String {
    format!(
        "{}={uid},{}={}",
        names::TASK_UID,
        names::COMPONENT,
        Component::Build.as_str()
    )
}

/// The Pods that build for a task, the oldest first.
pub(super) async fn list(cluster: &Cluster, uid: &str) -> Result<Vec<Pod>, kube::Error> {
    let which = ListParams::default().labels(&selector(uid));
    let mut pods = cluster.api::<Pod>().list(&which).await?.items;
    pods.sort_by_key(|pod| pod.metadata.creation_timestamp.as_ref().map(|time| time.0));
    Ok(pods)
}

/// The containers of a Pod that have begun.
pub(super) struct Containers {
    pod: String,
    started: Vec<String>,
}

impl Containers {
    #[must_use]
    pub fn of(pod: &Pod) -> Self {
        let status = pod.status.as_ref();
        let init = status.and_then(|status| status.init_container_statuses.as_ref());
        let main = status.and_then(|status| status.container_statuses.as_ref());
        // In the order in which they run.
        let all = init.into_iter().chain(main).flatten();
        Self {
            pod: pod.name_any(),
            started: all
                .filter(|status| has_begun(status))
                .map(|status| status.name.clone())
                .collect(),
        }
    }

    /// Pod and container each.
    pub fn started(&self) -> impl Iterator<Item = (&str, &str)> {
        self.started
            .iter()
            .map(|container| (self.pod.as_str(), container.as_str()))
    }
}

fn has_begun(status: &ContainerStatus) -> bool {
    let state = status.state.as_ref();
    state.is_some_and(|state| state.running.is_some() || state.terminated.is_some())
}

/// Reads what a container has printed until now.
pub(super) async fn whole_log(cluster: &Cluster, pod: &str, container: &str) -> Result<String, kube::Error> {
    let which = LogParams {
        container: Some(container.to_owned()),
        tail_lines: Some(MOST_LINES),
        limit_bytes: Some(MOST_BYTES),
        ..LogParams::default()
    };
    cluster.api::<Pod>().logs(pod, &which).await
}

/// Says why logs are not shown, and what to ask for.
#[must_use]
pub(super) fn forbidden(error: &kube::Error, cluster: &Cluster) -> String {
    let namespace = &cluster.namespace;
    let why = cluster.refused::<Pod>(error, "");
    format!(
        "logs of Pods are left out: {why}; the stock ClusterRole view may list Pods and get pods/log in namespace {namespace}"
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_containers_that_have_begun_have_a_log_and_those_of_init_come_first() {
        let pod: Pod = serde_json::from_value(json!({
            "metadata": {"name": "build-cg0123456789-x"},
            "status": {
                "containerStatuses": [{"name": "push", "image": "", "imageID": "", "ready": false, "restartCount": 0,
                    "state": {"waiting": {"reason": "PodInitializing"}}}],
                "initContainerStatuses": [{"name": "build", "image": "", "imageID": "", "ready": false, "restartCount": 0,
                    "state": {"running": {}}}],
            },
        }))
        .unwrap();
        let containers = Containers::of(&pod);
        assert_eq!(
            containers.started().collect::<Vec<_>>(),
            [("build-cg0123456789-x", "build")]
        );
    }
}
