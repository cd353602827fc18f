//! `push-layout` against a real registry with htpasswd.

use std::collections::BTreeMap;
use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output};

use base64::Engine as _;
use codegen_core::digest::sha256_hex;
use codegen_registry::{
    Access, Credentials, EnvironmentFinding, EnvironmentPlace, RegistryImage, SignedEnvironment, SigningKeys,
};
use codegen_sandbox::kubernetes::folder_sha256;
use serde_json::{Value, json};

use crate::docker_registry::{PASSWORD, Registry, USER};

/// Pushes with the program.
trait Push {
    fn push(&self, layout: &Path, tag: &str, arguments: &[&str]) -> Output;
    fn push_as(&self, password: &str, layout: &Path, tag: &str, arguments: &[&str]) -> Output;
}

impl Push for Registry {
    fn push(&self, layout: &Path, tag: &str, arguments: &[&str]) -> Output {
        self.push_as(PASSWORD, layout, tag, arguments)
    }

    fn push_as(&self, password: &str, layout: &Path, tag: &str, arguments: &[&str]) -> Output {
        let credentials = self.credentials(password);
        push_layout(layout, &self.reference(tag))
            .arg("--credentials")
            .arg(credentials.path())
            .args(["--insecure-registry", &self.host])
            .args(arguments)
            .output()
            .unwrap()
    }
}

fn push_layout(layout: &Path, reference: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_codegen-operator"));
    command.arg("push-layout").arg(layout).arg(reference);
    // The registry is on the loopback: a proxy of the machine has no part in it.
    command.env("NO_PROXY", "127.0.0.1");
    command
}

fn blob(folder: &Path, bytes: &[u8]) -> Value {
    let hex = sha256_hex(bytes);
    fs::write(folder.join("blobs/sha256").join(&hex), bytes).unwrap();
    json!({"digest": format!("sha256:{hex}"), "size": bytes.len()})
}

fn typed(mut descriptor: Value, media_type: &str) -> Value {
    descriptor["mediaType"] = media_type.into();
    descriptor
}

/// An image of two layers, one of them larger than what is read at once; its digest.
fn layout(folder: &Path, first_layer: &[u8]) -> String {
    layout_of(folder, first_layer, &vec![7; 3_000_000])
}

/// A layer with these files.
fn layer_of(paths: &[&str]) -> Vec<u8> {
    let mut archive = tar::Builder::new(flate2::write::GzEncoder::new(
        Vec::new(),
        flate2::Compression::fast(),
    ));
    for path in paths {
        let mut header = tar::Header::new_gnu();
        header.set_size(4);
        header.set_mode(0o755);
        archive.append_data(&mut header, path, &b"evil"[..]).unwrap();
    }
    archive.into_inner().unwrap().finish().unwrap()
}

fn layout_of(folder: &Path, first_layer: &[u8], last_layer: &[u8]) -> String {
    let last_type = if last_layer.starts_with(&[0x1f, 0x8b]) {
        "application/vnd.oci.image.layer.v1.tar+gzip"
    } else {
        "application/vnd.oci.image.layer.v1.tar"
    };
    fs::create_dir_all(folder.join("blobs/sha256")).unwrap();
    let layer_type = "application/vnd.oci.image.layer.v1.tar";
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": typed(blob(folder, b"{}"), "application/vnd.oci.image.config.v1+json"),
        "layers": [
            typed(blob(folder, first_layer), layer_type),
            typed(blob(folder, last_layer), last_type),
        ],
    });
    let manifest = typed(
        blob(folder, manifest.to_string().as_bytes()),
        "application/vnd.oci.image.manifest.v1+json",
    );
    let digest = manifest["digest"].as_str().unwrap().to_owned();
    fs::write(
        folder.join("index.json"),
        json!({"manifests": [manifest]}).to_string(),
    )
    .unwrap();
    digest
}

fn result(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)))
}

#[test]
fn an_image_is_pushed_once_and_then_adopted() {
    let registry = Registry::start();
    let folder = tempfile::tempdir().unwrap();
    let digest = layout(folder.path(), b"a layer");
    let first = registry.push(folder.path(), "3f2a", &[]);
    assert_eq!(
        result(&first),
        json!({"digest": digest, "adopted": false, "uploadedBytes": 3_000_009})
    );
    let again = registry.push(folder.path(), "3f2a", &[]);
    assert_eq!(
        result(&again),
        json!({"digest": digest, "adopted": true, "uploadedBytes": 0})
    );
    let under_another_tag = registry.push(folder.path(), "77aa", &[]);
    assert_eq!(
        result(&under_another_tag),
        json!({"digest": digest, "adopted": false, "uploadedBytes": 0})
    );
    assert!(again.status.success() && under_another_tag.status.success());
}

#[test]
fn a_tag_that_is_there_keeps_its_image_unless_it_is_to_be_replaced() {
    let registry = Registry::start();
    let (old, new) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let old_digest = layout(old.path(), b"old");
    let new_digest = layout(new.path(), b"new");
    registry.push(old.path(), "3f2a", &[]);
    assert_eq!(
        result(&registry.push(new.path(), "3f2a", &[]))["digest"],
        old_digest
    );
    let replaced = registry.push(new.path(), "3f2a", &["--replace"]);
    assert_eq!(
        result(&replaced),
        json!({"digest": new_digest, "adopted": false, "uploadedBytes": 3})
    );
}

#[test]
fn the_result_also_lies_in_a_file_for_the_termination_message() {
    let registry = Registry::start();
    let folder = tempfile::tempdir().unwrap();
    layout(folder.path(), b"a layer");
    let message = folder.path().join("message");
    let output = registry.push(folder.path(), "3f2a", &["--result", message.to_str().unwrap()]);
    let written: Value = serde_json::from_slice(&fs::read(message).unwrap()).unwrap();
    assert_eq!(written, result(&output));
}

#[test]
fn an_image_whose_tag_is_taken_keeps_one_of_its_own() {
    let registry = Registry::start();
    let (old, new) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let old_digest = layout(old.path(), b"old");
    layout(new.path(), b"new");
    registry.push(old.path(), "3f2a", &[]);
    registry.push(new.path(), "3f2a", &["--replace"]);
    let kept = format!("3f2a-{}", &old_digest["sha256:".len()..][..16]);
    let there = result(&registry.push(new.path(), &kept, &[]));
    assert_eq!(
        (&there["digest"], &there["adopted"]),
        (&json!(old_digest), &json!(true))
    );
}

#[test]
fn what_is_installed_is_asked_of_the_registry_in_one_request() {
    let registry = Registry::start();
    let folder = tempfile::tempdir().unwrap();
    let digest = layout(folder.path(), b"a layer");
    let installed = folder.path().join("requirements.txt");
    fs::write(
        &installed,
        format!(
            "# Python 3.12.4 on x86_64\nsix==1.17.0\npytest==9.0 --hash=sha256:{}\n",
            "1f".repeat(32)
        ),
    )
    .unwrap();
    let argument = format!("--installed={}", installed.display());
    let pushed = result(&registry.push(folder.path(), "3f2a", &[&argument]));
    assert_ne!(pushed["digest"], digest);

    let operator = Operator::of(&registry);
    let image = |tag: &str| {
        let reference = registry.reference(tag);
        let found = operator.client.image(&reference);
        operator.runtime.block_on(found).unwrap()
    };
    let found = image("3f2a").unwrap();
    assert_eq!(found.digest, pushed["digest"]);
    assert_eq!(found.installed.python, "3.12.4");
    assert_eq!(found.installed.names(), ["pytest==9.0", "six==1.17.0"]);
    assert_eq!(found.installed.packages[0].sha256, Some("1f".repeat(32)));
    assert_eq!(image("nowhere"), None);
}

#[test]
fn a_wrong_password_is_a_configuration_error_that_does_not_quote_it() {
    let registry = Registry::start();
    let folder = tempfile::tempdir().unwrap();
    layout(folder.path(), b"a layer");
    let output = registry.push_as("wrong-hunter", folder.path(), "3f2a", &[]);
    assert_eq!(output.status.code(), Some(3));
    let found = result(&output);
    assert_eq!(found["category"], "configuration");
    let message = found["message"].as_str().unwrap();
    assert!(
        message.starts_with(&format!("{} refused", registry.host)),
        "{message}"
    );
    let said = format!("{output:?}");
    let encoded = base64::engine::general_purpose::STANDARD.encode(format!("{USER}:wrong-hunter"));
    assert!(
        !said.contains("wrong-hunter") && !said.contains(&encoded),
        "{said}"
    );
}

#[test]
fn a_layout_with_one_forged_blob_uploads_nothing() {
    let registry = Registry::start();
    let folder = tempfile::tempdir().unwrap();
    layout(folder.path(), b"a layer");
    let hex = sha256_hex(b"a layer");
    fs::write(folder.path().join("blobs/sha256").join(hex), b"A LAYER").unwrap();
    let output = registry.push(folder.path(), "3f2a", &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        result(&output)["message"]
            .as_str()
            .unwrap()
            .contains("another content than its digest")
    );
    assert_eq!(registry.stored(), Vec::<String>::new());
}

#[test]
fn an_image_that_was_built_from_files_of_somebody_else_is_not_pushed() {
    let registry = Registry::start();
    let (folder, files) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    layout(folder.path(), b"a layer");
    let built_from = format!("--built-from={}", files.path().display());
    let wanted = folder_sha256([("Dockerfile", b"FROM x\n".as_slice())]);
    let wanted = format!("--built-from-sha256={wanted}");
    for planted in [
        ("Dockerfile", "FROM evil\n"),
        ("Dockerfile", ""),
        ("more.py", "import os\n"),
    ] {
        fs::write(files.path().join("Dockerfile"), "FROM x\n").unwrap();
        fs::write(files.path().join(planted.0), planted.1).unwrap();
        let output = registry.push(folder.path(), "3f2a", &[&built_from, &wanted]);
        assert_eq!(output.status.code(), Some(3));
        let message = result(&output)["message"].as_str().unwrap().to_owned();
        assert!(
            message.contains("somebody has replaced the ConfigMap"),
            "{message}"
        );
    }
    assert_eq!(registry.stored(), Vec::<String>::new());
    let unasked = registry.push(folder.path(), "7c1e", &[]);
    assert_eq!(
        unasked.status.code(),
        Some(0),
        "where nobody asks what it was built from it is pushed"
    );

    // What the kubelet keeps beside them is none of them.
    fs::remove_file(files.path().join("more.py")).unwrap();
    fs::create_dir(files.path().join("..data")).unwrap();
    let output = registry.push(folder.path(), "3f2a", &[&built_from, &wanted]);
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn two_pushes_at_once_both_end_with_the_digest_that_is_there() {
    let registry = Registry::start();
    let folder = tempfile::tempdir().unwrap();
    let digest = layout(folder.path(), b"a layer");
    let (one, other) = std::thread::scope(|scope| {
        let one = scope.spawn(|| registry.push(folder.path(), "3f2a", &[]));
        let other = scope.spawn(|| registry.push(folder.path(), "3f2a", &[]));
        (one.join().unwrap(), other.join().unwrap())
    });
    assert_eq!(
        (&result(&one)["digest"], &result(&other)["digest"]),
        (&json!(digest), &json!(digest))
    );
}

#[test]
fn a_registry_that_nobody_knows_is_a_configuration_error_that_names_it() {
    let folder = tempfile::tempdir().unwrap();
    layout(folder.path(), b"a layer");
    let mut command = push_layout(folder.path(), "registry.invalid/environments:3f2a");
    for name in ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"] {
        command.env_remove(name);
    }
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(
        result(&output),
        json!({
            "category": "configuration",
            "message": "no address is known for the registry registry.invalid; check its name, and that the cluster's DNS knows it"
        })
    );
}

#[test]
fn a_registry_that_does_not_answer_is_tried_again_and_then_an_infrastructure_error() {
    let folder = tempfile::tempdir().unwrap();
    layout(folder.path(), b"a layer");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let host = listener.local_addr().unwrap().to_string();
    // Takes every connection and says nothing; ends with the process.
    std::thread::spawn(move || listener.incoming().for_each(drop));
    let output = push_layout(folder.path(), &format!("{host}/environments:3f2a"))
        .args(["--insecure-registry", &host])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let found = result(&output);
    assert_eq!(found["category"], "infrastructure");
    assert!(
        found["message"]
            .as_str()
            .unwrap()
            .starts_with(&format!("{host} failed at")),
        "{found}"
    );
}

/// The operator, with a key of its own.
struct Operator {
    client: codegen_registry::Registry,
    keys: SigningKeys,
    repository: String,
    runtime: tokio::runtime::Runtime,
}

impl Operator {
    fn of(registry: &Registry) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let config = fs::read(registry.credentials(PASSWORD).path()).unwrap();
        let client = codegen_registry::Registry::new(&Access {
            insecure_hosts: vec![registry.host.clone()],
            credentials: Credentials::from_docker_config(&config).unwrap(),
            ..Access::default()
        });
        let key = SigningKeys::generate().unwrap().into_bytes();
        let (repository, _) = registry.reference(TAG).rsplit_once(':').map(own).unwrap();
        Self {
            client: client.unwrap(),
            keys: SigningKeys::of_entries(&BTreeMap::from([("1.pem".to_owned(), key)])).unwrap(),
            repository,
            runtime: tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap(),
        }
    }

    fn place<'a>(&'a self, tag: &'a str) -> EnvironmentPlace<'a> {
        EnvironmentPlace {
            repository: &self.repository,
            tag,
        }
    }

    fn finds(&self, tag: &str) -> EnvironmentFinding {
        let found = self.client.environment(self.place(tag), &self.keys);
        self.runtime.block_on(found).unwrap()
    }

    fn signs(&self, tag: &str, digest: &str) -> Option<SignedEnvironment> {
        let signed = self.client.sign(self.place(tag), digest, &self.keys);
        self.runtime.block_on(signed).unwrap()
    }
}

const TAG: &str = "codegen-env-3f2a";

fn own((repository, tag): (&str, &str)) -> (String, String) {
    (repository.to_owned(), tag.to_owned())
}

fn signed(found: EnvironmentFinding) -> RegistryImage {
    match found {
        EnvironmentFinding::Signed(image) => image,
        other => panic!("{other:?}"),
    }
}

/// An image that is pushed as builds push theirs; its digest.
fn built(registry: &Registry, layer: &[u8]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let digest = layout(folder.path(), layer);
    let pushed = result(&registry.push(folder.path(), TAG, &["--untagged"]));
    assert_eq!(pushed["digest"], digest);
    digest
}

/// An image that somebody pushes with the same credentials under a tag; its digest.
fn planted(registry: &Registry, tag: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let digest = layout(folder.path(), b"somebody else's");
    registry.push(folder.path(), tag, &["--replace"]);
    digest
}

#[test]
fn what_somebody_pushed_under_the_tag_of_an_environment_is_none_and_gives_way() {
    let registry = Registry::start();
    let operator = Operator::of(&registry);
    assert_eq!(operator.finds(TAG), EnvironmentFinding::Absent);
    let theirs = planted(&registry, TAG);
    // Whoever goes by the tag alone takes it for the environment, also in the place of what was built.
    let by_its_tag = registry.reference(TAG);
    let by_its_tag = operator.client.image(&by_its_tag);
    let by_its_tag = operator.runtime.block_on(by_its_tag).unwrap().unwrap();
    assert_eq!(by_its_tag.digest, theirs);
    let folder = tempfile::tempdir().unwrap();
    layout(folder.path(), b"the environment");
    let adopted = result(&registry.push(folder.path(), TAG, &[]));
    assert_eq!(adopted["digest"], theirs);
    assert_eq!(operator.finds(TAG), EnvironmentFinding::Unsigned(theirs.clone()));

    let digest = built(&registry, b"the environment");
    assert_eq!(
        operator.finds(TAG),
        EnvironmentFinding::Unsigned(theirs.clone()),
        "a build gives no tag to what it pushes"
    );
    let adopted = operator.signs(TAG, &digest).unwrap();
    assert_eq!(adopted.replaced, Some(theirs));
    assert_eq!(signed(operator.finds(TAG)), adopted.image);
    assert_ne!(
        adopted.image.digest, digest,
        "the signature is part of the manifest"
    );
    assert_eq!(
        operator.signs(TAG, &digest).unwrap().replaced,
        None,
        "and signing again changes nothing"
    );

    planted(&registry, TAG);
    assert!(matches!(operator.finds(TAG), EnvironmentFinding::Unsigned(_)));
}

#[test]
fn an_environment_is_one_for_operators_with_its_key_and_at_its_tag_alone() {
    let registry = Registry::start();
    let operator = Operator::of(&registry);
    let digest = built(&registry, b"the environment");
    let image = operator.signs(TAG, &digest).unwrap().image;
    assert!(matches!(
        Operator::of(&registry).finds(TAG),
        EnvironmentFinding::Unsigned(_)
    ));

    // Whoever may push gives what was signed another tag.
    let copied = operator.signs("codegen-env-77aa", &image.digest).unwrap().image;
    assert_ne!(
        copied.digest, image.digest,
        "the operator itself signs for each tag"
    );
    let other = Operator::of(&registry);
    other.signs(TAG, &image.digest).unwrap();
    assert!(
        matches!(operator.finds(TAG), EnvironmentFinding::Unsigned(_)),
        "a signature of another key takes the place of ours"
    );
}

#[test]
fn an_environment_that_gives_way_to_another_keeps_a_tag_and_what_is_gone_is_not_signed() {
    let registry = Registry::start();
    let operator = Operator::of(&registry);
    let old = operator.signs(TAG, &built(&registry, b"old")).unwrap().image;
    let new = operator.signs(TAG, &built(&registry, b"new")).unwrap();
    assert_eq!(new.replaced, None, "it was signed, so nobody is told");
    assert_eq!(signed(operator.finds(TAG)), new.image);
    let kept = format!("{TAG}-{}", &old.digest["sha256:".len()..][..16]);
    let kept = registry.reference(&kept);
    let found = operator.client.digest(&kept);
    assert_eq!(operator.runtime.block_on(found).unwrap(), Some(old.digest));
    let nowhere = format!("sha256:{}", "0".repeat(64));
    assert_eq!(operator.signs(TAG, &nowhere), None);
}

#[test]
fn an_image_whose_package_layer_leaves_its_environment_is_not_pushed() {
    let registry = Registry::start();
    let push = |name: &str, paths: &[&str], arguments: &[&str]| {
        let folder = tempfile::tempdir().unwrap();
        layout_of(folder.path(), b"the base", &layer_of(paths));
        registry.push(folder.path(), name, arguments)
    };
    let judged = ["--environment=/opt/codegen"];
    let honest = push("honest", &["opt/codegen/bin/tool"], &judged);
    assert!(
        honest.status.success(),
        "{}",
        String::from_utf8_lossy(&honest.stdout)
    );

    let hostile = ["opt/codegen/bin/tool", "bin/sh"];
    let refused = push("hostile", &hostile, &judged);
    assert_eq!(refused.status.code(), Some(3));
    let said = String::from_utf8_lossy(&refused.stdout);
    for part in [
        "the layer of its pip packages has bin/sh",
        "outside of the environment",
    ] {
        assert!(said.contains(part), "{said}");
    }
    // Without the check it is there for every task.
    assert!(push("hostile", &hostile, &[]).status.success());
}
