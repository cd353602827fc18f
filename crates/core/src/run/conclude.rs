//! Result of a run: computed from the report and what was found in the data, never from a word in the output.

use strum::{IntoStaticStr, VariantArray};

use super::outputs::{OutputRoom, OutputsRead, TypedOutput};
use crate::failed_check::{end_in_words, last_exception, tail};
use crate::redact::Redactor;
use crate::sandbox::{LimitKind, MAX_OUTPUT_BYTES, MAX_OUTPUTS_BYTES, PhaseEnd, PhaseReport, Report};
use crate::verdict::OutputTooLarge;
use codegen_api::run_status::{Finding, Severity};

/// Last lines of a failed program that are recorded.
const LAST_LINES: usize = 20;
/// Most bytes of them.
const LAST_BYTES: usize = 2_000;
/// Most faults that a message names.
const NAMED: usize = 3;

/// End of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum RunEnd {
    /// Every declared output is there and of its type, in declared order.
    Succeeded(Vec<TypedOutput>),
    /// It did not.
    Failed(RunFailure),
}

/// Failure of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunFailure {
    /// In one word.
    pub reason: FailureReason,
    /// Message about what happened, and what to do.
    pub message: String,
    /// Exit code of the program; 128 and the signal where one ended it; `None` where it was stopped or never ran.
    pub exit_code: Option<i32>,
    /// The limit that it met (`Memory`, `Time`).
    pub limit: Option<&'static str>,
    /// The last lines that it wrote, those of standard error where there are any; empty where it wrote nothing.
    pub last_lines: String,
}

impl RunFailure {
    /// That of a run of whose program nothing is to be said.
    const fn without_program(reason: FailureReason, message: String) -> Self {
        Self {
            reason,
            message,
            exit_code: None,
            limit: None,
            last_lines: String::new(),
        }
    }

    /// Reports whether another execution may end otherwise: what a program wrote is what it wrote.
    #[must_use]
    pub const fn may_be_repeated(&self) -> bool {
        match self.reason {
            FailureReason::ProgramFailed | FailureReason::LimitExceeded => true,
            FailureReason::OutputInvalid
            | FailureReason::OutputTooLarge
            | FailureReason::CheckFailed
            | FailureReason::ClaimNotWritable => false,
        }
    }
}

/// Cause of a run's failure, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr, VariantArray)]
pub enum FailureReason {
    /// The program ended with another exit code than 0, or by a signal.
    ProgramFailed,
    /// It met a limit of its sandbox.
    LimitExceeded,
    /// An output is missing or not of its type.
    OutputInvalid,
    /// An output is larger than what is brought back.
    OutputTooLarge,
    /// Data breaks a rule that is enforced.
    CheckFailed,
    /// The claim that outputs go to cannot be written.
    ClaimNotWritable,
}

impl FailureReason {
    /// All of them.
    pub const ALL: &[Self] = Self::VARIANTS;

    /// The word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// Returns the failure of a run that does not start: its inputs break a rule which is enforced.
#[must_use]
pub fn refused(findings: &[Finding]) -> Option<RunFailure> {
    let message = violations(findings)?;
    Some(RunFailure::without_program(
        FailureReason::CheckFailed,
        format!("the program was not run: {message}"),
    ))
}

/// The report of a program that ended well, so that its outputs can be checked; else why not.
pub fn program_end(report: &Report) -> Result<&PhaseReport, RunFailure> {
    // A report without phases: even the harness was killed, which only memory does.
    let Some(phase) = report.phases.first() else {
        return Err(RunFailure {
            limit: Some("Memory"),
            ..RunFailure::without_program(
                FailureReason::LimitExceeded,
                "nothing came back of the program: it took more memory than its sandbox has, or ended the sandbox; give it more with sandbox.resources.limits.memory".into(),
            )
        });
    };
    if let Some(words) = &phase.not_writable {
        return Err(RunFailure::without_program(
            FailureReason::ClaimNotWritable,
            format!(
                "the program was not run, for its outputs cannot be written to the claim ({words}): let every user write to the \
                 folder on it, or set outputs.persistentVolumeClaim.fsGroup, and make another run"
            ),
        ));
    }
    match phase.end {
        PhaseEnd::Exited(0) => Ok(phase),
        _ => Err(failure_of(phase)),
    }
}

/// Returns the failure of a program that ran.
fn failure_of(phase: &PhaseReport) -> RunFailure {
    let (reason, exit_code, limit) = match &phase.end {
        PhaseEnd::Exited(code) => (FailureReason::ProgramFailed, Some(*code), None),
        // 128 and the signal, as shells report it.
        PhaseEnd::Signaled(signal) => (FailureReason::ProgramFailed, Some(128 + signal), None),
        PhaseEnd::TimedOut => (FailureReason::LimitExceeded, None, Some("Time")),
        PhaseEnd::LimitHit(kind) => (FailureReason::LimitExceeded, None, Some(kind.into())),
    };
    let advice = match &phase.end {
        PhaseEnd::TimedOut => {
            ": give it more time with --timeout, or with spec.sandbox.timeout of the run or its task"
                .to_owned()
        }
        PhaseEnd::LimitHit(LimitKind::Memory) => {
            ": give it more with sandbox.resources.limits.memory".to_owned()
        }
        PhaseEnd::Exited(_) => exception(phase),
        PhaseEnd::Signaled(_) | PhaseEnd::LimitHit(_) => String::new(),
    };
    RunFailure {
        reason,
        message: format!("{}{advice}", end_in_words(phase)),
        exit_code,
        limit,
        last_lines: last_lines(phase),
    }
}

/// Concludes the end of a run, without the values of Secrets. `read` is what was found in the outputs; it is of no matter where the program
/// failed.
#[must_use]
pub fn conclude(mut report: Report, read: OutputsRead, redactor: &Redactor) -> RunEnd {
    // Before a text is cut: of a value that lies across the cut, the rest would stay.
    for phase in &mut report.phases {
        phase.stdout = redactor.redact(&phase.stdout);
        phase.stderr = redactor.redact(&phase.stderr);
    }
    match end(&report, read) {
        // The message may quote what the program printed.
        RunEnd::Failed(failure) => RunEnd::Failed(RunFailure {
            message: redactor.redact(&failure.message),
            ..failure
        }),
        succeeded @ RunEnd::Succeeded(_) => succeeded,
    }
}

fn end(report: &Report, read: OutputsRead) -> RunEnd {
    let phase = match program_end(report) {
        Ok(phase) => phase,
        Err(failure) => return RunEnd::Failed(failure),
    };
    let failed = |reason, message| {
        RunEnd::Failed(RunFailure {
            reason,
            message,
            exit_code: Some(0),
            limit: None,
            last_lines: last_lines(phase),
        })
    };
    // In this order: an output that is missing or wrong explains a broken rule, and not the other way round.
    if !read.faults.is_empty() {
        let faults = read.faults.iter();
        let faults: Vec<String> = faults
            .map(|fault| format!("output {}: {}", fault.output, fault.problem))
            .collect();
        return failed(FailureReason::OutputInvalid, some_of(&faults));
    }
    if !read.too_large.is_empty() {
        let large: Vec<String> = read.too_large.iter().map(size).collect();
        let kept = format!(
            "at most {MAX_OUTPUT_BYTES} bytes of one output and {MAX_OUTPUTS_BYTES} of all together are brought back"
        );
        let limit = match read.room {
            OutputRoom::None => format!("{kept}: run the program on less data at a time"),
            OutputRoom::Unnamed => format!(
                "{kept}: name a volume for them in spec.outputs.persistentVolumeClaim, or run the program on less data at a time"
            ),
            OutputRoom::Disk => "an output may have 1 GiB and 10,000 files, a text 1 MiB: run the program on less data at a time".to_owned(),
            OutputRoom::Claim => {
                "an output on a claim may have 1 GiB and 10,000 files: run the program on less data at a time"
                    .into()
            }
        };
        let message = format!("{}; {limit}", some_of(&large));
        return failed(FailureReason::OutputTooLarge, message);
    }
    match violations(&read.findings) {
        Some(message) => failed(FailureReason::CheckFailed, message),
        None => RunEnd::Succeeded(read.outputs),
    }
}

/// The findings for which a run fails, in a sentence; `None` where there are none.
fn violations(findings: &[Finding]) -> Option<String> {
    let violations: Vec<String> = findings
        .iter()
        .filter(|finding| finding.severity == Severity::Violation)
        .map(Finding::sentence)
        .collect();
    (!violations.is_empty()).then(|| some_of(&violations))
}

fn size(large: &OutputTooLarge) -> String {
    match large.bytes {
        Some(bytes) => format!("output {} has {bytes} bytes", large.output),
        None => format!("output {} is too large", large.output),
    }
}

fn some_of(sentences: &[String]) -> String {
    let named = sentences
        .iter()
        .take(NAMED)
        .cloned()
        .collect::<Vec<_>>()
        .join("; ");
    match sentences.len().saturating_sub(NAMED) {
        0 => named,
        more => format!("{named}; and {more} more"),
    }
}

/// The last exception behind a colon; empty where there is none.
fn exception(phase: &PhaseReport) -> String {
    match last_exception(&phase.stderr) {
        (exception, text) if !exception.is_empty() => format!(": {exception}: {text}"),
        _ => String::new(),
    }
}

fn last_lines(phase: &PhaseReport) -> String {
    // A program that fails says why on standard error; one that says nothing there may have printed it.
    let said = if phase.stderr.trim().is_empty() {
        &phase.stdout
    } else {
        &phase.stderr
    };
    let lines: Vec<&str> = said.trim_end().lines().collect();
    let kept = &lines[lines.len().saturating_sub(LAST_LINES)..];
    tail(&kept.join("\n"), LAST_BYTES)
}
