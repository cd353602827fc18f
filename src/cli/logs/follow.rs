//! Follows a task: the logs of its builds as they are printed, the output of its attempts as they end.

use std::collections::BTreeSet;
use std::pin::pin;

use futures::stream::{LocalBoxStream, SelectAll};
use futures::{AsyncBufReadExt as _, FutureExt as _, StreamExt as _, stream};
use k8s_openapi::api::core::v1::Pod;
use kube::api::LogParams;
use kube::runtime::{WatchStreamExt as _, watcher};

use super::pods::{Containers, forbidden, selector};
use super::print::{heading, output};
use crate::cli::cluster::Cluster;
use crate::cli::command::{CommandError, print_as_it_is, warning};
use crate::cli::ended::end;
use crate::cli::follow::{Change, changes, deleted};
use crate::cli::progress::ProgressPrinter;
use crate::cli::recorded::{Place, RecordedTask, from_cluster};
use codegen_api::CodeGenTask;
use codegen_core::causes::with_causes;

/// A line of a container, or why there are no more.
struct LogLine {
    pod: String,
    container: String,
    line: Result<String, String>,
}

/// Output that has been shown so far.
struct Shown {
    /// Pods and containers whose logs are followed.
    logs: BTreeSet<(String, String)>,
    /// The container whose line was printed last.
    last: Option<(String, String)>,
    /// Attempts that were printed, or are older than the command.
    attempts: BTreeSet<u32>,
}

/// Prints what comes until the task has ended.
pub(super) async fn follow(
    cluster: &Cluster,
    task: &RecordedTask,
    progress: &ProgressPrinter,
) -> Result<(), CommandError> {
    let Place::Cluster { object, .. } = &task.place else {
        return Ok(());
    };
    let uid = object.metadata.uid.clone().unwrap_or_default();
    let mut changes = pin!(changes::<CodeGenTask>(cluster, &task.name));
    let its = watcher::Config::default().labels(&selector(&uid));
    let mut pods = pin!(
        watcher(cluster.api::<Pod>(), its)
            .default_backoff()
            .applied_objects()
    );
    let mut lines: SelectAll<LocalBoxStream<'static, LogLine>> = SelectAll::new();
    let mut shown = Shown {
        logs: BTreeSet::new(),
        last: None,
        attempts: task.attempts().into_iter().collect(),
    };
    let mut complaint = String::new();
    loop {
        tokio::select! {
            Some(line) = lines.next() => shown.print_line(line, progress)?,
            Some(pod) = pods.next() => match pod {
                Ok(pod) => shown.add_logs(cluster, &pod, &mut lines),
                Err(error) => say_once(&mut complaint, forbidden_watch(error, cluster), progress),
            },
            Some(change) = changes.next() => match change {
                Change::Seen(task) => {
                    shown.print_attempts(cluster, &task, progress).await?;
                    if end(&task).is_some() {
                        break;
                    }
                }
                Change::Deleted => return Err(deleted(&task.name)),
                Change::CutOff(message) => progress.lines(&warning(&message)),
            },
            else => break,
        }
    }
    // What has come already; a build that goes on is for other tasks.
    while let Some(Some(line)) = lines.next().now_or_never() {
        shown.print_line(line, progress)?;
    }
    Ok(())
}

fn forbidden_watch(error: watcher::Error, cluster: &Cluster) -> String {
    match error {
        watcher::Error::InitialListFailed(error) | watcher::Error::WatchStartFailed(error) => {
            forbidden(&error, cluster)
        }
        error => format!("the cluster does not answer, trying again: {error}"),
    }
}

/// A watch is tried again and again, and would say the same each time.
fn say_once(before: &mut String, message: String, progress: &ProgressPrinter) {
    if *before != message {
        progress.lines(&warning(&message));
        *before = message;
    }
}

impl Shown {
    fn print_line(&mut self, line: LogLine, progress: &ProgressPrinter) -> Result<(), CommandError> {
        let LogLine { pod, container, line } = line;
        let line = match line {
            Ok(line) => line,
            Err(message) => {
                progress.lines(&warning(&message));
                return Ok(());
            }
        };
        let mut text = String::new();
        let of = Some((pod, container));
        if self.last != of {
            if let Some((pod, container)) = &of {
                text = heading(pod, container);
            }
            self.last = of;
        }
        print_as_it_is(format!("{text}{line}\n").as_bytes())
    }

    /// Follows the containers of a Pod that have begun, each from its beginning.
    fn add_logs(
        &mut self,
        cluster: &Cluster,
        pod: &Pod,
        lines: &mut SelectAll<LocalBoxStream<'static, LogLine>>,
    ) {
        for (pod, container) in Containers::of(pod).started() {
            if self.logs.insert((pod.to_owned(), container.to_owned())) {
                lines.push(log_lines(cluster, pod.to_owned(), container.to_owned()));
            }
        }
    }

    /// Prints the attempts that have ended since.
    async fn print_attempts(
        &mut self,
        cluster: &Cluster,
        task: &CodeGenTask,
        progress: &ProgressPrinter,
    ) -> Result<(), CommandError> {
        let status = task.status.as_ref();
        let ended = status.into_iter().flat_map(|status| &status.attempts);
        let fresh: Vec<u32> = ended
            .filter(|attempt| attempt.completed_at.is_some())
            .filter_map(|attempt| u32::try_from(attempt.number).ok())
            .filter(|number| !self.attempts.contains(number))
            .collect();
        if fresh.is_empty() {
            return Ok(());
        }
        let name = task.metadata.name.as_deref().unwrap_or_default();
        let recorded = from_cluster(cluster, name).await?;
        for number in fresh {
            self.attempts.insert(number);
            self.last = None;
            match output(&recorded, Some(number)) {
                Ok(text) => print_as_it_is(text.as_bytes())?,
                Err(absent) => progress.lines(&warning(&absent.to_string())),
            }
        }
        Ok(())
    }
}

/// The lines of a container until it ends.
fn log_lines(cluster: &Cluster, pod: String, container: String) -> LocalBoxStream<'static, LogLine> {
    let api = cluster.api::<Pod>();
    let namespace = cluster.namespace.clone();
    let which = LogParams {
        container: Some(container.clone()),
        follow: true,
        ..LogParams::default()
    };
    let opened = async move {
        let log = match api.log_stream(&pod, &which).await {
            Ok(log) => log,
            Err(error) => {
                let line = Err(format!(
                    "the log of pod/{pod} in namespace {namespace} cannot be read: {}",
                    with_causes(&error)
                ));
                let line = LogLine { pod, container, line };
                return stream::iter([line]).boxed_local();
            }
        };
        let lines = log.lines().map(move |line| LogLine {
            line: line.map_err(|error| format!("the log of pod/{pod} ends here: {error}")),
            pod: pod.clone(),
            container: container.clone(),
        });
        lines.boxed_local()
    };
    stream::once(opened).flatten().boxed_local()
}
