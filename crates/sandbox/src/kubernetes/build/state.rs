//! Progress of a build, from its Job and its Pod. No request is made here.

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ContainerState, ContainerStateTerminated, ContainerStatus, Pod};
use serde::Deserialize;

use super::job::{BUILD, INSTALLER, PUSH};
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
    match (pod.and_then(ended), failed(job)) {
        // The push has the last word: what it wrote stands before the Job knows of it.
        (Some(BuildState::Done(digest)), _) => return BuildState::Done(digest),
        // Whose time is over is killed, and says of itself nothing but that.
        (_, Some(BuildFailureCause::Deadline)) => return BuildState::Failed(BuildFailureCause::Deadline),
        (Some(state), _) => return state,
        (None, Some(failure)) => return BuildState::Failed(failure),
        (None, None) => {}
    }
    pod.and_then(waiting)
        .unwrap_or(BuildState::Running { started: false })
}

/// Seconds from the start of the Job to the end of the push, by the cluster's own account: the last pass may be a while ago.
pub(super) fn seconds(job: &Job, pod: Option<&Pod>) -> Option<f64> {
    let started = job.status.as_ref()?.start_time.as_ref()?.0;
    // The end of the container and not of the Job, whose status changes some time later.
    let pushed = container(pod?.status.as_ref()?.container_statuses.as_ref(), PUSH).and_then(terminated)?;
    let ended = pushed.finished_at.as_ref()?.0;
    Some(ended.duration_since(started).as_secs_f64().max(0.0))
}

/// Derives the end of the build from what the containers and the Pod say of it.
fn ended(pod: &Pod) -> Option<BuildState> {
    let status = pod.status.as_ref()?;
    let reason = status.reason.as_deref().unwrap_or_default();
    let message = status.message.clone().unwrap_or_default();
    match reason {
        "DeadlineExceeded" => return Some(BuildState::Failed(BuildFailureCause::Deadline)),
        "Evicted" => {
            return Some(BuildState::Failed(BuildFailureCause::Lost(format!(
                "it was evicted: {message}"
            ))));
        }
        _ => {}
    }
    // The push before the build: it starts only when the build has succeeded.
    let push = container(status.container_statuses.as_ref(), PUSH).and_then(terminated);
    if let Some(end) = push {
        return Some(pushed(end));
    }
    let build = container(status.init_container_statuses.as_ref(), BUILD).and_then(terminated);
    match build {
        // The builder ends as what it ran: a kernel that wants memory kills the largest.
        Some(end) if end.exit_code == 137 && pod.metadata.deletion_timestamp.is_none() => {
            Some(BuildState::Failed(BuildFailureCause::OutOfMemory))
        }
        Some(end) if end.exit_code != 0 => Some(BuildState::Failed(
            killed(end).unwrap_or(BuildFailureCause::Builder),
        )),
        _ if status.phase.as_deref() == Some("Failed") => Some(BuildState::Failed(BuildFailureCause::Lost(
            format!("its Pod failed: {reason} {message}"),
        ))),
        _ => None,
    }
}

fn pushed(end: &ContainerStateTerminated) -> BuildState {
    let message = end.message.as_deref().unwrap_or_default();
    if end.exit_code == 0 {
        return match serde_json::from_str::<PushResult>(message) {
            Ok(result) => BuildState::Done(result.digest),
            Err(_) => BuildState::Failed(BuildFailureCause::Lost(
                "the push did not say what it pushed".to_owned(),
            )),
        };
    }
    if let Some(failure) = killed(end) {
        return BuildState::Failed(failure);
    }
    BuildState::Failed(match serde_json::from_str::<PushFailure>(message) {
        Ok(failure) => BuildFailureCause::Push(failure.category, failure.message),
        Err(_) => BuildFailureCause::Lost(format!("the push ended with exit code {}", end.exit_code)),
    })
}

fn killed(end: &ContainerStateTerminated) -> Option<BuildFailureCause> {
    match (end.reason.as_deref(), end.exit_code) {
        (Some("OOMKilled"), _) => Some(BuildFailureCause::OutOfMemory),
        // 137 is SIGKILL and 143 SIGTERM: a node that shuts down ends containers so.
        (Some("StartError" | "ContainerCannotRun" | "ContainerStatusUnknown"), _) | (_, 137 | 143) => {
            let message = end.message.clone().unwrap_or_default();
            Some(BuildFailureCause::Lost(format!(
                "a container was killed or did not start: {message}"
            )))
        }
        _ => None,
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

/// Returns the reason for which the Pod does not run, where somebody can change that.
fn waiting(pod: &Pod) -> Option<BuildState> {
    let status = pod.status.as_ref()?;
    let scheduled = status
        .conditions
        .iter()
        .flatten()
        .find(|condition| condition.type_ == "PodScheduled");
    if let Some(condition) = scheduled
        && condition.status == "False"
        && condition.reason.as_deref() == Some("Unschedulable")
    {
        return Some(unschedulable(condition.message.as_deref().unwrap_or_default()));
    }
    let build = container(status.init_container_statuses.as_ref(), BUILD);
    let push = container(status.container_statuses.as_ref(), PUSH);
    let installer = container(status.init_container_statuses.as_ref(), INSTALLER);
    let executor = "set build.executorImage and build.imagePullSecrets of the operator";
    let operator = "set operatorImage and build.imagePullSecrets of the operator";
    let stuck = build
        .and_then(|status| stuck(status, executor))
        .or_else(|| installer.and_then(|status| stuck(status, operator)))
        .or_else(|| push.and_then(|status| stuck(status, operator)));
    stuck.map(BuildState::Failed).or_else(|| {
        let started = build
            .and_then(|status| status.state.as_ref())
            .is_some_and(has_started);
        Some(BuildState::Running { started })
    })
}

/// Judges a Pod without a node: what a node lacks now it may have later; what no node is, none becomes.
fn unschedulable(message: &str) -> BuildState {
    if message.contains("Insufficient") || message.contains("Too many pods") {
        BuildState::Queued(message.to_owned())
    } else {
        BuildState::Failed(BuildFailureCause::Refused(
            format!("no node takes its Pod: {message}"),
            "change build.nodeSelector or build.tolerations of the operator, or the nodes",
        ))
    }
}

fn stuck(status: &ContainerStatus, image: &'static str) -> Option<BuildFailureCause> {
    let waiting = status.state.as_ref()?.waiting.as_ref()?;
    let message = waiting.message.clone().unwrap_or_default();
    match waiting.reason.as_deref()? {
        "ImagePullBackOff" | "ErrImagePull" | "InvalidImageName" | "ErrImageNeverPull" => {
            Some(BuildFailureCause::Refused(
                format!("its image {} cannot be pulled: {message}", status.image),
                image,
            ))
        }
        "CreateContainerConfigError" | "CreateContainerError" => Some(BuildFailureCause::Refused(
            format!("its container `{}` cannot be made: {message}", status.name),
            "fix what it names",
        )),
        _ => None,
    }
}

fn has_started(state: &ContainerState) -> bool {
    state.running.is_some() || state.terminated.is_some()
}

fn container<'a>(statuses: Option<&'a Vec<ContainerStatus>>, name: &str) -> Option<&'a ContainerStatus> {
    statuses?.iter().find(|status| status.name == name)
}

fn terminated(status: &ContainerStatus) -> Option<&ContainerStateTerminated> {
    status.state.as_ref()?.terminated.as_ref()
}

#[cfg(test)]
mod tests;
