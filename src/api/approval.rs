//! `CodeGenApproval`: what a person decided at a gate of a task.
#![expect(
    clippy::duplicated_attributes,
    reason = "printer columns of one type are not duplicates"
)]

use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where a task may wait until somebody has approved of what comes next.
#[derive(
    Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema,
)]
#[schemars(description = "")]
pub enum Gate {
    /// Before any code: the plan.
    #[default]
    Plan,
    /// Before an image is built: the packages that program and tests need.
    Packages,
    /// Before anything runs: the image and what was installed in it.
    Image,
    /// Before the task succeeds: the program and its test counts.
    Result,
}

impl Gate {
    /// Every gate in the order in which a task comes to them.
    pub const ALL: [Self; 4] = [Self::Plan, Self::Packages, Self::Image, Self::Result];

    /// The gate as the spec writes it (`Plan`).
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Plan => "Plan",
            Self::Packages => "Packages",
            Self::Image => "Image",
            Self::Result => "Result",
        }
    }
}

impl fmt::Display for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a person says at a gate.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema)]
#[schemars(description = "")]
pub enum ApprovalDecision {
    /// The task goes on.
    #[default]
    Approve,
    /// The task ends.
    Reject,
}

/// The task of a decision. Its uid keeps a decision from counting for a later task of the same name.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskRef {
    /// Name of the `CodeGenTask`, in the same namespace (`penguin-masses`).
    #[schemars(length(min = 1, max = 253), pattern(r"^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$"))]
    pub name: String,
    /// Its `metadata.uid`.
    #[schemars(length(min = 1, max = 64))]
    pub uid: String,
}

/// What a person decided at a gate of a task. It counts for exactly what the task showed: another plan, package or
/// program asks again.
#[derive(CustomResource, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, KubeSchema)]
#[kube(
    group = "codegen-operator.dev",
    version = "v1alpha1",
    kind = "CodeGenApproval",
    namespaced,
    shortname = "cgap",
    category = "codegen",
    derive = "PartialEq",
    doc = "What a person decided at a gate of a task; kubectl-codegen approve and reject write it.",
    printcolumn(name = "Task", type_ = "string", json_path = ".spec.taskRef.name"),
    printcolumn(name = "Gate", type_ = "string", json_path = ".spec.gate"),
    printcolumn(name = "Decision", type_ = "string", json_path = ".spec.decision"),
    printcolumn(name = "By", type_ = "string", json_path = ".spec.decidedBy"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[x_kube(validation = Rule::new("self == oldSelf")
    .message("a decision stays as it was made: delete it and make another while the task still waits"))]
#[serde(rename_all = "camelCase")]
pub struct CodeGenApprovalSpec {
    /// The task that waits.
    pub task_ref: TaskRef,
    /// The gate that it waits at, from `status.approval.gate` of the task.
    pub gate: Gate,
    /// Hash of what was shown, from `status.approval.hash` of the task: 64 hexadecimal digits.
    #[schemars(length(min = 64, max = 64), pattern(r"^[0-9a-f]{64}$"))]
    pub hash: String,
    /// `Approve` lets the task go on; `Reject` ends it.
    pub decision: ApprovalDecision,
    /// Name by which the API server knows whoever decides (`kubectl auth whoami`). Under the operator's admission policy
    /// it takes no other name than that of the request.
    #[schemars(length(min = 1, max = 512))]
    pub decided_by: String,
    /// Why, in a sentence; at most 1,024 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub reason: Option<String>,
}

/// What a task waits for at a gate.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AwaitedApproval {
    /// The gate.
    pub gate: Gate,
    /// Hash of exactly what is to be approved, hex. A decision counts for no other.
    pub hash: String,
    /// What is to be approved, in lines; long ones are cut, the whole lies where the line says.
    #[serde(default)]
    pub what: Vec<String>,
}

/// A decision that was acted on.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalStatus {
    /// The gate.
    pub gate: Gate,
    /// What was decided.
    pub decision: ApprovalDecision,
    /// Who decided.
    pub decided_by: String,
    /// Whether the API server held that name to the one of the request. Without the operator's admission policy it is only
    /// what was written.
    #[serde(default)]
    pub verified: bool,
    /// When.
    pub decided_at: Time,
    /// Hash of what was shown, hex.
    pub hash: String,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}
