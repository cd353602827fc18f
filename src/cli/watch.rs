//! `kubectl-codegen watch`: what a task or a question does until it has ended, from a watch on its status; of a task that has ended, what
//! it did, from its record.

mod news;
mod results;

use std::path::Path;
use std::pin::pin;

use futures::StreamExt as _;

use self::news::{TaskEnd, end, label, news, story, summary};
use super::args::{WatchArgs, question_name};
use super::ask;
use super::cluster::Cluster;
use super::command::{TASK_FAILED, USAGE, fail, runtime, warning};
use super::ended::Absent;
use super::follow::{Change, changes};
use super::paint::PaintedLine;
use super::progress::ProgressPrinter;
use super::recorded::{RecordedTask, from_cluster, is_folder, read};
use crate::local::interrupt::INTERRUPTED;
use codegen_api::status::CodeGenTaskStatus;
use codegen_api::{CodeGenTask, CodeGenTaskSpec};

/// Folder in which `local` leaves its results.
const RESULTS: &str = "codegen-out";

/// Runs the command.
pub(super) fn run(args: &WatchArgs) -> i32 {
    let progress = ProgressPrinter::new(args.color);
    let runtime = match runtime() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&progress, &format!("cannot start: {error}"), TASK_FAILED),
    };
    runtime.block_on(async {
        let watched = Box::pin(watch(args, &progress));
        let watching = async {
            match (args.timeout, &args.name) {
                (Some(limit), Some(name)) => {
                    tokio::time::timeout(limit, watched).await.unwrap_or_else(|_| {
                        let message = format!("{name} has not ended within the time of --timeout");
                        Err(Absent::new(message, TASK_FAILED))
                    })
                }
                _ => watched.await,
            }
        };
        tokio::select! {
            watched = watching => watched.unwrap_or_else(|Absent { message, code }| {
                progress.stop();
                fail(&progress, &message, code)
            }),
            _ = tokio::signal::ctrl_c() => {
                progress.stop();
                INTERRUPTED
            }
        }
    })
}

async fn watch(args: &WatchArgs, progress: &ProgressPrinter) -> Result<i32, Absent> {
    let Some(name) = args.name.as_deref() else {
        return list(progress).await;
    };
    let question = question_name(name);
    if is_folder(name) && question.is_none() {
        return print_story(&read(name, &args.cluster).await?, progress);
    }
    let wrong = |message| Absent::new(message, USAGE);
    let cluster = Cluster::connect(&args.cluster).await.map_err(wrong)?;
    if let Some(question) = question {
        return ask::watch(&cluster, question, progress).await;
    }
    // A watch of something that is not there would wait for it.
    let task = cluster.task(name).await.map_err(wrong)?;
    if end(&task).is_some() {
        progress.lines(&record_lines(&cluster, name, &task).await);
        return print_end(&task, progress);
    }
    match shown(&cluster, name, progress).await {
        Some(ended) => print_end(&ended, progress),
        None => Err(Absent::new(
            format!("{name} was deleted before it had ended"),
            TASK_FAILED,
        )),
    }
}

async fn list(progress: &ProgressPrinter) -> Result<i32, Absent> {
    match results::listed(Path::new(RESULTS), progress).await? {
        Some(table) => print(&table)?,
        None => progress.lines(&warning(&format!(
            "there are no results in {RESULTS}; kubectl get codegentasks lists the tasks of a cluster"
        ))),
    }
    Ok(0)
}

fn print(text: &str) -> Result<(), Absent> {
    super::print(text.as_bytes())
        .map_err(|error| Absent::new(format!("cannot write to stdout: {error}"), TASK_FAILED))
}

/// Shows what is new until the task has ended, and gives it as it is then; `None` when it is deleted before.
async fn shown(cluster: &Cluster, name: &str, progress: &ProgressPrinter) -> Option<CodeGenTask> {
    let mut changes = pin!(changes(cluster.tasks(), name));
    let mut before = CodeGenTaskStatus::default();
    while let Some(change) = changes.next().await {
        match change {
            Change::Seen(task) => {
                let status = task.status.clone().unwrap_or_default();
                progress.lines(&news(&before, &status));
                if end(&task).is_some() {
                    progress.stop();
                    return Some(task);
                }
                progress.run(&label(&status));
                before = status;
            }
            Change::Deleted => break,
            Change::CutOff(message) => progress.lines(&warning(&message)),
        }
    }
    progress.stop();
    None
}

/// Lines about what a task that has ended did: by its record, or by its status alone where the record cannot be read.
async fn record_lines(cluster: &Cluster, name: &str, task: &CodeGenTask) -> Vec<PaintedLine> {
    let recorded = from_cluster(cluster, name).await;
    recorded
        .and_then(|record| story(&record))
        .unwrap_or_else(|absent| {
            let mut lines = warning(&format!(
                "{}; what follows is what its status says",
                absent.message
            ));
            let status = task.status.clone().unwrap_or_default();
            lines.extend(news(&CodeGenTaskStatus::default(), &status));
            lines
        })
}

/// Shows what a task did by its record in a folder.
fn print_story(task: &RecordedTask, progress: &ProgressPrinter) -> Result<i32, Absent> {
    progress.lines(&story(task)?);
    let mut object = CodeGenTask::new(&task.argument(), CodeGenTaskSpec::default());
    object.status = Some(task.status.clone());
    print_end(&object, progress)
}

fn print_end(task: &CodeGenTask, progress: &ProgressPrinter) -> Result<i32, Absent> {
    let text: String = summary(task)
        .iter()
        .map(|line| super::paint::paint(line, progress.colours_stdout()) + "\n")
        .collect();
    print(&text)?;
    Ok(match end(task) {
        Some(TaskEnd::Succeeded) => 0,
        Some(TaskEnd::Failed) | None => TASK_FAILED,
    })
}
