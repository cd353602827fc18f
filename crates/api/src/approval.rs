//! `CodeGenApproval`: what a person decided at a gate of a task, or of a call that a question's program makes.
#![expect(
    clippy::duplicated_attributes,
    reason = "printer columns of one type are not duplicates"
)]

use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Gate of a task: a point at which it may wait until somebody has approved of what comes next.
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

/// Gate of a question: a point at which it may wait until somebody has approved of what its program does next.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema)]
#[schemars(description = "")]
pub enum QuestionGate {
    /// Before a call of a tool.
    #[default]
    ToolCall,
}

impl fmt::Display for QuestionGate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(AnyGate::from(*self).as_str())
    }
}

/// Subject of a decision: a gate of a task, or a call of a question's program.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema)]
#[schemars(description = "")]
pub enum AnyGate {
    /// Of a task, before any code: the plan.
    #[default]
    Plan,
    /// Of a task, before an image is built: the packages that program and tests need.
    Packages,
    /// Of a task, before anything runs: the image and what was installed in it.
    Image,
    /// Of a task, before it succeeds: the program and its test counts.
    Result,
    /// Of a question, before its program calls a tool: the tool and its arguments.
    ToolCall,
}

impl AnyGate {
    /// The gate as a decision writes it (`ToolCall`).
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Plan => Gate::Plan.as_str(),
            Self::Packages => Gate::Packages.as_str(),
            Self::Image => Gate::Image.as_str(),
            Self::Result => Gate::Result.as_str(),
            Self::ToolCall => "ToolCall",
        }
    }
}

impl fmt::Display for AnyGate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl From<Gate> for AnyGate {
    fn from(gate: Gate) -> Self {
        match gate {
            Gate::Plan => Self::Plan,
            Gate::Packages => Self::Packages,
            Gate::Image => Self::Image,
            Gate::Result => Self::Result,
        }
    }
}

impl From<QuestionGate> for AnyGate {
    fn from(QuestionGate::ToolCall: QuestionGate) -> Self {
        Self::ToolCall
    }
}

/// Decision of a person at a gate.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema)]
#[schemars(description = "")]
pub enum ApprovalDecision {
    /// The task goes on, or the call is made.
    #[default]
    Approve,
    /// The task ends, or the call is an exception of the program.
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

/// The question of a decision. Its uid keeps a decision from counting for a later question of the same name.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CodeModeRunRef {
    /// Name of the `CodeModeRun`, in the same namespace (`shop-kvmcw`).
    #[schemars(length(min = 1, max = 253), pattern(r"^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$"))]
    pub name: String,
    /// Its `metadata.uid`.
    #[schemars(length(min = 1, max = 64))]
    pub uid: String,
}

/// The object that a decision is about, by name and uid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject<'a> {
    /// A `CodeGenTask`.
    Task {
        /// Its name.
        name: &'a str,
        /// Its uid.
        uid: &'a str,
    },
    /// A `CodeModeRun`.
    Question {
        /// Its name.
        name: &'a str,
        /// Its uid.
        uid: &'a str,
    },
}

/// Decision of a person at a gate of a task, or about a call that the program of a question makes. It counts for exactly what was shown:
/// another plan, package or program asks again, and so does another call.
#[derive(CustomResource, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, KubeSchema)]
#[kube(
    group = "codegen-operator.dev",
    version = "v1alpha1",
    kind = "CodeGenApproval",
    namespaced,
    shortname = "cgap",
    category = "codegen",
    derive = "PartialEq",
    doc = "What a person decided at a gate of a task or of a call of a question; kubectl-codegen approve and reject write it.",
    printcolumn(name = "Task", type_ = "string", json_path = ".spec.taskRef.name"),
    printcolumn(name = "Question", type_ = "string", json_path = ".spec.codeModeRunRef.name"),
    printcolumn(name = "Gate", type_ = "string", json_path = ".spec.gate"),
    printcolumn(name = "Decision", type_ = "string", json_path = ".spec.decision"),
    printcolumn(name = "By", type_ = "string", json_path = ".spec.decidedBy"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[x_kube(validation = Rule::new("self == oldSelf")
    .message("a decision stays as it was made: delete it and make another while the task still waits"))]
#[x_kube(validation = Rule::new("has(self.taskRef) != has(self.codeModeRunRef)")
    .message("a decision is about one thing: give exactly one of taskRef and codeModeRunRef"))]
#[x_kube(validation = Rule::new("(self.gate == 'ToolCall') == has(self.codeModeRunRef)")
    .message("a question waits at the gate ToolCall and a task at no such gate: copy status.approval.gate of what waits"))]
#[serde(rename_all = "camelCase")]
pub struct CodeGenApprovalSpec {
    /// The task that waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_ref: Option<TaskRef>,
    /// The question that waits, with the gate `ToolCall`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code_mode_run_ref: Option<CodeModeRunRef>,
    /// The gate that it waits at, from `status.approval.gate` of the task or question.
    pub gate: AnyGate,
    /// Hash of what was shown, from `status.approval.hash` of the task or question: 64 hexadecimal digits.
    #[schemars(length(min = 64, max = 64), pattern(r"^[0-9a-f]{64}$"))]
    pub hash: String,
    /// `Approve` lets the task go on, or the call be made; `Reject` ends the task, or raises `PermissionError` in the program.
    pub decision: ApprovalDecision,
    /// Name by which the API server knows whoever decides (`kubectl auth whoami`). Under the operator's admission policy
    /// it takes no other name than that of the request.
    #[schemars(length(min = 1, max = 512))]
    pub decided_by: String,
    /// Reason of the decision, in a sentence; at most 1,024 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub reason: Option<String>,
}

impl CodeGenApprovalSpec {
    /// Returns the task and gate, or the question and call, that the decision is about; `None` where the spec names neither.
    #[must_use]
    pub fn subject(&self) -> Option<Subject<'_>> {
        match (&self.task_ref, &self.code_mode_run_ref) {
            (Some(TaskRef { name, uid }), None) => Some(Subject::Task { name, uid }),
            (None, Some(CodeModeRunRef { name, uid })) => Some(Subject::Question { name, uid }),
            // Refused by the API server, whose rules somebody may have removed.
            (None, None) | (Some(_), Some(_)) => None,
        }
    }
}

/// Request for a person's decision, for which a task or a question waits at a gate.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AwaitedApproval<G = Gate> {
    /// The gate.
    pub gate: G,
    /// Hash of exactly what is to be approved, hex. A decision counts for no other.
    pub hash: String,
    /// Matter to be approved, in lines; long ones are cut, the whole lies where the line says.
    #[serde(default)]
    pub what: Vec<String>,
}

/// A decision that was acted on.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalStatus<G = Gate> {
    /// The gate.
    pub gate: G,
    /// Decision that was taken.
    pub decision: ApprovalDecision,
    /// Name of the person who decided, as it stands in the `CodeGenApproval`.
    pub decided_by: String,
    /// True where the API server held that name to the user of the request. Without the operator's admission policy it is only
    /// what was written.
    #[serde(default)]
    pub verified: bool,
    /// Time of the decision.
    pub decided_at: Time,
    /// Hash of what was shown, hex.
    pub hash: String,
    /// Reason that the person gave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}
