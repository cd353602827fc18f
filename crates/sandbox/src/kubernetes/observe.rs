//! Reading of a Pod's status, for sandboxes, builds and canaries alike: what it says about one of its containers. Pure.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{
    ContainerStateTerminated, ContainerStatus, Event, Pod, PodCondition, PodStatus,
};

/// Time for which a Pod may lie with nothing said of it before it is asked for the reason.
const PATIENCE: SignedDuration = SignedDuration::from_secs(15);

/// Progress of a Pod.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum PodState {
    /// It gets under way.
    Starting,
    /// Its container runs.
    Running,
    /// It waits for room: the scheduler's words.
    Queued(String),
    /// It does not start until somebody changes something.
    Refused { reason: String, obstacle: Obstacle },
    /// Its image is not in the registry.
    ImageMissing(String),
    /// Its container has ended.
    Ended(ContainerEnd),
    /// It is being taken away, and its container has not ended yet.
    Leaving(String),
    /// It is over, through no fault of the job.
    Lost(String),
}

/// Obstacle to a start that stays until somebody changes something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Obstacle {
    /// No node takes it.
    Placement,
    /// A node does not get its image.
    Pull,
    /// The name of its image is none.
    ImageName,
    /// A node does not run its image.
    NodePolicy,
    /// A node cannot make its container.
    Container,
}

impl PodState {
    /// Returns the cluster's words, where it says why the Pod does not get on.
    pub(super) fn words(&self) -> Option<&str> {
        match self {
            Self::Queued(words)
            | Self::Refused { reason: words, .. }
            | Self::ImageMissing(words)
            | Self::Leaving(words)
            | Self::Lost(words) => Some(words),
            Self::Starting | Self::Running | Self::Ended(_) => None,
        }
    }
}

/// End of a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ContainerEnd {
    /// The termination message.
    pub message: String,
    /// The exit code.
    pub exit_code: i32,
    /// True where the kernel ended it for want of memory.
    pub out_of_memory: bool,
    /// The node's words, where the container could not be started.
    pub not_started: bool,
    /// Time of the end.
    pub finished_at: Option<Timestamp>,
    /// Event that took the Pod away while or after it ran.
    pub disrupted: Option<String>,
}

/// Returns the progress of a container of a Pod.
pub(super) fn observe(pod: &Pod, container: &str) -> PodState {
    let status = pod.status.clone().unwrap_or_default();
    let disrupted = disruption(pod, &status);
    // First: a container that began anew is another program than the one that was compared.
    if has_begun_again(&status, container) {
        return PodState::Lost(
            "its container was started a second time: somebody has changed its image".to_owned(),
        );
    }
    // An end that is there counts although the Pod is being deleted: the report was complete by then.
    if let Some(ended) = terminated(&status, container) {
        return ended_as(ended, disrupted);
    }
    // A Pod can fail without a container that ever ran, as when its node was lost.
    if status.phase.as_deref() == Some("Failed") {
        let words = || words(status.reason.as_deref(), status.message.as_deref());
        return PodState::Lost(disrupted.unwrap_or_else(words));
    }
    if let Some(reason) = disrupted {
        return PodState::Leaving(reason);
    }
    if let Some(unscheduled) =
        condition(&status, "PodScheduled").filter(|condition| condition.status == "False")
    {
        return unscheduled_as(unscheduled);
    }
    let state = status_of(&status, container).and_then(|container| container.state.as_ref());
    if state.is_some_and(|state| state.running.is_some()) {
        return PodState::Running;
    }
    let waiting = state.and_then(|state| state.waiting.as_ref());
    if let Some(waiting) = waiting
        && let Some(state) = waiting_as(
            waiting.reason.as_deref().unwrap_or_default(),
            waiting.message.as_deref().unwrap_or_default(),
        )
    {
        return state;
    }
    PodState::Starting
}

/// Reports whether a Pod that starts lies on its node for longer than that takes, `now`, so that its status does not say why.
pub(super) fn is_stuck(pod: &Pod, now: Timestamp) -> bool {
    let scheduled = pod
        .status
        .as_ref()
        .and_then(|status| condition(status, "PodScheduled"));
    // From when it has a node: before that the scheduler speaks.
    let since = scheduled.and_then(|condition| condition.last_transition_time.as_ref());
    since.is_some_and(|since| now.duration_since(since.0) > PATIENCE)
}

/// The last word about a Pod, where it is a warning.
pub(super) fn complaint(events: &[Event]) -> Option<&str> {
    let told_at = |event: &&Event| {
        let last = event.last_timestamp.as_ref().map(|time| time.0);
        last.or(event.event_time.as_ref().map(|time| time.0))
    };
    let last = events.iter().max_by_key(told_at)?;
    last.message
        .as_deref()
        .filter(|_| last.type_.as_deref() == Some("Warning"))
}

/// A sandbox runs once. A node starts a container again, whatever the Pod says of restarts, when its image is changed.
fn has_begun_again(status: &PodStatus, container: &str) -> bool {
    status_of(status, container).is_some_and(|container| container.restart_count > 0)
}

fn terminated<'a>(status: &'a PodStatus, container: &str) -> Option<&'a ContainerStateTerminated> {
    status_of(status, container)?.state.as_ref()?.terminated.as_ref()
}

/// Finds the status of a container, which may be one that others wait for.
fn status_of<'a>(status: &'a PodStatus, container: &str) -> Option<&'a ContainerStatus> {
    let lists = [&status.init_container_statuses, &status.container_statuses];
    let mut containers = lists.into_iter().flatten().flatten();
    containers.find(|status| status.name == container)
}

fn ended_as(ended: &ContainerStateTerminated, disrupted: Option<String>) -> PodState {
    let reason = ended.reason.as_deref().unwrap_or_default();
    // The kubelet has lost track of the container, and made the exit code up.
    if reason == "ContainerStatusUnknown" {
        return PodState::Lost(words(Some(reason), ended.message.as_deref()));
    }
    PodState::Ended(ContainerEnd {
        message: ended.message.clone().unwrap_or_default(),
        exit_code: ended.exit_code,
        out_of_memory: reason == "OOMKilled",
        not_started: matches!(reason, "StartError" | "ContainerCannotRun"),
        finished_at: ended.finished_at.as_ref().map(|time| time.0),
        disrupted,
    })
}

/// Finds the event that takes a Pod away: an eviction, a shutdown of its node, its deadline, somebody's deletion.
fn disruption(pod: &Pod, status: &PodStatus) -> Option<String> {
    // The API server sets this condition for evictions, preemption and taints, before the Pod goes.
    let target = condition(status, "DisruptionTarget").filter(|condition| condition.status == "True");
    if let Some(target) = target {
        return Some(words(target.reason.as_deref(), target.message.as_deref()));
    }
    if let Some(
        reason @ ("Evicted" | "DeadlineExceeded" | "NodeLost" | "Terminated" | "NodeShutdown" | "Preempting"),
    ) = status.reason.as_deref()
    {
        return Some(words(Some(reason), status.message.as_deref()));
    }
    let deleted = pod.metadata.deletion_timestamp.is_some();
    deleted.then(|| "it is being deleted".to_owned())
}

/// A Pod that has no node: does one come by itself, or must somebody change something?
fn unscheduled_as(condition: &PodCondition) -> PodState {
    let message = condition.message.clone().unwrap_or_default();
    if condition.reason.as_deref() == Some("SchedulingGated") || comes_by_itself(&message) {
        return PodState::Queued(message);
    }
    PodState::Refused {
        reason: message,
        obstacle: Obstacle::Placement,
    }
}

/// Reports whether at least one node refuses for a reason that passes.
fn comes_by_itself(message: &str) -> bool {
    // Words of the scheduler. Those of other refusals (a selector, a taint of an administrator) do not pass by themselves.
    const PASSING: [&str; 6] = [
        "Insufficient ",
        "Too many pods",
        "node(s) were unschedulable",
        "node.kubernetes.io/",
        "no nodes available",
        "node(s) had no available volume zone",
    ];
    // A Pod without a condition was not scheduled yet.
    message.is_empty() || PASSING.iter().any(|passing| message.contains(passing))
}

/// A container that waits: `None` where it is on its way.
fn waiting_as(reason: &str, message: &str) -> Option<PodState> {
    let reasons = words(Some(reason), Some(message));
    let obstacle = match reason {
        "ErrImagePull" | "ImagePullBackOff" if is_missing(message) => {
            return Some(PodState::ImageMissing(reasons));
        }
        "ErrImagePull" | "ImagePullBackOff" | "RegistryUnavailable" => Obstacle::Pull,
        "InvalidImageName" => Obstacle::ImageName,
        "ErrImageNeverPull" | "SignatureValidationFailed" | "ImageInspectError" => Obstacle::NodePolicy,
        "CreateContainerConfigError" | "CreateContainerError" | "RunContainerError" | "CrashLoopBackOff" => {
            Obstacle::Container
        }
        _ => return None,
    };
    Some(PodState::Refused {
        reason: reasons,
        obstacle,
    })
}

/// Reports whether a registry says that an image is not there. Some say so of images that one may not see, in other words.
fn is_missing(message: &str) -> bool {
    // Registries write these words in either case.
    let message = message.to_lowercase();
    (message.contains("not found") || message.contains("manifest unknown"))
        && ![
            "unauthorized",
            "denied",
            "forbidden",
            "no such host",
            "authentication required",
        ]
        .iter()
        .any(|other| message.contains(other))
}

fn condition<'a>(status: &'a PodStatus, kind: &str) -> Option<&'a PodCondition> {
    status
        .conditions
        .iter()
        .flatten()
        .find(|condition| condition.type_ == kind)
}

fn words(reason: Option<&str>, message: Option<&str>) -> String {
    match (
        reason.filter(|text| !text.is_empty()),
        message.filter(|text| !text.is_empty()),
    ) {
        (Some(reason), Some(message)) => format!("{reason}: {message}"),
        (Some(only), None) | (None, Some(only)) => only.to_owned(),
        (None, None) => "its status does not say why".to_owned(),
    }
}

#[cfg(test)]
mod tests;
