//! Referrers of an image: a small file beside it, found by the image's digest.
//!
//! Where the registry has no API for that, the specification's tag (`sha256-<digits>`) names an index of all that refers to the image.

use serde_json::{Value, json};

use super::append::Appended;
use super::client::{Registry, answered, retried};
use super::error::RegistryError;
use super::layout::{MANIFEST_OR_INDEX, OCI_INDEX, OCI_MANIFEST};
use super::manifest::Small;
use super::target::PushTarget;

pub(super) const EMPTY: &str = "application/vnd.oci.empty.v1+json";

/// A file that refers to an image.
#[derive(Clone, Debug)]
pub struct Referrer<'a> {
    /// Media type of the file (`application/vnd.cyclonedx+json`).
    pub artifact_type: &'a str,
    /// Ending of its own tag, which protects it from garbage collection (`sbom`).
    pub ending: &'a str,
    /// The file.
    pub content: Vec<u8>,
}

impl Registry {
    /// Attaches a file to the image `of` in `repository`. What is there already is not sent again. Returns the bytes that it took.
    pub async fn attach(
        &self,
        repository: &str,
        of: &Appended,
        referrer: Referrer<'_>,
    ) -> Result<u64, RegistryError> {
        let index_tag = of.digest.replace(':', "-");
        let own = self.target(&format!("{repository}:{index_tag}.{}", referrer.ending))?;
        let subject = self.target(&format!("{repository}@{}", of.digest))?;
        let content = Small::of(referrer.content);
        let nothing = Small::of(b"{}".to_vec());
        let manifest = manifest(of, referrer.artifact_type, &content, &nothing);
        let mut uploaded = 0;
        // The tag of its own follows from the image, so it is found again, whatever the index says.
        if self.find(&own).await?.as_ref() != Some(&manifest.digest) {
            self.authenticate_for_push(&own).await?;
            let size = manifest.bytes.len() as u64;
            let (content, nothing) = futures::try_join!(
                self.upload_small(&own, &content),
                self.upload_small(&own, &nothing)
            )?;
            self.put_manifest(&own, OCI_MANIFEST, &manifest.bytes).await?;
            uploaded = content + nothing + size;
        }
        let index = self.target(&format!("{repository}:{index_tag}"))?;
        if !self.is_listed(&subject, &index, &manifest.digest).await? {
            uploaded += self.list(&index, referrer.artifact_type, &manifest).await?;
        }
        Ok(uploaded)
    }

    /// Reports whether the registry says that this refers to the image: itself, or by the index of the fallback tag.
    async fn is_listed(
        &self,
        subject: &PushTarget,
        index: &PushTarget,
        digest: &str,
    ) -> Result<bool, RegistryError> {
        let what = "the request for what refers to the image";
        let asked = retried(|| async {
            let found = self.wire.referrers(subject).await;
            found.map_err(|failure| subject.failed(what, &failure))
        });
        // The registry's own answer goes first; one without the API has the fallback tag alone.
        let found = match answered(subject, what, asked).await? {
            Some(found) => Some(found),
            None => self.index(index).await?,
        };
        let entries = found.as_ref().and_then(|index| index["manifests"].as_array());
        Ok(entries.is_some_and(|entries| entries.iter().any(|entry| entry["digest"] == digest)))
    }

    /// Reads the index at the fallback tag.
    async fn index(&self, index: &PushTarget) -> Result<Option<Value>, RegistryError> {
        let present = self.manifest(index, &MANIFEST_OR_INDEX).await?;
        Ok(present.and_then(|(bytes, _)| serde_json::from_slice(&bytes).ok()))
    }

    /// Names a referrer in the index of the fallback tag.
    async fn list(
        &self,
        index: &PushTarget,
        artifact_type: &str,
        referrer: &Small,
    ) -> Result<u64, RegistryError> {
        let present = self.index(index).await?;
        let made = listed(present, artifact_type, referrer);
        self.authenticate_for_push(index).await?;
        self.put_manifest(index, OCI_INDEX, &made).await?;
        Ok(made.len() as u64)
    }
}

fn manifest(of: &Appended, artifact_type: &str, content: &Small, nothing: &Small) -> Small {
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": OCI_MANIFEST,
        "artifactType": artifact_type,
        "config": {"mediaType": EMPTY, "digest": nothing.digest, "size": nothing.bytes.len()},
        "layers": [{"mediaType": artifact_type, "digest": content.digest, "size": content.bytes.len()}],
        "subject": {"mediaType": OCI_MANIFEST, "digest": of.digest, "size": of.size},
    });
    Small::of(manifest.to_string().into_bytes())
}

/// The index with this referrer, those of others as they were.
fn listed(present: Option<Value>, artifact_type: &str, referrer: &Small) -> Vec<u8> {
    let entry = json!({
        "mediaType": OCI_MANIFEST,
        "digest": referrer.digest,
        "size": referrer.bytes.len(),
        "artifactType": artifact_type,
    });
    let mut entries = match present {
        Some(mut index) => match index["manifests"].take() {
            Value::Array(entries) => entries,
            _ => Vec::new(),
        },
        None => Vec::new(),
    };
    entries.retain(|other| other["digest"] != entry["digest"]);
    entries.push(entry);
    let index = json!({"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": entries});
    index.to_string().into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_attached_stays_and_ours_is_named_once() {
        let ours = Small::of(b"ours".to_vec());
        let theirs = json!({"digest": "sha256:theirs", "size": 1});
        let first = listed(
            Some(json!({"manifests": [theirs]})),
            "application/vnd.cyclonedx+json",
            &ours,
        );
        let again = listed(
            serde_json::from_slice(&first).ok(),
            "application/vnd.cyclonedx+json",
            &ours,
        );
        assert_eq!(first, again);
        let index: Value = serde_json::from_slice(&again).unwrap();
        assert_eq!(index["manifests"][0], theirs);
        assert_eq!(index["manifests"][1]["digest"], ours.digest);
        assert_eq!(index["manifests"].as_array().unwrap().len(), 2);
    }
}
