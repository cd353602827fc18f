//! Files as an artifact: one blob each, named as ORAS names them, so that its tools fetch them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::File;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use futures::FutureExt as _;
use serde_json::{Value, json};

use super::append::is_owned;
use super::client::{Pushed, Registry, all_bytes};
use super::error::RegistryError;
use super::layout::{LARGEST_MANIFEST, MANIFEST_OR_INDEX, OCI_MANIFEST};
use super::manifest::Small;
use super::referrer::EMPTY;
use super::target::PushTarget;

/// Annotation with the name of a file.
const TITLE: &str = "org.opencontainers.image.title";

/// Files that belong together.
#[derive(Clone, Debug)]
pub struct Artifact {
    /// Media type of the files (`application/vnd.codegen-operator.outputs.v1`).
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
    pub content: FileContent,
    /// Further annotations.
    pub annotations: BTreeMap<String, String>,
}

/// Content of a file of an artifact.
#[derive(Clone, Debug)]
pub enum FileContent {
    /// These bytes.
    Bytes(Vec<u8>),
    /// File on a disk: it is sent as it is read, and never held.
    OnDisk(FileOnDisk),
}

/// Opens a file from its beginning.
type Open = Arc<dyn Fn() -> io::Result<File> + Send + Sync>;

/// A file on a disk whose digest is settled.
#[derive(Clone)]
pub struct FileOnDisk {
    /// SHA-256 of its bytes, hex. A registry takes no others under it.
    pub sha256: String,
    /// Its bytes.
    pub bytes: u64,
    /// Opens it, at each try anew.
    pub open: Open,
}

impl fmt::Debug for FileOnDisk {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} bytes, sha256 {}", self.bytes, self.sha256)
    }
}

/// A blob of an artifact.
enum Blob {
    Small(Small),
    OnDisk(FileOnDisk),
}

impl Blob {
    fn digest(&self) -> String {
        match self {
            Self::Small(blob) => blob.digest.clone(),
            Self::OnDisk(file) => format!("sha256:{}", file.sha256),
        }
    }

    fn size(&self) -> u64 {
        match self {
            Self::Small(blob) => blob.bytes.len() as u64,
            Self::OnDisk(file) => file.bytes,
        }
    }
}

impl Registry {
    /// Pushes files as `reference` (`registry.example/team/outputs:tag`); the digest is that of their manifest. Equal files give equal digests,
    /// and what the registry has is not sent again.
    pub async fn push_artifact(&self, reference: &str, artifact: Artifact) -> Result<Pushed, RegistryError> {
        let target = self.target(reference)?;
        let owner = artifact.owner.clone();
        let (manifest, blobs) = parts(artifact);
        if manifest.bytes.len() as u64 > LARGEST_MANIFEST {
            return Err(RegistryError::TooMany {
                reference: reference.to_owned(),
                bytes: manifest.bytes.len(),
            });
        }
        let present = self.manifest(&target, &MANIFEST_OR_INDEX).await?;
        // A repeat after a crash ends here.
        if let Some((_, digest)) = present.as_ref().filter(|(_, digest)| *digest == manifest.digest) {
            return Ok(Pushed {
                digest: digest.clone(),
                adopted: true,
                uploaded_bytes: 0,
            });
        }
        check_owner(reference, present, (owner.0, &owner.1))?;
        // Once before all uploads: side by side, each of them would ask for a token of its own.
        self.authenticate_for_push(&target).await?;
        let mut uploads = Vec::new();
        for blob in &blobs {
            uploads.push(match blob {
                Blob::Small(blob) => self.upload_small(&target, blob).boxed(),
                Blob::OnDisk(file) => self.upload_on_disk(&target, file).boxed(),
            });
        }
        let uploaded_bytes = all_bytes(uploads).await?;
        self.put_manifest(&target, OCI_MANIFEST, &manifest.bytes).await?;
        Ok(Pushed {
            digest: manifest.digest,
            adopted: false,
            uploaded_bytes,
        })
    }

    /// Reports whether an artifact of `owner` may be pushed as `reference`, as far as that can be known before.
    pub async fn check_artifact(&self, reference: &str, owner: (&str, &str)) -> Result<(), RegistryError> {
        let target = self.target(reference)?;
        let present = self.manifest(&target, &MANIFEST_OR_INDEX).await?;
        check_owner(reference, present, owner)?;
        self.authenticate_for_push(&target).await
    }

    async fn upload_on_disk(&self, target: &PushTarget, file: &FileOnDisk) -> Result<u64, RegistryError> {
        let digest = format!("sha256:{}", file.sha256);
        self.upload_file(target, &digest, file.bytes, &*file.open).await
    }
}

/// Somebody else's tag is never moved, even by whoever may push there.
fn check_owner(
    reference: &str,
    present: Option<(Bytes, String)>,
    owner: (&str, &str),
) -> Result<(), RegistryError> {
    match present {
        Some((present, _)) if !is_owned(&present, owner) => Err(RegistryError::Taken {
            reference: reference.to_owned(),
            owner: owner.1.to_owned(),
        }),
        _ => Ok(()),
    }
}

/// The manifest, and the blobs that it names, each once.
fn parts(artifact: Artifact) -> (Small, Vec<Blob>) {
    let mut annotations = artifact.annotations;
    annotations.insert(artifact.owner.0.to_owned(), artifact.owner.1);
    let nothing = Small::of(b"{}".to_vec());
    let config = json!({"mediaType": EMPTY, "digest": nothing.digest, "size": nothing.bytes.len()});
    let mut named = BTreeSet::from([nothing.digest.clone()]);
    let mut blobs = vec![Blob::Small(nothing)];
    let mut layers: Vec<Value> = Vec::new();
    for file in artifact.files {
        let blob = match file.content {
            FileContent::Bytes(bytes) => Blob::Small(Small::of(bytes)),
            FileContent::OnDisk(file) => Blob::OnDisk(file),
        };
        let mut about = file.annotations;
        about.insert(TITLE.to_owned(), file.title);
        layers.push(json!({
            "mediaType": file.media_type,
            "digest": blob.digest(),
            "size": blob.size(),
            "annotations": about,
        }));
        if named.insert(blob.digest()) {
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
            content: FileContent::Bytes(content.as_bytes().to_vec()),
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
