//! `CodeModeAgent`: a model with tools that it calls from short programs.
#![expect(
    clippy::duplicated_attributes,
    reason = "printer columns of one type are not duplicates"
)]

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::tool::ToolSource;
use crate::common::{ConfigMapKeyRef, LocalRef, UNIQUE_NAMES};
use crate::model::Model;

/// Tries after the first of an agent that names no `maxRetries`.
pub const DEFAULT_MAX_RETRIES: u32 = 2;

/// A model with tools. It answers a question with one short program that calls them.
#[derive(CustomResource, Serialize, Deserialize, Clone, Debug, Default, PartialEq, KubeSchema)]
#[kube(
    group = "codegen-operator.dev",
    version = "v1alpha1",
    kind = "CodeModeAgent",
    namespaced,
    status = "CodeModeAgentStatus",
    shortname = "cma",
    category = "codegen",
    derive = "PartialEq",
    doc = "A model with tools, which answers questions with short programs that call them.",
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Ready")].status"#
    ),
    printcolumn(name = "Tools", type_ = "integer", json_path = ".status.toolCount"),
    printcolumn(name = "Durable", type_ = "boolean", json_path = ".status.usesDurableTools"),
    printcolumn(name = "Model", type_ = "string", json_path = ".spec.model.name"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(
        name = "Message",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Ready")].message"#,
        priority = 1
    )
)]
#[x_kube(validation = Rule::new("has(self.agentRef) || (has(self.model) && has(self.model.name))")
    .message("an agent needs a model: write spec.model.name, or name a CodeGenAgent that has one in spec.agentRef"))]
#[serde(rename_all = "camelCase")]
pub struct CodeModeAgentSpec {
    /// The language model and how to reach it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Model>,
    /// A `CodeGenAgent` of the same namespace whose model is used (`{name: shared}`). A field of `model` that is given here holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_ref: Option<LocalRef>,
    /// Beginning of the system text, at most 16,384 characters (`You answer for the shop team.`). Default: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 16384))]
    pub system_prompt_prefix: Option<String>,
    /// Texts that the model reads besides, at most 16 (`{text: Prices are in cents.}`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub skills: Vec<Skill>,
    /// Programs after the first one that failed. Between 0 and 10, default 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 10))]
    pub max_retries: Option<i32>,
    /// Tools that the agent's programs can call, at most 64 entries.
    #[schemars(length(min = 1, max = 64))]
    #[x_kube(
        merge_strategy = ListMerge::Map(vec!["name".into()]),
        validation = Rule::new(UNIQUE_NAMES).message("two tools have the same name: give each its own"),
    )]
    pub tools: Vec<ToolSource>,
    /// Tools whose calls each wait until a person has decided about exactly that call (`[refund]`), by the names that programs call them
    /// by; at most 128. Default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 128),
        inner(length(min = 1, max = 192), pattern(r"^[A-Za-z_][A-Za-z0-9_]*$"))
    )]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub require_approval: Vec<String>,
    /// Bounds on what one question may spend.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<CodeModeLimits>,
}

/// Tools as an agent lists them.
pub type AgentTools = Vec<ToolSource>;

/// A text that the model reads: exactly one of `text` and `configMapKeyRef`.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, KubeSchema)]
#[x_kube(validation = Rule::new("has(self.text) != has(self.configMapKeyRef)")
    .message("give exactly one of text and configMapKeyRef"))]
#[serde(rename_all = "camelCase")]
pub struct Skill {
    /// The text, at most 65,536 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 65536))]
    pub text: Option<String>,
    /// A key of a ConfigMap in the same namespace (`{name: handbook, key: returns.md}`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_map_key_ref: Option<ConfigMapKeyRef>,
}

/// Bounds on what one question may spend.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct CodeModeLimits {
    /// Calls of tools by one program. Between 1 and 10,000, default 1,000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 10000))]
    pub max_tool_calls: Option<i32>,
    /// Time of the interpreter for one program, without that of its tools (`30s`). At most 10 minutes, default `30s`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(
        length(min = 2, max = 32),
        pattern(r"^([0-9]{1,2}m)?([0-9]{1,3}s)?([0-9]{1,6}ms)?$")
    )]
    #[x_kube(validation = Rule::new("duration(self) > duration('0s') && duration(self) <= duration('10m')")
        .message("write a duration of at most 10m, like 30s"))]
    pub interpreter_time: Option<String>,
    /// Memory of a program, a quantity from `8Mi` to `512Mi`; in a cluster at most what the operator gives one (128Mi). Default `50Mi`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 16), pattern(r"^[0-9]{1,6}(Ki|Mi)$"))]
    pub memory: Option<String>,
    /// Time of one call of a tool that is no task (`60s`). At most 1 hour, default `60s`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(
        length(min = 2, max = 32),
        pattern(r"^([0-9]{1}h)?([0-9]{1,2}m)?([0-9]{1,4}s)?([0-9]{1,6}ms)?$")
    )]
    #[x_kube(validation = Rule::new("duration(self) > duration('0s') && duration(self) <= duration('1h')")
        .message("write a duration of at most 1h, like 60s"))]
    pub tool_timeout: Option<String>,
    /// Input and output tokens of all model calls together. The run fails with `BudgetExceeded` before a call that would not fit. At least 1,
    /// default 200,000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub max_tokens: Option<i64>,
    /// Model calls that a bill may show. Between 1 and 100, default 10.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100))]
    pub max_model_calls: Option<i32>,
    /// Active time of the whole run (`10m`); waiting for tasks, people or room does not count. Default `30m`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(
        length(min = 2, max = 32),
        pattern(r"^([0-9]{1,5}h)?([0-9]{1,7}m)?([0-9]{1,9}s)?([0-9]{1,9}ms)?$")
    )]
    #[x_kube(validation = Rule::new("duration(self) > duration('0s')")
        .message("a run needs some time: write a duration like 10m, or leave deadline out for 30m"))]
    pub deadline: Option<String>,
}

/// Observed state of an agent: its stage, and the tools that its programs can call.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct CodeModeAgentStatus {
    /// Generation of the spec that this status describes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// `Ready` and `ToolsResolved`.
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    #[serde(default)]
    pub conditions: Vec<Condition>,
    /// Number of tools that programs can call.
    #[serde(default)]
    pub tool_count: i32,
    /// The tools, in the order of the spec.
    #[serde(default)]
    pub tools: Vec<ToolStatus>,
    /// True where a call of at least one of them is recorded as a run of its own.
    #[serde(default)]
    pub uses_durable_tools: bool,
}

/// A tool as programs see it.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolStatus {
    /// Name by which programs call the tool.
    pub name: String,
    /// Description of the tool, as its source gives it; cut to 160 characters.
    #[serde(default)]
    pub description: String,
    /// Its signature (`exchange_rate(base: str, on: date | str | None = None) -> float`), cut to 300 characters.
    pub signature: String,
    /// Kind of source that the tool comes from: `Task`, `Program`, `HTTP`, `MCP` or `Builtin`.
    pub source: String,
    /// True where each call is recorded as a run of its own.
    pub durable: bool,
    /// True where each call waits until a person has decided about it.
    #[serde(default)]
    pub requires_approval: bool,
}
