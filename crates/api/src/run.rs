//! `CodeGenRun`: one run of a finished task's program.
#![expect(
    clippy::duplicated_attributes,
    reason = "printer columns of one type are not duplicates"
)]

use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::common::{CacheMode, ClaimPath, ConfigMapKeyRef, LocalRef, UNIQUE_NAMES};
use super::run_status::CodeGenRunStatus;
use super::sandbox::Sandbox;

/// Repeats of a failed run that names none.
pub const DEFAULT_RUN_RETRIES: u32 = 0;

/// CEL: what decides the result stays as it was; the time to live may change.
const IMMUTABLE: &str = "has(self.taskRef) == has(oldSelf.taskRef) && (!has(self.taskRef) || self.taskRef == oldSelf.taskRef) \
    && has(self.programImage) == has(oldSelf.programImage) \
    && (!has(self.programImage) || self.programImage == oldSelf.programImage) \
    && has(self.pullSecretRef) == has(oldSelf.pullSecretRef) \
    && (!has(self.pullSecretRef) || self.pullSecretRef == oldSelf.pullSecretRef) \
    && has(self.inputs) == has(oldSelf.inputs) && (!has(self.inputs) || self.inputs == oldSelf.inputs) \
    && has(self.sandbox) == has(oldSelf.sandbox) && (!has(self.sandbox) || self.sandbox == oldSelf.sandbox) \
    && has(self.validation) == has(oldSelf.validation) \
    && (!has(self.validation) || self.validation == oldSelf.validation) \
    && has(self.cache) == has(oldSelf.cache) && (!has(self.cache) || self.cache == oldSelf.cache) \
    && has(self.outputs) == has(oldSelf.outputs) && (!has(self.outputs) || self.outputs == oldSelf.outputs)";

/// One run of the program of a task that has succeeded, on inputs of its own. `taskRef`, or the image of a published program, is all
/// that is needed.
#[derive(CustomResource, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, KubeSchema)]
#[kube(
    group = "codegen-operator.dev",
    version = "v1alpha1",
    kind = "CodeGenRun",
    namespaced,
    status = "CodeGenRunStatus",
    shortname = "cgr",
    category = "codegen",
    derive = "PartialEq",
    doc = "One run of the program of a CodeGenTask that has succeeded, with typed inputs and outputs.",
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Ready")].status"#
    ),
    printcolumn(name = "Stage", type_ = "string", json_path = ".status.stage"),
    printcolumn(name = "Task", type_ = "string", json_path = ".spec.taskRef.name"),
    printcolumn(name = "Duration", type_ = "string", json_path = ".status.duration"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(name = "Reason", type_ = "string", json_path = ".status.reason", priority = 1),
    printcolumn(
        name = "Program",
        type_ = "string",
        json_path = ".spec.programImage",
        priority = 1
    ),
    printcolumn(
        name = "Adopted",
        type_ = "string",
        json_path = ".status.adoptedFrom",
        priority = 1
    )
)]
#[x_kube(validation = Rule::new(IMMUTABLE)
    .message("a run stays as it was made, but for ttlSecondsAfterFinished: make another CodeGenRun with what is to be different"))]
#[x_kube(validation = Rule::new("has(self.taskRef) != has(self.programImage)")
    .message("give exactly one of taskRef (a task in this namespace) and programImage (a program that a task has published)"))]
#[x_kube(validation = Rule::new("has(self.programImage) || !has(self.pullSecretRef)")
    .message("pullSecretRef is for programImage: the image of a task is pulled with what the task names"))]
#[serde(rename_all = "camelCase")]
pub struct CodeGenRunSpec {
    /// The `CodeGenTask` of the same namespace whose program is run (`{name: penguin-masses}`). The run waits until it has
    /// succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_ref: Option<LocalRef>,
    /// A program that a task has published (`status.programImage` of that task; best by digest), from whichever namespace or
    /// cluster. Its samples are not in it: every `File` and `Dir` must be given, as must network access and Secrets, under `sandbox`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 512), pattern(r"^[A-Za-z0-9][A-Za-z0-9._:/@-]*$"))]
    pub program_image: Option<String>,
    /// Secret of type `kubernetes.io/dockerconfigjson` to pull `programImage` with, with the label `codegen-operator.dev/use: registry`.
    /// Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pull_secret_ref: Option<LocalRef>,
    /// Values of the program's options by name, at most 64 (`{name: decimals, value: "2"}`). What is not given is the task's
    /// sample or default.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    #[x_kube(
        merge_strategy = ListMerge::Map(vec!["name".into()]),
        validation = Rule::new(UNIQUE_NAMES).message("two inputs have the same name: give each option of the program once"),
    )]
    pub inputs: Vec<RunInput>,
    /// Place and limits of the run. What is not given is as in the task; but a run is repeated only as often as its own `retries` says, by
    /// default not at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<Sandbox>,
    /// Treatment of data that breaks the task's constraints or differs in type from its samples: `Enforce` fails the run, `Warn` says so in
    /// the status, `Off` does not look. Default: what is wrong with inputs is said, and outputs whose declared columns break a constraint
    /// fail the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validation: Option<Validation>,
    /// Use of the outputs of a run with the same program, inputs and settings: `Auto` takes the outputs of one that succeeded in this
    /// namespace, `Override` runs and lets later runs take its outputs, `Disable` runs and leaves nothing to take. Default `Auto`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<CacheMode>,
    /// Destination of outputs that are too large for the cluster's own store. Default: an output of more than 1 MiB, or more than 4 MiB of
    /// all together, fail the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outputs: Option<RunOutputs>,
    /// Seconds after which the run is deleted with its outputs, counted from its end; what lies on a claim stays. Default: the
    /// run stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub ttl_seconds_after_finished: Option<i32>,
}

impl CodeGenRunSpec {
    /// The volume that outputs go to which are too large to be kept in the cluster.
    #[must_use]
    pub fn output_claim(&self) -> Option<&OutputClaim> {
        self.outputs.as_ref()?.persistent_volume_claim.as_ref()
    }
}

/// Destination of the outputs of a run.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunOutputs {
    /// A volume for what is too large (`{claimName: results, path: 2027}`). The program then writes to a folder of this run
    /// alone on it; up to 1 GiB a file and 4 GiB in all. Such a run takes no outputs of another one, and leaves none to take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persistent_volume_claim: Option<OutputClaim>,
}

/// A PersistentVolumeClaim that programs write to.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct OutputClaim {
    /// Name of the PersistentVolumeClaim (`results`), in the namespace of the run.
    #[schemars(length(min = 1, max = 253), pattern(r"^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$"))]
    pub claim_name: String,
    /// Folder on the volume in which each run gets one of its own, without a leading slash and without `..` (`2027`). Default:
    /// the volume's root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 512))]
    #[x_kube(validation = Rule::new("!self.startsWith('/') && !self.matches('(^|/)[.][.](/|$)')")
        .message("write the folder from the volume's root, without a leading / and without .., like results/2027"))]
    pub path: Option<String>,
    /// Group for which the volume is made writable when it is mounted, as `securityContext.fsGroup` of a Pod does: for volumes
    /// that belong to root. Where the volume's root already belongs to the group, nothing is changed. Default: the volume is
    /// used as it is, so every user must be able to write to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 4_294_967_294_u32))]
    pub fs_group: Option<i64>,
}

/// Treatment of data that breaks a rule.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, Hash, JsonSchema)]
#[schemars(description = "")]
pub enum Validation {
    /// The run fails.
    Enforce,
    /// The status says so.
    Warn,
    /// Nothing is checked.
    Off,
}

/// The value of one option of the program.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, KubeSchema)]
#[x_kube(validation = Rule::new("has(self.value) != has(self.source)")
    .message("give exactly one of value (String, Int, Float, Bool, always in quotes) and source (File, Dir)"))]
#[serde(rename_all = "camelCase")]
pub struct RunInput {
    /// Name of the option: `decimals` is the program's `--decimals`.
    #[schemars(length(min = 1, max = 63), pattern(r"^[A-Za-z][A-Za-z0-9_]*$"))]
    pub name: String,
    /// Value of a `String`, `Int`, `Float` or `Bool`, always written in quotes (`"2"`, `"0.5"`, `"true"`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 4096))]
    pub value: Option<String>,
    /// Source of the content of a `File` or `Dir`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<RunSource>,
}

/// Source of the content of a `File` or `Dir`: exactly one of `inline`, `configMapKeyRef`, `configMapRef`, `url`, `persistentVolumeClaim`
/// and `runOutput`.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, KubeSchema)]
#[x_kube(validation = Rule::new("[has(self.inline), has(self.configMapKeyRef), has(self.configMapRef), has(self.url), \
        has(self.persistentVolumeClaim), has(self.runOutput)].filter(given, given).size() == 1")
    .message("give exactly one source: inline, configMapKeyRef, configMapRef, url (with sha256), persistentVolumeClaim or runOutput"))]
#[x_kube(validation = Rule::new("!has(self.url) || has(self.sha256)")
    .message("a url needs the file's sha256 beside it, so that a changed file is noticed; print it with: curl -sL URL | sha256sum"))]
#[serde(rename_all = "camelCase")]
pub struct RunSource {
    /// Text of a `File`, written in the manifest; at most 262,144 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 262_144))]
    pub inline: Option<String>,
    /// A key of a ConfigMap in the same namespace, for a `File` (`{name: penguins-2027, key: penguins.csv}`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_map_key_ref: Option<ConfigMapKeyRef>,
    /// All keys of a ConfigMap, one file each, for a `Dir` (`{name: templates}`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_map_ref: Option<LocalRef>,
    /// Address to download a `File` from; needs `sha256`. At most 900 KiB, from a public host over https or one that the operator's
    /// `egress.allow` lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2048), pattern(r"^https?://"))]
    pub url: Option<String>,
    /// A file or folder on a PersistentVolumeClaim (`{claimName: datasets, path: 2027/penguins.csv}`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persistent_volume_claim: Option<ClaimPath>,
    /// An output of another run in the same namespace, once that has succeeded (`{run: clean-2027, output: cleaned}`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_output: Option<RunOutputRef>,
    /// Expected SHA-256 of a file, 64 lower-case hex digits. Compulsory with `url`; when given, another content is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64), pattern(r"^[0-9a-f]{64}$"))]
    pub sha256: Option<String>,
    /// File name with its ending, which tells the program the format (`penguins.csv`). Default: the ConfigMap key, the last
    /// segment of the URL or claim path, or the name of the output; for `inline` the input's name with an ending found from the
    /// content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253), pattern(r"^[A-Za-z0-9][A-Za-z0-9._-]*$"))]
    pub file_name: Option<String>,
}

/// An output of another run.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunOutputRef {
    /// Name of the `CodeGenRun`.
    #[schemars(length(min = 1, max = 253), pattern(r"^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$"))]
    pub run: String,
    /// Name of the output.
    #[schemars(length(min = 1, max = 63), pattern(r"^[A-Za-z][A-Za-z0-9_]*$"))]
    pub output: String,
}
