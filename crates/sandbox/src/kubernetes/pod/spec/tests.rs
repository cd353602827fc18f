use k8s_openapi::api::core::v1::AppArmorProfile;
use serde_json::{Value, json};

use super::super::super::{MountedInput, OutputFolder, Owner};
use super::super::execution::ClaimMount;
use super::*;
use crate::kubernetes::MountedFile;
use codegen_api::sandbox::{TaintEffect, Toleration as Wanted, TolerationOperator};
use codegen_core::sandbox::InputMount;
use codegen_core::sandbox::Job;
use codegen_core::task::Task;
use codegen_core::test_support::task;

mod claims;
mod on_disk;

fn owner() -> Owner {
    Owner {
        namespace: "team-a".into(),
        name: "words".into(),
        uid: "0c1d".into(),
        run: "run".into(),
        wish: String::new(),
        generation: 1,
        attempt: 1,
        reference: OwnerReference {
            api_version: "codegen-operator.dev/v1alpha1".into(),
            kind: "CodeGenTask".into(),
            name: "words".into(),
            uid: "0c1d".into(),
            block_owner_deletion: None,
            controller: None,
        },
    }
}

fn job() -> Job {
    let input = |name: &str, file_name: &str| InputMount {
        name: name.into(),
        file_name: file_name.into(),
        source: String::new(),
        content: Vec::new(),
    };
    Job {
        phases: Vec::new(),
        inputs: vec![input("sales", "sales.csv"), input("photos", "photos")],
        env: BTreeMap::new(),
        limits: JobLimits {
            timeout_seconds: 300.0,
            cpus: 1.0,
            memory_bytes: 1 << 30,
            processes: 128,
            file_bytes: 1 << 30,
        },
        network: NetworkAccess::Denied,
    }
}

fn inputs() -> BTreeMap<String, MountedInput> {
    let file = |path: &str, secret: &str, key: &str| MountedFile {
        path: path.into(),
        secret: secret.into(),
        key: key.into(),
    };
    BTreeMap::from([
        (
            "sales".to_owned(),
            MountedInput::Secrets(vec![file("", "words-1", "0")]),
        ),
        (
            "photos".to_owned(),
            MountedInput::Secrets(vec![
                file("a.txt", "words-1", "1"),
                file("deep/b.txt", "words-2", "0"),
            ]),
        ),
    ])
}

fn keys() -> PodKeys {
    PodKeys {
        nonce: "00ff".to_owned(),
        job: JobKey::from_hex(&"ab".repeat(32)).unwrap(),
    }
}

fn pod(
    change: impl FnOnce(&mut PodSettings, &mut Task, &mut Job, &mut BTreeMap<String, MountedInput>),
) -> Value {
    let (mut settings, mut task, mut job, mut inputs) = (PodSettings::default(), task(), job(), inputs());
    change(&mut settings, &mut task, &mut job, &mut inputs);
    let run = Execution {
        program: &PodProgram::Harness,
        check: None,
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
    };
    serde_json::to_value(run.pod(Some(&keys())).unwrap()).unwrap()
}

/// A Pod of each kind.
pub(in crate::kubernetes) fn pods() -> [(&'static str, Pod); 3] {
    let pods = [
        ("sandbox", pod(|_, _, _, _| ())),
        ("checked sandbox", on_disk::on_disk(None)),
        ("reader", claims::reader()),
    ];
    pods.map(|(kind, pod)| (kind, serde_json::from_value(pod).unwrap()))
}

#[test]
fn nothing_of_an_environment_comes_before_the_interpreter_behind_it() {
    let command =
        |change: fn(&mut Task)| pod(|_, task, _, _| change(task))["spec"]["containers"][0]["command"].take();
    let ours = command(|_| ());
    assert_eq!(
        (&ours[0], &ours[1], &ours[2], &ours[5]),
        (
            &json!("/opt/codegen-python"),
            &json!("-I"),
            &json!("-S"),
            &json!("/opt/codegen/bin/python3")
        )
    );
    // An image of somebody's own has one interpreter for both, on its `PATH`.
    let own = command(|task| task.image.reference = Some("registry.example/own@sha256:00".to_owned()));
    assert_eq!(own[0], "/bin/sh");
    let ended = std::process::Command::new("/bin/sh")
        .args(["-c", own[2].as_str().unwrap(), "import sys; print(sys.argv[1:])"])
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .output()
        .unwrap();
    let said = String::from_utf8(ended.stdout).unwrap();
    assert!(
        said.starts_with("['/usr/") && said.ends_with("/python3']\n"),
        "{said}"
    );
}

#[test]
fn the_whole_pod() {
    let mut pod = pod(|_, _, _, _| ());
    let harness = pod["spec"]["volumes"][0]["configMap"]["name"].take();
    assert_eq!(harness, json!(harness_name()));
    let arch = pod["spec"]["nodeSelector"]["kubernetes.io/arch"].take();
    assert_eq!(arch, json!(names::architecture(ARCH)));
    insta::assert_json_snapshot!(pod);
}

#[test]
fn a_network_brings_names_along() {
    let pod = pod(|_, _, job, _| job.network = NetworkAccess::Internet);
    assert_eq!(pod["spec"]["dnsPolicy"], "ClusterFirst");
    assert_eq!(pod["spec"].get("dnsConfig"), None);
}

#[test]
fn an_administrator_decides_runtime_and_nodes_before_the_task() {
    let pod = pod(|settings, task, _, _| {
        settings.runtime_class_name = Some("gvisor".into());
        settings.node_selector = BTreeMap::from([("pool".to_owned(), "sandboxes".to_owned())]);
        settings.priority_class_name = Some("low".into());
        settings.tolerations = vec![Toleration {
            key: Some("sandboxes".into()),
            ..Toleration::default()
        }];
        let everything = || vec!["*".to_owned()];
        settings.allowed.node_labels = everything();
        settings.allowed.priority_classes = everything();
        settings.allowed.taints = everything();
        let placement = &mut task.sandbox.placement;
        placement.runtime_class_name = Some("other".into());
        placement.node_selector = [("pool", "mine"), ("disk", "fast")]
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into();
        placement.priority_class_name = Some("high".into());
        placement.tolerations = vec![Wanted {
            operator: Some(TolerationOperator::Exists),
            effect: Some(TaintEffect::NoSchedule),
            ..Wanted::default()
        }];
    });
    let spec = &pod["spec"];
    assert_eq!(spec["runtimeClassName"], "gvisor");
    assert_eq!(spec["nodeSelector"]["pool"], "sandboxes");
    assert_eq!(spec["nodeSelector"]["disk"], "fast");
    assert_eq!(spec["priorityClassName"], "high");
    assert_eq!(
        spec["tolerations"],
        json!([{"key": "sandboxes"}, {"operator": "Exists", "effect": "NoSchedule"}])
    );
}

#[test]
fn what_some_nodes_refuse_is_there_only_when_asked_for() {
    let pod = pod(|settings, _, _, _| {
        settings.unique_users = false;
        settings.host_users = Some(false);
        settings.app_armor_profile = Some(AppArmorProfile {
            type_: "RuntimeDefault".into(),
            localhost_profile: None,
        });
        settings.preemption_policy = Some("Never".into());
        settings.probe = Some("10.96.0.1:443".into());
    });
    let spec = &pod["spec"];
    assert_eq!(spec["securityContext"].get("runAsUser"), None);
    assert_eq!(
        spec["securityContext"]["appArmorProfile"],
        json!({"type": "RuntimeDefault"})
    );
    assert_eq!(
        (&spec["hostUsers"], &spec["preemptionPolicy"]),
        (&json!(false), &json!("Never"))
    );
    assert_eq!(
        spec["containers"][0]["env"][2],
        json!({"name": "CODEGEN_PROBE", "value": "10.96.0.1:443"})
    );
}

#[test]
fn nodes_pull_with_the_credential_of_the_task_and_those_of_the_settings() {
    let pod = pod(|settings, task, _, _| {
        settings.image_pull_secrets = vec![LocalObjectReference {
            name: "shared".into(),
        }];
        task.image.pull_secret = Some("mine".into());
    });
    assert_eq!(
        pod["spec"]["imagePullSecrets"],
        json!([{"name": "mine"}, {"name": "shared"}])
    );
}

#[test]
fn the_digests_in_the_pod_are_those_that_it_computes() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in harness::FILES {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    std::fs::create_dir(folder.path().join("..data")).unwrap();
    let program = format!(
        "{}\nprint(digest({:?}))",
        START.split("if digest(").next().unwrap(),
        folder.path()
    );
    let computed = std::process::Command::new("python3")
        .args(["-I", "-S", "-c", &program])
        .output()
        .unwrap();
    let computed = String::from_utf8(computed.stdout).unwrap();
    let files = harness::FILES.iter().map(|(name, text)| (*name, text.as_bytes()));
    assert_eq!(computed.trim(), folder_sha256(files));
}

#[test]
fn an_input_that_nobody_froze_is_refused_by_name() {
    let (settings, task, job) = (PodSettings::default(), task(), job());
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
        inputs: &BTreeMap::new(),
        outputs: None,
    };
    assert_eq!(
        run.pod(None).unwrap_err().to_string(),
        "input `sales` cannot be given to the sandbox: it is not among the frozen inputs"
    );
}

#[test]
fn quantities_are_formatted_as_people_write_them() {
    for (amount, text) in [
        (1 << 30, "1Gi"),
        (512 << 20, "512Mi"),
        (1500, "1500"),
        (3 << 10, "3Ki"),
        (0, "0"),
    ] {
        assert_eq!(bytes(amount).0, text);
    }
}

#[test]
fn the_harness_is_shared_and_its_name_changes_with_it() {
    let map = harness_config_map();
    assert_eq!(map.immutable, Some(true));
    assert!(map.data.unwrap().contains_key("main.py"));
    assert_eq!(map.metadata.name.unwrap().len(), "codegen-harness-".len() + 10);
}
