//! How it is shown that sandboxes and builds are isolated: nodes to check, and what must be out of reach.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Toleration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How it is shown that the cluster enforces the policies of sandboxes and builds. Until it is, no test runs.
#[derive(Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct IsolationSettings {
    /// Seconds between two looks at a pool of nodes that isolates; others are looked at twice a minute.
    pub interval_seconds: u32,
    /// What must be out of reach, besides a sibling Pod. Default: the API server, the name server, the registry and the address at which
    /// clouds serve credentials to their machines.
    pub targets: Option<Vec<ClosedTarget>>,
    /// Pools of nodes that sandboxes run on. Default: one, of the nodes that `nodeSelector` and `tolerations` of sandboxes allow.
    pub node_pools: Vec<NodePool>,
    /// Namespaces in which code runs although it was not shown that it is isolated. Whoever may create tasks there can reach what any Pod reaches.
    pub unverified_namespaces: Vec<String>,
}

impl Default for IsolationSettings {
    fn default() -> Self {
        Self {
            interval_seconds: 600,
            targets: None,
            node_pools: Vec::new(),
            unverified_namespaces: Vec::new(),
        }
    }
}

/// Nodes that are alike in how they isolate.
#[derive(Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NodePool {
    /// How messages name it.
    pub name: String,
    /// Labels of its nodes.
    #[serde(default)]
    pub node_selector: BTreeMap<String, String>,
    /// Its taints, tolerated.
    #[serde(default)]
    pub tolerations: Vec<Toleration>,
}

/// Something that a sandbox must not reach.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClosedTarget {
    /// How messages name it (`registry`).
    pub name: String,
    /// Where it listens: `host:port`, TCP; the host of IPv6 in brackets.
    pub address: String,
    /// Whether builds may reach it: package indexes, registries and name servers.
    #[serde(default)]
    pub open_to_builds: bool,
}
