//! The status that users see, computed from the progress. One place, one struct literal.

mod conditions;
mod hold;
mod image;
mod state;

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

use super::agent::AgentProgress;
use super::approval;
use super::evidence::evidence;
use super::package_policy;
use super::progress::{OtherModel, Progress};
use super::reuse;
use super::stage::Stage;
use super::task::Task;
use codegen_api::CodeGenTaskStatus;
use codegen_api::conditions::{IMAGE_READY, ISOLATION_VERIFIED, PUBLISHED, reason};
use codegen_api::status::{AgentStatus, ArtifactRef, ModelUse, TokenStatus};

use self::conditions::ConditionStamp;
pub use self::conditions::{IsolationShown, ReadyState, conditions};
pub use self::hold::{Hold, Until};
pub use self::image::ImageShown;
use self::image::published;
use self::state::TaskState;

/// Stage of a task that has not started.
const PENDING: &str = "Pending";

/// Facts that the status holds about the object besides the state of its task.
#[derive(Clone, Debug, Default)]
pub struct StatusContext<'a> {
    /// Artifacts that were archived.
    pub artifacts: Vec<ArtifactRef>,
    /// Generation of the spec that is acted on.
    pub generation: Option<i64>,
    /// The conditions as they stood: a transition time moves only when its condition's status changes.
    pub before: &'a [Condition],
    /// Hold of the task, where there is one.
    pub hold: Option<&'a Hold>,
    /// Isolation that was shown; nothing locally, where every execution checks it itself.
    pub isolation: Option<IsolationShown>,
}

/// A status with what holds its task. A task that has ended holds for another run of it, which has not started.
#[must_use]
pub fn held(
    before: CodeGenTaskStatus,
    generation: Option<i64>,
    hold: &Hold,
    now: Timestamp,
) -> CodeGenTaskStatus {
    let state = TaskState::held(hold);
    let ends = [Stage::Succeeded, Stage::Failed].map(Stage::as_str);
    // A task that has ended holds for a run of its own that has not begun, so its old end must not be shown for that.
    let mut conditions = state.conditions(generation, &before.conditions, now);
    let stamp = ConditionStamp {
        generation,
        before: &before.conditions,
        now,
    };
    // A condition that is not about what holds the task stays as it was shown last.
    let old = |type_: &str| before.conditions.iter().find(|old| old.type_ == type_).cloned();
    conditions.extend(old(IMAGE_READY));
    let refuted = (hold.reason == reason::ISOLATION_NOT_ENFORCED)
        .then(|| stamp.isolation(&IsolationShown::Refuted(hold.message.clone())));
    conditions.extend(refuted.or_else(|| old(ISOLATION_VERIFIED)));
    CodeGenTaskStatus {
        observed_generation: generation,
        reason: Some(state.reason.to_owned()),
        message: Some(state.message.clone()),
        conditions,
        stage: before
            .stage
            .filter(|stage| !ends.contains(&stage.as_str()))
            .or_else(|| Some(PENDING.to_owned())),
        ..before
    }
}

/// The status of a task.
#[must_use]
pub fn status(
    task: &Task,
    progress: &Progress,
    around: StatusContext<'_>,
    now: Timestamp,
) -> CodeGenTaskStatus {
    let StatusContext {
        artifacts,
        generation,
        before,
        hold,
        isolation,
    } = around;
    // What has ended waits for nothing.
    let hold = hold.filter(|_| !progress.stage.is_terminal());
    let mut state = hold.map_or_else(|| TaskState::of(task, progress), TaskState::held);
    // Only there something is shown of it.
    if isolation.is_some() {
        state = state.in_cluster(progress);
    }
    let stamp = ConditionStamp {
        generation,
        before,
        now,
    };
    let conditions = all_conditions(task, progress, &state, &stamp, isolation);
    let spent = &progress.spent;
    let published_as = progress.published.as_ref();
    CodeGenTaskStatus {
        observed_generation: generation,
        stage: Some(progress.stage.as_str().to_owned()),
        reason: Some(state.reason.to_owned()),
        message: Some(state.message.clone()),
        conditions,
        language: Some(task.language),
        plan: progress.plan.clone(),
        // `0` before the first attempt would read as one that ran.
        attempt: (progress.attempt > 0).then(|| int(progress.attempt)),
        attempts: progress.attempts.clone(),
        tests: tests(progress),
        image: progress.build.built.as_ref().map(|built| built.image.clone()),
        packages: packages(task, progress),
        system_packages: with_base(task, &progress.build.wanted.apt, &task.image.base_system_packages),
        package_warnings: package_warnings(task, progress),
        evidence: evidence(task, progress),
        rehearsal: progress.rehearsal.clone(),
        exit_code: progress.exit_code,
        last_error: progress.last_error.clone(),
        samples: progress.samples.clone(),
        constraints: progress.constraints.clone(),
        artifacts,
        tokens: TokenStatus {
            lost: long(spent.lost_tokens),
            ..TokenStatus::new(long(spent.tokens.input), long(spent.tokens.output))
        },
        model: Some(task.model.name.clone()),
        other_models: other_models(progress),
        model_calls: int(spent.model_calls),
        lost_calls: int(spent.lost_calls),
        builds: int(spent.builds),
        started_at: Some(Time(progress.started_at)),
        completed_at: progress.completed_at.map(Time),
        run: Some(progress.run.clone()),
        reuse_key: reuse::key_of(task, progress),
        adopted_from: progress.adopted_from.clone(),
        approval: approval::awaited(task, progress),
        approvals: progress.approvals.clone(),
        agent: progress.agent.as_ref().map(agent),
        retries: progress.retries.clone(),
        retry_refused: progress.retry_refused.clone(),
        program_image: published_as.map(|published| published.image.clone()),
        program_tag: published_as.map(|published| published.tag.clone()),
        ..CodeGenTaskStatus::default()
    }
}

fn agent(agent: &AgentProgress) -> AgentStatus {
    let counts = &agent.counts;
    let calls = counts
        .by_tool
        .iter()
        .map(|(tool, calls)| (tool.clone(), int(*calls)));
    AgentStatus {
        turns: int(counts.turns),
        tool_calls: calls.collect(),
        denied: int(counts.denied),
        failed: int(counts.failed),
    }
}

/// Returns the conditions of the task, of its image, of its isolation where a cluster shows it, and of its publication where it has one.
fn all_conditions(
    task: &Task,
    progress: &Progress,
    state: &TaskState,
    stamp: &ConditionStamp<'_>,
    isolation: Option<IsolationShown>,
) -> Vec<Condition> {
    let mut conditions = state.conditions(stamp.generation, stamp.before, stamp.now);
    conditions.push(stamp.image(&progress.build));
    conditions.extend(isolation.map(|shown| stamp.isolation(&shown)));
    conditions.extend(published(task, progress, state).map(|shown| stamp.published(&shown)));
    conditions
}

fn other_models(progress: &Progress) -> BTreeMap<String, ModelUse> {
    let shown = |(name, used): (&String, &OtherModel)| {
        let tokens = TokenStatus::new(long(used.tokens.input), long(used.tokens.output));
        let calls = int(used.calls);
        (name.clone(), ModelUse { calls, tokens })
    };
    progress.other_models.iter().map(shown).collect()
}

/// Counts the tests of the last attempt that passed, and all of them (`3/4`).
fn tests(progress: &Progress) -> Option<String> {
    let counts = progress.attempts.last()?.tests?;
    Some(format!("{}/{}", counts.passed, counts.total))
}

/// Those of the image with what they brought along; before there is one, those that are wanted.
fn packages(task: &Task, progress: &Progress) -> Vec<String> {
    let built = progress.build.built.as_ref();
    let resolved = built
        .map(|built| &built.resolved)
        .filter(|names| !names.is_empty());
    resolved
        .cloned()
        .unwrap_or_else(|| with_base(task, &progress.build.wanted.pip, &task.image.base_packages))
}

/// Returns what is asked for, with what is always installed. In an image that is given nothing is.
fn with_base(task: &Task, asked: &[String], base: &[String]) -> Vec<String> {
    let installed = if task.image.reference.is_none() { base } else { &[] };
    let all: BTreeSet<&String> = asked.iter().chain(installed).collect();
    all.into_iter().cloned().collect()
}

fn package_warnings(task: &Task, progress: &Progress) -> Vec<String> {
    let built = progress.build.built.as_ref();
    let unlisted = built.and_then(|built| package_policy::unlisted(task, &built.image, &built.resolved));
    let doubts = package_policy::doubts(&progress.build.wanted);
    doubts.into_iter().chain(unlisted).collect()
}

/// The status of a task that has succeeded, for a spec from which follows no more than what is `shown` of its image.
#[must_use]
pub fn seen(
    before: CodeGenTaskStatus,
    generation: Option<i64>,
    shown: Option<&ImageShown>,
    now: Timestamp,
) -> CodeGenTaskStatus {
    let stamp = ConditionStamp {
        generation,
        before: &before.conditions,
        now,
    };
    let shown = shown.map(|shown| stamp.published(shown));
    let others = before.conditions.iter().filter(|old| old.type_ != PUBLISHED);
    let mut conditions: Vec<Condition> = others
        .map(|old| Condition {
            observed_generation: generation,
            ..old.clone()
        })
        .collect();
    conditions.extend(shown);
    CodeGenTaskStatus {
        observed_generation: generation,
        conditions,
        ..before
    }
}

fn int(count: u32) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

fn long(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
