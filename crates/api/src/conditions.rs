//! Condition types and reasons of a `CodeGenTask`, in the sense of kstatus.
//!
//! A condition's `status` is `True`, `False` or `Unknown`; its `reason` is one of the constants of [`reason`], its
//! `message` says what happened and what to do next.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

/// There is a program that passed everything asked of it. `False` with the reason while it is written and after failure.
pub const READY: &str = "Ready";
/// `True`: every tool of an agent of code mode has a signature.
pub const TOOLS_RESOLVED: &str = "ToolsResolved";
/// Condition that says how the task ended: `True` or `False` once it has, `Unknown` before.
pub const SUCCEEDED: &str = "Succeeded";
/// The task is being worked on; gone or `False` when it has ended or waits for a person.
pub const RECONCILING: &str = "Reconciling";
/// The task goes no further by itself: it failed, or a person must change something.
pub const STALLED: &str = "Stalled";
/// The image holds every package that program and tests need.
pub const IMAGE_READY: &str = "ImageReady";

/// The program is the image that `spec.publish` asks for; on a task that asks for one, once the program has passed. A task that has
/// succeeded stays so whatever a registry says of an image that is asked for later.
pub const PUBLISHED: &str = "Published";

/// The cluster was seen to keep sandboxes and builds from what they must not reach.
pub const ISOLATION_VERIFIED: &str = "IsolationVerified";

/// Reports whether an object goes no further by itself: its condition `Stalled` is `True`.
#[must_use]
pub fn is_stalled(conditions: &[Condition]) -> bool {
    conditions
        .iter()
        .any(|condition| condition.type_ == STALLED && condition.status == "True")
}

/// Reasons that a `CodeGenRun` has besides those of [`reason`] and the ways in which a program fails.
pub mod run_reason {
    /// `Succeeded=True`: the program ended well and every declared output is there.
    pub const PROGRAM_SUCCEEDED: &str = "ProgramSucceeded";
    /// `Succeeded=True`: the outputs are those of a run with the same key, and the program did not run.
    pub const OUTPUTS_ADOPTED: &str = "OutputsAdopted";
    /// `Reconciling=True`: the program is under way.
    pub const RUNNING: &str = "Running";
    /// `Reconciling=True`: what lies on claims is read.
    pub const READING_INPUTS: &str = "ReadingInputs";
    /// `Reconciling=True`: what the program wrote to a claim is read.
    pub const READING_OUTPUTS: &str = "ReadingOutputs";
    /// `Reconciling=True`: the task is not finished yet.
    pub const AWAITING_TASK: &str = "AwaitingTask";
    /// `Stalled=True`, `Succeeded=Unknown`: there is no such task.
    pub const TASK_NOT_FOUND: &str = "TaskNotFound";
    /// `Stalled=True`, `Succeeded=Unknown`: the task has failed.
    pub const TASK_NOT_SUCCEEDED: &str = "TaskNotSucceeded";
    /// `Reconciling=True`: the run whose output is an input is not finished yet.
    pub const AWAITING_RUN: &str = "AwaitingRun";
    /// `Stalled=True`, `Succeeded=Unknown`: the inputs are not those of the program; the message names them.
    pub const INVALID_INPUTS: &str = "InvalidInputs";
    /// `Stalled=True`, `Succeeded=Unknown`: the image that is named holds no program, or one that cannot be run; the message says why.
    pub const NO_PROGRAM: &str = "NoProgram";
    /// `Stalled=True`, `Succeeded=Unknown`: the registry does not have the image.
    pub const IMAGE_GONE: &str = "ImageGone";

    pub use super::reason::QUEUED;

    /// Every reason that runs alone have, besides those of a program that fails.
    pub const ALL: [&str; 12] = [
        PROGRAM_SUCCEEDED,
        OUTPUTS_ADOPTED,
        RUNNING,
        READING_INPUTS,
        READING_OUTPUTS,
        AWAITING_TASK,
        TASK_NOT_FOUND,
        TASK_NOT_SUCCEEDED,
        AWAITING_RUN,
        INVALID_INPUTS,
        NO_PROGRAM,
        IMAGE_GONE,
    ];
}

/// Reasons that agents and runs of code mode have besides those of [`reason`] and [`run_reason`].
pub mod code_mode_reason {
    /// `Succeeded=True`: a program gave an answer.
    pub const ANSWERED: &str = "Answered";
    /// `Reconciling=True`: the agent that is asked, or something that it refers to, is not there or not ready.
    pub const AWAITING_AGENT: &str = "AwaitingAgent";
    /// `Ready=True` of an agent: every tool has a signature.
    pub const TOOLS_RESOLVED: &str = "ToolsResolved";
    /// `ToolsResolved=False`: a tool waits for what it refers to; the message names it.
    pub const TOOLS_AWAITED: &str = "ToolsAwaited";
    /// `ToolsResolved=False`: a tool cannot be used as it is; the message says what to change.
    pub const TOOLS_REFUSED: &str = "ToolsRefused";
}

/// Reasons, one word each, equal to `status.reason`.
pub mod reason {
    /// `Succeeded=True`: every generated and every acceptance test passed, and the rehearsal did not fail.
    pub const TESTS_PASSED: &str = "TestsPassed";
    /// `Succeeded=True` under `testing.mode: Skip`: acceptance tests passed, and the rehearsal did not fail.
    pub const TESTS_SKIPPED: &str = "TestsSkipped";
    /// `Succeeded=True`, and nothing that is independent of the program speaks for it: no case, example or acceptance test.
    pub const UNVERIFIED: &str = "Unverified";
    /// `Succeeded=True`, and the cases that speak for the program also hold for most near misses of it.
    pub const WEAK: &str = "Weak";
    /// `Succeeded=False`: `limits.maxIterations` test runs did not pass.
    pub const ITERATIONS_EXHAUSTED: &str = "IterationsExhausted";
    /// `Succeeded=False`: the next step would exceed tokens, model calls, builds or active time; the message says which.
    pub const BUDGET_EXCEEDED: &str = "BudgetExceeded";
    /// `Succeeded=False`: the same tests fail with the same program, or the same diagnosis came back three times.
    pub const NO_PROGRESS: &str = "NoProgress";
    /// `Succeeded=False`: a rule forbids a package that the program needs; the message names both, and who can change the rule.
    pub const POLICY_DENIED: &str = "PolicyDenied";
    /// `Succeeded=False`: the model's reply to one call was unusable on every try.
    pub const INVALID_REPLY: &str = "InvalidReply";
    /// `Succeeded=False`: a person rejected what a gate showed.
    pub const REJECTED: &str = "Rejected";
    /// `Stalled=True`, `Succeeded=Unknown`: a person must approve of what `status.approval` shows.
    pub const AWAITING_APPROVAL: &str = "AwaitingApproval";
    /// `Stalled=True`, `Succeeded=Unknown`: a reference, name or value must be changed; the message says which.
    pub const CONFIGURATION: &str = "Configuration";
    /// `Reconciling=True`: something that is no fault of the program failed and is tried again.
    pub const INFRASTRUCTURE: &str = "Infrastructure";
    /// `Stalled=True`, `Succeeded=Unknown` (configuration): all that could be checked holds, and an output is too large to be.
    pub const OUTPUT_TOO_LARGE: &str = "OutputTooLarge";
    /// `Reconciling=True`: a stage is under way.
    pub const PROGRESSING: &str = "Progressing";
    /// It waits for room that others take; the message names the limit.
    pub const QUEUED: &str = "Queued";
    /// `spec.suspend` is set.
    pub const SUSPENDED: &str = "Suspended";

    /// The image is there.
    pub const IMAGE_FOUND: &str = "ImageFound";
    /// The image is not there yet.
    pub const IMAGE_AWAITED: &str = "ImageAwaited";
    /// A package of the image cannot be installed.
    pub const PACKAGE_UNAVAILABLE: &str = "PackageUnavailable";

    /// `Published=True` of a task.
    pub const PUSHED: &str = "Pushed";

    /// A Pod under the policy of sandboxes was kept from what it must not reach.
    pub const ISOLATED: &str = "Isolated";
    /// It was not shown yet whether the cluster isolates sandboxes.
    pub const ISOLATION_AWAITED: &str = "IsolationAwaited";
    /// `Stalled=True`: sandboxes or builds reach what their policies close, so nothing is run; the message says what.
    pub const ISOLATION_NOT_ENFORCED: &str = "IsolationNotEnforced";

    /// Every reason that a task as such has.
    pub const ALL: [&str; 18] = [
        TESTS_PASSED,
        TESTS_SKIPPED,
        UNVERIFIED,
        WEAK,
        ITERATIONS_EXHAUSTED,
        BUDGET_EXCEEDED,
        NO_PROGRESS,
        INVALID_REPLY,
        REJECTED,
        AWAITING_APPROVAL,
        POLICY_DENIED,
        CONFIGURATION,
        INFRASTRUCTURE,
        OUTPUT_TOO_LARGE,
        PROGRESSING,
        QUEUED,
        SUSPENDED,
        ISOLATION_NOT_ENFORCED,
    ];
}
