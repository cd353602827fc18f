//! Registries that send the operator elsewhere, answer without an end, or put words into its mouth.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests say what they expect"
)]

use std::collections::BTreeMap;

use base64::Engine as _;
use codegen_operator::egress::Entry;
use codegen_operator::registry::{
    Access, Artifact, ArtifactFile, Credentials, Foundation, Registry, RegistryError,
};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use wiremock::matchers::{header, header_exists, method, path, path_regex, query_param};
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

const USER: &str = "builder";
const PASSWORD: &str = "hunter-22-builder";
const DIGEST: &str = "sha256:1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f";
/// What lies on a server that only the operator reaches.
const INSIDE: &str = "a page of the inside";
const SETTING: &str = "registries.trustedOrigins";

/// A registry, and a server that it has no business with.
struct Scene {
    registry: MockServer,
    other: MockServer,
}

impl Scene {
    async fn open() -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        Self {
            registry: MockServer::start().await,
            other: MockServer::start().await,
        }
    }

    fn host(&self) -> String {
        self.registry.address().to_string()
    }

    fn reference(&self) -> String {
        format!("{}/lab:v1", self.host())
    }

    fn client(&self) -> Registry {
        self.client_with(&[])
    }

    /// A client that shows a password to the registry, and may go to these origins besides.
    fn client_with(&self, trusted: &[String]) -> Registry {
        let host = self.host();
        let config = json!({"auths": {&host: {"username": USER, "password": PASSWORD}}}).to_string();
        Registry::new(&Access {
            insecure_hosts: vec![host],
            credentials: Credentials::from_docker_config(config.as_bytes()).unwrap(),
            trusted_origins: trusted
                .iter()
                .map(|origin| Entry::try_from(origin.clone()).unwrap())
                .collect(),
            ..Access::default()
        })
        .unwrap()
    }

    /// The registry wants a token of `realm`, and answers to whoever has it.
    async fn wants_token_of(&self, realm: &str) {
        Mock::given(header("authorization", "Bearer t0ken"))
            .respond_with(ResponseTemplate::new(200).insert_header("docker-content-digest", DIGEST))
            .mount(&self.registry)
            .await;
        let challenge = format!("Bearer realm=\"{realm}\",service=\"tests\"");
        Mock::given(path_regex("^/v2/"))
            .respond_with(ResponseTemplate::new(401).insert_header("www-authenticate", challenge.as_str()))
            .with_priority(9)
            .mount(&self.registry)
            .await;
    }

    /// Whatever the registry is asked for lies at the other server, it says.
    async fn sends_away(&self, verb: &str, status: u16, answers: &str) {
        let place = format!("{}/secret", self.other.uri());
        Mock::given(method(verb))
            .and(path_regex(answers))
            .respond_with(ResponseTemplate::new(status).insert_header("location", place.as_str()))
            .mount(&self.registry)
            .await;
    }

    async fn everything(server: &MockServer, response: ResponseTemplate) {
        let any = Mock::given(path_regex(".*")).respond_with(response);
        any.with_priority(9).mount(server).await;
    }

    async fn asked(&self) -> Vec<Request> {
        self.other.received_requests().await.unwrap()
    }

    /// What whoever asks without a bound of ours gets for a manifest.
    async fn answers(&self) -> String {
        let url = format!("{}/v2/lab/manifests/v1", self.registry.uri());
        let answer = plain().get(url).send().await.unwrap();
        answer.text().await.unwrap()
    }

    /// What the client says of a manifest that it does not get.
    async fn says(&self) -> String {
        let error = self.client().image(&self.reference()).await.unwrap_err();
        error.to_string()
    }

    async fn expect_other_alone(&self, error: &RegistryError) {
        assert_eq!(self.asked().await.len(), 0, "{error}");
        let text = error.to_string();
        assert!(text.contains(&self.other.uri()), "{text}");
        assert!(text.contains(SETTING), "{text}");
        assert!(!text.contains(INSIDE) && !text.contains(PASSWORD), "{text}");
    }
}

/// A client as others have it.
fn plain() -> reqwest::Client {
    reqwest::Client::builder().no_proxy().build().unwrap()
}

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

fn token() -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_json(json!({"token": "t0ken", "expires_in": 300}))
}

fn login() -> String {
    let login = base64::engine::general_purpose::STANDARD.encode(format!("{USER}:{PASSWORD}"));
    format!("Basic {login}")
}

fn outputs() -> Artifact {
    Artifact {
        kind: "application/vnd.example.outputs",
        files: vec![ArtifactFile {
            title: "summary.csv".to_owned(),
            media_type: "text/csv",
            bytes: b"x\n1\n".to_vec(),
            annotations: BTreeMap::new(),
        }],
        annotations: BTreeMap::new(),
        owner: ("example.run", "lab/one".to_owned()),
    }
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
async fn a_redirect_that_leads_in_a_circle_ends() {
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
    let error = scene.client().push_artifact(&scene.reference(), outputs()).await;
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
async fn of_an_error_in_another_form_the_status_is_all_that_is_told() {
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
