//! Layout of logs on the terminal.

use crate::cli::command::TASK_FAILED;
use crate::cli::ended::Absent;
use crate::cli::recorded::RecordedTask;
use codegen_engine::results::test_output;

/// Returns what one attempt printed; the last one where none is named.
pub(super) fn output(task: &RecordedTask, number: Option<u32>) -> Result<String, Absent> {
    let attempt = task.attempt(number)?;
    if task.is_private {
        return Err(Absent::new(
            format!(
                "the task's exposure is SchemaOnly, so what its tests printed, which may hold its data, is not shown: kubectl-codegen tests {} lists them",
                task.argument()
            ),
            TASK_FAILED,
        ));
    }
    Ok(test_output(&attempt))
}

/// Returns the heading above the log of a container.
#[must_use]
pub(super) fn heading(pod: &str, container: &str) -> String {
    format!("==> pod/{pod} {container} <==\n")
}

/// The text with a line feed at its end.
#[must_use]
pub(super) fn with_line_end(text: &str) -> String {
    if text.is_empty() || text.ends_with('\n') {
        text.to_owned()
    } else {
        format!("{text}\n")
    }
}

/// Prints what a program, a Pod or a model wrote.
pub(super) fn print(text: &str) -> Result<(), Absent> {
    crate::cli::print_as_it_is(text.as_bytes())
        .map_err(|error| Absent::new(format!("cannot write to stdout: {error}"), TASK_FAILED))
}
