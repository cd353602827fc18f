//! `CodeGenTask`: one program to be written.

use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

use super::common::{Backend, CacheMode, Language, LocalRef, Testing};
use super::status::CodeGenTaskStatus;
use super::values::{AcceptanceTests, Input, Output, Sample};
use super::{image::Image, limits::Limits, model::Model, sandbox::Sandbox};

/// A program to be written: what it shall do, on which data, with which inputs and outputs.
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
    doc = "A program to be written and tested from a prompt, sample data and typed inputs and outputs."
)]
#[serde(rename_all = "camelCase")]
pub struct CodeGenTaskSpec {
    /// What the program shall do, in plain words.
    #[schemars(length(min = 1, max = 65536))]
    pub prompt: String,
    /// A `CodeGenAgent` of the same namespace whose settings hold where the task gives none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_ref: Option<LocalRef>,
    /// The model and how to reach it; may come from `agentRef`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Model>,
    /// Replaces the built-in system prompt; the output contract is always appended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 16384))]
    pub system_prompt: Option<String>,
    /// Free text about formats and structures, verbatim in every prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 65536))]
    pub schema: Option<String>,
    /// Sample data; each is a `File` input of the program whose default is the sample.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub samples: Vec<Sample>,
    /// Upper bound of sample rows shown to the model. Default 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 10000))]
    pub max_sample_rows: Option<i32>,
    /// Rules that data must keep, one sentence each (`quantity is greater than 0`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(min = 1, max = 1024)))]
    pub constraints: Vec<String>,
    /// Options of the program, besides the samples.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    pub inputs: Vec<Input>,
    /// Values that the program writes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    pub outputs: Vec<Output>,
    /// Tests of yours that the program must pass and that no model ever sees.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acceptance_tests: Option<AcceptanceTests>,
    /// How the program is tested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub testing: Option<Testing>,
    /// The image that holds the packages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<Image>,
    /// The sandbox.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<Sandbox>,
    /// What the task may spend.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<Limits>,
    /// `Auto` (default), `Override` or `Disable`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<CacheMode>,
    /// Who writes the program. Default `Pipeline`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend: Option<Backend>,
    /// Language of the program. Default `Python`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<Language>,
}
