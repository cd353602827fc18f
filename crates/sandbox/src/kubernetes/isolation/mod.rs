//! Proof that the cluster blocks sandboxes and builds from what they must not reach: shown by Pods that try, not assumed.
//!
//! A *control* without any policy and *canaries* under the policies of sandboxes and builds knock at the same targets at the
//! same time. Silence counts only where the control was answered: a dead target proves nothing.

mod objects;
pub mod prober;
mod prove;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

#[cfg(test)]
pub(super) use self::objects::tests::canary;
pub use self::prove::{PoolFinding, Prover, recorded};
pub use super::settings::ClosedTarget;
use super::settings::NodePool;

/// Name of the target that must have answered the control.
pub const API_SERVER: &str = "API server";
/// Name of the Pod beside the canaries.
pub const SIBLING: &str = "sibling Pod";

/// Findings of one of the Pods: names of targets that answered.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
pub struct Probed {
    /// Those that answered.
    pub reached: BTreeSet<String>,
}

/// Findings of all Pods of one pool of nodes.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// Without a policy.
    pub control: Probed,
    /// Under the policy of sandboxes.
    pub sandbox: Probed,
    /// Under the policy of builds; `None` where administrators have their own.
    pub build: Option<Probed>,
}

/// Conclusion from the findings.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub enum IsolationVerdict {
    /// The policies hold.
    Enforced {
        /// Targets that were shown to be out of reach.
        #[serde(rename = "kept_from")]
        blocked: Vec<String>,
        /// Targets that did not answer the control either.
        unproved: Vec<String>,
    },
    /// They do not.
    Open {
        /// Under whose policy: `sandbox` or `build`.
        policy: String,
        /// Targets that could be reached.
        reached: Vec<String>,
    },
    /// Nothing can be said.
    Unknown {
        /// Reason.
        why: String,
    },
}

/// Concludes from the findings about these targets.
#[must_use]
pub fn conclude(targets: &[ClosedTarget], findings: &Findings) -> IsolationVerdict {
    let among = |reached: &BTreeSet<String>, asked: &dyn Fn(&ClosedTarget) -> bool| -> Vec<String> {
        let hit = targets
            .iter()
            .filter(|target| asked(target) && reached.contains(&target.name));
        hit.map(|target| target.name.clone()).collect()
    };
    let open = |policy: &str, reached: Vec<String>| IsolationVerdict::Open {
        policy: policy.to_owned(),
        reached,
    };
    // An answer under a policy refutes it whether or not the control was answered, so this goes first.
    let reached = among(&findings.sandbox.reached, &|_| true);
    if !reached.is_empty() {
        return open("sandbox", reached);
    }
    if let Some(build) = &findings.build {
        // Builds fetch packages and images: indexes, registries and name servers are meant to answer them.
        let reached = among(&build.reached, &|target| !target.open_to_builds);
        if !reached.is_empty() {
            return open("build", reached);
        }
    }
    let blocked = among(&findings.control.reached, &|_| true);
    // The API server is there in every cluster: where even that does not answer, the network of the control was not working.
    if !blocked.iter().any(|name| name == API_SERVER) {
        return IsolationVerdict::Unknown {
            why: format!(
                "the {API_SERVER} did not answer the control, which no policy of ours restricts: silence proves nothing"
            ),
        };
    }
    let unproved = targets.iter().map(|target| target.name.clone());
    let unproved = unproved.filter(|name| !blocked.contains(name)).collect();
    IsolationVerdict::Enforced { blocked, unproved }
}

/// The results for every pool of nodes.
#[derive(Debug, Default)]
pub struct Isolation {
    pools: Mutex<BTreeMap<String, (NodePool, IsolationVerdict)>>,
}

/// Isolation that a sandbox may rely on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The policies hold wherever it may run; what was shown to be out of reach.
    Verified(String),
    /// The administrator said that it need not be shown.
    Unverified(String),
    /// It was not shown yet.
    Awaited(String),
    /// They do not hold; what to do.
    Refuted(String),
}

impl Isolation {
    /// Every pool is yet to be checked.
    #[must_use]
    pub fn awaiting(pools: &[NodePool]) -> Self {
        let unknown = |pool: &NodePool| {
            let why = "the first look is under way".to_owned();
            (
                pool.name.clone(),
                (pool.clone(), IsolationVerdict::Unknown { why }),
            )
        };
        Self {
            pools: Mutex::new(pools.iter().map(unknown).collect()),
        }
    }

    fn pools(&self) -> MutexGuard<'_, BTreeMap<String, (NodePool, IsolationVerdict)>> {
        self.pools.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records what was found of a pool. Gives what was recorded before.
    pub fn found(&self, pool: &NodePool, verdict: IsolationVerdict) -> Option<IsolationVerdict> {
        self.pools()
            .insert(pool.name.clone(), (pool.clone(), verdict))
            .map(|(_, before)| before)
    }

    /// Returns the isolation that a sandbox may rely on whose Pod selects nodes so.
    #[must_use]
    pub fn standing(&self, selector: &BTreeMap<String, String>) -> Standing {
        let pools = self.pools();
        let mut blocked = BTreeSet::new();
        let mut awaited = None;
        for (pool, verdict) in pools.values().filter(|(pool, _)| may_land(selector, pool)) {
            match verdict {
                IsolationVerdict::Enforced { blocked: names, .. } => blocked.extend(names.iter().cloned()),
                // One pool on which the Pod may land and that is open is enough to refuse it.
                IsolationVerdict::Open { policy, reached } => {
                    return Standing::Refuted(refuted(pool, policy, reached));
                }
                IsolationVerdict::Unknown { why } => {
                    awaited = Some(format!(
                        "it is not shown yet that the cluster isolates sandboxes (node pool {}): {why}",
                        pool.name
                    ));
                }
            }
        }
        awaited.map_or_else(
            || {
                let names: Vec<String> = blocked.into_iter().collect();
                Standing::Verified(format!(
                    "a Pod under the same policy was kept from: {}",
                    names.join(", ")
                ))
            },
            Standing::Awaited,
        )
    }
}

fn refuted(pool: &NodePool, policy: &str, reached: &[String]) -> String {
    let what = if policy == "build" { "builds" } else { "sandboxes" };
    format!(
        "the cluster does not isolate {what} on the nodes of the pool {}: a Pod under their NetworkPolicy reached {}, so nothing is run; install a \
         network plugin that enforces NetworkPolicies (Calico, Cilium, kube-network-policies), or look for a policy that opens this",
        pool.name,
        reached.join(", ")
    )
}

/// Reports whether a Pod with this selector can come to a node of the pool: no label says otherwise.
fn may_land(selector: &BTreeMap<String, String>, pool: &NodePool) -> bool {
    pool.node_selector
        .iter()
        // A selector that says nothing of a label may lead to nodes with any value of it.
        .all(|(key, value)| selector.get(key).is_none_or(|wanted| wanted == value))
}

#[cfg(test)]
mod tests;
