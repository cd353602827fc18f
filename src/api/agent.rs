//! `CodeGenAgent`: settings that many tasks share.

use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

use super::common::{Backend, CacheMode, Testing};
use super::{image::Image, limits::Limits, model::Model, sandbox::Sandbox};

/// Settings that many tasks share. A task names it in `agentRef` and overrides any field.
#[derive(CustomResource, Serialize, Deserialize, Clone, Debug, Default, PartialEq, KubeSchema)]
#[kube(
    group = "codegen-operator.dev",
    version = "v1alpha1",
    kind = "CodeGenAgent",
    namespaced,
    shortname = "cga",
    category = "codegen",
    derive = "PartialEq",
    doc = "Settings that many tasks share: model, credentials, image, sandbox, limits."
)]
#[serde(rename_all = "camelCase")]
pub struct CodeGenAgentSpec {
    /// The model and how to reach it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Model>,
    /// Replaces the built-in system prompt; the output contract is always appended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 16384))]
    pub system_prompt: Option<String>,
    /// The image that holds the packages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<Image>,
    /// The sandbox.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<Sandbox>,
    /// What a task may spend.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<Limits>,
    /// `Auto` (default), `Override` or `Disable`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<CacheMode>,
    /// How the program is tested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub testing: Option<Testing>,
    /// Who writes the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend: Option<Backend>,
    /// Upper bound of sample rows shown to the model. Default 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 10000))]
    pub max_sample_rows: Option<i32>,
}
