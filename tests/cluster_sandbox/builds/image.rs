//! What a registry of the cluster holds: images that were pushed, read from outside, and a base that asks for a password.

use std::process::Command;

use reqwest::{Certificate, Client, Response};
use serde_json::Value;

use super::server::run;
use crate::space::{docker_config, password, variable};

const ACCEPTED: &str =
    "application/vnd.oci.image.manifest.v1+json, application/vnd.docker.distribution.manifest.v2+json";

/// An image as it lies in the private registry.
pub struct Pushed {
    pub manifest: String,
    pub configuration: String,
    /// The layer on top, which is what was installed: a tar.
    layer: tempfile::NamedTempFile,
}

impl Pushed {
    /// Whether the bytes of the top layer have this text.
    pub fn contains(&self, text: &str) -> bool {
        let tar = run(Command::new("gzip")
            .arg("-dc")
            .stdin(self.layer.reopen().unwrap()));
        tar.windows(text.len()).any(|window| window == text.as_bytes())
    }

    /// A file of the top layer.
    pub fn file(&self, path: &str) -> String {
        String::from_utf8(self.tar(&["-xzO", path])).unwrap()
    }

    /// What the top layer has, as `tar -tv` lists it: links with what they point to.
    pub fn list(&self) -> String {
        String::from_utf8(self.tar(&["-tvz"])).unwrap()
    }

    fn tar(&self, arguments: &[&str]) -> Vec<u8> {
        run(Command::new("tar")
            .args(arguments)
            .stdin(self.layer.reopen().unwrap()))
    }
}

/// The image of a reference `registry/repository@digest`, or `:tag`.
pub async fn pushed(reference: &str) -> Pushed {
    let registry = variable("CODEGEN_E2E_REGISTRY");
    let path = reference.strip_prefix(&format!("{registry}/")).unwrap();
    let (repository, name) = path.split_once('@').or_else(|| path.rsplit_once(':')).unwrap();
    let manifest = get(repository, &format!("manifests/{name}"))
        .await
        .text()
        .await
        .unwrap();
    let parsed: Value = serde_json::from_str(&manifest).unwrap();
    let blob = async |descriptor: &Value| {
        get(
            repository,
            &format!("blobs/{}", descriptor["digest"].as_str().unwrap()),
        )
        .await
    };
    let configuration = blob(&parsed["config"]).await.text().await.unwrap();
    let top = parsed["layers"].as_array().unwrap().last().unwrap();
    let layer = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(layer.path(), blob(top).await.bytes().await.unwrap()).unwrap();
    Pushed {
        manifest,
        configuration,
        layer,
    }
}

/// The tags of a repository.
pub async fn tags(repository: &str) -> Vec<String> {
    let path = repository.split_once('/').unwrap().1;
    let list: Value = get(path, "tags/list").await.json().await.unwrap();
    let tags = list["tags"].as_array().unwrap();
    tags.iter().map(|tag| tag.as_str().unwrap().to_owned()).collect()
}

async fn get(repository: &str, what: &str) -> Response {
    let authority = std::fs::read(variable("CODEGEN_E2E_REGISTRY_CA")).unwrap();
    let client = Client::builder()
        .no_proxy()
        .add_root_certificate(Certificate::from_pem(&authority).unwrap());
    let url = format!(
        "https://{}/v2/{repository}/{what}",
        variable("CODEGEN_E2E_REGISTRY")
    );
    let request = client.build().unwrap().get(url).header("Accept", ACCEPTED);
    let user = variable("CODEGEN_E2E_REGISTRY_USER");
    request
        .basic_auth(user, Some(password()))
        .send()
        .await
        .unwrap()
        .error_for_status()
        .unwrap()
}

/// The base image, in the registry that asks for a password. Copied once a run of the test: the registry has its layers then.
pub async fn private_base() -> String {
    let registry = variable("CODEGEN_E2E_REGISTRY");
    let reference = format!("{registry}/private-base/python:3.11");
    let folder = tempfile::tempdir().unwrap();
    let authentication = folder.path().join("auth.json");
    std::fs::write(&authentication, docker_config(&registry, &password())).unwrap();
    let authorities = std::path::PathBuf::from(variable("CODEGEN_E2E_REGISTRY_CA"));
    let mut copy = Command::new("skopeo");
    copy.args(["copy", "--quiet", "--src-tls-verify=false", "--dest-authfile"])
        .arg(&authentication)
        .arg("--dest-cert-dir")
        .arg(authorities.parent().unwrap())
        .arg(format!("docker://{}", variable("CODEGEN_E2E_PYTHON_IMAGE")))
        .arg(format!("docker://{reference}"));
    tokio::task::spawn_blocking(move || run(&mut copy)).await.unwrap();
    reference
}
