//! Uploads of blobs, whatever they are read from.

use std::fs::File;
use std::future::ready;

use reqwest::Body;
use tokio_util::io::ReaderStream;

use super::client::{Registry, retried};
use super::error::RegistryError;
use super::failure::RequestFailure;
use super::manifest::Small;
use super::target::PushTarget;

/// Bytes of a file that are read at once.
const READ_AT_ONCE: usize = 64 << 10;

impl Registry {
    /// Uploads a blob unless it is there; returns the bytes that it took. `open` gives its content anew for each try, and nothing
    /// where it has come into the repository in another way.
    pub(super) async fn upload<F>(
        &self,
        target: &PushTarget,
        digest: &str,
        size: u64,
        open: impl Fn() -> F,
    ) -> Result<u64, RegistryError>
    where
        F: Future<Output = Result<Option<Body>, RegistryError>>,
    {
        let failed = |failure: RequestFailure| target.failed(&upload_of(digest), &failure);
        retried(|| async {
            // Asked first: a Job that was killed has left blobs, and bases are often there already.
            if self.wire.has_blob(target, digest).await.map_err(failed)? {
                return Ok(0);
            }
            let Some(content) = open().await? else {
                return Ok(0);
            };
            let pushed = self.wire.put_blob(target, digest, size, content).await;
            pushed.map(|()| size).map_err(failed)
        })
        .await
    }

    /// The same with bytes in memory.
    pub(super) async fn upload_small(&self, target: &PushTarget, blob: &Small) -> Result<u64, RegistryError> {
        let open = || ready(Ok(Some(Body::from(blob.bytes.clone()))));
        let size = blob.bytes.len() as u64;
        self.upload(target, &blob.digest, size, open).await
    }

    /// The same with a file of `size` bytes, which `open` gives at its beginning.
    pub(super) async fn upload_file(
        &self,
        target: &PushTarget,
        digest: &str,
        size: u64,
        open: impl Fn() -> std::io::Result<File>,
    ) -> Result<u64, RegistryError> {
        let body = |file| {
            Body::wrap_stream(ReaderStream::with_capacity(
                tokio::fs::File::from_std(file),
                READ_AT_ONCE,
            ))
        };
        let open = || {
            let opened = open().map(|file| Some(body(file)));
            ready(opened.map_err(|error| target.failed(&upload_of(digest), &error.into())))
        };
        self.upload(target, digest, size, open).await
    }
}

fn upload_of(digest: &str) -> String {
    format!("the upload of the blob {digest}")
}
