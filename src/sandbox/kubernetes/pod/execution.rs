//! What one run of a Pod is made of: its objects follow from it.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::LocalObjectReference;

use super::super::names::Component;
use super::super::settings::PodSettings;
use super::super::{MountedInput, OutputFolder, Owner};
use crate::pipeline::sandbox::Job;
use crate::pipeline::task::Task;

/// What a Pod runs.
#[derive(Clone, Copy)]
pub(super) enum Program<'a> {
    /// The harness, in the task's image.
    Harness,
    /// The operator's reader of sources, in the operator's image, with these claims.
    Reader(&'a [ClaimMount]),
}

/// What of a claim a reader mounts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ClaimMount {
    /// Name of the claim.
    pub claim: String,
    /// A folder on it; `None` for all of it.
    pub folder: Option<String>,
}

/// What one execution of a sandbox is made of.
pub(super) struct Execution<'a> {
    /// What runs.
    pub program: Program<'a>,
    /// Name of the Pod and of its Secret.
    pub name: &'a str,
    /// The image, by digest.
    pub image: &'a str,
    /// The job.
    pub job: &'a Job,
    /// The job as text, which its Secret holds encrypted.
    pub body: &'a [u8],
    /// Which policy holds.
    pub egress: &'a str,
    /// The operator's settings.
    pub settings: &'a PodSettings,
    /// The task.
    pub task: &'a Task,
    /// Whose children these are.
    pub owner: &'a Owner,
    /// Where inputs lie.
    pub inputs: &'a BTreeMap<String, MountedInput>,
    /// The claim that outputs go to, or are read from; `None` where they are memory.
    pub outputs: Option<&'a OutputFolder>,
    /// Credentials that nodes pull the image with, besides those of the task and of sandboxes.
    pub pull_secrets: &'a [LocalObjectReference],
}

impl Program<'_> {
    /// What its objects are for.
    pub(super) const fn component(self) -> Component {
        match self {
            Self::Harness => Component::Sandbox,
            Self::Reader(_) => Component::Reader,
        }
    }
}
