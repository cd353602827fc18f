//! What refers to an image.

use serde_json::{Value, json};

use crate::place::{ARTIFACT, OCI_INDEX, Place, addition};

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
