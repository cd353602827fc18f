//! A registry, and a server that it has no business with.

use codegen_egress::EgressEntry;
use codegen_registry::{Access, Credentials, Registry, RegistryError};
use serde_json::json;
use wiremock::matchers::{header, method, path_regex};
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

pub const USER: &str = "builder";
pub const PASSWORD: &str = "hunter-22-builder";
pub const DIGEST: &str = "sha256:1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f";
/// What lies on a server that only the operator reaches.
pub const INSIDE: &str = "a page of the inside";
pub const SETTING: &str = "registries.trustedOrigins";

/// A registry, and a server that it has no business with.
pub struct Scene {
    pub registry: MockServer,
    pub other: MockServer,
}

impl Scene {
    pub async fn open() -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        Self {
            registry: MockServer::start().await,
            other: MockServer::start().await,
        }
    }

    pub fn host(&self) -> String {
        self.registry.address().to_string()
    }

    pub fn reference(&self) -> String {
        format!("{}/lab:v1", self.host())
    }

    pub fn client(&self) -> Registry {
        self.client_with(&[])
    }

    /// A client that shows a password to the registry, and may go to these origins besides.
    pub fn client_with(&self, trusted: &[String]) -> Registry {
        let host = self.host();
        let config = json!({"auths": {&host: {"username": USER, "password": PASSWORD}}}).to_string();
        Registry::new(&Access {
            insecure_hosts: vec![host],
            credentials: Credentials::from_docker_config(config.as_bytes()).unwrap(),
            trusted_origins: trusted
                .iter()
                .map(|origin| EgressEntry::try_from(origin.clone()).unwrap())
                .collect(),
            ..Access::default()
        })
        .unwrap()
    }

    /// The registry wants a token of `realm`, and answers to whoever has it.
    pub async fn wants_token_of(&self, realm: &str) {
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
    pub async fn sends_away(&self, verb: &str, status: u16, answers: &str) {
        let place = format!("{}/secret", self.other.uri());
        Mock::given(method(verb))
            .and(path_regex(answers))
            .respond_with(ResponseTemplate::new(status).insert_header("location", place.as_str()))
            .mount(&self.registry)
            .await;
    }

    pub async fn everything(server: &MockServer, response: ResponseTemplate) {
        let any = Mock::given(path_regex(".*")).respond_with(response);
        any.with_priority(9).mount(server).await;
    }

    pub async fn asked(&self) -> Vec<Request> {
        self.other.received_requests().await.unwrap()
    }

    /// What whoever asks without a bound of ours gets for a manifest.
    pub async fn answers(&self) -> String {
        let url = format!("{}/v2/lab/manifests/v1", self.registry.uri());
        let answer = plain().get(url).send().await.unwrap();
        answer.text().await.unwrap()
    }

    /// What the client says of a manifest that it does not get.
    pub async fn says(&self) -> String {
        let error = self.client().image(&self.reference()).await.unwrap_err();
        error.to_string()
    }

    pub async fn expect_other_alone(&self, error: &RegistryError) {
        assert_eq!(self.asked().await.len(), 0, "{error}");
        let text = error.to_string();
        assert!(text.contains(&self.other.uri()), "{text}");
        assert!(text.contains(SETTING), "{text}");
        assert!(!text.contains(INSIDE) && !text.contains(PASSWORD), "{text}");
    }
}

/// A client as others have it.
pub fn plain() -> reqwest::Client {
    reqwest::Client::builder().no_proxy().build().unwrap()
}
