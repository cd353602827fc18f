//! The sandbox in which tests and programs run.

use std::collections::BTreeMap;

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::common::SecretKeyRef;

/// Where and within which limits tests and programs run.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Sandbox {
    /// CPU and memory. Default: 1 CPU, 1Gi.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<Resources>,
    /// Wall time of one execution (`90s`, `5m`). Default `5m`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32), pattern(r"^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$"))]
    pub timeout: Option<String>,
    /// How often a failed execution (never a failing test) is repeated. Default 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 10))]
    pub retries: Option<i32>,
    /// Network of the sandbox. Default: denied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<Network>,
    /// Environment variables of tests, rehearsal and runs.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "variables")]
    pub env: BTreeMap<String, String>,
    /// Environment variables taken from Secrets. Their values are redacted from everything that is stored or sent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    pub secrets: Vec<SecretVariable>,
}

/// An environment variable whose value comes from a Secret.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SecretVariable {
    /// Name of the variable.
    #[schemars(length(min = 1, max = 128), pattern(r"^[A-Za-z_][A-Za-z0-9_]*$"))]
    pub name: String,
    /// Where its value comes from.
    pub secret_key_ref: SecretKeyRef,
}

/// Resources of one sandbox.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Resources {
    /// Upper limits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<ResourceLimits>,
}

/// Upper limits of one sandbox, for its whole process tree.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourceLimits {
    /// CPUs as a Kubernetes quantity (`"1"`, `500m`). Default `"1"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32), pattern(r"^[0-9]+(\.[0-9]+)?m?$"))]
    pub cpu: Option<String>,
    /// Memory as a Kubernetes quantity (`512Mi`, `1Gi`). Default `1Gi`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32), pattern(r"^[0-9]+(\.[0-9]+)?(k|M|G|T|Ki|Mi|Gi|Ti)?$"))]
    pub memory: Option<String>,
}

/// Network of the sandbox.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Network {
    /// `Denied` (default), `Internet` or `List`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub egress: Option<Egress>,
    /// Targets that `List` opens.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    pub allow: Vec<EgressTarget>,
}

/// What the sandbox may reach.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema)]
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
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EgressTarget {
    /// Address range (`203.0.113.0/24`).
    #[schemars(length(max = 43))]
    pub cidr: String,
    /// TCP ports. Default: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16), inner(range(min = 1, max = 65535)))]
    pub ports: Vec<i32>,
}

fn variables(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({
        "type": "object", "maxProperties": 64,
        "additionalProperties": {"type": "string", "maxLength": 4096}
    })
}
