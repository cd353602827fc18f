use rstest::rstest;
use serde_json::json;

use super::*;

fn answer(code: u16, reason: &str, message: &str) -> kube::Error {
    let status = json!({"status": "Failure", "code": code, "reason": reason, "message": message});
    kube::Error::Api(Box::new(serde_json::from_value(status).unwrap()))
}

#[test]
fn a_full_quota_is_a_queue() {
    let words =
        "pods \"p\" is forbidden: exceeded quota: q, requested: pods=1, used: pods=8, limited: pods=8";
    let refusal = classify::<()>("create", "Pod a/p", answer(403, "Forbidden", words));
    assert!(matches!(refusal, Ok(Creation::Queued(why)) if why == words));
}

#[test]
fn what_is_there_already_is_no_error() {
    assert!(matches!(
        classify::<()>("create", "Pod a/p", answer(409, "AlreadyExists", "exists")),
        Ok(Creation::Exists)
    ));
}

#[rstest]
#[case(
    "pods \"p\" is forbidden: violates PodSecurity \"restricted:latest\": runAsNonRoot != true",
    "sandboxes keep to the level"
)]
#[case(
    "pods \"p\" is forbidden: failed quota: q: must specify limits.nvidia",
    "have the quota"
)]
#[case(
    "pods \"p\" is forbidden: pod rejected: RuntimeClass \"gvisor\" not found",
    "create the RuntimeClass"
)]
#[case(
    "pods \"p\" is forbidden: no PriorityClass with name batch was found",
    "create the PriorityClass"
)]
#[case(
    "pods is forbidden: User \"u\" cannot create resource \"pods\" in API group \"\"",
    "grant the operator's"
)]
#[case(
    "pods \"p\" is forbidden: maximum memory usage per Container is 512Mi, but limit is 1Gi",
    "change the task's sandbox"
)]
fn a_refusal_names_what_to_change(#[case] words: &str, #[case] wanted: &str) {
    let Err(SandboxError::Refused {
        object,
        reason,
        remedy,
    }) = classify::<()>("create", "Pod a/p", answer(403, "Forbidden", words))
    else {
        panic!("refused");
    };
    assert_eq!((object.as_str(), reason.as_str()), ("Pod a/p", words));
    assert!(remedy.starts_with(wanted), "{remedy}");
}

#[test]
fn an_ending_namespace_and_a_broken_server_are_infrastructure() {
    let ending =
        "pods \"p\" is forbidden: unable to create new content in namespace a because it is being terminated";
    for error in [
        answer(403, "Forbidden", ending),
        answer(500, "InternalError", "etcd"),
    ] {
        assert!(matches!(
            classify::<()>("create", "Pod a/p", error),
            Err(SandboxError::Cluster { .. })
        ));
    }
}
