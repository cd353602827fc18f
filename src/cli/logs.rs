//! `kubectl-codegen logs`: what the Pods of a task print, and what its attempts printed, from the record.

mod follow;
mod pods;
mod print;
mod question;
mod run;

use self::follow::follow;
use self::pods::{Containers, forbidden, whole_log};
use self::print::{heading, output, print, with_line_end};
use self::run::{of_run, of_run_at_its_end};
use super::args::{Color, LogsArgs, question_name};
use super::cluster::Cluster;
use super::command::{TASK_FAILED, USAGE, fail, runtime, warning};
use super::ended::Absent;
use super::progress::ProgressPrinter;
use super::recorded::{Place, RecordedTask, from_cluster, is_folder, read};
use crate::local::interrupt::INTERRUPTED;

/// Runs the command.
pub(super) fn run(args: &LogsArgs) -> i32 {
    let progress = ProgressPrinter::new(Color::Auto);
    let runtime = match runtime() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&progress, &format!("cannot start: {error}"), TASK_FAILED),
    };
    let done = runtime.block_on(async {
        tokio::select! {
            done = show(args, &progress) => done,
            // Whoever follows ends it so.
            _ = tokio::signal::ctrl_c() => Err(Absent::new("interrupted; the task goes on".to_owned(), INTERRUPTED)),
        }
    });
    match done {
        Ok(()) => 0,
        Err(Absent { message, code }) => fail(&progress, &message, code),
    }
}

async fn show(args: &LogsArgs, progress: &ProgressPrinter) -> Result<(), Absent> {
    let wrong = |message: String| Absent::new(message, USAGE);
    let record = &args.record;
    if let Some(name) = question_name(&record.task) {
        return print(&question::logs(name, args, progress).await?);
    }
    if is_folder(&record.task) {
        if args.run.is_some() {
            return Err(wrong(
                "--run names a CodeGenRun, which are in clusters".to_owned(),
            ));
        }
        if args.follow {
            return Err(wrong(
                "-f follows a task in a cluster; a local run shows what it does itself".to_owned(),
            ));
        }
        let task = read(&record.task, &record.cluster).await?;
        return print(&attempts(&task, args)?);
    }
    let cluster = Cluster::connect(&record.cluster).await.map_err(wrong)?;
    if let Some(run) = &args.run {
        return print(&if args.follow {
            of_run_at_its_end(&cluster, &record.task, run, progress).await?
        } else {
            of_run(&cluster, &record.task, run).await?
        });
    }
    let task = from_cluster(&cluster, &record.task).await?;
    let is_followed = args.follow && !task.has_ended();
    let mut is_something = false;
    // Whoever follows meets the Pods of builds on the way, each from its beginning.
    if args.attempt.is_none() && !is_followed {
        is_something = build_logs(&cluster, &task, progress).await?;
    }
    match attempts(&task, args) {
        Ok(text) => print(&text)?,
        // Whoever may read Pods sees what there is, and learns what else there would be.
        Err(absent) if is_something || is_followed => progress.lines(&warning(&absent.message)),
        Err(absent) => return Err(absent),
    }
    if is_followed {
        Box::pin(follow(&cluster, &task, progress)).await?;
    }
    Ok(())
}

/// Prints the logs of the Pods that build for a task and are still there; whether there are any.
async fn build_logs(
    cluster: &Cluster,
    task: &RecordedTask,
    progress: &ProgressPrinter,
) -> Result<bool, Absent> {
    let Place::Cluster { object, .. } = &task.place else {
        return Ok(false);
    };
    let uid = object.metadata.uid.as_deref().unwrap_or_default();
    let pods = match pods::list(cluster, uid).await {
        Ok(pods) => pods,
        Err(error) => {
            progress.lines(&warning(&forbidden(&error, cluster)));
            return Ok(false);
        }
    };
    let containers: Vec<Containers> = pods.iter().map(Containers::of).collect();
    let mut is_something = false;
    for (pod, container) in containers.iter().flat_map(Containers::started) {
        match whole_log(cluster, pod, container).await {
            Ok(log) => {
                is_something = true;
                print(&format!("{}{}", heading(pod, container), with_line_end(&log)))?;
            }
            Err(error) => {
                progress.lines(&warning(&forbidden(&error, cluster)));
                return Ok(is_something);
            }
        }
    }
    Ok(is_something)
}

/// Returns what the attempts printed that are meant.
fn attempts(task: &RecordedTask, args: &LogsArgs) -> Result<String, Absent> {
    let numbers: Vec<Option<u32>> = if args.all {
        task.readable()?.attempts().into_iter().map(Some).collect()
    } else {
        vec![args.attempt]
    };
    if numbers.is_empty() {
        task.attempt(None)?;
    }
    let outputs = numbers.into_iter().map(|number| output(task, number));
    Ok(outputs.collect::<Result<Vec<_>, _>>()?.join("\n"))
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::args::{Cli, Command};
    use crate::cli::recorded::fixture::{recorded, withheld};

    fn printed(task: &RecordedTask, line: &str) -> Result<String, Absent> {
        let words = ["kubectl-codegen", "logs", "words"];
        let words = words.into_iter().chain(line.split_whitespace());
        match Cli::try_parse_from(words).unwrap().command {
            Command::Logs(args) => attempts(task, &args),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_last_attempt_is_shown_or_the_one_that_is_named_or_all() {
        let task = recorded();
        let last = printed(&task, "").unwrap();
        assert!(
            last.contains("attempt 2: ") && !last.contains("attempt 1: "),
            "{last}"
        );
        let first = printed(&task, "--attempt 1").unwrap();
        assert!(first.contains("Failed test_solution.py::test_two"), "{first}");
        let all = printed(&task, "--all").unwrap();
        assert!(
            all.contains("attempt 1: ") && all.contains("attempt 2: "),
            "{all}"
        );
    }

    #[test]
    fn a_run_is_followed_as_a_task_is_and_has_no_attempts() {
        let parsed = |line: &str| {
            let words = ["kubectl-codegen", "logs", "words", "--run", "today"];
            Cli::try_parse_from(words.into_iter().chain(line.split_whitespace())).is_ok()
        };
        assert!(parsed("") && parsed("-f"));
        assert!(!parsed("--all") && !parsed("--attempt 1"));
    }

    #[test]
    fn what_is_private_or_may_not_be_read_is_not_shown() {
        let private = RecordedTask {
            is_private: true,
            ..recorded()
        };
        assert!(printed(&private, "").unwrap_err().message.contains("SchemaOnly"));
        for line in ["", "--all"] {
            let absent = printed(&withheld(), line).unwrap_err();
            assert!(
                absent.message.contains("right to get Secrets"),
                "{}",
                absent.message
            );
        }
    }

    #[test]
    fn all_attempts_of_a_task_without_one_are_none_recorded_yet() {
        let mut task = recorded();
        task.documents.clear();
        assert!(
            printed(&task, "--all")
                .unwrap_err()
                .message
                .contains("recorded yet")
        );
    }
}
