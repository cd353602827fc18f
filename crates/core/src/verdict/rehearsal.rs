//! The program on the samples: why it has not passed there.

use crate::failed_check::{end_in_words, last_exception, tail};
use crate::sandbox::{PhaseEnd, PhaseReport, TestFailure};
use codegen_api::status::{RehearsalResult, RehearsalStatus};

use super::{CheckSource, FailedCheck, RehearsalFindings, StoredOutput, explain};

pub(super) fn judge_program(phase: Option<&PhaseReport>, findings: &RehearsalFindings) -> Vec<FailedCheck> {
    let failure = |exception: &str, message: String, text: &str| FailedCheck {
        source: CheckSource::Rehearsal,
        detail: TestFailure {
            id: "rehearsal".into(),
            exception: exception.into(),
            message,
            text: tail(text, 2_000),
            ..TestFailure::default()
        },
    };
    let Some(phase) = phase else {
        return vec![failure(
            "",
            "the program never started: an earlier phase used up its limits".into(),
            "",
        )];
    };
    match &phase.end {
        PhaseEnd::Exited(0) => findings
            .faults
            .iter()
            .map(|fault| {
                failure(
                    "",
                    format!("output {}: {}", fault.output, fault.problem),
                    &phase.stderr,
                )
            })
            .collect(),
        PhaseEnd::Exited(_) => {
            // The last exception is what a diagnosis needs; the exit code alone says nothing.
            let (exception, message) = last_exception(&phase.stderr);
            let message = if message.is_empty() {
                end_in_words(phase)
            } else {
                message
            };
            vec![failure(&exception, message, &phase.stderr)]
        }
        PhaseEnd::Signaled(_) | PhaseEnd::TimedOut | PhaseEnd::LimitHit(_) => {
            vec![failure("", end_in_words(phase), &phase.stderr)]
        }
    }
}

pub(super) fn rehearsal_status(
    failed: &[FailedCheck],
    findings: &RehearsalFindings,
    skipped: Option<&str>,
) -> RehearsalStatus {
    // Skipped before failed: what never ran has no result.
    if let Some(why) = skipped {
        return RehearsalStatus {
            result: RehearsalResult::Skipped,
            message: Some(why.to_owned()),
        };
    }
    let fault = failed.iter().find(|check| check.source == CheckSource::Rehearsal);
    let message = fault
        .map(|check| check.detail.message.clone())
        .or_else(|| explain(&findings.too_large));
    match message {
        Some(message) => RehearsalStatus {
            result: RehearsalResult::Failed,
            message: Some(message),
        },
        None => RehearsalStatus {
            result: RehearsalResult::Passed,
            message: where_they_lay(&findings.stored),
        },
    }
}

/// Says where outputs lay that were checked on a disk.
fn where_they_lay(stored: &[StoredOutput]) -> Option<String> {
    let first = stored.first()?;
    let size = match first.bytes {
        Some(_) => format!(" has {}, and", first.size()),
        // Of private samples a size may tell a value.
        None => String::new(),
    };
    let more = match stored.len() - 1 {
        0 => String::new(),
        more => format!("; so were {more} more"),
    };
    Some(format!(
        "the output {}{size} was checked on the disk that the program wrote it to{more}",
        first.output
    ))
}
