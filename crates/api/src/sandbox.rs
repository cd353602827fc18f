//! The sandbox in which tests and programs run.

use std::collections::BTreeMap;

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::common::{SecretKeyRef, UNIQUE_NAMES};

/// CPUs of a sandbox that names none.
pub const DEFAULT_CPU: &str = "1";
/// Memory of a sandbox that names none.
pub const DEFAULT_MEMORY: &str = "1Gi";
/// Disk space for the outputs of a sandbox that names none, where they do not fit its report.
pub const DEFAULT_EPHEMERAL_STORAGE: u64 = 1 << 30;
/// Wall time of one execution of a sandbox that names none.
pub const DEFAULT_TIMEOUT: &str = "5m";
/// Repeats of a failed execution of a sandbox that names none.
pub const DEFAULT_RETRIES: u32 = 0;

/// Place and limits of test runs and of runs of the program.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Sandbox {
    /// CPU and memory of one sandbox. Default: 1 CPU and 1Gi.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<Resources>,
    /// Wall time of one execution (a test run or a run of the program), in whole hours, minutes, seconds or milliseconds
    /// (`90s`, `1h30m`); what takes longer is stopped. Default `5m`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(
        length(min = 2, max = 32),
        pattern(r"^([0-9]{1,5}h)?([0-9]{1,7}m)?([0-9]{1,9}s)?([0-9]{1,9}ms)?$")
    )]
    #[x_kube(validation = Rule::new("duration(self) > duration('0s')")
        .message("an execution needs some time: write a duration like 90s or 5m, or leave timeout out for 5m"))]
    pub timeout: Option<String>,
    /// Number of times that a failed execution is repeated; a failing test is never run again for it. Between 0 and 10, default 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 10))]
    pub retries: Option<i32>,
    /// Network access of tests and programs. Default: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<Network>,
    /// Environment variables of tests, rehearsal and runs, in plain sight (`TZ: Europe/Berlin`); at most 64. Default:
    /// none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "variables")]
    pub env: BTreeMap<String, String>,
    /// Environment variables of tests, rehearsal and runs whose values come from Secrets with the label
    /// `codegen-operator.dev/use: sandbox`. The values are redacted from everything that is stored or sent to a model; a program can
    /// still use them as it likes. At most 32. Default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    #[x_kube(
        merge_strategy = ListMerge::Map(vec!["name".into()]),
        validation = Rule::new(UNIQUE_NAMES).message("two entries of secrets set the same variable: give each variable once"),
    )]
    pub secrets: Vec<SecretVariable>,
    /// `RuntimeClass` of the sandbox's Pod (`gvisor`); one that the operator's settings name for all sandboxes goes before.
    /// Only in a cluster. Default: the cluster's own runtime.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub runtime_class_name: Option<String>,
    /// Labels of the nodes that the sandbox may run on (`pool: batch`), besides those of the operator's settings; at most
    /// 32. Only in a cluster. Default: any node of the operator's architecture.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "node_labels")]
    pub node_selector: BTreeMap<String, String>,
    /// Taints of nodes that the sandbox tolerates, besides those of the operator's settings; at most 32. Only in a cluster.
    /// Default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    pub tolerations: Vec<Toleration>,
    /// `PriorityClass` of the sandbox's Pod. Only in a cluster. Default: that of the operator's settings, else the cluster's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub priority_class_name: Option<String>,
}

/// A taint that the sandbox tolerates; its fields are those of a Pod.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Toleration {
    /// Key of the taint (`dedicated`). Default: every taint, which takes `operator: Exists`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 317))]
    pub key: Option<String>,
    /// `Equal` (the taint has this value) or `Exists` (whatever its value). Default `Equal`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operator: Option<TolerationOperator>,
    /// Value of the taint; empty with `Exists`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub value: Option<String>,
    /// Effect of the taint: `NoSchedule`, `PreferNoSchedule` or `NoExecute`. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<TaintEffect>,
    /// With `NoExecute`, how many seconds the taint is tolerated. Default: for ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub toleration_seconds: Option<i64>,
}

/// Comparison of a toleration with a taint.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(description = "")]
pub enum TolerationOperator {
    /// The taint has this value.
    Equal,
    /// The taint is there.
    Exists,
}

/// Effect of a taint on Pods that do not tolerate it.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(description = "")]
pub enum TaintEffect {
    /// They are not scheduled there.
    NoSchedule,
    /// They are scheduled elsewhere where that is possible.
    PreferNoSchedule,
    /// They are evicted.
    NoExecute,
}

/// An environment variable whose value comes from a Secret.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SecretVariable {
    /// Name of the variable (`DATABASE_PASSWORD`).
    #[schemars(length(min = 1, max = 128), pattern(r"^[A-Za-z_][A-Za-z0-9_]*$"))]
    pub name: String,
    /// Key of a Secret that holds its value (`{name: database, key: password}`).
    pub secret_key_ref: SecretKeyRef,
}

/// Resources of one sandbox.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Resources {
    /// Upper limits of the whole process tree. Default: 1 CPU and 1Gi.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<ResourceLimits>,
}

/// Upper limits of one sandbox, for its whole process tree.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourceLimits {
    /// CPUs as a Kubernetes quantity in quotes (`"1"`, `"1.5"`, `500m`). Default `"1"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 32), pattern(r"^[0-9]+(\.[0-9]+)?m?$"))]
    #[x_kube(validation = Rule::new("!self.matches('^[0.]+m?$')")
        .message("a sandbox needs some CPU: write a quantity like 500m or \"1\""))]
    pub cpu: Option<String>,
    /// Memory as a Kubernetes quantity, in bytes with a suffix (`512Mi`, `1Gi`). Default `1Gi`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(
        length(min = 1, max = 32),
        pattern(r"^[0-9]+(\.[0-9]+)?(k|M|G|T|Ki|Mi|Gi|Ti)?$")
    )]
    #[x_kube(validation = Rule::new("!self.matches('^[0.]+[a-zA-Z]*$')")
        .message("a sandbox needs some memory: write a quantity like 512Mi or 1Gi"))]
    pub memory: Option<String>,
    /// Disk space for what the program writes to its outputs, as a Kubernetes quantity in bytes with a suffix (`500Mi`, `2Gi`). Where it is
    /// given the rehearsal writes its outputs to a disk from the first; else it does so once they were larger than what is brought
    /// back from memory. Default `1Gi`.
    #[serde(
        rename = "ephemeral-storage",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(
        length(min = 1, max = 32),
        pattern(r"^[0-9]+(\.[0-9]+)?(k|M|G|T|Ki|Mi|Gi|Ti)?$")
    )]
    #[x_kube(validation = Rule::new("!self.matches('^[0.]+[a-zA-Z]*$')")
        .message("outputs need some disk space: write a quantity like 500Mi or 2Gi, or leave ephemeral-storage out for 1Gi"))]
    pub ephemeral_storage: Option<String>,
}

/// Network access of tests and programs.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, KubeSchema)]
#[x_kube(validation = Rule::new("!has(self.egress) || self.egress != 'List' || (has(self.allow) && self.allow.size() > 0)")
    .message("egress: List opens what allow lists: add allow, like [{cidr: 203.0.113.0/24, ports: [443]}], or write egress: Denied"))]
#[x_kube(validation = Rule::new("!has(self.allow) || self.allow.size() == 0 || (has(self.egress) && self.egress == 'List')")
    .message("allow holds with egress: List only: write egress: List beside it, or remove allow"))]
#[serde(rename_all = "camelCase")]
pub struct Network {
    /// `Denied` (nothing), `Internet` (public addresses) or `List` (the targets of `allow`). Default `Denied`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub egress: Option<Egress>,
    /// Targets that `List` opens (`[{cidr: 203.0.113.0/24, ports: [443]}]`); at most 32.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    pub allow: Vec<EgressTarget>,
}

/// Extent of the network access of a sandbox.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema)]
#[schemars(description = "")]
pub enum Egress {
    /// Nothing.
    #[default]
    Denied,
    /// Public addresses.
    Internet,
    /// The targets of `allow`.
    List,
}

/// One target that `List` opens.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct EgressTarget {
    /// Range of addresses, IPv4 or IPv6 (`203.0.113.0/24`; one address: `203.0.113.7/32`).
    #[schemars(length(max = 43))]
    #[x_kube(validation = Rule::new("isCIDR(self)")
        .message("write an address range like 203.0.113.0/24; names of hosts cannot be opened"))]
    pub cidr: String,
    /// TCP ports, 1 to 65535, at most 16. Default: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16), inner(range(min = 1, max = 65535)))]
    pub ports: Vec<i32>,
}

fn node_labels(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({
        "type": "object", "maxProperties": 32,
        "additionalProperties": {"type": "string", "maxLength": 63}
    })
}

fn variables(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({
        "type": "object", "maxProperties": 64,
        "additionalProperties": {"type": "string", "maxLength": 4096}
    })
}
