//! The Pod of a program whose outputs are checked in it.

use super::super::super::execution::OutputsCheck;
use super::*;

fn check() -> OutputsCheck {
    OutputsCheck {
        image: "registry.example/operator:1".to_owned(),
        body: b"{\"outputs\":{}}".to_vec(),
    }
}

fn execution<T>(disk_bytes: Option<u64>, then: impl FnOnce(&Execution<'_>) -> T) -> T {
    let (settings, mut task, job, inputs, check) = (PodSettings::default(), task(), job(), inputs(), check());
    task.sandbox.disk_bytes = disk_bytes;
    then(&Execution {
        program: &PodProgram::Harness,
        check: Some(&check),
        pull_secrets: &[],
        name: "words-0123456789",
        image: "registry.example/codegen@sha256:00",
        job: &job,
        body: b"{}",
        egress: "denied",
        settings: &settings,
        task: &task,
        owner: &owner(),
        inputs: &inputs,
        outputs: None,
    })
}

pub(super) fn on_disk(disk_bytes: Option<u64>) -> Value {
    execution(disk_bytes, |run| {
        serde_json::to_value(run.pod(Some(&keys())).unwrap()).unwrap()
    })
}

#[test]
fn the_checker_starts_when_the_program_has_ended_and_is_of_the_operators_image() {
    let pod = on_disk(None);
    let (program, checker) = (&pod["spec"]["initContainers"], &pod["spec"]["containers"]);
    assert_eq!(
        (
            program.as_array().unwrap().len(),
            checker.as_array().unwrap().len()
        ),
        (1, 1)
    );
    assert_eq!(program[0]["name"], "sandbox");
    assert_eq!(program[0]["image"], "registry.example/codegen@sha256:00");
    // With a policy of its own it would run on beside the checker.
    assert_eq!(program[0]["restartPolicy"], Value::Null);
    assert_eq!(checker[0]["name"], "checker");
    assert_eq!(checker[0]["image"], "registry.example/operator:1");
    assert_eq!(checker[0]["args"], json!(["read-sources"]));
    assert_eq!(checker[0]["securityContext"], program[0]["securityContext"]);
}

#[test]
fn the_checker_mounts_the_outputs_read_only_and_nothing_of_the_program_besides() {
    let pod = on_disk(None);
    assert_eq!(
        pod["spec"]["containers"][0]["volumeMounts"],
        json!([
            {"name": "outputs", "mountPath": "/var/outputs", "readOnly": true},
            {"name": "check", "mountPath": "/job", "readOnly": true},
        ])
    );
    let mounted = pod["spec"]["initContainers"][0]["volumeMounts"]
        .as_array()
        .unwrap();
    let names: Vec<&str> = mounted
        .iter()
        .map(|mount| mount["name"].as_str().unwrap())
        .collect();
    assert!(
        names.contains(&"outputs") && !names.contains(&"check"),
        "{names:?}"
    );
}

#[test]
fn outputs_go_to_a_disk_that_has_a_limit_and_is_requested_of_the_node() {
    for (wanted, volume, disk) in [(None, "1280Mi", "1536Mi"), (Some(2 << 30), "2304Mi", "2560Mi")] {
        let pod = on_disk(wanted);
        let volumes = pod["spec"]["volumes"].as_array().unwrap();
        let outputs = volumes.iter().find(|volume| volume["name"] == "outputs").unwrap();
        assert_eq!(outputs["emptyDir"], json!({"sizeLimit": volume}));
        for container in [&pod["spec"]["initContainers"][0], &pod["spec"]["containers"][0]] {
            for kind in ["requests", "limits"] {
                assert_eq!(container["resources"][kind]["ephemeral-storage"], disk);
            }
        }
        // What else can be written is memory still.
        let scratch = volumes.iter().find(|volume| volume["name"] == "tmp").unwrap();
        assert_eq!(scratch["emptyDir"]["medium"], "Memory");
    }
}

#[test]
fn the_check_has_time_of_its_own() {
    let deadline = |pod: &Value| pod["spec"]["activeDeadlineSeconds"].as_i64().unwrap();
    assert_eq!(deadline(&on_disk(None)), deadline(&pod(|_, _, _, _| ())) + 900);
}

#[test]
fn the_checker_is_given_what_it_is_asked_encrypted_with_a_key_of_its_own() {
    let secret = execution(None, |run| run.secret(&keys().job));
    let pod = on_disk(None);
    let variable = |name: &str| {
        let variables = pod["spec"]["containers"][0]["env"].as_array().unwrap();
        let found = variables
            .iter()
            .find(|variable| variable["name"] == name)
            .unwrap();
        found["value"].as_str().unwrap().to_owned()
    };
    let (key, sha256) = (variable("CODEGEN_JOB_KEY"), variable("CODEGEN_JOB_SHA256"));
    assert_ne!(key, keys().job.hex());
    let asked = &secret.data.unwrap()["check.json"].0;
    let asked = super::super::super::decrypt_job(asked, &key, &sha256);
    assert_eq!(asked, Some(check().body));
}

#[test]
fn a_pod_without_a_check_is_as_it_was() {
    let pod = pod(|_, _, _, _| ());
    assert_eq!(pod["spec"]["initContainers"], Value::Null);
    let secret = serde_json::to_value(&pod["spec"]["volumes"]).unwrap();
    assert!(!secret.to_string().contains("check"), "{secret}");
}
