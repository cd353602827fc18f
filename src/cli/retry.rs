//! `kubectl-codegen retry`: asks the operator to try a task again that has ended, and says what came of that.

use std::time::Duration;

use jiff::Timestamp;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use super::args::{Color, RetryArgs};
use super::cluster::Cluster;
use super::command::{self, CommandError};
use super::follow::until;
use super::paint::{Mark, PaintedLine};
use super::progress::ProgressPrinter;
use codegen_api::CodeGenTask;
use codegen_api::retry::{RETRY, RETRY_HINT, RETRY_REPLAN};

/// Time that the operator has to answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// Runs the command.
pub(super) fn run(args: &RetryArgs) -> i32 {
    command::run(Color::Auto, async |progress| {
        let said = ask(args, progress).await?;
        progress.lines(&[PaintedLine::new(Mark::Done, said)]);
        Ok(0)
    })
}

async fn ask(args: &RetryArgs, progress: &ProgressPrinter) -> Result<String, CommandError> {
    let name = &args.task.name;
    let cluster = Cluster::connect(&args.task.cluster).await?;
    let token = Timestamp::now().to_string();
    let patch = Patch::Merge(wish(&token, args.replan, args.hint.as_deref()));
    // The only write. A task that is not there is refused.
    let tasks = cluster.api::<CodeGenTask>();
    let wished = tasks.patch(name, &PatchParams::default(), &patch).await;
    wished.map_err(|error| cluster.refused::<CodeGenTask>(&error, name))?;
    let answered = until(&cluster, name, progress, |task| answer(&task, &token));
    match tokio::time::timeout(PATIENCE, answered).await {
        Ok(answered) => answered?.map_err(CommandError::failed),
        Err(_) => Err(CommandError::failed(format!(
            "the wish is recorded, and the operator has not answered it within {} s: is it running, and is the task suspended or \
             queued? kubectl-codegen watch {name} shows what becomes of it",
            PATIENCE.as_secs()
        ))),
    }
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
