//! Remaining budgets of tasks and questions. Every stop names the limit, what was spent and the last failure.

use jiff::Timestamp;

use super::package_policy::denial;
use super::progress::{Progress, Spent};
use super::stage::{Stage, Stop, StopReason};
use super::task::Task;

/// Output tokens that a call asks for when the budget leaves room: enough for a program after a model's reasoning, which counts
/// too, and no more than current models accept.
pub const MAX_OUTPUT_TOKENS: u64 = 16_384;
/// Fewer output tokens than this are not worth a call.
const MIN_OUTPUT_TOKENS: u64 = 256;

/// A limit that leaves no room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exceeded {
    /// Its name in the spec.
    pub limit: &'static str,
    /// Text that says how much of it is spent.
    pub spent: String,
}

/// Checks that active time is left: both in seconds.
pub fn time_allows(spent: f64, limit: f64) -> Result<(), Exceeded> {
    if spent < limit {
        return Ok(());
    }
    Err(Exceeded {
        limit: "limits.deadline",
        spent: format!("{spent:.0} s of {limit:.0} s of active time are spent"),
    })
}

/// Checks that one more model call is allowed at all.
pub fn calls_allow(spent: &Spent, limit: u32) -> Result<(), Exceeded> {
    let spent = spent.model_calls;
    if spent < limit {
        return Ok(());
    }
    Err(Exceeded {
        limit: "limits.maxModelCalls",
        spent: format!("{spent} of {limit} model calls are made"),
    })
}

/// The output limit of a call whose request is estimated at `request` tokens: what the rest of `limit` allows, at most `most`.
pub fn tokens_allow(spent: &Spent, limit: u64, request: u64, most: u64) -> Result<u64, Exceeded> {
    let spent = spent.total_tokens();
    // The estimate of the request counts before it is sent: a call that could not be paid for is not made.
    let rest = limit.saturating_sub(spent).saturating_sub(request);
    if rest >= MIN_OUTPUT_TOKENS {
        return Ok(rest.min(most));
    }
    let needed = request + MIN_OUTPUT_TOKENS;
    Err(Exceeded {
        limit: "limits.maxTokens",
        spent: format!("{spent} of {limit} tokens are spent and the next call needs about {needed}"),
    })
}

/// Returns the stop of a task whose active time is spent; `None` where some is left.
#[must_use]
pub fn exhausted(task: &Task, progress: &Progress, now: Timestamp) -> Option<Stop> {
    let time = time_allows(progress.active_seconds(now), task.limits.deadline_seconds);
    time.err().map(|exceeded| stop(progress, &exceeded))
}

/// Checks that one more model call is allowed at all.
pub fn allow_another_call(task: &Task, progress: &Progress) -> Result<(), Stop> {
    let calls = calls_allow(&progress.spent, task.limits.max_model_calls);
    calls.map_err(|exceeded| stop(progress, &exceeded))
}

/// The output limit of a call whose request is estimated at `request` tokens: what the rest of the budget allows.
pub fn allow_call(task: &Task, progress: &Progress, request: u64) -> Result<u64, Stop> {
    let tokens = tokens_allow(
        &progress.spent,
        task.limits.max_tokens,
        request,
        MAX_OUTPUT_TOKENS,
    );
    tokens.map_err(|exceeded| stop(progress, &exceeded))
}

/// Checks that one more build is allowed.
pub fn allow_build(task: &Task, progress: &Progress) -> Result<(), Stop> {
    let (spent, limit) = (progress.spent.builds, task.limits.max_builds);
    if spent < limit {
        return Ok(());
    }
    let exceeded = Exceeded {
        limit: "limits.maxBuilds",
        spent: format!("{spent} of {limit} builds are made"),
    };
    Err(stop(progress, &exceeded))
}

/// Reports whether the limit or rule that stopped the task lets it go on.
#[must_use]
pub fn has_room_again(task: &Task, progress: &Progress, now: Timestamp) -> bool {
    let stopped = progress.stop.as_ref().map(|stop| stop.reason);
    // A task that stopped before a build needs one more as well as calls.
    let needs_build = progress.stopped_in == Some(Stage::AwaitingImage);
    let room = allow_another_call(task, progress).is_ok()
        && (!needs_build || allow_build(task, progress).is_ok())
        && allow_call(task, progress, 0).is_ok()
        && exhausted(task, progress, now).is_none();
    match stopped {
        Some(StopReason::IterationsExhausted) => {
            room && match &progress.agent {
                Some(agent) => agent.turns < task.limits.agent_max_turns,
                None => progress.attempts_of_try() < task.limits.max_iterations,
            }
        }
        Some(StopReason::BudgetExceeded) => room,
        Some(StopReason::PolicyDenied) => room && denial(task, progress).is_none(),
        // These do not end at a limit: more of anything would lead to the same end.
        Some(StopReason::NoProgress | StopReason::InvalidReply | StopReason::Rejected) | None => false,
    }
}

fn stop(progress: &Progress, Exceeded { limit, spent }: &Exceeded) -> Stop {
    let last = progress.last_error.as_ref().map_or_else(
        || "Nothing had failed before.".to_owned(),
        |error| format!("Last failure: {error}"),
    );
    Stop {
        reason: StopReason::BudgetExceeded,
        message: format!("{limit}: {spent}. {last} Raise {limit} to go on; nothing is paid for twice."),
    }
}
