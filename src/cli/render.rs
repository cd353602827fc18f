//! Events to lines. Pure: the same events give the same text.

use std::fmt::Display;

use super::paint::{Mark, PaintedLine};
use super::text::{columns, count, cut, seconds, single_line, thousands, wrap};
use codegen_api::approval::{ApprovalDecision, ApprovalStatus, AwaitedApproval};
use codegen_api::retry::RetryStatus;
use codegen_api::status::{
    CaseCounts, ErrorType, FailureDiagnosis, RehearsalResult, SuiteStrength, TestCounts,
};
use codegen_core::agent::{AgentStep, CallResult};
use codegen_core::call::{CallKind, Usage};
use codegen_core::stage::Stage;
use codegen_engine::event::Event;

/// Columns of the step's name.
const NAME_COLUMNS: usize = 13;
/// Columns of a line beside what stands behind the mark.
const MARGIN: usize = 4;
/// Most failing tests that are listed; the rest is counted.
const MAX_FAILING: usize = 5;
/// Most lines of a failing test.
const MAX_FAILING_LINES: usize = 3;
/// Most lines of a root cause.
const MAX_CAUSE_LINES: usize = 3;

/// Display of an event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rendered {
    /// Finished lines.
    pub lines: Vec<PaintedLine>,
    /// Work that runs now, for the moving line.
    pub running: Option<String>,
}

impl Rendered {
    /// The same lines, and what runs after them.
    pub(super) fn while_running(self, label: impl Into<String>) -> Self {
        Self {
            running: Some(label.into()),
            ..self
        }
    }

    pub(super) fn running(label: impl Into<String>) -> Self {
        Self {
            lines: Vec::new(),
            running: Some(label.into()),
        }
    }

    pub(super) fn line(mark: Mark, name: &str, text: &str) -> Self {
        if text.chars().count() > text_columns() {
            return named_paragraph(mark, name, text, MAX_CAUSE_LINES);
        }
        Self {
            lines: vec![step(mark, name, text)],
            running: None,
        }
    }
}

/// The lines of one event.
#[must_use]
pub fn render(event: &Event) -> Rendered {
    match event {
        Event::Resumed { stage, replies } => resumed(*stage, *replies),
        Event::StageEntered { stage, attempt } => stage_entered(*stage, *attempt),
        Event::CallStarted { kind, sequence } => {
            Rendered::running(format!("call {sequence}: the model {}", doing(*kind)))
        }
        Event::CallFinished {
            kind,
            usage,
            seconds,
            from_ledger,
            ..
        } => call_finished(*kind, *usage, (!from_ledger).then_some(*seconds)),
        Event::RequestChanged { kind, sequence } => Rendered::line(
            Mark::Warning,
            name(*kind),
            &format!(
                "the request of call {sequence} has changed since its reply was recorded; the reply is used"
            ),
        ),
        Event::ReplyRejected { kind, reason, said } => {
            let said = said
                .as_ref()
                .map_or_else(String::new, |said| format!(" It said: {said}"));
            warned(name(*kind), &format!("cannot be used: {reason}{said}"))
        }
        Event::DataShown { text } => Rendered::line(Mark::Detail, "sends", text),
        Event::BuildStarted { packages } => Rendered::running(cut(
            &format!("packages: {}", packages.join(", ")),
            columns() - MARGIN - 10,
        )),
        Event::BuildFinished {
            python,
            packages,
            seconds,
            cached,
        } => build_finished(python, *packages, *seconds, *cached),
        Event::PackageDoubtful { message } => warned("packages", message),
        Event::ImageReplaced { message } => warned("environment", message),
        Event::BuildFailed { message } => {
            named_paragraph(Mark::Failed, "environment", message, MAX_CAUSE_LINES)
        }
        Event::TestsFinished { .. } => tests_finished(event),
        Event::AgentMoved { turn, step } => agent_moved(*turn, step),
        Event::Diagnosed { failures, .. } => diagnosed(failures),
        Event::FixApplied { names, .. } => Rendered {
            lines: vec![detail(&format!("changed {}", names.join(", ")))],
            running: None,
        },
        Event::IterationFinished {
            attempt,
            passed,
            error_types,
            packages_added,
        } => iteration_finished(*attempt, *passed, error_types, packages_added),
        Event::ApprovalAwaited(asked) => approval_awaited(asked),
        Event::Decided(decision) => decided(decision),
        Event::Retried { retry } => retried(retry),
        Event::RetryRefused { why } => warned("no retry", why),
        Event::Published { image, .. } => Rendered::line(Mark::Done, "published", image),
        Event::Waiting { message, .. } => named_paragraph(Mark::Warning, "waiting", message, usize::MAX),
    }
}

/// One line for each call of an agent.
pub(super) fn agent_moved(turn: u32, step: &AgentStep) -> Rendered {
    let name = format!("turn {turn}");
    let line = |result: &CallResult| {
        let mark = if result.is_error {
            Mark::Warning
        } else {
            Mark::Done
        };
        let text = cut(&single_line(&result.headline()), text_columns());
        self::step(mark, &name, &text)
    };
    Rendered {
        lines: step.calls().map(line).collect(),
        running: None,
    }
}

/// Renders a warning, which does not stop the task.
fn warned(name: &str, text: &str) -> Rendered {
    named_paragraph(Mark::Warning, name, text, MAX_CAUSE_LINES)
}

/// A reply, with how long it took; a recorded one took no time.
fn call_finished(kind: CallKind, usage: Usage, took: Option<f64>) -> Rendered {
    let tokens = format!(
        "{:>6} + {:>5} tokens",
        thousands(usage.input),
        thousands(usage.output)
    );
    let time = took.map_or_else(|| "recorded".to_owned(), seconds);
    Rendered::line(Mark::Done, name(kind), &format!("{tokens}   {time}"))
}

/// Another try begins.
pub(super) fn retried(retry: &RetryStatus) -> Rendered {
    let hint = retry.hint.as_ref();
    let hint = hint.map_or_else(String::new, |hint| format!("; the hint: {hint}"));
    let text = format!("after {}{}{hint}", retry.after, retry.with_a_plan());
    named_paragraph(Mark::Heading, "retry", &text, MAX_CAUSE_LINES)
}

/// Shows what a person is asked to approve of.
pub(super) fn approval_awaited<G: Display>(asked: &AwaitedApproval<G>) -> Rendered {
    let gate = format!("gate {}", asked.gate);
    let mut lines = vec![step(Mark::Warning, &gate, "waits until somebody has approved")];
    for text in &asked.what {
        lines.extend(paragraph(text, usize::MAX).iter().map(|text| detail(text)));
    }
    lines.push(detail(&format!("hash: {}", asked.hash)));
    Rendered { lines, running: None }
}

/// Shows what a person has decided.
pub(super) fn decided<G: Display>(decision: &ApprovalStatus<G>) -> Rendered {
    let gate = format!("gate {}", decision.gate);
    let (mark, verb) = match decision.decision {
        ApprovalDecision::Approve => (Mark::Done, "approved"),
        ApprovalDecision::Reject => (Mark::Failed, "rejected"),
    };
    Rendered::line(mark, &gate, &format!("{verb} by {}", decision.decided_by))
}

fn resumed(stage: Stage, replies: usize) -> Rendered {
    let text = format!("in stage {stage}; recorded replies that are not asked for again: {replies}");
    Rendered::line(Mark::Detail, "goes on", &text)
}

fn build_finished(python: &str, packages: usize, time: f64, cached: bool) -> Rendered {
    let time = if cached {
        "was there".to_owned()
    } else {
        seconds(time)
    };
    let packages = count(packages as u64, "package");
    Rendered::line(
        Mark::Done,
        "environment",
        &format!("Python {python}, {packages}   {time}"),
    )
}

/// Renders another wait for the same.
#[must_use]
pub fn same_again() -> PaintedLine {
    step(Mark::Warning, "waiting", "the same again")
}

fn stage_entered(stage: Stage, attempt: u32) -> Rendered {
    match stage {
        Stage::ReadingSamples => Rendered::running("reading the samples"),
        Stage::AwaitingImage => Rendered::running("waiting for the packages"),
        Stage::RunningTests => Rendered::running(format!("attempt {attempt}: running tests and rehearsal")),
        Stage::Publishing => Rendered::running("publishing the program as an image"),
        // A call or the summary follows at once and says more.
        Stage::ReadingConstraints
        | Stage::Planning
        | Stage::Working
        | Stage::GeneratingCode
        | Stage::GeneratingTests
        | Stage::Diagnosing
        | Stage::RecheckingCases
        | Stage::RecheckingConstraints
        | Stage::ExtendingCases
        | Stage::FixingEnvironment
        | Stage::FixingCode
        | Stage::FixingTests
        | Stage::Passed
        | Stage::Succeeded
        | Stage::Failed => Rendered::default(),
    }
}

fn tests_finished(event: &Event) -> Rendered {
    let Event::TestsFinished {
        attempt,
        tests,
        cases,
        examples,
        acceptance,
        failing,
        rehearsal,
    } = event
    else {
        return Rendered::default();
    };
    let mut parts = vec![tests.map_or_else(
        || "no generated tests".to_owned(),
        |counts| counts_text(counts, "test"),
    )];
    parts.extend(cases.map(|counts| cases_text(counts, "cases")));
    parts.extend(examples.map(|counts| cases_text(counts, "examples")));
    parts.extend(acceptance.map(|counts| counts_text(counts, "acceptance test")));
    parts.push(
        match rehearsal.result {
            RehearsalResult::Passed => "rehearsal passed",
            RehearsalResult::Failed => "rehearsal failed",
            RehearsalResult::Skipped => "rehearsal skipped",
        }
        .to_owned(),
    );
    let mark = if failing.is_empty() {
        Mark::Done
    } else {
        Mark::Failed
    };
    let mut lines = Rendered::line(mark, &format!("attempt {attempt}"), &parts.join(", ")).lines;
    for test in failing.iter().take(MAX_FAILING) {
        let test = test.strip_prefix("test_solution.py::").unwrap_or(test);
        lines.extend(paragraph(test, MAX_FAILING_LINES).iter().map(|text| detail(text)));
    }
    if failing.len() > MAX_FAILING {
        lines.push(detail(&format!("and {} more", failing.len() - MAX_FAILING)));
    }
    if let (RehearsalResult::Skipped, Some(message)) = (rehearsal.result, &rehearsal.message) {
        lines.push(detail(message));
    }
    Rendered { lines, running: None }
}

/// `7 of 8 tests passed`.
#[must_use]
pub fn counts_text(counts: TestCounts, noun: &str) -> String {
    let total = u64::try_from(counts.total).unwrap_or_default();
    let text = format!("{} of {} passed", counts.passed, count(total, noun));
    match counts.skipped {
        0 => text,
        skipped => format!("{text} ({skipped} skipped)"),
    }
}

/// `cases 5/6`.
#[must_use]
pub fn cases_text(counts: CaseCounts, noun: &str) -> String {
    format!("{noun} {}/{}", counts.passed, counts.total)
}

/// Words for a suite that finds no fault; nothing of one that does.
#[must_use]
pub const fn suite_text(strength: SuiteStrength) -> Option<&'static str> {
    match strength {
        SuiteStrength::FailsWhenEmptied => None,
        SuiteStrength::PassesWhenEmptied => Some("the tests also pass without the program's bodies"),
        SuiteStrength::NotShown => Some("not shown that the tests find faults"),
        SuiteStrength::NoSuite => Some("no usable test"),
    }
}

/// Shows what is wrong by a diagnosis.
pub(super) fn diagnosed(failures: &[FailureDiagnosis]) -> Rendered {
    let mut lines = Vec::new();
    for failure in failures {
        let test = failure.test.rsplit("::").next().unwrap_or(&failure.test);
        let mut blame = error_type(failure.error_type).to_owned();
        if let Some(before) = failure.reclassified_from {
            blame = format!("{blame}, no longer {}", error_type(before));
        }
        lines.push(detail(&format!("{test}: {blame}")));
        lines.extend(
            paragraph(&failure.root_cause, MAX_CAUSE_LINES)
                .iter()
                .map(|text| detail(text)),
        );
    }
    Rendered { lines, running: None }
}

fn iteration_finished(
    attempt: u32,
    passed: bool,
    error_types: &[String],
    packages_added: &[String],
) -> Rendered {
    let mut text = if passed { "passed" } else { "failed" }.to_owned();
    if !error_types.is_empty() {
        text = format!("{text}; error types: {}", error_types.join(", "));
    }
    if !packages_added.is_empty() {
        text = format!("{text}; packages added: {}", packages_added.join(", "));
    }
    Rendered::line(Mark::Detail, &format!("iteration {attempt}"), &text)
}

/// Columns of what stands behind the name of a step.
fn text_columns() -> usize {
    columns() - MARGIN - NAME_COLUMNS - 1
}

/// A paragraph whose first line carries the step's name.
pub(super) fn named_paragraph(mark: Mark, name: &str, text: &str, max_lines: usize) -> Rendered {
    let mut paragraphs = paragraph(text, max_lines).into_iter();
    let mut lines = vec![step(mark, name, &paragraphs.next().unwrap_or_default())];
    lines.extend(paragraphs.map(|text| detail(&text)));
    Rendered { lines, running: None }
}

fn paragraph(text: &str, max_lines: usize) -> Vec<String> {
    let mut lines = wrap(text, text_columns());
    if lines.len() > max_lines {
        lines.truncate(max_lines);
        if let Some(last) = lines.last_mut() {
            *last = cut(&format!("{last} ......"), text_columns());
        }
    }
    lines
}

/// A line with the step's name.
pub(super) fn step(mark: Mark, name: &str, text: &str) -> PaintedLine {
    // Numbers are aligned with spaces, which a cut would take out.
    let fits = text.chars().count() <= text_columns() && !text.contains(char::is_control);
    let text = if fits {
        text.to_owned()
    } else {
        cut(text, text_columns())
    };
    PaintedLine::new(mark, format!("{name:<NAME_COLUMNS$} {text}"))
}

/// A line below a step.
pub(super) fn detail(text: &str) -> PaintedLine {
    let text = cut(&single_line(text), text_columns());
    PaintedLine::new(Mark::Detail, format!("{:<NAME_COLUMNS$} {text}", ""))
}

/// The step's name of a kind of call.
pub(super) const fn name(kind: CallKind) -> &'static str {
    match kind {
        CallKind::Constraints | CallKind::Scope => "constraints",
        CallKind::Plan => "plan",
        CallKind::Code => "program",
        CallKind::Tests => "tests",
        CallKind::Diagnosis => "diagnosis",
        CallKind::FixCode => "fix program",
        CallKind::FixTests => "fix tests",
        CallKind::FixEnvironment => "fix packages",
        CallKind::Cases | CallKind::MoreCases => "cases",
        CallKind::Outputs => "outputs",
        CallKind::Program => "answer",
        CallKind::Turn => "turn",
    }
}

/// Says what the model does in a kind of call.
pub(super) const fn doing(kind: CallKind) -> &'static str {
    match kind {
        CallKind::Constraints => "reads the constraints",
        CallKind::Plan => "plans",
        CallKind::Code => "writes the program",
        CallKind::Tests => "writes the tests",
        CallKind::Diagnosis => "looks for the cause",
        CallKind::FixCode => "fixes the program",
        CallKind::FixTests => "fixes the tests",
        CallKind::FixEnvironment => "looks for packages that exist",
        CallKind::Cases => "works out the cases again",
        CallKind::MoreCases => "adds cases",
        CallKind::Scope => "reads the constraints again",
        CallKind::Outputs => "proposes outputs",
        CallKind::Program => "writes a program that answers",
        CallKind::Turn => "works",
    }
}

const fn error_type(error_type: ErrorType) -> &'static str {
    match error_type {
        ErrorType::Logic => "bug in the program",
        ErrorType::Environment => "missing package",
        ErrorType::TestError => "bug in the test",
    }
}

#[cfg(test)]
mod tests;
