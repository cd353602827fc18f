//! Work that is left for a run that has ended, and the order in which its objects go. Pure.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use super::status::ended_in;
use crate::controller::error::ReconcileError;
use codegen_api::CodeGenRun;
use codegen_api::conditions::{OUTPUTS_PUSHED, reason, run_reason};
use codegen_core::stage::Stage;
use codegen_sandbox::kubernetes::Inspection;
use codegen_sandbox::kubernetes::names::Component;

/// Outputs that a Pod does not find as they were written are checked once more after this time: a volume may be slow to show what it has.
pub(super) const CHECK_AGAIN: Duration = Duration::from_mins(1);

/// Outcome of a follow-up in one pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FollowUp {
    /// There is nothing to do.
    Nothing,
    /// It is tried again after this time.
    Again(Duration),
    /// It has come to its end in this pass.
    Settled,
}

/// Result of a pass that pushes.
pub type Followed = Result<FollowUp, ReconcileError>;

/// Cause that a push waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Delay {
    /// Somebody must change something.
    Person,
    /// The same, and each try costs a Pod.
    PersonByPod,
    /// Room that others take.
    Room,
    /// A registry that does not answer.
    Registry,
    /// Another Pod, for the one that pushed is lost.
    Pod,
}

impl Delay {
    /// The reason of the condition.
    pub(super) const fn reason(self) -> &'static str {
        match self {
            Self::Person | Self::PersonByPod => run_reason::PUSH_REFUSED,
            Self::Room => run_reason::QUEUED,
            Self::Registry => run_reason::REGISTRY_UNREACHABLE,
            Self::Pod => reason::INFRASTRUCTURE,
        }
    }
}

/// Returns the condition of the push in the status.
pub(super) fn said(run: &CodeGenRun) -> Option<&Condition> {
    let mut conditions = run.status.iter().flat_map(|status| &status.conditions);
    conditions.find(|condition| condition.type_ == OUTPUTS_PUSHED)
}

/// Reasons that no other try helps against: what is gone, or is not what the program wrote, stays that.
const FINAL: [&str; 3] = [
    run_reason::OUTPUTS_GONE,
    run_reason::OUTPUTS_CHANGED,
    run_reason::OUTPUTS_TOO_MANY,
];

/// Value of the condition beside this reason.
pub(super) fn value_beside(reason: &str) -> &'static str {
    if reason == run_reason::CHECKING_AGAIN {
        "Unknown"
    } else {
        "False"
    }
}

/// Chooses the Pod that compares the outputs at `now`, by what the status says; the error is how long to wait for it.
pub(super) fn next_inspection(said: Option<&Condition>, now: Timestamp) -> Result<Inspection, Duration> {
    let Some(missed) = said.filter(|said| said.reason == run_reason::CHECKING_AGAIN) else {
        return Ok(Inspection::First);
    };
    // A clock that was set back makes it negative, which is as none.
    let passed = Duration::try_from(now.duration_since(missed.last_transition_time.0));
    let left = CHECK_AGAIN.saturating_sub(passed.unwrap_or_default());
    if left.is_zero() {
        Ok(Inspection::Second)
    } else {
        Err(left)
    }
}

/// Reports whether there is something to push.
pub(super) fn is_due(run: &CodeGenRun) -> bool {
    let outputs = run.spec.outputs.as_ref();
    let is_final = |said: &Condition| FINAL.contains(&said.reason.as_str());
    outputs.is_some_and(|outputs| outputs.artifact.is_some())
        && ended_in(run) == Some(Stage::Succeeded)
        && run.status.as_ref().is_none_or(|status| status.artifact.is_none())
        && !said(run).is_some_and(is_final)
}

/// Components that the Pod of an ended run needed.
const OF_PROGRAM: [Component; 2] = [Component::Sandbox, Component::Reader];
/// The same with what its start is known by.
const OF_RUN: [Component; 3] = [Component::Sandbox, Component::Reader, Component::Snapshot];
/// The same with what pushes.
pub(super) const OF_PUSHED_RUN: [Component; 4] = [
    Component::Sandbox,
    Component::Reader,
    Component::Snapshot,
    Component::Push,
];

/// Lists the components that nobody needs any more of a run that has ended. The Pod that pushes its outputs from a claim runs where the
/// program has, which the snapshot says.
pub(super) fn superfluous(run: &CodeGenRun) -> &'static [Component] {
    match (pushes_from_claim(run), is_due(run)) {
        (false, _) => &OF_RUN,
        (true, true) => &OF_PROGRAM,
        (true, false) => &OF_PUSHED_RUN,
    }
}

/// Reports whether outputs on a claim are to be pushed.
pub(super) fn pushes_from_claim(run: &CodeGenRun) -> bool {
    let outputs = run.spec.outputs.as_ref();
    outputs.is_some_and(|outputs| outputs.artifact.is_some() && outputs.persistent_volume_claim.is_some())
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

    use super::*;

    #[test]
    fn a_second_inspection_comes_a_minute_after_one_that_found_something_else() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let said = |reason: &str| Condition {
            type_: OUTPUTS_PUSHED.to_owned(),
            status: value_beside(reason).to_owned(),
            reason: reason.to_owned(),
            message: String::new(),
            observed_generation: None,
            last_transition_time: Time(at(1_000)),
        };
        assert_eq!(next_inspection(None, at(1_000)), Ok(Inspection::First));
        let pushing = said(run_reason::PUSHING);
        assert_eq!(next_inspection(Some(&pushing), at(9_000)), Ok(Inspection::First));
        let again = said(run_reason::CHECKING_AGAIN);
        assert_eq!(again.status, "Unknown");
        let at_second = |second| next_inspection(Some(&again), at(second));
        assert_eq!(at_second(1_000), Err(CHECK_AGAIN));
        assert_eq!(at_second(1_059), Err(Duration::from_secs(1)));
        assert_eq!(at_second(1_060), Ok(Inspection::Second));
        assert_eq!(at_second(500), Err(CHECK_AGAIN), "a clock that was set back");
    }
}
