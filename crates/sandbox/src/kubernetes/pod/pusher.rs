//! Outputs on a claim, pushed to a registry by a Pod of the operator's image that mounts their folder: in the shape of a sandbox, with the
//! credentials of that registry, and with nothing to write to.

use std::collections::BTreeMap;

use k8s_openapi::api::networking::v1::NetworkPolicy;
use kube::Api;
use serde::{Deserialize, Serialize};

use super::super::{KubernetesSandbox, OutputFolder, policies};
use super::execution::{ClaimMount, PUSH, PushMounts};
use super::operator::{Mounts, OperatorPod, Work, about_claim, is_about_volumes};
use super::volumes::claim_folder;
use super::{Reported, cluster};
use crate::kubernetes::build::{concatenated, policy_of_pushes};
use crate::kubernetes::reach::api_servers;
use crate::{Progressing, SandboxError};
use codegen_api::values::ValueType;
use codegen_core::sandbox::NetworkAccess;
use codegen_egress::Proxies;

/// Time of a push: 4 GiB at less than a megabyte a second. Another one goes on with the files that are not there.
const SECONDS: f64 = 2.0 * 3600.0;
/// Memory of a push, which holds no file.
const MEMORY_BYTES: u64 = 256 << 20;
/// Value of the label by which the policies of sandboxes select: none of them selects this.
const EGRESS: &str = "push";

/// Request to a Pod that pushes.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct PushRequest {
    /// `registry.example/team/outputs:tag`.
    pub reference: String,
    /// The folder on the claim that the program wrote to.
    pub written_to: OutputFolder,
    /// Folder in which the Pod finds it.
    pub folder: String,
    /// The outputs, in declared order.
    pub outputs: Vec<OutputToPush>,
    /// Annotations of the manifest.
    pub annotations: BTreeMap<String, String>,
    /// Owner of the artifact: namespace and name of the run.
    pub owner: String,
    /// True where credentials are mounted.
    pub has_credentials: bool,
    /// Access to the registry.
    pub access: PushAccess,
}

/// An output, as the status of its run has it.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct OutputToPush {
    /// Its name: where it lies in the folder.
    pub name: String,
    /// Its declared type.
    #[serde(rename = "type")]
    pub type_: ValueType,
    /// Name of the file in the artifact.
    pub file_name: String,
    /// SHA-256 of its bytes, of a folder of its paths and contents, hex.
    pub sha256: String,
    /// Its bytes.
    pub bytes: u64,
}

/// Access to a registry from a Pod, which has none of the operator's files.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct PushAccess {
    /// Hosts that are spoken to without TLS.
    pub insecure: Vec<String>,
    /// Further certificate authorities, PEM.
    pub certificates: String,
    /// Repositories that may be pushed to; none named: all.
    pub allow: Vec<String>,
    /// Origins that the registry may send to.
    pub trusted_origins: Vec<String>,
    /// Public ranges where it may send nobody.
    pub closed: Vec<String>,
    /// Proxies in between. They stand in the job, which is encrypted: a variable of the Pod is read by whoever sees Pods of the namespace.
    pub proxies: Proxies,
}

/// Outcome of a push.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub enum PushReport {
    /// The registry has it.
    #[serde(rename_all = "camelCase")]
    Pushed {
        /// Digest of the artifact's manifest.
        digest: String,
        /// Bytes of files that were sent; the registry had the others.
        uploaded_bytes: u64,
    },
    /// An output is not there any more: which.
    Gone(String),
    /// Something else lies there than the program wrote: what, with the output's name.
    Changed(String),
    /// More files than any registry takes as one artifact.
    TooMany(String),
    /// The registry refused the credentials, or they cannot be read.
    Unauthorized(String),
    /// Something else that somebody must change.
    Refused(String),
    /// Something that may work at another time.
    Failed(String),
}

/// Pod that compares the outputs with what their run wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inspection {
    /// The first.
    First,
    /// One more, for the first did not find them as they were written: a volume may be slow to show what it has.
    Second,
}

impl Inspection {
    /// Returns the part of its Pod's name that distinguishes it from that of the other.
    const fn part(self) -> &'static str {
        match self {
            Self::First => "push",
            Self::Second => "push-inspected-again",
        }
    }
}

impl Reported for PushReport {
    const CONTAINER: &'static str = PUSH;

    fn out_of_memory() -> Option<Self> {
        // One that ran out of memory has nothing to report.
        None
    }
}

impl PushReport {
    /// Reports whether another Pod may come to something else.
    const fn is_vain(&self, inspection: Inspection) -> bool {
        match self {
            Self::Unauthorized(_) | Self::Refused(_) | Self::Failed(_) => true,
            Self::Gone(_) | Self::Changed(_) => matches!(inspection, Inspection::First),
            Self::Pushed { .. } | Self::TooMany(_) => false,
        }
    }
}

impl PushRequest {
    /// Returns the folder in which the Pod finds the outputs.
    #[must_use]
    pub fn folder() -> String {
        claim_folder(0)
    }
}

impl PushAccess {
    /// Returns the operator's own access to registries.
    pub fn of(sandbox: &KubernetesSandbox<'_>) -> Result<Self, SandboxError> {
        let settings = &sandbox.settings.registries;
        let texts = |range: &ipnet::IpNet| range.to_string();
        Ok(Self {
            insecure: settings.insecure.clone(),
            certificates: concatenated(&settings.authorities)?,
            allow: settings.allowed(),
            trusted_origins: settings.trusted_origins.iter().map(ToString::to_string).collect(),
            closed: sandbox.registries.closed().iter().map(texts).collect(),
            // Of the builder's variables the push needs its way out alone; the rest may be settings of pip with a password.
            proxies: Proxies::of_variables(&sandbox.settings.build.env),
        })
    }
}

/// One push: its name follows from what is pushed, so that it is started once.
pub struct OutputPusher<'a> {
    pod: OperatorPod<'a>,
    inspection: Inspection,
    request: &'a PushRequest,
}

impl<'a> OutputPusher<'a> {
    /// The push of `request`, with this Secret.
    pub fn new(
        sandbox: &'a KubernetesSandbox<'a>,
        request: &'a PushRequest,
        secret: Option<&str>,
        inspection: Inspection,
    ) -> Result<Self, SandboxError> {
        let work = Work {
            part: inspection.part(),
            // Plain data with string keys: writing it to memory cannot fail.
            request: serde_json::to_vec(request).unwrap_or_default(),
            mounts: Mounts::Push(PushMounts {
                outputs: [ClaimMount {
                    claim: request.written_to.claim.clone(),
                    folder: Some(request.written_to.path.clone()),
                }],
                secret: secret.map(str::to_owned),
            }),
            outputs: Some(&request.written_to),
            inputs: Vec::new(),
            // What it reaches follows from its policy; names are resolved by the cluster.
            network: NetworkAccess::Internet,
            egress: EGRESS.to_owned(),
            seconds: SECONDS,
            memory_bytes: MEMORY_BYTES,
        };
        Ok(Self {
            pod: OperatorPod::new(sandbox, work)?,
            inspection,
            request,
        })
    }

    /// Name of its Pod.
    #[must_use]
    pub fn name(&self) -> &str {
        self.pod.name()
    }

    /// Returns the progress of the push; `None` when it is not there.
    pub async fn progress(&self) -> Result<Option<Progressing<PushReport>>, SandboxError> {
        let is_vain = |report: &PushReport| report.is_vain(self.inspection);
        let found = self.pod.progress(is_vain).await;
        found.map_err(|error| self.explained(error))
    }

    /// Creates it.
    pub async fn start(&self) -> Result<Progressing<PushReport>, SandboxError> {
        let needs = async {
            let sandbox = self.pod.sandbox();
            // Before the Pod: for no moment does it run without its policy.
            let servers = api_servers(&sandbox.client).await;
            match policy_of_pushes(&sandbox.owner.namespace, sandbox.settings, &servers)? {
                Some(policy) => write_policy(sandbox, &policy).await,
                None => Ok(()),
            }
        };
        let started = Box::pin(self.pod.start(needs)).await;
        started.map_err(|error| self.explained(error))
    }

    /// The scheduler's words about a claim name the Pod, of which nobody who made the run has heard.
    fn explained(&self, error: SandboxError) -> SandboxError {
        let namespace = &self.pod.sandbox().owner.namespace;
        match error {
            SandboxError::Refused { reason, .. } if is_about_volumes(&reason) => {
                about_claim(&self.request.written_to.claim, "outputs", namespace, &reason)
            }
            other => other,
        }
    }
}

async fn write_policy(sandbox: &KubernetesSandbox<'_>, policy: &NetworkPolicy) -> Result<(), SandboxError> {
    let namespace = &sandbox.owner.namespace;
    let api: Api<NetworkPolicy> = Api::namespaced(sandbox.client.clone(), namespace);
    let name = policy.metadata.name.as_deref().unwrap_or_default();
    let failed = || cluster(format!("write NetworkPolicy {namespace}/{name}"));
    let found = api.get_opt(name).await.map_err(|error| failed()(error))?;
    let written = policies::ensure(&api, policy, found).await;
    written.map_err(|error| failed()(error))
}
