#![expect(clippy::needless_pass_by_value, reason = "a literal is handed in")]

use rstest::rstest;
use serde_json::{Value, json};

use super::*;

fn job(status: Value) -> Job {
    serde_json::from_value(json!({"metadata": {"name": "build-3f2a"}, "status": status})).unwrap()
}

fn pod(status: Value) -> Pod {
    serde_json::from_value(json!({"metadata": {"name": "build-3f2a-x"}, "status": status})).unwrap()
}

fn of(status: Value) -> BuildState {
    state(&job(json!({"active": 1})), Some(&pod(status)))
}

fn container_in(name: &str, state: Value) -> Value {
    json!({"name": name, "image": "kaniko", "imageID": "", "ready": false, "restartCount": 0, "state": state})
}

fn build(state: Value) -> Value {
    json!({"phase": "Pending", "initContainerStatuses": [container_in(BUILD, state)]})
}

fn push(state: Value) -> Value {
    json!({
        "phase": "Running",
        "initContainerStatuses": [container_in(BUILD, json!({"terminated": {"exitCode": 0}}))],
        "containerStatuses": [container_in(PUSH, state)],
    })
}

fn unscheduled(message: &str) -> Value {
    json!({"phase": "Pending", "conditions": [
        {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message},
    ]})
}

#[test]
fn a_job_without_a_pod_goes_on() {
    assert_eq!(
        state(&job(json!({})), None),
        BuildState::Running { started: false }
    );
}

#[rstest]
#[case::not_scheduled(json!({"phase": "Pending"}), false)]
#[case::image_comes(build(json!({"waiting": {"reason": "PodInitializing"}})), false)]
#[case::builds(build(json!({"running": {}})), true)]
#[case::built(build(json!({"terminated": {"exitCode": 0, "message": "sha256:ab"}})), true)]
#[case::pushes(push(json!({"running": {}})), true)]
fn a_pod_on_its_way_goes_on(#[case] status: Value, #[case] started: bool) {
    assert_eq!(of(status), BuildState::Running { started });
}

#[test]
fn the_message_of_the_push_is_the_end_before_the_job_knows_of_it() {
    let message = r#"{"digest":"sha256:ab","adopted":false,"uploadedBytes":7}"#;
    let end = json!({"terminated": {"exitCode": 0, "message": message}});
    assert_eq!(of(push(end)), BuildState::Done("sha256:ab".to_owned()));
}

#[test]
fn a_build_took_the_time_from_its_jobs_start_to_the_end_of_its_push() {
    let started = job(json!({"startTime": "2026-11-21T20:00:00Z"}));
    let ended = |at: &str| pod(push(json!({"terminated": {"exitCode": 0, "finishedAt": at}})));
    let at = |at| seconds(&started, Some(&ended(at)));
    assert_eq!(at("2026-11-21T20:00:07Z"), Some(7.0));
    // The clocks of two machines.
    assert_eq!(at("2026-11-21T19:59:59Z"), Some(0.0));
    assert_eq!(seconds(&started, Some(&pod(push(json!({"running": {}}))))), None);
    assert_eq!(
        seconds(&job(json!({})), Some(&ended("2026-11-21T20:00:07Z"))),
        None
    );
}

#[test]
fn a_build_that_only_wrote_a_digest_is_not_done() {
    let end = json!({"terminated": {"exitCode": 0, "message": "sha256:ab"}});
    assert!(matches!(
        of(push(end)),
        BuildState::Failed(BuildFailureCause::Lost(_))
    ));
}

#[rstest]
#[case::room(
    "0/3 nodes are available: 3 Insufficient cpu. preemption: 0/3 nodes are available",
    true
)]
#[case::pods("0/1 nodes are available: 1 Too many pods.", true)]
#[case::cordoned("0/1 nodes are available: 1 node(s) were unschedulable.", true)]
#[case::selector(
    "0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector.",
    false
)]
#[case::claim("persistentvolumeclaim \"layers\" not found", false)]
fn a_full_cluster_is_waited_for_and_a_pod_that_suits_no_node_is_reported(
    #[case] message: &str,
    #[case] is_queued: bool,
) {
    match of(unscheduled(message)) {
        BuildState::Queued(why) => assert!(is_queued && why == message),
        BuildState::Failed(BuildFailureCause::Refused(reason, _)) => {
            assert!(!is_queued && reason.contains(message));
        }
        other => panic!("{other:?}"),
    }
}

#[rstest]
#[case::executor(build(json!({"waiting": {"reason": "ImagePullBackOff", "message": "not found"}})), "build.executorImage")]
#[case::operator(push(json!({"waiting": {"reason": "ErrImagePull", "message": "401"}})), "operatorImage")]
#[case::secret(push(json!({"waiting": {"reason": "CreateContainerConfigError", "message": "no key"}})), "fix what it names")]
#[case::signature(push(json!({"waiting": {"reason": "SignatureValidationFailed"}})), "operatorImage")]
fn what_prevents_a_container_from_starting_is_reported(#[case] status: Value, #[case] remedy: &str) {
    let BuildState::Failed(failure) = of(status) else {
        panic!("it goes on");
    };
    let BuildFailureCause::Refused(_, says) = &failure else {
        panic!("{failure:?}");
    };
    assert!(says.contains(remedy), "{says}");
    assert!(!failure.has_ended());
}

#[rstest]
#[case::still_ending("FailureTarget")]
#[case::ended("Failed")]
fn a_push_that_was_killed_at_the_deadline_ran_out_of_time(#[case] condition: &str) {
    let ended =
        job(json!({"conditions": [{"type": condition, "status": "True", "reason": "DeadlineExceeded"}]}));
    let killed = pod(push(json!({"terminated": {"exitCode": 137, "reason": "Error"}})));
    assert_eq!(
        state(&ended, Some(&killed)),
        BuildState::Failed(BuildFailureCause::Deadline)
    );
    let done = pod(push(
        json!({"terminated": {"exitCode": 0, "message": r#"{"digest":"sha256:ab"}"#}}),
    ));
    assert_eq!(
        state(&ended, Some(&done)),
        BuildState::Done("sha256:ab".to_owned())
    );
}

#[rstest]
#[case::builder(build(json!({"terminated": {"exitCode": 100, "reason": "Error"}})), BuildFailureCause::Builder)]
#[case::memory(build(json!({"terminated": {"exitCode": 1, "reason": "OOMKilled"}})), BuildFailureCause::OutOfMemory)]
#[case::memory_of_a_command(build(json!({"terminated": {"exitCode": 137, "reason": "Error"}})), BuildFailureCause::OutOfMemory)]
#[case::memory_of_the_push(push(json!({"terminated": {"exitCode": 137, "reason": "OOMKilled"}})), BuildFailureCause::OutOfMemory)]
#[case::deadline(json!({"phase": "Failed", "reason": "DeadlineExceeded"}), BuildFailureCause::Deadline)]
#[case::push(
    push(json!({"terminated": {"exitCode": 3, "message": r#"{"category":"configuration","message":"401"}"#}})),
    BuildFailureCause::Push(Category::Configuration, "401".to_owned())
)]
fn each_end_of_a_build_is_distinguished_from_the_others(
    #[case] status: Value,
    #[case] failure: BuildFailureCause,
) {
    assert_eq!(of(status), BuildState::Failed(failure.clone()));
    assert!(failure.has_ended());
}

#[rstest]
#[case::evicted(json!({"phase": "Failed", "reason": "Evicted", "message": "The node was low on resource: memory."}))]
#[case::node(json!({"phase": "Failed", "reason": "NodeLost"}))]
#[case::silent_push(push(json!({"terminated": {"exitCode": 1}})))]
#[case::did_not_start(build(json!({"terminated": {"exitCode": 128, "reason": "StartError", "message": "no such file"}})))]
fn a_build_that_ended_without_a_reason_is_lost_and_not_failed(#[case] status: Value) {
    assert!(matches!(
        of(status),
        BuildState::Failed(BuildFailureCause::Lost(_))
    ));
}

#[test]
fn a_pod_that_is_taken_away_is_made_anew_by_its_job() {
    let mut status = build(json!({"running": {}}));
    status["conditions"] =
        json!([{"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI"}]);
    assert_eq!(of(status.clone()), BuildState::Running { started: true });
    // It was killed for that, and not for its memory.
    status["initContainerStatuses"] = json!([container_in(BUILD, json!({"terminated": {"exitCode": 137}}))]);
    let BuildState::Failed(BuildFailureCause::Lost(why)) = of(status) else {
        panic!("lost");
    };
    assert_eq!(why, "EvictionByEvictionAPI");
}

#[test]
fn a_job_that_failed_without_a_pod_says_why() {
    let ended = |reason: &str| {
        let condition =
            json!({"type": "Failed", "status": "True", "reason": reason, "message": "its message"});
        state(&job(json!({"conditions": [condition]})), None)
    };
    assert_eq!(
        ended("DeadlineExceeded"),
        BuildState::Failed(BuildFailureCause::Deadline)
    );
    assert_eq!(
        ended("BackoffLimitExceeded"),
        BuildState::Failed(BuildFailureCause::Lost("its message".to_owned()))
    );
}
