//! A Pod that runs code of the operator alone, in the operator's image, on what lies on claims.

use std::collections::BTreeMap;
use std::future::Future;

use k8s_openapi::api::core::v1::Pod;

use super::super::settings::Settings;
use super::super::{KubernetesSandbox, OutputFolder, names};
use super::execution::{Execution, PodProgram};
use super::job_key::PodKeys;
use super::{Pods, Reported};
use crate::{Progressing, SandboxError};
use codegen_core::digest::sha256_hex;
use codegen_core::sandbox::{InputMount, Job, JobLimits, NetworkAccess};

/// The image that reads and pushes in Pods.
pub fn operator_image(settings: &Settings) -> Result<&str, SandboxError> {
    settings
        .operator_image
        .as_deref()
        .ok_or_else(|| SandboxError::Refused {
            object: "operator".to_owned(),
            reason:
                "it does not know its own image, which reads what lies on volumes and pushes what is built"
                    .to_owned(),
            remedy: "set operatorImage, or the variable OPERATOR_IMAGE of its Pod".to_owned(),
        })
}

/// Resources of the Pod, and their limits.
pub(super) struct Work<'a> {
    /// In its name: what distinguishes it from Pods that do something else with the same request.
    pub part: &'a str,
    /// Request to the Pod, as text.
    pub request: Vec<u8>,
    pub program: PodProgram,
    /// The claim with outputs of a program.
    pub outputs: Option<&'a OutputFolder>,
    /// Inputs that are mounted as in a sandbox.
    pub inputs: Vec<InputMount>,
    pub network: NetworkAccess,
    /// Name of the network policy that holds.
    pub egress: String,
    pub seconds: f64,
    pub memory_bytes: u64,
}

/// The Pod: its name follows from what it does, so that it is started once.
pub(super) struct OperatorPod<'a> {
    pods: Pods<'a>,
    image: String,
    job: Job,
    work: Work<'a>,
}

impl<'a> OperatorPod<'a> {
    pub(super) fn new(sandbox: &'a KubernetesSandbox<'a>, work: Work<'a>) -> Result<Self, SandboxError> {
        let image = operator_image(sandbox.settings)?.to_owned();
        let owner = sandbox.owner;
        // Another request is another Pod, and the same one is found again after a restart.
        let request = sha256_hex(&work.request);
        let parts = [&owner.uid, &owner.run, work.part, &request, &image];
        let job = Job {
            phases: Vec::new(),
            inputs: work.inputs.clone(),
            env: BTreeMap::new(),
            limits: JobLimits {
                timeout_seconds: work.seconds,
                cpus: 1.0,
                memory_bytes: work.memory_bytes,
                // It starts no process that a limit of the harness would have to bound.
                processes: 0,
                file_bytes: 0,
            },
            network: work.network.clone(),
        };
        Ok(Self {
            pods: Pods::new(sandbox, names::name_of_pod(&owner.name, &parts)),
            image,
            job,
            work,
        })
    }

    pub(super) const fn sandbox(&self) -> &'a KubernetesSandbox<'a> {
        self.pods.sandbox
    }

    /// Its labels, by which policies select it.
    pub(super) fn labels(&self) -> BTreeMap<String, String> {
        self.execution().labels()
    }

    /// Returns the progress of the Pod; `None` when it is not there. A report that is in vain is followed by another Pod.
    pub(super) async fn progress<R: Reported>(
        &self,
        is_vain: impl Fn(&R) -> bool,
    ) -> Result<Option<Progressing<R>>, SandboxError> {
        let Some(pod) = self.pods.get().await? else {
            return Ok(None);
        };
        // Before anything that it says is believed.
        self.pods.adopt(&self.wanted()?, &pod).await?;
        let found = self.pods.progress_or_replace(&self.image, &pod, is_vain).await;
        found.map(Some).map_err(explained)
    }

    /// Creates what it needs, then the Pod, when everything that it mounts is there.
    pub(super) async fn start<R>(
        &self,
        needs: impl Future<Output = Result<(), SandboxError>>,
    ) -> Result<Progressing<R>, SandboxError> {
        let run = self.execution();
        let started = self.pods.start(&run, PodKeys::draw()?, needs).await;
        let waits = started.map_err(explained)?.done().err();
        Ok(waits.unwrap_or(Progressing::Pending))
    }

    /// The Pod that would be made, but for its keys.
    fn wanted(&self) -> Result<Pod, SandboxError> {
        self.execution().pod(None)
    }

    fn execution(&self) -> Execution<'_> {
        let (sandbox, work) = (self.pods.sandbox, &self.work);
        Execution {
            program: &work.program,
            name: &self.pods.name,
            image: &self.image,
            job: &self.job,
            body: &work.request,
            egress: &work.egress,
            settings: &sandbox.settings.sandbox,
            task: sandbox.task,
            owner: sandbox.owner,
            inputs: sandbox.inputs,
            outputs: work.outputs,
            check: None,
            pull_secrets: &sandbox.settings.build.image_pull_secrets,
        }
    }
}

/// The image that is not there is the operator's own, and none that a task names.
pub(super) fn explained(error: SandboxError) -> SandboxError {
    match error {
        SandboxError::EnvironmentMissing(image) => SandboxError::Refused {
            object: format!("image {image}"),
            reason: "the registry does not have it".to_owned(),
            remedy: "correct the operator's setting operatorImage".to_owned(),
        },
        other => other,
    }
}

/// Makes of an error about volumes one about a claim with outputs: the words of the scheduler name the Pod, of which nobody who made the run
/// has heard.
pub(super) fn about_outputs(error: SandboxError, outputs: &OutputFolder, namespace: &str) -> SandboxError {
    match error {
        SandboxError::Refused { reason, .. } if is_about_volumes(&reason) => {
            about_claim(&outputs.claim, "outputs", namespace, &reason)
        }
        other => other,
    }
}

/// Reports whether the scheduler or the node speaks of volumes.
pub(super) fn is_about_volumes(reason: &str) -> bool {
    let words = [
        "persistentvolume",
        "mountvolume.",
        "attachvolume.",
        "mount volumes",
    ];
    let reason = reason.to_lowercase();
    words.iter().any(|word| reason.contains(word))
}

/// Makes the error about a claim that a Pod cannot use, and names what lies there.
pub(super) fn about_claim(claim: &str, what: &str, namespace: &str, reason: &str) -> SandboxError {
    // What it says of other Pods that might make room is no matter of claims; some schedulers end with a stray "not found".
    let reason = reason.split(" preemption:").next().unwrap_or_default();
    let reason = reason.trim_end_matches('.').trim_end_matches(". not found");
    let remedy = if reason.contains("\" not found") {
        "create the claim, or correct claimName"
    } else {
        "give the claim a volume that the nodes of sandboxes reach"
    };
    SandboxError::Refused {
        object: format!("PersistentVolumeClaim {namespace}/{claim} with {what}"),
        reason: reason.to_owned(),
        remedy: format!("{remedy}; it then goes on by itself"),
    }
}
