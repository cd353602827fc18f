//! What whoever installs the operator says about builds and sandboxes. Part of the operator's configuration file.

use std::collections::BTreeMap;
use std::path::PathBuf;

use k8s_openapi::api::core::v1::{LocalObjectReference, ResourceRequirements, Toleration};
use serde::Deserialize;

/// Builds, sandboxes and registries.
#[derive(Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Settings {
    /// The operator's own image: pushes images. From `OPERATOR_IMAGE` when it is not given.
    pub operator_image: Option<String>,
    /// How registries are reached.
    pub registries: Registries,
    /// Image builds.
    pub build: BuildSettings,
    /// Sandbox Pods.
    pub sandbox: PodSettings,
}

/// How registries are reached, by the operator and by builds.
#[derive(Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Registries {
    /// Registries (`registry.example:5000`) that are spoken to without TLS. No other ever is.
    pub insecure: Vec<String>,
    /// Further certificate authorities, PEM files in the operator's container.
    pub authorities: Vec<PathBuf>,
    /// Repository that images are pushed to where neither task nor agent name one.
    pub repository: Option<String>,
    /// By which name nodes know that repository, where it is another one.
    pub pull_repository: Option<String>,
}

/// Image builds.
#[derive(Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct BuildSettings {
    /// The Kaniko executor.
    pub executor_image: String,
    /// Seconds that a build has.
    pub deadline_seconds: u32,
    /// Resources of the builder.
    pub resources: ResourceRequirements,
}

impl Default for BuildSettings {
    fn default() -> Self {
        Self {
            executor_image: "ghcr.io/osscontainertools/kaniko:v1.28.3".to_owned(),
            deadline_seconds: 900,
            resources: ResourceRequirements::default(),
        }
    }
}

/// Sandbox Pods.
#[derive(Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct PodSettings {
    /// `runtimeClassName` of every sandbox.
    pub runtime_class_name: Option<String>,
    /// Nodes that sandboxes may use.
    pub node_selector: BTreeMap<String, String>,
    /// Taints that sandboxes tolerate.
    pub tolerations: Vec<Toleration>,
    /// `priorityClassName` of every sandbox.
    pub priority_class_name: Option<String>,
    /// Credentials that nodes pull with, besides the task's own.
    pub image_pull_secrets: Vec<LocalObjectReference>,
}
