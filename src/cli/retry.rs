//! `kubectl-codegen retry`: asks the operator to try a task again that has ended, and says what came of that.

use std::pin::pin;
use std::time::Duration;

use futures::StreamExt as _;
use jiff::Timestamp;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use super::args::{Color, RetryArgs};
use super::cluster::{Cluster, refusal};
use super::command::{TASK_FAILED, USAGE, fail, runtime};
use super::ended::Absent;
use super::follow::{Change, changes};
use super::paint::{Mark, PaintedLine};
use super::progress::ProgressPrinter;
use codegen_api::CodeGenTask;
use codegen_api::retry::{RETRY, RETRY_HINT, RETRY_REPLAN};

/// Time that the operator has to answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// Runs the command.
pub(super) fn run(args: &RetryArgs) -> i32 {
    let progress = ProgressPrinter::new(Color::Auto);
    let runtime = match runtime() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&progress, &format!("cannot start: {error}"), TASK_FAILED),
    };
    match runtime.block_on(ask(args)) {
        Ok(said) => {
            progress.lines(&[PaintedLine::new(Mark::Done, said)]);
            0
        }
        Err(Absent { message, code }) => fail(&progress, &message, code),
    }
}

async fn ask(args: &RetryArgs) -> Result<String, Absent> {
    let wrong = |message| Absent::new(message, USAGE);
    let name = &args.task.name;
    let cluster = Cluster::connect(&args.task.cluster).await.map_err(wrong)?;
    let refused = |error: kube::Error| wrong(refusal::<CodeGenTask>(&error, name, &cluster.namespace));
    let token = Timestamp::now().to_string();
    let patch = Patch::Merge(wish(&token, args.replan, args.hint.as_deref()));
    let tasks = cluster.tasks();
    // The only write. A task that is not there is refused.
    tasks
        .patch(name, &PatchParams::default(), &patch)
        .await
        .map_err(refused)?;
    let mut changes = pin!(changes(tasks, name));
    let answered = async {
        while let Some(change) = changes.next().await {
            match change {
                Change::Seen(task) => {
                    if let Some(answer) = answer(&task, &token) {
                        return Some(answer);
                    }
                }
                Change::Deleted => {
                    return Some(Err(format!(
                        "{name} was deleted before the operator had answered"
                    )));
                }
                Change::CutOff(_) => {}
            }
        }
        None
    };
    let answer = tokio::time::timeout(PATIENCE, answered).await.ok().flatten();
    answer
        .unwrap_or_else(|| {
            Err(format!(
                "the wish is recorded, and the operator has not answered it within {} s: is it running, and is the task suspended or \
                 queued? kubectl-codegen watch {name} shows what becomes of it",
                PATIENCE.as_secs()
            ))
        })
        .map_err(|why| Absent::new(why, TASK_FAILED))
}

/// The annotations that ask for another try; those of an earlier wish go.
fn wish(token: &str, replan: bool, hint: Option<&str>) -> Value {
    let replan = replan.then_some("true");
    json!({"metadata": {"annotations": {RETRY: token, RETRY_REPLAN: replan, RETRY_HINT: hint}}})
}

/// Returns the operator's answer to the wish; `None` as long as it has not acted on it.
fn answer(task: &CodeGenTask, token: &str) -> Option<Result<String, String>> {
    let status = task.status.as_ref()?;
    if status.retry_handled.as_deref() != Some(token) {
        return None;
    }
    let name = task.metadata.name.as_deref().unwrap_or_default();
    if let Some(why) = &status.retry_refused {
        return Some(Err(format!("{name} is not tried again: {why}")));
    }
    let stage = status.stage.as_deref().unwrap_or_default();
    Some(Ok(format!("{name} goes on in stage {stage}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use codegen_api::CodeGenTaskSpec;
    use codegen_api::status::CodeGenTaskStatus;

    fn task(handled: &str, refused: Option<&str>) -> CodeGenTask {
        let mut task = CodeGenTask::new("sum", CodeGenTaskSpec::default());
        task.status = Some(CodeGenTaskStatus {
            stage: Some("GeneratingCode".to_owned()),
            retry_handled: Some(handled.to_owned()),
            retry_refused: refused.map(str::to_owned),
            ..CodeGenTaskStatus::default()
        });
        task
    }

    #[test]
    fn the_answer_is_that_to_this_wish() {
        assert_eq!(answer(&task("1", None), "2"), None);
        assert_eq!(
            answer(&task("2", None), "2"),
            Some(Ok("sum goes on in stage GeneratingCode".to_owned()))
        );
        assert_eq!(
            answer(&task("2", Some("the hint is empty")), "2"),
            Some(Err("sum is not tried again: the hint is empty".to_owned()))
        );
    }

    #[test]
    fn a_wish_takes_an_earlier_one_back() {
        let plain = wish("1", false, None);
        let annotations = plain["metadata"]["annotations"].as_object().unwrap();
        assert_eq!(annotations[RETRY], "1");
        // A merge patch removes what is null.
        assert!(annotations[RETRY_REPLAN].is_null() && annotations[RETRY_HINT].is_null());
        let whole = wish("1", true, Some("day first"));
        assert_eq!(whole["metadata"]["annotations"][RETRY_REPLAN], "true");
        assert_eq!(whole["metadata"]["annotations"][RETRY_HINT], "day first");
    }
}
