//! What is left to do for a run that has ended, and what of it goes when. Pure.

use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use super::status::ended_in;
use crate::api::CodeGenRun;
use crate::api::conditions::{OUTPUTS_PUSHED, reason, run_reason};
use crate::controller::error::ReconcileError;
use crate::pipeline::stage::Stage;
use crate::sandbox::kubernetes::names::Component;

/// What came of a follow-up in one pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FollowUp {
    /// There is nothing to do.
    Nothing,
    /// It is tried again after this time.
    Again(Duration),
    /// It has come to its end in this pass.
    Settled,
}

/// What a pass gives that pushes.
pub type Followed = Result<FollowUp, ReconcileError>;

/// What a push waits for.
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

/// What the status says of the push.
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

/// Whether there is something to push.
pub(super) fn is_due(run: &CodeGenRun) -> bool {
    let outputs = run.spec.outputs.as_ref();
    let is_final = |said: &Condition| FINAL.contains(&said.reason.as_str());
    outputs.is_some_and(|outputs| outputs.artifact.is_some())
        && ended_in(run) == Some(Stage::Succeeded)
        && run.status.as_ref().is_none_or(|status| status.artifact.is_none())
        && !said(run).is_some_and(is_final)
}

/// What the Pod of a run needed that has ended.
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

/// What nobody needs any more of a run that has ended. The Pod that pushes its outputs from a claim runs where the program has, which the
/// snapshot says.
pub(super) fn superfluous(run: &CodeGenRun) -> &'static [Component] {
    match (pushes_from_claim(run), is_due(run)) {
        (false, _) => &OF_RUN,
        (true, true) => &OF_PROGRAM,
        (true, false) => &OF_PUSHED_RUN,
    }
}

/// Whether outputs on a claim are to be pushed.
pub(super) fn pushes_from_claim(run: &CodeGenRun) -> bool {
    let outputs = run.spec.outputs.as_ref();
    outputs.is_some_and(|outputs| outputs.artifact.is_some() && outputs.persistent_volume_claim.is_some())
}
