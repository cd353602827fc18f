//! What a task may spend.

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

/// What a task may spend before it is stopped. The defaults are wide enough that `maxIterations` ends a normal task.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Limits {
    /// Test runs before the task fails. Default 10, at least 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 100))]
    pub max_iterations: Option<i32>,
    /// Input and output tokens of all model calls together. Default 1,000,000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub max_tokens: Option<i64>,
    /// Model calls, failed ones counted. Default 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 10000))]
    pub max_model_calls: Option<i32>,
    /// Image builds. Default 20.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    pub max_builds: Option<i32>,
    /// Active time of the whole task (`1h`); waiting for people or queues does not count. Default `2h`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32), pattern(r"^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$"))]
    pub deadline: Option<String>,
    /// Estimated tokens of the data context in one call. Default 4,000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 200, max = 1000000))]
    pub max_context_tokens: Option<i32>,
    /// Verified fixes that leave a failure as it was before its type flips between `logic` and `test_error`. Default 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 10))]
    pub reclassify_after: Option<i32>,
}
