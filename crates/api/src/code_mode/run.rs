//! `CodeModeRun`: one question to an agent.
#![expect(
    clippy::duplicated_attributes,
    reason = "printer columns of one type are not duplicates"
)]

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::approval::{ApprovalStatus, AwaitedApproval, QuestionGate};
use crate::common::LocalRef;
use crate::status::{ArtifactRef, TokenStatus};

/// CEL: what decides the answer stays as it was; the time to live may change.
const IMMUTABLE: &str = "self.agentRef == oldSelf.agentRef && self.message == oldSelf.message \
    && has(self.history) == has(oldSelf.history) && (!has(self.history) || self.history == oldSelf.history) \
    && has(self.continues) == has(oldSelf.continues) && (!has(self.continues) || self.continues == oldSelf.continues)";

/// One question to an agent. `agentRef` and `message` are all that is needed.
#[derive(CustomResource, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, KubeSchema)]
#[kube(
    group = "codegen-operator.dev",
    version = "v1alpha1",
    kind = "CodeModeRun",
    namespaced,
    status = "CodeModeRunStatus",
    shortname = "cmr",
    category = "codegen",
    derive = "PartialEq",
    doc = "One question to a CodeModeAgent, answered by a program that calls the agent's tools.",
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Ready")].status"#
    ),
    printcolumn(name = "Stage", type_ = "string", json_path = ".status.stage"),
    printcolumn(name = "Agent", type_ = "string", json_path = ".spec.agentRef.name"),
    printcolumn(name = "Attempt", type_ = "integer", json_path = ".status.attempt"),
    printcolumn(name = "Calls", type_ = "integer", json_path = ".status.toolCallCount"),
    printcolumn(name = "Tokens", type_ = "integer", json_path = ".status.tokens.total"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(name = "Reason", type_ = "string", json_path = ".status.reason", priority = 1),
    printcolumn(
        name = "Answer",
        type_ = "string",
        json_path = ".status.summary",
        priority = 1
    )
)]
#[x_kube(validation = Rule::new(IMMUTABLE)
    .message("a run stays as it was made, but for suspend and ttlSecondsAfterFinished: make another CodeModeRun with another question"))]
#[x_kube(validation = Rule::new("!has(self.history) || !has(self.continues)")
    .message("give history or continues, and not both"))]
#[serde(rename_all = "camelCase")]
pub struct CodeModeRunSpec {
    /// The `CodeModeAgent` of the same namespace that is asked (`{name: shop}`). It is read once, when the run starts.
    pub agent_ref: LocalRef,
    /// The question, at most 65,536 characters.
    #[schemars(length(min = 1, max = 65536))]
    #[x_kube(validation = Rule::new("self.matches('[^ \\t\\r\\n]')")
        .message("the message is blank: ask something"))]
    pub message: String,
    /// The conversation before the question, at most 200 messages.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 200))]
    pub history: Vec<HistoryMessage>,
    /// A run of the same namespace whose conversation goes on with this question (`{name: orders-of-may}`). The run waits until it has
    /// ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continues: Option<RunRef>,
    /// Set to true to pause the run before its next step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspend: Option<bool>,
    /// Seconds after which the run is deleted with everything that belongs to it, counted from its end. Default: the run stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub ttl_seconds_after_finished: Option<i32>,
}

/// Another run.
pub type RunRef = LocalRef;

/// A message of a conversation.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct HistoryMessage {
    /// Speaker: `user` or `assistant`.
    #[x_kube(validation = Rule::new("self == 'user' || self == 'assistant'")
        .message("a message is said by user or assistant"))]
    #[schemars(length(max = 16))]
    pub role: String,
    /// Text of the message, at most 65,536 characters.
    #[schemars(length(min = 1, max = 65536))]
    pub content: String,
}

/// Observed state of a question: its stage, its answer, and what it has spent.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct CodeModeRunStatus {
    /// Generation of the spec that this status describes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// `Pending`, `Writing`, `Running`, `Succeeded` or `Failed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<String>,
    /// Cause of the stage in one word (`Answered`, `RetriesExhausted`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Sentence for a person about what happened and what to do next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// `Ready`, `Succeeded`, `Reconciling`, `Stalled`, which share their reason.
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    #[serde(default)]
    pub conditions: Vec<Condition>,
    /// The answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<AnswerStatus>,
    /// The answer in one line of at most 120 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// The present program, cut to 4 KiB; the whole is the artifact `program`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Error of the last program that failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Number of the present program, counted from 1.
    #[serde(default)]
    pub attempt: i32,
    /// The programs that failed, at most the last ten.
    #[serde(default)]
    pub attempts: Vec<CodeModeAttempt>,
    /// Number of calls of each tool, by all programs.
    #[serde(default)]
    pub tool_calls: BTreeMap<String, i32>,
    /// Number of calls of all tools.
    #[serde(default)]
    pub tool_call_count: i32,
    /// The calls that the program waits for, at most the first eight.
    #[serde(default)]
    pub waiting_for: Vec<PendingCall>,
    /// The call that a person must decide about before it is made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<AwaitedApproval<QuestionGate>>,
    /// Decisions of persons about calls, at most the last eight decisions.
    #[serde(default)]
    pub approvals: Vec<ApprovalStatus<QuestionGate>>,
    /// Tokens of all model calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<TokenStatus>,
    /// Model calls with a reply.
    #[serde(default)]
    pub model_calls: i32,
    /// Model calls whose reply was lost, and which a bill may show.
    #[serde(default)]
    pub lost_calls: i32,
    /// Stored results of the run: `program`, `answer`, and `conversation`, which the next question takes as its history.
    #[serde(default)]
    pub artifacts: Vec<ArtifactRef>,
    /// Name of the Secret with everything that the run left, once it has ended; further parts of it end in a number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// State of the run between two steps, for the operator alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "free_form")]
    pub progress: Option<Map<String, Value>>,
    /// Time at which the run began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Time>,
    /// Time at which the run ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<Time>,
}

/// An answer.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AnswerStatus {
    /// For people: the value where that is a string, else what the value is as text; cut to 8 KiB.
    pub text: String,
    /// The value as JSON, where it is no string and at most 4 KiB; longer ones are in the artifact `answer`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub json: Option<String>,
}

/// A program that failed.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CodeModeAttempt {
    /// Its number, counted from 1.
    pub attempt: i32,
    /// Exception of the program, or the reason for which it was not run; cut to 300 characters.
    pub error: String,
    /// Number of its calls of tools.
    pub calls: i32,
}

/// A call that a program waits for.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PendingCall {
    /// Its place among the calls of the program.
    pub number: i32,
    /// The tool.
    pub tool: String,
    /// Name of the `CodeGenRun` that is waited for.
    pub run: String,
}

fn free_form(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})
}
