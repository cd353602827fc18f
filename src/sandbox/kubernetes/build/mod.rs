//! Builds an image, or finds the one that is there.
//!
//! The registry is asked first; only where it has no such image a Job is made. Its name follows from what it builds, so
//! every task of the namespace that wants the image finds the same Job and becomes one of its owners.

mod dockerfile;
mod failure;
mod job;
mod objects;
mod policy;
mod registries;
mod sources;
mod state;

use std::borrow::Cow;
use std::collections::BTreeMap;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use k8s_openapi::jiff::Timestamp;

use self::dockerfile::Recipe;
use self::failure::Failed;
use self::job::{Files, Plan};
use self::objects::Objects;
pub use self::registries::RegistryCache;
use self::sources::{Base, Target};
use self::state::{Failure, State};
use super::names::{Component, TASK_UID, labels, name};
use super::{KubernetesSandbox, room};
use crate::api::common::CacheMode;
use crate::pipeline::digest::sha256_hex_of_parts;
use crate::pipeline::sandbox::Packages;
use crate::registry::Image;
use crate::sandbox::{Built, ImageSpec, Progressing, SandboxError};

/// Hexadecimal digits of a tag.
const TAG: usize = 32;
/// Where pip finds its index.
const INDEX_URL: &str = "PIP_INDEX_URL";
/// After so many seconds a build that failed for want of a setting is made again: what it lacked may be there by now. Before
/// that, only when its task or a Secret has changed.
const TRY_AGAIN_SECONDS: i64 = 300;

/// Builds an image, or finds the one that is there.
pub(super) async fn build(
    sandbox: &KubernetesSandbox<'_>,
    spec: &ImageSpec,
    repeat: u32,
) -> Result<Progressing<Built>, SandboxError> {
    if let Some(reference) = &sandbox.task.image.reference {
        return Ok(Progressing::Done(Built {
            image: reference.clone(),
            resolved: Vec::new(),
            python: String::new(),
            fresh: false,
            seconds: None,
        }));
    }
    dockerfile::check(&spec.packages)?;
    // Boxed: they hold whole objects of the API between their steps.
    let build = Box::pin(Build::prepare(sandbox, spec, repeat)).await?;
    Box::pin(build.advance()).await
}

/// A build of one image for one task.
struct Build<'a> {
    sandbox: &'a KubernetesSandbox<'a>,
    spec: &'a ImageSpec,
    repeat: u32,
    objects: Objects,
    target: Target,
    base: Base,
    /// Name of the Job.
    name: String,
    tag: String,
}

impl<'a> Build<'a> {
    async fn prepare(
        sandbox: &'a KubernetesSandbox<'a>,
        spec: &'a ImageSpec,
        repeat: u32,
    ) -> Result<Self, SandboxError> {
        let owner = sandbox.owner;
        let objects = Objects::new(sandbox.client.clone(), &owner.namespace);
        let target = Target::of(sandbox, &objects).await?;
        let base = Base::resolve(sandbox, &objects, &spec.base).await?;
        let content = content(sandbox, spec, &base.digest);
        // What is not shared has a Job of its own; what is not kept has a tag of its own.
        let own = sha256_hex_of_parts(&[&content, &owner.uid, &owner.run, &owner.attempt.to_string()]);
        let (tag, scope) = match sandbox.task.cache {
            CacheMode::Auto => (content, String::new()),
            CacheMode::Override => (content, own),
            CacheMode::Disable => (own, String::new()),
        };
        let tag = tag[..TAG].to_owned();
        let parts = [
            &owner.namespace,
            &target.repository,
            &tag,
            &scope,
            &repeat.to_string(),
        ];
        let name = name("build", &parts.map(String::as_str));
        Ok(Self {
            sandbox,
            spec,
            repeat,
            objects,
            target,
            base,
            name,
            tag,
        })
    }

    async fn advance(&self) -> Result<Progressing<Built>, SandboxError> {
        let Some(job) = self.objects.job(&self.name).await? else {
            return match self.found().await? {
                Some(image) => Ok(Progressing::Done(self.built(image, false))),
                None => self.start().await,
            };
        };
        if job.metadata.deletion_timestamp.is_some() {
            return Ok(Progressing::Pending);
        }
        let pod = self.objects.latest_pod(&self.name).await?;
        match state::state(&job, pod.as_ref()) {
            State::Done(digest) => self.pushed(&job, &digest).await,
            State::Failed(failure) => self.failed(&job, pod.as_ref(), failure).await,
            State::Queued(why) => {
                self.join(&job).await?;
                self.queued(pod.as_ref(), why).await
            }
            State::Running { started } => {
                self.join(&job).await?;
                if !started {
                    self.write_files(&job).await?;
                }
                Ok(Progressing::Pending)
            }
        }
    }

    /// The image that the tag has, where the task may take it.
    async fn found(&self) -> Result<Option<Image>, SandboxError> {
        match self.sandbox.task.cache {
            CacheMode::Auto => self.ask(&self.reference()).await,
            CacheMode::Override | CacheMode::Disable => Ok(None),
        }
    }

    async fn ask(&self, reference: &str) -> Result<Option<Image>, SandboxError> {
        let answer = self.target.registry.image(reference).await;
        answer.map_err(|error| registries::failed(reference, &self.target.credentials(), error))
    }

    fn reference(&self) -> String {
        format!("{}:{}", self.target.repository, self.tag)
    }

    /// A digest counts once the registry has shown the image. What is shared is what its tag has by now: somebody may have
    /// replaced what this Job pushed.
    async fn pushed(&self, job: &Job, digest: &str) -> Result<Progressing<Built>, SandboxError> {
        let reference = match self.sandbox.task.cache {
            CacheMode::Auto => self.reference(),
            CacheMode::Override | CacheMode::Disable => format!("{}@{digest}", self.target.repository),
        };
        match self.ask(&reference).await? {
            Some(image) => Ok(Progressing::Done(Built {
                seconds: age(job),
                ..self.built(image, self.owns(job))
            })),
            None => Err(SandboxError::Lost {
                child: self.child(),
                reason: format!("the registry has no {reference} any more"),
            }),
        }
    }

    async fn failed(
        &self,
        job: &Job,
        pod: Option<&Pod>,
        failure: Failure,
    ) -> Result<Progressing<Built>, SandboxError> {
        let has_ended = failure.has_ended();
        if has_ended && let Some(image) = self.found().await? {
            return Ok(Progressing::Done(self.built(image, false)));
        }
        let log = match (&failure, pod) {
            (Failure::Builder, Some(pod)) => self.objects.builder_log(pod).await?,
            _ => String::new(),
        };
        let failed = Failed {
            child: self.child(),
            base: &self.sandbox.task.image.base,
            reference: &self.reference(),
            repeat: self.repeat,
            push_credentials: &self.target.credentials(),
        };
        let error = failed.error(failure, &log);
        let may_be_mended = is_old(job) || self.is_made_for_another_wish(job);
        if has_ended && matches!(error, SandboxError::Refused { .. }) && may_be_mended {
            self.objects.delete_job(&self.name).await?;
            return Ok(Progressing::Pending);
        }
        Err(error)
    }

    /// A Pod that no node takes: is there a node that could?
    async fn queued(&self, pod: Option<&Pod>, why: String) -> Result<Progressing<Built>, SandboxError> {
        if why.contains("Insufficient ")
            && let Some(pod) = pod
            && room::is_too_large(&self.sandbox.client, pod).await
        {
            return Err(SandboxError::Refused {
                object: self.child(),
                reason: why,
                remedy:
                    "no node is as large as that: lower build.resources of the operator, or add a larger node"
                        .to_owned(),
            });
        }
        Ok(Progressing::Queued(why))
    }

    /// Whether this task made the Job, and has changed since, or a Secret that it names.
    fn is_made_for_another_wish(&self, job: &Job) -> bool {
        let metadata = &job.metadata;
        let made_by = metadata.labels.as_ref().and_then(|labels| labels.get(TASK_UID));
        let made_for = metadata
            .annotations
            .as_ref()
            .and_then(|all| all.get(job::MADE_FOR));
        made_by == Some(&self.sandbox.owner.uid) && made_for != Some(&self.wish())
    }

    /// What the Job is made for that its name does not say.
    fn wish(&self) -> String {
        let parts = [
            self.sandbox.owner.wish.as_str(),
            self.target.secret.as_deref().unwrap_or_default(),
            &self.target.secret_version,
            self.base.secret.as_deref().unwrap_or_default(),
            &self.base.secret_version,
        ];
        sha256_hex_of_parts(&parts)[..16].to_owned()
    }

    fn built(&self, image: Image, fresh: bool) -> Built {
        let wanted = &self.spec.python_version;
        let python = image.installed.python;
        let is_wanted = python.is_empty()
            || python
                .strip_prefix(wanted.as_str())
                .is_some_and(|rest| rest.starts_with('.'));
        Built {
            image: format!("{}@{}", self.target.pull_repository, image.digest),
            resolved: image.installed.packages,
            python: if is_wanted {
                python
            } else {
                format!("{python} ({wanted} was asked for)")
            },
            fresh,
            seconds: None,
        }
    }

    async fn start(&self) -> Result<Progressing<Built>, SandboxError> {
        let plan = self.plan(&self.foundation().await?)?;
        self.objects.try_pod(&self.name, job::template(&plan)).await?;
        let network = &self.sandbox.settings.build.network;
        if let Some(policy) = policy::policy(&self.sandbox.owner.namespace, network) {
            self.objects.write_policy(&policy).await?;
        }
        match self.objects.create_job(&job::job(&plan)).await? {
            Some(job) => {
                let map = job::config_map(&plan, objects::reference_to(&job));
                self.objects.write_files(&map).await?;
            }
            // Another task was faster.
            None => self.objects.own(&self.name, &self.owner()).await?,
        }
        Ok(Progressing::Pending)
    }

    /// Whoever waits for a Job is one of its owners: it goes when the last of them does.
    async fn join(&self, job: &Job) -> Result<(), SandboxError> {
        if self.owns(job) {
            return Ok(());
        }
        self.objects.own(&self.name, &self.owner()).await
    }

    /// The files are written after the Job, which owns them; a crash may lie between.
    async fn write_files(&self, job: &Job) -> Result<(), SandboxError> {
        if self.objects.has_files(&self.name).await? {
            return Ok(());
        }
        let plan = self.plan(&self.foundation().await?)?;
        let map = job::config_map(&plan, objects::reference_to(job));
        self.objects.write_files(&map).await
    }

    fn owns(&self, job: &Job) -> bool {
        let owners = job.metadata.owner_references.as_deref().unwrap_or_default();
        owners.iter().any(|owner| owner.uid == self.sandbox.owner.uid)
    }

    fn owner(&self) -> OwnerReference {
        OwnerReference {
            // There may be several owners, and only one could be the controller.
            controller: None,
            block_owner_deletion: None,
            ..self.sandbox.owner.reference.clone()
        }
    }

    fn child(&self) -> String {
        format!("Job {}/{}", self.sandbox.owner.namespace, self.name)
    }

    /// What the image stands on: the task's environment before this one, where it only adds to it, else the base. Without
    /// the cache nothing that is there is read.
    async fn foundation(&self) -> Result<Foundation<'_>, SandboxError> {
        if let (Some(packages), CacheMode::Auto) = (&self.spec.from, self.sandbox.task.cache) {
            let before = ImageSpec {
                packages: packages.clone(),
                ..self.spec.clone()
            };
            let tag = content(self.sandbox, &before, &self.base.digest);
            let found = sources::previous(self.sandbox, &self.objects, &self.target, &tag[..TAG]).await?;
            if let Some(image) = found {
                return Ok(Foundation {
                    image: Cow::Owned(image),
                    has: Some(packages),
                });
            }
        }
        Ok(Foundation {
            image: Cow::Borrowed(&self.base),
            has: None,
        })
    }

    fn plan(&self, on: &Foundation<'_>) -> Result<Plan<'_>, SandboxError> {
        let (settings, owner) = (self.sandbox.settings, self.sandbox.owner);
        let operator_image = settings
            .operator_image
            .as_deref()
            .ok_or_else(|| SandboxError::Refused {
                object: "operator".to_owned(),
                reason: "it does not know its own image, which pushes what is built".to_owned(),
                remedy: "set operatorImage, or the variable OPERATOR_IMAGE of its Pod".to_owned(),
            })?;
        Ok(Plan {
            name: &self.name,
            namespace: &owner.namespace,
            labels: labels(&owner.name, &owner.uid, Component::Build),
            owner: self.owner(),
            made_for: self.wish(),
            reference: self.reference(),
            replace: self.sandbox.task.cache != CacheMode::Auto,
            base_registry: on.image.registry.clone(),
            architecture: kubernetes_architecture(&self.spec.architecture),
            push_secret: self.target.secret.as_deref(),
            arguments: self.arguments(),
            base_secret: on.image.secret.clone(),
            repeat: self.repeat,
            operator_image,
            files: self.files(on)?,
            build: &settings.build,
            registries: &settings.registries,
        })
    }

    /// The operator's variables and the index. Arguments, since an address may hold a password, and commands are recorded in
    /// the image.
    fn arguments(&self) -> BTreeMap<&str, &str> {
        let shared = &self.sandbox.settings.build.env;
        let mut arguments: BTreeMap<&str, &str> = shared
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        if let Some(index) = &self.spec.index_url {
            arguments.insert(INDEX_URL, index);
        }
        arguments
    }

    fn files(&self, on: &Foundation<'_>) -> Result<Files, SandboxError> {
        let settings = self.sandbox.settings;
        let index_authorities = objects::concatenated(&settings.build.index_authorities)?;
        let recipe = Recipe {
            base: &on.image.reference,
            has: on.has,
            packages: &self.spec.packages,
            trusted_index: index_url(self.sandbox, self.spec).and_then(dockerfile::trusted_index),
            has_index_authorities: !index_authorities.is_empty(),
            arguments: self.arguments().into_keys().collect(),
            cached: settings.build.cache_claim.as_ref().map(|_| self.name.as_str()),
        };
        Ok(Files {
            dockerfile: recipe.dockerfile(),
            registry_authorities: objects::concatenated(&settings.registries.authorities)?,
            index_authorities,
        })
    }
}

/// What an image stands on.
struct Foundation<'a> {
    image: Cow<'a, Base>,
    /// What it has, where it is one of ours.
    has: Option<&'a Packages>,
}

/// The hash of what the image holds, whatever name its base goes by.
fn content(sandbox: &KubernetesSandbox<'_>, spec: &ImageSpec, base: &str) -> String {
    let spec = ImageSpec {
        base: base.to_owned(),
        index_url: index_url(sandbox, spec).map(str::to_owned),
        ..spec.clone()
    };
    spec.content_hash()
}

/// The task's package index, else the operator's.
fn index_url<'a>(sandbox: &'a KubernetesSandbox<'_>, spec: &'a ImageSpec) -> Option<&'a str> {
    let shared = sandbox.settings.build.env.get(INDEX_URL);
    spec.index_url.as_deref().or(shared.map(String::as_str))
}

/// An architecture as the label `kubernetes.io/arch` of nodes has it.
fn kubernetes_architecture(rust: &str) -> &str {
    match rust {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

/// Seconds since the Job was made.
fn age(job: &Job) -> Option<f64> {
    let made = job.metadata.creation_timestamp.as_ref()?.0;
    Some(Timestamp::now().duration_since(made).as_secs_f64())
}

/// Whether a Job failed so long ago that what it lacked may be there by now.
fn is_old(job: &Job) -> bool {
    let conditions = job.status.as_ref().and_then(|status| status.conditions.as_ref());
    let failed = conditions
        .into_iter()
        .flatten()
        .find(|condition| condition.type_ == "Failed");
    let since = failed.and_then(|condition| condition.last_transition_time.as_ref());
    since.is_some_and(|since| Timestamp::now().duration_since(since.0).as_secs() >= TRY_AGAIN_SECONDS)
}
