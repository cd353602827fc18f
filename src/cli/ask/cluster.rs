//! A question to an agent in a cluster: a `CodeModeRun` that is made, followed to its end and read.

use std::path::Path;
use std::pin::pin;
use std::sync::OnceLock;

use futures::StreamExt as _;
use kube::api::PostParams;
use kube::{Api, ResourceExt as _};
use serde_json::{Value, json};

use crate::cli::args::{AskArgs, OutputFormat};
use crate::cli::ask::history;
use crate::cli::cluster::{Cluster, refusal};
use crate::cli::command::{TASK_FAILED, USAGE, document, fail, runtime, warning};
use crate::cli::ended::Absent;
use crate::cli::follow::{Change, changes};
use crate::cli::paint::{Mark, PaintedLine};
use crate::cli::progress::ProgressPrinter;
use crate::cli::recorded::question_object;
use crate::cli::render::{approval_awaited, named_paragraph, step};
use crate::cli::summary::calls_by_tool;
use crate::cli::text::{count, thousands};
use crate::cli::{print, print_as_it_is};
use crate::controller::record::records::{CODE_MODE, Records};
use crate::controller::record::unpack::unpack_of;
use crate::local::code_mode::pick::read_history;
use crate::local::interrupt::INTERRUPTED;
use codegen_api::code_mode::{CodeModeRun, CodeModeRunSpec, CodeModeRunStatus, HistoryMessage};
use codegen_api::common::LocalRef;
use codegen_api::conditions::is_stalled;
use codegen_core::causes::with_causes;
use codegen_core::code_mode::{Answer, CONVERSATION, QuestionProgress as Answering};
use codegen_ledger::StoreError;

/// Lines of an error.
const ERROR_LINES: usize = 4;

/// Reason that the command ends without an answer, and its exit code.
#[derive(Debug)]
struct Stopped(String, i32);

/// Runs the command.
pub(super) fn run(args: &AskArgs) -> i32 {
    let progress = ProgressPrinter::new(args.color);
    let runtime = match runtime() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&progress, &format!("cannot start: {error}"), TASK_FAILED),
    };
    let made = OnceLock::new();
    runtime.block_on(async {
        tokio::select! {
            asked = Box::pin(ask(args, &progress, &made)) => asked.unwrap_or_else(|Stopped(message, code)| {
                progress.stop();
                fail(&progress, &message, code)
            }),
            _ = tokio::signal::ctrl_c() => {
                progress.stop();
                let message = made.get().map_or_else(
                    || "interrupted".to_owned(),
                    |name: &String| format!("interrupted; the run {name} goes on: kubectl get codemoderun {name}"),
                );
                fail(&progress, &message, INTERRUPTED)
            }
        }
    })
}

async fn ask(args: &AskArgs, progress: &ProgressPrinter, made: &OnceLock<String>) -> Result<i32, Stopped> {
    let (Some(agent), Some(question)) = (&args.first, &args.second) else {
        let message = "give an agent of the cluster and a question, or manifests with -f or -k";
        return Err(Stopped(message.to_owned(), USAGE));
    };
    let history = args.history.as_deref().map(read_history).transpose();
    let history = history.map_err(|error| Stopped(error.to_string(), USAGE))?;
    let cluster = Cluster::connect(&args.cluster).await;
    let cluster = cluster.map_err(|message| Stopped(message, USAGE))?;
    let runs: Api<CodeModeRun> = Api::namespaced(cluster.client.clone(), &cluster.namespace);
    let run = wanted(args, agent, question, history.unwrap_or_default());
    let run = create(&cluster, &runs, &run).await?;
    let name = run.name_any();
    // An interrupt names the run from here on, for it goes on without this command.
    let _ = made.set(name.clone());
    let run = answered(&cluster, &name, args.format.into(), progress).await?;
    match &args.save_history {
        Some(path) => save_history(&cluster, &run, path).await.map(|()| 0),
        None => Ok(0),
    }
}

/// Shows what comes of the question `name`, under way or ended.
pub(in crate::cli) async fn watch(
    cluster: &Cluster,
    name: &str,
    progress: &ProgressPrinter,
) -> Result<i32, Absent> {
    // One that is not there would be waited for.
    question_object(cluster, name).await?;
    let answered = answered(cluster, name, OutputFormat::Text, progress).await;
    progress.stop();
    answered
        .map(|_| 0)
        .map_err(|Stopped(message, code)| Absent::new(message, code))
}

/// Follows a question to its end and prints its answer; an error where it has none.
async fn answered(
    cluster: &Cluster,
    name: &str,
    format: OutputFormat,
    progress: &ProgressPrinter,
) -> Result<CodeModeRun, Stopped> {
    let runs: Api<CodeModeRun> = Api::namespaced(cluster.client.clone(), &cluster.namespace);
    let run = follow(&runs, name, progress).await?;
    progress.stop();
    let status = run.status.clone().unwrap_or_default();
    progress.lines(&spent(name, &status));
    let answer = whole(cluster, &run, &status).await;
    if let Some(cut) = answer.as_ref().and_then(|answer| answer.cut.as_ref()) {
        progress.lines(&warning(cut));
    }
    let printed = show(format, name, &status, answer.as_ref());
    printed.map_err(|error| Stopped(format!("cannot write to stdout: {error}"), TASK_FAILED))?;
    if answer.is_some() {
        return Ok(run);
    }
    let (reason, message) = (
        status.reason.unwrap_or_default(),
        status.message.unwrap_or_default(),
    );
    Err(Stopped(format!("{reason}: {message}"), TASK_FAILED))
}

/// The run that is made.
fn wanted(args: &AskArgs, agent: &str, question: &str, history: Vec<HistoryMessage>) -> CodeModeRun {
    let named = |name: &str| LocalRef {
        name: name.to_owned(),
    };
    let spec = CodeModeRunSpec {
        agent_ref: named(agent),
        message: question.to_owned(),
        history,
        continues: args.continues.as_deref().map(named),
        suspend: None,
        ttl_seconds_after_finished: args.ttl,
    };
    let mut run = CodeModeRun::new("", spec);
    run.metadata.name.clone_from(&args.run);
    if args.run.is_none() {
        run.metadata.generate_name = Some(format!("{agent}-"));
    }
    run
}

async fn create(
    cluster: &Cluster,
    runs: &Api<CodeModeRun>,
    run: &CodeModeRun,
) -> Result<CodeModeRun, Stopped> {
    let created = runs.create(&PostParams::default(), run).await;
    created.map_err(|error| {
        let message = match (&error, &run.metadata.name) {
            (kube::Error::Api(status), Some(name)) if status.is_already_exists() => format!(
                "there is a CodeModeRun {name} in namespace {} already: give this question another --run; kubectl-codegen logs codemoderun/{name} shows that one",
                cluster.namespace
            ),
            _ => refusal::<CodeModeRun>(&error, "", &cluster.namespace),
        };
        Stopped(message, USAGE)
    })
}

/// Waits until a question has ended; shows meanwhile what it waits for.
pub(in crate::cli) async fn until_its_end(
    cluster: &Cluster,
    name: &str,
    progress: &ProgressPrinter,
) -> Result<(), Absent> {
    let runs: Api<CodeModeRun> = Api::namespaced(cluster.client.clone(), &cluster.namespace);
    let followed = follow(&runs, name, progress).await;
    progress.stop();
    followed
        .map(|_| ())
        .map_err(|Stopped(message, code)| Absent::new(message, code))
}

/// Shows what happens until the run has ended.
async fn follow(
    runs: &Api<CodeModeRun>,
    name: &str,
    progress: &ProgressPrinter,
) -> Result<CodeModeRun, Stopped> {
    let mut changes = pin!(changes(runs.clone(), name));
    let (mut shown, mut failed, mut asked_about) = (String::new(), 0, String::new());
    progress.run(&format!("run {name}"));
    while let Some(change) = changes.next().await {
        match change {
            Change::Seen(run) => {
                let status = run.status.clone().unwrap_or_default();
                for attempt in status.attempts.iter().filter(|attempt| attempt.attempt > failed) {
                    let program = format!("program {}", attempt.attempt);
                    progress
                        .lines(&named_paragraph(Mark::Warning, &program, &attempt.error, ERROR_LINES).lines);
                }
                failed = status.attempts.last().map_or(failed, |attempt| attempt.attempt);
                if status.completed_at.is_some() {
                    return Ok(run);
                }
                // Once for each call; the message says how to decide about it.
                if let Some(asked) = status.approval.as_ref().filter(|asked| asked.hash != asked_about) {
                    progress.lines(&approval_awaited(asked).lines);
                    asked_about.clone_from(&asked.hash);
                }
                let message = status.message.clone().unwrap_or_default();
                if !is_stalled(&status.conditions) {
                    if !message.is_empty() {
                        progress.run(&format!("run {name}: {message}"));
                    }
                } else if message != shown {
                    // Once, not at each update of the status.
                    progress.lines(&warning(&message));
                    shown = message;
                }
            }
            Change::Deleted => break,
            Change::CutOff(message) => progress.lines(&warning(&message)),
        }
    }
    let message = format!("the run {name} was deleted before it had ended");
    Err(Stopped(message, TASK_FAILED))
}

fn spent(name: &str, status: &CodeModeRunStatus) -> Vec<PaintedLine> {
    let number = |number: i64| u64::try_from(number).unwrap_or_default();
    let tokens = status.tokens.as_ref().map_or(0, |tokens| tokens.total);
    let spent = format!(
        "{}, {} tokens",
        count(number(status.model_calls.into()), "program"),
        thousands(number(tokens))
    );
    let is_answered = status.answer.is_some();
    let mark = if is_answered { Mark::Done } else { Mark::Failed };
    vec![
        step(mark, "spent", &spent),
        step(Mark::Detail, "calls", &calls_by_tool(&status.tool_calls)),
        step(Mark::Detail, "run", name),
    ]
}

/// The answer, whole where whoever asks may read it; else as the status has it.
async fn whole(cluster: &Cluster, run: &CodeModeRun, status: &CodeModeRunStatus) -> Option<Answer> {
    let shown = status.answer.as_ref()?;
    let recorded = status.progress.clone().map(Value::Object);
    let progress = recorded.and_then(|recorded| serde_json::from_value::<Answering>(recorded).ok());
    let stored = match progress.and_then(|progress| progress.answer) {
        Some(document) => stored(cluster, run, &document.name).await.ok().flatten(),
        None => None,
    };
    let stored = stored.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    Some(stored.unwrap_or_else(|| {
        Answer {
            value: shown
                .json
                .as_deref()
                .and_then(|json| serde_json::from_str(json).ok()),
            text: shown.text.clone(),
            printed: String::new(),
            cut: None,
        }
    }))
}

/// A document of a run: of what is packed at its end, or of a Secret of its own.
async fn stored(cluster: &Cluster, run: &CodeModeRun, document: &str) -> Result<Option<Vec<u8>>, StoreError> {
    let (name, uid) = (run.name_any(), run.uid().unwrap_or_default());
    let result = run.status.as_ref().and_then(|status| status.result.as_ref());
    if let Some(result) = result {
        let mut all = unpack_of(&cluster.client, &cluster.namespace, result, &uid).await?;
        return Ok(all.remove(document));
    }
    let records = Records {
        client: &cluster.client,
        namespace: &cluster.namespace,
        task: &name,
        uid: &uid,
        run: CODE_MODE,
    };
    records.read(document).await
}

/// Writes the conversation with the answer.
async fn save_history(cluster: &Cluster, run: &CodeModeRun, path: &Path) -> Result<(), Stopped> {
    let failed = |why: String| Stopped(why, TASK_FAILED);
    let unread = |why: &str| {
        failed(format!(
            "--save-history: the conversation of the run {} cannot be read: {why}; whoever may get Secrets of the namespace can",
            run.name_any()
        ))
    };
    let found = stored(cluster, run, CONVERSATION).await;
    let found = found.map_err(|error| unread(&with_causes(&error)))?;
    let said = found.ok_or_else(|| unread("it is too long to be recorded"))?;
    history::save(path, &said).map_err(failed)
}

/// The answer's text alone, or the document.
fn show(
    format: OutputFormat,
    name: &str,
    status: &CodeModeRunStatus,
    answer: Option<&Answer>,
) -> std::io::Result<()> {
    if format == OutputFormat::Text {
        return match answer {
            Some(answer) => print_as_it_is(format!("{}\n", answer.text().trim_end()).as_bytes()),
            None => Ok(()),
        };
    }
    let shown = json!({
        "answer": answer.map(Answer::text),
        "value": answer.and_then(|answer| answer.value.clone()),
        "code": status.code,
        "attempts": status.attempt,
        "toolCalls": status.tool_calls,
        "tokens": status.tokens,
        "run": name,
        "status": status,
    });
    match document(format, vec![shown], 1) {
        Some(text) => print(text.as_bytes()),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::args::{Cli, Command};
    use crate::cli::recorded::fixture::seen;
    use crate::controller::tests::world::World;

    fn made(line: &str) -> CodeModeRun {
        let words = ["kubectl-codegen", "ask", "shop", "What is late?"];
        match Cli::try_parse_from(words.into_iter().chain(line.split_whitespace()))
            .unwrap()
            .command
        {
            Command::Ask(args) => wanted(&args, "shop", "What is late?", Vec::new()),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_run_has_the_fields_that_the_command_line_names_and_no_others() {
        let run = serde_json::to_value(made("")).unwrap();
        assert_eq!(run["metadata"], json!({"generateName": "shop-"}));
        assert_eq!(
            run["spec"],
            json!({"agentRef": {"name": "shop"}, "message": "What is late?"})
        );
        let run = serde_json::to_value(made("--run late --continues earlier --ttl 1h")).unwrap();
        assert_eq!(run["metadata"], json!({"name": "late"}));
        let expected = json!({
            "agentRef": {"name": "shop"}, "message": "What is late?",
            "continues": {"name": "earlier"}, "ttlSecondsAfterFinished": 3600,
        });
        assert_eq!(run["spec"], expected);
    }

    #[tokio::test]
    async fn a_name_that_is_taken_is_said_with_what_to_do() {
        let world = World::new().await;
        let cluster = seen(&world);
        let runs: Api<CodeModeRun> = Api::namespaced(cluster.client.clone(), &cluster.namespace);
        let run = made("--run late");
        assert!(create(&cluster, &runs, &run).await.is_ok());
        let Stopped(message, code) = create(&cluster, &runs, &run).await.unwrap_err();
        assert!(
            message.contains("CodeModeRun late") && message.contains("--run"),
            "{message}"
        );
        assert_eq!(code, USAGE);
    }
}
