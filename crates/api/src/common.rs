//! References and small enums that several kinds share.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::case::CaseMode;

pub use codegen_data::exposure::Exposure;

/// CEL: no two entries of a list have the same name. Bounded by the list's `maxItems`, at most 64.
pub(super) const UNIQUE_NAMES: &str = "self.all(a, self.exists_one(b, b.name == a.name))";

/// One key of a Secret in the same namespace.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SecretKeyRef {
    /// Name of the Secret (`openai`).
    #[schemars(length(min = 1, max = 253), pattern(r"^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$"))]
    pub name: String,
    /// Key inside the Secret's data (`api-key`).
    #[schemars(length(min = 1, max = 253), pattern(r"^[A-Za-z0-9._-]+$"))]
    pub key: String,
}

/// One key of a ConfigMap in the same namespace.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigMapKeyRef {
    /// Name of the ConfigMap (`penguins`).
    #[schemars(length(min = 1, max = 253), pattern(r"^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$"))]
    pub name: String,
    /// Key inside the ConfigMap's `data` or `binaryData`; its ending tells the file's format (`penguins.csv`).
    #[schemars(length(min = 1, max = 253), pattern(r"^[A-Za-z0-9._-]+$"))]
    pub key: String,
}

/// An object of the same namespace, by name.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LocalRef {
    /// Name of the object, in the namespace of the one that refers to it.
    #[schemars(length(min = 1, max = 253), pattern(r"^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$"))]
    pub name: String,
}

/// A file or folder on a PersistentVolumeClaim of the same namespace.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClaimPath {
    /// Name of the PersistentVolumeClaim (`datasets`).
    #[schemars(length(min = 1, max = 253), pattern(r"^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$"))]
    pub claim_name: String,
    /// Path inside the volume, without a leading slash and without `..` (`2026/penguins.csv`).
    #[schemars(length(min = 1, max = 1024))]
    #[x_kube(validation = Rule::new("!self.startsWith('/') && !self.matches('(^|/)[.][.](/|$)')")
        .message("write the path from the volume's root, without a leading / and without .., like 2026/penguins.csv"))]
    pub path: String,
}

/// Use of stored images, test runs and runs.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema)]
#[schemars(description = "")]
pub enum CacheMode {
    /// Use what is there and keep what is made.
    #[default]
    Auto,
    /// Compute again and replace what is there.
    Override,
    /// Neither read nor write.
    Disable,
}

/// Use of the result of an earlier task that asked the same.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Reuse {
    /// Set to false to take over a program without running its tests again. Default `true`; with `false` the task succeeds at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rerun_tests: Option<bool>,
}

/// Author of the program.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema)]
#[schemars(description = "")]
pub enum Backend {
    /// The staged pipeline: plan, code, tests, diagnosis, fixes.
    #[default]
    Pipeline,
    /// A model with tools decides what to do next, turn by turn.
    Agent,
}

/// Language of the program.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema)]
#[schemars(description = "")]
pub enum Language {
    /// A single-file Python program.
    #[default]
    Python,
}

/// Choice between a generated test suite and none.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema)]
#[schemars(description = "")]
pub enum TestingMode {
    /// Generate a pytest suite; the program succeeds when it passes.
    #[default]
    Generate,
    /// No generated tests; image, rehearsal and acceptance tests stay.
    Skip,
}

/// Tests of the program.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Testing {
    /// `Generate` writes a pytest suite that the program must pass. `Skip` asks for no tests and runs none: the program
    /// is still rehearsed on the samples and must still pass `acceptanceTests`. Default `Generate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<TestingMode>,
    /// Weight of the plan's cases in the verdict. A case is a run of the program alone, on inputs and with results that were settled before
    /// there was a program: `Require`, every one must hold; `Report`, they are run and reported, and decide nothing; `Off`, there are none.
    /// Default `Require`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cases: Option<CaseMode>,
}
