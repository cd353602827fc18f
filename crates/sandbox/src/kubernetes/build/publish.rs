//! Pushes a finished program: one layer on the image that it was tested in, and beside it the list of what it is made of.
//!
//! No Pod is made: the operator speaks to the registry itself, with the Secret that builds push with.

use std::collections::BTreeMap;

use super::objects::{DockerConfig, NamespaceObjects};
use super::registries;
use super::registries::failed;
use super::sources::{ImageDestination, pull_secret};
use crate::SandboxError;
use crate::kubernetes::{KubernetesSandbox, names};
use crate::publication::{LAYER, Publication, Published, USER};
use codegen_core::digest::sha256_hex;
use codegen_core::image_tag;
use codegen_registry::{Addition, Foundation, Referrer};

/// Kind of the list of what an image is made of.
const CYCLONE_DX: &str = "application/vnd.cyclonedx+json";
/// Label with the task; only who has published a tag moves it.
const TASK: &str = "dev.codegen-operator.task";
/// Label with the generation of the task.
const GENERATION: &str = "dev.codegen-operator.generation";
/// Most characters of a tag of ours: those of a program that is replaced get a digest more.
// A tag has 128 characters at most, and an image that is replaced keeps its old digest under `<tag>-<digits>`.
const LONGEST_TAG: usize = 100;

/// Publishes a program.
pub async fn publish(
    sandbox: &KubernetesSandbox<'_>,
    publication: &Publication,
) -> Result<Published, SandboxError> {
    let home = NamespaceObjects::new(sandbox.client.clone(), &sandbox.owner.namespace);
    let target = target(sandbox, &home).await?;
    let reference = format!("{}:{}", target.repository, tag(sandbox)?);
    let told = |error| failed(&reference, &target.credentials(), error);
    let base = base(sandbox, publication);
    // Nobody here pushed a named image, so the credentials to push may not pull it.
    let (secret, config) = if sandbox.task.image.reference.is_some() {
        pull_secret_for(sandbox, &home, &base).await?
    } else {
        (target.secret.clone(), target.config.clone())
    };
    let source = sandbox
        .registries
        .client(
            &sandbox.settings.registries,
            config.as_ref().map(DockerConfig::bytes),
        )
        .map_err(|error| {
            let field = format!("the Secret {} of image.pullSecretRef", secret.unwrap_or_default());
            registries::failed(&base, &field, error)
        })?;
    let foundation = Foundation {
        registry: &source,
        reference: &base,
        architecture: names::architecture(std::env::consts::ARCH),
    };
    let addition = addition(sandbox, publication);
    let appended = target
        .registry
        .append(foundation, &reference, &addition)
        .await
        .map_err(told)?;
    let bill = publication.bill_of_materials(&target.repository, &appended.digest, &appended.base_digest);
    let referrer = Referrer {
        artifact_type: CYCLONE_DX,
        ending: "sbom",
        content: bill,
    };
    let attached = target
        .registry
        .attach(&target.repository, &appended, referrer)
        .await
        .map_err(told)?;
    Ok(Published {
        image: format!("{}@{}", target.pull_repository, appended.digest),
        tag: reference,
        uploaded_bytes: appended.uploaded_bytes + attached,
    })
}

/// Returns the destination of the program.
async fn target(
    sandbox: &KubernetesSandbox<'_>,
    home: &NamespaceObjects,
) -> Result<ImageDestination, SandboxError> {
    let publish = sandbox.task.publish.clone().unwrap_or_default();
    let mut image = sandbox.task.image.clone();
    if publish.repository.is_some() && publish.repository != image.repository {
        image.repository = publish.repository;
        // The name that nodes have for the repository belongs to the repository of the environment, and not to this one.
        image.pull_repository = None;
    }
    if image.repository.is_none() {
        // An image that was there was not pushed by anybody here; its program is.
        image.reference = None;
        sandbox.settings.registries.complete(&mut image);
    }
    ImageDestination::with(sandbox, home, &image).await
}

/// The image to stand on, as the operator knows its registry.
fn base(sandbox: &KubernetesSandbox<'_>, publication: &Publication) -> String {
    let environment = &publication.environment;
    let (image, registries) = (&sandbox.task.image, &sandbox.settings.registries);
    // The image is named as nodes know it, and was never in the repository of environments.
    if image.reference.is_some() {
        return environment.clone();
    }
    let (repository, pull_repository) = match (&image.repository, &registries.repository) {
        (Some(own), _) => (Some(own), &image.pull_repository),
        (None, shared) => (shared.as_ref(), &registries.pull_repository),
    };
    // The environment is recorded as nodes pull it; the operator may have another name for the same repository.
    let digest = pull_repository
        .as_ref()
        .and_then(|pull| environment.strip_prefix(pull.as_str())?.strip_prefix('@'));
    match (repository, digest) {
        (Some(repository), Some(digest)) => format!("{repository}@{digest}"),
        _ => environment.clone(),
    }
}

async fn pull_secret_for(
    sandbox: &KubernetesSandbox<'_>,
    home: &NamespaceObjects,
    base: &str,
) -> Result<(Option<String>, Option<DockerConfig>), SandboxError> {
    let host = base.parse::<oci_spec::distribution::Reference>();
    match host {
        Ok(reference) => pull_secret(sandbox, home, reference.resolve_registry()).await,
        // A name that cannot be read fails at the pull itself, in words about the image.
        Err(_) => Ok((None, None)),
    }
}

/// The tag that the task gives, where it may, or its default.
fn tag(sandbox: &KubernetesSandbox<'_>) -> Result<String, SandboxError> {
    let owner = sandbox.owner;
    let given = sandbox.task.publish.as_ref();
    let Some(own) = given.and_then(|publish| publish.tag.clone()) else {
        return Ok(default_tag(&owner.namespace, &owner.name));
    };
    match image_tag::objection(&own, &owner.namespace) {
        None => Ok(own),
        Some(why) => Err(SandboxError::Refused {
            object: format!("tag {own}"),
            reason: why,
            remedy: "change spec.publish.tag".to_owned(),
        }),
    }
}

/// A namespace has no dot, so two tasks never have the same.
fn default_tag(namespace: &str, name: &str) -> String {
    let whole = image_tag::default_of(namespace, name);
    if whole.len() <= LONGEST_TAG {
        return whole;
    }
    // The digest keeps two long names apart that begin alike.
    let digest = sha256_hex(whole.as_bytes());
    format!("{}-{}", &whole[..LONGEST_TAG - 17], &digest[..16])
}

fn addition(sandbox: &KubernetesSandbox<'_>, publication: &Publication) -> Addition {
    let owner = sandbox.owner;
    let task = format!("{}/{}", owner.namespace, owner.name);
    let mut labels = publication.labels.clone();
    // The operator's labels come last: what the task says cannot replace whose image this is.
    labels.insert(TASK.to_owned(), task.clone());
    labels.insert(GENERATION.to_owned(), owner.generation.to_string());
    let mut env: BTreeMap<String, String> = [
        ("HOME", "/tmp"),
        ("LANG", "C.UTF-8"),
        ("PYTHONDONTWRITEBYTECODE", "1"),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .collect();
    // What the task sets goes before these.
    env.extend(sandbox.task.sandbox.env.clone());
    Addition {
        entries: publication.entries(),
        layer_annotations: BTreeMap::from([(LAYER.0.to_owned(), LAYER.1.to_owned())]),
        created_by: "codegen-operator: the program".to_owned(),
        entrypoint: Publication::entrypoint(),
        user: format!("{USER}:{USER}"),
        working_folder: "/tmp".to_owned(),
        env,
        labels,
        owner: (TASK, task),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_names_namespace_and_task_and_is_never_too_long() {
        assert_eq!(default_tag("lab", "penguins"), "lab.penguins");
        let long = "x".repeat(200);
        let (one, other) = (default_tag("lab", &long), default_tag("lab", &format!("{long}y")));
        assert_eq!((one.len(), other.len()), (LONGEST_TAG, LONGEST_TAG));
        assert_ne!(one, other);
    }
}
