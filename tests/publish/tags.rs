//! Whose tag moves, and who moves it.

use std::collections::BTreeMap;

use codegen_core::digest::sha256_hex;
use codegen_core::image_tag;
use codegen_registry::{Artifact, ArtifactFile, FileContent, RegistryError};

use crate::place::{OCI_MANIFEST, Place, addition};

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
async fn a_reserved_tag_is_free_to_whoever_does_not_check_it() {
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

fn outputs_of(run: &str, files: &[(&str, &str)]) -> Artifact {
    let files = files.iter().map(|(title, content)| ArtifactFile {
        title: (*title).to_owned(),
        media_type: "text/csv",
        content: FileContent::Bytes(content.as_bytes().to_vec()),
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
    let digest = push(outputs_of("lab/one", &files)).await.unwrap().digest;
    let stored = place.server.stored();
    assert_eq!(push(outputs_of("lab/one", &files)).await.unwrap().digest, digest);
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
    let moved = push(outputs_of("lab/one", &files[..1])).await.unwrap().digest;
    assert_ne!(moved, digest);
    assert_eq!(place.client.digest(&reference).await.unwrap(), Some(moved));
}
