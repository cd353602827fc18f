//! One check of one pool of nodes: makes the Pods, takes what they found, removes them.

use std::error::Error;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::networking::v1::NetworkPolicy;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::runtime::wait::await_condition;
use kube::{Api, Client, ResourceExt as _};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::time::timeout;

use super::super::build::policy::policy as build_policy;
use super::super::observe::{ContainerEnd, PodState, observe};
use super::super::reach::api_servers;
use super::super::refusal::failed;
use super::super::settings::{NodePool, Settings};
use super::super::{names, pod, policies};
use super::objects::{PART_OF, PORT, PodRole, Round};
use super::{ClosedTarget, Findings, IsolationVerdict, Probed, SIBLING, conclude};
use crate::SandboxError;

/// Time that the Pods have to start, which may pull the image, and to end.
const PATIENCE: Duration = Duration::from_secs(90);
/// Container of the Pods.
const CONTAINER: &str = "probe";
/// Annotation of the policy with what was found last under it.
const FOUND: &str = "codegen-operator.dev/found";

/// A reason for which nothing was found.
type Unproved = Box<dyn Error + Send + Sync>;

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
            Err(why) => IsolationVerdict::Unknown { why: why.to_string() },
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

    async fn findings(
        &self,
        pool: &NodePool,
        suffix: &str,
    ) -> Result<(Vec<ClosedTarget>, Findings), Unproved> {
        let denied = pod::denied(self.settings)?;
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
        let of_builds = build_policy(self.namespace, self.settings, &servers)?;
        for policy in std::iter::once(&denied).chain(&of_builds) {
            policies::write(&self.client, self.namespace, policy).await?;
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
                match &of_builds {
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

    async fn create(&self, pod: &Pod) -> Result<String, SandboxError> {
        let name = pod.name_any();
        let object = format!("Pod {}/{name}", self.namespace);
        let created = self.pods().create(&PostParams::default(), pod).await;
        created
            .map(|_| name)
            .map_err(|error| failed("create", &object, error))
    }

    /// Returns the address on which the sibling listens, once it does.
    async fn address(&self, name: &str) -> Result<String, Unproved> {
        let address = |pod: &Pod| match observe(pod, CONTAINER) {
            PodState::Running => pod.status.as_ref()?.pod_ip.clone(),
            _ => None,
        };
        let ip = self.wait(name, address).await?;
        Ok(if ip.contains(':') {
            format!("[{ip}]:{PORT}")
        } else {
            format!("{ip}:{PORT}")
        })
    }

    /// Runs one Pod and returns its findings.
    async fn probe(&self, pod: Pod) -> Result<Probed, Unproved> {
        let name = self.create(&pod).await?;
        let end = |pod: &Pod| match observe(pod, CONTAINER) {
            PodState::Ended(end) => Some(end),
            _ => None,
        };
        let ContainerEnd {
            message, exit_code, ..
        } = self.wait(&name, end).await?;
        serde_json::from_str(&message).map_err(|_| {
            format!(
                "Pod {}/{name} ended with code {exit_code} and without a finding: {message}",
                self.namespace
            )
            .into()
        })
    }

    async fn wait<T>(&self, name: &str, reached: impl Fn(&Pod) -> Option<T>) -> Result<T, String> {
        let condition = |pod: Option<&Pod>| pod.and_then(&reached).is_some();
        let waited = timeout(PATIENCE, await_condition(self.pods(), name, condition)).await;
        let failed = match waited {
            Ok(Ok(pod)) => match pod.as_ref().and_then(&reached) {
                Some(found) => return Ok(found),
                None => "it is gone".to_owned(),
            },
            Ok(Err(error)) => error.to_string(),
            Err(_) => self.why_not(name).await,
        };
        Err(format!("Pod {}/{name}: {failed}", self.namespace))
    }

    /// Returns the reason for which a Pod does not get on, in the cluster's words.
    async fn why_not(&self, name: &str) -> String {
        let pod = self.pods().get_opt(name).await.ok().flatten();
        let state = pod.map(|pod| observe(&pod, CONTAINER));
        let words = state.as_ref().and_then(PodState::words).unwrap_or_default();
        format!("it did not end within {} s: {words}", PATIENCE.as_secs())
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
