//! A task as the pipeline sees it: the spec with agent and defaults applied and its sources frozen.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use codegen_api::approval::Gate;
use codegen_api::case::{Case, CaseMode};
use codegen_api::common::SecretKeyRef;
use codegen_api::common::{Backend, CacheMode, Exposure, Language, TestingMode};
use codegen_api::limits::DEFAULT_AGENT_MAX_TURNS;
use codegen_api::model::{Header, Provider};
use codegen_api::publish::Publish;
use codegen_api::sandbox::{DEFAULT_EPHEMERAL_STORAGE, SecretVariable, Toleration};
use codegen_api::values::{Input, Output};

use super::package_policy::rules::PackagePolicy;
use super::sandbox::{JobLimits, NetworkAccess};

mod hash;
mod resolve;

pub use resolve::{FrozenFiles, Problem, ResolveError, model_settings, options, resolve, sandbox_over};

/// Processes and threads of one sandbox.
const MAX_PROCESSES: u32 = 128;
/// Largest file that a sandboxed program may write.
const MAX_FILE_BYTES: u64 = 1 << 30;

/// A task whose every open question is answered. Equal tasks give equal runs.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    /// Namespace of the object.
    pub namespace: String,
    /// Name of the object.
    pub name: String,
    /// Description of what the program shall do.
    pub prompt: String,
    /// Free text about formats, verbatim in every prompt.
    pub schema: Option<String>,
    /// Replaces the built-in system text.
    pub system_prompt: Option<String>,
    /// Rules that data must keep.
    pub constraints: Vec<String>,
    /// Samples in the order of the spec.
    pub samples: Vec<FrozenFile>,
    /// Every option of the program: samples first (as `File`), then `spec.inputs` that are no samples.
    pub inputs: Vec<Input>,
    /// Values that the program writes.
    pub outputs: Vec<Output>,
    /// Default contents of `File` and `Dir` inputs that are no samples.
    pub input_files: Vec<FrozenFile>,
    /// The user's acceptance tests.
    pub acceptance_tests: Option<FrozenFile>,
    /// Mode of testing: whether a suite is generated.
    pub testing: TestingMode,
    /// Effect of the plan's cases. Snapshots of earlier versions have none.
    #[serde(default = "without_cases")]
    pub cases: CaseMode,
    /// The user's examples.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<Case>,
    /// Author of the program. Snapshots of earlier versions have the pipeline.
    #[serde(default)]
    pub backend: Backend,
    /// Language of the program.
    pub language: Language,
    /// Upper bound of sample rows shown to the model.
    pub max_sample_rows: usize,
    /// Part of the samples that may reach the model.
    pub exposure: Exposure,
    /// The model.
    pub model: ModelSettings,
    /// Stronger models, the one that is asked first first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub escalation: Vec<EscalationSettings>,
    /// The image.
    pub image: ImageSettings,
    /// Rules about which packages may be installed; the operator adds its own.
    #[serde(default)]
    pub packages: PackagePolicy,
    /// The sandbox.
    pub sandbox: SandboxSettings,
    /// Bounds of what the task may spend.
    pub limits: LimitSettings,
    /// Use of what is kept between tasks.
    pub cache: CacheMode,
    /// True where the tests of an adopted program are run again.
    #[serde(default = "is_true")]
    pub reruns_tests: bool,
    /// Gates at which it waits for a person, in order and each once.
    #[serde(default)]
    pub approvals: BTreeSet<Gate>,
    /// Publication of the program as an image, if any.
    #[serde(default)]
    pub publish: Option<Publish>,
}

const fn without_cases() -> CaseMode {
    CaseMode::Off
}

const fn default_turns() -> u32 {
    DEFAULT_AGENT_MAX_TURNS
}

const fn is_true() -> bool {
    true
}

/// Checks that a name stands for something in the folder that it is joined to, and for nothing outside of it or below that.
#[must_use]
pub fn is_plain_name(name: &str) -> bool {
    !matches!(name, "" | "." | "..") && !name.contains(['/', '\0'])
}

impl Task {
    /// The first name of a file, an input or an output, or of the task itself, that would lie outside of the folder which it is joined to:
    /// a record may be anybody's.
    #[must_use]
    pub fn outside_name(&self) -> Option<&str> {
        let files = self
            .samples
            .iter()
            .chain(&self.input_files)
            .chain(&self.acceptance_tests);
        let names = files.flat_map(|file| [&file.name, &file.file_name]);
        let options = self.inputs.iter().map(|input| &input.name);
        let outputs = self.outputs.iter().map(|output| &output.name);
        let mut all = names.chain(options).chain(outputs).chain([&self.name]);
        all.find(|name| !is_plain_name(name)).map(String::as_str)
    }
}

/// A source as it was read when the task started.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct FrozenFile {
    /// Name of the sample or input.
    pub name: String,
    /// File name with its ending; equal to `name` for folders.
    pub file_name: String,
    /// SHA-256 of its bytes, hex (of a folder: of its sorted paths and contents).
    pub sha256: String,
    /// Size in bytes.
    pub bytes: u64,
    /// True where it is a folder.
    pub is_dir: bool,
}

/// The model with defaults applied.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct ModelSettings {
    /// Protocol.
    pub provider: Provider,
    /// Name of the model.
    pub name: String,
    /// Base address, without a trailing slash.
    pub base_url: String,
    /// Secret with the API key.
    pub api_key_secret_ref: Option<SecretKeyRef>,
    /// Sent as they are.
    pub parameters: serde_json::Map<String, serde_json::Value>,
    /// Further headers.
    pub headers: Vec<Header>,
    /// Query parameters.
    pub query: BTreeMap<String, String>,
}

/// A stronger model with defaults applied.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct EscalationSettings {
    /// Refuted attempts before it is asked.
    pub after: u32,
    /// The model.
    pub model: ModelSettings,
}

/// The image with defaults applied.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct ImageSettings {
    /// An image that is there: nothing is built.
    pub reference: Option<String>,
    /// Repository to push to.
    pub repository: Option<String>,
    /// By which name nodes know that repository, where it is another one.
    pub pull_repository: Option<String>,
    /// Secret to push with.
    pub push_secret: Option<String>,
    /// Secret to pull with; nodes also pull with `push_secret` where it is none.
    pub pull_secret: Option<String>,
    /// Base image.
    pub base: String,
    /// pip packages that are always installed.
    pub base_packages: Vec<String>,
    /// apt packages that are always installed.
    pub base_system_packages: Vec<String>,
    /// `3.12`.
    pub python_version: String,
    /// Package index.
    pub index_url: Option<String>,
    /// Its certificate authorities, PEM.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index_ca_bundle: Option<String>,
}

/// The sandbox with defaults applied.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct SandboxSettings {
    /// CPUs.
    pub cpus: f64,
    /// Memory of the tree, bytes.
    pub memory_bytes: u64,
    /// Disk space for outputs, bytes, where the task says it: then the rehearsal writes to a disk from the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_bytes: Option<u64>,
    /// Wall time of one execution, seconds.
    pub timeout_seconds: f64,
    /// Repeats of a failed execution.
    pub retries: u32,
    /// Network that it may reach.
    pub network: NetworkAccess,
    /// Environment variables.
    pub env: BTreeMap<String, String>,
    /// Environment variables from Secrets.
    pub secrets: Vec<SecretVariable>,
    /// Place where a Pod may run; nothing of it concerns a local sandbox.
    #[serde(default)]
    pub placement: Placement,
}

impl SandboxSettings {
    /// Disk space for outputs that are not kept in memory, bytes.
    #[must_use]
    pub fn output_bytes(&self) -> u64 {
        self.disk_bytes.unwrap_or(DEFAULT_EPHEMERAL_STORAGE)
    }

    /// The limits of one job in it.
    #[must_use]
    pub const fn job_limits(&self) -> JobLimits {
        JobLimits {
            timeout_seconds: self.timeout_seconds,
            cpus: self.cpus,
            memory_bytes: self.memory_bytes,
            processes: MAX_PROCESSES,
            file_bytes: MAX_FILE_BYTES,
        }
    }
}

/// Place in a cluster where a sandbox may run, and its runtime and priority classes.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct Placement {
    /// Runtime class.
    pub runtime_class_name: Option<String>,
    /// Labels of its nodes.
    pub node_selector: BTreeMap<String, String>,
    /// Taints that it tolerates.
    pub tolerations: Vec<Toleration>,
    /// Priority class.
    pub priority_class_name: Option<String>,
}

/// Limits with defaults applied.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct LimitSettings {
    /// Test runs.
    pub max_iterations: u32,
    /// Turns of an agent.
    #[serde(default = "default_turns")]
    pub agent_max_turns: u32,
    /// Tokens.
    pub max_tokens: u64,
    /// Model calls.
    pub max_model_calls: u32,
    /// Builds.
    pub max_builds: u32,
    /// Active seconds.
    pub deadline_seconds: f64,
    /// Estimated tokens of the data context.
    pub max_context_tokens: u64,
    /// Verified fixes before a failure's type flips.
    pub reclassify_after: u32,
}
