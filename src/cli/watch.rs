//! `kubectl-codegen watch`: what a task in a cluster does, from a watch on its status, until it has ended.

mod news;

use std::pin::pin;

use futures::StreamExt as _;

use self::news::{TaskEnd, end, label, news, summary};
use super::args::WatchArgs;
use super::cluster::Cluster;
use super::command::{TASK_FAILED, USAGE, fail, runtime, warning};
use super::follow::{Change, changes};
use super::progress::ProgressPrinter;
use crate::local::interrupt::INTERRUPTED;
use codegen_api::CodeGenTask;
use codegen_api::status::CodeGenTaskStatus;

/// Runs the command.
pub(super) fn run(args: &WatchArgs) -> i32 {
    let progress = ProgressPrinter::new(args.color);
    let runtime = match runtime() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&progress, &format!("cannot start: {error}"), TASK_FAILED),
    };
    runtime.block_on(async {
        let watching = async {
            match args.timeout {
                None => follow(args, &progress).await,
                Some(limit) => tokio::time::timeout(limit, follow(args, &progress))
                    .await
                    .unwrap_or_else(|_| {
                        progress.stop();
                        let message =
                            format!("{} has not ended within the time of --timeout", args.task.name);
                        fail(&progress, &message, TASK_FAILED)
                    }),
            }
        };
        tokio::select! {
            code = watching => code,
            _ = tokio::signal::ctrl_c() => {
                progress.stop();
                INTERRUPTED
            }
        }
    })
}

async fn follow(args: &WatchArgs, progress: &ProgressPrinter) -> i32 {
    let cluster = match Cluster::connect(&args.task.cluster).await {
        Ok(cluster) => cluster,
        Err(message) => return fail(progress, &message, USAGE),
    };
    // A watch of something that is not there would wait for it.
    if let Err(message) = cluster.task(&args.task.name).await {
        return fail(progress, &message, USAGE);
    }
    if let Some(ended) = shown(&cluster, &args.task.name, progress).await {
        return print_end(&ended, progress);
    }
    let message = format!("{} was deleted before it had ended", args.task.name);
    fail(progress, &message, TASK_FAILED)
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

fn print_end(task: &CodeGenTask, progress: &ProgressPrinter) -> i32 {
    let text: String = summary(task)
        .iter()
        .map(|line| super::paint::paint(line, progress.colours_stdout()) + "\n")
        .collect();
    if let Err(error) = super::print(text.as_bytes()) {
        return fail(progress, &format!("cannot write to stdout: {error}"), TASK_FAILED);
    }
    match end(task) {
        Some(TaskEnd::Succeeded) => 0,
        Some(TaskEnd::Failed) | None => TASK_FAILED,
    }
}
