//! `kubectl-codegen code`: the program of a task, under way or ended.

use super::args::{Color, RecordArgs, question_name};
use super::cluster::Cluster;
use super::command::{self, CommandError, Printout, TASK_FAILED};
use super::ended::{archived_program, ended, has_ended};
use super::recorded::{
    RecordedQuestion, RecordedTask, from_cluster, is_folder, place, question_from_cluster, read,
};
use codegen_api::CodeGenTask;
use codegen_core::stage::Stage;
use codegen_engine::results::SOLUTION;

/// Runs the command.
pub(super) fn run(args: &RecordArgs) -> i32 {
    command::run(Color::Auto, async |progress| {
        Box::pin(program(args)).await?.print(progress)
    })
}

/// A program, and the caution for whoever uses it.
fn with_caution(text: String, caution: Option<String>) -> Printout {
    Printout {
        code: if caution.is_some() { TASK_FAILED } else { 0 },
        text,
        notes: caution.into_iter().collect(),
    }
}

async fn program(args: &RecordArgs) -> Result<Printout, CommandError> {
    if let Some(name) = question_name(&args.task) {
        let cluster = Cluster::connect(&args.cluster).await?;
        return of_question(&question_from_cluster(&cluster, name).await?).await;
    }
    let named = place(&args.task, &args.cluster).await?;
    if is_folder(&named) {
        return recorded(&read(&named, &args.cluster).await?);
    }
    let cluster = Cluster::connect(&args.cluster).await?;
    let task = cluster.task(&args.task).await?;
    match proposed(&task) {
        Some(caution) => archived(&cluster, &task, Some(caution)).await,
        None if has_ended(&task) => archived(&cluster, &task, ended(&task)?).await,
        // Until its end a program is in the record alone.
        None => recorded(&from_cluster(&cluster, &args.task).await?),
    }
}

/// Returns what to know of a program that has passed and waits for its approval or its registry, which is readable as at the end.
fn proposed(task: &CodeGenTask) -> Option<String> {
    let status = task.status.as_ref()?;
    let stage: Stage = status.stage.as_deref()?.parse().ok()?;
    let waits = stage.has_passed() && !stage.is_terminal() && status.result.is_some();
    waits.then(|| {
        let name = task.metadata.name.as_deref().unwrap_or_default();
        format!("{name} is in stage {stage}: this program has passed, and the task has not ended")
    })
}

/// The program in the `ConfigMap` of the result, which more people may read than the record.
async fn archived(
    cluster: &Cluster,
    task: &CodeGenTask,
    caution: Option<String>,
) -> Result<Printout, CommandError> {
    let status = task.status.as_ref();
    let result = status
        .and_then(|status| status.result.as_deref())
        .unwrap_or_default();
    let text = archived_program(cluster, result).await?.ok_or_else(|| {
        CommandError::failed(format!(
            "the ConfigMap {}/{result} has no {SOLUTION}: the task ended before there was a program, or its result was deleted",
            cluster.namespace
        ))
    })?;
    Ok(with_caution(text, caution))
}

/// The last program of a question; where its record may not be read, as far as the status has it.
async fn of_question(question: &RecordedQuestion) -> Result<Printout, CommandError> {
    let name = question.name();
    if question.withheld.is_some()
        && let Some(code) = question.status().code
    {
        let has_answered = question.status().answer.is_some();
        let is_cut = code.ends_with('…');
        let caution = match (is_cut, has_answered) {
            (true, _) => Some(
                "this is the beginning of the program: the rest is in a Secret, which you may not read"
                    .to_owned(),
            ),
            (false, true) => None,
            (false, false) => Some(unanswered(&name, &question.standing())),
        };
        return Ok(with_caution(code, caution));
    }
    let program = question.readable()?.program(None).await?;
    let caution = match &program.error {
        _ if program.has_answered => None,
        Some(error) => Some(format!("this program of {name} failed: {error}")),
        None => Some(unanswered(&name, &question.standing())),
    };
    Ok(with_caution(format!("{}\n", program.code.trim_end()), caution))
}

fn unanswered(name: &str, standing: &str) -> String {
    format!("this program of {name} has not answered: {standing}")
}

/// The program that a record has now, of a task under way or of a local result.
fn recorded(task: &RecordedTask) -> Result<Printout, CommandError> {
    let name = &task.name;
    let text = task
        .readable()?
        .program()
        .ok_or_else(|| CommandError::failed(format!("{name} has no program yet; {}", task.standing())))?;
    let stage = task.status.stage.as_deref().unwrap_or_default();
    let message = task.status.message.as_deref().unwrap_or_default();
    let caution = match stage {
        "Succeeded" => None,
        "Failed" => Some(format!(
            "{name} failed, so this program did not pass its tests: {message}"
        )),
        _ => Some(format!(
            "{name} is in stage {stage}, so this program has not passed its tests yet: kubectl-codegen tests {} shows how far it is",
            task.argument()
        )),
    };
    Ok(with_caution(text, caution))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_program_that_waits_for_its_approval_is_readable_as_at_the_end() {
        let task = |stage: &str, result: Option<&str>| -> CodeGenTask {
            serde_json::from_value(json!({
                "apiVersion": "codegen-operator.dev/v1alpha1", "kind": "CodeGenTask", "metadata": {"name": "sum"},
                "spec": {"prompt": "Add."}, "status": {"stage": stage, "result": result},
            }))
            .unwrap()
        };
        let caution = proposed(&task("Passed", Some("sum-1"))).unwrap();
        assert!(caution.contains("has not ended"), "{caution}");
        assert_eq!(proposed(&task("Succeeded", Some("sum-1"))), None);
        assert_eq!(
            proposed(&task("RunningTests", Some("sum-1"))),
            None,
            "that of an earlier end"
        );
        assert!(has_ended(&task("Failed", None)) && !has_ended(&task("Planning", None)));
    }
}
