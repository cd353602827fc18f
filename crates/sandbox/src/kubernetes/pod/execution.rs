//! Settings of one run of a Pod: its objects follow from it.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use k8s_openapi::api::core::v1::{LocalObjectReference, Pod};

use super::super::manifest;
use super::super::names::Component;
use super::super::settings::PodSettings;
use super::super::{MountedInput, OutputFolder, Owner};
use codegen_core::sandbox::Job;
use codegen_core::task::Task;

/// Name of the container of a sandbox or a reader.
pub(super) const CONTAINER: &str = "sandbox";
/// Time of a reader for at most the largest files, after its start.
pub(super) const READER_SECONDS: f64 = 900.0;
/// Memory of a reader; the child that reads takes half of it.
pub(super) const READER_MEMORY_BYTES: u64 = 512 << 20;
/// Size of what a program may write beyond its limit before the harness sees it, bytes.
const SPARE_BYTES: u64 = 256 << 20;

static SANDBOX: LazyLock<Pod> = LazyLock::new(|| manifest::parse(include_str!("sandbox.yaml")));
static READER: LazyLock<Pod> = LazyLock::new(|| manifest::parse(include_str!("reader.yaml")));

/// Program that a Pod runs.
pub(super) enum PodProgram {
    /// The harness, in the task's image.
    Harness,
    /// The operator's reader of sources, in the operator's image, with these claims.
    Reader(Vec<ClaimMount>),
}

/// Part of a claim that a reader mounts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ClaimMount {
    /// Name of the claim.
    pub claim: String,
    /// A folder on it; `None` for all of it.
    pub folder: Option<String>,
}

/// The check of outputs in the Pod of their program.
pub(super) struct OutputsCheck {
    /// The operator's image.
    pub image: String,
    /// Request to the checker, as text.
    pub body: Vec<u8>,
}

/// Settings of one execution of a sandbox.
pub(super) struct Execution<'a> {
    /// Program that runs.
    pub program: &'a PodProgram,
    /// Name of the Pod and of its Secret.
    pub name: &'a str,
    /// The image, by digest.
    pub image: &'a str,
    /// The job.
    pub job: &'a Job,
    /// The job as text, which its Secret holds encrypted.
    pub body: &'a [u8],
    /// Name of the network policy that holds.
    pub egress: &'a str,
    /// The operator's settings.
    pub settings: &'a PodSettings,
    /// The task.
    pub task: &'a Task,
    /// Owner of the objects.
    pub owner: &'a Owner,
    /// Locations of the inputs.
    pub inputs: &'a BTreeMap<String, MountedInput>,
    /// The claim that outputs go to, or are read from; `None` where they are memory.
    pub outputs: Option<&'a OutputFolder>,
    /// Check of the outputs once the program has ended; then they go to a disk.
    pub check: Option<&'a OutputsCheck>,
    /// Credentials that nodes pull the image with, besides those of the task and of sandboxes.
    pub pull_secrets: &'a [LocalObjectReference],
}

impl Execution<'_> {
    /// Room of the volume that outputs go to, bytes. The harness ends a program that takes more than it may; only one that is faster than
    /// that is evicted by the node.
    pub(super) fn volume_bytes(&self) -> u64 {
        self.task.sandbox.output_bytes().saturating_add(SPARE_BYTES)
    }
}

impl PodProgram {
    /// Returns the purpose of its objects.
    pub(super) const fn component(&self) -> Component {
        match self {
            Self::Harness => Component::Sandbox,
            Self::Reader(_) => Component::Reader,
        }
    }

    /// Manifest of its Pod.
    pub(super) fn manifest(&self) -> &'static Pod {
        match self {
            Self::Harness => &SANDBOX,
            Self::Reader(_) => &READER,
        }
    }
}
