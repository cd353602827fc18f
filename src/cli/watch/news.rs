//! News in a status, as lines. Pure.

use std::fmt::Write as _;

use crate::cli::command::CommandError;
use crate::cli::ended::{end, stage};
use crate::cli::paint::{Mark, PaintedLine};
use crate::cli::recorded::RecordedTask;
use crate::cli::render::{
    agent_moved, decided, detail, diagnosed, doing, name, named_paragraph, render, retried, step,
};
use crate::cli::summary::{
    WITH_A_HINT, agent_work, calls_by_tool, field, has_other_try, spent, tests, tests_or_none,
};
use crate::cli::text::{count, thousands};
use codegen_api::CodeGenTask;
use codegen_api::conditions::{is_stalled, reason};
use codegen_api::status::{AgentStatus, AttemptStatus, CodeGenTaskStatus};
use codegen_core::call::CallKind;
use codegen_core::stage::Stage;
use codegen_engine::event::Event;

/// The call that a stage makes.
const fn call(stage: Stage) -> Option<CallKind> {
    Some(match stage {
        Stage::ReadingConstraints => CallKind::Constraints,
        Stage::Planning => CallKind::Plan,
        Stage::Working => CallKind::Turn,
        Stage::GeneratingCode => CallKind::Code,
        Stage::GeneratingTests => CallKind::Tests,
        Stage::Diagnosing => CallKind::Diagnosis,
        Stage::RecheckingCases => CallKind::Cases,
        Stage::RecheckingConstraints => CallKind::Scope,
        Stage::ExtendingCases => CallKind::MoreCases,
        Stage::FixingEnvironment => CallKind::FixEnvironment,
        Stage::FixingCode => CallKind::FixCode,
        Stage::FixingTests => CallKind::FixTests,
        Stage::ReadingSamples
        | Stage::AwaitingImage
        | Stage::RunningTests
        | Stage::Passed
        | Stage::Publishing
        | Stage::Succeeded
        | Stage::Failed => return None,
    })
}

/// Names the present work of the task, for the moving line.
pub(super) fn label(status: &CodeGenTaskStatus) -> String {
    if let Some(reason) = held(status) {
        return format!("waiting: {reason}");
    }
    let Some(stage) = stage(status) else {
        return "waiting for the operator".to_owned();
    };
    match call(stage) {
        Some(kind) => format!("the model {}", doing(kind)),
        None => render(&Event::StageEntered {
            stage,
            attempt: status
                .attempt
                .and_then(|number| u32::try_from(number).ok())
                .unwrap_or_default(),
        })
        .running
        .unwrap_or_else(|| stage.to_string()),
    }
}

/// The reason of a task that could go on and does not.
fn held(status: &CodeGenTaskStatus) -> Option<&str> {
    let has_ended = stage(status).is_some_and(Stage::is_terminal);
    // A failed task is stalled too.
    let waits_for_person = !has_ended && is_stalled(&status.conditions);
    status.reason.as_deref().filter(|reason| {
        waits_for_person || [reason::INFRASTRUCTURE, reason::QUEUED, reason::SUSPENDED].contains(reason)
    })
}

/// The lines of what `now` says and `before` did not. Stages that came and went between two updates are shown by what they left.
pub(super) fn news(before: &CodeGenTaskStatus, now: &CodeGenTaskStatus) -> Vec<PaintedLine> {
    let is_other_run = before.run.is_some() && before.run != now.run;
    let nothing = CodeGenTaskStatus::default();
    let before = if is_other_run { &nothing } else { before };
    let mut lines = Vec::new();
    if is_other_run {
        lines.push(step(
            Mark::Warning,
            "a new run",
            "what decides the result has changed in the spec",
        ));
    }
    if before.image != now.image
        && let Some(image) = &now.image
    {
        let packages = count(now.packages.len() as u64, "package");
        lines.push(step(Mark::Done, "image", &format!("{packages}   {image}")));
    }
    lines.extend(turns(before, now));
    lines.extend(finished_call(before, now));
    lines.extend(attempts(before, now));
    let retries = now.retries.iter().filter(|retry| !before.retries.contains(retry));
    lines.extend(retries.flat_map(|retry| retried(retry).lines));
    let decisions = now
        .approvals
        .iter()
        .filter(|made| !before.approvals.contains(made));
    lines.extend(decisions.flat_map(|made| decided(made).lines));
    if let Some(reason) = held(now)
        && (before.reason.as_deref(), &before.message) != (Some(reason), &now.message)
    {
        let message = now.message.as_deref().unwrap_or_default();
        let mark = match reason {
            reason::QUEUED | reason::SUSPENDED => Mark::Detail,
            _ => Mark::Warning,
        };
        lines.extend(named_paragraph(mark, "waiting", message, usize::MAX).lines);
    }
    lines
}

/// Describes the turns of an agent since then.
fn turns(before: &CodeGenTaskStatus, now: &CodeGenTaskStatus) -> Option<PaintedLine> {
    let agent = now.agent.as_ref()?;
    let nothing = AgentStatus::default();
    let earlier = before.agent.as_ref().unwrap_or(&nothing);
    if agent == earlier {
        return None;
    }
    let more = |(tool, calls): (&String, &i32)| {
        let calls = calls - earlier.tool_calls.get(tool).unwrap_or(&0);
        (calls > 0).then(|| (tool.clone(), calls))
    };
    let mut text = calls_by_tool(&agent.tool_calls.iter().filter_map(more).collect());
    let troubles = [
        (agent.denied - earlier.denied, "denied"),
        (agent.failed - earlier.failed, "failed"),
    ];
    for (calls, what) in troubles.into_iter().filter(|(calls, _)| *calls > 0) {
        // Writing to a string cannot fail.
        let _ = write!(text, "; {calls} {what}");
    }
    let mark = if troubles.iter().any(|(calls, _)| *calls > 0) {
        Mark::Warning
    } else {
        Mark::Done
    };
    Some(step(mark, &format!("turn {}", agent.turns), &text))
}

/// The call of the stage that was left.
fn finished_call(before: &CodeGenTaskStatus, now: &CodeGenTaskStatus) -> Option<PaintedLine> {
    let left = stage(before).filter(|left| Some(*left) != stage(now))?;
    let kind = call(left)?;
    let tokens = |now: i64, before: i64| thousands(u64::try_from(now - before).unwrap_or_default());
    if now.model_calls == before.model_calls {
        return None;
    }
    let text = format!(
        "{:>6} + {:>5} tokens",
        tokens(now.tokens.input, before.tokens.input),
        tokens(now.tokens.output, before.tokens.output)
    );
    Some(step(Mark::Done, name(kind), &text))
}

/// Attempts with the verdict and the diagnosis that they have now and had not before.
fn attempts(before: &CodeGenTaskStatus, now: &CodeGenTaskStatus) -> Vec<PaintedLine> {
    let nothing = AttemptStatus::default();
    let mut lines = Vec::new();
    for attempt in &now.attempts {
        let mut earlier = before.attempts.iter();
        let earlier = earlier.find(|earlier| earlier.number == attempt.number);
        let earlier = earlier.unwrap_or(&nothing);
        if has_verdict(attempt) && !has_verdict(earlier) {
            lines.extend(attempt_lines(attempt, now));
        }
        if attempt.diagnosis != earlier.diagnosis {
            lines.extend(diagnosed(&attempt.diagnosis).lines);
        }
    }
    lines
}

const fn has_verdict(attempt: &AttemptStatus) -> bool {
    attempt.completed_at.is_some() || attempt.summary.is_some()
}

fn attempt_lines(attempt: &AttemptStatus, now: &CodeGenTaskStatus) -> Vec<PaintedLine> {
    let is_last = now
        .attempts
        .last()
        .is_some_and(|last| last.number == attempt.number);
    // An attempt that passes is the last one; an agent says afterwards that it is done.
    let is_of_agent = stage(now) == Some(Stage::Working) && now.last_error.is_none();
    let passed = is_last && (is_of_agent || stage(now).is_some_and(Stage::has_passed));
    let mark = if passed { Mark::Done } else { Mark::Failed };
    let mut lines = vec![step(
        mark,
        &format!("attempt {}", attempt.number),
        &tests_or_none(attempt),
    )];
    if !passed && let Some(summary) = &attempt.summary {
        lines.push(detail(summary));
    }
    if !attempt.packages_added.is_empty() {
        lines.push(detail(&format!(
            "packages added: {}",
            attempt.packages_added.join(", ")
        )));
    }
    lines
}

/// The story of a task by its record: what its status left, and each call of its agent.
pub(super) fn story(task: &RecordedTask) -> Result<Vec<PaintedLine>, CommandError> {
    let steps = task.steps()?;
    let status = CodeGenTaskStatus {
        retries: task.retries()?,
        // Its turns are counted where its calls cannot be read.
        agent: task.status.agent.clone().filter(|_| steps.is_empty()),
        ..task.status.clone()
    };
    let mut lines: Vec<PaintedLine> = steps
        .iter()
        .flat_map(|step| agent_moved(step.turn, step).lines)
        .collect();
    lines.extend(news(&CodeGenTaskStatus::default(), &status));
    Ok(lines)
}

/// The end of a task: what came of it, what it cost, what to do next.
pub(super) fn summary(task: &CodeGenTask) -> Vec<PaintedLine> {
    let none = CodeGenTaskStatus::default();
    let status = task.status.as_ref().unwrap_or(&none);
    let task_name = task.metadata.name.as_deref().unwrap_or_default();
    let reason = status.reason.as_deref().unwrap_or_default();
    let passed = end(task) == Some(Stage::Succeeded);
    let (mark, verb) = match end(task) {
        Some(Stage::Succeeded) => (Mark::Done, "succeeded".to_owned()),
        Some(Stage::Failed) => (Mark::Failed, "failed".to_owned()),
        _ => {
            let stage = status.stage.as_deref().unwrap_or_default();
            (Mark::Warning, format!("is in stage {stage}"))
        }
    };
    let mut lines = vec![PaintedLine::new(mark, format!("{task_name} {verb}: {reason}"))];
    if !passed {
        field(&mut lines, "why", status.message.as_deref().unwrap_or_default());
    }
    field(&mut lines, "attempts", &status.attempts.len().to_string());
    field(&mut lines, "tests", &tests(status.attempts.last()));
    field(&mut lines, "agent", &agent_work(status));
    field(&mut lines, "model", &spent(status));
    field(&mut lines, "image", status.image.as_deref().unwrap_or_default());
    field(
        &mut lines,
        "published",
        status.program_image.as_deref().unwrap_or_default(),
    );
    // A result on this machine has none.
    let Some(namespace) = &task.metadata.namespace else {
        return lines;
    };
    if status.result.is_some() {
        let command = format!("kubectl-codegen code {task_name} --namespace {namespace}");
        field(&mut lines, "program", &command);
    }
    if !passed && has_other_try(status) {
        let again = format!("kubectl-codegen retry {task_name} --namespace {namespace} and {WITH_A_HINT}");
        field(&mut lines, "next", &again);
    }
    lines
}

#[cfg(test)]
mod tests;
