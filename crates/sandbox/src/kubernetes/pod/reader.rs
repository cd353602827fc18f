//! Samples and inputs on claims, read by a Pod of the operator's image that mounts them: in the shape of a sandbox, without a
//! network, and with nothing to write to.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::networking::v1::NetworkPolicy;
use serde::{Deserialize, Serialize};

use super::super::{KubernetesSandbox, OutputFolder};
use super::execution::{ClaimMount, PodProgram, READER_MEMORY_BYTES, READER_SECONDS};
use super::operator::{OperatorPod, Work, about_claim, about_outputs, is_about_volumes};
use super::volumes::claim_folder;
use super::{Reported, network, ready};
use crate::{Progressing, SandboxError};
use codegen_core::sandbox::{InputMount, NetworkAccess};
use codegen_core::stored_outputs::{FoundOutput, OutputsAsked};
use codegen_data::profile::Profiles;

/// Request to a reader.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct ReadRequest {
    /// Sources that lie on claims.
    pub sources: Vec<ClaimSource>,
    /// Samples to describe, in their order; none where no sample lies on a claim.
    pub samples: Vec<SampleSource>,
    /// Rows of each sample that are shown.
    pub max_sample_rows: usize,
    /// Outputs that a program wrote to a claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outputs: Option<ClaimOutputs>,
}

/// Outputs on a claim.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct ClaimOutputs {
    /// The folder on the claim that the program wrote to.
    pub written_to: OutputFolder,
    /// Folder in which the reader finds it.
    pub folder: String,
    /// Outputs that are checked there.
    pub asked: OutputsAsked,
}

impl ClaimOutputs {
    /// These outputs in this folder.
    #[must_use]
    pub fn of(written_to: OutputFolder, asked: OutputsAsked) -> Self {
        Self {
            written_to,
            folder: claim_folder(0),
            asked,
        }
    }
}

/// A sample or an input on a claim.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct ClaimSource {
    /// Its name.
    pub name: String,
    /// The claim.
    pub claim: String,
    /// Folder in which the reader finds the claim.
    pub folder: String,
    /// File or folder on it, relative; empty for all of it.
    pub path: String,
    /// True where a folder must lie there.
    pub is_dir: bool,
    /// The digest that it must have, hex.
    pub sha256: Option<String>,
}

/// A sample that is described. What is not among the sources is mounted as in a sandbox.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct SampleSource {
    /// Its name.
    pub name: String,
    /// Its file name as the program sees it.
    pub file_name: String,
    /// Its digest, where it lies on no claim, so that another content is another request.
    pub sha256: Option<String>,
}

/// Findings of a reader.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub enum ReadReport {
    /// Everything.
    Read {
        /// One a source, in their order.
        sources: Vec<ReadSource>,
        /// The profiles of the samples, where they were to be described.
        profiles: Option<Profiles>,
    },
    /// Findings at outputs: one each, in the order of the request.
    Outputs(Vec<FoundOutput>),
    /// Something that somebody must change.
    Refused(String),
    /// Something that may work at another time.
    Failed(String),
}

/// Content of a source.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct ReadSource {
    /// SHA-256 of the file, or of the folder as a whole, hex.
    pub sha256: String,
    /// Its bytes.
    pub bytes: u64,
}

impl ReadRequest {
    /// A request for these sources; each gets the folder of its claim.
    #[must_use]
    pub fn of(sources: Vec<ClaimSource>) -> Self {
        let mut claims: Vec<String> = Vec::new();
        let sources = sources.into_iter().map(|source| {
            let known = claims.iter().position(|known| *known == source.claim);
            let number = known.unwrap_or_else(|| {
                claims.push(source.claim.clone());
                claims.len() - 1
            });
            ClaimSource {
                folder: claim_folder(number),
                ..source
            }
        });
        Self {
            sources: sources.collect(),
            ..Self::default()
        }
    }

    /// A request for outputs.
    #[must_use]
    pub fn of_outputs(outputs: ClaimOutputs) -> Self {
        Self {
            outputs: Some(outputs),
            ..Self::default()
        }
    }

    /// Lists the mounts, in the order of the folders: each claim with sources as a whole, of one with outputs their folder.
    fn mounts(&self) -> Vec<ClaimMount> {
        if let Some(outputs) = &self.outputs {
            return vec![ClaimMount {
                claim: outputs.written_to.claim.clone(),
                folder: Some(outputs.written_to.path.clone()),
            }];
        }
        let claims = self.claims().into_iter();
        claims.map(|claim| ClaimMount { claim, folder: None }).collect()
    }

    /// Each claim once, in the order of their folders.
    fn claims(&self) -> Vec<String> {
        let folders: BTreeMap<(usize, &str), &str> = self
            .sources
            .iter()
            .map(|source| {
                (
                    // Folders end in numbers: by length first, `/claims/10` comes after `/claims/9`.
                    (source.folder.len(), source.folder.as_str()),
                    source.claim.as_str(),
                )
            })
            .collect();
        folders.into_values().map(str::to_owned).collect()
    }

    /// Samples that lie on no claim.
    fn mounted(&self) -> Vec<InputMount> {
        let on_claim = |name: &str| self.sources.iter().any(|source| source.name == name);
        let samples = self.samples.iter().filter(|sample| !on_claim(&sample.name));
        samples
            .map(|sample| InputMount {
                name: sample.name.clone(),
                file_name: sample.file_name.clone(),
                source: sample.name.clone(),
                content: Vec::new(),
            })
            .collect()
    }
}

impl Reported for ReadReport {
    fn out_of_memory() -> Option<Self> {
        // A reader that ran out of memory has read nothing that could be reported.
        None
    }
}

/// One reader: its name follows from what it is to read, so that it is started once.
pub struct SourceReader<'a> {
    pod: OperatorPod<'a>,
    request: &'a ReadRequest,
    policy: NetworkPolicy,
}

impl<'a> SourceReader<'a> {
    /// The reader of `request` for the task of `sandbox`.
    pub fn new(sandbox: &'a KubernetesSandbox<'a>, request: &'a ReadRequest) -> Result<Self, SandboxError> {
        let policy = network::policy(&NetworkAccess::Denied, &sandbox.settings.sandbox.network, &[])?;
        let work = Work {
            part: "reader",
            // Plain data with string keys: writing it to memory cannot fail.
            request: serde_json::to_vec(request).unwrap_or_default(),
            program: PodProgram::Reader(request.mounts()),
            outputs: request.outputs.as_ref().map(|outputs| &outputs.written_to),
            inputs: request.mounted(),
            network: NetworkAccess::Denied,
            egress: network::label(&policy),
            seconds: READER_SECONDS,
            memory_bytes: READER_MEMORY_BYTES,
        };
        Ok(Self {
            pod: OperatorPod::new(sandbox, work)?,
            request,
            policy,
        })
    }

    /// Returns the progress of the reader; `None` when it is not there.
    pub async fn progress(&self) -> Result<Option<Progressing<ReadReport>>, SandboxError> {
        let is_vain = |report: &ReadReport| matches!(report, ReadReport::Refused(_) | ReadReport::Failed(_));
        let found = self.pod.progress(is_vain).await;
        found.map_err(|error| self.explained(error))
    }

    /// Creates it, when everything that it mounts is there.
    pub async fn start(&self) -> Result<Progressing<ReadReport>, SandboxError> {
        let labels = self.pod.labels();
        let needs = ready::ensure_policy(self.pod.sandbox(), self.policy.clone(), &labels);
        let started = self.pod.start(needs).await;
        started.map_err(|error| self.explained(error))
    }

    /// The scheduler's words about a claim name the Pod, of which nobody who wrote the task has heard.
    fn explained(&self, error: SandboxError) -> SandboxError {
        let namespace = &self.pod.sandbox().owner.namespace;
        match (error, &self.request.outputs) {
            (error, Some(outputs)) => about_outputs(error, &outputs.written_to, namespace),
            (SandboxError::Refused { reason, .. }, None) if is_about_volumes(&reason) => {
                about_claims(self.request, namespace, &reason)
            }
            (other, None) => other,
        }
    }
}

/// Makes the error about claims that a Pod cannot use, by claim and with the samples and inputs that lie there.
fn about_claims(request: &ReadRequest, namespace: &str, reason: &str) -> SandboxError {
    // The scheduler names claims in quotation marks. Where it names none, all of them are meant.
    let quoted = |source: &&ClaimSource| reason.contains(&format!("\"{}\"", source.claim));
    let is_any_named = request.sources.iter().any(|source| quoted(&source));
    let meant: Vec<&ClaimSource> = request
        .sources
        .iter()
        .filter(|source| !is_any_named || quoted(source))
        .collect();
    let claims: BTreeSet<&str> = meant.iter().map(|source| source.claim.as_str()).collect();
    let claims: Vec<&str> = claims.into_iter().collect();
    let names: Vec<&str> = meant.iter().map(|source| source.name.as_str()).collect();
    about_claim(&claims.join(", "), &names.join(", "), namespace, reason)
}

#[cfg(test)]
mod tests;
