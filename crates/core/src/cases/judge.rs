//! Judgement of the runs of cases.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use crate::bounds::cut;
use crate::failed_check::{CheckSource, FailedCheck, last_exception, limit_name, tail};
use crate::sandbox::{OutputContent, OutputReport, PhaseEnd, PhaseReport, Stream, TestFailure};
use crate::task::Task;
use codegen_api::case::{CaseMode, Check, Expectation};
use codegen_api::status::CaseCounts;
use codegen_api::values::ValueType;
use codegen_data::outputs::{Declared, parse};

use super::compare::{Mismatch, compare};
use super::shown::{shown, visible};
use super::{CaseExecution, CaseOrigin, MOST_OUTPUT_BYTES, check, form, output_of, reference, statement};

/// Bytes of one input in a message.
const INPUT: usize = 600;
/// Bytes of what a program said of its end.
const SAID: usize = 400;
/// Beginning of the harness's message that it started no program.
const NOT_STARTED: &str = "the sandbox could not ";
/// Characters of an expected and of an actual value that a person reads beside each other.
const SIDE: usize = 56;
/// Expectations that did not hold and are listed.
const LISTED: usize = 3;

/// Results of the cases of one attempt.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CasesJudged {
    /// Counts of the plan's cases and of those that follow from them; `None` where there are none.
    pub cases: Option<CaseCounts>,
    /// Counts of the user's examples; `None` where there are none.
    pub examples: Option<CaseCounts>,
    /// The cases that failed; of the examples their count alone.
    pub failed: Vec<FailedCheck>,
    /// The cases that failed where they only report.
    pub reported: Vec<FailedCheck>,
    /// Failures of a case that is held back: among those that failed it has neither inputs nor results.
    pub held: Vec<FailedCheck>,
    /// Examples that failed, for their owner: no prompt is made of them.
    pub missed_examples: Vec<TestFailure>,
    /// Numbers of the cases whose failure shows what they state.
    pub seen: BTreeSet<usize>,
}

/// Judges the cases of one attempt; `phases` are the reports of their runs in order, `None` where the sandbox ended before.
#[must_use]
pub fn judge<'a>(
    task: &Task,
    runs: &[CaseExecution],
    phases: impl Iterator<Item = Option<&'a PhaseReport>>,
) -> CasesJudged {
    let mut judged = CasesJudged::default();
    let mut phases = phases.fuse();
    for run in runs {
        let phase = phases.next().flatten();
        let mut faults = faults(task, run, phase);
        faults.extend(phase.map_or_else(Vec::new, |phase| of_other_types(task, run, phase, &faults)));
        let counts = match run.origin {
            CaseOrigin::Example => &mut judged.examples,
            CaseOrigin::Plan(_) => &mut judged.cases,
        };
        let counts = counts.get_or_insert_with(CaseCounts::default);
        counts.total += 1;
        counts.passed += i32::from(faults.is_empty());
        let number = counts.total;
        if faults.is_empty() {
            continue;
        }
        let failed = failed(run, &faults);
        if run.origin == CaseOrigin::Example {
            judged.missed_examples.push(TestFailure {
                id: format!("example {number} ({})", shown(&run.case.about)),
                ..failed.detail
            });
            continue;
        }
        match task.cases {
            CaseMode::Require if run.is_held => {
                let number = run.number().unwrap_or_default();
                judged.failed.push(failed.masked(number));
                judged.held.push(failed);
            }
            CaseMode::Require => {
                judged.seen.extend(run.number());
                judged.failed.push(failed);
            }
            CaseMode::Report | CaseMode::Off => judged.reported.push(failed),
        }
    }
    // As one failure with a count: a model learns no more of examples.
    judged.failed.extend(judged.examples.and_then(examples_failed));
    judged
}

/// Reports whether everything that a case expects holds.
pub(super) fn holds(task: &Task, run: &CaseExecution, phase: Option<&PhaseReport>) -> bool {
    faults(task, run, phase).is_empty()
}

fn examples_failed(counts: CaseCounts) -> Option<FailedCheck> {
    let missed = counts.total - counts.passed;
    (missed > 0).then(|| FailedCheck {
        source: CheckSource::Example,
        detail: TestFailure {
            id: "examples".into(),
            message: format!("{missed} of {} examples of the user fail", counts.total),
            ..TestFailure::default()
        },
    })
}

/// Expectation that did not hold: in words, and how the program said it.
#[derive(Default)]
struct Fault {
    /// The output that it is about, where it is about one.
    output: String,
    exception: String,
    message: String,
    said: String,
}

impl Fault {
    fn plain(message: String) -> Self {
        Self {
            message,
            ..Self::default()
        }
    }
}

fn failed(run: &CaseExecution, faults: &[Fault]) -> FailedCheck {
    let messages: Vec<&str> = faults.iter().map(|fault| fault.message.as_str()).collect();
    let inputs = run.case.inputs.iter().map(|input| {
        let value = cut(&input.value, INPUT);
        if value.contains('\n') {
            format!("{}:\n{}", input.name, value.trim_end())
        } else {
            format!("{}: {value}", input.name)
        }
    });
    let mut text: Vec<String> = inputs.collect();
    if text.is_empty() {
        text.push("inputs: the defaults".to_owned());
    }
    let said = faults.iter().map(|fault| fault.said.clone());
    text.extend(said.filter(|said| !said.is_empty()));
    FailedCheck {
        source: if run.is_settled {
            CheckSource::SettledCase
        } else {
            CheckSource::Case
        },
        detail: TestFailure {
            id: run.id(),
            exception: faults
                .first()
                .map_or_else(String::new, |fault| fault.exception.clone()),
            message: messages[..messages.len().min(LISTED)].join("; "),
            text: text.join("\n"),
            ..TestFailure::default()
        },
    }
}

fn faults(task: &Task, run: &CaseExecution, phase: Option<&PhaseReport>) -> Vec<Fault> {
    let Some(phase) = phase else {
        return vec![Fault::plain(
            "the program never started: what ran before it used up the limits of the sandbox".into(),
        )];
    };
    // A program that ended otherwise has written nothing that could be compared.
    if let Some(fault) = ended_otherwise(run.case.refused, phase) {
        return vec![fault];
    }
    run.case
        .expect
        .iter()
        .filter_map(|expectation| {
            let mismatch = compared(task, expectation, phase).err()?;
            Some(Fault {
                output: output_of(expectation).to_owned(),
                ..fault_of(expectation, &mismatch)
            })
        })
        .collect()
}

/// Describes the expected and the actual value, so short that a person reads both; of long values what lies around their first difference,
/// and all of them beside it.
fn fault_of(expectation: &Expectation, mismatch: &Mismatch) -> Fault {
    let expected = visible(&statement_of(expectation, mismatch));
    let actual = visible(&mismatch.actual);
    // The line end of what was printed tells nothing, unless it is all that differs.
    let line = actual.strip_suffix('\n').unwrap_or(&actual);
    let actual = if line == visible(&mismatch.expected) {
        actual.as_str()
    } else {
        line
    };
    let is_short = expected.chars().count() + actual.chars().count() <= 2 * SIDE;
    if is_short && !expected.contains('\n') && !actual.contains('\n') {
        return Fault::plain(format!("expected {expected}, got {actual}"));
    }
    let place = [expectation.output.as_str(), &expectation.at].join(" ");
    let wanted = visible(&mismatch.expected);
    let same = wanted
        .chars()
        .zip(actual.chars())
        .take_while(|(one, other)| one == other)
        .count();
    Fault {
        said: format!("expected {expected}\ngot {actual}"),
        ..Fault::plain(format!(
            "expected of {} {}, got {}",
            place.trim_end(),
            excerpt(&wanted, same),
            excerpt(actual, same)
        ))
    }
}

/// At most [`SIDE`] characters of a text in one line, with the one at `place` among them.
fn excerpt(text: &str, place: usize) -> String {
    let line = shown(text);
    let length = line.chars().count();
    let start = place.saturating_sub(SIDE / 3).min(length.saturating_sub(SIDE));
    let part: String = line.chars().skip(start).take(SIDE).collect();
    let before = if start > 0 { "…" } else { "" };
    let after = if start + SIDE < length { "…" } else { "" };
    format!("{before}{part}{after}")
}

/// Outputs that a run would not take, whether or not something is expected of them; not those that are at fault already.
fn of_other_types(task: &Task, run: &CaseExecution, phase: &PhaseReport, faults: &[Fault]) -> Vec<Fault> {
    if run.case.refused || phase.end != PhaseEnd::Exited(0) {
        return Vec::new();
    }
    let is_at_fault = |name: &str| faults.iter().any(|fault| fault.output == name);
    let reports = phase.outputs.iter().filter(|report| !is_at_fault(&report.name));
    let faults = reports.filter_map(|report| type_fault(task, report));
    faults.map(Fault::plain).collect()
}

fn type_fault(task: &Task, report: &OutputReport) -> Option<String> {
    let output = task.outputs.iter().find(|output| output.name == report.name)?;
    // What is missing, too large or no text is the rehearsal's to judge.
    let is_read = match &report.content {
        OutputContent::File(encoded) => output.type_ != ValueType::File || is_plain_text(encoded),
        OutputContent::Dir(_) => true,
        OutputContent::Missing | OutputContent::TooLarge(_) | OutputContent::NotAFile(_) => false,
    };
    let declared = Declared {
        name: output.name.clone(),
        type_: output.type_,
        format: output.format,
    };
    let fault = is_read.then(|| parse(&declared, &report.content).err())??;
    Some(fault.to_string())
}

/// Reports whether a file is text as it stands: what is packed would be unpacked where nothing limits how long that takes.
fn is_plain_text(encoded: &str) -> bool {
    let bytes = BASE64_STANDARD.decode(encoded).unwrap_or_default();
    let is_packed = bytes.starts_with(b"PK") || bytes.starts_with(b"BZh");
    !is_packed && std::str::from_utf8(&bytes).is_ok()
}

/// The expectation, with what was compared where that is but a part of it.
fn statement_of(expectation: &Expectation, mismatch: &Mismatch) -> String {
    let whole = statement(expectation);
    if whole.ends_with(&mismatch.expected) || expectation.value.lines().count() <= 1 {
        cut(&whole, SAID)
    } else {
        format!("of {} {}", expectation.output, mismatch.expected)
    }
}

/// Reports whether the exit code is the harness's, since there was no program to end with one.
fn was_not_started(phase: &PhaseReport) -> bool {
    // 126 and 127 may be a program's own; only the harness's words make them its.
    matches!(phase.end, PhaseEnd::Exited(126 | 127)) && phase.stderr.starts_with(NOT_STARTED)
}

/// Finds the fault of a program that did not end as the case says it must.
fn ended_otherwise(is_refused: bool, phase: &PhaseReport) -> Option<Fault> {
    let said = tail(phase.stderr.trim_end(), SAID);
    if was_not_started(phase) {
        return Some(Fault::plain(said));
    }
    let mut exception = String::new();
    let message = match &phase.end {
        PhaseEnd::Exited(0) if is_refused => "expected an exit code other than 0, got 0".to_owned(),
        PhaseEnd::Exited(0) => return None,
        PhaseEnd::Exited(_) if is_refused => return None,
        PhaseEnd::Exited(code) => {
            let (raised, message) = last_exception(&phase.stderr);
            exception = raised;
            let message = Some(message).filter(|message| !message.is_empty());
            message.unwrap_or_else(|| format!("the program ended with exit code {code}"))
        }
        PhaseEnd::Signaled(signal) => format!("signal {signal} ended the program"),
        PhaseEnd::TimedOut => format!("the program did not end within {:.0} s", phase.seconds),
        PhaseEnd::LimitHit(kind) => format!(
            "the program used more {} than the sandbox allows",
            limit_name(*kind)
        ),
    };
    Some(Fault {
        exception,
        said,
        ..Fault::plain(message)
    })
}

fn compared(task: &Task, expectation: &Expectation, phase: &PhaseReport) -> Result<(), Mismatch> {
    let holds = compared_with(task, expectation, |output| output_text(output, phase));
    // What is found in the retained end of a stream was printed; nothing else follows from the end alone.
    if is_cut(&expectation.output, phase) && (holds.is_err() || expectation.check != Check::Contains) {
        return Err(Mismatch {
            expected: statement(expectation),
            actual: format!(
                "more than is compared: only the last 64 KiB of {} are kept",
                expectation.output
            ),
        });
    }
    holds
}

/// Compares what an expectation is about, and refers to, by the texts of outputs, or what is there instead of one.
pub(super) fn compared_with(
    task: &Task,
    expectation: &Expectation,
    text_of: impl Fn(&str) -> Result<String, String>,
) -> Result<(), Mismatch> {
    let nothing = |actual: String| Mismatch {
        expected: statement(expectation),
        actual,
    };
    let shape = check::shape(task, expectation)
        .ok_or_else(|| nothing("an output that the task does not have".to_owned()))?;
    let text = text_of(&expectation.output).map_err(nothing)?;
    let expected = match reference(task, &expectation.value) {
        Some(name) => text_of(name).map_err(nothing)?.trim_end().to_owned(),
        None => expectation.value.clone(),
    };
    compare(shape, expectation, &expected, &text)
}

/// Reports whether only the end of a stream is there.
fn is_cut(output: &str, phase: &PhaseReport) -> bool {
    let streams = [("stdout", Stream::Stdout), ("stderr", Stream::Stderr)];
    let is_it = |(name, stream): &(&str, Stream)| *name == output && phase.cut.contains(stream);
    streams.iter().any(is_it)
}

/// The text of an output, or what is there instead.
fn output_text(output: &str, phase: &PhaseReport) -> Result<String, String> {
    let (name, file) = form::split(output);
    match (name, file) {
        ("stdout", None) => return Ok(phase.stdout.clone()),
        ("stderr", None) => return Ok(phase.stderr.clone()),
        _ => {}
    }
    let report = phase.outputs.iter().find(|report| report.name == name);
    let encoded = match (report.map(|report| &report.content), file) {
        (Some(OutputContent::File(encoded)), None) => encoded,
        (Some(OutputContent::Dir(files)), Some(file)) => files
            .iter()
            .find(|(path, _)| path == file)
            .map(|(_, encoded)| encoded)
            .ok_or_else(|| format!("no file {file}"))?,
        (Some(OutputContent::TooLarge(bytes)), _) => {
            return Err(format!(
                "{bytes} bytes, and at most {MOST_OUTPUT_BYTES} are compared"
            ));
        }
        (Some(OutputContent::NotAFile(what)), _) => return Err(what.clone()),
        (Some(OutputContent::Missing) | None, _) => return Err("nothing written".to_owned()),
        (Some(OutputContent::File(_)), Some(_)) => return Err("a file in place of a folder".to_owned()),
        (Some(OutputContent::Dir(_)), None) => return Err("a folder in place of a file".to_owned()),
    };
    let bytes = BASE64_STANDARD
        .decode(encoded)
        .map_err(|_| "an output that was damaged on its way".to_owned())?;
    String::from_utf8(bytes).map_err(|_| "bytes that are no UTF-8".to_owned())
}
