//! `CodeGenTask`: one program to be written.
#![expect(
    clippy::duplicated_attributes,
    reason = "printer columns of one type are not duplicates"
)]

use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

use super::approval::Gate;
use super::case::Case;
use super::common::{Backend, CacheMode, Exposure, Language, LocalRef, Reuse, Testing, UNIQUE_NAMES};
use super::publish::Publish;
use super::status::CodeGenTaskStatus;
use super::values::{AcceptanceTests, Input, Output, Sample};
use super::{
    image::Image,
    limits::Limits,
    model::{Escalation, INCREASING, Model},
    packages::PackageRules,
    sandbox::Sandbox,
};

/// A program to be written: what it shall do, on which data, with which inputs and outputs. `prompt` and a model, here or
/// in the agent, are all that is needed.
#[derive(CustomResource, Serialize, Deserialize, Clone, Debug, Default, PartialEq, KubeSchema)]
#[kube(
    group = "codegen-operator.dev",
    version = "v1alpha1",
    kind = "CodeGenTask",
    namespaced,
    status = "CodeGenTaskStatus",
    shortname = "cgt",
    category = "codegen",
    derive = "PartialEq",
    doc = "A program to be written and tested from a prompt, sample data and typed inputs and outputs.",
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Ready")].status"#
    ),
    printcolumn(name = "Stage", type_ = "string", json_path = ".status.stage"),
    printcolumn(name = "Attempt", type_ = "integer", json_path = ".status.attempt"),
    printcolumn(name = "Tests", type_ = "string", json_path = ".status.tests"),
    printcolumn(name = "Tokens", type_ = "integer", json_path = ".status.tokens.total"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(name = "Reason", type_ = "string", json_path = ".status.reason", priority = 1),
    printcolumn(name = "Image", type_ = "string", json_path = ".status.image", priority = 1),
    printcolumn(
        name = "Program",
        type_ = "string",
        json_path = ".status.programImage",
        priority = 1
    )
)]
#[x_kube(validation = Rule::new("has(self.agentRef) || (has(self.model) && has(self.model.name))")
    .message("a task needs a model: write spec.model.name, or name an agent that has one in spec.agentRef"))]
#[x_kube(validation = Rule::new("!has(self.samples) || !has(self.inputs) || \
        self.inputs.all(i, i.type == 'File' || !self.samples.exists(s, s.name == i.name))")
    .message("an input with the name of a sample is that sample: write its type as File, or give it another name"))]
#[x_kube(validation = Rule::new("!has(self.samples) || !has(self.inputs) || \
        self.inputs.all(i, !has(i.source) || !self.samples.exists(s, s.name == i.name))")
    .message("an input with the name of a sample has the sample as its content: remove source, or give it another name"))]
#[x_kube(validation = Rule::new("!has(self.backend) || self.backend != 'Agent' || !has(self.limits) || !has(self.limits.maxIterations)")
    .message("limits.maxIterations is of the backend Pipeline: an agent is limited by limits.agentMaxTurns"))]
#[x_kube(validation = Rule::new("!has(self.limits) || !has(self.limits.agentMaxTurns) || !has(self.backend) || self.backend == 'Agent'")
    .message("limits.agentMaxTurns is of the backend Agent: the pipeline is limited by limits.maxIterations"))]
#[x_kube(validation = Rule::new("!has(self.backend) || self.backend != 'Agent' || !has(self.testing) || !has(self.testing.mode) \
        || self.testing.mode != 'Skip'")
    .message("an agent works until its tests pass, so that they cannot be skipped: write Generate, or leave testing.mode out"))]
#[serde(rename_all = "camelCase")]
pub struct CodeGenTaskSpec {
    /// Task of the program, in plain words, at most 65,536 characters (`Drop rows without a body mass; per species write count
    /// and mean body mass in grams, one decimal.`).
    #[schemars(length(min = 1, max = 65536))]
    #[x_kube(validation = Rule::new("self.matches('[^ \\t\\r\\n]')")
        .message("the prompt is blank: say what the program shall do"))]
    pub prompt: String,
    /// A `CodeGenAgent` of the same namespace whose settings hold where the task gives none (`{name: shared}`). It is
    /// read once, when the task starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_ref: Option<LocalRef>,
    /// The language model and how to reach it. Its name is compulsory unless the agent gives it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Model>,
    /// Stronger models, at most 3, each asked from so many refuted attempts on; also where the one before makes no progress, or gave two
    /// replies in a row that cannot be used (`[{after: 2, model: {name: gpt-5}}]`). Default: the agent's, else none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 3))]
    #[x_kube(
        merge_strategy = ListMerge::Atomic,
        validation = Rule::new(INCREASING).message("each entry of escalation comes later than the one before it: write larger numbers for after"),
    )]
    pub escalation: Vec<Escalation>,
    /// Replaces the built-in system prompt, at most 16,384 characters; the rules that every program must keep are always
    /// appended. Default: the agent's, else the built-in text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 16384))]
    pub system_prompt: Option<String>,
    /// Free text about formats and structures, verbatim and uncut in every prompt; at most 65,536 characters (`Each line:
    /// time, level, message, separated by a bar.`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 65536))]
    pub schema: Option<String>,
    /// Sample data, at most 16 files. The model sees statistics and some rows; each sample is also a `File` input of the
    /// program (`--<name>`) whose default is the sample.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    #[x_kube(
        merge_strategy = ListMerge::Map(vec!["name".into()]),
        validation = Rule::new(UNIQUE_NAMES).message("two samples have the same name: each is an option of the program, give each its own"),
    )]
    pub samples: Vec<Sample>,
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
    /// Rules that data must keep, one sentence each, at most 64 (`quantity is greater than 0`). The model sees them all;
    /// those that name a column and a comparison are also checked, and `status.constraints` says which.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(min = 1, max = 1024)))]
    pub constraints: Vec<String>,
    /// Options of the program besides the samples, at most 32 (`{name: decimals, type: Int, default: "1"}`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    #[x_kube(
        merge_strategy = ListMerge::Map(vec!["name".into()]),
        validation = Rule::new(UNIQUE_NAMES).message("two inputs have the same name: each is an option of the program, give each its own"),
    )]
    pub inputs: Vec<Input>,
    /// Values that the program writes to `/var/outputs/<name>`, at most 32 (`{name: summary, type: File, format: CSV}`).
    /// Each must be there and have its type before the task succeeds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    #[x_kube(
        merge_strategy = ListMerge::Map(vec!["name".into()]),
        validation = Rule::new(UNIQUE_NAMES).message("two outputs have the same name: each is a file of its own, give each its own"),
    )]
    pub outputs: Vec<Output>,
    /// Runs of the program whose results you know, at most 32: each must come out as it says, and no model sees them (`{about: one
    /// row, inputs: [{name: decimals, value: "0"}], expect: [{output: total, value: "3"}]}`). Inputs that an example leaves out
    /// have their defaults. Default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub examples: Vec<Case>,
    /// Tests of yours that the program must pass and that no model ever sees; they run it by the fixture `program`. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acceptance_tests: Option<AcceptanceTests>,
    /// Generation and use of a test suite.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub testing: Option<Testing>,
    /// The image that holds the packages, and the Python in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<Image>,
    /// Rules for the packages that may be installed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packages: Option<PackageRules>,
    /// Place and limits of test runs and of runs of the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<Sandbox>,
    /// Bounds on time, model calls and tokens after which the task is stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<Limits>,
    /// Use of stored images, test runs and runs: `Auto` uses what is there and keeps what is made, `Override` computes again and replaces
    /// what is there, `Disable` neither reads nor writes. Default `Auto`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<CacheMode>,
    /// In a cluster, how the result of a task that asked the same is adopted. Under `cache: Auto` a task without gates whose prompt, model,
    /// data, inputs, outputs, tests and image are those of a succeeded task in the namespace takes over its program: no model
    /// is called and no image built, and `status.adoptedFrom` names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reuse: Option<Reuse>,
    /// Gates at which the task waits until a person has approved of what comes next: `Plan` (before any code), `Packages` (before an image
    /// is built), `Image` (before anything runs in it), `Result` (before the task succeeds). The agent's are added to them. What is to be
    /// approved stands in `status.approval`. Default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 4))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub approvals: Vec<Gate>,
    /// Publication of the program when it has passed, besides `status.result`: as an image that runs it, as a Job or anywhere else. It may
    /// be asked for after the task has succeeded as well. Default: none. What a task has published stays where it is when this is taken
    /// away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub publish: Option<Publish>,
    /// Author of the program: `Pipeline`, the staged way of plan, code, tests, diagnosis and fixes, or `Agent`, a model with the tools
    /// `Bash`, `Read`, `Write` and `Edit` that works until the tests pass. What passed means is the same. Default `Pipeline`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend: Option<Backend>,
    /// Language of the program; `Python` is the only one. Default `Python`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<Language>,
    /// Set to true to pause the task before its next step. What runs goes on to its end, and its result is kept; time in which the task is
    /// suspended does not count against `limits.deadline`. Default `false`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspend: Option<bool>,
    /// Seconds after which the task is deleted with everything that belongs to it, counted from its end. Default: it stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub ttl_seconds_after_finished: Option<i32>,
}
