//! Answers of registries: the digest behind the name of a base image, and which image a tag has.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ipnet::IpNet;

use super::signing::Signing;
use crate::SandboxError;
use crate::kubernetes::settings::Registries;
use codegen_core::digest::sha256_hex;
use codegen_core::stage::Category;
use codegen_registry::{Access, Credentials, Registry, RegistryError};

/// Time for which the digest of a base image is cached. Tags of bases move every few weeks.
const BASE_CACHED_FOR: Duration = Duration::from_mins(5);
/// More entries than any cluster has registries, users and bases: beyond it everything is forgotten.
const MOST_ENTRIES: usize = 512;

/// Answers of registries, and the connections to them; one for all tasks.
pub struct RegistryCache {
    clients: Mutex<HashMap<String, Arc<Registry>>>,
    bases: Mutex<HashMap<String, (Instant, String)>>,
    // Redirects to these are refused, although the ranges are public.
    closed: Vec<IpNet>,
    signing: Signing,
}

impl Default for RegistryCache {
    /// One with a key of its own: it takes no image of another one's for an environment.
    fn default() -> Self {
        Self::new(Signing::of_ones_own(), Vec::new())
    }
}

impl RegistryCache {
    /// One whose environments are signed with these keys, and whose registries may send nobody to `closed`: public ranges of the cluster's
    /// own, such as the API server's.
    #[must_use]
    pub fn new(signing: Signing, closed: Vec<IpNet>) -> Self {
        Self {
            clients: Mutex::default(),
            bases: Mutex::default(),
            closed,
            signing,
        }
    }

    /// The operator's keys.
    pub(super) fn signing(&self) -> &Signing {
        &self.signing
    }

    /// A client that shows these credentials: the content of a `.dockerconfigjson`, or nothing.
    pub(super) fn client(
        &self,
        settings: &Registries,
        docker_config: Option<&[u8]>,
    ) -> Result<Arc<Registry>, RegistryError> {
        // By content: the same credentials in many namespaces share one client, with its connections and tokens; others never see it.
        let key = docker_config.map(sha256_hex).unwrap_or_default();
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = clients.get(&key) {
            return Ok(client.clone());
        }
        let credentials = match docker_config {
            Some(json) => Credentials::from_docker_config(json)
                .map_err(|error| RegistryError::Setup(error.to_string()))?,
            None => Credentials::default(),
        };
        let client = Arc::new(Registry::new(&Access {
            insecure_hosts: settings.insecure.clone(),
            authorities: settings.authorities.clone(),
            credentials,
            allow: settings.allowed(),
            trusted_origins: settings.trusted_origins.clone(),
            closed: self.closed.clone(),
        })?);
        // A crude bound is enough: everything is asked for again.
        if clients.len() >= MOST_ENTRIES {
            clients.clear();
        }
        clients.insert(key, client.clone());
        Ok(client)
    }

    /// The digest that the name of a base image stands for; `None` where the registry has no such image.
    pub(super) async fn base_digest(
        &self,
        client: &Registry,
        reference: &str,
        user: &str,
    ) -> Result<Option<String>, RegistryError> {
        // A private image is cached for those who may see it.
        let key = format!("{user} {reference}");
        // The lock is not held while the registry is asked: one that is slow would hold up everybody.
        let known = {
            let bases = self.bases.lock().unwrap_or_else(PoisonError::into_inner);
            bases.get(&key).cloned()
        };
        if let Some((since, digest)) = known
            && since.elapsed() < BASE_CACHED_FOR
        {
            return Ok(Some(digest));
        }
        let Some(digest) = client.digest(reference).await? else {
            return Ok(None);
        };
        let mut bases = self.bases.lock().unwrap_or_else(PoisonError::into_inner);
        if bases.len() >= MOST_ENTRIES {
            bases.clear();
        }
        bases.insert(key, (Instant::now(), digest.clone()));
        Ok(Some(digest))
    }
}

/// Translates a registry's refusal into an error of the task. `field` is what names its credentials.
pub(super) fn failed(reference: &str, field: &str, error: RegistryError) -> SandboxError {
    match error.category() {
        Category::Configuration => SandboxError::Refused {
            object: format!("image {reference}"),
            reason: error.to_string(),
            remedy: format!("see {field}"),
        },
        Category::Infrastructure => SandboxError::Cluster {
            action: format!("ask the registry for {reference}"),
            source: Box::new(error),
        },
    }
}
