//! Pushes files of a run as an artifact. The operator speaks to the registry itself, with the Secret that the run names.

use kube::Client;

use super::objects::{DockerConfig, Objects};
use super::registries::{RegistryCache, failed};
use crate::registry::Artifact;
use crate::sandbox::SandboxError;
use crate::sandbox::kubernetes::settings::Registries;

/// Where an artifact goes.
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
}

/// Pushes; returns the digest.
pub async fn push_artifact(
    client: Client,
    (settings, registries): (&Registries, &RegistryCache),
    destination: Destination<'_>,
    artifact: Artifact,
) -> Result<String, SandboxError> {
    let Destination {
        namespace,
        reference,
        secret,
        field,
    } = destination;
    let config = match secret {
        Some(secret) => Some(
            Objects::new(client, namespace)
                .docker_config(secret, field)
                .await?,
        ),
        None => None,
    };
    let credentials = match secret {
        Some(secret) => format!("the Secret {secret} of {field}"),
        None => format!("{field}, which names no Secret"),
    };
    let told = |error| failed(reference, &credentials, error);
    let registry = registries
        .client(settings, config.as_ref().map(DockerConfig::bytes))
        .map_err(told)?;
    registry.push_artifact(reference, artifact).await.map_err(told)
}
