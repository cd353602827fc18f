//! Pushes files of a run as an artifact. The operator speaks to the registry itself, with the Secret that the run names.

use std::sync::Arc;

use kube::Client;

use super::objects::{DockerConfig, NamespaceObjects};
use super::registries::{RegistryCache, failed};
use crate::SandboxError;
use crate::kubernetes::settings::Registries;
use codegen_registry::{Artifact, Registry, RegistryError};

/// Destination of an artifact.
#[derive(Clone, Copy, Debug)]
pub struct Destination<'a> {
    /// The namespace of the Secret.
    pub namespace: &'a str,
    /// `registry.example/team/outputs:tag`.
    pub reference: &'a str,
    /// Secret that it is pushed with.
    pub secret: Option<&'a str>,
    /// The field that names it.
    pub field: &'a str,
    /// The field that names repository and tag.
    pub place: &'a str,
}

/// Pushes; returns the digest.
pub async fn push_artifact(
    client: Client,
    registries: (&Registries, &RegistryCache),
    destination: Destination<'_>,
    artifact: Artifact,
) -> Result<String, SandboxError> {
    let registry = destination.registry(client, registries).await?;
    let pushed = registry.push_artifact(destination.reference, artifact).await;
    pushed
        .map(|pushed| pushed.digest)
        .map_err(|error| destination.failed(error))
}

/// Checks that the registry lets an artifact of `owner` be pushed there: before a Pod is made that does it.
pub async fn check_destination(
    client: Client,
    registries: (&Registries, &RegistryCache),
    destination: Destination<'_>,
    owner: (&str, &str),
) -> Result<(), SandboxError> {
    let registry = destination.registry(client, registries).await?;
    let checked = registry.check_artifact(destination.reference, owner).await;
    checked.map_err(|error| destination.failed(error))
}

impl Destination<'_> {
    async fn registry(
        &self,
        client: Client,
        (settings, registries): (&Registries, &RegistryCache),
    ) -> Result<Arc<Registry>, SandboxError> {
        let config = match self.secret {
            Some(secret) => Some(
                NamespaceObjects::new(client, self.namespace)
                    .docker_config(secret, self.field)
                    .await?,
            ),
            None => None,
        };
        let registry = registries.client(settings, config.as_ref().map(DockerConfig::bytes));
        registry.map_err(|error| self.failed(error))
    }

    /// Describes its credentials.
    #[must_use]
    pub fn credentials(&self) -> String {
        match self.secret {
            Some(secret) => format!("the Secret {secret} of {}", self.field),
            None => format!("{}, which names no Secret", self.field),
        }
    }

    fn failed(&self, error: RegistryError) -> SandboxError {
        match error {
            RegistryError::Refused { .. } => failed(self.reference, &self.credentials(), error),
            // A Secret does not mend these.
            error => failed(self.reference, self.place, error),
        }
    }
}
