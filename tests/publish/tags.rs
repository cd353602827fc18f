//! Whose tag moves, and who moves it.

use codegen_core::digest::sha256_hex;
use codegen_core::image_tag;
use codegen_registry::RegistryError;

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
