//! A registry in memory, with one image in it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

use codegen_core::digest::sha256_hex;

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

/// A registry.
pub struct Registry {
    server: MockServer,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    /// By the path below `/v2`.
    contents: BTreeMap<String, Vec<u8>>,
    manifests: Vec<String>,
    refuses: bool,
}

impl Registry {
    /// One that takes everything.
    pub async fn start() -> Self {
        let server = MockServer::start().await;
        let state = Arc::new(Mutex::new(State::default()));
        let (answers, origin) = (Arc::clone(&state), server.uri());
        Mock::given(any())
            .respond_with(move |request: &Request| answers.lock().unwrap().answer(&origin, request))
            .mount(&server)
            .await;
        Self { server, state }
    }

    /// The host and port.
    pub fn host(&self) -> String {
        self.server.address().to_string()
    }

    /// An image without layers, by digest.
    pub fn image(&self) -> String {
        let config = json!({
            "architecture": "amd64", "os": "linux", "config": {}, "rootfs": {"type": "layers", "diff_ids": []},
        });
        let config = config.to_string().into_bytes();
        let manifest = json!({
            "schemaVersion": 2, "mediaType": MANIFEST, "layers": [],
            "config": {"mediaType": "application/vnd.oci.image.config.v1+json", "digest": digest(&config), "size": config.len()},
        });
        let manifest = manifest.to_string().into_bytes();
        let name = digest(&manifest);
        let mut state = self.state.lock().unwrap();
        let blob = format!("words/blobs/{}", digest(&config));
        state.contents.insert(blob, config);
        state.contents.insert(format!("words/manifests/{name}"), manifest);
        format!("{}/words@{name}", self.host())
    }

    /// Sets whether everything is refused from now on.
    pub fn refuses(&self, refuses: bool) {
        self.state.lock().unwrap().refuses = refuses;
    }

    /// The tags that manifests were pushed to, in order.
    pub fn pushed(&self) -> Vec<String> {
        let state = self.state.lock().unwrap();
        let tags = state.manifests.iter().filter(|name| !name.contains("sha256"));
        tags.cloned().collect()
    }
}

impl State {
    fn answer(&mut self, origin: &str, request: &Request) -> ResponseTemplate {
        if self.refuses {
            return ResponseTemplate::new(403);
        }
        let path = request
            .url
            .path()
            .trim_start_matches("/v2")
            .trim_start_matches('/')
            .to_owned();
        match request.method.as_str() {
            "GET" | "HEAD" if path.is_empty() => ResponseTemplate::new(200),
            "GET" | "HEAD" => match self.contents.get(&path) {
                Some(bytes) => ResponseTemplate::new(200)
                    .insert_header("docker-content-digest", digest(bytes))
                    .set_body_raw(bytes.clone(), media_type(bytes)),
                None => ResponseTemplate::new(404),
            },
            "POST" => ResponseTemplate::new(202).insert_header("location", format!("{origin}/v2/{path}1")),
            "PUT" => {
                let mut query = request.url.query_pairs();
                let of_blob = query.find(|(name, _)| name == "digest");
                let place = match (of_blob, path.split_once("/blobs/")) {
                    (Some((_, digest)), Some((repository, _))) => format!("{repository}/blobs/{digest}"),
                    _ => path,
                };
                if let Some((repository, name)) = place.split_once("/manifests/") {
                    self.manifests.push(name.to_owned());
                    let by_digest = format!("{repository}/manifests/{}", digest(&request.body));
                    self.contents.insert(by_digest, request.body.clone());
                }
                self.contents.insert(place, request.body.clone());
                ResponseTemplate::new(201)
            }
            _ => ResponseTemplate::new(405),
        }
    }
}

fn media_type(bytes: &[u8]) -> &'static str {
    let manifest: Value = serde_json::from_slice(bytes).unwrap_or_default();
    if manifest["mediaType"] == MANIFEST {
        MANIFEST
    } else {
        "application/octet-stream"
    }
}

fn digest(bytes: &[u8]) -> String {
    format!("sha256:{}", sha256_hex(bytes))
}
