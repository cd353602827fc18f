//! The Job that builds an image and pushes it, as `build.yaml` and a plan make it, and the files that it reads. Objects only.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use k8s_openapi::ByteString;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Container, PodTemplateSpec, ResourceRequirements, Secret};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

use super::dockerfile::{FILES, INDEX_AUTHORITIES, INSTALLATION, PIP_AUTHORITIES, REQUIREMENTS};
use crate::installation::{INSTALL, SETTINGS};
use crate::kubernetes::folder_sha256;
use crate::kubernetes::manifest::{self, variable};
use crate::kubernetes::names::PART_OF;
use crate::kubernetes::settings::{BuildSettings, Registries};
use codegen_api::quantity;

/// Manifest of every Job.
static JOB: LazyLock<Job> = LazyLock::new(|| manifest::parse(include_str!("build.yaml")));
/// The container that lays out the program that installs.
pub(super) const INSTALLER: &str = "installer";
/// The container that builds.
pub(super) const BUILD: &str = "build";
/// The container that pushes.
pub(super) const PUSH: &str = "push";

/// Beginning of the argument of the push that says what the build was to be made from.
pub(super) const FILES_SHA256: &str = "--built-from-sha256=";
/// Annotation with what a Job is made for that its name does not say.
pub(super) const MADE_FOR: &str = "codegen-operator.dev/made-for";
/// Annotation with the digest of the settings that a Job is made with.
pub(super) const MADE_WITH: &str = "codegen-operator.dev/made-with";
/// The authorities of registries, below [`FILES`].
const REGISTRY_AUTHORITIES: &str = "registry-authorities.pem";
const DOCKERFILE: &str = "Dockerfile";
const DOCKER_CONFIG_KEY: &str = ".dockerconfigjson";
const DOCKER_CONFIG_TYPE: &str = "kubernetes.io/dockerconfigjson";

/// Input from which a build's objects follow.
#[derive(Clone, Debug)]
pub(super) struct BuildPlan<'a> {
    /// Name of the Job, and of its files.
    pub name: &'a str,
    /// Namespace in which they are made.
    pub namespace: &'a str,
    /// Their labels.
    pub labels: BTreeMap<String, String>,
    /// The Job's annotations.
    pub annotations: BTreeMap<String, String>,
    /// Owner of the Job, where that is of the same namespace.
    pub owner: Option<OwnerReference>,
    /// Reference that the image is pushed to: `repository:tag`.
    pub reference: String,
    /// True where it gets the tag at once, and is not to be signed before.
    pub is_tagged: bool,
    /// Host of the base image's registry.
    pub base_registry: String,
    /// `amd64`.
    pub architecture: &'a str,
    /// Secret that pushes.
    pub push_secret: Option<String>,
    /// Arguments of the build: variables of what it runs.
    pub arguments: BTreeMap<&'a str, &'a str>,
    /// Secret that pulls the base; what is installed can read it.
    pub base_secret: Option<String>,
    /// Builds of this image that were lost.
    pub repeat: u32,
    /// The operator's image.
    pub operator_image: &'a str,
    /// Files that the Job reads.
    pub files: BuildFiles,
    /// Settings of builds.
    pub build: &'a BuildSettings,
    /// Settings of registries.
    pub registries: &'a Registries,
}

/// Files that a build reads, by content.
#[derive(Clone, Debug)]
pub(super) struct BuildFiles {
    /// The Dockerfile.
    pub dockerfile: String,
    /// Instructions for the installation: packages and options.
    pub installation: String,
    /// The recorded lock, where there is one: a requirements file.
    pub requirements: String,
    /// Authorities of registries, PEM.
    pub registry_authorities: String,
    /// Authorities of package indexes, PEM.
    pub index_authorities: String,
    /// Those with the task's own, where it has any.
    pub pip_authorities: String,
}

impl BuildFiles {
    /// Digest of all, as the push computes it of the folder.
    fn sha256(&self) -> String {
        let data = self.data();
        folder_sha256(
            data.iter()
                .map(|(name, content)| (name.as_str(), content.as_bytes())),
        )
    }

    fn data(&self) -> BTreeMap<String, String> {
        [
            (DOCKERFILE, self.dockerfile.as_str()),
            INSTALL,
            SETTINGS,
            (INSTALLATION, &self.installation),
            (REQUIREMENTS, &self.requirements),
            (REGISTRY_AUTHORITIES, &self.registry_authorities),
            (INDEX_AUTHORITIES, &self.index_authorities),
            (PIP_AUTHORITIES, &self.pip_authorities),
        ]
        .into_iter()
        .filter(|(_, content)| !content.is_empty())
        .map(|(name, content)| (name.to_owned(), content.to_owned()))
        .collect()
    }
}

/// The files of a build. They belong to its Job, and go with it.
pub(super) fn config_map(plan: &BuildPlan<'_>, job: OwnerReference) -> ConfigMap {
    ConfigMap {
        metadata: metadata(plan, Some(job)),
        data: Some(plan.files.data()),
        immutable: Some(true),
        ..ConfigMap::default()
    }
}

/// A copy of credentials for a Job in another namespace than theirs. It belongs to the Job.
pub(super) fn credentials_copy(
    plan: &BuildPlan<'_>,
    name: String,
    config: &[u8],
    job: OwnerReference,
) -> Secret {
    let mut metadata = metadata(plan, Some(job));
    metadata.name = Some(name);
    let labels = metadata.labels.get_or_insert_default();
    labels.insert(PART_OF.to_owned(), plan.name.to_owned());
    Secret {
        metadata,
        type_: Some(DOCKER_CONFIG_TYPE.to_owned()),
        data: Some(BTreeMap::from([(
            DOCKER_CONFIG_KEY.to_owned(),
            ByteString(config.to_vec()),
        )])),
        // Nobody exchanges what was compared.
        immutable: Some(true),
        ..Secret::default()
    }
}

/// The Job.
pub(super) fn job(plan: &BuildPlan<'_>) -> Job {
    let mut job = JOB.clone();
    job.metadata = ObjectMeta {
        annotations: Some(plan.annotations.clone()),
        ..metadata(plan, plan.owner.clone())
    };
    let spec = job.spec.get_or_insert_default();
    spec.active_deadline_seconds = Some(i64::from(plan.build.deadline_seconds));
    fill(plan, &mut spec.template);
    job
}

/// Returns the template of the Job's Pod.
pub(super) fn template(plan: &BuildPlan<'_>) -> PodTemplateSpec {
    job(plan).spec.unwrap_or_default().template
}

fn fill(plan: &BuildPlan<'_>, template: &mut PodTemplateSpec) {
    let settings = plan.build;
    template.metadata.get_or_insert_default().labels = Some(plan.labels.clone());
    let spec = template.spec.get_or_insert_default();
    for container in manifest::containers(spec) {
        container.image = Some(plan.operator_image.to_owned());
        match container.name.as_str() {
            BUILD => fill_build(plan, container),
            PUSH => fill_push(plan, container),
            _ => {}
        }
    }
    for volume in spec.volumes.iter_mut().flatten() {
        if let Some(files) = &mut volume.config_map {
            plan.name.clone_into(&mut files.name);
        }
        if volume.name == "results" {
            let limits = settings.resources.limits.as_ref();
            let size = limits.and_then(|limits| limits.get("ephemeral-storage"));
            volume.empty_dir.get_or_insert_default().size_limit = size.cloned();
        }
    }
    manifest::name_secret(spec, "push-credentials", plan.push_secret.as_deref());
    manifest::name_secret(spec, "base-credentials", plan.base_secret.as_deref());
    let mut node_selector = settings.node_selector.clone();
    // The environment is made for the interpreter of one architecture, and wheels are chosen for it.
    node_selector.insert("kubernetes.io/arch".to_owned(), plan.architecture.to_owned());
    spec.node_selector = Some(node_selector);
    spec.image_pull_secrets = Some(settings.image_pull_secrets.clone()).filter(|list| !list.is_empty());
    spec.tolerations = Some(settings.tolerations.clone()).filter(|list| !list.is_empty());
    spec.priority_class_name.clone_from(&settings.priority_class_name);
}

fn metadata(plan: &BuildPlan<'_>, owner: Option<OwnerReference>) -> ObjectMeta {
    ObjectMeta {
        name: Some(plan.name.to_owned()),
        namespace: Some(plan.namespace.to_owned()),
        labels: Some(plan.labels.clone()),
        owner_references: owner.map(|owner| vec![owner]),
        ..ObjectMeta::default()
    }
}

fn fill_build(plan: &BuildPlan<'_>, container: &mut Container) {
    container.image = Some(plan.build.executor_image.clone());
    container.resources = Some(resources(plan.build, plan.repeat));
    let credentials = container.env.take().filter(|_| plan.base_secret.is_some());
    let variables = plan.build.env.iter().chain(&plan.build.feature_flags);
    let variables = variables.map(|(name, value)| variable(name, value));
    let env: Vec<_> = variables.chain(credentials.into_iter().flatten()).collect();
    container.env = Some(env).filter(|env| !env.is_empty());
    let arguments = container.args.get_or_insert_default();
    let registries = plan.registries;
    arguments.extend(insecure(registries));
    // Kaniko takes a certificate for one host; where TLS is not spoken none is wanted.
    if !plan.files.registry_authorities.is_empty() && !registries.insecure.contains(&plan.base_registry) {
        let host = &plan.base_registry;
        arguments.push(format!(
            "--registry-certificate={host}={FILES}/{REGISTRY_AUTHORITIES}"
        ));
    }
    let variables = plan.arguments.iter();
    arguments.extend(variables.map(|(name, value)| format!("--build-arg={name}={value}")));
}

fn fill_push(plan: &BuildPlan<'_>, container: &mut Container) {
    let arguments = container.args.get_or_insert_default();
    arguments.insert(2, plan.reference.clone());
    // The push compares the files with this digest: whoever replaced them while the build ran has built something else.
    arguments.push(format!("{FILES_SHA256}{}", plan.files.sha256()));
    if plan.push_secret.is_some() {
        arguments.push("--credentials=/credentials/config.json".to_owned());
    }
    // An environment that others may take gets its tag from the operator, once it is signed. One that is not shared has a tag of its own.
    let tag = if plan.is_tagged { "--replace" } else { "--untagged" };
    arguments.push(tag.to_owned());
    if !plan.files.registry_authorities.is_empty() {
        arguments.push(format!("--authority={FILES}/{REGISTRY_AUTHORITIES}"));
    }
    arguments.extend(insecure(plan.registries));
    let trusted = &plan.registries.trusted_origins;
    arguments.extend(trusted.iter().map(|origin| format!("--trusted-origin={origin}")));
    // Of the builder's variables the push needs its way out alone; the rest may be settings of pip with a password.
    let variables = plan.build.env.iter();
    let proxies = variables.filter(|(name, _)| name.to_ascii_lowercase().ends_with("_proxy"));
    let env: Vec<_> = proxies.map(|(name, value)| variable(name, value)).collect();
    container.env = Some(env).filter(|env| !env.is_empty());
}

fn insecure(registries: &Registries) -> impl Iterator<Item = String> {
    let hosts = registries.insecure.iter();
    hosts.map(|host| format!("--insecure-registry={host}"))
}

/// The settings' resources; from the second try on with twice the memory.
fn resources(settings: &BuildSettings, repeat: u32) -> ResourceRequirements {
    let mut resources = settings.resources.clone();
    if repeat > 0
        // A limit that cannot be read stays as it is: the API server has accepted it, and guessing would be worse.
        && let Some(limits) = &mut resources.limits
        && let Some(memory) = limits.get_mut("memory")
        && let Ok(bytes) = quantity::bytes(&memory.0)
    {
        *memory = Quantity((bytes * 2).to_string());
    }
    resources
}

#[cfg(test)]
pub(super) mod tests;
