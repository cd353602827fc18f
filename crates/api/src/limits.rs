//! Bounds on what a task may spend.

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

/// Test runs of a task that names no `maxIterations`.
pub const DEFAULT_MAX_ITERATIONS: u32 = 10;
/// Turns of an agent whose task names no `agentMaxTurns`.
pub const DEFAULT_AGENT_MAX_TURNS: u32 = 50;
/// Tokens of a task that names no `maxTokens`.
pub const DEFAULT_MAX_TOKENS: u64 = 1_000_000;
/// Model calls of a task that names no `maxModelCalls`: ten iterations of three tries fit.
pub const DEFAULT_MAX_MODEL_CALLS: u32 = 100;
/// Image builds of a task that names no `maxBuilds`.
pub const DEFAULT_MAX_BUILDS: u32 = 20;
/// Active time of a task that names no `deadline`.
pub const DEFAULT_DEADLINE: &str = "2h";
/// Tokens of the data context of a task that names no `maxContextTokens`.
pub const DEFAULT_MAX_CONTEXT_TOKENS: u64 = 4_000;
/// Verified fixes before a failure's type flips in a task that names no `reclassifyAfter`.
pub const DEFAULT_RECLASSIFY_AFTER: u32 = 1;
/// Sample rows of a task that names no `maxSampleRows`.
pub const DEFAULT_MAX_SAMPLE_ROWS: usize = 100;

/// Bounds on what a task may spend before it is stopped. The defaults are wide enough that `maxIterations` ends a normal task.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Limits {
    /// Test runs before the task fails with `IterationsExhausted`; each but the first follows a fix. Between 1 and 100,
    /// default 10. Failures of the infrastructure spend none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 100))]
    #[x_kube(validation = Rule::new("self >= 1")
        .message("a task needs at least one iteration: write 1 to 100, or leave maxIterations out for 10"))]
    pub max_iterations: Option<i32>,
    /// Turns of an agent (`backend: Agent`) before the task fails with `IterationsExhausted`; it takes the place of `maxIterations`.
    /// Between 1 and 1,000, default 50.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    pub agent_max_turns: Option<i32>,
    /// Input and output tokens of all model calls together, lost ones by estimate. The task fails with `BudgetExceeded`
    /// before a call that would not fit. At least 1, default 1,000,000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub max_tokens: Option<i64>,
    /// Model calls that a bill may show: those with a reply, and those whose reply was lost. Waiting for a model that cannot be
    /// reached, or that turns calls away, spends none. Between 1 and 10,000, default 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 10000))]
    pub max_model_calls: Option<i32>,
    /// Image builds (locally: environments made). Between 1 and 1,000, default 20.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    pub max_builds: Option<i32>,
    /// Active time of the whole task, in whole hours, minutes, seconds or milliseconds (`1h30m`, `90s`). Waiting for
    /// people or in queues does not count. Default `2h`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(
        length(min = 2, max = 32),
        pattern(r"^([0-9]{1,5}h)?([0-9]{1,7}m)?([0-9]{1,9}s)?([0-9]{1,9}ms)?$")
    )]
    #[x_kube(validation = Rule::new("duration(self) > duration('0s')")
        .message("a task needs some time: write a duration like 30m or 2h, or leave deadline out for 2h"))]
    pub deadline: Option<String>,
    /// Tokens of the data context (the samples as the model sees them) in one call, estimated at three bytes a token.
    /// What does not fit is left out: rows first, then details of columns. Between 200 and 1,000,000, default 4,000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 200, max = 1_000_000))]
    pub max_context_tokens: Option<i32>,
    /// Fixes that took place and left a failure as it was before the other side is blamed: the program instead of the
    /// test, or the test instead of the program. Between 1 and 10, default 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 10))]
    pub reclassify_after: Option<i32>,
}
