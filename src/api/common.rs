//! References and small enums that several kinds share.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One key of a Secret in the same namespace.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SecretKeyRef {
    /// Name of the Secret.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// Key inside the Secret.
    #[schemars(length(min = 1, max = 253))]
    pub key: String,
}

/// One key of a ConfigMap in the same namespace.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigMapKeyRef {
    /// Name of the ConfigMap.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// Key inside the ConfigMap; its ending tells the file's format (`penguins.csv`).
    #[schemars(length(min = 1, max = 253))]
    pub key: String,
}

/// An object of the same namespace, by name.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LocalRef {
    /// Name of the object.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
}

/// A file or folder on a PersistentVolumeClaim of the same namespace.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClaimPath {
    /// Name of the PersistentVolumeClaim.
    #[schemars(length(min = 1, max = 253))]
    pub claim_name: String,
    /// Path inside the volume, without a leading slash (`2026/penguins.csv`).
    #[schemars(length(min = 1, max = 1024))]
    pub path: String,
}

/// What is kept of images, test runs and runs between tasks.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema)]
pub enum CacheMode {
    /// Use what is there and keep what is made.
    #[default]
    Auto,
    /// Compute again and replace what is there.
    Override,
    /// Neither read nor write.
    Disable,
}

/// Who writes the program.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema)]
pub enum Backend {
    /// The staged pipeline: plan, code, tests, diagnosis, fixes.
    #[default]
    Pipeline,
}

/// Language of the program.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema)]
pub enum Language {
    /// A single-file Python program.
    #[default]
    Python,
}

/// Whether a test suite is generated and run.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema)]
pub enum TestingMode {
    /// Generate a pytest suite; the program succeeds when it passes.
    #[default]
    Generate,
    /// No generated tests; image, rehearsal and acceptance tests stay.
    Skip,
}

/// How the program is tested.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Testing {
    /// `Generate` (default) or `Skip`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<TestingMode>,
}
