//! Recorded text that a run of a task's program printed: the last lines of one that failed.

use crate::cli::cluster::Cluster;
use crate::cli::command::CommandError;
use crate::cli::progress::ProgressPrinter;
use crate::cli::run::cluster::follow;
use codegen_api::CodeGenRun;

/// Reads what the run `name` of the program of `task` printed; one that is followed once it has ended, for a sandbox prints nothing before.
pub(super) async fn of_run(
    cluster: &Cluster,
    task: &str,
    name: &str,
    is_followed: bool,
    progress: &ProgressPrinter,
) -> Result<String, CommandError> {
    let mut run: CodeGenRun = cluster.get(name).await?;
    is_of(&run, task)?;
    if is_followed {
        run = follow(cluster, name, progress).await?;
    }
    last_lines(&run, task)
}

/// Refuses a run of another task's program.
fn is_of(run: &CodeGenRun, task: &str) -> Result<(), CommandError> {
    let name = run.metadata.name.as_deref().unwrap_or_default();
    let of = run.spec.task_ref.as_ref().map(|task| task.name.as_str());
    if of != Some(task) {
        let of = of.map_or_else(|| "no task".to_owned(), |of| format!("the task {of}"));
        return Err(CommandError::usage(format!(
            "the run {name} is one of {of}, not of {task}"
        )));
    }
    Ok(())
}

fn last_lines(run: &CodeGenRun, task: &str) -> Result<String, CommandError> {
    is_of(run, task)?;
    let name = run.metadata.name.as_deref().unwrap_or_default();
    let status = run.status.clone().unwrap_or_default();
    let stage = status.stage.as_deref().unwrap_or("Pending");
    let message = status.message.unwrap_or_default();
    match status.last_lines {
        Some(lines) => Ok(format!("run {name} {stage}: {message}\n{}\n", lines.trim_end())),
        None => Err(CommandError::failed(format!(
            "nothing that the run {name} printed is recorded, as of every run that has not failed; it is in stage {stage}: {message}"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn run(status: &Value) -> CodeGenRun {
        serde_json::from_value(json!({
            "apiVersion": "codegen-operator.dev/v1alpha1", "kind": "CodeGenRun", "metadata": {"name": "today"},
            "spec": {"taskRef": {"name": "sum"}}, "status": status,
        }))
        .unwrap()
    }

    #[test]
    fn a_run_that_failed_has_its_last_lines_and_another_one_says_why_it_has_none() {
        let failed = run(&json!({"stage": "Failed", "message": "exit code 1", "lastLines": "KeyError: 'a'"}));
        assert_eq!(
            last_lines(&failed, "sum").unwrap(),
            "run today Failed: exit code 1\nKeyError: 'a'\n"
        );
        let absent = last_lines(&run(&json!({"stage": "Succeeded"})), "sum").unwrap_err();
        assert!(
            absent.to_string().contains("has not failed") && absent.code == 1,
            "{absent}"
        );
        let other = last_lines(&failed, "mean").unwrap_err();
        assert!(
            other.to_string().contains("one of the task sum, not of mean"),
            "{other}"
        );
    }
}
