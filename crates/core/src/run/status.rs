//! Status of a run once it has ended.

use super::conclude::RunEnd;
use super::outputs::TypedOutput;
use crate::redact::Redactor;
use codegen_api::CodeGenRunStatus;
use codegen_api::conditions::run_reason;
use codegen_api::run_status::{Finding, RunOutputStatus};

impl RunEnd {
    /// Writes the end into a status: stage, reason, message, outputs, and what a failure left. Conditions, times and the
    /// places of outputs are the caller's.
    pub fn describe(&self, status: &mut CodeGenRunStatus) {
        match self {
            Self::Succeeded(outputs) => {
                status.stage = Some("Succeeded".to_owned());
                status.reason = Some(run_reason::PROGRAM_SUCCEEDED.to_owned());
                status.message = None;
                status.exit_code = Some(0);
                status.outputs = outputs.iter().map(TypedOutput::status).collect();
            }
            Self::Failed(failure) => {
                status.stage = Some("Failed".to_owned());
                status.reason = Some(failure.reason.as_str().to_owned());
                status.message = Some(failure.message.clone());
                status.exit_code = failure.exit_code;
                status.limit = failure.limit.map(str::to_owned);
                status.last_lines = (!failure.last_lines.is_empty()).then(|| failure.last_lines.clone());
            }
        }
    }
}

/// Seconds as a status shows them: `340ms`, `2.3s`, `3m20s`.
#[must_use]
pub fn duration(seconds: f64) -> String {
    if seconds < 1.0 {
        return format!("{:.0}ms", seconds * 1000.0);
    }
    if seconds < 60.0 {
        return format!("{seconds:.1}s");
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a sandbox's time is bounded to years"
    )]
    let seconds = seconds.round() as u64;
    format!("{}m{}s", seconds / 60, seconds % 60)
}

impl TypedOutput {
    /// Returns the output as the status shows it, but for where its bytes lie.
    #[must_use]
    pub fn status(&self) -> RunOutputStatus {
        RunOutputStatus {
            name: self.name.clone(),
            type_: self.type_,
            value: self.value.clone(),
            sha256: self.sha256(),
            bytes: i64::try_from(self.bytes()).unwrap_or(i64::MAX),
            file_name: self.file_name.clone(),
            files: Vec::new(),
            claim: self.claim().cloned(),
        }
    }
}

/// Takes the values of Secrets out of the values that a finding quotes.
#[must_use]
pub fn redacted_finding(mut finding: Finding, redactor: &Redactor) -> Finding {
    for first in &mut finding.first {
        *first = redactor.redact(first);
    }
    finding
}
