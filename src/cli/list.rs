//! `kubectl-codegen list`: the tasks of a cluster, or the results on this machine, with filters.

use std::fs;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde_json::{Value, json};

use super::args::{Color, ListArgs, ListFormat, PENDING};
use super::cluster::Cluster;
use super::command::{TASK_FAILED, USAGE, fail, runtime, warning};
use super::progress::Progress;
use super::recorded::{from_folder, is_result};
use super::table::{Listing, NONE, age, cell};
use crate::api::status::CodeGenTaskStatus;
use crate::api::{CodeGenTask, GROUP, VERSION};

/// Widest reason of a table.
const REASON_COLUMNS: usize = 24;

/// Runs the command.
pub(super) fn run(args: &ListArgs) -> i32 {
    let progress = Progress::new(Color::Auto);
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
    found.retain(|task| is_wanted(task, args));
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

/// A task of a list.
struct Listed {
    /// `None` on this machine.
    namespace: Option<String>,
    /// On this machine its folder, which commands take.
    name: String,
    agent: Option<String>,
    since: Option<Timestamp>,
    status: CodeGenTaskStatus,
    /// For scripts.
    document: Value,
}

impl Listed {
    fn stage(&self) -> &str {
        self.status.stage.as_deref().unwrap_or(PENDING)
    }
}

async fn in_cluster(args: &ListArgs) -> Result<Vec<Listed>, String> {
    let cluster = Cluster::connect(&args.cluster).await?;
    let tasks = cluster
        .list(args.all_namespaces, args.selector.as_deref())
        .await?;
    Ok(tasks.into_iter().map(of_cluster).collect())
}

fn of_cluster(mut task: CodeGenTask) -> Listed {
    // Who wrote which field is of no use to anybody here.
    task.metadata.managed_fields = None;
    let metadata = &task.metadata;
    Listed {
        namespace: metadata.namespace.clone(),
        name: metadata.name.clone().unwrap_or_default(),
        agent: task.spec.agent_ref.as_ref().map(|agent| agent.name.clone()),
        since: metadata.creation_timestamp.as_ref().map(|time| time.0),
        status: task.status.clone().unwrap_or_default(),
        document: serde_json::to_value(&task).unwrap_or_default(),
    }
}

/// The result that `folder` is, or those that lie in it.
async fn in_folder(folder: &Path, progress: &Progress) -> Result<Vec<Listed>, String> {
    let mut found = Vec::new();
    for place in results_in(folder)? {
        match from_folder(&place).await {
            Ok(task) => {
                let name = task.argument();
                found.push(Listed {
                    namespace: None,
                    since: task.progress.as_ref().map(|progress| progress.started_at),
                    agent: None,
                    document: json!({
                        "apiVersion": format!("{GROUP}/{VERSION}"), "kind": "CodeGenTask",
                        "metadata": {"name": task.name}, "folder": name, "status": task.status,
                    }),
                    status: task.status,
                    name,
                });
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

fn is_wanted(task: &Listed, args: &ListArgs) -> bool {
    let reason = task.status.reason.as_deref().unwrap_or_default();
    is_one_of(task.stage(), &args.stage)
        && is_one_of(reason, &args.reason)
        && (args.agent.is_none() || args.agent == task.agent)
}

/// Whether a word is among those that are wanted, in either case; nothing wanted means everything.
fn is_one_of(word: &str, wanted: &[String]) -> bool {
    wanted.is_empty() || wanted.iter().any(|one| one.eq_ignore_ascii_case(word))
}

/// Why the list is empty.
fn nothing(args: &ListArgs) -> String {
    let filters =
        !args.stage.is_empty() || !args.reason.is_empty() || args.agent.is_some() || args.selector.is_some();
    let what = if filters {
        "no task is so"
    } else {
        "there are no tasks"
    };
    match &args.folder {
        Some(folder) => format!("{what} in {}", folder.display()),
        None if args.all_namespaces => format!("{what} in any namespace"),
        None => format!("{what} in this namespace; -A lists those of all namespaces"),
    }
}

fn listing(tasks: &[Listed], args: &ListArgs, now: Timestamp) -> Listing {
    let is_wide = args.format == ListFormat::Wide;
    let mut header = vec!["NAME", "STAGE", "REASON", "ATTEMPT", "TESTS", "TOKENS", "AGE"];
    if args.all_namespaces {
        header.insert(0, "NAMESPACE");
    }
    if is_wide {
        header.extend(["AGENT", "CALLS", "PROGRAM", "MESSAGE"]);
    }
    let row = |task: &Listed| {
        let status = &task.status;
        let mut row = vec![
            task.name.clone(),
            task.stage().to_owned(),
            or_none(
                status
                    .reason
                    .as_deref()
                    .map(|reason| cell(reason, REASON_COLUMNS, args.format)),
            ),
            or_none(status.attempt.map(|attempt| attempt.to_string())),
            or_none(status.tests.clone()),
            status.tokens.total.to_string(),
            or_none(task.since.map(|since| age(now.duration_since(since).as_secs()))),
        ];
        if args.all_namespaces {
            row.insert(0, task.namespace.clone().unwrap_or_default());
        }
        if is_wide {
            row.extend([
                or_none(task.agent.clone()),
                status.model_calls.to_string(),
                or_none(status.program_image.clone()),
                or_none(status.message.clone()),
            ]);
        }
        row
    };
    let name = |task: &Listed| match task.namespace {
        // As kubectl names objects.
        Some(_) => format!("codegentask.{GROUP}/{}", task.name),
        None => task.name.clone(),
    };
    Listing {
        header,
        rows: tasks.iter().map(row).collect(),
        names: tasks.iter().map(name).collect(),
        items: tasks.iter().map(|task| task.document.clone()).collect(),
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
        of_cluster(serde_json::from_value(task).unwrap())
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
        let mut tasks = tasks();
        tasks.retain(|task| is_wanted(task, &args));
        let now = "2026-01-02T05:04:05Z".parse().unwrap();
        listing(&tasks, &args, now).print(args.format, &Value::Null)
    }

    #[test]
    fn a_list_has_the_columns_of_kubectl_get_and_more_where_it_is_wide() {
        assert_snapshot!(format!("{}\n{}", printed(""), printed("-A -o wide")));
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
