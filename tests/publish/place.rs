//! A registry, a client of ours, and requests that no client of ours makes.

use std::collections::BTreeMap;

use codegen_core::digest::sha256_hex;
use codegen_registry::{
    Access, Addition, Appended, Credentials, Foundation, LayerEntry, Referrer, Registry, RegistryError,
};
use serde_json::{Value, json};

use crate::docker_registry::{self, PASSWORD, USER};
use crate::referrers_registry;

pub const OCI_MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
pub const OCI_INDEX: &str = "application/vnd.oci.image.index.v1+json";
pub const DOCKER_MANIFEST: &str = "application/vnd.docker.distribution.manifest.v2+json";
pub const ARTIFACT: &str = "application/vnd.cyclonedx+json";
pub const BILL: &[u8] = b"{\"bomFormat\": \"CycloneDX\"}";
/// Larger than what is read at once.
pub const LARGE: usize = 3_000_000;

/// A registry, a client of ours, and requests that no client of ours makes.
pub struct Place<S = docker_registry::Registry> {
    pub server: S,
    pub host: String,
    pub client: Registry,
    pub http: reqwest::Client,
}

impl Place {
    pub fn start() -> Self {
        let server = docker_registry::Registry::start();
        let config = std::fs::read(server.credentials(PASSWORD).path()).unwrap();
        let credentials = Credentials::from_docker_config(&config).unwrap();
        let host = server.host.clone();
        Self::of(server, host, credentials)
    }
}

impl Place<referrers_registry::Registry> {
    /// With a registry that has the API for what refers to an image, and asks for no password.
    pub fn with_referrers() -> Self {
        let server = referrers_registry::Registry::start();
        let host = server.host.clone();
        Self::of(server, host, Credentials::default())
    }
}

impl<S> Place<S> {
    pub fn of(server: S, host: String, credentials: Credentials) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Registry::new(&Access {
            insecure_hosts: vec![host.clone()],
            authorities: vec![],
            credentials,
            ..Access::default()
        });
        Self {
            server,
            host,
            client: client.unwrap(),
            http: reqwest::Client::builder().no_proxy().build().unwrap(),
        }
    }

    pub fn repository(&self, name: &str) -> String {
        format!("{}/{name}", self.host)
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}/v2/{path}", self.host)
    }

    pub async fn put_blob(&self, repository: &str, bytes: Vec<u8>) -> Value {
        let digest = format!("sha256:{}", sha256_hex(&bytes));
        let begun = self.http.post(self.url(&format!("{repository}/blobs/uploads/")));
        let begun = begun.basic_auth(USER, Some(PASSWORD)).send().await.unwrap();
        let place = begun.headers()["location"].to_str().unwrap();
        let mut place = begun.url().join(place).unwrap();
        place.query_pairs_mut().append_pair("digest", &digest);
        let size = bytes.len();
        let put = self.http.put(place).body(bytes);
        let put = put.basic_auth(USER, Some(PASSWORD)).send().await.unwrap();
        assert_eq!(put.status(), 201);
        json!({"digest": digest, "size": size})
    }

    pub async fn put_manifest(
        &self,
        repository: &str,
        tag: &str,
        media_type: &str,
        manifest: &Value,
    ) -> String {
        let text = manifest.to_string();
        let digest = format!("sha256:{}", sha256_hex(text.as_bytes()));
        let put = self.http.put(self.url(&format!("{repository}/manifests/{tag}")));
        let put = put.header("content-type", media_type).body(text);
        let put = put.basic_auth(USER, Some(PASSWORD)).send().await.unwrap();
        assert_eq!(put.status(), 201, "{}", put.text().await.unwrap());
        digest
    }

    pub async fn get(&self, path: &str) -> Option<Vec<u8>> {
        let types = format!("{OCI_MANIFEST}, {OCI_INDEX}, {DOCKER_MANIFEST}");
        let got = self.http.get(self.url(path)).header("accept", types);
        let got = got.basic_auth(USER, Some(PASSWORD)).send().await.unwrap();
        let is_there = got.status().is_success();
        is_there.then_some(got.bytes().await.unwrap().to_vec())
    }

    pub async fn manifest(&self, repository: &str, reference: &str) -> Value {
        let found = self.get(&format!("{repository}/manifests/{reference}")).await;
        serde_json::from_slice(&found.expect("a manifest")).unwrap()
    }

    /// An image of two layers; its digest.
    pub async fn image(&self, repository: &str, tag: &str, is_docker: bool) -> String {
        let types = if is_docker {
            [
                DOCKER_MANIFEST,
                "application/vnd.docker.container.image.v1+json",
                "application/vnd.docker.image.rootfs.diff.tar.gzip",
            ]
        } else {
            [
                OCI_MANIFEST,
                "application/vnd.oci.image.config.v1+json",
                "application/vnd.oci.image.layer.v1.tar+gzip",
            ]
        };
        let config = json!({
            "architecture": "amd64", "os": "linux",
            "config": {"Cmd": ["python3"], "Env": ["PATH=/usr/bin"]},
            "rootfs": {"type": "layers", "diff_ids": ["sha256:a", "sha256:b"]},
        });
        let of_type = |mut descriptor: Value, media_type: &str| {
            descriptor["mediaType"] = media_type.into();
            descriptor
        };
        let config = self.put_blob(repository, config.to_string().into_bytes()).await;
        let first = self.put_blob(repository, vec![1; 1000]).await;
        let second = self.put_blob(repository, vec![2; LARGE]).await;
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": types[0],
            "config": of_type(config, types[1]),
            "layers": [of_type(first, types[2]), of_type(second, types[2])],
        });
        self.put_manifest(repository, tag, types[0], &manifest).await
    }

    /// Attaches a list of what an image in `lab` is made of; the bytes that it took.
    pub async fn attach_bill(&self, to: &Appended) -> u64 {
        let referrer = Referrer {
            artifact_type: ARTIFACT,
            ending: "sbom",
            content: BILL.to_vec(),
        };
        let repository = self.repository("lab");
        self.client.attach(&repository, to, referrer).await.unwrap()
    }

    /// The only manifest of `index` brings [`BILL`] and refers to the image.
    pub async fn expect_bill(&self, index: &Value, image: &Appended) {
        let manifests = index["manifests"].as_array().unwrap();
        assert_eq!(manifests.len(), 1, "{index}");
        let digest = manifests[0]["digest"].as_str().unwrap();
        let manifest = self.manifest("lab", digest).await;
        assert_eq!(manifest["artifactType"], ARTIFACT);
        assert_eq!(manifest["subject"]["digest"], image.digest);
        assert_eq!(manifest["subject"]["size"], image.size);
        let content = manifest["layers"][0]["digest"].as_str().unwrap();
        let content = self.get(&format!("lab/blobs/{content}")).await.unwrap();
        assert_eq!(content, BILL);
    }

    pub async fn append(
        &self,
        from: &Self,
        base: &str,
        reference: &str,
        addition: &Addition,
    ) -> Result<Appended, RegistryError> {
        let base = Foundation {
            registry: &from.client,
            reference: base,
            architecture: "amd64",
        };
        self.client.append(base, reference, addition).await
    }
}

pub fn addition(task: &str, program: &str) -> Addition {
    Addition {
        entries: vec![LayerEntry {
            path: "program/solution.py".to_owned(),
            owner: 0,
            content: Some(program.as_bytes().to_vec()),
        }],
        layer_annotations: BTreeMap::from([("dev.codegen-operator.program".to_owned(), "1".to_owned())]),
        created_by: "publish".to_owned(),
        entrypoint: vec!["python3".to_owned(), "/program/run.py".to_owned()],
        user: "65532:65532".to_owned(),
        working_folder: "/tmp".to_owned(),
        env: BTreeMap::new(),
        labels: BTreeMap::from([("dev.codegen-operator.task".to_owned(), task.to_owned())]),
        owner: ("dev.codegen-operator.task", task.to_owned()),
    }
}
