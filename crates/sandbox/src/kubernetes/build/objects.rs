//! Reads and writes the objects of builds.

use std::collections::BTreeMap;
use std::path::PathBuf;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Pod, PodTemplateSpec, Secret};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::api::{DeleteParams, ListParams, LogParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt as _};
use serde_json::Value;

use super::adopted;
use super::job::BUILD;
use crate::kubernetes::names::{OPERATOR, PART_OF};
use crate::kubernetes::refusal::{Creation, create, failed, no_room, replaced};
use crate::{Progressing, SandboxError};
use codegen_api::Namespaced;
use codegen_api::secret_use::SecretUse;

/// The key of a Secret of type `kubernetes.io/dockerconfigjson`.
const DOCKER_CONFIG: &str = ".dockerconfigjson";
/// Length of the part of a log that is searched for a cause, lines.
const LOG_LINES: i64 = 200;

/// The content of a `.dockerconfigjson`.
#[derive(Clone)]
pub(super) struct DockerConfig {
    bytes: Vec<u8>,
    /// The name of its Secret.
    pub name: String,
    /// The version of its Secret.
    pub version: String,
}

impl DockerConfig {
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// The objects of one namespace.
pub(super) struct NamespaceObjects {
    client: Client,
    namespace: String,
}

impl NamespaceObjects {
    /// Those of `namespace`.
    pub fn new(client: Client, namespace: &str) -> Self {
        Self {
            client,
            namespace: namespace.to_owned(),
        }
    }

    fn api<K: Namespaced>(&self) -> Api<K> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    /// An object as messages name it.
    fn object<K: Namespaced>(&self, name: &str) -> String {
        format!("{} {}/{name}", K::kind(&()), self.namespace)
    }

    fn failed<K: Namespaced>(&self, action: &str, name: &str) -> impl FnOnce(kube::Error) -> SandboxError {
        let object = self.object::<K>(name);
        move |error| failed(action, &object, error)
    }

    /// Reads an object; `None` where it is not there.
    async fn get<K: Namespaced>(&self, name: &str) -> Result<Option<K>, SandboxError> {
        let found = self.api().get_opt(name).await;
        found.map_err(self.failed::<K>("read", name))
    }

    /// Creates an object; `None` where there is one of its name.
    pub async fn create<K: Namespaced>(&self, wanted: &K) -> Result<Option<K>, SandboxError> {
        let object = self.object::<K>(&wanted.name_any());
        match create(&self.api(), &parameters(), &object, wanted).await? {
            Creation::New(made) => Ok(Some(made)),
            Creation::Exists => Ok(None),
            Creation::Queued(why) => Err(no_room(&object, why)),
        }
    }

    /// The Job of this name.
    pub async fn job(&self, name: &str) -> Result<Option<Job>, SandboxError> {
        let found = self.get::<Job>(name).await?;
        // An object of that name that does not carry the mark was planted, and is neither read further nor deleted.
        match found {
            Some(job) if !adopted::is_ours(&job.metadata) => Err(self.not_ours::<Job>(name)),
            found => Ok(found),
        }
    }

    /// The Pod that a Job made last. An earlier one was disrupted.
    pub async fn latest_pod(&self, job: &Job) -> Result<Option<Pod>, SandboxError> {
        let name = name_of(&job.metadata);
        let selector = ListParams::default().labels(&format!("batch.kubernetes.io/job-name={name}"));
        let listed = self.api::<Pod>().list(&selector).await;
        let listed = listed.map_err(self.failed::<Job>("list the Pods of", name))?;
        let created = |pod: &Pod| pod.metadata.creation_timestamp.as_ref().map(|time| time.0);
        let pods = listed
            .items
            .into_iter()
            // The label is only how Pods are listed; whose they are is seen from their controller.
            .filter(|pod| adopted::is_pod_of(pod, job));
        Ok(pods.max_by_key(created))
    }

    /// The end of what the builder printed.
    pub async fn builder_log(&self, pod: &Pod) -> Result<String, SandboxError> {
        let name = pod.metadata.name.as_deref().unwrap_or_default();
        let parameters = LogParams {
            container: Some(BUILD.to_owned()),
            // Installers say last what failed, and logs of Kaniko run to thousands of lines.
            tail_lines: Some(LOG_LINES),
            ..LogParams::default()
        };
        let log = self.api::<Pod>().logs(name, &parameters).await;
        log.map_err(self.failed::<Pod>("read the log of", name))
    }

    /// The credentials in the Secret that `field` names.
    pub async fn docker_config(&self, name: &str, field: &str) -> Result<DockerConfig, SandboxError> {
        let refused = |reason: &str, remedy: String| SandboxError::Refused {
            object: self.object::<Secret>(name),
            reason: reason.to_owned(),
            remedy,
        };
        let secret = self.get::<Secret>(name).await?;
        let secret =
            secret.ok_or_else(|| refused("it is not there", format!("create it, or correct {field}")))?;
        // Whoever may create tasks need not be allowed to read Secrets: the owner's label decides what one is used for.
        SecretUse::Registry
            .check(&secret)
            .map_err(|refusal| refused(&refusal.reason, refusal.remedy))?;
        let version = secret.metadata.resource_version.unwrap_or_default();
        let content = secret.data.and_then(|mut data| data.remove(DOCKER_CONFIG));
        let content = content.ok_or_else(|| {
            let remedy = format!("give {field} a Secret of type kubernetes.io/dockerconfigjson");
            refused("it has no key .dockerconfigjson", remedy)
        })?;
        Ok(DockerConfig {
            bytes: content.0,
            name: name.to_owned(),
            version,
        })
    }

    /// Asks the API server whether it would take the Job's Pod; the words of a quota that leaves it no room. A Job whose Pod is refused says
    /// so nowhere but in an event.
    pub async fn try_pod(
        &self,
        name: &str,
        template: PodTemplateSpec,
    ) -> Result<Progressing<()>, SandboxError> {
        let pod = Pod {
            metadata: ObjectMeta {
                name: Some(name.to_owned()),
                ..template.metadata.unwrap_or_default()
            },
            spec: template.spec,
            ..Pod::default()
        };
        let parameters = PostParams {
            // `dry_run` runs admission, quotas and defaults, and creates nothing.
            dry_run: true,
            ..parameters()
        };
        let object = format!("the Pod of {}", self.object::<Job>(name));
        match create(&self.api(), &parameters, &object, &pod).await {
            Ok(Creation::Queued(why)) => Ok(Progressing::Queued(why)),
            Ok(Creation::New(_) | Creation::Exists) => Ok(Progressing::Done(())),
            Err(SandboxError::Refused { object, reason, .. }) if reason.contains("violates PodSecurity") => {
                let remedy = "let the namespace enforce the level baseline, set build.namespace of the operator to one that does, or name \
                              an image that is there in image.reference";
                Err(SandboxError::Refused {
                    object,
                    reason,
                    remedy: remedy.to_owned(),
                })
            }
            Err(error) => Err(error),
        }
    }

    /// Changes a Job, so that another task waits for it.
    pub async fn patch_job(&self, job: &str, patch: &Patch<Value>) -> Result<(), SandboxError> {
        let parameters = PatchParams {
            field_manager: Some(OPERATOR.to_owned()),
            ..PatchParams::default()
        };
        let patched = self.api::<Job>().patch_metadata(job, &parameters, patch).await;
        patched
            .map(drop)
            .map_err(self.failed::<Job>("become an owner of", job))
    }

    /// Deletes a Job that has ended, with its Pod.
    pub async fn delete_job(&self, name: &str) -> Result<(), SandboxError> {
        match self.api::<Job>().delete(name, &DeleteParams::background()).await {
            // Somebody else has deleted it, which is what was wanted.
            Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
            deleted => deleted.map(drop).map_err(self.failed::<Job>("delete", name)),
        }
    }

    /// Reports whether the files of a Job's build are there: those that it was made for.
    pub async fn has_files(&self, job: &Job) -> Result<bool, SandboxError> {
        let name = name_of(&job.metadata);
        match self.get::<ConfigMap>(name).await? {
            None => Ok(false),
            Some(map) if adopted::are_files_of(&map, job) => Ok(true),
            Some(_) => Err(self.not_ours::<ConfigMap>(name)),
        }
    }

    /// Writes the files of a Job's build, unless they are there.
    pub async fn write_files(&self, map: &ConfigMap, job: &Job) -> Result<(), SandboxError> {
        match self.create(map).await? {
            // A crash may lie between the files and the record of them: what is there counts if it is the same.
            None => self.has_files(job).await.map(drop),
            Some(_) => Ok(()),
        }
    }

    /// Reads the data of a Secret; `None` where it is not there.
    pub async fn secret(&self, name: &str) -> Result<Option<BTreeMap<String, Vec<u8>>>, SandboxError> {
        let found = self.get::<Secret>(name).await?;
        Ok(found.map(|secret| {
            let data = secret.data.unwrap_or_default().into_iter();
            data.map(|(name, content)| (name, content.0)).collect()
        }))
    }

    /// Writes a copy of credentials, unless it is there.
    pub async fn write_copy(&self, copy: &Secret) -> Result<(), SandboxError> {
        if self.create(copy).await?.is_some() {
            return Ok(());
        }
        // The copy of an earlier pass is as good, if it is one.
        let name = name_of(&copy.metadata);
        match self.get::<Secret>(name).await? {
            Some(found) if !adopted::is_copy(copy, &found) => Err(self.not_ours::<Secret>(name)),
            _ => Ok(()),
        }
    }

    fn not_ours<K: Namespaced>(&self, name: &str) -> SandboxError {
        replaced(&self.object::<K>(name), "what a build needs")
    }

    /// Deletes the copies of credentials that a Job had.
    pub async fn delete_copies(&self, job: &str) -> Result<(), kube::Error> {
        let its = ListParams::default().labels(&format!("{PART_OF}={job}"));
        let secrets = self.api::<Secret>();
        let deleted = secrets.delete_collection(&DeleteParams::default(), &its).await;
        deleted.map(drop)
    }
}

fn parameters() -> PostParams {
    PostParams {
        dry_run: false,
        field_manager: Some(OPERATOR.to_owned()),
    }
}

fn name_of(metadata: &ObjectMeta) -> &str {
    metadata.name.as_deref().unwrap_or_default()
}

/// A Job as its files refer to it.
pub(super) fn reference_to(job: &Job) -> OwnerReference {
    OwnerReference {
        api_version: "batch/v1".to_owned(),
        kind: "Job".to_owned(),
        name: name_of(&job.metadata).to_owned(),
        uid: job.metadata.uid.clone().unwrap_or_default(),
        ..OwnerReference::default()
    }
}

/// The content of files, one after another.
pub fn concatenated(files: &[PathBuf]) -> Result<String, SandboxError> {
    let mut all = String::new();
    for file in files {
        let content = std::fs::read_to_string(file).map_err(|error| SandboxError::Refused {
            object: format!("certificate authorities {}", file.display()),
            reason: error.to_string(),
            remedy: "mount the file into the operator's Pod, or correct the operator's settings".to_owned(),
        })?;
        // A PEM file without a line end would run into the next one.
        all.push_str(content.trim_end());
        all.push('\n');
    }
    Ok(all)
}
