//! `kubectl-codegen list`: tasks, runs and questions of a cluster, or the results on this machine, with filters.

mod listed;

use std::fs;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde_json::Value;

use self::listed::Listed;
use super::args::{Color, ListArgs, ListFormat, ListKind};
use super::cluster::Cluster;
use super::command::{TASK_FAILED, USAGE, fail, runtime, warning};
use super::progress::ProgressPrinter;
use super::recorded::{from_folder, is_result};
use super::table::{Listing, NONE, age, cell};

/// Widest reason of a table.
const REASON_COLUMNS: usize = 24;

/// Runs the command.
pub(super) fn run(args: &ListArgs) -> i32 {
    let progress = ProgressPrinter::new(Color::Auto);
    let runtime = match runtime() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&progress, &format!("cannot start: {error}"), TASK_FAILED),
    };
    let found = runtime.block_on(async {
        match &args.folder {
            Some(folder) => in_folder(folder, &progress).await,
            None => in_cluster(args).await,
        }
    });
    let mut found = match found {
        Ok(found) => found,
        Err(message) => return fail(&progress, &message, USAGE),
    };
    found.retain(|one| is_wanted(one, args));
    if found.is_empty() && matches!(args.format, ListFormat::Table | ListFormat::Wide) {
        progress.lines(&warning(&nothing(args)));
        return 0;
    }
    let listing = listing(&found, args, Timestamp::now());
    match super::print_as_it_is(listing.print(args.format, &Value::Null).as_bytes()) {
        Ok(()) => 0,
        Err(error) => fail(
            &progress,
            &format!("cannot write to stdout: {error}"),
            TASK_FAILED,
        ),
    }
}

async fn in_cluster(args: &ListArgs) -> Result<Vec<Listed>, String> {
    let cluster = Cluster::connect(&args.cluster).await?;
    listed(&cluster, args).await
}

/// The objects of the kinds that are wanted, kind after kind.
async fn listed(cluster: &Cluster, args: &ListArgs) -> Result<Vec<Listed>, String> {
    let (all, labels) = (args.all_namespaces, args.selector.as_deref());
    let mut found = Vec::new();
    for kind in &args.kind {
        match kind {
            ListKind::Task => {
                let tasks = cluster.list(all, labels).await?;
                found.extend(tasks.into_iter().map(Listed::of_task));
            }
            ListKind::Run => {
                let runs = cluster.list(all, labels).await?;
                found.extend(runs.into_iter().map(Listed::of_run));
            }
            ListKind::Question => {
                let questions = cluster.list(all, labels).await?;
                found.extend(questions.into_iter().map(Listed::of_question));
            }
        }
    }
    Ok(found)
}

/// The result that `folder` is, or those that lie in it.
async fn in_folder(folder: &Path, progress: &ProgressPrinter) -> Result<Vec<Listed>, String> {
    let mut found = Vec::new();
    for place in results_in(folder)? {
        match from_folder(&place).await {
            Ok(task) => {
                if let Some(elsewhere) = &task.foreign {
                    progress.lines(&warning(elsewhere));
                }
                found.push(Listed::of_folder(task));
            }
            // One that is damaged hides no other.
            Err(absent) => progress.lines(&warning(&absent.message)),
        }
    }
    Ok(found)
}

fn results_in(folder: &Path) -> Result<Vec<PathBuf>, String> {
    if is_result(folder) {
        return Ok(vec![folder.to_owned()]);
    }
    let unreadable = |error| format!("cannot read {}: {error}", folder.display());
    let mut places = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let place = entry.map_err(unreadable)?.path();
        if is_result(&place) {
            places.push(place);
        }
    }
    places.sort();
    Ok(places)
}

fn is_wanted(one: &Listed, args: &ListArgs) -> bool {
    let reason = one.reason.as_deref().unwrap_or_default();
    is_one_of(&one.stage, &args.stage)
        && is_one_of(reason, &args.reason)
        && (args.agent.is_none() || args.agent == one.agent)
}

/// Reports whether a word is among those that are wanted, in either case; nothing wanted means everything.
fn is_one_of(word: &str, wanted: &[String]) -> bool {
    wanted.is_empty() || wanted.iter().any(|one| one.eq_ignore_ascii_case(word))
}

/// Says why the list is empty.
fn nothing(args: &ListArgs) -> String {
    let filters =
        !args.stage.is_empty() || !args.reason.is_empty() || args.agent.is_some() || args.selector.is_some();
    let kinds: Vec<&str> = args.kind.iter().map(|kind| kind.plural()).collect();
    let what = match kinds.as_slice() {
        [one] if filters => format!("no {} is so", one.trim_end_matches('s')),
        _ if filters => format!("none of the {} is so", kinds.join(", ")),
        _ => format!("there are no {}", kinds.join(", ")),
    };
    match &args.folder {
        Some(folder) => format!("{what} in {}", folder.display()),
        None if args.all_namespaces => format!("{what} in any namespace"),
        None => format!("{what} in this namespace; -A lists those of all namespaces"),
    }
}

fn listing(found: &[Listed], args: &ListArgs, now: Timestamp) -> Listing {
    let is_wide = args.format == ListFormat::Wide;
    let mut header = vec!["NAME", "STAGE", "REASON", "ATTEMPT", "TESTS", "TOKENS", "AGE"];
    if args.all_namespaces {
        header.insert(0, "NAMESPACE");
    }
    if is_wide {
        header.extend(["AGENT", "CALLS", "PROGRAM", "MESSAGE"]);
    }
    let row = |one: &Listed| {
        let reason = one.reason.as_deref();
        let mut row = vec![
            one.name.clone(),
            one.stage.clone(),
            or_none(reason.map(|reason| cell(reason, REASON_COLUMNS, args.format))),
            or_none(one.attempt.map(|attempt| attempt.to_string())),
            or_none(one.tests.clone()),
            one.tokens.to_string(),
            or_none(one.since.map(|since| age(now.duration_since(since).as_secs()))),
        ];
        if args.all_namespaces {
            row.insert(0, one.namespace.clone().unwrap_or_default());
        }
        if is_wide {
            row.extend([
                or_none(one.agent.clone()),
                one.calls.to_string(),
                or_none(one.image.clone()),
                or_none(one.message.clone()),
            ]);
        }
        row
    };
    Listing {
        header,
        rows: found.iter().map(row).collect(),
        names: found.iter().map(|one| one.full_name.clone()).collect(),
        items: found.iter().map(|one| one.document.clone()).collect(),
    }
}

fn or_none(text: Option<String>) -> String {
    text.filter(|text| !text.is_empty())
        .unwrap_or_else(|| NONE.to_owned())
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use insta::assert_snapshot;
    use serde_json::json;

    use super::*;
    use crate::cli::args::{Cli, Command};

    fn args(line: &str) -> Box<ListArgs> {
        let words = ["kubectl-codegen", "list"]
            .into_iter()
            .chain(line.split_whitespace());
        match Cli::try_parse_from(words).unwrap().command {
            Command::List(args) => args,
            other => panic!("{other:?}"),
        }
    }

    fn task(name: &str, agent: Option<&str>, status: &Value) -> Listed {
        let task = json!({
            "apiVersion": "codegen-operator.dev/v1alpha1", "kind": "CodeGenTask",
            "metadata": {
                "name": name, "namespace": "data", "creationTimestamp": "2026-01-02T03:04:05Z",
                "managedFields": [{"manager": "kubectl"}],
            },
            "spec": {"prompt": "Add.", "agentRef": agent.map(|name| json!({"name": name}))},
            "status": status,
        });
        Listed::of_task(serde_json::from_value(task).unwrap())
    }

    fn question() -> Listed {
        let question = json!({
            "apiVersion": "codegen-operator.dev/v1alpha1", "kind": "CodeModeRun",
            "metadata": {"name": "march", "namespace": "data", "creationTimestamp": "2026-01-02T03:04:05Z"},
            "spec": {"agentRef": {"name": "shop"}, "message": "How much?"},
            "status": {
                "stage": "Succeeded", "reason": "Answered", "attempt": 2, "modelCalls": 2,
                "tokens": {"input": 900, "output": 100, "total": 1_000},
                "message": "577.88\u{1b}[2J\nevil   Succeeded",
            },
        });
        Listed::of_question(serde_json::from_value(question).unwrap())
    }

    fn run() -> Listed {
        let run = json!({
            "apiVersion": "codegen-operator.dev/v1alpha1", "kind": "CodeGenRun",
            "metadata": {"name": "today", "namespace": "data", "creationTimestamp": "2026-01-02T03:04:05Z"},
            "spec": {"taskRef": {"name": "sum"}}, "status": {"stage": "Running", "reason": "Running"},
        });
        Listed::of_run(serde_json::from_value(run).unwrap())
    }

    fn tasks() -> Vec<Listed> {
        vec![
            task("new", None, &Value::Null),
            task(
                "sum",
                Some("shared"),
                &json!({
                    "stage": "Failed", "reason": "IterationsExhausted", "attempt": 10, "tests": "5/6", "modelCalls": 31,
                    "tokens": {"input": 60_000, "output": 9_000, "total": 69_000},
                    "message": "10 attempts failed\u{1b}[2J: raise limits.maxIterations",
                }),
            ),
        ]
    }

    fn printed(line: &str) -> String {
        let args = args(line);
        let mut all = Vec::new();
        for kind in &args.kind {
            all.extend(match kind {
                ListKind::Task => tasks(),
                ListKind::Run => vec![run()],
                ListKind::Question => vec![question()],
            });
        }
        all.retain(|one| is_wanted(one, &args));
        let now = "2026-01-02T05:04:05Z".parse().unwrap();
        listing(&all, &args, now).print(args.format, &Value::Null)
    }

    #[test]
    fn a_list_has_the_columns_of_kubectl_get_and_more_where_it_is_wide() {
        assert_snapshot!(format!("{}\n{}", printed(""), printed("-A -o wide")));
    }

    #[test]
    fn questions_and_runs_stand_among_tasks_under_the_names_that_commands_take() {
        assert_snapshot!(printed("--kind task,run,question -o wide"));
    }

    #[test]
    fn questions_are_filtered_as_tasks_are() {
        for (line, names) in [
            (
                "--kind question --agent shop",
                "codemoderun.codegen-operator.dev/march\n",
            ),
            (
                "--kind task,question --stage succeeded",
                "codemoderun.codegen-operator.dev/march\n",
            ),
            (
                "--kind run,question --stage running",
                "codegenrun.codegen-operator.dev/today\n",
            ),
            ("--kind question --reason queued", ""),
        ] {
            assert_eq!(printed(&format!("{line} -o name")), names, "{line}");
        }
    }

    #[test]
    fn an_empty_list_says_of_what_it_is() {
        assert!(nothing(&args("")).starts_with("there are no tasks in this namespace"));
        assert!(nothing(&args("--kind question")).starts_with("there are no questions in"));
        assert!(nothing(&args("--kind question --agent x")).starts_with("no question is so in"));
        assert!(
            nothing(&args("--kind run,question --agent x")).starts_with("none of the runs, questions is so")
        );
    }

    #[test]
    fn filters_are_by_stage_reason_and_agent_in_either_case() {
        for (line, names) in [
            ("--stage failed -o name", "codegentask.codegen-operator.dev/sum\n"),
            (
                "--stage pending -o name",
                "codegentask.codegen-operator.dev/new\n",
            ),
            (
                "--stage Pending,Failed --agent shared -o name",
                "codegentask.codegen-operator.dev/sum\n",
            ),
            (
                "--reason iterationsexhausted -o name",
                "codegentask.codegen-operator.dev/sum\n",
            ),
            ("--reason Queued -o name", ""),
            ("--agent another -o name", ""),
        ] {
            assert_eq!(printed(line), names, "{line}");
        }
    }

    #[test]
    fn documents_are_those_of_the_cluster_without_who_wrote_which_field() {
        let list: Value = serde_json::from_str(&printed("-o json")).unwrap();
        assert_eq!(list["items"][1]["status"]["reason"], "IterationsExhausted");
        assert_eq!(list["items"][1]["metadata"].get("managedFields"), None);
    }
}
