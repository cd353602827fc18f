//! Builds an image, or finds the one that is there.
//!
//! The registry is asked first; only where it has no such image a Job is made. Its name follows from what it builds, so
//! every task of the namespace that wants the image finds the same Job and becomes one of its owners.

mod adopted;
mod dockerfile;
mod failure;
mod index;
mod job;
mod unfinished;
mod objects;
pub(super) mod policy;
mod publish;
mod published;
mod registries;
mod shared;
mod signing;
mod sources;
mod state;

use std::collections::BTreeMap;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::Patch;
use serde_json::{Value, json};

use self::dockerfile::Recipe;
use self::index::{INDEX_URL, content};
#[cfg(test)]
pub(super) use self::job::tests::pod;
use self::job::{BuildFiles, BuildPlan};
use self::objects::{DockerConfig, NamespaceObjects};
pub(super) use self::publish::publish;
pub use self::published::{ImageToInspect, InImage, PublishedProgram};
pub use self::registries::RegistryCache;
pub use self::signing::Signing;
use self::sources::{Base, ImageDestination};
use self::state::BuildState;
use super::names::{Component, architecture, labels, name, name_of_pod};
use super::reach::api_servers;
use super::{KubernetesSandbox, build_namespace, operator_image, policies, room};
use crate::{BuiltEnvironment, ImageSpec, Progressing, SandboxError};
use codegen_api::common::CacheMode;
use codegen_core::digest::sha256_hex_of_parts;
use codegen_core::image_tag;
use codegen_core::lock::Lock;
use codegen_registry::RegistryImage;

/// Builds an image, or finds the one that is there.
pub(super) async fn build(
    sandbox: &KubernetesSandbox<'_>,
    spec: &ImageSpec,
    repeat: u32,
) -> Result<Progressing<BuiltEnvironment>, SandboxError> {
    // An image that is named is taken as it is: there is nothing to build, and nobody here knows what is installed in it.
    if let Some(reference) = &sandbox.task.image.reference {
        return Ok(Progressing::Done(BuiltEnvironment {
            image: reference.clone(),
            resolved: Vec::new(),
            lock: None,
            python: String::new(),
            fresh: false,
            seconds: None,
            remark: None,
        }));
    }
    // Before any request: a name with a quote would be part of a shell's command.
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
    /// The namespace of the build.
    objects: NamespaceObjects,
    target: ImageDestination,
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
        let home = NamespaceObjects::new(sandbox.client.clone(), &owner.namespace);
        let objects = NamespaceObjects::new(sandbox.client.clone(), namespace(sandbox));
        let target = ImageDestination::of(sandbox, &home).await?;
        let base = Base::resolve(sandbox, &home, &spec.base).await?;
        // By the digest and not by the tag of the base: a base that moves makes another environment.
        let content = content(sandbox, spec, &base.digest);
        // What is not shared has a Job of its own; what is not kept has a tag of its own.
        let own = sha256_hex_of_parts(&[&content, &owner.uid, &owner.run, &owner.attempt.to_string()]);
        let (tag, scope) = match sandbox.task.cache {
            CacheMode::Auto => (content, String::new()),
            // The same tag for everybody, and a Job of its own: the build replaces what the tag has.
            CacheMode::Override => (content, own),
            CacheMode::Disable => (own, String::new()),
        };
        let tag = image_tag::of_environment(&tag);
        let parts = [
            &owner.namespace,
            &target.repository,
            &tag,
            &scope,
            // A lost build keeps its name for an hour, so the next one is another Job.
            &repeat.to_string(),
        ];
        // The name follows from what is built: tasks that want the same image find one Job, and so does the operator after a restart.
        let name = name_of_pod("build", &parts.map(String::as_str));
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

    async fn advance(&self) -> Result<Progressing<BuiltEnvironment>, SandboxError> {
        // The Job comes first: while it runs the registry has nothing, and once it has ended the Job says whether the image is new.
        let Some(job) = self.objects.job(&self.name).await? else {
            return match self.found().await? {
                Some(image) => Ok(self.take(image, false, None)),
                None => Box::pin(self.start()).await,
            };
        };
        // Its name is free when it is gone; that deletion is watched.
        if job.metadata.deletion_timestamp.is_some() {
            return Ok(Progressing::Pending);
        }
        let pod = self.objects.latest_pod(&job).await?;
        match state::state(&job, pod.as_ref()) {
            BuildState::Done(digest) => {
                // Whoever has changed what it was built from has done it by now.
                self.objects.has_files(&job).await?;
                self.drop_copies().await;
                let seconds = state::seconds(&job, pod.as_ref());
                self.pushed(&job, &digest, seconds).await
            }
            BuildState::Failed(failure) => self.failed(&job, pod.as_ref(), failure).await,
            BuildState::Queued(why) => {
                // Whoever waits joins, so that the Job is not collected with the task that made it.
                self.join(&job).await?;
                let Some(pod) = pod else {
                    return Ok(Progressing::Queued(why));
                };
                let limits = "build.resources of the operator";
                room::queued(&self.sandbox.client, &pod, why, &self.child(), limits).await
            }
            BuildState::Running { started } => {
                self.join(&job).await?;
                // A Job without its files waits until its deadline: the kubelet retries the mount, and says so in events only.
                if !started {
                    self.write_files(&job).await?;
                }
                Ok(Progressing::Pending)
            }
        }
    }

    fn reference(&self) -> String {
        format!("{}:{}", self.target.repository, self.tag)
    }

    fn take(&self, image: RegistryImage, fresh: bool, seconds: Option<f64>) -> Progressing<BuiltEnvironment> {
        Progressing::Done(BuiltEnvironment {
            seconds,
            ..self.built(image, fresh)
        })
    }

    fn built(&self, image: RegistryImage, fresh: bool) -> BuiltEnvironment {
        let wanted = &self.spec.python_version;
        let python = image.installed.python.clone();
        let is_wanted = python.is_empty()
            || python
                .strip_prefix(wanted.as_str())
                // `3.1` must not match `3.12`.
                .is_some_and(|rest| rest.starts_with('.'));
        BuiltEnvironment {
            // The digest and the name that nodes use: a tag could be given to something else between the build and the sandbox.
            image: format!("{}@{}", self.target.pull_repository, image.digest),
            resolved: image.installed.names(),
            // A lock with gaps would install less than there was.
            lock: Some(image.installed).filter(Lock::is_complete),
            python: if is_wanted {
                python
            } else {
                format!("{python} ({wanted} was asked for)")
            },
            fresh,
            seconds: None,
            remark: None,
        }
    }

    async fn start(&self) -> Result<Progressing<BuiltEnvironment>, SandboxError> {
        self.verify().await?;
        let plan = self.plan()?;
        // A dry run, before anything exists: a Pod that admission refuses would otherwise be an event of a Job that never starts.
        let tried = self.objects.try_pod(&self.name, job::template(&plan)).await?;
        if let Progressing::Queued(why) = tried {
            return Ok(Progressing::Queued(why));
        }
        let servers = api_servers(&self.sandbox.client).await;
        // Before the Job: for no moment does a Pod of it run without its policy.
        if let Some(policy) = policy::policy(namespace(self.sandbox), self.sandbox.settings, &servers)? {
            policies::write(&self.sandbox.client, namespace(self.sandbox), &policy).await?;
        }
        match self.objects.create(&job::job(&plan)).await? {
            Some(job) => self.write_what_it_reads(&plan, &job).await?,
            // Another task was faster.
            None => self.objects.patch_job(&self.name, &self.joined()).await?,
        }
        Ok(Progressing::Pending)
    }

    /// The files last: where they are, all is.
    async fn write_what_it_reads(&self, plan: &BuildPlan<'_>, job: &Job) -> Result<(), SandboxError> {
        // The Job must be there first, since its files and copies name its uid as their owner.
        let owner = objects::reference_to(job);
        if self.is_in_another_namespace() {
            let configs = self.target.config.iter().chain(&self.base.config);
            for config in configs {
                let copy =
                    job::credentials_copy(plan, self.name_of_copy(config), config.bytes(), owner.clone());
                self.objects.write_copy(&copy).await?;
            }
        }
        self.objects.write_files(&job::config_map(plan, owner), job).await
    }

    /// Deletes the copies of Secrets that a Job in another namespace than the task's has seen, once it has ended.
    async fn drop_copies(&self) {
        if self.is_in_another_namespace()
            // A failure here must not take a finished build away; the owner reference collects them with the Job.
            && let Err(error) = self.objects.delete_copies(&self.name).await
        {
            tracing::warn!(%error, job = self.name, "copies of credentials could not be removed; they go with their Job");
        }
    }

    fn is_in_another_namespace(&self) -> bool {
        namespace(self.sandbox) != self.sandbox.owner.namespace
    }

    /// The Secret as the Job names it: itself, or a copy beside the Job.
    fn mounted(&self, secret: Option<&str>, config: Option<&DockerConfig>) -> Option<String> {
        match config.filter(|_| self.is_in_another_namespace()) {
            Some(config) => Some(self.name_of_copy(config)),
            None => secret.map(str::to_owned),
        }
    }

    fn name_of_copy(&self, config: &DockerConfig) -> String {
        // The Secret's version is part of the name: changed credentials are another copy, which is immutable like the first.
        name("credentials", &[&self.name, &config.name, &config.version])
    }

    /// Makes the task one of the owners of the Job, as all are who wait for it: it goes when the last of them does.
    async fn join(&self, job: &Job) -> Result<(), SandboxError> {
        if self.owns(job) {
            return Ok(());
        }
        self.objects.patch_job(&self.name, &self.joined()).await
    }

    /// The change of a Job with which the task waits for it as well.
    fn joined(&self) -> Patch<Value> {
        // An owner in another namespace would be taken for one that is gone, and the Job collected.
        if self.is_in_another_namespace() {
            return build_namespace::join(self.sandbox.owner);
        }
        // Owners merge by uid.
        Patch::Strategic(json!({"metadata": {"ownerReferences": [self.owner()]}}))
    }

    /// The files are written after the Job, which owns them; a crash may lie between.
    async fn write_files(&self, job: &Job) -> Result<(), SandboxError> {
        if self.objects.has_files(job).await? {
            return Ok(());
        }
        let plan = self.plan()?;
        self.write_what_it_reads(&plan, job).await
    }

    fn owns(&self, job: &Job) -> bool {
        if self.is_in_another_namespace() {
            // Labels in place of owners, for the same reason.
            return build_namespace::is_waited_for_by(&job.metadata, self.sandbox.owner);
        }
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
        format!("Job {}/{}", namespace(self.sandbox), self.name)
    }

    fn plan(&self) -> Result<BuildPlan<'_>, SandboxError> {
        let (settings, owner) = (self.sandbox.settings, self.sandbox.owner);
        let mut all_labels = labels(&owner.name, &owner.uid, Component::Build);
        let mut annotations = BTreeMap::from([
            (job::MADE_FOR.to_owned(), self.wish()),
            (job::MADE_WITH.to_owned(), self.settings()?),
        ]);
        if self.is_in_another_namespace() {
            all_labels.extend(build_namespace::labels(owner));
            annotations.extend(build_namespace::annotations(owner));
        }
        Ok(BuildPlan {
            name: &self.name,
            namespace: namespace(self.sandbox),
            labels: all_labels,
            annotations,
            owner: (!self.is_in_another_namespace()).then(|| self.owner()),
            reference: self.reference(),
            is_tagged: !self.is_shared(),
            base_registry: self.base.registry.clone(),
            architecture: architecture(&self.spec.architecture),
            push_secret: self.mounted(self.target.secret.as_deref(), self.target.config.as_ref()),
            arguments: self.arguments(),
            base_secret: self.mounted(self.base.secret.as_deref(), self.base.config.as_ref()),
            repeat: self.repeat,
            operator_image: operator_image(settings)?,
            files: self.files()?,
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

    fn files(&self) -> Result<BuildFiles, SandboxError> {
        let settings = self.sandbox.settings;
        let index_authorities = objects::concatenated(&settings.build.index_authorities)?;
        let own = self.spec.index_ca_bundle.as_deref();
        let pip_authorities =
            own.map_or_else(String::new, |own| format!("{index_authorities}{}\n", own.trim()));
        let requirements = self.spec.lock.as_ref().map_or_else(String::new, Lock::to_string);
        let recipe = Recipe {
            base: &self.base.reference,
            packages: &self.spec.packages,
            days: self.spec.min_release_age_days,
            is_locked: !requirements.is_empty(),
            has_index_authorities: !index_authorities.is_empty(),
            has_pip_authorities: own.is_some(),
            arguments: self.arguments().into_keys().collect(),
        };
        Ok(BuildFiles {
            dockerfile: recipe.dockerfile(),
            installation: recipe.installation(),
            requirements,
            registry_authorities: objects::concatenated(&settings.registries.authorities)?,
            index_authorities,
            pip_authorities,
        })
    }
}

/// Returns the namespace in which the task's builds are made.
fn namespace<'a>(sandbox: &'a KubernetesSandbox<'_>) -> &'a str {
    let own = sandbox.settings.build.namespace.as_deref();
    own.unwrap_or(&sandbox.owner.namespace)
}
