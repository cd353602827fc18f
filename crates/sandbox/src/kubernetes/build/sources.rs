//! Source and destination of an image: the base by digest, the repository, and the credentials for both.

use std::sync::Arc;

use oci_spec::distribution::Reference;

use super::objects::{DockerConfig, NamespaceObjects};
use super::registries::failed;
use crate::SandboxError;
use crate::kubernetes::KubernetesSandbox;
use codegen_core::task::ImageSettings;
use codegen_registry::{Credentials, Registry};

/// Destination of images.
pub(super) struct ImageDestination {
    /// `registry.example/team`.
    pub repository: String,
    /// As nodes know it.
    pub pull_repository: String,
    /// The Secret with the credentials.
    pub secret: Option<String>,
    /// Setting that names it.
    field: &'static str,
    /// Credentials that it holds.
    pub config: Option<DockerConfig>,
    /// Speaks to its registry.
    pub registry: Arc<Registry>,
}

impl ImageDestination {
    /// Finds the destination of the task's images.
    pub async fn of(
        sandbox: &KubernetesSandbox<'_>,
        objects: &NamespaceObjects,
    ) -> Result<Self, SandboxError> {
        Self::with(sandbox, objects, &sandbox.task.image).await
    }

    /// Finds the destination of images with these settings.
    pub async fn with(
        sandbox: &KubernetesSandbox<'_>,
        objects: &NamespaceObjects,
        image: &ImageSettings,
    ) -> Result<Self, SandboxError> {
        let registries = &sandbox.settings.registries;
        let (repository, pull_repository) = match (&image.repository, &registries.repository) {
            (Some(own), _) => (own, &image.pull_repository),
            (None, Some(shared)) => (shared, &registries.pull_repository),
            (None, None) => {
                return Err(SandboxError::Refused {
                    object: format!("task {}/{}", sandbox.owner.namespace, sandbox.owner.name),
                    reason: "no repository is named that images could be pushed to".to_owned(),
                    remedy: "set image.repository in the task or its agent, or registries.repository of the operator"
                        .to_owned(),
                });
            }
        };
        let secret = image.push_secret.clone();
        let field = registries.push_secret_field(image);
        // Where nobody who writes tasks has rights, their Secret of the same name is not read.
        let beside_builds = registries
            .pushes_from_builds(image)
            .then(|| NamespaceObjects::new(sandbox.client.clone(), super::namespace(sandbox)));
        let objects = beside_builds.as_ref().unwrap_or(objects);
        let config = match &secret {
            Some(name) => Some(objects.docker_config(name, field).await?),
            None => None,
        };
        let client = sandbox
            .registries
            .client(registries, config.as_ref().map(DockerConfig::bytes));
        Ok(Self {
            repository: repository.clone(),
            pull_repository: pull_repository.as_ref().unwrap_or(repository).clone(),
            registry: client
                .map_err(|error| failed(repository, &credentials(secret.as_deref(), field), error))?,
            config,
            secret,
            field,
        })
    }

    /// Returns the setting to change where the registry refuses.
    pub fn credentials(&self) -> String {
        credentials(self.secret.as_deref(), self.field)
    }
}

fn credentials(secret: Option<&str>, field: &str) -> String {
    match secret {
        Some(name) => format!("the Secret {name} of {field}, or image.repository"),
        None => "image.pushSecretRef, which names no Secret, or image.repository".to_owned(),
    }
}

/// The base image.
#[derive(Clone)]
pub(super) struct Base {
    /// By digest: `registry.example/python@sha256:...`.
    pub reference: String,
    /// Its digest.
    pub digest: String,
    /// Host of its registry.
    pub registry: String,
    /// Secret that it is pulled with.
    pub secret: Option<String>,
    /// Credentials that it holds.
    pub config: Option<DockerConfig>,
}

impl Base {
    /// Asks its registry for the digest, unless that is cached.
    pub async fn resolve(
        sandbox: &KubernetesSandbox<'_>,
        objects: &NamespaceObjects,
        name: &str,
    ) -> Result<Self, SandboxError> {
        let refused = |reason: String, remedy: &str| SandboxError::Refused {
            object: format!("base image {name}"),
            reason,
            remedy: remedy.to_owned(),
        };
        let reference: Reference = name
            .parse()
            .map_err(|error: oci_spec::distribution::ParseError| {
                refused(error.to_string(), "correct image.base")
            })?;
        let registry = reference.registry().to_owned();
        let (secret, config) = pull_secret(sandbox, objects, reference.resolve_registry()).await?;
        // A digest needs no question: it says already what will be pulled.
        let digest = if let Some(digest) = reference.digest() {
            digest.to_owned()
        } else {
            let remedy = match &secret {
                Some(secret) => format!("the Secret {secret} of image.pullSecretRef, or image.base"),
                None => {
                    "image.pullSecretRef, which names no Secret for this registry, or image.base".to_owned()
                }
            };
            let settings = &sandbox.settings.registries;
            let client = sandbox
                .registries
                .client(settings, config.as_ref().map(DockerConfig::bytes));
            let client = client.map_err(|error| failed(name, &remedy, error))?;
            // Without credentials everybody is given the same answer. With some, what one namespace may see is not cached for another.
            let user = secret.as_ref().map_or("", |_| sandbox.owner.namespace.as_str());
            let digest = sandbox.registries.base_digest(&client, name, user).await;
            digest
                .map_err(|error| failed(name, &remedy, error))?
                .ok_or_else(|| refused("its registry has no such image".to_owned(), "correct image.base"))?
        };
        Ok(Self {
            reference: format!("{registry}/{}@{digest}", reference.repository()),
            digest,
            registry,
            config,
            secret,
        })
    }
}

/// The Secret to pull from a registry with: the task's, where it has an entry for it.
pub(super) async fn pull_secret(
    sandbox: &KubernetesSandbox<'_>,
    objects: &NamespaceObjects,
    host: &str,
) -> Result<(Option<String>, Option<DockerConfig>), SandboxError> {
    let Some(name) = &sandbox.task.image.pull_secret else {
        return Ok((None, None));
    };
    let config = objects.docker_config(name, "image.pullSecretRef").await?;
    // A Secret without an entry for the registry is not mounted: what is installed could read it, and nothing is gained.
    let knows =
        Credentials::from_docker_config(config.bytes()).is_ok_and(|credentials| credentials.knows(host));
    Ok(if knows {
        (Some(name.clone()), Some(config))
    } else {
        (None, None)
    })
}
