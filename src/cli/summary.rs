//! The end of a task for people: what came of it, what it cost, where it lies, what to do next.

use std::collections::BTreeMap;

use super::paint::{Mark, PaintedLine};
use super::render::{cases_text, counts_text, suite_text};
use super::text::{columns, count, cut, shell_word, thousands, wrap};
use crate::local::runner::TaskOutcome;
use codegen_api::status::{AttemptStatus, CodeGenTaskStatus, EvidenceStrength};
use codegen_api::values::{Input, ValueType};
use codegen_core::stage::StopReason;

/// Columns of a line beside what stands behind the name.
const MARGIN: usize = 16;
/// Most columns that the names of outputs have in common.
const LONGEST_NAME: usize = 30;

/// Advice for a task that has not ended.
const NEXT: &str = "run the same command: it goes on from here, and no recorded reply is paid for again";

/// Advice for a task that failed, after what tries it again.
pub(super) const WITH_A_HINT: &str =
    "--hint '...' goes on from here with a sentence more of what is wanted, --replan from a new plan";

/// The lines of the summary.
#[must_use]
pub fn summary(ended: &TaskOutcome) -> Vec<PaintedLine> {
    let none = CodeGenTaskStatus::default();
    let status = ended.task.status.as_ref().unwrap_or(&none);
    let mut lines = vec![PaintedLine::new(Mark::Heading, ""), headline(ended, status)];
    if !ended.succeeded() && ended.stopped.is_none() {
        let message = status.message.as_deref().unwrap_or_default();
        field(&mut lines, "why", message);
        let last = status.last_error.as_deref().unwrap_or_default();
        if !message.contains(last) {
            field(&mut lines, "last error", last);
        }
    }
    for (name, mismatch) in &ended.failed_examples {
        field(
            &mut lines,
            "example",
            &format!("{name}: {mismatch}; correct the example if it is wrong"),
        );
    }
    let last = status.attempts.last();
    field(&mut lines, "attempts", &status.attempts.len().to_string());
    field(&mut lines, "tests", &tests(last));
    field(&mut lines, "agent", &agent_work(status));
    field(&mut lines, "model", &spent(status));
    places(&mut lines, ended, status);
    for notice in &ended.notices {
        field(&mut lines, "note", notice);
    }
    let folder = ended.folder.display();
    field(&mut lines, "details", &format!("{folder}/status.yaml"));
    if ended.succeeded() {
        // Whole, to be copied.
        let next = format!("{:<10} {}", "next", another_run(ended));
        lines.push(PaintedLine::new(Mark::Detail, next));
    } else if ended.failed() && has_other_try(status) {
        let again = format!("the same command with --retry and {WITH_A_HINT}");
        field(&mut lines, "next", &again);
    } else if !ended.failed() {
        let first = if ended.stopped.is_none() {
            "fix it and "
        } else {
            ""
        };
        field(&mut lines, "next", &format!("{first}{NEXT}"));
    }
    if let Some(evidence) = &status.evidence {
        for constraint in &evidence.constraints_not_applied {
            field(&mut lines, "unapplied", constraint);
        }
        if evidence.strength == EvidenceStrength::Weak {
            let lacking = evidence.cases_lack.join("; ");
            field(&mut lines, "weak", &format!("no case or example has {lacking}"));
        }
    }
    lines
}

/// Reports whether another try can help a task that failed. Where a limit ended it, its message says what goes on.
pub(super) fn has_other_try(status: &CodeGenTaskStatus) -> bool {
    status.reason.as_deref() != Some(StopReason::BudgetExceeded.as_str())
}

/// The name of the task and what came of it.
fn headline(ended: &TaskOutcome, status: &CodeGenTaskStatus) -> PaintedLine {
    let name = ended.task.metadata.name.as_deref().unwrap_or_default();
    let stage = status.stage.as_deref().unwrap_or_default();
    let reason = status
        .reason
        .as_deref()
        .map(|reason| format!(": {reason}"))
        .unwrap_or_default();
    let (mark, words) = if ended.succeeded() {
        (Mark::Done, format!("succeeded{reason}"))
    } else if ended.failed() {
        (Mark::Failed, format!("failed{reason}"))
    } else if ended.stopped.is_some() {
        (Mark::Warning, format!("stopped in stage {stage}"))
    } else {
        (Mark::Warning, format!("waits in stage {stage}{reason}"))
    };
    PaintedLine::new(mark, format!("{name} {words}"))
}

/// Lists the places of program, suite and outputs, and the outputs' values.
fn places(lines: &mut Vec<PaintedLine>, ended: &TaskOutcome, status: &CodeGenTaskStatus) {
    let folder = ended.folder.display();
    for (label, file, artifact) in [
        ("program", "solution.py", "solution"),
        ("suite", "test_solution.py", "tests"),
    ] {
        if status.artifacts.iter().any(|present| present.name == artifact) {
            field(lines, label, &format!("{folder}/{file}"));
        }
    }
    if ended.outputs.is_empty() {
        return;
    }
    field(lines, "outputs", &format!("{folder}/outputs"));
    let lengths = ended.outputs.iter().map(|(name, _)| name.chars().count());
    let width = lengths.max().unwrap_or(0).min(LONGEST_NAME);
    for (name, value) in &ended.outputs {
        let value = cut(value, (columns() - MARGIN).saturating_sub(width + 2));
        let text = format!("{name:<width$}  {value}");
        lines.push(PaintedLine::new(Mark::Detail, format!("{:<10} {text}", "")));
        for row in ended.first_rows.get(name).into_iter().flatten() {
            let row = cut(row, columns() - MARGIN - 2);
            lines.push(PaintedLine::new(Mark::Detail, format!("{:<12} {row}", "")));
        }
    }
}

/// The command that runs the program on something else.
fn another_run(ended: &TaskOutcome) -> String {
    let spec = &ended.task.spec;
    let is_file = |input: &&Input| matches!(input.type_, ValueType::File | ValueType::Dir);
    let files = spec.samples.iter().map(|sample| &sample.name);
    let mut files = files.chain(spec.inputs.iter().filter(is_file).map(|input| &input.name));
    let input = match (files.next(), spec.inputs.first()) {
        (Some(file), _) => format!(" --input {file}=@FILE"),
        (None, Some(value)) => format!(" --input {}=VALUE", value.name),
        (None, None) => String::new(),
    };
    format!("kubectl-codegen local run {}{input}", shell_word(&ended.folder))
}

/// Adds a named text, wrapped; nothing where there is none.
pub(super) fn field(lines: &mut Vec<PaintedLine>, name: &str, text: &str) {
    if text.is_empty() {
        return;
    }
    for (index, part) in wrap(text, columns() - MARGIN).into_iter().enumerate() {
        let name = if index == 0 { name } else { "" };
        lines.push(PaintedLine::new(Mark::Detail, format!("{name:<10} {part}")));
    }
}

/// Says what an agent did; nothing where none writes the program.
pub(super) fn agent_work(status: &CodeGenTaskStatus) -> String {
    let Some(agent) = &status.agent else {
        return String::new();
    };
    let turns = count(u64::try_from(agent.turns).unwrap_or_default(), "turn");
    let calls = calls_by_tool(&agent.tool_calls);
    format!(
        "{turns}: {calls}; {} denied, {} failed",
        agent.denied, agent.failed
    )
}

/// `5 Bash, 2 Edit`.
pub(super) fn calls_by_tool(calls: &BTreeMap<String, i32>) -> String {
    let calls: Vec<String> = calls
        .iter()
        .map(|(tool, calls)| format!("{calls} {tool}"))
        .collect();
    if calls.is_empty() {
        return "no call".to_owned();
    }
    calls.join(", ")
}

/// Test counts of an attempt.
pub(super) fn tests(last: Option<&AttemptStatus>) -> String {
    let Some(last) = last else { return String::new() };
    let parts = [(last.tests, "test"), (last.acceptance_tests, "acceptance test")];
    let texts = parts
        .iter()
        .filter_map(|(counts, noun)| Some(counts_text((*counts)?, noun)));
    let mut texts: Vec<String> = texts.collect();
    texts.extend(last.cases.map(|counts| cases_text(counts, "cases")));
    texts.extend(last.examples.map(|counts| cases_text(counts, "examples")));
    texts.extend(last.suite_strength.and_then(suite_text).map(str::to_owned));
    texts.join(", ")
}

/// Test counts of an attempt, or that there are none.
pub(super) fn tests_or_none(attempt: &AttemptStatus) -> String {
    match tests(Some(attempt)) {
        counts if counts.is_empty() => "no tests".to_owned(),
        counts => counts,
    }
}

/// Calls and tokens.
pub(super) fn spent(status: &CodeGenTaskStatus) -> String {
    let number = |number: i64| u64::try_from(number).unwrap_or_default();
    let text = format!(
        "{}, {} + {} tokens",
        count(number(status.model_calls.into()), "call"),
        thousands(number(status.tokens.input)),
        thousands(number(status.tokens.output)),
    );
    if status.lost_calls == 0 {
        return text;
    }
    let calls = count(number(status.lost_calls.into()), "call");
    match number(status.tokens.lost) {
        // A status of an earlier version does not say.
        0 => format!("{text}; {calls} lost, which may be billed"),
        tokens => format!(
            "{text}; {calls} lost, which may be billed: up to {} of the tokens are an estimate of that",
            thousands(tokens)
        ),
    }
}

#[cfg(test)]
mod tests;
