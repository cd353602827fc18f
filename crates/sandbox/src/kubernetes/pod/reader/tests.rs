//! Requests, and what is said of claims that no Pod gets.

use super::*;

fn request() -> ReadRequest {
    let source = |name: &str, claim: &str| ClaimSource {
        name: name.to_owned(),
        claim: claim.to_owned(),
        path: format!("{name}.csv"),
        ..ClaimSource::default()
    };
    let mut request = ReadRequest::of(vec![
        source("a", "data"),
        source("b", "rates"),
        source("c", "data"),
    ]);
    let sample = |name: &str| SampleSource {
        name: name.to_owned(),
        file_name: format!("{name}.csv"),
        sha256: None,
    };
    request.samples = vec![sample("a"), sample("inline")];
    request
}

#[test]
fn each_claim_is_mounted_once() {
    let request = request();
    let folders: Vec<&str> = request
        .sources
        .iter()
        .map(|source| source.folder.as_str())
        .collect();
    assert_eq!(folders, ["/claims/0", "/claims/1", "/claims/0"]);
    assert_eq!(request.claims(), ["data", "rates"]);
    let many = (0..12).map(|n| ClaimSource {
        claim: format!("claim{n}"),
        ..ClaimSource::default()
    });
    let claims: Vec<String> = (0..12).map(|n| format!("claim{n}")).collect();
    assert_eq!(ReadRequest::of(many.collect()).claims(), claims);
}

#[test]
fn a_sample_that_lies_on_no_claim_is_mounted_as_in_a_sandbox() {
    let mounted = request().mounted();
    assert_eq!(mounted.len(), 1);
    assert_eq!(mounted[0].name, "inline");
}

#[test]
fn a_claim_that_is_not_there_is_named_with_what_lies_on_it() {
    let reason = "0/1 nodes are available: persistentvolumeclaim \"data\" not found. preemption: 0/1 nodes are available: 1 \
                  Preemption is not helpful for scheduling.";
    assert_eq!(
        about_claims(&request(), "team-a", reason).to_string(),
        "PersistentVolumeClaim team-a/data with a, c: 0/1 nodes are available: persistentvolumeclaim \"data\" not found; \
         create the claim, or correct claimName; it then goes on by itself"
    );
}

#[test]
fn claims_without_a_volume_are_all_named_where_nobody_says_which() {
    let reason = "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found";
    let error = about_claims(&request(), "team-a", reason).to_string();
    assert!(
        error.starts_with("PersistentVolumeClaim team-a/data, rates with a, b, c: "),
        "{error}"
    );
    assert!(error.contains("give the claim a volume"), "{error}");
}
