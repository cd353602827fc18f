//! `CodeGenAgent`: settings that many tasks share.
#![expect(
    clippy::duplicated_attributes,
    reason = "printer columns of one type are not duplicates"
)]

use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

use super::approval::Gate;
use super::common::{Backend, CacheMode, Exposure, Testing};
use super::{
    image::Image,
    limits::Limits,
    model::{Escalation, INCREASING, Model},
    packages::PackageRules,
    sandbox::Sandbox,
};

/// Settings that many tasks share. A task names the agent in `agentRef` and overrides any field: a field that the task
/// gives holds, a list or map as a whole.
#[derive(CustomResource, Serialize, Deserialize, Clone, Debug, Default, PartialEq, KubeSchema)]
#[kube(
    group = "codegen-operator.dev",
    version = "v1alpha1",
    kind = "CodeGenAgent",
    namespaced,
    shortname = "cga",
    category = "codegen",
    derive = "PartialEq",
    doc = "Settings that many tasks share: model, credentials, image, sandbox, limits.",
    printcolumn(name = "Model", type_ = "string", json_path = ".spec.model.name"),
    printcolumn(name = "Provider", type_ = "string", json_path = ".spec.model.provider"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct CodeGenAgentSpec {
    /// The language model and how to reach it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Model>,
    /// Stronger models, at most 3, each asked from so many refuted attempts on; also where the one before makes no progress, or gave two
    /// replies in a row that cannot be used (`[{after: 2, model: {name: gpt-5}}]`). Default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 3))]
    #[x_kube(
        merge_strategy = ListMerge::Atomic,
        validation = Rule::new(INCREASING).message("each entry of escalation comes later than the one before it: write larger numbers for after"),
    )]
    pub escalation: Vec<Escalation>,
    /// Replaces the built-in system prompt, at most 16,384 characters; the rules that every program must keep are always
    /// appended. Default: the built-in text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 16384))]
    pub system_prompt: Option<String>,
    /// The image that holds the packages, and the Python in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<Image>,
    /// Rules for the packages that may be installed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packages: Option<PackageRules>,
    /// Place and limits of test runs and of runs of the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<Sandbox>,
    /// Bounds on time, model calls and tokens after which a task is stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<Limits>,
    /// Use of stored images, test runs and runs: `Auto` uses what is there and keeps what is made, `Override` computes again and replaces
    /// what is there, `Disable` neither reads nor writes. Default `Auto`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<CacheMode>,
    /// Generation and use of a test suite.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub testing: Option<Testing>,
    /// Gates at which every task of the agent waits until a person has approved of what comes next, added to the task's own: `Plan`,
    /// `Packages`, `Image`, `Result`. Default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 4))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub approvals: Vec<Gate>,
    /// Author of the program: `Pipeline`, the staged way of plan, code, tests, diagnosis and fixes, or `Agent`, a model with the tools
    /// `Bash`, `Read`, `Write` and `Edit` that works until the tests pass. What passed means is the same. Default `Pipeline`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend: Option<Backend>,
    /// Upper bound of the rows of each sample that the model sees; statistics are always of the whole file. Between 0
    /// and 10,000, default 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 10000))]
    pub max_sample_rows: Option<i32>,
    /// Part of the samples that may reach the model: `SchemaOnly` (names and types), `Statistics` (also counts, ranges and values that at
    /// least five rows share), `RedactedRows` (also rows with every letter and digit masked) or `Rows`. Below `Rows` the tests run without
    /// the samples, and of a run on them the model learns only which exception rose where and at which column. Default `Rows`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exposure: Option<Exposure>,
}
