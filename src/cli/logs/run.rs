//! Recorded text that a run of a task's program printed: the last lines of one that failed.

use crate::cli::cluster::{Cluster, refusal};
use crate::cli::command::{TASK_FAILED, USAGE};
use crate::cli::ended::Absent;
use crate::cli::progress::ProgressPrinter;
use crate::cli::run::cluster::until_its_end;
use codegen_api::CodeGenRun;

/// Reads what the run `name` of the program of `task` printed.
pub(super) async fn of_run(cluster: &Cluster, task: &str, name: &str) -> Result<String, Absent> {
    last_lines(&read(cluster, name).await?, task)
}

/// The same, once it has ended: a sandbox prints nothing before.
pub(super) async fn of_run_at_its_end(
    cluster: &Cluster,
    task: &str,
    name: &str,
    progress: &ProgressPrinter,
) -> Result<String, Absent> {
    // A watch waits for ever for what is not there.
    is_of(&read(cluster, name).await?, task)?;
    until_its_end(cluster, name, progress).await?;
    of_run(cluster, task, name).await
}

async fn read(cluster: &Cluster, name: &str) -> Result<CodeGenRun, Absent> {
    let found = cluster.runs().get(name).await;
    found.map_err(|error| Absent::new(refusal::<CodeGenRun>(&error, name, &cluster.namespace), USAGE))
}

/// Refuses a run of another task's program.
fn is_of(run: &CodeGenRun, task: &str) -> Result<(), Absent> {
    let name = run.metadata.name.as_deref().unwrap_or_default();
    let of = run.spec.task_ref.as_ref().map(|task| task.name.as_str());
    if of != Some(task) {
        let of = of.map_or_else(|| "no task".to_owned(), |of| format!("the task {of}"));
        return Err(Absent::new(
            format!("the run {name} is one of {of}, not of {task}"),
            USAGE,
        ));
    }
    Ok(())
}

fn last_lines(run: &CodeGenRun, task: &str) -> Result<String, Absent> {
    is_of(run, task)?;
    let name = run.metadata.name.as_deref().unwrap_or_default();
    let status = run.status.clone().unwrap_or_default();
    let stage = status.stage.as_deref().unwrap_or("Pending");
    let message = status.message.unwrap_or_default();
    match status.last_lines {
        Some(lines) => Ok(format!("run {name} {stage}: {message}\n{}\n", lines.trim_end())),
        None => Err(Absent::new(
            format!(
                "nothing that the run {name} printed is recorded, as of every run that has not failed; it is in stage {stage}: {message}"
            ),
            TASK_FAILED,
        )),
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
            absent.message.contains("has not failed") && absent.code == 1,
            "{}",
            absent.message
        );
        let other = last_lines(&failed, "mean").unwrap_err();
        assert!(
            other.message.contains("one of the task sum, not of mean"),
            "{}",
            other.message
        );
    }
}
