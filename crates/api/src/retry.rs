//! Another try of a task that has ended: the annotations that ask for it, and what the status says of it.

use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Annotation that asks for another try: any value that was not acted on yet.
pub const RETRY: &str = "codegen-operator.dev/retry";
/// Annotation that asks for a new plan too, with the value `true`.
pub const RETRY_REPLAN: &str = "codegen-operator.dev/retry-replan";
/// Annotation with a sentence that is added to the task for that try.
pub const RETRY_HINT: &str = "codegen-operator.dev/retry-hint";

/// One further try of a task that had ended.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct RetryStatus {
    /// True where a new plan was asked for.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub replan: bool,
    /// The sentence that was added to the task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Former end of the task: `Succeeded`, or the reason of the failure.
    pub after: String,
    /// Attempts that there were before; `maxIterations` counts those that follow.
    pub attempts: i32,
    /// Time at which the try began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Time>,
}

impl RetryStatus {
    /// Returns the words of a sentence that name its new plan; none where there was none.
    #[must_use]
    pub const fn with_a_plan(&self) -> &'static str {
        if self.replan { " with a new plan" } else { "" }
    }
}

impl fmt::Display for RetryStatus {
    /// As Events and `kubectl-codegen watch` have it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let s = if self.attempts == 1 { "" } else { "s" };
        write!(
            f,
            "Tried again{} after {} and {} attempt{s}",
            self.with_a_plan(),
            self.after,
            self.attempts
        )?;
        match &self.hint {
            Some(hint) => write!(f, "; the hint: {hint}"),
            None => Ok(()),
        }
    }
}
