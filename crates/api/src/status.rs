//! Status of a `CodeGenTask`.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::approval::{ApprovalStatus, AwaitedApproval};
use super::case::CaseMode;
use super::common::Language;
use super::retry::RetryStatus;

/// Observed state of a task: its stage, its attempts and evidence, and where its results lie.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct CodeGenTaskStatus {
    /// Generation of the spec that this status describes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Stage reached: `Pending`, `ReadingSamples`, `Planning`, ... `Succeeded` or `Failed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<String>,
    /// Cause of the stage in one word (`TestsPassed`, `IterationsExhausted`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Sentence for a person about what happened and what to do next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// `Ready`, `Succeeded`, `Reconciling`, `Stalled`, `ImageReady`, `IsolationVerified`, `Published`. The first four share their reason;
    /// the message is in `Ready`, in a `Succeeded` that is false, and in a `Reconciling` or `Stalled` that is true.
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    #[serde(default)]
    pub conditions: Vec<Condition>,
    /// Language of the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<Language>,
    /// The plan made before any code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<PlanStatus>,
    /// Number of the current attempt, counted from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<i32>,
    /// Every attempt in one line each; the last one that was diagnosed with its diagnosis.
    #[serde(default)]
    pub attempts: Vec<AttemptStatus>,
    /// Tests of the last test run as `passed/total` (`11/12`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<String>,
    /// The image (locally the environment) that holds the packages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// pip packages asked for, those of `image.basePackages` included; once they are installed, every distribution with its version.
    #[serde(default)]
    pub packages: Vec<String>,
    /// apt packages asked for, those of `image.baseSystemPackages` included.
    #[serde(default)]
    pub system_packages: Vec<String>,
    /// Doubts about packages that are asked for, such as a name that is almost that of a popular one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub package_warnings: Vec<String>,
    /// Evidence for the program of the last attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<EvidenceStatus>,
    /// The rehearsal on the sample data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rehearsal: Option<RehearsalStatus>,
    /// Exit code of the last program or test run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The last failure in one sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// The samples as they were read.
    #[serde(default)]
    pub samples: Vec<SampleStatus>,
    /// Outcome of each constraint.
    #[serde(default)]
    pub constraints: Vec<ConstraintStatus>,
    /// Stored results, by name, SHA-256 and size.
    #[serde(default)]
    pub artifacts: Vec<ArtifactRef>,
    /// Name of the model as it is sent: of `sonnet` what it stood for when the run started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Models besides `model` that answered, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub other_models: BTreeMap<String, ModelUse>,
    /// Tokens of all calls that a bill may show.
    #[serde(default)]
    pub tokens: TokenStatus,
    /// Model calls that a bill may show: those with a reply, and lost ones. A call that reached no model, or that it turned away, is none.
    #[serde(default)]
    pub model_calls: i32,
    /// Of these calls, those whose request was sent and whose reply never came: the operator was killed, the connection broke, or the
    /// time was over. The provider may bill them.
    #[serde(default)]
    pub lost_calls: i32,
    /// Image builds started.
    #[serde(default)]
    pub builds: i32,
    /// The run that this status describes: a hash of everything in the spec and its sources that decides the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The inputs of the run as they were when it started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<SnapshotStatus>,
    /// Hash of everything that decides the result, with the operator's version: a task with the same one may adopt the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reuse_key: Option<String>,
    /// Name of the succeeded task whose program was adopted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adopted_from: Option<String>,
    /// Request for a person's approval, without which the task does not go on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<AwaitedApproval>,
    /// Decisions at gates so far, at most the last eight.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approvals: Vec<ApprovalStatus>,
    /// Name of the `ConfigMap` with the program and its tests, and of the Secret with all else, once the task has ended or waits at
    /// the gate `Result`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// The program as an image, by digest (`registry.example.com/team/penguins@sha256:...`), where `spec.publish` asks for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program_image: Option<String>,
    /// The tag that the image was given (`registry.example.com/team/penguins:v1`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program_tag: Option<String>,
    /// Value of the annotation `codegen-operator.dev/retry` that was acted on last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_handled: Option<String>,
    /// Work of the agent, where one writes the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentStatus>,
    /// Further tries after an end, the last six: whether with a new plan, with which hint, after which end. `kubectl-codegen watch` has all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub retries: Vec<RetryStatus>,
    /// Reason for which the try that was asked for last was not made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_refused: Option<String>,
    /// Version of `progress`. A version newer than the operator's is left alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress_version: Option<i32>,
    /// State of the operator, for the operator alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "opaque")]
    pub progress: Option<serde_json::Map<String, serde_json::Value>>,
    /// Time at which the task started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Time>,
    /// Time at which the task ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<Time>,
}

/// The frozen inputs of a run.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SnapshotStatus {
    /// Name of the (first) Secret that holds them.
    pub name: String,
    /// SHA-256 over all of them, hex.
    pub sha256: String,
    /// SHA-256 over everything in the spec that decides the result, hex: while it stays, so does the run.
    #[serde(default)]
    pub spec_sha256: String,
}

/// Work of an agent, over all tries of a task.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentStatus {
    /// Turns.
    pub turns: i32,
    /// Calls by name of the tool.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tool_calls: BTreeMap<String, i32>,
    /// Commands in which a program was refused.
    pub denied: i32,
    /// Calls that failed otherwise.
    pub failed: i32,
}

/// The plan.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlanStatus {
    /// Purpose of the program, in the model's words.
    pub description: String,
    /// Method of the program, in the model's words.
    pub approach: String,
    /// Libraries it means to use.
    #[serde(default)]
    pub libraries: Vec<String>,
    /// The cases that the program must pass, one line each; the artifact `cases` has them whole.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cases: Vec<String>,
}

/// One attempt: a test run, and what followed from it.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AttemptStatus {
    /// Counted from 1.
    pub number: i32,
    /// Image (locally environment) that the tests ran in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// Packages added since the attempt before.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub packages_added: Vec<String>,
    /// Test counts of the generated suite.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tests: Option<TestCounts>,
    /// Result of the generated suite on the program with all bodies emptied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suite_strength: Option<SuiteStrength>,
    /// Test counts of the acceptance tests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acceptance_tests: Option<TestCounts>,
    /// The verdict in one sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// At most five failures, each field cut to 300 bytes; only the last diagnosed attempt has them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub diagnosis: Vec<FailureDiagnosis>,
    /// Counts of the plan's cases.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cases: Option<CaseCounts>,
    /// Counts of the user's examples.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub examples: Option<CaseCounts>,
    /// Time at which the attempt's tests started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Time>,
    /// Time at which the verdict stood.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<Time>,
}

/// Test counts as pytest reports them.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct TestCounts {
    /// Collected tests.
    pub total: i32,
    /// Tests that passed.
    pub passed: i32,
    /// Tests that failed, errors counted.
    pub failed: i32,
    /// Tests that were skipped or expected to fail.
    pub skipped: i32,
}

/// Counts of cases or examples.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct CaseCounts {
    /// Cases that were run.
    pub total: i32,
    /// Cases of which everything held.
    pub passed: i32,
}

/// Evidence for the program, and its strength.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct EvidenceStatus {
    /// `Independent` of the program: cases that decide or examples, unless they are vacuous, or acceptance tests that have the program run apart from them (by the
    /// fixture `program`). `Weak`: cases or examples that also hold for most near misses of the program. `SuiteOnly`: tests that share their process with the program, as the generated suite and acceptance tests that import it do. `None`.
    pub strength: EvidenceStrength,
    /// The plan's cases.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cases: Option<CaseEvidence>,
    /// The user's examples, as `passed/total`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub examples: Option<String>,
    /// The user's acceptance tests, as `passed/total`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acceptance_tests: Option<String>,
    /// The generated suite, as `passed/total`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suite: Option<String>,
    /// Result of the generated suite on the program with all bodies emptied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suite_strength: Option<SuiteStrength>,
    /// The rehearsal on the sample data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rehearsal: Option<RehearsalResult>,
    /// Near misses of the program (it with one mistake that is easily made), as those that cases or examples reject out of all that were run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub near_misses: Option<String>,
    /// Features that no case or example has, so that the other near misses pass as well.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cases_lack: Vec<String>,
    /// Constraints that outputs were not held to, since they speak of other data: the sentence and the outputs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub constraints_not_applied: Vec<String>,
}

/// Strength of the evidence.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema)]
#[schemars(description = "")]
pub enum EvidenceStrength {
    /// Something that the program has no hand in.
    Independent,
    /// Cases or examples that also hold for most near misses of the program.
    Weak,
    /// Tests that share their process with the program, and nothing else.
    SuiteOnly,
    /// Nothing but that it ran.
    #[default]
    None,
}

/// The plan's cases as evidence.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct CaseEvidence {
    /// Cases that were run.
    pub total: i32,
    /// Cases of which everything held.
    pub passed: i32,
    /// Of those, cases of the plan whose inputs and results were shown to whoever wrote the program, since it failed them before. Where at
    /// least three decide, one is held back for as long as one was never shown.
    #[serde(skip_serializing_if = "is_zero")]
    pub seen: i32,
    /// `Require`, or `Report` where they decide nothing.
    pub mode: CaseMode,
    /// Cases that were wrong and were corrected by a second answer.
    #[serde(skip_serializing_if = "is_zero")]
    pub corrected: i32,
    /// Cases that decide nothing, since two answers to them differ.
    #[serde(skip_serializing_if = "is_zero")]
    pub dropped: i32,
    /// Cases of the plan that cannot be run or compared.
    #[serde(skip_serializing_if = "is_zero")]
    pub unusable: i32,
    /// True where the deciding cases and examples, without the corrected ones, also hold for a program that ignores its inputs: then they
    /// make no evidence independent.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub vacuous: bool,
    /// Outputs of which no case states anything.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outputs_without_case: Vec<String>,
}

/// Result of the generated suite on the program with all bodies emptied, which does nothing.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(description = "")]
pub enum SuiteStrength {
    /// It fails, as it must.
    FailsWhenEmptied,
    /// It passes: it finds no fault of any program. It was asked for again once, and is used as it is.
    PassesWhenEmptied,
    /// It did not come to an end.
    NotShown,
    /// There is none: three replies could not be used, or all of its tests are skipped. Cases, examples or acceptance tests decide.
    NoSuite,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it this way")]
const fn is_zero(count: &i32) -> bool {
    *count == 0
}

/// Part that is to blame for a failing test.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(description = "")]
pub enum ErrorType {
    /// A bug in the program.
    Logic,
    /// A package that is missing.
    Environment,
    /// A bug in the test.
    TestError,
}

/// The diagnosis of one failing test.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FailureDiagnosis {
    /// The failing test (`test_solution.py::test_mean`), or `rehearsal`, or `acceptance`.
    pub test: String,
    /// The error as the test run reported it.
    pub error: String,
    /// Expectation of the test.
    pub expected: String,
    /// Value that the test saw.
    pub actual: String,
    /// Root cause of the failure, in the model's words.
    pub root_cause: String,
    /// Change that the model suggests.
    pub suggested_fix: String,
    /// `logic`, `environment` or `test_error`.
    pub error_type: ErrorType,
    /// The type that the diagnosis named first, when the same failure outlived its fix.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reclassified_from: Option<ErrorType>,
}

/// Result of the rehearsal on the sample data.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RehearsalStatus {
    /// `Passed`, `Failed` or `Skipped`.
    pub result: RehearsalResult,
    /// Finding of the rehearsal, or the input that has neither default nor example.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// Result of the rehearsal.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(description = "")]
pub enum RehearsalResult {
    /// Every declared output is there, has its type and satisfies the constraints on its columns.
    Passed,
    /// Something of it does not hold.
    Failed,
    /// An input has neither default, sample nor example.
    Skipped,
}

/// A sample as it was read.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SampleStatus {
    /// Name of the sample.
    pub name: String,
    /// SHA-256 of its bytes, hex.
    pub sha256: String,
    /// Size in bytes.
    pub bytes: i64,
}

/// Outcome of one constraint.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConstraintStatus {
    /// The sentence as it stands in the spec.
    pub text: String,
    /// Samples and outputs whose column it is checked on; empty when it is not checked.
    #[serde(default)]
    pub bound_to: Vec<String>,
    /// The check, in words (`body_mass_g between 2000 and 8000`), or why there is none.
    pub check: String,
    /// Outputs with a column of the name that it was found not to speak of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_applied_to: Vec<String>,
}

/// Name, digest and size of a stored result.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ArtifactRef {
    /// `solution`, `tests`, `cases`, `test-output`, `data-context`, `schemas`, `constraints`, `samples`, `conversation`,
    /// `packages`.
    pub name: String,
    /// SHA-256 of its bytes, hex.
    pub sha256: String,
    /// Size in bytes.
    pub bytes: i64,
}

/// Token totals.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct TokenStatus {
    /// Tokens sent. A lost call counts with what it may have cost at most, reply included.
    pub input: i64,
    /// Tokens received.
    pub output: i64,
    /// Both together.
    pub total: i64,
    /// Of `input`, those of lost calls: an estimate, where all else was counted.
    pub lost: i64,
}

/// Calls that one model answered.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ModelUse {
    /// Calls with a reply.
    pub calls: i32,
    /// Their tokens, which are part of the task's.
    pub tokens: TokenStatus,
}

impl TokenStatus {
    /// The totals of calls that sent `input` and received `output` tokens.
    #[must_use]
    pub const fn new(input: i64, output: i64) -> Self {
        Self {
            input,
            output,
            total: input.saturating_add(output),
            lost: 0,
        }
    }
}

fn opaque(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})
}
