//! `kubectl-codegen ask`: a question to an agent of code mode, in a cluster or on this machine.

mod cluster;
mod history;
mod render;

use std::path::Path;
use std::sync::Arc;

use serde_json::json;

pub(super) use self::cluster::{follow as follow_question, watch};
use self::render::{end, happened};
use super::approve::trust;
use super::args::{AskArgs, ManifestArgs, OutputFormat};
use super::command::{
    self, CommandError, TASK_FAILED, document, exit_code, fail, is_interactive, listen, model_options, print,
    print_as_it_is, read, warning,
};
use super::local::{Recording, log};
use super::progress::ProgressPrinter;
use super::text::shell_word;
use crate::local::approval::Approvals;
use crate::local::code_mode::begin::QuestionRequest;
use crate::local::code_mode::error::AskError;
use crate::local::code_mode::pick::{CommandQuestion, Picked, pick, read_history};
use crate::local::code_mode::runner::QuestionOutcome;
use crate::local::code_mode::runner::{ask, output_folder};
use crate::local::commands::{Commands, OnStart};
use crate::local::interrupt::StopSignal;
use crate::local::objects::Objects;
use crate::local::opens::{not_shown_before, of_agent};
use crate::local::options::{EarlierResult, TaskOptions};
use codegen_api::approval::ApprovalDecision;
use codegen_api::code_mode::CodeModeRunStatus;
use codegen_core::code_mode::{Answer, QuestionStage};
use codegen_engine::code_mode::Happened;

/// Runs the command.
pub(super) fn run(args: &AskArgs) -> i32 {
    if args.files.is_empty() && args.kustomize.is_empty() {
        return cluster::run(args);
    }
    command::run(args.color, async |progress| {
        log(args.verbose, progress);
        let manifests = ManifestArgs {
            files: args.files.clone(),
            kustomize: args.kustomize.clone(),
            ..ManifestArgs::default()
        };
        let objects = read(&manifests, progress)?;
        let asked = asked(args)?;
        let picked = pick(&objects, &asked)?;
        let said = Arc::clone(progress);
        let stop = listen(move || {
            said.lines(&warning(
                "stopping; what is in flight is waited for, so that its result is not lost; Ctrl-C again leaves at once",
            ));
        })?;
        Box::pin(follow(args, &picked, &objects, progress, &stop)).await
    })
}

fn asked(args: &AskArgs) -> Result<CommandQuestion, AskError> {
    let history = args.history.as_deref().map(read_history).transpose()?;
    Ok(CommandQuestion {
        message: args.first.clone(),
        agent: args.agent.clone(),
        history: history.unwrap_or_default(),
        manifests: manifests(args),
    })
}

/// The options that name the manifests, as somebody copies them into a shell.
fn manifests(args: &AskArgs) -> String {
    let word = |path: &str| match path {
        "-" => path.to_owned(),
        path => shell_word(Path::new(path)),
    };
    let files = args.files.iter().map(|file| format!("-f {}", word(file)));
    let folders = args.kustomize.iter();
    let folders = folders.map(|folder| format!("-k {}", shell_word(folder)));
    files.chain(folders).collect::<Vec<_>>().join(" ")
}

/// Chooses the decider about calls: the command line in advance, else whoever sits at the terminal. Where both are said, a rejection
/// counts.
fn approvals(args: &AskArgs) -> Approvals {
    let given = |hashes: &[String], decision| {
        let hashes = hashes.iter().cloned();
        hashes.map(|hash| (hash, decision)).collect::<Vec<_>>()
    };
    let approved = given(&args.approve, ApprovalDecision::Approve);
    let rejected = given(&args.reject, ApprovalDecision::Reject);
    Approvals {
        given: Vec::new(),
        calls: approved.into_iter().chain(rejected).collect(),
        ask: is_interactive().then_some(super::approve::ask),
    }
}

/// Chooses the one who allows servers to be started: the command line, else whoever sits at the terminal.
fn commands(args: &AskArgs, progress: &Arc<ProgressPrinter>) -> Commands {
    let progress = Arc::clone(progress);
    Commands {
        of_manifests: args.allow_command,
        ask: is_interactive().then_some(super::approve::is_allowed),
        on_start: OnStart(Arc::new(move |server, command| {
            progress.lines(&warning(&format!("{server} starts `{command}` on this machine")));
        })),
    }
}

async fn follow(
    args: &AskArgs,
    picked: &Picked<'_>,
    objects: &Objects,
    progress: &Arc<ProgressPrinter>,
    stop: &StopSignal,
) -> Result<i32, CommandError> {
    let recording = args.model.record.as_deref();
    let recording = recording.map(|path| Recording::open(path, "")).transpose();
    let mut recording = recording.map_err(CommandError::usage)?;
    let options = TaskOptions {
        earlier: if args.cached {
            EarlierResult::Printed
        } else {
            EarlierResult::of(args.fresh)
        },
        approvals: approvals(args),
        commands: commands(args, progress),
        allowed_hosts: args.allow_host.clone(),
        trust: trust(args.trust),
        ..model_options(&args.model)
    };
    let output = output_folder(args.output.as_deref(), picked);
    let asks_a_model = options.replay.is_none() && options.model.base_url.is_none();
    let whose = (picked.agent_name(), picked.namespace());
    for line in not_shown_before(of_agent(whose, picked.agent, objects, asks_a_model)) {
        progress.lines(&warning(&line));
    }
    let observe = |event: &Happened| progress.show(happened(event));
    let request = QuestionRequest {
        picked,
        objects,
        options: &options,
        output: &output,
    };
    let ended = Box::pin(ask(&request, &observe, stop)).await;
    progress.stop();
    let ended = ended?;
    for notice in &ended.notices {
        progress.lines(&warning(notice));
    }
    let mut code = code_of(&ended, progress);
    if let Some(Err(message)) = recording.as_mut().map(|open| open.add(&ended.recording)) {
        code = code.max(fail(progress, &message, TASK_FAILED));
    }
    if let (Some(path), Some(said)) = (&args.save_history, &ended.conversation)
        && let Err(message) = history::save(path, said)
    {
        code = code.max(fail(progress, &message, TASK_FAILED));
    }
    progress.lines(&end(&ended));
    let place = ("folder", ended.folder.display().to_string());
    let answer = ended.answer.as_ref();
    let shown = print_answer(
        args.format,
        answer,
        ended.code.as_deref(),
        &ended.status,
        (place.0, &place.1),
    );
    Ok(code.max(exit_code(progress, shown.map(|()| 0))))
}

/// Says why there is no answer, and gives the exit code.
fn code_of(ended: &QuestionOutcome, progress: &ProgressPrinter) -> i32 {
    if let Some(error) = &ended.stopped {
        return fail(progress, error, error.exit_code());
    }
    if ended.stage == QuestionStage::Succeeded {
        return 0;
    }
    let reason = ended.status.reason.as_deref().unwrap_or_default();
    let message = ended.status.message.as_deref().unwrap_or_default();
    fail(progress, &format!("{reason}: {message}"), TASK_FAILED)
}

/// Prints the text of an answer alone, or the document about it; `place` is where more of it is.
fn print_answer(
    format: OutputFormat,
    answer: Option<&Answer>,
    code: Option<&str>,
    status: &CodeModeRunStatus,
    (place, name): (&str, &str),
) -> Result<(), CommandError> {
    if format == OutputFormat::Text {
        let text = answer.map(|answer| format!("{}\n", answer.text().trim_end()));
        return print_as_it_is(text.unwrap_or_default().as_bytes());
    }
    let about = json!({
        "answer": answer.map(Answer::text),
        "value": answer.and_then(|answer| answer.value.clone()),
        "code": code,
        "attempts": status.attempt,
        "toolCalls": status.tool_calls,
        "tokens": status.tokens,
        place: name,
        "status": status,
    });
    print(document(format, vec![about], 1).unwrap_or_default().as_bytes())
}
