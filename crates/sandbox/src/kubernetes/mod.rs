//! Images as Kaniko Jobs, sandboxes as Pods.
//!
//! A child has a name that follows from what it is made for, so that asking twice makes one. Nothing here waits: what is
//! under way answers `Pending`, and whoever asks watches the children.

mod build;
pub mod build_namespace;
pub mod isolation;
mod manifest;
pub mod names;
mod observe;
mod pod;
mod policies;
mod reach;
mod refusal;
mod room;
pub mod settings;

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::Client;
use serde::{Deserialize, Serialize};

pub use self::build::{ImageToInspect, InImage, PublishedProgram, RegistryCache, Signing};
pub use self::pod::channel::{SentReport, send};
use self::pod::operator::operator_image;
pub use self::pod::reader::{
    ClaimOutputs, ClaimSource, ReadReport, ReadRequest, ReadSource, SampleSource, SourceReader,
};
pub use self::pod::{JOB_FILE, JOB_KEY, JOB_SHA256, NONCE, decrypt_job, folder_sha256};
pub use self::reach::api_servers;
use self::settings::Settings;
use super::image::ImageSpec;
use super::{BuiltEnvironment, Progressing, Publication, Published, Sandbox, SandboxError};
use codegen_core::sandbox::{Job, Report};
use codegen_core::stored_outputs::{OutputsAsked, RunOnDisk};
use codegen_core::task::Task;
use codegen_package_index::PackageIndex;

/// Sandbox of one task in a cluster.
#[derive(Clone)]
pub struct KubernetesSandbox<'a> {
    /// Speaks to the API server.
    pub client: Client,
    /// The operator's settings.
    pub settings: &'a Settings,
    /// The task.
    pub task: &'a Task,
    /// Owner of all that is made.
    pub owner: &'a Owner,
    /// Location of each sample and input, by name.
    pub inputs: &'a BTreeMap<String, MountedInput>,
    /// Folder for outputs, where that is on a claim and not the memory of the sandbox.
    pub outputs: Option<&'a OutputFolder>,
    /// True where the Pod of the job was seen to be under way: where there is none, it is lost. It may still run behind a cut cable, so
    /// another one is not to write where it does.
    pub is_under_way: bool,
    /// Answers of registries; one for all tasks.
    pub registries: &'a RegistryCache,
    /// Answers of package indexes; one for all tasks.
    pub index: &'a PackageIndex,
}

/// The task that children belong to, and the run that they are made for; or a run of a finished program.
#[derive(Clone, Debug)]
pub struct Owner {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
    /// The run: the task's decisive hash.
    pub run: String,
    /// Wish that the user expressed last, in one word: it changes with the spec and with a wish for another try.
    pub wish: String,
    /// Generation of its spec.
    pub generation: i64,
    /// Number of the attempt, so that a later one never takes the child of an earlier one for its own.
    pub attempt: u32,
    /// As children refer to it.
    pub reference: OwnerReference,
}

impl Owner {
    /// Labels of a child.
    #[must_use]
    pub fn labels(&self, component: names::Component) -> BTreeMap<String, String> {
        let of = if self.reference.kind == "CodeGenRun" {
            names::labels_of_run
        } else {
            names::labels
        };
        of(&self.name, &self.uid, component)
    }
}

/// Location of a sample or an input.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub enum MountedInput {
    /// In Secrets: one entry for a file (with an empty path), one for each file of a folder.
    Secrets(Vec<MountedFile>),
    /// On a claim, read-only.
    Claim {
        /// Name of the `PersistentVolumeClaim`.
        claim: String,
        /// File or folder on it, relative.
        path: String,
    },
}

/// A folder on a claim that a sandbox writes its outputs to.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct OutputFolder {
    /// Name of the `PersistentVolumeClaim`.
    pub claim: String,
    /// The folder on it, relative: one that nothing else writes to.
    pub path: String,
    /// Group for which the volume is made writable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fs_group: Option<i64>,
}

/// A file in a Secret.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct MountedFile {
    /// Path below the folder; empty for an input that is a file.
    pub path: String,
    /// The Secret.
    pub secret: String,
    /// Its key.
    pub key: String,
}

impl KubernetesSandbox<'_> {
    /// Starts a job that was most likely never started, once what it `needs` is there besides: whether it was not. What keeps
    /// it from starting is met again by [`Sandbox::run`], which goes on from there.
    pub async fn begin(
        &self,
        image: &str,
        job: &Job,
        needs: impl Future<Output = Result<(), SandboxError>>,
    ) -> Result<Progressing<bool>, SandboxError> {
        Box::pin(pod::begin(self, image, job, 0, needs)).await
    }

    /// Returns the progress of the Pod of this name, whoever made it: [`Sandbox::run`] asks only of one that it would make.
    pub async fn pod_progress(&self, image: &str, pod: &str) -> Result<Progressing<Report>, SandboxError> {
        Box::pin(pod::pod_progress(self, image, pod)).await
    }

    /// Removes the Pods of the task and their jobs: for when a run is recorded, and when the task ends.
    pub async fn clear_sandboxes(&self) -> Result<(), SandboxError> {
        pod::clear::clear(self).await
    }
}

impl Sandbox for KubernetesSandbox<'_> {
    async fn build(
        &self,
        spec: &ImageSpec,
        repeat: u32,
    ) -> Result<Progressing<BuiltEnvironment>, SandboxError> {
        build::build(self, spec, repeat).await
    }

    async fn run(&self, image: &str, job: &Job, repeat: u32) -> Result<Progressing<Report>, SandboxError> {
        Box::pin(pod::run(self, image, job, repeat)).await
    }

    async fn run_on_disk(
        &self,
        image: &str,
        job: &Job,
        asked: &OutputsAsked,
        repeat: u32,
    ) -> Result<Progressing<RunOnDisk>, SandboxError> {
        Box::pin(pod::on_disk::run(self, image, job, asked, repeat)).await
    }

    async fn publish(&self, publication: &Publication) -> Result<Published, SandboxError> {
        Box::pin(build::publish(self, publication)).await
    }
}
