//! One check of one pool of nodes: makes the Pods, takes what they found, removes them.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ContainerStateTerminated, Pod};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::runtime::wait::await_condition;
use kube::{Api, Client, ResourceExt as _};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::time::timeout;

use super::super::build::policy::policy as build_policy;
use super::super::reach::api_servers;
use super::super::settings::{NodePool, Settings};
use super::super::{names, pod, policies};
use super::objects::{PART_OF, PORT, PodRole, Round};
use super::{ClosedTarget, Findings, IsolationVerdict, Probed, SIBLING, conclude};
use crate::SandboxError;

/// Time that the Pods have to start, which may pull the image, and to end.
const PATIENCE: Duration = Duration::from_secs(90);
/// Annotation of the policy with what was found last under it.
const FOUND: &str = "codegen-operator.dev/found";

/// Checks whether the network policies hold.
pub struct Prover<'a> {
    /// Speaks to the API server.
    pub client: Client,
    /// Namespace of the operator.
    pub namespace: &'a str,
    /// The operator's settings.
    pub settings: &'a Settings,
    /// Targets that must be out of reach.
    pub targets: &'a [ClosedTarget],
}

/// Finding about a pool, and its time.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
pub struct PoolFinding {
    /// Name of the pool.
    pub pool: String,
    /// Time of the finding.
    pub at: Timestamp,
    /// Verdict about the pool.
    pub verdict: IsolationVerdict,
}

/// Reads the findings that were recorded before, by this operator or by one before it.
pub async fn recorded(client: &Client, namespace: &str, settings: &Settings) -> Vec<PoolFinding> {
    let policies: Api<NetworkPolicy> = Api::namespaced(client.clone(), namespace);
    let Ok(wanted) = pod::denied(settings) else {
        return Vec::new();
    };
    let found = policies.get_opt(&wanted.name_any()).await.ok().flatten();
    // What was found under another policy says nothing of this one.
    let found = found.filter(|found| found.spec == wanted.spec);
    found
        .and_then(|found| serde_json::from_str(found.annotations().get(FOUND)?).ok())
        .unwrap_or_default()
}

impl Prover<'_> {
    /// Runs the Pods of one pool and concludes from what they find.
    pub async fn check(&self, pool: &NodePool) -> IsolationVerdict {
        // Two operators in one namespace would otherwise make Pods of the same name.
        let suffix: String = std::iter::repeat_with(fastrand::lowercase).take(5).collect();
        // Before, too: a round that was interrupted has left its Pods.
        self.clear().await;
        let found = Box::pin(self.findings(pool, &suffix)).await;
        self.clear().await;
        match found {
            Ok((targets, findings)) => conclude(&targets, &findings),
            Err(why) => IsolationVerdict::Unknown { why },
        }
    }

    /// Keeps what was found for the next start. The policy is where it belongs: without the one the other is gone.
    pub async fn record(&self, records: &[PoolFinding]) -> Result<(), SandboxError> {
        let text = serde_json::to_string(records).unwrap_or_default();
        let patch = Patch::Merge(json!({"metadata": {"annotations": {FOUND: text}}}));
        let name = pod::denied(self.settings)?.name_any();
        let policies: Api<NetworkPolicy> = Api::namespaced(self.client.clone(), self.namespace);
        let patched = policies.patch(&name, &PatchParams::default(), &patch).await;
        patched.map(drop).map_err(|error| SandboxError::Cluster {
            action: format!("record the isolation at NetworkPolicy {}/{name}", self.namespace),
            source: Box::new(error),
        })
    }

    async fn findings(&self, pool: &NodePool, suffix: &str) -> Result<(Vec<ClosedTarget>, Findings), String> {
        let denied = pod::denied(self.settings).map_err(|error| error.to_string())?;
        let image = self.settings.operator_image.as_deref();
        let round = Round {
            namespace: self.namespace,
            image: image.ok_or("the operator does not know its own image: set OPERATOR_IMAGE")?,
            pull_secrets: &self.settings.build.image_pull_secrets,
            pool,
            suffix,
            denied: &pod::label(&denied),
        };
        let servers = api_servers(&self.client).await;
        let has_build_policy = build_policy(self.namespace, self.settings, &servers);
        let has_build_policy = has_build_policy.map_err(|error| error.to_string())?;
        self.ensure(&denied).await?;
        if let Some(policy) = &has_build_policy {
            self.ensure(policy).await?;
        }
        // The sibling must listen before anybody knocks: its silence would prove nothing.
        let sibling = self.create(&round.pod(PodRole::Sibling, &[])).await?;
        let address = self.address(&sibling).await?;
        let mut targets = self.targets.to_vec();
        targets.push(ClosedTarget {
            name: SIBLING.to_owned(),
            address,
            open_to_builds: false,
        });
        // At the same time: an outage of a target between two Pods would look like a policy.
        let (control, sandbox, build) = tokio::join!(
            self.probe(round.pod(PodRole::Control, &targets)),
            self.probe(round.pod(PodRole::Sandbox, &targets)),
            async {
                match &has_build_policy {
                    Some(_) => self.probe(round.pod(PodRole::Build, &targets)).await.map(Some),
                    None => Ok(None),
                }
            }
        );
        let findings = Findings {
            control: control?,
            sandbox: sandbox?,
            build: build?,
        };
        Ok((targets, findings))
    }

    fn pods(&self) -> Api<Pod> {
        Api::namespaced(self.client.clone(), self.namespace)
    }

    async fn ensure(&self, policy: &NetworkPolicy) -> Result<(), String> {
        let api: Api<NetworkPolicy> = Api::namespaced(self.client.clone(), self.namespace);
        let name = policy.name_any();
        let failed =
            |error: kube::Error| format!("failed to write NetworkPolicy {}/{name}: {error}", self.namespace);
        let found = api.get_opt(&name).await.map_err(failed)?;
        policies::ensure(&api, policy, found).await.map_err(failed)
    }

    async fn create(&self, pod: &Pod) -> Result<String, String> {
        let name = pod.name_any();
        let created = self.pods().create(&PostParams::default(), pod).await;
        created
            .map(|_| name.clone())
            .map_err(|error| format!("failed to create Pod {}/{name}: {error}", self.namespace))
    }

    /// Returns the address on which the sibling listens, once it does.
    async fn address(&self, name: &str) -> Result<String, String> {
        let runs = |pod: Option<&Pod>| {
            let status = pod.and_then(|pod| pod.status.as_ref());
            status.is_some_and(|status| status.phase.as_deref() == Some("Running") && status.pod_ip.is_some())
        };
        let pod = self.wait(name, runs).await?;
        let ip = pod.status.and_then(|status| status.pod_ip).unwrap_or_default();
        Ok(if ip.contains(':') {
            format!("[{ip}]:{PORT}")
        } else {
            format!("{ip}:{PORT}")
        })
    }

    /// Runs one Pod and returns its findings.
    async fn probe(&self, pod: Pod) -> Result<Probed, String> {
        let name = self.create(&pod).await?;
        let ended = self.wait(&name, |pod| pod.and_then(terminated).is_some()).await?;
        let state = terminated(&ended).cloned().unwrap_or_default();
        let message = state.message.unwrap_or_default();
        serde_json::from_str(&message).map_err(|_| {
            format!(
                "Pod {}/{name} ended with code {} and without a finding: {message}",
                self.namespace, state.exit_code
            )
        })
    }

    async fn wait(&self, name: &str, reached: impl Fn(Option<&Pod>) -> bool + Clone) -> Result<Pod, String> {
        let condition = |pod: Option<&Pod>| reached(pod);
        let waited = timeout(PATIENCE, await_condition(self.pods(), name, condition)).await;
        let failed = match waited {
            Ok(Ok(Some(pod))) => return Ok(pod),
            Ok(Ok(None)) => "it is gone".to_owned(),
            Ok(Err(error)) => error.to_string(),
            Err(_) => self.why_not(name).await,
        };
        Err(format!("Pod {}/{name}: {failed}", self.namespace))
    }

    /// Returns the reason for which a Pod does not get on, in the cluster's words.
    async fn why_not(&self, name: &str) -> String {
        let pod = self.pods().get_opt(name).await.ok().flatten();
        let status = pod.and_then(|pod| pod.status).unwrap_or_default();
        let scheduled = status.conditions.iter().flatten();
        let unscheduled = scheduled
            .filter(|condition| condition.status == "False")
            .find_map(|condition| condition.message.clone());
        let waiting = status.container_statuses.iter().flatten().find_map(|container| {
            let waiting = container.state.as_ref()?.waiting.as_ref()?;
            Some(format!(
                "{} {}",
                waiting.reason.as_deref().unwrap_or_default(),
                waiting.message.as_deref().unwrap_or_default()
            ))
        });
        let words = waiting.or(unscheduled).unwrap_or_default();
        format!("it did not end within {} s: {}", PATIENCE.as_secs(), words.trim())
    }

    /// Removes the Pods of every round, also of one that was interrupted.
    async fn clear(&self) {
        let ours = ListParams::default().labels(&format!("{}={PART_OF}", names::PART_OF));
        let now = DeleteParams::default().grace_period(0);
        // What remains ends by its own deadline.
        if let Err(error) = self.pods().delete_collection(&now, &ours).await {
            tracing::warn!(%error, namespace = self.namespace, "the canaries could not be removed");
        }
    }
}

fn terminated(pod: &Pod) -> Option<&ContainerStateTerminated> {
    let statuses = pod.status.as_ref()?.container_statuses.as_ref()?;
    statuses.first()?.state.as_ref()?.terminated.as_ref()
}
