//! What a task may still spend. Every stop names the limit, what was spent and the last failure.

use jiff::Timestamp;

use super::package_policy::denial;
use super::progress::Progress;
use super::stage::{Stage, Stop, StopReason};
use super::task::Task;

/// Output tokens that a call asks for when the budget leaves room: enough for a program after a model's reasoning, which counts
/// too, and no more than current models accept.
pub const MAX_OUTPUT_TOKENS: u64 = 16_384;
/// Fewer output tokens than this are not worth a call.
const MIN_OUTPUT_TOKENS: u64 = 256;

/// Whether the active time is spent.
#[must_use]
pub fn exhausted(task: &Task, progress: &Progress, now: Timestamp) -> Option<Stop> {
    let limit = task.limits.deadline_seconds;
    let spent = progress.active_seconds(now);
    (spent >= limit).then(|| {
        stop(
            progress,
            "limits.deadline",
            &format!("{spent:.0} s of {limit:.0} s of active time are spent"),
        )
    })
}

/// Whether one more model call is allowed at all.
pub fn allow_another_call(task: &Task, progress: &Progress) -> Result<(), Stop> {
    let (spent, limit) = (progress.spent.model_calls, task.limits.max_model_calls);
    if spent < limit {
        return Ok(());
    }
    Err(stop(
        progress,
        "limits.maxModelCalls",
        &format!("{spent} of {limit} model calls are made"),
    ))
}

/// The output limit of a call whose request is estimated at `request` tokens: what the rest of the budget allows.
pub fn allow_call(task: &Task, progress: &Progress, request: u64) -> Result<u64, Stop> {
    let (spent, limit) = (progress.spent.total_tokens(), task.limits.max_tokens);
    // The estimate of the request counts before it is sent: a call that could not be paid for is not made.
    let rest = limit.saturating_sub(spent).saturating_sub(request);
    if rest >= MIN_OUTPUT_TOKENS {
        return Ok(rest.min(MAX_OUTPUT_TOKENS));
    }
    let words = format!(
        "{spent} of {limit} tokens are spent and the next call needs about {}",
        request + MIN_OUTPUT_TOKENS
    );
    Err(stop(progress, "limits.maxTokens", &words))
}

/// Whether one more build is allowed.
pub fn allow_build(task: &Task, progress: &Progress) -> Result<(), Stop> {
    let (spent, limit) = (progress.spent.builds, task.limits.max_builds);
    if spent < limit {
        return Ok(());
    }
    Err(stop(
        progress,
        "limits.maxBuilds",
        &format!("{spent} of {limit} builds are made"),
    ))
}

/// Whether the limit or rule that stopped the task lets it go on.
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

fn stop(progress: &Progress, limit: &str, spent: &str) -> Stop {
    let last = progress.last_error.as_ref().map_or_else(
        || "Nothing had failed before.".to_owned(),
        |error| format!("Last failure: {error}"),
    );
    Stop {
        reason: StopReason::BudgetExceeded,
        message: format!("{limit}: {spent}. {last} Raise {limit} to go on; nothing is paid for twice."),
    }
}
