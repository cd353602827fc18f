//! A layer more on an image that a registry has.

use codegen_core::digest::sha256_hex;
use codegen_registry::{Access, Appended, Referrer, Registry};
use serde_json::{Value, json};

use crate::place::{ARTIFACT, LARGE, OCI_INDEX, OCI_MANIFEST, Place, addition};

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
