//! Who is shown a password, and who gives a token.

use base64::Engine as _;
use codegen_registry::RegistryError;
use serde_json::json;
use wiremock::matchers::{header, path, query_param};
use wiremock::{Mock, ResponseTemplate};

use crate::scene::{DIGEST, INSIDE, PASSWORD, Scene, USER};

fn token() -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_json(json!({"token": "t0ken", "expires_in": 300}))
}

fn login() -> String {
    let login = base64::engine::general_purpose::STANDARD.encode(format!("{USER}:{PASSWORD}"));
    format!("Basic {login}")
}

#[tokio::test]
async fn a_realm_at_a_host_that_is_not_the_registrys_is_neither_asked_nor_shown_a_password() {
    let scene = Scene::open().await;
    Scene::everything(&scene.other, token()).await;
    scene
        .wants_token_of(&format!("{}/token", scene.other.uri()))
        .await;
    let error = scene.client().digest(&scene.reference()).await.unwrap_err();
    scene.expect_other_alone(&error).await;
}

#[tokio::test]
async fn a_realm_of_the_registry_itself_is_asked_with_the_password_that_is_meant_for_it() {
    let scene = Scene::open().await;
    scene
        .wants_token_of(&format!("{}/token?of=tests", scene.registry.uri()))
        .await;
    Mock::given(path("/token"))
        .and(query_param("of", "tests"))
        .and(query_param("service", "tests"))
        .and(query_param("scope", "repository:lab:pull"))
        .and(header("authorization", login().as_str()))
        .respond_with(token())
        .mount(&scene.registry)
        .await;
    let client = scene.client();
    for _ in 0..2 {
        let found = client.digest(&scene.reference()).await.unwrap();
        assert_eq!(found.as_deref(), Some(DIGEST));
    }
    let requests = scene.registry.received_requests().await.unwrap();
    let tokens = requests
        .iter()
        .filter(|request| request.url.path() == "/token")
        .count();
    assert_eq!(tokens, 1, "a token is used until it ends");
}

#[tokio::test]
async fn a_realm_that_the_settings_name_is_asked() {
    let scene = Scene::open().await;
    scene
        .wants_token_of(&format!("{}/token", scene.other.uri()))
        .await;
    Mock::given(header("authorization", login().as_str()))
        .respond_with(token())
        .mount(&scene.other)
        .await;
    let client = scene.client_with(&[scene.other.uri()]);
    let found = client.digest(&scene.reference()).await.unwrap();
    assert_eq!(found.as_deref(), Some(DIGEST));
    assert_eq!(scene.asked().await.len(), 1);
}

#[tokio::test]
async fn a_realm_that_does_not_give_a_token_is_quoted_in_the_specifications_form_alone() {
    let scene = Scene::open().await;
    let realm = format!("{}/token", scene.registry.uri());
    scene.wants_token_of(&realm).await;
    let page = ResponseTemplate::new(403).set_body_string(INSIDE);
    Mock::given(path("/token"))
        .respond_with(page)
        .mount(&scene.registry)
        .await;
    let error = scene.client().digest(&scene.reference()).await.unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, RegistryError::Refused { .. }), "{text}");
    assert!(text.contains("403 Forbidden") && !text.contains(INSIDE), "{text}");
}

#[tokio::test]
async fn a_token_of_more_than_64_kib_is_not_read() {
    let scene = Scene::open().await;
    let realm = format!("{}/token", scene.registry.uri());
    scene.wants_token_of(&realm).await;
    let large = json!({"token": "t0ken", "filler": "x".repeat(70_000)});
    Mock::given(path("/token"))
        .respond_with(ResponseTemplate::new(200).set_body_json(large))
        .mount(&scene.registry)
        .await;
    let error = scene.client().digest(&scene.reference()).await.unwrap_err();
    assert!(error.to_string().contains("more than 65536 bytes"), "{error}");
}
