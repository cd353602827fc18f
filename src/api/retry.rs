//! Another try of a task that has ended: the annotations that ask for it, and what the status says of it.

use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Annotation that asks for another try: any value that was not acted on yet.
pub const RETRY: &str = "codegen-operator.dev/retry";
/// Annotation that says from where: a [`RetryFrom`].
pub const RETRY_FROM: &str = "codegen-operator.dev/retry-from";
/// Annotation with a sentence that is added to the task for that try.
pub const RETRY_HINT: &str = "codegen-operator.dev/retry-hint";

/// From where another try goes on: what comes before it stays as it is.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema)]
#[schemars(description = "")]
pub enum RetryFrom {
    /// A plan and all that follows are asked for anew.
    #[default]
    Plan,
    /// The plan stays; program and suite are asked for anew.
    Code,
    /// The program stays; the suite is asked for anew.
    Tests,
    /// Program and suite stay; why the last tests failed is asked for anew.
    Diagnosis,
}

impl RetryFrom {
    /// Each of them, in the order in which a task comes to them.
    pub const ALL: [Self; 4] = [Self::Plan, Self::Code, Self::Tests, Self::Diagnosis];

    /// The word in annotations and flags.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Plan => "Plan",
            Self::Code => "Code",
            Self::Tests => "Tests",
            Self::Diagnosis => "Diagnosis",
        }
    }

    /// The one of this name, in letters of either case.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        let is_it = |from: &Self| from.as_str().eq_ignore_ascii_case(name);
        Self::ALL.into_iter().find(is_it)
    }
}

impl fmt::Display for RetryFrom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One further try of a task that had ended.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct RetryStatus {
    /// From where it went on.
    pub from: RetryFrom,
    /// The sentence that was added to the task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// How the task had ended: `Succeeded`, or why it had failed.
    pub after: String,
    /// Attempts that there were before; `maxIterations` counts those that follow.
    pub attempts: i32,
    /// When it began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Time>,
}

impl fmt::Display for RetryStatus {
    /// As Events and `kubectl-codegen events` have it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let s = if self.attempts == 1 { "" } else { "s" };
        write!(
            f,
            "Tried again from {} after {} and {} attempt{s}",
            self.from, self.after, self.attempts
        )?;
        match &self.hint {
            Some(hint) => write!(f, "; the hint: {hint}"),
            None => Ok(()),
        }
    }
}
