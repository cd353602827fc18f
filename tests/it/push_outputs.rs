//! `push-outputs`, as the Pod runs it that mounts a claim, against a real registry with htpasswd.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use codegen_core::digest::{of_folder, sha256_hex, sha256_of};
use codegen_egress::Proxies;
use codegen_registry::{Access, Credentials, Registry as Client};
use codegen_sandbox::kubernetes::{
    JOB_KEY, JOB_SHA256, NONCE, OutputFolder, OutputToPush, PushAccess, PushReport, PushRequest,
};
use serde_json::{Value, json};
use shake::Shake256;
use shake::digest::{ExtendableOutput as _, Update as _, XofReader as _};

use crate::docker_registry::{PASSWORD, Registry};

/// Bytes of the file that the program is not to hold: more than the memory that it is given.
const LARGE: u64 = 160 << 20;
/// Memory that it may use at most, kB.
const MOST_MEMORY: u64 = 128 << 10;

/// A claim's folder as a run has left it, and a registry.
struct Place {
    registry: Registry,
    folder: tempfile::TempDir,
    outputs: Vec<Value>,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("rows"), "3\n").unwrap();
        fs::create_dir_all(folder.path().join("pages/deep")).unwrap();
        fs::write(folder.path().join("pages/1.html"), "<p>").unwrap();
        fs::write(folder.path().join("pages/deep/2.html"), "<b>").unwrap();
        let pages = of_folder(vec![
            ("1.html".to_owned(), sha256_hex(b"<p>")),
            ("deep/2.html".to_owned(), sha256_hex(b"<b>")),
        ]);
        let outputs = vec![
            json!({"name": "rows", "type": "Int", "fileName": "rows", "sha256": sha256_hex(b"3\n"), "bytes": 2}),
            json!({"name": "pages", "type": "Dir", "fileName": "pages", "sha256": pages, "bytes": 6}),
        ];
        Self {
            registry: Registry::start(),
            folder,
            outputs,
        }
    }

    /// The same with a file of this size, most of it nothing.
    fn with_levels(bytes: u64) -> Self {
        let mut place = Self::new();
        let path = place.folder.path().join("levels");
        let mut file = File::create(&path).unwrap();
        file.write_all(b"a\n1\n").unwrap();
        file.set_len(bytes).unwrap();
        let sha256 = sha256_of(&mut File::open(&path).unwrap()).unwrap();
        place.outputs.push(
            json!({"name": "levels", "type": "File", "fileName": "levels.csv", "sha256": sha256, "bytes": bytes}),
        );
        place
    }

    fn reference(&self, tag: &str) -> String {
        format!("{}/outputs:{tag}", self.registry.host)
    }

    fn request(&self, tag: &str, owner: &str) -> PushRequest {
        let outputs: Vec<OutputToPush> = serde_json::from_value(json!(self.outputs)).unwrap();
        PushRequest {
            reference: self.reference(tag),
            written_to: OutputFolder {
                claim: "results".to_owned(),
                path: "2027/run-0b6c".to_owned(),
                fs_group: None,
            },
            folder: self.folder.path().to_str().unwrap().to_owned(),
            outputs,
            annotations: BTreeMap::from([("dev.codegen-operator.task".to_owned(), "lab/task".to_owned())]),
            owner: owner.to_owned(),
            has_credentials: true,
            access: PushAccess {
                insecure: vec![self.registry.host.clone()],
                ..PushAccess::default()
            },
        }
    }

    fn push(&self, tag: &str) -> PushReport {
        run(
            &self.request(tag, "lab/run"),
            self.registry.credentials(PASSWORD).path(),
        )
        .0
    }

    async fn manifest(&self, reference: &str) -> Value {
        let bytes = self.get(&format!("manifests/{reference}")).await;
        serde_json::from_slice(&bytes).unwrap()
    }

    async fn get(&self, part: &str) -> Vec<u8> {
        let address = format!("http://{}/v2/outputs/{part}", self.registry.host);
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let request = client
            .get(address)
            .basic_auth(crate::docker_registry::USER, Some(PASSWORD))
            .header("accept", "application/vnd.oci.image.manifest.v1+json");
        let response = request.send().await.unwrap();
        assert!(response.status().is_success(), "{part}: {}", response.status());
        response.bytes().await.unwrap().to_vec()
    }
}

/// Encrypts as the operator does: with the output of SHAKE-256 for the key.
fn encrypt(text: &[u8], key: &[u8; 32]) -> Vec<u8> {
    let mut hasher = Shake256::default();
    hasher.update(key);
    let mut stream = vec![0; text.len()];
    hasher.finalize_xof().read(&mut stream);
    stream.iter().zip(text).map(|(one, other)| one ^ other).collect()
}

/// Runs the program with this job; its report, and the most memory that it had, kB.
fn run(request: &PushRequest, credentials: &Path) -> (PushReport, u64) {
    let place = tempfile::tempdir().unwrap();
    let (job, message, memory) = (
        place.path().join("job.json"),
        place.path().join("message"),
        place.path().join("memory"),
    );
    let body = serde_json::to_vec(request).unwrap();
    fs::write(&job, encrypt(&body, &[7; 32])).unwrap();
    // The shell's own measure of what it waited for.
    let output = Command::new("python3")
        .arg("-c")
        .arg(
            "import resource, subprocess, sys\n\
             ended = subprocess.run(sys.argv[2:]).returncode\n\
             peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss\n\
             open(sys.argv[1], 'w').write(str(peak))\n\
             sys.exit(ended)",
        )
        .arg(&memory)
        .arg(env!("CARGO_BIN_EXE_codegen-operator"))
        .arg("push-outputs")
        .arg("--job")
        .arg(&job)
        .arg("--credentials")
        .arg(credentials)
        .arg("--message")
        .arg(&message)
        .env(NONCE, "00ff")
        .env(JOB_KEY, "07".repeat(32))
        .env(JOB_SHA256, sha256_hex(&body))
        .env("NO_PROXY", "127.0.0.1")
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let message = fs::read_to_string(message).unwrap();
    let (_, announced) = message.split_once('\n').unwrap();
    let announced: Value = serde_json::from_str(announced).unwrap();
    let marker = format!("{} ", announced["report"]["marker"].as_str().unwrap());
    let log = String::from_utf8(output.stdout).unwrap();
    let packed: String = log
        .lines()
        .filter_map(|line| line.strip_prefix(&marker))
        .collect();
    let packed = BASE64.decode(packed).unwrap();
    let mut report = Vec::new();
    flate2::read::ZlibDecoder::new(packed.as_slice())
        .read_to_end(&mut report)
        .unwrap();
    let memory = fs::read_to_string(memory).unwrap().parse().unwrap();
    (serde_json::from_slice(&report).unwrap(), memory)
}

fn pushed(report: PushReport) -> (String, u64) {
    match report {
        PushReport::Pushed {
            digest,
            uploaded_bytes,
        } => (digest, uploaded_bytes),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn every_file_of_a_claim_is_a_layer_and_what_the_registry_has_is_not_sent_again() {
    let place = Place::with_levels(3_000_000);
    let (digest, uploaded) = pushed(place.push("2027"));
    assert_eq!(uploaded, 3_000_000 + 2 + 6 + 2, "and the empty configuration");
    let manifest = place.manifest(&digest).await;
    assert_eq!(place.manifest("2027").await, manifest);
    assert_eq!(
        manifest["artifactType"],
        "application/vnd.codegen-operator.outputs.v1"
    );
    assert_eq!(manifest["annotations"]["dev.codegen-operator.run"], "lab/run");
    assert_eq!(manifest["annotations"]["dev.codegen-operator.task"], "lab/task");
    let layers = manifest["layers"].as_array().unwrap();
    let about = |layer: &Value, name: &str| layer["annotations"][name].as_str().unwrap().to_owned();
    let said: Vec<_> = layers
        .iter()
        .map(|layer| {
            (
                about(layer, "org.opencontainers.image.title"),
                about(layer, "dev.codegen-operator.output"),
                about(layer, "dev.codegen-operator.type"),
                layer["mediaType"].as_str().unwrap().to_owned(),
            )
        })
        .collect();
    let expected = [
        ("rows", "rows", "Int", "text/plain"),
        ("pages/1.html", "pages", "Dir", "text/html"),
        ("pages/deep/2.html", "pages", "Dir", "text/html"),
        ("levels.csv", "levels", "File", "text/csv"),
    ];
    let expected = expected.map(|(title, output, type_, media)| {
        (
            title.to_owned(),
            output.to_owned(),
            type_.to_owned(),
            media.to_owned(),
        )
    });
    assert_eq!(said, expected);
    let blob = layers[3]["digest"].as_str().unwrap();
    let levels = place.get(&format!("blobs/{blob}")).await;
    assert_eq!(levels, fs::read(place.folder.path().join("levels")).unwrap());

    assert_eq!(pushed(place.push("2027")), (digest.clone(), 0));
    assert_eq!(
        pushed(place.push("again")),
        (digest, 0),
        "another tag takes the manifest alone"
    );
}

#[test]
fn a_file_of_any_size_takes_no_memory() {
    let place = Place::with_levels(LARGE);
    let credentials = place.registry.credentials(PASSWORD);
    let (report, memory) = run(&place.request("large", "lab/run"), credentials.path());
    let (_, uploaded) = pushed(report);
    assert!(uploaded > LARGE, "{uploaded}");
    assert!(
        memory < MOST_MEMORY,
        "{memory} kB for a file of {} kB",
        LARGE >> 10
    );
}

#[tokio::test]
async fn a_file_that_is_not_what_the_run_wrote_is_named_and_nothing_is_sent() {
    let place = Place::with_levels(1_000);
    fs::write(place.folder.path().join("levels"), vec![b'x'; 1_000]).unwrap();
    let PushReport::Changed(words) = place.push("2027") else {
        panic!("it is pushed");
    };
    assert!(
        words.contains(
            "the output levels is not what the program wrote, at 2027/run-0b6c/levels on the claim results"
        ),
        "{words}"
    );
    assert_eq!(place.registry.stored(), Vec::<String>::new());
    fs::remove_file(place.folder.path().join("levels")).unwrap();
    assert_eq!(place.push("2027"), PushReport::Gone("levels".to_owned()));
}

#[tokio::test]
async fn a_tag_that_something_else_has_is_not_touched_and_that_of_the_same_run_moves() {
    let mut place = Place::new();
    let credentials = place.registry.credentials(PASSWORD);
    let (first, _) = pushed(place.push("2027"));
    let theirs = place.request("2027", "team/run");
    let (PushReport::Refused(words), _) = run(&theirs, credentials.path()) else {
        panic!("it is pushed");
    };
    assert!(words.contains("choose another tag"), "{words}");
    assert_eq!(place.manifest("2027").await, place.manifest(&first).await);

    place.outputs.pop();
    let (second, _) = pushed(place.push("2027"));
    assert_ne!(first, second);
    assert_eq!(place.manifest("2027").await, place.manifest(&second).await);
}

#[test]
fn a_registry_that_refuses_is_distinguished_from_one_that_does_not_answer() {
    let place = Place::new();
    let wrong = place.registry.credentials("wrong");
    let (PushReport::Unauthorized(words), _) = run(&place.request("2027", "lab/run"), wrong.path()) else {
        panic!("it is pushed");
    };
    assert!(words.contains("check the credentials"), "{words}");

    let (mut request, credentials) = (
        place.request("2027", "lab/run"),
        place.registry.credentials(PASSWORD),
    );
    drop(place.registry);
    // The folder goes with what is left of the place.
    request.outputs.truncate(1);
    let (PushReport::Failed(words), _) = run(&request, credentials.path()) else {
        panic!("it is pushed");
    };
    assert!(words.contains(" failed at "), "{words}");
}

/// A place whose only output is a folder of so many empty files, each below folders of the longest names.
fn with_long_names(files: u32) -> Place {
    let mut place = Place::new();
    place.outputs.clear();
    let deep = vec!["x".repeat(250); 14].join("/");
    fs::create_dir_all(place.folder.path().join("long").join(&deep)).unwrap();
    let paths: Vec<String> = (0..files).map(|number| format!("{deep}/{number}")).collect();
    for path in &paths {
        fs::write(place.folder.path().join("long").join(path), "").unwrap();
    }
    let digests = paths.into_iter().map(|path| (path, sha256_hex(b"")));
    let sha256 = of_folder(digests.collect());
    place
        .outputs
        .push(json!({"name": "long", "type": "Dir", "fileName": "long", "sha256": sha256, "bytes": 0}));
    place
}

#[test]
fn a_list_that_no_registry_takes_is_named_and_nothing_is_sent() {
    let place = with_long_names(1_200);
    let PushReport::TooMany(words) = place.push("2027") else {
        panic!("it is pushed");
    };
    let reference = place.reference("2027");
    for part in [
        format!("the list of what is pushed as {reference} would have 4"),
        "registries take 4 MiB: have the program write fewer files, or one archive".to_owned(),
    ] {
        assert!(words.contains(&part), "{words}");
    }
    assert_eq!(place.registry.stored(), Vec::<String>::new());
    pushed(with_long_names(900).push("2027"));
}

#[test]
fn a_registry_is_reached_through_the_proxies_that_the_job_names() {
    let place = Place::new();
    let credentials = place.registry.credentials(PASSWORD);
    let text = fs::read_to_string(credentials.path()).unwrap();
    fs::write(
        credentials.path(),
        text.replace(&place.registry.host, "registry.invalid"),
    )
    .unwrap();
    // The registry takes requests as a proxy gets them, and nobody knows an address for the name.
    let through = |proxy: &str| {
        let mut request = place.request("2027", "lab/run");
        request.reference = "registry.invalid/outputs:2027".to_owned();
        request.access.insecure = vec!["registry.invalid".to_owned()];
        let variables = BTreeMap::from([("http_proxy".to_owned(), proxy.to_owned())]);
        request.access.proxies = Proxies::of_variables(&variables);
        run(&request, credentials.path()).0
    };
    pushed(through(&format!("http://user:hunter2@{}", place.registry.host)));
    let PushReport::Refused(words) = through("http://user:hunter2@no proxy") else {
        panic!("it is pushed");
    };
    assert!(
        words.contains("HTTP_PROXY is not the address of a proxy") && !words.contains("hunter2"),
        "{words}"
    );
}

#[test]
fn a_job_that_somebody_replaced_is_not_done() {
    let place = Place::new();
    let job = place.folder.path().join("job.json");
    fs::write(&job, b"{}").unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_codegen-operator"))
        .args(["push-outputs", "--job"])
        .arg(&job)
        .env(NONCE, "00ff")
        .env(JOB_KEY, "07".repeat(32))
        .env(JOB_SHA256, "00")
        .output()
        .unwrap();
    assert!(!output.status.success());
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(words.contains("somebody has replaced the Secret"), "{words}");
}

#[tokio::test]
async fn a_digest_of_the_same_files_is_that_of_an_artifact_that_the_operator_pushes_itself() {
    use codegen_api::values::ValueType;
    use codegen_core::run::artifact::{KIND, RUN, annotations, media_type, title};
    use codegen_registry::{Artifact, ArtifactFile, FileContent};

    let mut place = Place::new();
    place.outputs.truncate(1);
    let (digest, _) = pushed(place.push("by-the-pod"));
    let _ = rustls::crypto::ring::default_provider().install_default();
    let credentials = fs::read(place.registry.credentials(PASSWORD).path()).unwrap();
    let client = Client::new(&Access {
        insecure_hosts: vec![place.registry.host.clone()],
        credentials: Credentials::from_docker_config(&credentials).unwrap(),
        ..Access::default()
    })
    .unwrap();
    let title = title("rows", "");
    let artifact = Artifact {
        kind: KIND,
        files: vec![ArtifactFile {
            media_type: media_type(ValueType::Int, &title),
            title,
            content: FileContent::Bytes(b"3\n".to_vec()),
            annotations: annotations("rows", ValueType::Int),
        }],
        annotations: place.request("", "").annotations,
        owner: (RUN, "lab/run".to_owned()),
    };
    let reference = place.reference("by-the-operator");
    let pushed = client.push_artifact(&reference, artifact);
    assert_eq!(pushed.await.unwrap().digest, digest);
}
