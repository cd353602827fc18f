//! Layout of logs on the terminal.

use crate::cli::command::CommandError;
use crate::cli::recorded::RecordedTask;
use codegen_engine::results::test_output;

/// Returns what one attempt printed; the last one where none is named.
pub(super) fn output(task: &RecordedTask, number: Option<u32>) -> Result<String, CommandError> {
    let attempt = task.attempt(number)?;
    if task.is_private {
        return Err(CommandError::failed(format!(
            "the task's exposure is SchemaOnly, so what its tests printed, which may hold its data, is not shown: kubectl-codegen tests {} lists them",
            task.argument()
        )));
    }
    Ok(test_output(&attempt))
}

/// Returns the heading above the log of a container.
#[must_use]
pub(super) fn heading(pod: &str, container: &str) -> String {
    format!("==> pod/{pod} {container} <==\n")
}
