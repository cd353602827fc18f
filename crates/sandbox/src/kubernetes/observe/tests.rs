#![expect(clippy::needless_pass_by_value, reason = "a literal is handed in")]

use rstest::rstest;
use serde_json::{Value, json};

use super::*;

const NOW: &str = "2026-11-21T12:00:20Z";

fn state(status: Value) -> PodState {
    let pod = serde_json::from_value(json!({"metadata": {"name": "p"}, "status": status})).unwrap();
    observe(&pod, "sandbox")
}

fn scheduled_at(time: &str) -> Value {
    json!([{"type": "PodScheduled", "status": "True", "lastTransitionTime": time}])
}

fn container(state: Value) -> Value {
    json!({"phase": "Pending", "conditions": scheduled_at("2026-11-21T12:00:19Z"),
        "containerStatuses": [{"name": "sandbox", "image": "i", "imageID": "", "ready": false, "restartCount": 0, "state": state}]})
}

fn waiting(reason: &str, message: &str) -> PodState {
    state(container(
        json!({"waiting": {"reason": reason, "message": message}}),
    ))
}

fn unscheduled(message: &str) -> PodState {
    state(json!({"phase": "Pending", "conditions": [
        {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}]}))
}

#[test]
fn a_pod_without_a_status_gets_under_way() {
    assert_eq!(state(json!({})), PodState::Starting);
    assert_eq!(waiting("ContainerCreating", ""), PodState::Starting);
    assert_eq!(waiting("PodInitializing", ""), PodState::Starting);
}

#[test]
fn a_pod_that_lies_on_its_node_for_long_is_stuck() {
    let is_stuck = |since: &str| {
        let pod = json!({"status": {"conditions": scheduled_at(since)}});
        super::is_stuck(&serde_json::from_value(pod).unwrap(), NOW.parse().unwrap())
    };
    assert!(is_stuck("2026-11-21T12:00:04Z"));
    assert!(!is_stuck("2026-11-21T12:00:19Z"));
}

#[test]
fn a_running_container_runs() {
    assert_eq!(state(container(json!({"running": {}}))), PodState::Running);
}

#[rstest]
#[case(
    "0/3 nodes are available: 3 Insufficient cpu. preemption: 0/3 nodes are available: 3 No preemption victims found for incoming pod."
)]
#[case("0/2 nodes are available: 1 Insufficient memory, 1 node(s) had untolerated taint {gpu: true}.")]
#[case("0/1 nodes are available: 1 Too many pods.")]
#[case("0/1 nodes are available: 1 node(s) had untolerated taint {node.kubernetes.io/not-ready: }.")]
#[case("0/1 nodes are available: 1 node(s) were unschedulable.")]
#[case("no nodes available to schedule pods")]
fn a_pod_without_room_waits_in_the_words_of_the_scheduler(#[case] message: &str) {
    assert_eq!(unscheduled(message), PodState::Queued(message.to_owned()));
}

#[rstest]
#[case(
    "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector. no new claims to deallocate, preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
)]
#[case("0/3 nodes are available: 3 node(s) had untolerated taint {dedicated: other}.")]
#[case("0/1 nodes are available: persistentvolumeclaim \"samples\" not found.")]
fn a_pod_that_no_node_will_ever_take_is_refused(#[case] message: &str) {
    let expected = PodState::Refused {
        reason: message.to_owned(),
        obstacle: Obstacle::Placement,
    };
    assert_eq!(unscheduled(message), expected);
}

#[rstest]
#[case(
    "ErrImagePull",
    "failed to resolve image: pull access denied, repository does not exist or may require authorization: authorization failed: no basic auth credentials"
)]
#[case("ImagePullBackOff", "Back-off pulling image \"x\"")]
#[case("ErrImagePull", "dial tcp: lookup registry.invalid: no such host")]
#[case("InvalidImageName", "couldn't parse image name")]
#[case("CreateContainerConfigError", "secret \"nope\" not found")]
#[case("RunContainerError", "context deadline exceeded")]
fn what_the_node_cannot_start_is_refused_in_its_words(#[case] reason: &str, #[case] message: &str) {
    let PodState::Refused { reason: said, .. } = waiting(reason, message) else {
        panic!("refused");
    };
    assert_eq!(said, format!("{reason}: {message}"));
}

#[test]
fn an_image_that_is_gone_is_missing() {
    let message = "rpc error: code = NotFound desc = failed to resolve image: r/i@sha256:0: not found";
    assert!(matches!(
        waiting("ErrImagePull", message),
        PodState::ImageMissing(_)
    ));
    assert!(matches!(
        waiting("ImagePullBackOff", "manifest unknown"),
        PodState::ImageMissing(_)
    ));
}

fn terminated(body: Value) -> Value {
    container(json!({ "terminated": body }))
}

#[test]
fn the_end_of_the_container_is_the_end_whatever_the_phase_says() {
    let ended = terminated(json!({"exitCode": 0, "reason": "Completed", "message": "m", "finishedAt": NOW}));
    let expected = ContainerEnd {
        message: "m".into(),
        exit_code: 0,
        out_of_memory: false,
        not_started: false,
        finished_at: Some(NOW.parse().unwrap()),
        disrupted: None,
    };
    assert_eq!(state(ended), PodState::Ended(expected));
}

#[test]
fn the_end_of_a_container_is_reported_with_its_reason() {
    let PodState::Ended(killed) = state(terminated(json!({"exitCode": 137, "reason": "OOMKilled"}))) else {
        panic!("ended");
    };
    assert!(killed.out_of_memory && !killed.not_started);
    let PodState::Ended(absent) = state(terminated(
        json!({"exitCode": 128, "reason": "StartError", "message": "no python3"}),
    )) else {
        panic!("ended");
    };
    assert!(absent.not_started);
    let unknown = state(terminated(
        json!({"exitCode": 137, "reason": "ContainerStatusUnknown"}),
    ));
    assert_eq!(unknown, PodState::Lost("ContainerStatusUnknown".into()));
}

#[rstest]
#[case(json!({"phase": "Failed", "reason": "Evicted", "message": "The node was low on resource: memory."}),
    "Evicted: The node was low on resource: memory.")]
#[case(json!({"phase": "Failed", "reason": "DeadlineExceeded", "message": "Pod was active on the node longer than the specified deadline"}),
    "DeadlineExceeded: Pod was active on the node longer than the specified deadline")]
#[case(json!({"phase": "Failed", "reason": "OutOfcpu", "message": "Pod was rejected"}), "OutOfcpu: Pod was rejected")]
fn a_pod_that_was_taken_away_is_lost(#[case] status: Value, #[case] reason: &str) {
    assert_eq!(state(status), PodState::Lost(reason.to_owned()));
}

#[test]
fn a_pod_that_is_taken_away_is_leaving() {
    let tainted = state(
        json!({"phase": "Running", "conditions": [{"type": "DisruptionTarget", "status": "True",
        "reason": "DeletionByTaintManager", "message": "Taint manager: deleting due to NoExecute taint"}]}),
    );
    let words = "DeletionByTaintManager: Taint manager: deleting due to NoExecute taint";
    assert_eq!(tainted, PodState::Leaving(words.into()));
    let pod = json!({"metadata": {"deletionTimestamp": NOW}, "status": {"phase": "Running"}});
    let pod = serde_json::from_value(pod).unwrap();
    assert_eq!(
        observe(&pod, "sandbox"),
        PodState::Leaving("it is being deleted".into())
    );
}

#[test]
fn an_evicted_container_ended_and_was_disrupted() {
    let mut status = terminated(json!({"exitCode": 137, "reason": "Error"}));
    status["reason"] = json!("Evicted");
    let PodState::Ended(ended) = state(status) else {
        panic!("ended");
    };
    assert_eq!(ended.disrupted.as_deref(), Some("Evicted"));
}

#[test]
fn a_gated_pod_waits() {
    let gated = state(
        json!({"conditions": [{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated",
        "message": "Scheduling is blocked due to non-empty scheduling gates"}]}),
    );
    assert!(matches!(gated, PodState::Queued(_)));
}

#[test]
fn a_warning_is_a_complaint_until_something_follows() {
    let event = |kind: &str, message: &str, second: u32| -> Event {
        let time = format!("2026-11-21T12:00:{second:02}Z");
        let event = json!({"metadata": {}, "involvedObject": {}, "type": kind, "message": message, "lastTimestamp": time});
        serde_json::from_value(event).unwrap()
    };
    let failed = event("Warning", "MountVolume.SetUp failed", 5);
    assert_eq!(
        complaint(&[failed.clone(), event("Normal", "Scheduled", 1)]),
        Some("MountVolume.SetUp failed")
    );
    assert_eq!(complaint(&[event("Normal", "Pulling image", 9), failed]), None);
    assert_eq!(complaint(&[]), None);
}

/// A Pod whose program has ended and whose checker is in this state.
fn checked(checker: Value) -> Value {
    let mut status = container(json!({}));
    status["phase"] = json!("Running");
    status["containerStatuses"] = json!([{"name": "checker", "image": "i", "imageID": "", "ready": false, "restartCount": 0, "state": checker}]);
    status["initContainerStatuses"] = json!([{"name": "sandbox", "image": "i", "imageID": "", "ready": true, "restartCount": 0,
        "state": {"terminated": {"exitCode": 0, "message": "the program's"}}}]);
    status
}

fn state_of(status: Value, container: &str) -> PodState {
    let pod = serde_json::from_value(json!({"metadata": {"name": "p"}, "status": status})).unwrap();
    observe(&pod, container)
}

#[test]
fn a_program_and_the_checker_after_it_are_distinguished() {
    let running = checked(json!({"running": {}}));
    let message = |state| match state {
        PodState::Ended(ended) => ended.message,
        other => panic!("{other:?}"),
    };
    assert_eq!(message(state_of(running.clone(), "sandbox")), "the program's");
    assert_eq!(state_of(running, "checker"), PodState::Running);
    let ended = checked(json!({"terminated": {"exitCode": 0, "message": "the checker's"}}));
    assert_eq!(message(state_of(ended.clone(), "sandbox")), "the program's");
    assert_eq!(message(state_of(ended, "checker")), "the checker's");
}

#[test]
fn a_checker_that_was_started_a_second_time_is_another_program() {
    let mut status = checked(json!({"running": {}}));
    status["containerStatuses"][0]["restartCount"] = json!(1);
    assert!(matches!(state_of(status.clone(), "checker"), PodState::Lost(_)));
    assert!(matches!(state_of(status, "sandbox"), PodState::Ended(_)));
}
