//! The outputs of a rehearsal, which is a run on the task's own samples, as they are recorded.

use super::outputs::{OutputPlace, OutputsRead, TypedOutput};
use crate::stored_outputs::FoundOutput;
use crate::verdict::{BrokenOutput, RehearsalFindings, StoredOutput};
use codegen_api::run_status::Finding;
use codegen_api::values::{Output, ValueType};

impl OutputsRead {
    /// Puts what was found on the disk of a rehearsal in the place of what was too large for its report.
    pub fn join_rehearsal(&mut self, declared: &[Output], mut found: Vec<(&Output, FoundOutput)>) {
        // What fits the report was read from there.
        found.retain(|(output, _)| self.too_large.iter().any(|large| large.output == output.name));
        self.join(declared, found, |_, _| OutputPlace::Gone);
    }
}

impl From<OutputsRead> for RehearsalFindings {
    fn from(read: OutputsRead) -> Self {
        let mut found = Self {
            faults: read.faults,
            too_large: read.too_large,
            ..Self::default()
        };
        found.faults.extend(read.findings.iter().map(fault));
        for output in read.outputs {
            let stored = stored_output(&output);
            let value = stored.as_ref().map(StoredOutput::size);
            let value = value.unwrap_or_else(|| shown(&output));
            found.values.push((output.name, value));
            found.stored.extend(stored);
        }
        found
    }
}

/// A value, of files and folders their size.
fn shown(output: &TypedOutput) -> String {
    let counted = |count: u64, of: &str| match count {
        1 => format!("1 {of}"),
        count => format!("{count} {of}s"),
    };
    match (&output.value, output.type_) {
        (Some(value), _) => value.clone(),
        (None, ValueType::Dir) => counted(output.files.len() as u64, "file"),
        (None, _) => counted(output.bytes(), "byte"),
    }
}

/// A constraint that an output breaks, as a fault of the program.
fn fault(broken: &Finding) -> BrokenOutput {
    let Finding { count, check, .. } = broken;
    let break_it = if *count == 1 {
        "value breaks"
    } else {
        "values break"
    };
    let first = match broken.first.join(", ") {
        none if none.is_empty() => none,
        first => format!(" ({first})"),
    };
    BrokenOutput {
        output: broken.name.clone(),
        problem: format!("{count} {break_it} the constraint {check}{first}"),
        without_values: format!("{} {break_it} the constraint {check}", about(*count)),
        broken: Some(check.clone()),
    }
}

/// A count to one digit: a program may write as many lines as a value says.
fn about(count: i64) -> String {
    let unit = 10i64.pow(count.checked_ilog10().unwrap_or(0));
    let rounded = count / unit * unit;
    if rounded == count {
        count.to_string()
    } else {
        format!("more than {rounded}")
    }
}

/// Describes an output as it lay that was not brought back; `None` where it was.
fn stored_output(output: &TypedOutput) -> Option<StoredOutput> {
    let stored = output.stored.as_ref()?;
    Some(StoredOutput {
        output: output.name.clone(),
        bytes: Some(stored.bytes),
        sha256: Some(stored.sha256.clone()),
        files: stored.files,
    })
}
