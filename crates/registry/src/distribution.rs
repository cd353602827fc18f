//! The calls of the OCI distribution specification that this program makes.

use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use reqwest::{Body, Response};
use serde_json::Value;

use super::failure::RequestFailure;
use super::layout::{LARGEST_MANIFEST, MANIFEST_OR_INDEX};
use super::target::PushTarget;
use super::wire::{ANSWER_TIMEOUT, Wire, body, in_time, location};
use codegen_core::digest::sha256_hex;

const DIGEST: &str = "docker-content-digest";
/// The slowest upload: so many bytes a second, and a time for the requests before and after it.
const SLOWEST: u64 = 64 * 1024;
const REQUEST_OVERHEAD: Duration = Duration::from_mins(2);

impl Wire {
    /// The digest of a manifest.
    pub async fn manifest_digest(&self, target: &PushTarget) -> Result<String, RequestFailure> {
        let url = self.url(target, &manifest_of(target))?;
        let accepted = accept(&MANIFEST_OR_INDEX);
        let head = self.get(target, &Method::HEAD, url, &accepted);
        // Without the header the body has to be read and hashed.
        match digest_of(&in_time(ANSWER_TIMEOUT, head).await?)? {
            Some(digest) => as_named(target, digest),
            None => Ok(self.manifest(target, &MANIFEST_OR_INDEX).await?.1),
        }
    }

    /// A manifest and its digest.
    pub async fn manifest(
        &self,
        target: &PushTarget,
        types: &[&str],
    ) -> Result<(Bytes, String), RequestFailure> {
        let read = async {
            let url = self.url(target, &manifest_of(target))?;
            let response = self.get(target, &Method::GET, url, &accept(types)).await?;
            let named = digest_of(&response)?;
            let manifest = body(response, LARGEST_MANIFEST).await?;
            // The digest is computed here: what a registry says of itself is no proof of what it sent.
            let digest = format!("sha256:{}", sha256_hex(&manifest));
            if named.is_some_and(|named| named.starts_with("sha256:") && named != digest) {
                return Err(RequestFailure::Form("another digest than it says"));
            }
            Ok((Bytes::from(manifest), as_named(target, digest)?))
        };
        in_time(ANSWER_TIMEOUT, read).await
    }

    /// Gives a manifest the target's name.
    pub async fn put_manifest(
        &self,
        target: &PushTarget,
        media_type: &HeaderValue,
        manifest: Vec<u8>,
    ) -> Result<(), RequestFailure> {
        let url = self.url(target, &manifest_of(target))?;
        let put = self.put(target, Method::PUT, &url, |request| {
            request.header(CONTENT_TYPE, media_type).body(manifest)
        });
        in_time(ANSWER_TIMEOUT, put).await.map(drop)
    }

    /// Reports whether the repository has a blob.
    pub async fn has_blob(&self, target: &PushTarget, digest: &str) -> Result<bool, RequestFailure> {
        let url = self.url(target, &format!("blobs/{digest}"))?;
        in_time(ANSWER_TIMEOUT, self.has(target, &url)).await
    }

    /// A blob, of which nothing is read yet.
    pub async fn blob(&self, target: &PushTarget, digest: &str) -> Result<Response, RequestFailure> {
        let url = self.url(target, &format!("blobs/{digest}"))?;
        let headers = HeaderMap::new();
        let get = self.get(target, &Method::GET, url, &headers);
        in_time(ANSWER_TIMEOUT, get).await
    }

    /// Uploads a blob in one piece.
    pub async fn put_blob(
        &self,
        target: &PushTarget,
        digest: &str,
        size: u64,
        content: Body,
    ) -> Result<(), RequestFailure> {
        let url = self.url(target, "blobs/uploads/")?;
        let begin = self.put(target, Method::POST, &url, |request| {
            request.header(CONTENT_LENGTH, 0)
        });
        // The address may carry a session in its query already, which has to stay.
        let mut place = location(&in_time(ANSWER_TIMEOUT, begin).await?)?;
        place.query_pairs_mut().append_pair("digest", digest);
        let put = self.put(target, Method::PUT, &place, |request| {
            request
                .header(CONTENT_LENGTH, size)
                .header(CONTENT_TYPE, "application/octet-stream")
                .body(content)
        });
        // By size: a fixed limit would end large layers on slow links, and none would let a registry that stops hold a Job.
        let limit = REQUEST_OVERHEAD + Duration::from_secs(size / SLOWEST);
        in_time(limit, put).await.map(drop)
    }

    /// Takes a blob over from another repository of the registry; whether it did.
    pub async fn mount_blob(
        &self,
        target: &PushTarget,
        from: &PushTarget,
        digest: &str,
    ) -> Result<bool, RequestFailure> {
        let mut url = self.url(target, "blobs/uploads/")?;
        url.query_pairs_mut()
            .append_pair("mount", digest)
            .append_pair("from", from.reference.repository());
        let mount = self.put(target, Method::POST, &url, |request| {
            request.header(CONTENT_LENGTH, 0)
        });
        let answer = in_time(ANSWER_TIMEOUT, mount).await?;
        // Anything but `201 Created` is the start of an ordinary upload, by the specification.
        Ok(answer.status() == StatusCode::CREATED)
    }

    /// The index of what refers to the target, which is named by its digest; `None` where the registry has no API for that.
    pub async fn referrers(&self, target: &PushTarget) -> Result<Option<Value>, RequestFailure> {
        let read = async {
            let digest = target.reference.digest().unwrap_or_default();
            let url = self.url(target, &format!("referrers/{digest}"))?;
            let response = self
                .get(target, &Method::GET, url, &accept(&MANIFEST_OR_INDEX))
                .await?;
            body(response, LARGEST_MANIFEST).await
        };
        match in_time(ANSWER_TIMEOUT, read).await {
            Ok(index) => serde_json::from_slice(&index)
                .map(Some)
                .map_err(|_| RequestFailure::Form("no index of what refers to the image")),
            // Older registries have no such API; the tag of the fallback scheme is asked then.
            Err(failure) if failure.is_not_found() => Ok(None),
            Err(failure) => Err(failure),
        }
    }
}

fn manifest_of(target: &PushTarget) -> String {
    let reference = &target.reference;
    let name = reference.digest().or(reference.tag()).unwrap_or("latest");
    format!("manifests/{name}")
}

fn accept(types: &[&str]) -> HeaderMap {
    let value = HeaderValue::from_str(&types.join(", "));
    value.map_or_else(
        |_| HeaderMap::new(),
        |value| HeaderMap::from_iter([(ACCEPT, value)]),
    )
}

/// The digest that an answer names.
fn digest_of(response: &Response) -> Result<Option<String>, RequestFailure> {
    let Some(value) = response.headers().get(DIGEST) else {
        return Ok(None);
    };
    let digest = value.to_str().ok().filter(|text| is_digest(text));
    match digest {
        Some(digest) => Ok(Some(digest.to_owned())),
        None => Err(RequestFailure::Form("no digest where one should stand")),
    }
}

fn is_digest(text: &str) -> bool {
    let digits = match text.split_once(':') {
        Some(("sha256", digits)) if digits.len() == 64 => digits,
        Some(("sha512", digits)) if digits.len() == 128 => digits,
        _ => return false,
    };
    digits
        .bytes()
        .all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
}

/// The digest that was found, unless another one of its kind was asked for.
fn as_named(target: &PushTarget, found: String) -> Result<String, RequestFailure> {
    match target.reference.digest() {
        Some(asked) if asked.starts_with("sha256:") && asked != found => {
            Err(RequestFailure::Form("another image than the digest names"))
        }
        // A digest of another algorithm cannot be compared with the computed one.
        Some(asked) => Ok(asked.to_owned()),
        None => Ok(found),
    }
}
