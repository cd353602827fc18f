//! The image that holds the program's packages.

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use super::common::LocalRef;

/// Python version of a task that names none.
pub const DEFAULT_PYTHON_VERSION: &str = "3.12";

/// The image that holds the program's packages (never its code). Locally the same package set becomes a virtual environment.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Image {
    /// Repository that images are pushed to (`registry.example.com/codegen`). Not used locally.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 255))]
    pub repository: Option<String>,
    /// Secret of type `kubernetes.io/dockerconfigjson` to push with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub push_secret_ref: Option<LocalRef>,
    /// Secret of type `kubernetes.io/dockerconfigjson` to pull with. Default: `pushSecretRef`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pull_secret_ref: Option<LocalRef>,
    /// Base image. Default: the official slim Python of `pythonVersion`. Not used locally.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 512))]
    pub base: Option<String>,
    /// pip packages that are always installed, even when never imported.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(min = 1, max = 128)))]
    pub base_packages: Vec<String>,
    /// apt packages that are always installed. Locally they must be there already.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(min = 1, max = 128)))]
    pub base_system_packages: Vec<String>,
    /// `3.10` to `3.14`. Default `3.12`. Locally the nearest interpreter that is installed is used, and the run says which.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(pattern(r"^3\.(10|11|12|13|14)$"))]
    pub python_version: Option<String>,
    /// Package index. Default: the one that pip is configured with.
    #[serde(default, rename = "indexURL", skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2048), pattern(r"^https?://"))]
    pub index_url: Option<String>,
}
