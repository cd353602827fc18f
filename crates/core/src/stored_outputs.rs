//! Outputs that stay on the disk that the program wrote them to, because they are larger than what a report brings back: what is asked of
//! whoever checks them there, and what was found.

use serde::{Deserialize, Serialize};

use codegen_api::run_status::{Finding, Severity};
use codegen_api::values::{Output, ValueType};

use super::checks::ColumnCheck;
use super::sandbox::{LimitKind, OutputContent, PhaseEnd, PhaseReport, Report};

/// Outputs that are checked where they lie.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct OutputsAsked {
    /// Outputs that are asked for.
    pub outputs: Vec<Output>,
    /// The constraints on columns.
    pub checks: Vec<ColumnCheck>,
    /// Severity of a broken constraint; `None` where nothing is checked.
    pub severity: Option<Severity>,
}

/// Output as it was found where it lies.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub enum FoundOutput {
    /// Output as the task declares it.
    Read {
        /// SHA-256 of the file, or of the folder as a whole, hex.
        sha256: String,
        /// Its bytes.
        bytes: u64,
        /// Files of a folder; 1 for a file.
        files: u64,
        /// The value of anything but a file or folder, as text.
        value: Option<String>,
        /// Constraints that it breaks.
        findings: Vec<Finding>,
    },
    /// Something else: what is wrong.
    Wrong(String),
    /// More than is read, with its bytes where they were counted.
    TooLarge(Option<u64>),
}

/// Result of a program that wrote to a disk.
#[derive(Clone, Debug, PartialEq)]
pub struct RunOnDisk {
    /// Report of the sandbox. What did not fit it is `TooLarge` there.
    pub report: Report,
    /// Results of the outputs that were asked for, in their order; none where the program did not end well.
    pub found: Vec<FoundOutput>,
}

/// The outputs that may lie on a disk: a number or a date has its bytes in the report.
#[must_use]
pub fn may_be_stored(declared: &[Output]) -> Vec<Output> {
    let stored = declared
        .iter()
        .filter(|output| matches!(output.type_, ValueType::File | ValueType::Dir));
    stored.cloned().collect()
}

/// Reports whether a program that wrote to memory must run again with a disk: what it wrote was too large to be brought back, or took its
/// memory.
#[must_use]
pub fn needs_disk(declared: &[Output], phase: &PhaseReport) -> bool {
    let may_have_been_well = matches!(
        phase.end,
        PhaseEnd::Exited(0) | PhaseEnd::LimitHit(LimitKind::Memory)
    );
    may_have_been_well
        && may_be_stored(declared)
            .iter()
            .any(|output| is_too_large(&output.name, phase))
}

fn is_too_large(name: &str, phase: &PhaseReport) -> bool {
    let mut outputs = phase.outputs.iter();
    outputs.any(|output| output.name == name && matches!(output.content, OutputContent::TooLarge(_)))
}

#[cfg(test)]
mod tests;
