//! A question to an agent in a cluster: a `CodeModeRun` that is made, followed to its end and read.

use std::fmt::Display;
use std::path::Path;
use std::sync::OnceLock;

use kube::ResourceExt as _;
use kube::api::PostParams;

use super::render::spent;
use super::{history, print_answer};
use crate::cli::args::{AskArgs, OutputFormat};
use crate::cli::cluster::Cluster;
use crate::cli::command::{self, CommandError, interruptible, warning};
use crate::cli::follow::until;
use crate::cli::paint::Mark;
use crate::cli::progress::ProgressPrinter;
use crate::cli::recorded::question_from_cluster;
use crate::cli::render::{approval_awaited, named_paragraph, step};
use crate::local::code_mode::pick::read_history;
use codegen_api::code_mode::{CodeModeRun, CodeModeRunSpec, CodeModeRunStatus, HistoryMessage};
use codegen_api::common::LocalRef;
use codegen_api::conditions::is_stalled;
use codegen_core::code_mode::Answer;

/// Lines of an error.
const ERROR_LINES: usize = 4;

/// Runs the command.
pub(super) fn run(args: &AskArgs) -> i32 {
    command::run(args.color, async |progress| {
        let made = OnceLock::new();
        interruptible(Box::pin(ask(args, progress, &made)), || {
            let goes_on = |name: &String| format!("; the run {name} goes on: kubectl get codemoderun {name}");
            format!("interrupted{}", made.get().map(goes_on).unwrap_or_default())
        })
        .await
    })
}

async fn ask(
    args: &AskArgs,
    progress: &ProgressPrinter,
    made: &OnceLock<String>,
) -> Result<i32, CommandError> {
    let (Some(agent), Some(question)) = (&args.first, &args.second) else {
        let message = "give an agent of the cluster and a question, or manifests with -f or -k";
        return Err(CommandError::usage(message));
    };
    let history = args.history.as_deref().map(read_history).transpose();
    let history = history.map_err(CommandError::usage)?;
    let cluster = Cluster::connect(&args.cluster).await?;
    let run = create(
        &cluster,
        &wanted(args, agent, question, history.unwrap_or_default()),
    )
    .await?;
    let name = run.name_any();
    // An interrupt names the run from here on, for it goes on without this command.
    let _ = made.set(name.clone());
    answered(&cluster, &name, args.format, progress).await?;
    if let Some(path) = &args.save_history {
        save_history(&cluster, &name, path).await?;
    }
    Ok(0)
}

/// Shows what comes of the question `name`, under way or ended.
pub(in crate::cli) async fn watch(
    cluster: &Cluster,
    name: &str,
    progress: &ProgressPrinter,
) -> Result<i32, CommandError> {
    // One that is not there would be waited for.
    cluster.get::<CodeModeRun>(name).await?;
    answered(cluster, name, OutputFormat::Text, progress)
        .await
        .map(|()| 0)
}

/// Follows a question to its end and prints its answer; an error where it has none.
async fn answered(
    cluster: &Cluster,
    name: &str,
    format: OutputFormat,
    progress: &ProgressPrinter,
) -> Result<(), CommandError> {
    let run = follow(cluster, name, progress).await?;
    let status = run.status.unwrap_or_default();
    let is_answered = status.answer.is_some();
    let mark = if is_answered { Mark::Done } else { Mark::Failed };
    progress.lines(&spent(mark, &status));
    progress.lines(&[step(Mark::Detail, "run", name)]);
    let answer = whole(cluster, name, &status).await;
    if let Some(cut) = answer.as_ref().and_then(|answer| answer.cut.as_ref()) {
        progress.lines(&warning(cut));
    }
    print_answer(
        format,
        answer.as_ref(),
        status.code.as_deref(),
        &status,
        ("run", name),
    )?;
    if is_answered {
        return Ok(());
    }
    let reason = status.reason.unwrap_or_default();
    let message = status.message.unwrap_or_default();
    Err(CommandError::failed(format!("{reason}: {message}")))
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

async fn create(cluster: &Cluster, run: &CodeModeRun) -> Result<CodeModeRun, CommandError> {
    let created = cluster
        .api::<CodeModeRun>()
        .create(&PostParams::default(), run)
        .await;
    created.map_err(|error| match (&error, &run.metadata.name) {
        (kube::Error::Api(status), Some(name)) if status.is_already_exists() => CommandError::usage(format!(
            "there is a CodeModeRun {name} in namespace {} already: give this question another --run; kubectl-codegen logs codemoderun/{name} shows that one",
            cluster.namespace
        )),
        _ => cluster.refused::<CodeModeRun>(&error, ""),
    })
}

/// Follows a question until it has ended; shows what it waits for.
pub(in crate::cli) async fn follow(
    cluster: &Cluster,
    name: &str,
    progress: &ProgressPrinter,
) -> Result<CodeModeRun, CommandError> {
    let (mut shown, mut failed, mut asked_about) = (String::new(), 0, String::new());
    progress.run(&format!("run {name}"));
    let ended = until(cluster, name, progress, |run: CodeModeRun| {
        let status = run.status.clone().unwrap_or_default();
        for attempt in status.attempts.iter().filter(|attempt| attempt.attempt > failed) {
            let program = format!("program {}", attempt.attempt);
            progress.lines(&named_paragraph(Mark::Warning, &program, &attempt.error, ERROR_LINES).lines);
        }
        failed = status.attempts.last().map_or(failed, |attempt| attempt.attempt);
        if status.completed_at.is_some() {
            return Some(run);
        }
        // Once for each call; the message says how to decide about it.
        if let Some(asked) = status.approval.as_ref().filter(|asked| asked.hash != asked_about) {
            progress.lines(&approval_awaited(asked).lines);
            asked_about.clone_from(&asked.hash);
        }
        let message = status.message.unwrap_or_default();
        if !is_stalled(&status.conditions) {
            if !message.is_empty() {
                progress.run(&format!("run {name}: {message}"));
            }
        } else if message != shown {
            // Once, not at each update of the status.
            progress.lines(&warning(&message));
            shown = message;
        }
        None
    });
    ended.await
}

/// The answer, whole where whoever asks may read it; else as the status has it.
async fn whole(cluster: &Cluster, name: &str, status: &CodeModeRunStatus) -> Option<Answer> {
    let shown = status.answer.as_ref()?;
    let stored = match question_from_cluster(cluster, name).await {
        Ok(question) => question.record().await.ok().and_then(|record| record.answer),
        Err(_) => None,
    };
    let json = shown.json.as_deref();
    Some(stored.unwrap_or_else(|| Answer {
        value: json.and_then(|json| serde_json::from_str(json).ok()),
        text: shown.text.clone(),
        printed: String::new(),
        cut: None,
    }))
}

/// Writes the conversation with the answer.
async fn save_history(cluster: &Cluster, name: &str, path: &Path) -> Result<(), CommandError> {
    let unread = |why: &dyn Display| {
        CommandError::failed(format!(
            "--save-history: the conversation of the run {name} cannot be read: {why}"
        ))
    };
    let question = question_from_cluster(cluster, name).await;
    let question = question.map_err(|error| unread(&error))?;
    let said = question
        .readable()
        .map_err(|error| unread(&error))?
        .conversation();
    let said = said.ok_or_else(|| unread(&"it is too long to be recorded"))?;
    history::save(path, said).map_err(CommandError::failed)
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use serde_json::json;

    use super::*;
    use crate::cli::args::{Cli, Command};
    use crate::cli::command::USAGE;
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
        let run = made("--run late");
        assert!(create(&cluster, &run).await.is_ok());
        let refused = create(&cluster, &run).await.unwrap_err();
        let message = refused.to_string();
        assert!(
            message.contains("CodeModeRun late") && message.contains("--run"),
            "{message}"
        );
        assert_eq!(refused.code, USAGE);
    }
}
