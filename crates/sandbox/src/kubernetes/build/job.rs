//! The Job that builds an image and pushes it, and the files that it reads. Objects only.
//!
//! Three containers, one after the other: the operator's image lays out the program that installs; Kaniko builds to a folder and holds no
//! credentials (apt packages run as part of it); `push-layout` holds the credentials and runs nothing of what was built.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::api::batch::v1::{
    Job, JobSpec, PodFailurePolicy, PodFailurePolicyOnPodConditionsPattern, PodFailurePolicyRule,
};
use k8s_openapi::api::core::v1::{
    Capabilities, ConfigMap, ConfigMapVolumeSource, Container, EmptyDirVolumeSource, EnvVar, KeyToPath,
    PodDNSConfig, PodDNSConfigOption, PodSecurityContext, PodSpec, PodTemplateSpec, ResourceRequirements,
    SeccompProfile, Secret, SecretVolumeSource, SecurityContext, Volume, VolumeMount,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

use super::dockerfile::{
    ENVIRONMENT, FILES, INDEX_AUTHORITIES, INSTALLATION, PIP_AUTHORITIES, REQUIREMENTS, RESULTS, TOOLS, WORK,
};
use crate::installation::{INSTALL, SETTINGS};
use crate::kubernetes::folder_sha256;
use crate::kubernetes::names::PART_OF;
use crate::kubernetes::settings::{BuildSettings, Registries};
use codegen_api::quantity;

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
const CREDENTIALS: &str = "/credentials";
const KANIKO_CREDENTIALS: &str = "/kaniko/.docker";
const TERMINATION_LOG: &str = "/dev/termination-log";
/// Seconds that a Job stays after its end, for whoever wants to read its log.
const TTL_SECONDS: i32 = 3600;
/// Seconds between the request to end and the end. Neither container has anything to put away.
const FAREWELL_SECONDS: i64 = 5;
const UNPRIVILEGED: i64 = 65532;

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
    let disruption = PodFailurePolicyRule {
        // An eviction or a drained node says nothing of the build, so the Job makes another Pod and does not count it as its one try.
        action: "Ignore".to_owned(),
        on_pod_conditions: Some(vec![PodFailurePolicyOnPodConditionsPattern {
            status: "True".to_owned(),
            type_: "DisruptionTarget".to_owned(),
        }]),
        ..PodFailurePolicyRule::default()
    };
    Job {
        metadata: ObjectMeta {
            annotations: Some(plan.annotations.clone()),
            ..metadata(plan, plan.owner.clone())
        },
        spec: Some(JobSpec {
            // Another try is another Job, with the failure of the one before.
            backoff_limit: Some(0),
            pod_failure_policy: Some(PodFailurePolicy {
                rules: vec![disruption],
            }),
            // The Job's own limit: a build that hangs ends also when no operator is there to see it.
            active_deadline_seconds: Some(i64::from(plan.build.deadline_seconds)),
            ttl_seconds_after_finished: Some(TTL_SECONDS),
            template: template(plan),
            ..JobSpec::default()
        }),
        status: None,
    }
}

/// Returns the template of the Job's Pod.
pub(super) fn template(plan: &BuildPlan<'_>) -> PodTemplateSpec {
    let settings = plan.build;
    let mut node_selector = settings.node_selector.clone();
    // The environment is made for the interpreter of one architecture, and wheels are chosen for it.
    node_selector.insert("kubernetes.io/arch".to_owned(), plan.architecture.to_owned());
    PodTemplateSpec {
        metadata: Some(ObjectMeta {
            labels: Some(plan.labels.clone()),
            ..ObjectMeta::default()
        }),
        spec: Some(PodSpec {
            // An init container, since it must have ended before the credentials of the push are in a running container.
            init_containers: Some(vec![installer_container(plan), build_container(plan)]),
            containers: vec![push_container(plan)],
            volumes: Some(volumes(plan)),
            restart_policy: Some("Never".to_owned()),
            termination_grace_period_seconds: Some(FAREWELL_SECONDS),
            // What is being installed has no business with the API server.
            automount_service_account_token: Some(false),
            // Otherwise the addresses of every Service of the namespace are among its variables.
            enable_service_links: Some(false),
            // A name with a dot is resolved as it is, before any name of the namespace.
            dns_config: Some(PodDNSConfig {
                options: Some(vec![PodDNSConfigOption {
                    name: Some("ndots".to_owned()),
                    value: Some("1".to_owned()),
                }]),
                ..PodDNSConfig::default()
            }),
            security_context: Some(PodSecurityContext {
                seccomp_profile: Some(SeccompProfile {
                    type_: "RuntimeDefault".to_owned(),
                    ..SeccompProfile::default()
                }),
                ..PodSecurityContext::default()
            }),
            image_pull_secrets: Some(settings.image_pull_secrets.clone()).filter(|list| !list.is_empty()),
            node_selector: Some(node_selector),
            tolerations: Some(settings.tolerations.clone()).filter(|list| !list.is_empty()),
            priority_class_name: settings.priority_class_name.clone(),
            ..PodSpec::default()
        }),
    }
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

/// The operator's image has the program, so that a build needs no other source for it: an index of a cluster without a way out need not
/// have it, and the node has the image already for the push.
fn installer_container(plan: &BuildPlan<'_>) -> Container {
    Container {
        name: INSTALLER.to_owned(),
        image: Some(plan.operator_image.to_owned()),
        args: Some(vec!["lay-out-installer".to_owned(), format!("{TOOLS}/uv")]),
        resources: Some(resources_of_push()),
        security_context: Some(unprivileged(UNPRIVILEGED)),
        volume_mounts: Some(vec![mount("installer", TOOLS, false)]),
        ..Container::default()
    }
}

/// Without capabilities and without a way to get any.
fn unprivileged(user: i64) -> SecurityContext {
    SecurityContext {
        run_as_user: Some(user),
        run_as_group: Some(UNPRIVILEGED),
        privileged: Some(false),
        allow_privilege_escalation: Some(false),
        read_only_root_filesystem: Some(true),
        capabilities: Some(Capabilities {
            drop: Some(vec!["ALL".to_owned()]),
            ..Capabilities::default()
        }),
        ..SecurityContext::default()
    }
}

fn build_container(plan: &BuildPlan<'_>) -> Container {
    let mut mounts = vec![
        mount("files", FILES, true),
        mount("installer", TOOLS, true),
        mount("results", RESULTS, false),
    ];
    if plan.base_secret.is_some() {
        mounts.push(mount("base-credentials", KANIKO_CREDENTIALS, true));
    }
    let variables = plan.build.env.iter().chain(&plan.build.feature_flags);
    let mut env: Vec<EnvVar> = variables.map(|(name, value)| variable(name, value)).collect();
    // Kaniko reads credentials from the folder that this names.
    if plan.base_secret.is_some() {
        env.push(variable("DOCKER_CONFIG", KANIKO_CREDENTIALS));
    }
    Container {
        name: BUILD.to_owned(),
        image: Some(plan.build.executor_image.clone()),
        args: Some(executor_arguments(plan)),
        env: Some(env).filter(|env| !env.is_empty()),
        resources: Some(resources(plan.build, plan.repeat)),
        security_context: Some(SecurityContext {
            // It unpacks other people's file systems, with owners and modes, which takes a root.
            run_as_user: Some(0),
            run_as_group: Some(0),
            privileged: Some(false),
            allow_privilege_escalation: Some(false),
            // What unpacking images and apt need; the baseline level admits them.
            capabilities: Some(Capabilities {
                drop: Some(vec!["ALL".to_owned()]),
                add: Some(
                    [
                        "CHOWN",
                        "DAC_OVERRIDE",
                        "FOWNER",
                        "SETGID",
                        "SETUID",
                        "SETFCAP",
                        "KILL",
                    ]
                    .map(str::to_owned)
                    .to_vec(),
                ),
            }),
            ..SecurityContext::default()
        }),
        volume_mounts: Some(mounts),
        ..Container::default()
    }
}

fn executor_arguments(plan: &BuildPlan<'_>) -> Vec<String> {
    let mut arguments = vec![
        format!("--dockerfile={FILES}/{DOCKERFILE}"),
        format!("--context=dir://{FILES}"),
        // The push is another container's, with credentials that this one must not see.
        "--no-push".to_owned(),
        format!("--oci-layout-path={RESULTS}/image"),
        // The kubelet takes its last words from there.
        format!("--digest-file={TERMINATION_LOG}"),
        "--snapshot-mode=redo".to_owned(),
        "--compressed-caching=false".to_owned(),
        "--image-download-retry=3".to_owned(),
        "--image-fs-extract-retry=3".to_owned(),
        "--ignore-path=/product_uuid".to_owned(),
        "--log-format=text".to_owned(),
    ];
    let registries = plan.registries;
    arguments.extend(
        registries
            .insecure
            .iter()
            .map(|host| format!("--insecure-registry={host}")),
    );
    // Kaniko takes a certificate for one host; where TLS is not spoken none is wanted.
    if !plan.files.registry_authorities.is_empty() && !registries.insecure.contains(&plan.base_registry) {
        let host = &plan.base_registry;
        arguments.push(format!(
            "--registry-certificate={host}={FILES}/{REGISTRY_AUTHORITIES}"
        ));
    }
    for (name, value) in &plan.arguments {
        arguments.push(format!("--build-arg={name}={value}"));
    }
    arguments
}

fn push_container(plan: &BuildPlan<'_>) -> Container {
    let mut arguments = vec![
        "push-layout".to_owned(),
        format!("{RESULTS}/image"),
        plan.reference.clone(),
        format!("--installed={WORK}/{REQUIREMENTS}"),
        // The layer of pip packages is the last one.
        format!("--environment={ENVIRONMENT}"),
        format!("--result={TERMINATION_LOG}"),
        format!("--built-from={FILES}"),
        // The push compares the files with this digest: whoever replaced them while the build ran has built something else.
        format!("{FILES_SHA256}{}", plan.files.sha256()),
    ];
    // Read-only: what the push verifies is what it sends.
    let mut mounts = vec![mount("files", FILES, true), mount("results", RESULTS, true)];
    if plan.push_secret.is_some() {
        arguments.push(format!("--credentials={CREDENTIALS}/config.json"));
        mounts.push(mount("push-credentials", CREDENTIALS, true));
    }
    // An environment that others may take gets its tag from the operator, once it is signed. One that is not shared has a tag of its own.
    let tag = if plan.is_tagged { "--replace" } else { "--untagged" };
    arguments.push(tag.to_owned());
    if !plan.files.registry_authorities.is_empty() {
        arguments.push(format!("--authority={FILES}/{REGISTRY_AUTHORITIES}"));
    }
    let insecure = &plan.registries.insecure;
    arguments.extend(insecure.iter().map(|host| format!("--insecure-registry={host}")));
    let trusted = &plan.registries.trusted_origins;
    arguments.extend(trusted.iter().map(|origin| format!("--trusted-origin={origin}")));
    // Of the builder's variables the push needs its way out alone; the rest may be settings of pip with a password.
    let proxies = plan
        .build
        .env
        .iter()
        .filter(|(name, _)| name.to_ascii_lowercase().ends_with("_proxy"));
    let env: Vec<EnvVar> = proxies.map(|(name, value)| variable(name, value)).collect();
    Container {
        name: PUSH.to_owned(),
        image: Some(plan.operator_image.to_owned()),
        args: Some(arguments),
        env: Some(env).filter(|env| !env.is_empty()),
        resources: Some(resources_of_push()),
        // The builder writes its files for root alone. Without capabilities, that is all this root can do.
        security_context: Some(unprivileged(0)),
        volume_mounts: Some(mounts),
        ..Container::default()
    }
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

/// It streams: blobs of any size pass through some megabytes.
fn resources_of_push() -> ResourceRequirements {
    let amounts = |cpu: &str, memory: &str| {
        Some(BTreeMap::from([
            ("cpu".to_owned(), Quantity(cpu.to_owned())),
            ("memory".to_owned(), Quantity(memory.to_owned())),
        ]))
    };
    ResourceRequirements {
        requests: amounts("50m", "64Mi"),
        limits: amounts("1", "256Mi"),
        ..ResourceRequirements::default()
    }
}

fn volumes(plan: &BuildPlan<'_>) -> Vec<Volume> {
    let limits = plan.build.resources.limits.as_ref();
    let mut volumes = vec![
        Volume {
            name: "files".to_owned(),
            config_map: Some(ConfigMapVolumeSource {
                name: plan.name.to_owned(),
                ..ConfigMapVolumeSource::default()
            }),
            ..Volume::default()
        },
        Volume {
            name: "installer".to_owned(),
            empty_dir: Some(EmptyDirVolumeSource {
                size_limit: Some(Quantity("128Mi".to_owned())),
                ..EmptyDirVolumeSource::default()
            }),
            ..Volume::default()
        },
        Volume {
            name: "results".to_owned(),
            empty_dir: Some(EmptyDirVolumeSource {
                // Without a size the volume could fill the node's disk, and evict others.
                size_limit: limits.and_then(|limits| limits.get("ephemeral-storage")).cloned(),
                ..EmptyDirVolumeSource::default()
            }),
            ..Volume::default()
        },
    ];
    let secrets = [
        ("push-credentials", plan.push_secret.as_deref()),
        ("base-credentials", plan.base_secret.as_deref()),
    ];
    for (name, secret) in secrets {
        volumes.extend(secret.map(|secret| credentials(name, secret)));
    }
    volumes
}

fn credentials(name: &str, secret: &str) -> Volume {
    Volume {
        name: name.to_owned(),
        secret: Some(SecretVolumeSource {
            secret_name: Some(secret.to_owned()),
            // Only this key: a Secret may have others, which nobody here needs.
            items: Some(vec![KeyToPath {
                key: DOCKER_CONFIG_KEY.to_owned(),
                path: "config.json".to_owned(),
                ..KeyToPath::default()
            }]),
            ..SecretVolumeSource::default()
        }),
        ..Volume::default()
    }
}

fn mount(name: &str, path: &str, read_only: bool) -> VolumeMount {
    VolumeMount {
        name: name.to_owned(),
        mount_path: path.to_owned(),
        read_only: Some(read_only).filter(|read_only| *read_only),
        ..VolumeMount::default()
    }
}

fn variable(name: &str, value: &str) -> EnvVar {
    EnvVar {
        name: name.to_owned(),
        value: Some(value.to_owned()),
        ..EnvVar::default()
    }
}

#[cfg(test)]
mod tests;
