//! The container of a Pod, run on this machine: its command, its variables, and what it mounts.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use rstest::rstest;
use serde_json::{Value, json};

use super::super::channel::{self, SignedContent};
use super::super::execution::{Execution, PodProgram};
use super::super::ready::key_of;
use super::super::spec::{folder_sha256, harness_config_map};
use super::*;
use crate::kubernetes::Owner;
use crate::kubernetes::settings::PodSettings;
use codegen_core::sandbox::{
    Job, JobLimits, NetworkAccess, Phase, PhaseEnd, PhaseFile, PhaseName, ProgramPhase, Report,
};
use codegen_core::test_support::task;

/// Searches for a word of the job that is not meant for it.
const SPY: &str = include_str!("spy.py");
/// Prints the input that it is given.
const HONEST: &str = "print(open('/var/inputs/given/words.txt').read())\n";
/// Stands in the input of another case alone.
const WORD: &str = "an-input-of-another-case";
/// Makes the harness a process like others: what it holds can be read.
const DUMPABLE: Change = (
    "processes.py",
    "if _prctl(_DUMPABLE, 0, 0, 0, 0) != 0:",
    "if False:",
);
/// Makes the harness take the job as it lies there.
const UNENCRYPTED: Change = ("main.py", "text = _decrypted(encrypted, key)", "text = encrypted");
/// Makes the harness run a job whatever digest it has.
const NOT_COMPARED: Change = (
    "main.py",
    "if hashlib.sha256(text).hexdigest() != digest:",
    "if False:",
);

/// A change of one file of the harness: its name, what stands there, what stands there instead.
type Change = (&'static str, &'static str, &'static str);

fn case(solution: &str, args: &[&str], input: &str) -> Phase {
    Phase::Program(ProgramPhase {
        name: PhaseName::Rehearsal,
        solution: solution.to_owned(),
        args: args.iter().map(ToString::to_string).collect(),
        files: vec![PhaseFile {
            path: "given/words.txt".to_owned(),
            content: BASE64.encode(input),
            also: Vec::new(),
        }],
        outputs: Vec::new(),
        max_output_bytes: 1 << 20,
        disk_bytes: None,
        in_message: false,
    })
}

/// A program that searches for the input of the case after its own, and one that reads what it is given.
fn job() -> Job {
    let backwards: String = WORD.chars().rev().collect();
    Job {
        phases: vec![case(SPY, &[&backwards], "its own"), case(HONEST, &[], WORD)],
        inputs: Vec::new(),
        env: BTreeMap::new(),
        limits: JobLimits {
            timeout_seconds: 60.0,
            cpus: 1.0,
            memory_bytes: 1 << 30,
            processes: 64,
            file_bytes: 1 << 30,
        },
        network: NetworkAccess::Denied,
    }
}

/// Contents of a container's folders, by name.
struct Mounted {
    harness: BTreeMap<String, Vec<u8>>,
    job: BTreeMap<String, Vec<u8>>,
    /// All of the Secret, and not only what the Pod mounts of it.
    secret: BTreeMap<String, Vec<u8>>,
    /// The job before it was encrypted.
    body: Vec<u8>,
}

impl Mounted {
    fn weaken(&mut self, (file, from, to): Change) {
        let text = String::from_utf8(self.harness[file].clone()).unwrap();
        assert_eq!(text.matches(from).count(), 1, "{file}: {from}");
        self.harness
            .insert(file.to_owned(), text.replace(from, to).into_bytes());
    }
}

/// The run of this job.
fn with_execution<T>(job: &Job, then: impl FnOnce(&Execution<'_>) -> T) -> T {
    let (body, task) = (serde_json::to_vec(job).unwrap(), task());
    let settings = PodSettings {
        // There is no network to check.
        probe: Some("none".to_owned()),
        ..PodSettings::default()
    };
    let owner = Owner {
        namespace: "team-a".into(),
        name: "words".into(),
        uid: "0c1d".into(),
        run: "run".into(),
        wish: String::new(),
        generation: 1,
        attempt: 1,
        reference: OwnerReference::default(),
    };
    let run = Execution {
        program: &PodProgram::Harness,
        check: None,
        pull_secrets: &[],
        name: "words-0123456789",
        image: "i",
        job,
        body: &body,
        egress: "denied",
        settings: &settings,
        task: &task,
        owner: &owner,
        inputs: &BTreeMap::new(),
        outputs: None,
    };
    then(&run)
}

/// The Pod that runs this job, and what lies in its folders.
fn made(job: &Job) -> (Pod, Mounted) {
    let keys = PodKeys::draw().unwrap();
    let (pod, secret) = with_execution(job, |run| {
        (run.pod(Some(&keys)).unwrap(), run.secret(&keys.job).data.unwrap())
    });
    let secret: BTreeMap<_, _> = secret.into_iter().map(|(name, bytes)| (name, bytes.0)).collect();
    let harness = harness_config_map().data.unwrap().into_iter();
    let mounted = Mounted {
        harness: harness.map(|(name, text)| (name, text.into_bytes())).collect(),
        job: items(&pod)
            .into_iter()
            .map(|name| (name.clone(), secret[&name].clone()))
            .collect(),
        secret,
        body: serde_json::to_vec(job).unwrap(),
    };
    (pod, mounted)
}

/// Lists the items of the job's Secret that a Pod mounts.
fn items(pod: &Pod) -> Vec<String> {
    let volumes = pod.spec.as_ref().unwrap().volumes.as_ref().unwrap();
    let job = volumes.iter().find(|volume| volume.name == "job").unwrap();
    let items = job.secret.as_ref().unwrap().items.as_ref().unwrap();
    items.iter().map(|item| item.key.clone()).collect()
}

/// Returns the output of the programs of a job in the container of its Pod, where `change` has had its way with what it mounts.
fn printed(job: &Job, change: impl FnOnce(&mut Mounted)) -> Vec<String> {
    let (mut pod, mut mounted) = made(job);
    change(&mut mounted);
    // That the harness is ours is checked before it starts.
    let files = mounted.harness.iter();
    let files = folder_sha256(files.map(|(name, content)| (name.as_str(), content.as_slice())));
    let variables = pod.spec.as_mut().unwrap().containers[0].env.iter_mut().flatten();
    for variable in variables.filter(|variable| variable.name == "CODEGEN_HARNESS_SHA256") {
        variable.value = Some(files.clone());
    }
    let report = report_of(&pod, &mounted).unwrap_or_else(|ended| panic!("no report: {ended:?}"));
    let phases = report.phases.into_iter().map(|phase| {
        assert_eq!(phase.end, PhaseEnd::Exited(0), "{}", phase.stderr);
        phase.stdout.trim_end().to_owned()
    });
    phases.collect()
}

/// The report of a container with these folders; how it ended where there is none.
fn report_of(pod: &Pod, mounted: &Mounted) -> Result<Report, Output> {
    let folder = tempfile::tempdir().unwrap();
    for (name, files) in [("harness", &mounted.harness), ("job", &mounted.job)] {
        let folder = folder.path().join(name);
        fs::create_dir(&folder).unwrap();
        for (name, content) in files {
            fs::write(folder.join(name), content).unwrap();
        }
    }
    let message = folder.path().join("message");
    fs::write(&message, "").unwrap();
    let ended = bubblewrap(pod, folder.path()).output().unwrap();
    let message = fs::read_to_string(&message).unwrap();
    match channel::verify(&message, &super::super::nonce_of(pod, super::super::CONTAINER)) {
        Ok(SignedContent::Report(announced)) => {
            Ok(announced.find(&String::from_utf8_lossy(&ended.stdout)).unwrap())
        }
        _ => Err(ended),
    }
}

/// The container of a Pod as bubblewrap runs it: a user without rights, processes and network of its own, its folders.
fn bubblewrap(pod: &Pod, folder: &Path) -> Command {
    let container = &pod.spec.as_ref().unwrap().containers[0];
    let mut command = Command::new("bwrap");
    command
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .stdin(Stdio::null());
    for variable in container.env.iter().flatten() {
        command.env(&variable.name, variable.value.as_deref().unwrap_or_default());
    }
    let words = "--unshare-user --uid 1000 --gid 1000 --unshare-pid --unshare-ipc --unshare-net --as-pid-1 --die-with-parent \
                 --ro-bind /usr /usr --ro-bind /bin /bin --ro-bind /lib /lib --ro-bind-try /lib64 /lib64 --proc /proc --dev /dev \
                 --tmpfs /tmp --tmpfs /sandbox --tmpfs /var/inputs --tmpfs /var/outputs --tmpfs /dev/shm \
                 --symlink /usr/bin/python3 /opt/codegen-python --symlink /usr/bin/python3 /opt/codegen/bin/python \
                 --symlink /usr/bin/python3 /opt/codegen/bin/python3";
    command.args(words.split_whitespace());
    for (source, target) in [("harness", "/harness"), ("job", "/job")] {
        command.arg("--ro-bind").arg(folder.join(source)).arg(target);
    }
    command
        .arg("--bind")
        .arg(folder.join("message"))
        .arg("/dev/termination-log");
    command.args(["--chdir", container.working_dir.as_deref().unwrap(), "--"]);
    command.args(container.command.iter().flatten());
    command
}

#[test]
fn a_program_in_a_pod_finds_nothing_of_the_other_cases() {
    assert_eq!(printed(&job(), |_| ()), ["[]", WORD]);
}

#[test]
fn where_the_job_is_not_encrypted_a_program_reads_it() {
    let printed = printed(&job(), |mounted| {
        mounted.weaken(UNENCRYPTED);
        let body = mounted.body.clone();
        mounted.job.insert(JOB_NAME.to_owned(), body);
    });
    assert_eq!(printed, [r#"["/job/job.json"]"#, WORD]);
}

#[test]
fn where_the_key_lies_beside_the_job_a_program_decrypts_it() {
    let printed = printed(&job(), |mounted| mounted.job = mounted.secret.clone());
    assert_eq!(printed, [r#"["/job/job.json with the key in /job/key"]"#, WORD]);
}

#[test]
fn where_the_harness_can_be_read_a_program_finds_job_and_key() {
    let printed = printed(&job(), |mounted| mounted.weaken(DUMPABLE));
    for place in ["/job/job.json with the key in /proc/1/environ", "\"/proc/1/mem\""] {
        assert!(printed[0].contains(place), "{}", printed[0]);
    }
}

#[test]
fn a_job_that_is_not_what_the_operator_wrote_starts_nothing() {
    let (pod, mut mounted) = made(&job());
    mounted.job.get_mut(JOB_NAME).unwrap()[0] ^= 1;
    let ended = report_of(&pod, &mounted).expect_err("it was started");
    let words = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(1), "{words}");
    assert!(
        words.contains("/job/job.json is not what the operator wrote"),
        "{words}"
    );
}

/// Acts as an editor of the namespace who reads the key in the Secret, and writes another one with another job.
fn plant(mounted: &mut Mounted) {
    let digits = str::from_utf8(&mounted.secret[KEY_NAME]).unwrap();
    let another = Job {
        phases: vec![case(HONEST, &[], "planted")],
        ..job()
    };
    let planted = serde_json::to_vec(&another).unwrap();
    let planted = JobKey::from_hex(digits).unwrap().apply(&planted);
    mounted.job.insert(JOB_NAME.to_owned(), planted);
}

#[test]
fn where_nobody_compares_it_another_job_runs_in_the_place_of_the_operators() {
    let printed = printed(&job(), |mounted| {
        plant(mounted);
        mounted.weaken(NOT_COMPARED);
    });
    assert_eq!(printed, ["planted"]);

    let (pod, mut mounted) = made(&job());
    plant(&mut mounted);
    let ended = report_of(&pod, &mounted).expect_err("it was started");
    let words = String::from_utf8_lossy(&ended.stderr);
    assert!(
        words.contains("/job/job.json is not what the operator wrote"),
        "{words}"
    );
}

#[test]
fn the_secret_of_an_earlier_pass_is_used_with_its_key() {
    let key = JobKey::draw().unwrap();
    let found = with_execution(&job(), |run| key_of(run, &run.secret(&key)));
    assert_eq!(found.unwrap().0, key.0);
}

#[rstest]
#[case::that_may_change("", "immutable", json!(false))]
#[case::of_another_task("/metadata/labels", "codegen-operator.dev/task-uid", json!("7d2"))]
#[case::of_another_type("", "type", json!("Opaque"))]
#[case::with_no_key("/data", KEY_NAME, json!(""))]
#[case::with_another_key("/data", KEY_NAME, json!(BASE64.encode("00".repeat(32))))]
#[case::with_another_job("/data", JOB_NAME, json!(BASE64.encode("{}")))]
#[case::with_a_job_that_is_not_encrypted("/data", JOB_NAME, json!(BASE64.encode(serde_json::to_vec(&job()).unwrap())))]
#[case::with_more("/data", "more", json!(""))]
fn a_secret_that_somebody_planted_is_not_taken(
    #[case] pointer: &str,
    #[case] name: &str,
    #[case] value: Value,
) {
    let key = JobKey::draw().unwrap();
    let found = with_execution(&job(), |run| {
        let mut secret = json!(run.secret(&key));
        secret.pointer_mut(pointer).unwrap()[name] = value;
        key_of(run, &serde_json::from_value(secret).unwrap())
    });
    assert!(found.is_none());
}

#[test]
fn what_is_encrypted_is_as_long_as_before_and_is_another_with_each_key() {
    let (one, other) = (JobKey::draw().unwrap(), JobKey::draw().unwrap());
    for text in [&b""[..], b"{}", &[0; 1000]] {
        let encrypted = one.apply(text);
        assert_eq!(
            (encrypted.len(), one.apply(&encrypted)),
            (text.len(), text.to_vec())
        );
        assert!(text.is_empty() || encrypted != text && encrypted != other.apply(text));
    }
    let zeros = JobKey([0; 32]).apply(&[0; 4]);
    // The first bytes of SHAKE-256 of 32 zero bytes.
    assert_eq!(hex(&zeros), "f5977c82");
}

#[test]
fn a_reader_is_given_what_has_the_digest_and_nothing_else() {
    let key = JobKey::draw().unwrap();
    let (encrypted, sha256) = (key.apply(b"{}"), sha256_hex(b"{}"));
    let decrypted = |text: &[u8], key: &JobKey| decrypt_job(text, &key.hex(), &sha256);
    assert_eq!(decrypted(&encrypted, &key), Some(b"{}".to_vec()));
    assert_eq!(decrypted(b"{}", &key), None);
    assert_eq!(decrypted(&encrypted, &JobKey::draw().unwrap()), None);
    assert_eq!(decrypt_job(&encrypted, "", &sha256), None);
}

#[test]
fn a_key_is_read_back_from_its_digits() {
    let key = JobKey::draw().unwrap();
    assert_eq!(JobKey::from_hex(&key.hex()).unwrap().0, key.0);
    for digits in ["", "00", &"0".repeat(63), &"x".repeat(64), &"0".repeat(66)] {
        assert!(JobKey::from_hex(digits).is_none(), "{digits}");
    }
}
