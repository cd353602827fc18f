//! Record of a task, in a cluster or in a folder: one type for every command that shows it.

mod cluster;
mod folder;
mod question;
mod task;

use std::path::Path;

pub(super) use self::cluster::from_cluster;
pub(super) use self::folder::{from_folder, is_result};
pub(super) use self::question::{
    AnsweringProgram, RecordedQuestion, question_from_cluster, question_records,
};
pub(super) use self::task::{Place, RecordedTask, Sources, model_of};
use super::args::{ClusterArgs, Color, question_name};
use super::cluster::Cluster;
use super::command::{CommandError, warning};
use super::progress::ProgressPrinter;

/// Reports whether a task is named by the folder of its results. No name in a cluster has a slash.
pub(super) fn is_folder(task: &str) -> bool {
    task.contains('/') || matches!(task, "." | "..")
}

/// The record of the task that a command line names, to be shown: of one that was made elsewhere it says so.
pub(super) async fn read(task: &str, cluster: &ClusterArgs) -> Result<RecordedTask, CommandError> {
    let recorded = find(task, cluster).await?;
    if let Some(elsewhere) = &recorded.foreign {
        ProgressPrinter::new(Color::Auto).lines(&warning(elsewhere));
    }
    Ok(recorded)
}

/// The record of the task that a command line names.
pub(super) async fn find(task: &str, cluster: &ClusterArgs) -> Result<RecordedTask, CommandError> {
    if let Some(name) = question_name(task) {
        let message = format!(
            "{name} is a question, and this is about tasks: watch, code, logs, cost and export take questions"
        );
        return Err(CommandError::usage(message));
    }
    if is_folder(task) {
        return from_folder(Path::new(task)).await;
    }
    let cluster = Cluster::connect(cluster).await?;
    from_cluster(&cluster, task).await
}

#[cfg(test)]
pub(super) mod fixture;
#[cfg(test)]
mod tests;
