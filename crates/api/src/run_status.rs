//! Status of a `CodeGenRun`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::values::ValueType;

/// Observed state of a run: its stage, the inputs that it read, and the outputs that it wrote.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct CodeGenRunStatus {
    /// Generation of the spec that this status describes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// `Pending`, `Running`, `Succeeded` or `Failed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<String>,
    /// Cause of the stage in one word (`ProgramSucceeded`, `TaskNotSucceeded`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Sentence for a person about what happened and what to do next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// `Ready`, `Succeeded`, `Reconciling`, `Stalled`, which share their reason. The message is in `Ready`, in a `Succeeded` that is false,
    /// and in a `Reconciling` or `Stalled` that is true.
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    #[serde(default)]
    pub conditions: Vec<Condition>,
    /// The task as it was when the run started; a later change of it is of no matter to the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<RunTaskStatus>,
    /// The image that the program runs in, by digest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// The value of each option of the program, in the task's order.
    #[serde(default)]
    pub inputs: Vec<RunInputStatus>,
    /// Name of the Secret with the run as it was when it started; further parts of it end in a number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<String>,
    /// Hash of what decides the outputs: program, image, inputs and settings. Runs with the same one may share outputs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The run whose outputs were taken, where the program did not run again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adopted_from: Option<String>,
    /// Executions that came before the present one, for whatever reason.
    #[serde(default)]
    pub executions: i32,
    /// Executions that failed by the program's own fault.
    #[serde(default)]
    pub failures: i32,
    /// Outputs that the program wrote, in declared order.
    #[serde(default)]
    pub outputs: Vec<RunOutputStatus>,
    /// Inputs and outputs that break a constraint or have another type than the samples.
    #[serde(default)]
    pub findings: Vec<Finding>,
    /// Exit code of the program; 128 and the signal where one ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The limit that the program met: `Memory`, `Cpu`, `Processes`, `FileSize`, `Disk` or `Time`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<String>,
    /// The last lines that a failed program wrote, those of standard error where there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_lines: Option<String>,
    /// Wall time of the program (`41ms`, `1.3s`, `2m5s`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<String>,
    /// Time at which the run had all that it needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Time>,
    /// Time at which the run ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<Time>,
}

/// The task that a run uses, as it was when the run started.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunTaskStatus {
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
    /// Generation of its spec.
    pub generation: i64,
    /// `status.run` of the task: a hash of everything that decided the program.
    pub run: String,
    /// `status.result` of the task: where its program lies.
    pub result: String,
}

/// The value of one option.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunInputStatus {
    /// Name of the option.
    pub name: String,
    /// Its type.
    #[serde(rename = "type")]
    pub type_: ValueType,
    /// `Given` by the run, or the task's `Default`.
    pub from: InputOrigin,
    /// A value of at most 256 bytes as the program gets it; longer ones are left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// SHA-256 of a file, or of a folder with its paths and files, hex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// Size of a file or folder in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<i64>,
    /// True where rules for its content exist and were not checked, because it is a folder or lies on a claim.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unchecked: bool,
}

/// Origin of the value of an input.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(description = "")]
pub enum InputOrigin {
    /// The run.
    Given,
    /// The task: its sample, default or source.
    Default,
}

/// Output that the program wrote.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunOutputStatus {
    /// Name of the output.
    pub name: String,
    /// Its declared type.
    #[serde(rename = "type")]
    pub type_: ValueType,
    /// The value of anything but a `File` or `Dir`, as text (`"42"`, `PT1H30M`); what is longer than 1 KiB is in the Secret
    /// alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// SHA-256 of the bytes that the program wrote, of a folder with its paths and files, hex.
    pub sha256: String,
    /// Size in bytes.
    pub bytes: i64,
    /// File name with the ending of its declared format (`summary.csv`); of a folder its name.
    pub file_name: String,
    /// Stored bytes of the output, in the namespace of the run; none where they lie on a claim.
    pub files: Vec<StoredFile>,
    /// Place of its bytes on a claim, where they are too large to be kept in the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<OutputOnClaim>,
}

/// An output on a PersistentVolumeClaim. It belongs to whoever owns the claim: nothing deletes it with the run.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OutputOnClaim {
    /// Name of the PersistentVolumeClaim.
    pub claim_name: String,
    /// File or folder on it (`2027/penguins-2027-0b6c…/cleaned`).
    pub path: String,
    /// Number of files in a folder; 1 for a file.
    pub files: i64,
}

/// A file in a Secret.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StoredFile {
    /// Path below the folder; empty for an output that is no folder.
    #[serde(default)]
    pub path: String,
    /// Name of the Secret.
    pub secret: String,
    /// Key in it.
    pub key: String,
}

/// Data that breaks a rule.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// `Warning`, or `Violation` where the run failed for it.
    pub severity: Severity,
    /// `Input` or `Output`.
    pub of: DataSide,
    /// Name of the input or output.
    pub name: String,
    /// The column; empty where the data as a whole is not what is expected.
    pub column: String,
    /// Rule that should hold, in words (`body_mass_g between 2000 and 8000`).
    pub check: String,
    /// Number of values that break the rule.
    pub count: i64,
    /// The first of them: line and value (`line 17: "12"`).
    #[serde(default)]
    pub first: Vec<String>,
}

impl Finding {
    /// The finding as a sentence: what of which data breaks what, and where first.
    #[must_use]
    pub fn sentence(&self) -> String {
        let side = match self.of {
            DataSide::Input => "input",
            DataSide::Output => "output",
        };
        let Self { name, check, .. } = self;
        let first = self.first.join(", ");
        match (self.count, first.is_empty()) {
            (0, _) if self.column.is_empty() => format!("{side} {name}: expected {check}"),
            (0, _) => format!("{side} {name}: lacks {check}; give a file that has what the sample has"),
            (1, false) => format!("{side} {name}: 1 value breaks {check} ({first})"),
            (1, true) => format!("{side} {name}: 1 value breaks {check}"),
            (count, false) => format!("{side} {name}: {count} values break {check} ({first})"),
            (count, true) => format!("{side} {name}: {count} values break {check}"),
        }
    }
}

/// Gravity of a finding.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(description = "")]
pub enum Severity {
    /// The status says so.
    Warning,
    /// The run failed for it.
    Violation,
}

/// Side of the program that a finding is about.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(description = "")]
pub enum DataSide {
    /// Data that the program reads.
    Input,
    /// Data that the program writes.
    Output,
}
