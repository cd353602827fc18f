//! Speaks to registries.

use std::time::Duration;

use backon::{ExponentialBuilder, Retryable as _};
use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use http::HeaderValue;
use serde::Deserialize;

use super::credentials::Credentials;
use super::error::RegistryError;
use super::installed;
use super::layout::{Blob, Descriptor, ImageLayout, MANIFEST_OR_INDEX, MANIFEST_TYPES};
use super::target::{Access, PushTarget};
use super::wire::{ANSWER_TIMEOUT, Operation, Wire};
use codegen_core::lock::Lock;
use codegen_core::wildcard;

const UPLOADS_AT_ONCE: usize = 3;
const TRIES: usize = 4;
const FIRST_PAUSE: Duration = Duration::from_millis(500);

/// Rule for a tag that is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// Take its digest and push nothing.
    Adopt,
    /// Push, and move the tag. The image that has it now keeps one of its own: the tag, a dash and the first digits of its
    /// digest.
    Replace,
    /// Push without a tag: whoever asked for it gives it one.
    Leave,
}

/// Outcome of a push.
#[derive(serde::Serialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Pushed {
    /// Digest of the manifest that the tag has now, as the registry gives it.
    pub digest: String,
    /// True where it was there before.
    pub adopted: bool,
    /// Bytes of the blobs that were uploaded; the registry had the others.
    pub uploaded_bytes: u64,
}

/// An image that a registry has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegistryImage {
    /// Digest of its manifest.
    pub digest: String,
    /// Packages installed in it, as its manifest says.
    pub installed: Lock,
}

/// A client of registries.
pub struct Registry {
    pub(super) wire: Wire,
    credentials: Credentials,
    allow: Vec<String>,
}

impl Registry {
    /// A client; fails when a certificate authority cannot be read.
    pub fn new(access: &Access) -> Result<Self, RegistryError> {
        Ok(Self {
            wire: Wire::new(access)?,
            credentials: access.credentials.clone(),
            allow: access.allow.clone(),
        })
    }

    /// Returns the target that `reference` stands for, where it may be asked for.
    pub(super) fn target(&self, reference: &str) -> Result<PushTarget, RegistryError> {
        let target = PushTarget::of(reference, &self.credentials)?;
        let repository = format!(
            "{}/{}",
            target.reference.registry(),
            target.reference.repository()
        );
        let is_allowed = |pattern: &String| wildcard::matches(pattern, &repository);
        // Before any request is made: a repository that is not listed is not even looked up.
        if self.allow.is_empty() || self.allow.iter().any(is_allowed) {
            return Ok(target);
        }
        Err(RegistryError::NotAllowed { repository })
    }

    /// The digest that a reference has; `None` where it is not there.
    pub async fn digest(&self, reference: &str) -> Result<Option<String>, RegistryError> {
        let target = self.target(reference)?;
        self.find(&target).await
    }

    /// The image that a reference has; `None` where it is not there. One request, once the registry has been spoken to.
    pub async fn image(&self, reference: &str) -> Result<Option<RegistryImage>, RegistryError> {
        let target = self.target(reference)?;
        let found = self.manifest(&target, &MANIFEST_TYPES).await?;
        Ok(found.map(|(manifest, digest)| RegistryImage {
            digest,
            installed: installed::of_manifest(&manifest),
        }))
    }

    /// Pushes `layout` and returns what the registry holds afterwards under `reference`.
    pub async fn push(
        &self,
        layout: &ImageLayout,
        reference: &str,
        existing: Existing,
    ) -> Result<Pushed, RegistryError> {
        let mut target = self.target(reference)?;
        if existing == Existing::Leave {
            // Under its tag it would be found by others before the operator has signed it.
            target = target.by_digest(&layout.manifest.digest);
        }
        if existing != Existing::Replace
            && let Some(digest) = self.find(&target).await?
        {
            return Ok(Pushed {
                digest,
                adopted: true,
                uploaded_bytes: 0,
            });
        }
        self.authenticate_for_push(&target).await?;
        if existing == Existing::Replace {
            // Before the tag moves: an image without a tag may be collected, and sandboxes still run by its digest.
            self.tag_present_image(&target, &layout.manifest.digest).await?;
        }
        let uploads = layout.blobs.iter().map(|blob| self.upload_blob(&target, blob));
        let uploaded_bytes = all_bytes(uploads).await?;
        let Descriptor { media_type, .. } = &layout.manifest;
        self.put_manifest(&target, media_type, &layout.manifest_bytes)
            .await?;
        // Two pushes may meet: the tag must not be reported with a digest that it no longer has.
        let found = self.find(&target).await?.unwrap_or_default();
        if found != layout.manifest.digest {
            return Err(RegistryError::Overtaken {
                reference: reference.to_owned(),
                pushed: layout.manifest.digest.clone(),
                found,
            });
        }
        Ok(Pushed {
            digest: found,
            adopted: false,
            uploaded_bytes,
        })
    }

    pub(super) async fn find(&self, target: &PushTarget) -> Result<Option<String>, RegistryError> {
        let what = "the request for the digest of the tag";
        let asked = retried(|| async {
            match self.wire.manifest_digest(target).await {
                Ok(digest) => Ok(Some(digest)),
                // That it is not there is an answer, and is not asked for again.
                Err(failure) if failure.is_not_found() => Ok(None),
                Err(failure) => Err(target.failed(what, &failure)),
            }
        });
        answered(target, what, asked).await
    }

    pub(super) async fn authenticate_for_push(&self, target: &PushTarget) -> Result<(), RegistryError> {
        retried(|| async {
            let authorized = self.wire.authorization(target, Operation::Push).await;
            authorized
                .map(drop)
                .map_err(|failure| target.failed("the login", &failure))
        })
        .await
    }

    async fn upload_blob(&self, target: &PushTarget, blob: &Blob) -> Result<u64, RegistryError> {
        let open = || {
            let mut file = blob.file.try_clone()?;
            // Clones share their position, and a try before this one may have read a part.
            std::io::Seek::rewind(&mut file)?;
            Ok(file)
        };
        let Descriptor { digest, size, .. } = &blob.descriptor;
        self.upload_file(target, digest, *size, open).await
    }

    /// Gives the image that the tag has now a tag of its own, so that a registry's garbage collection leaves its digest.
    pub(super) async fn tag_present_image(
        &self,
        target: &PushTarget,
        new: &str,
    ) -> Result<(), RegistryError> {
        let Some((manifest, digest)) = self.manifest(target, &MANIFEST_OR_INDEX).await? else {
            return Ok(());
        };
        if digest == new {
            return Ok(());
        }
        let media_type = serde_json::from_slice::<Typed>(&manifest)
            .ok()
            .and_then(|manifest| manifest.media_type)
            .unwrap_or_else(|| MANIFEST_TYPES[0].to_owned());
        self.put_manifest(&target.tagged_by_digest(&digest), &media_type, &manifest)
            .await
    }

    pub(super) async fn manifest(
        &self,
        target: &PushTarget,
        types: &[&str],
    ) -> Result<Option<(bytes::Bytes, String)>, RegistryError> {
        let what = "the request for the manifest of the image";
        let asked = retried(|| async {
            match self.wire.manifest(target, types).await {
                Ok(found) => Ok(Some(found)),
                Err(failure) if failure.is_not_found() => Ok(None),
                Err(failure) => Err(target.failed(what, &failure)),
            }
        });
        answered(target, what, asked).await
    }

    pub(super) async fn put_manifest(
        &self,
        target: &PushTarget,
        media_type: &str,
        manifest: &[u8],
    ) -> Result<(), RegistryError> {
        let media_type =
            HeaderValue::from_str(media_type).map_err(|error| RegistryError::Setup(error.to_string()))?;
        retried(|| async {
            let pushed = self
                .wire
                .put_manifest(target, &media_type, manifest.to_vec())
                .await;
            pushed.map_err(|failure| target.failed("the upload of the manifest", &failure))
        })
        .await
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Typed {
    media_type: Option<String>,
}

/// The sum of what the uploads say. After one that failed no other is begun, but those under way end: the next push finds them.
pub(super) async fn all_bytes<F>(uploads: impl IntoIterator<Item = F>) -> Result<u64, RegistryError>
where
    F: Future<Output = Result<u64, RegistryError>>,
{
    let mut waiting = uploads.into_iter();
    let mut running = FuturesUnordered::new();
    let mut sum = Ok(0);
    loop {
        while sum.is_ok()
            && running.len() < UPLOADS_AT_ONCE
            && let Some(next) = waiting.next()
        {
            running.push(next);
        }
        let Some(ended) = running.next().await else {
            return sum;
        };
        sum = match (sum, ended) {
            (Ok(sum), Ok(bytes)) => Ok(sum + bytes),
            (Err(error), _) | (_, Err(error)) => Err(error),
        };
    }
}

/// The answer to a question, where the whole of it comes in time.
pub(super) async fn answered<T>(
    target: &PushTarget,
    what: &str,
    asked: impl Future<Output = Result<T, RegistryError>>,
) -> Result<T, RegistryError> {
    // Over all tries: a registry that answers slowly, again and again, would hold up the task.
    let answer = tokio::time::timeout(ANSWER_TIMEOUT, asked).await;
    answer.unwrap_or_else(|_| {
        Err(RegistryError::Unavailable {
            registry: target.reference.resolve_registry().to_owned(),
            what: what.to_owned(),
            reason: format!("it gave no whole answer within {} s", ANSWER_TIMEOUT.as_secs()),
        })
    })
}

/// Again after about a half, one and two seconds while the registry does not answer or fails.
pub(super) async fn retried<T, F>(request: impl FnMut() -> F) -> Result<T, RegistryError>
where
    F: Future<Output = Result<T, RegistryError>>,
{
    let pauses = ExponentialBuilder::default()
        .with_min_delay(FIRST_PAUSE)
        .with_max_times(TRIES - 1)
        // Uploads run side by side and fail at the same moment; jitter spreads their next tries.
        .with_jitter();
    request.retry(pauses).when(RegistryError::is_transient).await
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures::FutureExt as _;
    use tokio::sync::Notify;

    use super::*;

    #[tokio::test]
    async fn uploads_under_way_end_after_one_failed_and_no_other_begins() {
        let (failed, ended) = (Notify::new(), AtomicUsize::new(0));
        let failing = async {
            failed.notify_waiters();
            Err(RegistryError::Setup("full".to_owned()))
        };
        let slow = || async {
            failed.notified().await;
            tokio::task::yield_now().await;
            ended.fetch_add(1, Ordering::Relaxed);
            Ok(1)
        };
        let never = async { panic!("begun after another one failed") };
        let uploads = [
            slow().boxed_local(),
            slow().boxed_local(),
            failing.boxed_local(),
            never.boxed_local(),
        ];
        let result = all_bytes(uploads).await;
        assert!(matches!(result, Err(RegistryError::Setup(_))), "{result:?}");
        assert_eq!(ended.into_inner(), 2);
    }
}
