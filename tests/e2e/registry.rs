//! The registry of images and artifacts, asked as somebody who has its password. Paths begin with its host, as names of images do.

use codegen_core::digest::sha256_hex;
use reqwest::{Certificate, Client, Method, Response};
use serde_json::Value;

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const ACCEPTED: &str = "application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json, \
                        application/vnd.docker.distribution.manifest.v2+json";

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set: run make e2e"))
}

async fn ask(method: Method, path: &str, body: Option<Vec<u8>>) -> Response {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut client = Client::builder().no_proxy();
    if let Ok(authority) = std::env::var("CODEGEN_E2E_REGISTRY_CA") {
        let authority = Certificate::from_pem(&std::fs::read(authority).unwrap()).unwrap();
        client = client.tls_certs_only([authority]);
    }
    let (host, rest) = path.split_once('/').unwrap();
    let password = std::fs::read_to_string(variable("CODEGEN_E2E_REGISTRY_PASSWORD_FILE")).unwrap();
    let mut request = client
        .build()
        .unwrap()
        .request(method, format!("https://{host}/v2/{rest}"))
        .basic_auth(variable("CODEGEN_E2E_REGISTRY_USER"), Some(password.trim()))
        .header("accept", ACCEPTED);
    if let Some(body) = body {
        request = request.header("content-type", MANIFEST).body(body);
    }
    request.send().await.unwrap()
}

/// A manifest or a blob.
async fn fetched(path: &str) -> Vec<u8> {
    let answer = ask(Method::GET, path, None).await;
    answer.error_for_status().unwrap().bytes().await.unwrap().to_vec()
}

/// [`fetched`], as JSON.
pub async fn json_of(path: &str) -> Value {
    serde_json::from_slice(&fetched(path).await).unwrap()
}

/// The digest that a tag has.
pub async fn digest_of(repository: &str, tag: &str) -> String {
    let manifest = fetched(&format!("{repository}/manifests/{tag}")).await;
    format!("sha256:{}", sha256_hex(&manifest))
}

/// All tags, sorted.
pub async fn tags(repository: &str) -> Vec<String> {
    let answer = ask(Method::GET, &format!("{repository}/tags/list"), None).await;
    let tags: Value = answer.json().await.unwrap();
    let tags = tags["tags"].as_array().cloned().unwrap_or_default();
    let mut tags: Vec<String> = tags.iter().map(|tag| tag.as_str().unwrap().to_owned()).collect();
    tags.sort();
    tags
}

/// An image that somebody has deleted, and can bring back.
pub struct Deleted {
    manifests: String,
    manifest: Vec<u8>,
}

/// Deletes the manifest of an image that is named by its digest, and with it its tags.
pub async fn delete(image: &str) -> Deleted {
    let (repository, digest) = image.split_once('@').unwrap();
    let manifests = format!("{repository}/manifests");
    let path = format!("{manifests}/{digest}");
    let manifest = fetched(&path).await;
    let answer = ask(Method::DELETE, &path, None).await;
    assert_eq!(answer.status(), 202, "the registry lets nobody delete {image}");
    Deleted { manifests, manifest }
}

impl Deleted {
    /// Pushes it again, with this tag.
    pub async fn restore(self, tag: &str) {
        let path = format!("{}/{tag}", self.manifests);
        let answer = ask(Method::PUT, &path, Some(self.manifest)).await;
        assert_eq!(answer.status(), 201);
    }
}
