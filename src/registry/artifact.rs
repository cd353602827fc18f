//! Files as an artifact: one blob each, named as ORAS names them, so that its tools fetch them.

use std::collections::BTreeMap;

use futures::FutureExt as _;
use serde_json::{Value, json};

use super::append::is_owned;
use super::client::{Registry, all_bytes};
use super::error::RegistryError;
use super::layout::{MANIFEST_OR_INDEX, OCI_MANIFEST};
use super::manifest::Small;
use super::referrer::EMPTY;

/// Annotation with the name of a file.
const TITLE: &str = "org.opencontainers.image.title";

/// Files that belong together.
#[derive(Clone, Debug)]
pub struct Artifact {
    /// What kind of files they are (`application/vnd.codegen-operator.outputs.v1`).
    pub kind: &'static str,
    /// The files, in order.
    pub files: Vec<ArtifactFile>,
    /// Annotations of the manifest.
    pub annotations: BTreeMap<String, String>,
    /// The annotation that says whose artifact it is: a tag with another one's is not touched.
    pub owner: (&'static str, String),
}

/// A file of an artifact.
#[derive(Clone, Debug)]
pub struct ArtifactFile {
    /// Its path (`summary.csv`, `pages/1.html`).
    pub title: String,
    /// Its type (`text/csv`).
    pub media_type: &'static str,
    /// Its content.
    pub bytes: Vec<u8>,
    /// What else there is to say of it.
    pub annotations: BTreeMap<String, String>,
}

impl Registry {
    /// Pushes files as `reference` (`registry.example/team/outputs:tag`) and returns the digest of their manifest. Equal files give equal digests,
    /// and what the registry has is not sent again.
    pub async fn push_artifact(&self, reference: &str, artifact: Artifact) -> Result<String, RegistryError> {
        let target = self.target(reference)?;
        let owner = artifact.owner.clone();
        let (manifest, blobs) = parts(artifact);
        match self.manifest(&target, &MANIFEST_OR_INDEX).await? {
            // A repeat after a crash ends here.
            Some((_, digest)) if digest == manifest.digest => return Ok(digest),
            Some((present, _)) if !is_owned(&present, &owner) => {
                return Err(RegistryError::Taken {
                    reference: reference.to_owned(),
                    owner: owner.1,
                });
            }
            _ => {}
        }
        // Once before all uploads: side by side, each of them would ask for a token of its own.
        self.authenticate_for_push(&target).await?;
        let mut uploads = Vec::new();
        for blob in &blobs {
            uploads.push(self.upload_small(&target, blob).boxed());
        }
        all_bytes(uploads).await?;
        self.put_manifest(&target, OCI_MANIFEST, &manifest.bytes).await?;
        Ok(manifest.digest)
    }
}

/// The manifest, and the blobs that it names, each once.
fn parts(artifact: Artifact) -> (Small, Vec<Small>) {
    let mut annotations = artifact.annotations;
    annotations.insert(artifact.owner.0.to_owned(), artifact.owner.1);
    let nothing = Small::of(b"{}".to_vec());
    let config = json!({"mediaType": EMPTY, "digest": nothing.digest, "size": nothing.bytes.len()});
    let mut blobs = vec![nothing];
    let mut layers: Vec<Value> = Vec::new();
    for file in artifact.files {
        let blob = Small::of(file.bytes);
        let mut about = file.annotations;
        about.insert(TITLE.to_owned(), file.title);
        layers.push(json!({
            "mediaType": file.media_type,
            "digest": blob.digest,
            "size": blob.bytes.len(),
            "annotations": about,
        }));
        if blobs.iter().all(|other| other.digest != blob.digest) {
            blobs.push(blob);
        }
    }
    // A manifest names a layer at least.
    if layers.is_empty() {
        layers.push(config.clone());
    }
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": OCI_MANIFEST,
        "artifactType": artifact.kind,
        "config": config,
        "layers": layers,
        "annotations": annotations,
    });
    (Small::of(manifest.to_string().into_bytes()), blobs)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(title: &str, content: &str) -> ArtifactFile {
        ArtifactFile {
            title: title.to_owned(),
            media_type: "text/csv",
            bytes: content.as_bytes().to_vec(),
            annotations: BTreeMap::new(),
        }
    }

    fn artifact(files: Vec<ArtifactFile>) -> Artifact {
        Artifact {
            kind: "application/vnd.example",
            files,
            annotations: BTreeMap::new(),
            owner: ("example.owner", "lab/run".to_owned()),
        }
    }

    #[test]
    fn every_file_is_a_layer_with_its_name_and_equal_files_are_one_blob() {
        let (manifest, blobs) = parts(artifact(vec![
            file("a.csv", "x\n1\n"),
            file("pages/b.csv", "x\n1\n"),
            file("c.csv", "y\n"),
        ]));
        assert_eq!(blobs.len(), 3, "two contents and the empty configuration");
        let manifest: Value = serde_json::from_slice(&manifest.bytes).unwrap();
        let titles: Vec<&str> = manifest["layers"]
            .as_array()
            .unwrap()
            .iter()
            .map(|layer| layer["annotations"][TITLE].as_str().unwrap())
            .collect();
        assert_eq!(titles, ["a.csv", "pages/b.csv", "c.csv"]);
        assert_eq!(manifest["artifactType"], "application/vnd.example");
        assert_eq!(manifest["annotations"]["example.owner"], "lab/run");
        assert_eq!(manifest["layers"][0]["size"], 4);
    }

    #[test]
    fn equal_files_give_an_equal_digest_and_nothing_is_an_artifact_too() {
        let digest = |files| parts(artifact(files)).0.digest;
        assert_eq!(digest(vec![file("a", "1")]), digest(vec![file("a", "1")]));
        assert_ne!(digest(vec![file("a", "1")]), digest(vec![file("b", "1")]));
        let (manifest, blobs) = parts(artifact(Vec::new()));
        let manifest: Value = serde_json::from_slice(&manifest.bytes).unwrap();
        assert_eq!(
            (manifest["layers"].as_array().unwrap().len(), blobs.len()),
            (1, 1)
        );
    }
}
