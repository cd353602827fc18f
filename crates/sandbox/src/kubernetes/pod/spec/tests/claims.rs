//! Claims in Pods: inputs, outputs and readers.

use super::*;

#[test]
fn a_claim_is_mounted_read_only_and_by_name() {
    let pod = pod(|_, _, _, inputs| {
        let claim = MountedInput::Claim {
            claim: "archive".into(),
            path: "2026/photos".into(),
        };
        inputs.insert("photos".into(), claim);
    });
    let mounts = pod["spec"]["containers"][0]["volumeMounts"].as_array().unwrap();
    let inputs: Vec<&Value> = mounts
        .iter()
        .filter(|mount| mount["mountPath"].as_str().unwrap().starts_with("/var/inputs"))
        .collect();
    assert_eq!(
        json!(inputs),
        json!([
            {"name": "claim-0", "mountPath": "/var/inputs/photos", "subPath": "2026/photos", "readOnly": true},
            {"name": "inputs", "mountPath": "/var/inputs/sales.csv", "subPath": "sales.csv", "readOnly": true},
            {"name": "inputs", "mountPath": "/var/inputs/sales", "subPath": "sales", "readOnly": true},
        ])
    );
}

/// The Pod that reads two claims.
pub(super) fn reader() -> Value {
    let (settings, task, mut job) = (PodSettings::default(), task(), job());
    job.inputs.truncate(1);
    let claims = ["data", "rates"].map(|claim| ClaimMount {
        claim: claim.to_owned(),
        folder: None,
    });
    let run = Execution {
        program: &PodProgram::Reader(claims.to_vec()),
        check: None,
        pull_secrets: &[LocalObjectReference {
            name: "operator-registry".to_owned(),
        }],
        name: "words-0123456789",
        image: "registry.example/operator:1",
        job: &job,
        body: b"{}",
        egress: "denied",
        settings: &settings,
        task: &task,
        owner: &owner(),
        inputs: &inputs(),
        outputs: None,
    };
    serde_json::to_value(run.pod(Some(&keys())).unwrap()).unwrap()
}

#[test]
fn a_reader_is_a_sandbox_that_mounts_whole_claims_and_writes_nowhere() {
    let reader = reader();
    let sandbox = pod(|_, _, _, _| ());
    for field in [
        "securityContext",
        "automountServiceAccountToken",
        "dnsPolicy",
        "restartPolicy",
        "enableServiceLinks",
    ] {
        assert_eq!(reader["spec"][field], sandbox["spec"][field], "{field}");
    }
    let labels = &reader["metadata"]["labels"];
    assert_eq!(
        (&labels[EGRESS], &labels[names::COMPONENT]),
        (&json!("denied"), &json!("reader"))
    );
    assert_eq!(
        reader["spec"]["imagePullSecrets"],
        json!([{"name": "operator-registry"}])
    );
    let container = &reader["spec"]["containers"][0];
    assert_eq!(
        container["securityContext"],
        sandbox["spec"]["containers"][0]["securityContext"]
    );
    assert_eq!(container["args"], json!(["read-sources"]));
    assert_eq!(container.get("command"), None);
    assert_eq!(
        container["volumeMounts"],
        json!([
            {"name": "claim-0", "mountPath": "/claims/0", "readOnly": true},
            {"name": "claim-1", "mountPath": "/claims/1", "readOnly": true},
            {"name": "job", "mountPath": "/job", "readOnly": true},
            {"name": "inputs", "mountPath": "/var/inputs", "readOnly": true},
        ])
    );
}

#[test]
fn outputs_on_a_claim_are_one_folder_of_it_beside_inputs_that_lie_there() {
    let (settings, task, job, mut inputs) = (PodSettings::default(), task(), job(), inputs());
    let on_claim = MountedInput::Claim {
        claim: "results".to_owned(),
        path: "2026/photos".to_owned(),
    };
    inputs.insert("photos".to_owned(), on_claim);
    let outputs = OutputFolder {
        claim: "results".to_owned(),
        path: "2027/words-0c1d".to_owned(),
        fs_group: Some(2000),
    };
    let run = Execution {
        program: &PodProgram::Harness,
        check: None,
        pull_secrets: &[],
        name: "words-0123456789",
        image: "i",
        job: &job,
        body: b"{}",
        egress: "denied",
        settings: &settings,
        task: &task,
        owner: &owner(),
        inputs: &inputs,
        outputs: Some(&outputs),
    };
    let pod = serde_json::to_value(run.pod(Some(&keys())).unwrap()).unwrap();
    let mounts = pod["spec"]["containers"][0]["volumeMounts"].as_array().unwrap();
    let at = |path: &str| {
        let found: Vec<&Value> = mounts.iter().filter(|mount| mount["mountPath"] == path).collect();
        assert_eq!(found.len(), 1, "{path}");
        found[0].clone()
    };
    let written = at("/var/outputs");
    assert_eq!(written["subPath"], "2027/words-0c1d");
    assert_eq!(written.get("readOnly"), None);
    let read = at("/var/inputs/photos");
    assert_eq!(
        (&read["name"], &read["readOnly"]),
        (&written["name"], &json!(true))
    );
    let volumes = pod["spec"]["volumes"].as_array().unwrap();
    let of_claims: Vec<&Value> = volumes
        .iter()
        .filter(|volume| volume.get("persistentVolumeClaim").is_some())
        .collect();
    assert_eq!(
        of_claims.len(),
        1,
        "a Pod that names a claim twice may never start"
    );
    assert_eq!(pod["spec"]["securityContext"]["fsGroup"], 2000);
    assert_eq!(
        pod["spec"]["securityContext"]["fsGroupChangePolicy"],
        "OnRootMismatch"
    );
}

#[test]
fn a_group_for_outputs_leaves_the_claims_of_inputs_as_they_are() {
    let claims = |fs_group: Option<i64>| {
        let (settings, task, job, mut inputs) = (PodSettings::default(), task(), job(), inputs());
        let on_claim = MountedInput::Claim {
            claim: "database".to_owned(),
            path: "2026/photos".to_owned(),
        };
        inputs.insert("photos".to_owned(), on_claim);
        let outputs = OutputFolder {
            claim: "results".to_owned(),
            path: "2027/words-0c1d".to_owned(),
            fs_group,
        };
        let run = Execution {
            program: &PodProgram::Harness,
            check: None,
            pull_secrets: &[],
            name: "words-0123456789",
            image: "i",
            job: &job,
            body: b"{}",
            egress: "denied",
            settings: &settings,
            task: &task,
            owner: &owner(),
            inputs: &inputs,
            outputs: Some(&outputs),
        };
        let pod = serde_json::to_value(run.pod(Some(&keys())).unwrap()).unwrap();
        let volumes = pod["spec"]["volumes"].as_array().unwrap().clone();
        let claims = volumes
            .into_iter()
            .filter_map(|volume| volume.get("persistentVolumeClaim").cloned());
        claims.collect::<Vec<_>>()
    };
    // Nodes set the group on what is not mounted read-only as a whole.
    assert_eq!(
        claims(Some(2000)),
        [
            json!({"claimName": "database", "readOnly": true}),
            json!({"claimName": "results"})
        ]
    );
    // Nothing is regrouped without a group: a volume may be in use by others, who write to it.
    assert_eq!(
        claims(None),
        [json!({"claimName": "database"}), json!({"claimName": "results"})]
    );
}
