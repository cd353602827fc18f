//! Progress of a build, from its Job and its Pod. No request is made here.

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use serde::Deserialize;

use super::job::{BUILD, INSTALLER, PUSH};
use crate::kubernetes::observe::{ContainerEnd, Obstacle, PodState, observe};
use codegen_core::stage::Category;

/// Progress of a build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum BuildState {
    /// It goes on.
    Running {
        /// True where the builder's container has started.
        started: bool,
    },
    /// No node has room for now: the scheduler's words.
    Queued(String),
    /// The image is pushed: its digest.
    Done(String),
    /// It has failed.
    Failed(BuildFailureCause),
}

/// Cause of a build's failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum BuildFailureCause {
    /// The builder says why in its log.
    Builder,
    /// The push failed: whose matter it is, and what it said.
    Push(Category, String),
    /// It ran out of memory.
    OutOfMemory,
    /// It ran out of time.
    Deadline,
    /// Its Pod is gone, or was killed: why.
    Lost(String),
    /// The cluster cannot start it until somebody changes something: what it says, and what to change.
    Refused(String, &'static str),
}

impl BuildFailureCause {
    /// Reports whether the Job has ended, so that only another one can do better.
    pub fn has_ended(&self) -> bool {
        !matches!(self, Self::Refused(..))
    }
}

#[derive(Deserialize)]
struct PushResult {
    digest: String,
}

#[derive(Deserialize)]
struct PushFailure {
    category: Category,
    message: String,
}

/// Derives the progress of the build. `pod` is the Job's latest.
pub(super) fn state(job: &Job, pod: Option<&Pod>) -> BuildState {
    let state = pod.map_or(BuildState::Running { started: false }, of_pod);
    match (&state, failed(job)) {
        // The push has the last word: what it wrote stands before the Job knows of it.
        (BuildState::Done(_), _) => state,
        // Whose time is over is killed, and says of itself nothing but that.
        (_, Some(BuildFailureCause::Deadline)) => BuildState::Failed(BuildFailureCause::Deadline),
        (BuildState::Failed(cause), _) if cause.has_ended() => state,
        (_, Some(failure)) => BuildState::Failed(failure),
        (_, None) => state,
    }
}

/// Seconds from the start of the Job to the end of the push, by the cluster's own account: the last pass may be a while ago.
pub(super) fn seconds(job: &Job, pod: Option<&Pod>) -> Option<f64> {
    let started = job.status.as_ref()?.start_time.as_ref()?.0;
    // The end of the container and not of the Job, whose status changes some time later.
    let PodState::Ended(pushed) = observe(pod?, PUSH) else {
        return None;
    };
    let ended = pushed.finished_at?;
    Some(ended.duration_since(started).as_secs_f64().max(0.0))
}

/// Derives the progress of the build from what its containers and the Pod say of it.
fn of_pod(pod: &Pod) -> BuildState {
    let states = [BUILD, INSTALLER, PUSH].map(|name| (name, observe(pod, name)));
    let [(_, build), _, (_, push)] = &states;
    // The push before the build: it starts only when the build has succeeded.
    match (push, build) {
        (PodState::Ended(end), _) => return pushed(end),
        (_, PodState::Ended(end)) if end.exit_code != 0 => return BuildState::Failed(built(end)),
        _ => {}
    }
    let started = matches!(
        build,
        PodState::Running | PodState::Ended(_) | PodState::Leaving(_)
    );
    let held = states.into_iter().find_map(|(name, state)| held(name, state));
    held.unwrap_or(BuildState::Running { started })
}

/// Returns the reason for which a container does not run, where that is not one of its start or of a Pod that the Job makes anew.
fn held(container: &str, state: PodState) -> Option<BuildState> {
    let (reason, obstacle) = match state {
        PodState::Queued(why) => return Some(BuildState::Queued(why)),
        PodState::Lost(reason) => return Some(BuildState::Failed(lost(reason))),
        PodState::Refused { reason, obstacle } => (reason, obstacle),
        PodState::ImageMissing(reason) => (reason, Obstacle::Pull),
        PodState::Starting | PodState::Running | PodState::Ended(_) | PodState::Leaving(_) => return None,
    };
    let remedy = match obstacle {
        Obstacle::Placement => "change build.nodeSelector or build.tolerations of the operator, or the nodes",
        Obstacle::Container => "fix what it names",
        Obstacle::Pull | Obstacle::ImageName | Obstacle::NodePolicy if container == BUILD => {
            "set build.executorImage and build.imagePullSecrets of the operator"
        }
        Obstacle::Pull | Obstacle::ImageName | Obstacle::NodePolicy => {
            "set operatorImage and build.imagePullSecrets of the operator"
        }
    };
    let reason = match obstacle {
        Obstacle::Placement => format!("no node takes its Pod: {reason}"),
        _ => format!("its container `{container}` does not start: {reason}"),
    };
    Some(BuildState::Failed(BuildFailureCause::Refused(reason, remedy)))
}

/// Returns the reason for which the builder failed.
fn built(end: &ContainerEnd) -> BuildFailureCause {
    // The builder ends as what it ran: a kernel that wants memory kills the largest.
    if end.exit_code == 137 && end.disrupted.is_none() {
        return BuildFailureCause::OutOfMemory;
    }
    killed(end).unwrap_or(BuildFailureCause::Builder)
}

fn pushed(end: &ContainerEnd) -> BuildState {
    if end.exit_code == 0 {
        return match serde_json::from_str::<PushResult>(&end.message) {
            Ok(result) => BuildState::Done(result.digest),
            Err(_) => BuildState::Failed(BuildFailureCause::Lost(
                "the push did not say what it pushed".to_owned(),
            )),
        };
    }
    if let Some(failure) = killed(end) {
        return BuildState::Failed(failure);
    }
    BuildState::Failed(match serde_json::from_str::<PushFailure>(&end.message) {
        Ok(failure) => BuildFailureCause::Push(failure.category, failure.message),
        Err(_) => BuildFailureCause::Lost(format!("the push ended with exit code {}", end.exit_code)),
    })
}

fn killed(end: &ContainerEnd) -> Option<BuildFailureCause> {
    if end.out_of_memory {
        return Some(BuildFailureCause::OutOfMemory);
    }
    if let Some(reason) = &end.disrupted {
        return Some(lost(reason.clone()));
    }
    // 137 is SIGKILL and 143 SIGTERM: a node that shuts down ends containers so.
    let is_killed = end.not_started || matches!(end.exit_code, 137 | 143);
    is_killed.then(|| {
        let message = &end.message;
        BuildFailureCause::Lost(format!("a container was killed or did not start: {message}"))
    })
}

fn lost(reason: String) -> BuildFailureCause {
    if reason.starts_with("DeadlineExceeded") {
        BuildFailureCause::Deadline
    } else {
        BuildFailureCause::Lost(reason)
    }
}

fn failed(job: &Job) -> Option<BuildFailureCause> {
    let conditions = job.status.as_ref()?.conditions.as_ref()?;
    // The second says that it will have failed as soon as its Pod is gone.
    let condition = conditions.iter().find(|condition| {
        matches!(condition.type_.as_str(), "Failed" | "FailureTarget") && condition.status == "True"
    })?;
    Some(match condition.reason.as_deref() {
        Some("DeadlineExceeded") => BuildFailureCause::Deadline,
        _ => BuildFailureCause::Lost(condition.message.clone().unwrap_or_default()),
    })
}

#[cfg(test)]
mod tests;
