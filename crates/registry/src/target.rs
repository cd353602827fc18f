//! Access to registries, and the part of one that is meant.

use std::path::PathBuf;

use ipnet::IpNet;
use oci_spec::distribution::{ParseError, Reference};

use super::credentials::{Credentials, Login};
use super::error::RegistryError;
use super::failure::RequestFailure;
use codegen_egress::EgressEntry;

/// Digits of the digest in the tag of an image that was replaced.
const TAG_DIGITS: usize = 16;

/// Access to registries.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// Hosts (`registry.example:5000`) that are spoken to without TLS.
    pub insecure_hosts: Vec<String>,
    /// Further certificate authorities, PEM files.
    pub authorities: Vec<PathBuf>,
    /// Credentials, and the hosts that they are shown to.
    pub credentials: Credentials,
    /// Repositories (`registry.example:5000/team/*`) that may be asked for; none named: all.
    pub allow: Vec<String>,
    /// Origins besides its own that a registry may send whoever asks to: for tokens, and to blobs at private addresses.
    pub trusted_origins: Vec<EgressEntry>,
    /// Public ranges of the cluster's own, where registries may send nobody.
    pub closed: Vec<IpNet>,
}

/// Target of a push, and the identity that it is made as.
pub(super) struct PushTarget {
    pub reference: Reference,
    pub login: Option<Login>,
}

impl PushTarget {
    pub fn of(reference: &str, credentials: &Credentials) -> Result<Self, RegistryError> {
        let parsed: Reference = reference
            .parse()
            .map_err(|error: ParseError| RegistryError::Reference {
                reference: reference.to_owned(),
                reason: error.to_string(),
            })?;
        Ok(Self {
            login: credentials.for_host(parsed.resolve_registry()),
            reference: parsed,
        })
    }

    /// The image of this digest beside it.
    pub fn by_digest(&self, digest: &str) -> Self {
        let (registry, repository) = (self.reference.registry(), self.reference.repository());
        Self {
            reference: Reference::with_digest(registry.to_owned(), repository.to_owned(), digest.to_owned()),
            login: self.login.clone(),
        }
    }

    /// The tag that an image of this digest gets once its own tag belongs to another one.
    pub fn tagged_by_digest(&self, digest: &str) -> Self {
        let reference = &self.reference;
        let hex = digest.strip_prefix("sha256:").unwrap_or(digest);
        let tag = format!(
            "{}-{}",
            reference.tag().unwrap_or("image"),
            &hex[..hex.len().min(TAG_DIGITS)]
        );
        Self {
            reference: Reference::with_tag(
                reference.registry().to_owned(),
                reference.repository().to_owned(),
                tag,
            ),
            login: self.login.clone(),
        }
    }

    pub fn failed(&self, what: &str, failure: &RequestFailure) -> RegistryError {
        RegistryError::of(self.reference.resolve_registry(), what, failure)
    }
}
