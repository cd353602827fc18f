//! Appends one layer to an image that a registry has. Of the base only manifest and configuration are read; its layers stay where they
//! are, are mounted from another repository, or go from registry to registry without being held.

use futures::FutureExt as _;
use reqwest::Body;
use serde_json::Value;

use super::client::{Registry, all_bytes, answered, retried};
use super::error::RegistryError;
use super::layer::layer;
use super::layout::{Descriptor, LARGEST_CONFIG, MANIFEST_OR_INDEX, OCI_MANIFEST};
use super::manifest::{self, Addition, Small};
use super::target::PushTarget;
use super::wire::body;
use codegen_core::digest::sha256_hex;

/// The image to append to.
#[derive(Clone, Copy)]
pub struct Foundation<'a> {
    /// Speaks to its registry.
    pub registry: &'a Registry,
    /// The image.
    pub reference: &'a str,
    /// Of an index, the image for this architecture (`amd64`).
    pub architecture: &'a str,
}

/// An image with one layer more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Appended {
    /// Digest of its manifest.
    pub digest: String,
    /// Size of its manifest.
    pub size: u64,
    /// Digest of the manifest of the image that it stands on.
    pub base_digest: String,
    /// Bytes that were uploaded, the manifest's included; 0 where the registry had the image under its tag.
    pub uploaded_bytes: u64,
}

/// The addition with labels that name the image that it stands on.
fn with_base(addition: &Addition, reference: &str, digest: &str) -> Addition {
    let mut addition = addition.clone();
    let (name, _) = reference.split_once('@').unwrap_or((reference, ""));
    for (label, value) in [("base.name", name), ("base.digest", digest)] {
        let label = format!("org.opencontainers.image.{label}");
        addition.labels.insert(label, value.to_owned());
    }
    addition
}

impl Registry {
    /// Appends to an image and pushes what comes of it as `reference`. Equal additions to equal images give equal digests, and a
    /// registry that has it gets nothing.
    pub async fn append(
        &self,
        base: Foundation<'_>,
        reference: &str,
        addition: &Addition,
    ) -> Result<Appended, RegistryError> {
        let target = self.target(reference)?;
        let read = base.read();
        let present = self.manifest(&target, &MANIFEST_OR_INDEX);
        let (read, present) = futures::try_join!(read, present)?;
        let refused = |reason: String| RegistryError::Image {
            reference: base.reference.to_owned(),
            reason,
        };
        let addition = &with_base(addition, base.reference, &read.digest);
        let layer = layer(&addition.entries).map_err(|error| RegistryError::Setup(error.to_string()))?;
        let config = manifest::config(&read.config, &layer, addition).map_err(refused)?;
        let made = manifest::manifest(&read.manifest, &layer, &config, addition).map_err(refused)?;
        let appended = Appended {
            digest: made.digest.clone(),
            size: made.bytes.len() as u64,
            base_digest: read.digest.clone(),
            uploaded_bytes: 0,
        };
        // Before anything is uploaded: an image that is there as it should be costs one request.
        match present {
            Some((_, digest)) if digest == made.digest => return Ok(appended),
            // Somebody else's tag is never moved, even by whoever may push there.
            Some((manifest, _)) if !is_owned(&manifest, (addition.owner.0, &addition.owner.1)) => {
                return Err(RegistryError::Taken {
                    reference: reference.to_owned(),
                    owner: addition.owner.1.clone(),
                });
            }
            _ => {}
        }
        self.authenticate_for_push(&target).await?;
        let layer = Small {
            digest: layer.digest,
            bytes: layer.bytes,
        };
        let is_in_another_repository = read.is_in_another_repository(&target);
        let mut uploads = Vec::new();
        // In its own repository every layer of the base is there already.
        for theirs in read.layers.iter().filter(|_| is_in_another_repository) {
            uploads.push(self.take_over(&target, base.registry, &read, theirs).boxed());
        }
        for ours in [&layer, &config] {
            uploads.push(self.upload_small(&target, ours).boxed());
        }
        let blobs = all_bytes(uploads).await?;
        // The old image first gets a tag of its own: untagged, a registry may delete it while it is in use.
        self.tag_present_image(&target, &made.digest).await?;
        let size = made.bytes.len() as u64;
        self.put_manifest(&target, OCI_MANIFEST, &made.bytes).await?;
        Ok(Appended {
            uploaded_bytes: blobs + size,
            ..appended
        })
    }

    /// Brings a layer of the base into the repository, unless it is there; returns the bytes that it took.
    async fn take_over(
        &self,
        target: &PushTarget,
        source: &Self,
        base: &Read,
        layer: &Descriptor,
    ) -> Result<u64, RegistryError> {
        let digest = &layer.digest;
        let open = || async move {
            let is_here = base.target.reference.resolve_registry() == target.reference.resolve_registry();
            // A registry that does not mount answers in several ways: then the layer is copied.
            if is_here && let Ok(true) = self.wire.mount_blob(target, &base.target, digest).await {
                return Ok(None);
            }
            let read = source.wire.blob(&base.target, digest).await;
            let read = read.map_err(|failure| {
                base.target
                    .failed(&format!("the request for the blob {digest}"), &failure)
            })?;
            // Streamed: layers have gigabytes, and are not held here.
            Ok(Some(Body::wrap_stream(read.bytes_stream())))
        };
        self.upload(target, digest, layer.size, open).await
    }

    /// A blob of at most `most` bytes, compared with its digest.
    pub(super) async fn small_blob(
        &self,
        target: &PushTarget,
        blob: &Descriptor,
        most: u64,
    ) -> Result<Vec<u8>, RegistryError> {
        let wrong = |reason: String| RegistryError::Image {
            reference: target.reference.to_string(),
            reason: format!("has a blob {} that {reason}", blob.digest),
        };
        // The announced size is checked before anything is fetched, and the real one by the same bound.
        if blob.size > most {
            return Err(wrong(format!("is larger than {most} bytes")));
        }
        let what = format!("the request for the blob {}", blob.digest);
        let asked = retried(|| async {
            let read = async {
                let response = self.wire.blob(target, &blob.digest).await?;
                body(response, blob.size).await
            };
            read.await.map_err(|failure| target.failed(&what, &failure))
        });
        let bytes = answered(target, &what, asked).await?;
        if bytes.len() as u64 != blob.size || format!("sha256:{}", sha256_hex(&bytes)) != blob.digest {
            return Err(wrong("has another content than its digest names".to_owned()));
        }
        Ok(bytes)
    }
}

/// Parts of an image that are read.
struct Read {
    target: PushTarget,
    digest: String,
    manifest: Value,
    config: Vec<u8>,
    layers: Vec<Descriptor>,
}

impl Read {
    /// Reports whether another repository than `target` holds its blobs.
    fn is_in_another_repository(&self, target: &PushTarget) -> bool {
        let place = |target: &PushTarget| {
            let reference = &target.reference;
            (
                reference.resolve_registry().to_owned(),
                reference.repository().to_owned(),
            )
        };
        place(&self.target) != place(target)
    }
}

/// One image, of an index that for the architecture.
struct One {
    target: PushTarget,
    digest: String,
    manifest: Value,
}

/// An image that was inspected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InspectedImage {
    /// Digest of its manifest.
    pub digest: String,
    /// The packed layer that was searched for; `None` where the image has none of that kind.
    pub layer: Option<Vec<u8>>,
}

impl Foundation<'_> {
    /// The last layer with this annotation, of at most `most` bytes; `None` where the registry has no such image.
    pub async fn layer(
        &self,
        annotation: (&str, &str),
        most: u64,
    ) -> Result<Option<InspectedImage>, RegistryError> {
        let Some(one) = self.one().await? else {
            return Ok(None);
        };
        let (name, value) = annotation;
        let is_it =
            |layer: &&Value| layer["annotations"][name] == value && layer["mediaType"] == manifest::LAYER;
        let layers = one.manifest["layers"].as_array();
        // The last one: an image that stands on another program's has the layers of both.
        let layer = layers.and_then(|layers| layers.iter().rev().find(is_it));
        let layer = match layer {
            Some(layer) => {
                let layer = serde_json::from_value(layer.clone()).map_err(|error| self.unreadable(&error))?;
                Some(self.registry.small_blob(&one.target, &layer, most).await?)
            }
            None => None,
        };
        Ok(Some(InspectedImage {
            digest: one.digest,
            layer,
        }))
    }

    async fn read(&self) -> Result<Read, RegistryError> {
        let found = self.one().await?;
        let One {
            target,
            digest,
            manifest,
        } = found.ok_or_else(|| self.wrong("is not in its registry any more".to_owned()))?;
        let unreadable = |error: serde_json::Error| self.unreadable(&error);
        let config: Descriptor = serde_json::from_value(manifest["config"].clone()).map_err(unreadable)?;
        let layers = serde_json::from_value(manifest["layers"].clone()).map_err(unreadable)?;
        let config = self.registry.small_blob(&target, &config, LARGEST_CONFIG).await?;
        Ok(Read {
            target,
            digest,
            manifest,
            config,
            layers,
        })
    }

    async fn one(&self) -> Result<Option<One>, RegistryError> {
        let mut target = self.registry.target(self.reference)?;
        let Some((mut manifest, mut digest)) = self.manifest(&target).await? else {
            return Ok(None);
        };
        if let Some(chosen) = manifest::chosen(&manifest, self.architecture) {
            let chosen = chosen.map_err(|reason| self.wrong(reason))?;
            let reference = &target.reference;
            let one = format!("{}/{}@{chosen}", reference.registry(), reference.repository());
            target = self.registry.target(&one)?;
            let Some(found) = self.manifest(&target).await? else {
                return Ok(None);
            };
            (manifest, digest) = found;
        }
        Ok(Some(One {
            target,
            digest,
            manifest,
        }))
    }

    async fn manifest(&self, target: &PushTarget) -> Result<Option<(Value, String)>, RegistryError> {
        let found = self.registry.manifest(target, &MANIFEST_OR_INDEX).await?;
        let Some((bytes, digest)) = found else {
            return Ok(None);
        };
        let manifest = serde_json::from_slice(&bytes).map_err(|error| self.unreadable(&error))?;
        Ok(Some((manifest, digest)))
    }

    fn unreadable(&self, error: &serde_json::Error) -> RegistryError {
        self.wrong(format!("has a manifest that cannot be read: {error}"))
    }

    fn wrong(&self, reason: String) -> RegistryError {
        RegistryError::Image {
            reference: self.reference.to_owned(),
            reason,
        }
    }
}

/// Reports whether a manifest says that it is of this owner.
pub(super) fn is_owned(manifest: &[u8], (name, owner): (&str, &str)) -> bool {
    let manifest: Value = serde_json::from_slice(manifest).unwrap_or_default();
    manifest["annotations"][name] == owner
}
