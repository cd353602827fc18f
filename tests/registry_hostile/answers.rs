//! Answers without an end, with another content, or with words for the status.

use codegen_registry::{Access, Foundation, Registry, RegistryError};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use wiremock::matchers::path_regex;
use wiremock::{Mock, ResponseTemplate};

use crate::scene::{DIGEST, INSIDE, Scene, plain};

/// A registry that has these answers, by the ends of paths, and for whatever else it is asked one with this status that has no end. In an
/// answer, `@` is its host.
async fn endless(status: &'static str, answers: &'static [(&'static str, &'static str)]) -> String {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let host = listener.local_addr().unwrap().to_string();
    let own = host.clone();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(answer(stream, own.clone(), status, answers));
        }
    });
    host
}

async fn answer(mut stream: TcpStream, host: String, status: &str, answers: &[(&str, &str)]) {
    let mut asked = Vec::new();
    while !asked.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => asked.push(byte),
            Err(_) => return,
        }
    }
    let asked = String::from_utf8(asked).unwrap();
    let path = asked.split(' ').nth(1).unwrap();
    if let Some((_, fixed)) = answers.iter().find(|(end, _)| path.ends_with(end)) {
        stream
            .write_all(fixed.replace('@', &host).as_bytes())
            .await
            .unwrap();
        return;
    }
    let part = format!("10000\r\n{}\r\n", " ".repeat(0x10000));
    let head = format!("HTTP/1.1 {status}\r\ntransfer-encoding: chunked\r\n\r\n");
    if stream.write_all(head.as_bytes()).await.is_ok() {
        // Until whoever asked has enough.
        while stream.write_all(part.as_bytes()).await.is_ok() {}
    }
}

/// A client that shows nothing to the registry at a host.
fn client_of(host: &str) -> Registry {
    Registry::new(&Access {
        insecure_hosts: vec![host.to_owned()],
        ..Access::default()
    })
    .unwrap()
}

/// Asks for nothing.
const OPEN: (&str, &str) = (
    "/v2/",
    "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n",
);
/// Wants a token of its own.
const CLOSED: (&str, &str) = (
    "/v2/",
    "HTTP/1.1 401 Unauthorized\r\nwww-authenticate: Bearer realm=\"http://@/token\"\r\nconnection: close\r\ncontent-length: 0\r\n\r\n",
);

#[tokio::test]
async fn a_layer_with_another_content_than_its_digest_names_is_not_taken() {
    let scene = Scene::open().await;
    let blob = json!({"digest": DIGEST, "size": INSIDE.len(), "mediaType": "application/vnd.oci.image.layer.v1.tar+gzip",
        "annotations": {"mark": "1"}});
    let manifest = json!({"schemaVersion": 2, "config": blob, "layers": [blob]}).to_string();
    Mock::given(path_regex("/manifests/"))
        .respond_with(ResponseTemplate::new(200).set_body_string(manifest))
        .mount(&scene.registry)
        .await;
    Scene::everything(
        &scene.registry,
        ResponseTemplate::new(200).set_body_string(INSIDE),
    )
    .await;
    let url = format!("{}/v2/lab/blobs/{DIGEST}", scene.registry.uri());
    let got = plain().get(url).send().await.unwrap();
    assert_eq!(
        got.text().await.unwrap(),
        INSIDE,
        "a registry gives what it likes for a digest"
    );
    let (client, reference) = (scene.client(), scene.reference());
    let image = Foundation {
        registry: &client,
        reference: &reference,
        architecture: "amd64",
    };
    let error = image.layer(("mark", "1"), 1_000).await.unwrap_err();
    assert!(
        error
            .to_string()
            .contains("another content than its digest names"),
        "{error}"
    );
}

#[tokio::test]
async fn an_answer_without_an_end_is_read_up_to_its_bound_and_a_plain_client_reads_on() {
    let host = endless("200 OK", &[OPEN]).await;
    let url = format!("http://{host}/v2/lab/manifests/v1");
    let mut answer = plain().get(url).send().await.unwrap();
    let mut read = 0;
    while read < 64 * 1024 * 1024 {
        read += answer.chunk().await.unwrap().unwrap().len();
    }
    drop(answer);
    let error = client_of(&host)
        .image(&format!("{host}/lab:v1"))
        .await
        .unwrap_err();
    assert!(error.to_string().contains("more than 4194304 bytes"), "{error}");

    let host = endless("200 OK", &[CLOSED]).await;
    let error = client_of(&host)
        .image(&format!("{host}/lab:v1"))
        .await
        .unwrap_err();
    assert!(error.to_string().contains("more than 65536 bytes"), "{error}");

    let host = endless("400 Bad Request", &[OPEN]).await;
    let error = client_of(&host)
        .image(&format!("{host}/lab:v1"))
        .await
        .unwrap_err();
    assert!(error.to_string().ends_with("400 Bad Request"), "{error}");
}

#[tokio::test]
async fn a_manifest_of_more_than_4_mib_is_not_held() {
    let scene = Scene::open().await;
    let large = ResponseTemplate::new(200).set_body_bytes(vec![b' '; 4 * 1024 * 1024 + 1]);
    Scene::everything(&scene.registry, large).await;
    let error = scene.client().image(&scene.reference()).await.unwrap_err();
    assert!(matches!(error, RegistryError::Rejected { .. }), "{error:?}");
    assert!(error.to_string().contains("more than 4194304 bytes"), "{error}");
}

#[tokio::test]
async fn of_an_error_the_specifications_form_is_quoted_cut_and_on_one_line() {
    let scene = Scene::open().await;
    let said = format!("no\u{1b}[31m such\r\nlevel=error {}", "x".repeat(5_000));
    let body = json!({"errors": [{"code": "UNSUPPORTED", "message": said}]});
    Scene::everything(&scene.registry, ResponseTemplate::new(400).set_body_json(body)).await;
    let answer: serde_json::Value = serde_json::from_str(&scene.answers().await).unwrap();
    let quoted = answer["errors"][0]["message"].as_str().unwrap();
    assert!(
        quoted.lines().any(|line| line.starts_with("level=error")),
        "a line of a log that nobody wrote"
    );
    let text = scene.says().await;
    assert!(
        text.contains("UNSUPPORTED: no [31m such level=error xxx"),
        "{text}"
    );
    assert!(
        text.chars().count() < 900 && !text.chars().any(char::is_control),
        "{text}"
    );
}

#[tokio::test]
async fn an_error_of_another_form_is_reported_by_its_status_alone() {
    let scene = Scene::open().await;
    Scene::everything(
        &scene.registry,
        ResponseTemplate::new(400).set_body_string(INSIDE),
    )
    .await;
    assert_eq!(scene.answers().await, INSIDE);
    let text = scene.says().await;
    assert!(text.ends_with("400 Bad Request"), "{text}");
}

#[tokio::test]
async fn a_digest_that_is_none_is_not_taken_over() {
    let scene = Scene::open().await;
    let odd = ResponseTemplate::new(200).insert_header("docker-content-digest", "sha256:1 and more");
    Scene::everything(&scene.registry, odd).await;
    let error = scene.client().digest(&scene.reference()).await.unwrap_err();
    assert!(error.to_string().contains("no digest"), "{error}");
}
