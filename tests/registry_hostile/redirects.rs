//! Registries that send the operator to another address.

use codegen_registry::{Appended, Foundation, Referrer};
use serde_json::json;
use wiremock::matchers::{header_exists, path, path_regex};
use wiremock::{Mock, ResponseTemplate};

use crate::scene::{DIGEST, INSIDE, Scene};

#[tokio::test]
async fn a_manifest_that_lies_at_another_address_is_not_fetched_from_there() {
    let scene = Scene::open().await;
    Scene::everything(&scene.other, ResponseTemplate::new(200).set_body_string(INSIDE)).await;
    scene.sends_away("GET", 307, "/manifests/").await;
    let error = scene.client().image(&scene.reference()).await.unwrap_err();
    scene.expect_other_alone(&error).await;
}

#[tokio::test]
async fn what_lies_at_a_listed_address_is_fetched_without_the_registrys_password() {
    let scene = Scene::open().await;
    let manifest = json!({"schemaVersion": 2, "annotations": {}}).to_string();
    Scene::everything(&scene.other, ResponseTemplate::new(200).set_body_string(manifest)).await;
    scene.sends_away("GET", 307, "/manifests/").await;
    Mock::given(path("/v2/"))
        .respond_with(ResponseTemplate::new(401).insert_header("www-authenticate", "Basic realm=\"tests\""))
        .mount(&scene.registry)
        .await;
    let client = scene.client_with(&[scene.other.uri()]);
    assert!(client.image(&scene.reference()).await.unwrap().is_some());
    let with_password = header_exists("authorization");
    let asked = scene.asked().await;
    assert_eq!(asked.len(), 1);
    assert!(
        !asked
            .iter()
            .any(|request| wiremock::Match::matches(&with_password, request))
    );
    let own = scene.registry.received_requests().await.unwrap();
    assert!(
        own.iter()
            .any(|request| wiremock::Match::matches(&with_password, request))
    );
}

#[tokio::test]
async fn a_redirect_loop_ends() {
    let scene = Scene::open().await;
    let place = format!("{}/v2/lab/manifests/v1", scene.registry.uri());
    Mock::given(path_regex("/manifests/"))
        .respond_with(ResponseTemplate::new(307).insert_header("location", place.as_str()))
        .mount(&scene.registry)
        .await;
    let asked = async || scene.registry.received_requests().await.unwrap().len();
    // Whoever follows does so for as long as it is willing to.
    let follows = reqwest::Client::builder().redirect(reqwest::redirect::Policy::limited(100));
    let follows = follows.no_proxy().build().unwrap().get(&place).send().await;
    assert!(follows.unwrap_err().is_redirect());
    assert_eq!(asked().await, 101);

    let error = scene.client().image(&scene.reference()).await.unwrap_err();
    assert!(
        error.to_string().contains("from one address to the next"),
        "{error}"
    );
    // What it wants to see was asked for first.
    assert_eq!(asked().await, 101 + 7);
}

#[tokio::test]
async fn a_blob_is_not_sent_to_another_address_that_the_registry_names() {
    let scene = Scene::open().await;
    Scene::everything(&scene.other, ResponseTemplate::new(201)).await;
    scene.sends_away("POST", 202, "/blobs/uploads/").await;
    let image = Appended {
        digest: DIGEST.to_owned(),
        size: 1,
        base_digest: DIGEST.to_owned(),
        uploaded_bytes: 0,
    };
    let referrer = Referrer {
        artifact_type: "application/vnd.example",
        ending: "sbom",
        content: b"x\n1\n".to_vec(),
    };
    let error = scene
        .client()
        .attach(&format!("{}/lab", scene.host()), &image, referrer)
        .await;
    scene.expect_other_alone(&error.unwrap_err()).await;
}

#[tokio::test]
async fn a_layer_of_a_base_that_lies_at_another_address_is_not_fetched_from_there() {
    let scene = Scene::open().await;
    let blob = json!({"digest": DIGEST, "size": 20, "mediaType": "application/vnd.oci.image.layer.v1.tar+gzip",
        "annotations": {"mark": "1"}});
    let manifest = json!({"schemaVersion": 2, "config": blob, "layers": [blob]}).to_string();
    Mock::given(path_regex("/manifests/"))
        .respond_with(ResponseTemplate::new(200).set_body_string(manifest))
        .mount(&scene.registry)
        .await;
    Scene::everything(&scene.other, ResponseTemplate::new(200).set_body_string(INSIDE)).await;
    scene.sends_away("GET", 302, "/blobs/").await;
    let client = scene.client();
    let reference = scene.reference();
    let image = Foundation {
        registry: &client,
        reference: &reference,
        architecture: "amd64",
    };
    let error = image.layer(("mark", "1"), 1_000).await.unwrap_err();
    scene.expect_other_alone(&error).await;
}
