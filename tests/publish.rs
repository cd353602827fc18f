//! A layer more on an image that a registry has, and what refers to the image, against real registries with htpasswd.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "tests say what they expect"
)]

#[path = "support/docker_registry.rs"]
mod docker_registry;
#[path = "support/referrers_registry.rs"]
mod referrers_registry;

use std::collections::BTreeMap;

use codegen_operator::pipeline::digest::sha256_hex;
use codegen_operator::pipeline::image_tag;
use codegen_operator::registry::{
    Access, Addition, Appended, Artifact, ArtifactFile, Credentials, Foundation, LayerEntry, Referrer,
    Registry, RegistryError,
};
use docker_registry::{PASSWORD, USER};
use serde_json::{Value, json};

const OCI_MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const OCI_INDEX: &str = "application/vnd.oci.image.index.v1+json";
const DOCKER_MANIFEST: &str = "application/vnd.docker.distribution.manifest.v2+json";
const ARTIFACT: &str = "application/vnd.cyclonedx+json";
const BILL: &[u8] = b"{\"bomFormat\": \"CycloneDX\"}";
/// Larger than what is read at once.
const LARGE: usize = 3_000_000;

/// A registry, a client of ours, and requests that no client of ours makes.
struct Place<S = docker_registry::Registry> {
    server: S,
    host: String,
    client: Registry,
    http: reqwest::Client,
}

impl Place {
    fn start() -> Self {
        let server = docker_registry::Registry::start();
        let config = std::fs::read(server.credentials(PASSWORD).path()).unwrap();
        let credentials = Credentials::from_docker_config(&config).unwrap();
        let host = server.host.clone();
        Self::of(server, host, credentials)
    }
}

impl Place<referrers_registry::Registry> {
    /// With a registry that has the API for what refers to an image, and asks for no password.
    fn with_referrers() -> Self {
        let server = referrers_registry::Registry::start();
        let host = server.host.clone();
        Self::of(server, host, Credentials::default())
    }
}

impl<S> Place<S> {
    fn of(server: S, host: String, credentials: Credentials) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Registry::new(&Access {
            insecure_hosts: vec![host.clone()],
            authorities: vec![],
            credentials,
            ..Access::default()
        });
        Self {
            server,
            host,
            client: client.unwrap(),
            http: reqwest::Client::builder().no_proxy().build().unwrap(),
        }
    }

    fn repository(&self, name: &str) -> String {
        format!("{}/{name}", self.host)
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}/v2/{path}", self.host)
    }

    async fn put_blob(&self, repository: &str, bytes: Vec<u8>) -> Value {
        let digest = format!("sha256:{}", sha256_hex(&bytes));
        let begun = self.http.post(self.url(&format!("{repository}/blobs/uploads/")));
        let begun = begun.basic_auth(USER, Some(PASSWORD)).send().await.unwrap();
        let place = begun.headers()["location"].to_str().unwrap();
        let mut place = begun.url().join(place).unwrap();
        place.query_pairs_mut().append_pair("digest", &digest);
        let size = bytes.len();
        let put = self.http.put(place).body(bytes);
        let put = put.basic_auth(USER, Some(PASSWORD)).send().await.unwrap();
        assert_eq!(put.status(), 201);
        json!({"digest": digest, "size": size})
    }

    async fn put_manifest(&self, repository: &str, tag: &str, media_type: &str, manifest: &Value) -> String {
        let text = manifest.to_string();
        let digest = format!("sha256:{}", sha256_hex(text.as_bytes()));
        let put = self.http.put(self.url(&format!("{repository}/manifests/{tag}")));
        let put = put.header("content-type", media_type).body(text);
        let put = put.basic_auth(USER, Some(PASSWORD)).send().await.unwrap();
        assert_eq!(put.status(), 201, "{}", put.text().await.unwrap());
        digest
    }

    async fn get(&self, path: &str) -> Option<Vec<u8>> {
        let types = format!("{OCI_MANIFEST}, {OCI_INDEX}, {DOCKER_MANIFEST}");
        let got = self.http.get(self.url(path)).header("accept", types);
        let got = got.basic_auth(USER, Some(PASSWORD)).send().await.unwrap();
        let is_there = got.status().is_success();
        is_there.then_some(got.bytes().await.unwrap().to_vec())
    }

    async fn manifest(&self, repository: &str, reference: &str) -> Value {
        let found = self.get(&format!("{repository}/manifests/{reference}")).await;
        serde_json::from_slice(&found.expect("a manifest")).unwrap()
    }

    /// An image of two layers; its digest.
    async fn image(&self, repository: &str, tag: &str, is_docker: bool) -> String {
        let types = if is_docker {
            [
                DOCKER_MANIFEST,
                "application/vnd.docker.container.image.v1+json",
                "application/vnd.docker.image.rootfs.diff.tar.gzip",
            ]
        } else {
            [
                OCI_MANIFEST,
                "application/vnd.oci.image.config.v1+json",
                "application/vnd.oci.image.layer.v1.tar+gzip",
            ]
        };
        let config = json!({
            "architecture": "amd64", "os": "linux",
            "config": {"Cmd": ["python3"], "Env": ["PATH=/usr/bin"]},
            "rootfs": {"type": "layers", "diff_ids": ["sha256:a", "sha256:b"]},
        });
        let of_type = |mut descriptor: Value, media_type: &str| {
            descriptor["mediaType"] = media_type.into();
            descriptor
        };
        let config = self.put_blob(repository, config.to_string().into_bytes()).await;
        let first = self.put_blob(repository, vec![1; 1000]).await;
        let second = self.put_blob(repository, vec![2; LARGE]).await;
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": types[0],
            "config": of_type(config, types[1]),
            "layers": [of_type(first, types[2]), of_type(second, types[2])],
        });
        self.put_manifest(repository, tag, types[0], &manifest).await
    }

    /// Attaches a list of what an image in `lab` is made of; the bytes that it took.
    async fn attach_bill(&self, to: &Appended) -> u64 {
        let referrer = Referrer {
            artifact_type: ARTIFACT,
            ending: "sbom",
            content: BILL.to_vec(),
        };
        let repository = self.repository("lab");
        self.client.attach(&repository, to, referrer).await.unwrap()
    }

    /// The only manifest of `index` brings [`BILL`] and refers to the image.
    async fn expect_bill(&self, index: &Value, image: &Appended) {
        let manifests = index["manifests"].as_array().unwrap();
        assert_eq!(manifests.len(), 1, "{index}");
        let digest = manifests[0]["digest"].as_str().unwrap();
        let manifest = self.manifest("lab", digest).await;
        assert_eq!(manifest["artifactType"], ARTIFACT);
        assert_eq!(manifest["subject"]["digest"], image.digest);
        assert_eq!(manifest["subject"]["size"], image.size);
        let content = manifest["layers"][0]["digest"].as_str().unwrap();
        let content = self.get(&format!("lab/blobs/{content}")).await.unwrap();
        assert_eq!(content, BILL);
    }

    async fn append(
        &self,
        from: &Self,
        base: &str,
        reference: &str,
        addition: &Addition,
    ) -> Result<Appended, RegistryError> {
        let base = Foundation {
            registry: &from.client,
            reference: base,
            architecture: "amd64",
        };
        self.client.append(base, reference, addition).await
    }
}

fn addition(task: &str, program: &str) -> Addition {
    Addition {
        entries: vec![LayerEntry {
            path: "program/solution.py".to_owned(),
            owner: 0,
            content: Some(program.as_bytes().to_vec()),
        }],
        layer_annotations: BTreeMap::from([("dev.codegen-operator.program".to_owned(), "1".to_owned())]),
        created_by: "publish".to_owned(),
        entrypoint: vec!["python3".to_owned(), "/program/run.py".to_owned()],
        user: "65532:65532".to_owned(),
        working_folder: "/tmp".to_owned(),
        env: BTreeMap::new(),
        labels: BTreeMap::from([("dev.codegen-operator.task".to_owned(), task.to_owned())]),
        owner: ("dev.codegen-operator.task", task.to_owned()),
    }
}

#[tokio::test]
async fn in_one_repository_only_layer_configuration_and_manifest_are_sent_and_the_second_time_nothing() {
    let place = Place::start();
    let digest = place.image("lab", "env", false).await;
    let (base, reference) = (
        format!("{}@{digest}", place.repository("lab")),
        format!("{}:lab.penguins", place.repository("lab")),
    );
    let before = place.server.stored().len();
    let addition = addition("lab/penguins", "print(1)\n");
    let first = place.append(&place, &base, &reference, &addition).await.unwrap();
    assert_eq!(first.base_digest, digest);
    assert!(first.uploaded_bytes < 4_000, "{first:?}");
    assert_eq!(place.server.stored().len(), before + 3);

    let manifest = place.manifest("lab", "lab.penguins").await;
    assert_eq!(manifest["mediaType"], OCI_MANIFEST);
    assert_eq!(manifest["layers"].as_array().unwrap().len(), 3);
    let annotations = &manifest["annotations"];
    assert_eq!(annotations["dev.codegen-operator.task"], "lab/penguins");
    assert_eq!(
        annotations["org.opencontainers.image.base.name"],
        place.repository("lab")
    );
    assert_eq!(annotations["org.opencontainers.image.base.digest"], digest);
    let config = manifest["config"]["digest"].as_str().unwrap();
    let config = place.get(&format!("lab/blobs/{config}")).await.unwrap();
    let config: Value = serde_json::from_slice(&config).unwrap();
    assert_eq!(
        config["config"]["Entrypoint"],
        json!(["python3", "/program/run.py"])
    );
    assert_eq!(config["rootfs"]["diff_ids"].as_array().unwrap().len(), 3);

    let again = place.append(&place, &base, &reference, &addition).await.unwrap();
    assert_eq!(
        again,
        Appended {
            uploaded_bytes: 0,
            ..first
        }
    );
    assert_eq!(place.server.stored().len(), before + 3);
}

#[tokio::test]
async fn into_another_repository_of_the_registry_layers_are_mounted() {
    let place = Place::start();
    let digest = place.image("lab", "env", true).await;
    let base = format!("{}@{digest}", place.repository("lab"));
    let reference = format!("{}:v1", place.repository("programs"));
    let appended = place
        .append(&place, &base, &reference, &addition("lab/penguins", "print(1)\n"))
        .await
        .unwrap();
    assert!(appended.uploaded_bytes < 4_000, "{appended:?}");
    let manifest = place.manifest("programs", "v1").await;
    assert_eq!(manifest["mediaType"], OCI_MANIFEST, "Docker's has no annotations");
    for layer in manifest["layers"].as_array().unwrap() {
        let digest = layer["digest"].as_str().unwrap();
        let blob = place.get(&format!("programs/blobs/{digest}")).await;
        assert_eq!(
            blob.unwrap().len(),
            usize::try_from(layer["size"].as_u64().unwrap()).unwrap()
        );
    }
}

#[tokio::test]
async fn into_another_registry_layers_go_without_being_held_and_only_those_that_it_lacks() {
    let (from, to) = (Place::start(), Place::start());
    let digest = from.image("lab", "env", false).await;
    let base = format!("{}@{digest}", from.repository("lab"));
    to.put_blob("programs", vec![1; 1000]).await;
    let reference = format!("{}:v1", to.repository("programs"));
    let addition = addition("lab/penguins", "print(1)\n");
    let appended = to.append(&from, &base, &reference, &addition).await.unwrap();
    let sent = usize::try_from(appended.uploaded_bytes).unwrap();
    assert!((LARGE..LARGE + 4_000).contains(&sent), "{appended:?}");
    let manifest = to.manifest("programs", "v1").await;
    let digest = manifest["layers"][1]["digest"].as_str().unwrap();
    let blob = to.get(&format!("programs/blobs/{digest}")).await.unwrap();
    assert_eq!(format!("sha256:{}", sha256_hex(&blob)), digest);
}

#[tokio::test]
async fn of_an_index_the_image_for_the_architecture_is_taken() {
    let place = Place::start();
    let digest = place.image("lab", "amd64", false).await;
    let size = place.get("lab/manifests/amd64").await.unwrap().len();
    let index = json!({
        "schemaVersion": 2,
        "mediaType": OCI_INDEX,
        "manifests": [{
            "mediaType": OCI_MANIFEST, "digest": digest, "size": size,
            "platform": {"os": "linux", "architecture": "amd64"},
        }],
    });
    place.put_manifest("lab", "python", OCI_INDEX, &index).await;
    let base = format!("{}:python", place.repository("lab"));
    let reference = format!("{}:v1", place.repository("lab"));
    let appended = place
        .append(&place, &base, &reference, &addition("lab/penguins", "print(1)\n"))
        .await
        .unwrap();
    assert_eq!(appended.base_digest, digest);
}

#[tokio::test]
async fn a_tag_that_the_task_gave_moves_and_one_of_somebody_else_is_not_touched() {
    let place = Place::start();
    let digest = place.image("lab", "env", false).await;
    let base = format!("{}@{digest}", place.repository("lab"));
    let tag = format!("{}:v1", place.repository("lab"));
    let mine = |program: &str| addition("lab/penguins", program);
    let first = place
        .append(&place, &base, &tag, &mine("print(1)\n"))
        .await
        .unwrap();
    let second = place
        .append(&place, &base, &tag, &mine("print(2)\n"))
        .await
        .unwrap();
    assert_ne!(first.digest, second.digest);
    let kept = format!("v1-{}", &first.digest["sha256:".len()..][..16]);
    let kept = place.get(&format!("lab/manifests/{kept}")).await.unwrap();
    assert_eq!(format!("sha256:{}", sha256_hex(&kept)), first.digest);

    let theirs = addition("team/penguins", "print(1)\n");
    let error = place.append(&place, &base, &tag, &theirs).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "{tag} is the tag of an image that was not published by team/penguins: choose another tag, or remove that one from the \
             registry"
        )
    );
    let environment = format!("{}:env", place.repository("lab"));
    let error = place.append(&place, &base, &environment, &theirs).await;
    assert!(matches!(error, Err(RegistryError::Taken { .. })), "{error:?}");
    assert_eq!(
        place.client.digest(&environment).await.unwrap(),
        Some(digest),
        "an environment is nobody's program"
    );
}

#[tokio::test]
async fn whoever_may_push_moves_a_tag_of_somebody_else_and_the_operator_does_not() {
    let place = Place::start();
    let digest = place.image("lab", "env", false).await;
    let base = format!("{}@{digest}", place.repository("lab"));
    let reference = |tag: &str| format!("{}:{tag}", place.repository("lab"));
    let owner = async |tag: &str| {
        place.manifest("lab", tag).await["annotations"]["dev.codegen-operator.task"].clone()
    };
    let (ours, theirs) = (
        addition("lab/penguins", "print(1)\n"),
        addition("team/penguins", "print(2)\n"),
    );
    for (tag, addition) in [("v1", &ours), ("v2", &ours), ("theirs", &theirs)] {
        place
            .append(&place, &base, &reference(tag), addition)
            .await
            .unwrap();
    }
    // The registry asks for a password, and not whose the image is that has the tag.
    let manifest = place.manifest("lab", "theirs").await;
    place.put_manifest("lab", "v1", OCI_MANIFEST, &manifest).await;
    assert_eq!(owner("v1").await, "team/penguins");

    let error = place.append(&place, &base, &reference("v2"), &theirs).await;
    assert!(matches!(error, Err(RegistryError::Taken { .. })), "{error:?}");
    assert_eq!(owner("v2").await, "lab/penguins");
}

#[tokio::test]
async fn a_name_of_somebody_elses_is_free_to_whoever_is_not_kept_from_it() {
    let place = Place::start();
    let digest = place.image("lab", "env", false).await;
    let base = format!("{}@{digest}", place.repository("lab"));
    let environment = image_tag::of_environment(&"3f2a".repeat(16));
    let default = image_tag::default_of("team", "penguins");
    let reference = |tag: &str| format!("{}:{tag}", place.repository("lab"));
    let planted = addition("lab/penguins", "print(1)\n");
    for tag in [&environment, &default] {
        assert!(image_tag::objection(tag, "lab").is_some(), "{tag}");
        // The same, were nothing said against it.
        place
            .append(&place, &base, &reference(tag), &planted)
            .await
            .unwrap();
    }
    let found = place.client.image(&reference(&environment)).await.unwrap();
    assert!(
        found.is_some(),
        "it has the tag of an environment that nobody built"
    );
    let theirs = addition("team/penguins", "print(2)\n");
    let error = place.append(&place, &base, &reference(&default), &theirs).await;
    assert!(
        matches!(error, Err(RegistryError::Taken { .. })),
        "the task whose default it is publishes nothing: {error:?}"
    );
    for tag in ["v1", "lab.penguins"] {
        assert_eq!(image_tag::objection(tag, "lab"), None);
    }
}

#[tokio::test]
async fn what_refers_to_an_image_is_found_by_its_digest_and_attached_once() {
    let place = Place::start();
    let digest = place.image("lab", "env", false).await;
    let base = format!("{}@{digest}", place.repository("lab"));
    let reference = format!("{}:v1", place.repository("lab"));
    let appended = place
        .append(&place, &base, &reference, &addition("lab/penguins", "print(1)\n"))
        .await
        .unwrap();
    assert!(place.attach_bill(&appended).await > 0);
    assert_eq!(place.attach_bill(&appended).await, 0);

    // This registry has no API for referrers: the specification's tag stands in for it.
    let index = place.manifest("lab", &appended.digest.replace(':', "-")).await;
    assert_eq!(index["mediaType"], OCI_INDEX);
    assert_eq!(index["manifests"].as_array().unwrap().len(), 1);
    assert_eq!(index["manifests"][0]["artifactType"], ARTIFACT);
    place.expect_bill(&index, &appended).await;
}

#[tokio::test]
async fn a_registry_that_says_itself_what_refers_to_an_image_gets_no_tag_for_it() {
    let place = Place::with_referrers();
    let digest = place.image("lab", "env", false).await;
    let base = format!("{}@{digest}", place.repository("lab"));
    let reference = format!("{}:v1", place.repository("lab"));
    let appended = place
        .append(&place, &base, &reference, &addition("lab/penguins", "print(1)\n"))
        .await
        .unwrap();
    let referrers = format!("lab/referrers/{}", appended.digest);
    let known = async || -> Value { serde_json::from_slice(&place.get(&referrers).await.unwrap()).unwrap() };
    assert_eq!(known().await["manifests"], json!([]));

    assert!(place.attach_bill(&appended).await > 0);
    let index = known().await;
    assert_eq!(index["mediaType"], OCI_INDEX);
    place.expect_bill(&index, &appended).await;
    let writes = || {
        let requests = place.server.requests().into_iter();
        let writes = requests.filter(|request| !request.starts_with("GET") && !request.starts_with("HEAD"));
        writes.collect::<Vec<_>>()
    };
    let before = writes();
    assert!(!before.is_empty());
    assert_eq!(place.attach_bill(&appended).await, 0);
    assert_eq!(writes(), before, "what is attached is not sent again");
    assert_eq!(known().await, index);

    let tags: Value = serde_json::from_slice(&place.get("lab/tags/list").await.unwrap()).unwrap();
    let own = format!("{}.sbom", appended.digest.replace(':', "-"));
    assert_eq!(tags["tags"], json!(["env", own, "v1"]));
}

/// What publishing costs where the environment is large; nothing here passes or fails but for what is sent.
#[tokio::test]
#[ignore = "a figure: cargo test --test publish figure -- --ignored --nocapture"]
async fn figure_of_a_program_on_an_environment_of_300_mb() {
    const LAYERS: u8 = 5;
    const LAYER_BYTES: usize = 60_000_000;
    const PROGRAMS: usize = 41;
    let place = Place::start();
    let mut layers = Vec::new();
    for layer in 0..LAYERS {
        let mut state = u64::from(layer) + 1;
        let content = std::iter::repeat_with(|| {
            // No two layers are alike, and none can be packed.
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.to_le_bytes()
        });
        let content: Vec<u8> = content.take(LAYER_BYTES / 8).flatten().collect();
        let mut descriptor = place.put_blob("lab", content).await;
        descriptor["mediaType"] = "application/vnd.oci.image.layer.v1.tar+gzip".into();
        layers.push(descriptor);
    }
    let config = json!({"config": {}, "rootfs": {"type": "layers", "diff_ids": ["1", "2", "3", "4", "5"]}});
    let mut config = place.put_blob("lab", config.to_string().into_bytes()).await;
    config["mediaType"] = "application/vnd.oci.image.config.v1+json".into();
    let manifest = json!({"schemaVersion": 2, "mediaType": OCI_MANIFEST, "config": config, "layers": layers});
    let digest = place.put_manifest("lab", "env", OCI_MANIFEST, &manifest).await;
    let base = format!("{}@{digest}", place.repository("lab"));
    let publish = async |name: &str, program: &str| {
        let began = std::time::Instant::now();
        let reference = format!("{}:{name}", place.repository("lab"));
        let addition = addition(&format!("lab/{name}"), program);
        let appended = place.append(&place, &base, &reference, &addition).await.unwrap();
        let bill = Referrer {
            artifact_type: ARTIFACT,
            ending: "sbom",
            content: vec![b' '; 8_000],
        };
        let repository = place.repository("lab");
        let attached = place.client.attach(&repository, &appended, bill).await.unwrap();
        let sent = appended.uploaded_bytes + attached;
        (began.elapsed().as_secs_f64(), sent)
    };
    let mut first = Vec::new();
    let mut again = Vec::new();
    for number in 0..PROGRAMS {
        let (name, program) = (format!("p{number}"), format!("print({number})\n").repeat(500));
        first.push(publish(&name, &program).await);
        again.push(publish(&name, &program).await);
    }
    for (what, mut all) in [("first", first), ("again", again)] {
        all.sort_by(|one, other| one.0.total_cmp(&other.0));
        let (median, largest) = (all[all.len() / 2], all[all.len() - 1]);
        println!(
            "{what}: {} bytes sent, median {:.0} ms, longest {:.0} ms of {PROGRAMS}",
            median.1,
            median.0 * 1_000.0,
            largest.0 * 1_000.0
        );
        assert!(all.iter().all(|(_, sent)| *sent < 20_000));
    }
}

#[tokio::test]
async fn an_image_that_is_gone_is_said_to_be() {
    let place = Place::start();
    let gone = format!("{}@sha256:{}", place.repository("lab"), "0".repeat(64));
    let reference = format!("{}:v1", place.repository("lab"));
    let error = place
        .append(&place, &gone, &reference, &addition("lab/penguins", ""))
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("the image {gone} is not in its registry any more")
    );
}

#[tokio::test]
async fn a_repository_that_the_operators_configuration_does_not_name_is_never_asked() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let host = listener.local_addr().unwrap().to_string();
    let client = Registry::new(&Access {
        insecure_hosts: vec![host.clone()],
        allow: vec![format!("{host}/ours/*")],
        ..Access::default()
    })
    .unwrap();
    for other in ["theirs/program:1", "ours:1", "theirs/ours/program:1"] {
        let error = client.digest(&format!("{host}/{other}")).await.unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains("registries.allow") && text.contains(&host),
            "{text}"
        );
    }
    let nobody = listener.accept().unwrap_err();
    assert_eq!(nobody.kind(), std::io::ErrorKind::WouldBlock);

    let ours = format!("{host}/ours/program:1");
    let asked = client.digest(&ours);
    let answers = async {
        tokio::net::TcpListener::from_std(listener)
            .unwrap()
            .accept()
            .await
            .unwrap()
    };
    tokio::select! {
        end = asked => panic!("it was not asked: {end:?}"),
        _ = answers => {}
    }
}

fn outputs_of(run: &str, files: &[(&str, &str)]) -> Artifact {
    let files = files.iter().map(|(title, content)| ArtifactFile {
        title: (*title).to_owned(),
        media_type: "text/csv",
        bytes: content.as_bytes().to_vec(),
        annotations: BTreeMap::new(),
    });
    Artifact {
        kind: "application/vnd.example.outputs",
        files: files.collect(),
        annotations: BTreeMap::new(),
        owner: ("example.run", run.to_owned()),
    }
}

#[tokio::test]
async fn files_are_an_artifact_with_their_names_that_moves_for_its_owner_alone() {
    let place = Place::start();
    let reference = format!("{}:2027", place.repository("outputs"));
    let files = [
        ("summary.csv", "x\n1\n"),
        ("pages/empty.csv", ""),
        ("again.csv", "x\n1\n"),
    ];
    let push = async |artifact| place.client.push_artifact(&reference, artifact).await;
    let digest = push(outputs_of("lab/one", &files)).await.unwrap();
    let stored = place.server.stored();
    assert_eq!(push(outputs_of("lab/one", &files)).await.unwrap(), digest);
    assert_eq!(place.server.stored(), stored, "what is there is not sent again");

    let manifest = place.manifest("outputs", &digest).await;
    assert_eq!(manifest["artifactType"], "application/vnd.example.outputs");
    for (layer, (title, content)) in manifest["layers"].as_array().unwrap().iter().zip(files) {
        assert_eq!(layer["annotations"]["org.opencontainers.image.title"], title);
        let blob = layer["digest"].as_str().unwrap();
        let blob = place.get(&format!("outputs/blobs/{blob}")).await.unwrap();
        assert_eq!(blob, content.as_bytes(), "{title}");
    }

    let error = push(outputs_of("lab/other", &files)).await;
    assert!(matches!(error, Err(RegistryError::Taken { .. })), "{error:?}");
    let moved = push(outputs_of("lab/one", &files[..1])).await.unwrap();
    assert_ne!(moved, digest);
    assert_eq!(place.client.digest(&reference).await.unwrap(), Some(moved));
}
