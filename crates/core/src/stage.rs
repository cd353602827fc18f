//! The stages of a task, why one ends, and the categories of failure.

use serde::{Deserialize, Serialize};
use strum::{Display, EnumMessage, EnumString, IntoStaticStr, VariantArray};

/// Stage of a task. Each variant says what is true while the task is in it.
#[derive(
    Serialize,
    Deserialize,
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Display,
    EnumMessage,
    EnumString,
    IntoStaticStr,
    VariantArray,
)]
pub enum Stage {
    /// Sources are frozen; the data context is not written yet.
    ReadingSamples,
    /// The data context is there; the constraints are not yet checks.
    ReadingConstraints,
    /// There is no plan yet.
    Planning,
    /// There is a plan; an agent writes program and suite.
    Working,
    /// There is a plan and no program.
    GeneratingCode,
    /// There is a program and no suite for it; the image builds beside.
    GeneratingTests,
    /// Program and suite are there; the image that both need is not.
    AwaitingImage,
    /// The image is there; tests, vacuity check and rehearsal run.
    RunningTests,
    /// The last run failed; the failures have no diagnosis yet.
    Diagnosing,
    /// Cases are blamed for failures; they are not worked out again yet.
    RecheckingCases,
    /// Outputs break constraints of which it is not decided whether they speak of them.
    RecheckingConstraints,
    /// The program passed, and its cases do not tell it from near misses; further ones are not there yet.
    ExtendingCases,
    /// A package that cannot be installed has no replacement yet.
    FixingEnvironment,
    /// Logic failures are diagnosed; the program has not changed yet.
    FixingCode,
    /// Test errors are diagnosed; the suite has not changed yet.
    FixingTests,
    /// The program passed everything; a person has not approved of it yet.
    Passed,
    /// The program passed and was approved of; it is no image in a registry yet.
    Publishing,
    /// The program passed everything that was asked of it.
    Succeeded,
    /// The task was stopped; the failure says why.
    Failed,
}

impl Stage {
    /// Every stage in order.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// Stages that ask a model for what the task cannot do without.
    pub const CALLING: [Self; 11] = [
        Self::ReadingConstraints,
        Self::Planning,
        Self::Working,
        Self::GeneratingCode,
        Self::GeneratingTests,
        Self::Diagnosing,
        Self::RecheckingCases,
        Self::RecheckingConstraints,
        Self::FixingEnvironment,
        Self::FixingCode,
        Self::FixingTests,
    ];

    /// Stages that a person may have to let a task out of.
    pub const GATED: [Self; 5] = [
        Self::Working,
        Self::GeneratingCode,
        Self::AwaitingImage,
        Self::RunningTests,
        Self::Passed,
    ];

    /// Stages that something follows: all but the two terminal ones, which stand last.
    pub const LIVE: &'static [Self] = Self::ALL.split_at(Self::ALL.len() - 2).0;

    /// Stages in which it may wait: whoever has succeeded may wait for a registry.
    pub const WAITING: &'static [Self] = Self::ALL.split_at(Self::ALL.len() - 1).0;

    /// The stage's name in status, events and metrics.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Reports whether the program has passed, and nothing more is spent on it.
    #[must_use]
    pub const fn has_passed(self) -> bool {
        matches!(self, Self::Passed | Self::Publishing | Self::Succeeded)
    }

    /// Reports whether nothing follows.
    #[must_use]
    pub const fn is_terminal(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed)
    }
}

/// Category of a cause for which a task waits, by who removes it. Neither spends an iteration.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    /// Something below the task broke: tried again with backoff.
    Infrastructure,
    /// Something must be changed by a person: waits with a message that says what.
    Configuration,
}

/// Cause for which a task was stopped without success.
#[derive(
    Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, Hash, IntoStaticStr, EnumMessage, VariantArray,
)]
pub enum StopReason {
    /// `limits.maxIterations` test runs, none passed; of an agent, `limits.agentMaxTurns` turns.
    IterationsExhausted,
    /// Tokens, calls, builds or active time are spent.
    BudgetExceeded,
    /// Going on would repeat itself.
    NoProgress,
    /// The model's replies could not be used, three times in a row.
    InvalidReply,
    /// A person rejected what a gate showed.
    Rejected,
    /// A rule forbids a package that the program needs.
    PolicyDenied,
}

impl StopReason {
    /// The reason's name in conditions.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// End of a task that was stopped without success.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
#[serde(rename_all = "camelCase")]
pub struct Stop {
    /// Cause, as one word.
    pub reason: StopReason,
    /// The limit, what was spent, the last failure, and what to do next.
    pub message: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_terminal_stages_stand_last() {
        assert!(Stage::LIVE.iter().all(|stage| !stage.is_terminal()));
        assert_eq!(Stage::ALL.iter().filter(|stage| stage.is_terminal()).count(), 2);
        assert!(!Stage::WAITING.contains(&Stage::Failed));
    }
}
