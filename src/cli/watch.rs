//! `kubectl-codegen watch`: what a task or a question does until it has ended, from a watch on its status; of a task that has ended, what
//! it did, from its record.

mod news;
mod results;

use std::path::Path;

use self::news::{label, news, story, summary};
use super::args::{WatchArgs, question_name};
use super::ask;
use super::cluster::Cluster;
use super::command::{self, CommandError, TASK_FAILED, interruptible, print, print_lines, warning};
use super::ended::end;
use super::follow::until;
use super::paint::PaintedLine;
use super::progress::ProgressPrinter;
use super::recorded::{RecordedTask, from_cluster, is_folder, place, read};
use codegen_api::{CodeGenTask, CodeGenTaskSpec, CodeGenTaskStatus};
use codegen_core::stage::Stage;

/// Folder in which `local` leaves its results.
const RESULTS: &str = "codegen-out";

/// Runs the command.
pub(super) fn run(args: &WatchArgs) -> i32 {
    command::run(args.color, async |progress| {
        let watched = interruptible(Box::pin(watch(args, progress)), || {
            "interrupted; the task goes on".to_owned()
        });
        match (args.timeout, &args.name) {
            (Some(limit), Some(name)) => tokio::time::timeout(limit, watched).await.unwrap_or_else(|_| {
                Err(CommandError::failed(format!(
                    "{name} has not ended within the time of --timeout"
                )))
            }),
            _ => watched.await,
        }
    })
}

async fn watch(args: &WatchArgs, progress: &ProgressPrinter) -> Result<i32, CommandError> {
    let Some(name) = args.name.as_deref() else {
        return list(progress).await;
    };
    let question = question_name(name);
    let name = &place(name, &args.cluster).await?;
    if is_folder(name) && question.is_none() {
        return print_story(&read(name, &args.cluster).await?, progress);
    }
    let cluster = Cluster::connect(&args.cluster).await?;
    if let Some(question) = question {
        return ask::watch(&cluster, question, progress).await;
    }
    // A watch of something that is not there would wait for it.
    let task = cluster.task(name).await?;
    if end(&task).is_some() {
        progress.lines(&record_lines(&cluster, name, &task).await);
        return print_end(&task, progress);
    }
    let mut before = CodeGenTaskStatus::default();
    let ended = until(&cluster, name, progress, |task: CodeGenTask| {
        let status = task.status.clone().unwrap_or_default();
        progress.lines(&news(&before, &status));
        if end(&task).is_some() {
            return Some(task);
        }
        progress.run(&label(&status));
        before = status;
        None
    });
    print_end(&ended.await?, progress)
}

async fn list(progress: &ProgressPrinter) -> Result<i32, CommandError> {
    match results::listed(Path::new(RESULTS), progress).await? {
        Some(table) => print(table.as_bytes())?,
        None => progress.lines(&warning(&format!(
            "there are no results in {RESULTS}; kubectl get codegentasks lists the tasks of a cluster"
        ))),
    }
    Ok(0)
}

/// Lines about what a task that has ended did: by its record, or by its status alone where the record cannot be read.
async fn record_lines(cluster: &Cluster, name: &str, task: &CodeGenTask) -> Vec<PaintedLine> {
    let recorded = from_cluster(cluster, name).await;
    recorded
        .and_then(|record| story(&record))
        .unwrap_or_else(|absent| {
            let mut lines = warning(&format!("{absent}; what follows is what its status says"));
            let status = task.status.clone().unwrap_or_default();
            lines.extend(news(&CodeGenTaskStatus::default(), &status));
            lines
        })
}

/// Shows what a task did by its record in a folder.
fn print_story(task: &RecordedTask, progress: &ProgressPrinter) -> Result<i32, CommandError> {
    progress.lines(&story(task)?);
    let mut object = CodeGenTask::new(&task.argument(), CodeGenTaskSpec::default());
    object.status = Some(task.status.clone());
    print_end(&object, progress)
}

fn print_end(task: &CodeGenTask, progress: &ProgressPrinter) -> Result<i32, CommandError> {
    print_lines(progress, summary(task))?;
    Ok(match end(task) {
        Some(Stage::Succeeded) => 0,
        _ => TASK_FAILED,
    })
}
