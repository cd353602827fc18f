//! `kubectl-codegen logs`: what the Pods of a task print, and what its attempts printed, from the record.

mod follow;
mod pods;
mod print;
mod question;
mod run;

use self::follow::follow;
use self::pods::{Containers, forbidden, whole_log};
use self::print::{heading, output};
use self::run::of_run;
use super::args::{Color, LogsArgs, question_name};
use super::cluster::Cluster;
use super::command::{self, CommandError, interruptible, print_as_it_is, warning};
use super::progress::ProgressPrinter;
use super::recorded::{Place, RecordedTask, from_cluster, is_folder, place, read};
use super::text::with_line_end;

/// Runs the command.
pub(super) fn run(args: &LogsArgs) -> i32 {
    command::run(Color::Auto, async |progress| {
        // Whoever follows ends it so.
        interruptible(Box::pin(show(args, progress)), || {
            "interrupted; the task goes on".to_owned()
        })
        .await?;
        Ok(0)
    })
}

async fn show(args: &LogsArgs, progress: &ProgressPrinter) -> Result<(), CommandError> {
    let record = &args.record;
    if let Some(name) = question_name(&record.task) {
        return print_as_it_is(question::logs(name, args, progress).await?.as_bytes());
    }
    let named = place(&record.task, &record.cluster).await?;
    if is_folder(&named) {
        if args.run.is_some() {
            return Err(CommandError::usage(
                "--run names a CodeGenRun, which are in clusters",
            ));
        }
        if args.follow {
            return Err(CommandError::usage(
                "-f follows a task in a cluster; a local run shows what it does itself",
            ));
        }
        let task = read(&named, &record.cluster).await?;
        return print_as_it_is(attempts(&task, args)?.as_bytes());
    }
    let cluster = Cluster::connect(&record.cluster).await?;
    if let Some(run) = &args.run {
        return print_as_it_is(
            of_run(&cluster, &record.task, run, args.follow, progress)
                .await?
                .as_bytes(),
        );
    }
    let task = from_cluster(&cluster, &record.task).await?;
    let is_followed = args.follow && !task.has_ended();
    let mut is_something = false;
    // Whoever follows meets the Pods of builds on the way, each from its beginning.
    if args.attempt.is_none() && !is_followed {
        is_something = build_logs(&cluster, &task, progress).await?;
    }
    match attempts(&task, args) {
        Ok(text) => print_as_it_is(text.as_bytes())?,
        // Whoever may read Pods sees what there is, and learns what else there would be.
        Err(absent) if is_something || is_followed => progress.lines(&warning(&absent.to_string())),
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
) -> Result<bool, CommandError> {
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
                print_as_it_is(format!("{}{}", heading(pod, container), with_line_end(&log)).as_bytes())?;
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
fn attempts(task: &RecordedTask, args: &LogsArgs) -> Result<String, CommandError> {
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

    fn printed(task: &RecordedTask, line: &str) -> Result<String, CommandError> {
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
        let absent = printed(&private, "").unwrap_err();
        assert!(absent.to_string().contains("SchemaOnly"), "{absent}");
        for line in ["", "--all"] {
            let absent = printed(&withheld(), line).unwrap_err();
            assert!(absent.to_string().contains("right to get Secrets"), "{absent}");
        }
    }

    #[test]
    fn all_attempts_of_a_task_without_one_are_none_recorded_yet() {
        let mut task = recorded();
        task.documents.clear();
        let absent = printed(&task, "--all").unwrap_err();
        assert!(absent.to_string().contains("recorded yet"), "{absent}");
    }
}
