//! Samples at URLs, fetched by this process: small ones only, and only from where the gate lets it.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use reqwest::{Client, StatusCode, Url};

use crate::controller::hold::{Blocked, misconfigured, unavailable};
use codegen_core::causes::with_causes;
use codegen_core::digest::sha256_hex;
use codegen_egress::{EgressGate, Refused};

/// Largest file that a snapshot takes, bytes.
pub const LARGEST_FILE: usize = 900 * 1024;

/// Longest time of one download, from resolving its host to its last byte.
const DEADLINE: Duration = Duration::from_mins(1);

/// Fetches files, and remembers them while their task gets ready: what has the right digest need not be fetched again.
pub struct Downloads {
    gate: EgressGate,
    deadline: Duration,
    /// Made at the first download: reading the system's certificates takes a while.
    client: OnceLock<Client>,
    fetched: Mutex<HashMap<String, HashMap<String, Vec<u8>>>>,
}

impl Downloads {
    /// Nothing is fetched yet.
    #[must_use]
    pub fn new(gate: EgressGate) -> Self {
        Self {
            gate,
            deadline: DEADLINE,
            client: OnceLock::new(),
            fetched: Mutex::default(),
        }
    }

    /// The file at `url` with this digest, for the sample `name` of the task `uid`.
    pub async fn get(&self, uid: &str, name: &str, url: &str, sha256: &str) -> Result<Vec<u8>, Blocked> {
        let known = self
            .fetched()
            .get(uid)
            .and_then(|files| files.get(sha256).cloned());
        if let Some(bytes) = known {
            return Ok(bytes);
        }
        let fetched = tokio::time::timeout(self.deadline, self.fetch(name, url)).await;
        let bytes = fetched.unwrap_or_else(|_| {
            let seconds = self.deadline.as_secs();
            Err(unavailable(&format!(
                "{name}: {} took longer than {seconds} s",
                shown(url)
            )))
        })?;
        let found = sha256_hex(&bytes);
        if found != sha256 {
            return Err(misconfigured(format!(
                "{name}: the content at {} has sha256 {found}, the spec says {sha256}: correct sha256 if the new content is right",
                shown(url)
            )));
        }
        let mut all = self.fetched();
        all.entry(uid.to_owned())
            .or_default()
            .insert(sha256.to_owned(), bytes.clone());
        Ok(bytes)
    }

    /// Forgets what was fetched for a task that has its snapshot, or is gone.
    pub fn forget(&self, uid: &str) {
        self.fetched().remove(uid);
    }

    fn fetched(&self) -> MutexGuard<'_, HashMap<String, HashMap<String, Vec<u8>>>> {
        self.fetched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn fetch(&self, name: &str, url: &str) -> Result<Vec<u8>, Blocked> {
        let address = Url::parse(url).map_err(|error| {
            misconfigured(format!(
                "{name}: {} is no address: {error}; correct the url",
                shown(url)
            ))
        })?;
        self.gate
            .check_url(&address)
            .map_err(|refused| misconfigured(format!("{name}: {refused}")))?;
        let failed = |error: reqwest::Error| failure(name, url, error);
        let mut response = self.client(name)?.get(address).send().await.map_err(failed)?;
        if !response.status().is_success() {
            return Err(answered(name, url, response.status()));
        }
        let mut bytes = Vec::new();
        // By chunks: a server may send more than it announces, or without end.
        while let Some(chunk) = response.chunk().await.map_err(failed)? {
            if bytes.len() + chunk.len() > LARGEST_FILE {
                return Err(misconfigured(format!(
                    "{name}: the file at {} has more than {LARGEST_FILE} bytes, and no more are taken from a URL: put it on a \
                     PersistentVolumeClaim, or give a smaller sample",
                    shown(url)
                )));
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok(bytes)
    }

    fn client(&self, name: &str) -> Result<&Client, Blocked> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        // The bytes as they are served have the digest, as those that curl writes.
        let client = self.gate.client_builder().no_gzip().build();
        let client = client.map_err(|error| unavailable(&format!("{name}: {}", with_causes(&error))))?;
        Ok(self.client.get_or_init(|| client))
    }
}

/// Returns the hold that a status other than 2xx means.
fn answered(name: &str, url: &str, status: StatusCode) -> Blocked {
    let message = format!("{name}: {} answers {status}", shown(url));
    let passes = status.is_server_error()
        || matches!(
            status,
            StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_EARLY | StatusCode::TOO_MANY_REQUESTS
        );
    if passes {
        unavailable(&message)
    } else {
        misconfigured(format!(
            "{message}: correct the url, or have the server give the file"
        ))
    }
}

fn failure(name: &str, url: &str, error: reqwest::Error) -> Blocked {
    // A redirect leads to an address that the gate refuses.
    if let Some(refused) = Refused::within(&error) {
        return misconfigured(format!("{name}: {refused}"));
    }
    let is_redirect = error.is_redirect();
    let message = format!(
        "{name}: cannot fetch {}: {}",
        shown(url),
        // The whole address may have a token in its query.
        with_causes(&error.without_url())
    );
    if is_redirect {
        misconfigured(format!("{message}; correct the url"))
    } else {
        unavailable(&message)
    }
}

/// An address without what may be secret in it.
fn shown(url: &str) -> String {
    let plain = url.split(['?', '#']).next().unwrap_or_default();
    match plain
        .split_once("://")
        .map(|(scheme, rest)| (scheme, rest.split_once('/')))
    {
        Some((scheme, Some((host, path)))) => {
            let host = host.rsplit('@').next().unwrap_or_default();
            format!("{scheme}://{host}/{path}")
        }
        _ => plain.rsplit('@').next().unwrap_or_default().to_owned(),
    }
}

#[cfg(test)]
mod tests;
