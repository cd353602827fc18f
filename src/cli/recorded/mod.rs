//! Record of a task, in a cluster or in a folder: one type for every command that shows it.

mod cluster;
mod folder;
mod question;
mod task;

use std::path::{Path, PathBuf};
use std::time::Duration;

pub(super) use self::cluster::from_cluster;
pub(super) use self::folder::{from_folder, is_result};
pub(super) use self::question::{AnsweringProgram, RecordedQuestion, question_from_cluster};
pub(super) use self::task::{Place, RecordedTask, Sources, model_of};
use super::args::{ClusterArgs, Color, question_name};
use super::cluster::{Cluster, refuse_question};
use super::command::{CommandError, warning};
use super::paint::{Mark, PaintedLine};
use super::progress::ProgressPrinter;
use crate::local::folder::{DEFAULT_OUTPUT, RevisionFolder};
use codegen_api::CodeGenTask;

/// Time in which a cluster says whether it has a task that has the name of a result on this machine.
const ANSWER: Duration = Duration::from_secs(3);

/// Reports whether a task is named by the folder of its results. No name in a cluster has a slash.
pub(super) fn is_folder(task: &str) -> bool {
    task.contains('/') || matches!(task, "." | "..")
}

/// The folder of the results that a bare name means, else the name itself: that of an object in a cluster. A name that is both here and
/// there is refused, and a folder of somebody else is never what a name means.
pub(super) async fn place(name: &str, args: &ClusterArgs) -> Result<String, CommandError> {
    let names_a_cluster = args.namespace.is_some() || args.context.is_some() || args.kubeconfig.is_some();
    if is_folder(name) || question_name(name).is_some() || names_a_cluster {
        return Ok(name.to_owned());
    }
    let is_own = |folder: &PathBuf| {
        let latest = RevisionFolder::latest(folder).ok().flatten();
        latest.is_some_and(|revision| !revision.is_foreign())
    };
    let folders = [Path::new(".").join(name), Path::new(DEFAULT_OUTPUT).join(name)];
    let Some(folder) = folders.into_iter().find(is_own) else {
        return Ok(name.to_owned());
    };
    let folder = folder.display().to_string();
    if let Ok(cluster) = Cluster::connect(args).await
        && let Ok(Ok(Some(_))) =
            tokio::time::timeout(ANSWER, cluster.api::<CodeGenTask>().get_opt(name)).await
    {
        let namespace = &cluster.namespace;
        return Err(CommandError::usage(format!(
            "{name} is a result on this machine and a task in namespace {namespace}: name {folder}, or give --namespace {namespace}"
        )));
    }
    ProgressPrinter::new(Color::Auto).lines(&[PaintedLine::new(Mark::Detail, format!("{name}: {folder}"))]);
    Ok(folder)
}

/// The record of the task that a command line names, to be shown: of one that was made elsewhere it says so.
pub(super) async fn read(task: &str, cluster: &ClusterArgs) -> Result<RecordedTask, CommandError> {
    refuse_question(task)?;
    let task = &place(task, cluster).await?;
    if !is_folder(task) {
        return from_cluster(&Cluster::connect(cluster).await?, task).await;
    }
    let recorded = from_folder(Path::new(task)).await?;
    if let Some(elsewhere) = &recorded.foreign {
        ProgressPrinter::new(Color::Auto).lines(&warning(elsewhere));
    }
    Ok(recorded)
}

#[cfg(test)]
pub(super) mod fixture;
#[cfg(test)]
mod tests;
