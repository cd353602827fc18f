//! `kubectl-codegen ask`: a question to an agent of code mode, in a cluster or on this machine.

mod cluster;
mod history;
mod render;

use std::path::Path;
use std::sync::Arc;

pub(super) use self::cluster::{until_its_end, watch};
use self::render::{EventLines, end, happened};
use super::approve::trust;
use super::args::{AskArgs, ManifestArgs, OutputFormat};
use super::command::{
    TASK_FAILED, USAGE, document, fail, fail_each, is_interactive, model_options, read, runtime, warning,
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
use crate::local::interrupt::{self, StopSignal};
use crate::local::objects::Objects;
use crate::local::opens::{not_shown_before, of_agent};
use crate::local::options::{EarlierResult, TaskOptions};
use codegen_api::approval::ApprovalDecision;
use codegen_core::code_mode::QuestionStage;
use codegen_engine::code_mode::Happened;

/// Runs the command.
pub(super) fn run(args: &AskArgs) -> i32 {
    if args.files.is_empty() && args.kustomize.is_empty() {
        return cluster::run(args);
    }
    let progress = Arc::new(ProgressPrinter::new(args.color));
    log(args.verbose, &progress);
    let manifests = ManifestArgs {
        files: args.files.clone(),
        kustomize: args.kustomize.clone(),
        ..ManifestArgs::default()
    };
    let objects = match read(&manifests, &progress) {
        Ok(objects) => objects,
        Err(messages) => return fail_each(&progress, &messages, USAGE),
    };
    let picked = match asked(args).and_then(|asked| pick(&objects, &asked)) {
        Ok(picked) => picked,
        Err(error) => return fail(&progress, &error, error.exit_code()),
    };
    let runtime = match runtime() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&progress, &format!("cannot start: {error}"), TASK_FAILED),
    };
    runtime.block_on(async {
        let listener = Arc::clone(&progress);
        let listening = interrupt::listen(move || {
            listener.lines(&warning(
                "stopping; what is in flight is waited for, so that its result is not lost; Ctrl-C again leaves at once",
            ));
        });
        match listening {
            Ok(stop) => Box::pin(follow(args, &picked, &objects, &progress, &stop)).await,
            Err(error) => fail(&progress, &format!("cannot listen for Ctrl-C: {error}"), TASK_FAILED),
        }
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
) -> i32 {
    let recording = args.model.record.as_deref();
    let mut recording = match recording.map(|path| Recording::open(path, "")).transpose() {
        Ok(recording) => recording,
        Err(message) => return fail(progress, &message, USAGE),
    };
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
    let observe = |event: &Happened| show(progress, happened(event));
    let request = QuestionRequest {
        picked,
        objects,
        options: &options,
        output: &output,
    };
    let ended = Box::pin(ask(&request, &observe, stop)).await;
    progress.stop();
    let ended = match ended {
        Ok(ended) => ended,
        Err(error) => {
            let messages: Vec<String> = error.to_string().lines().map(str::to_owned).collect();
            return fail_each(progress, &messages, error.exit_code());
        }
    };
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
    match print(args.format.into(), &ended) {
        Ok(()) => code,
        Err(error) => fail(
            progress,
            &format!("cannot write to stdout: {error}"),
            code.max(TASK_FAILED),
        ),
    }
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

/// The answer's text alone, or the document.
fn print(format: OutputFormat, ended: &QuestionOutcome) -> std::io::Result<()> {
    match format {
        OutputFormat::Text => match ended.text() {
            Some(text) => super::print_as_it_is(format!("{}\n", text.trim_end()).as_bytes()),
            None => Ok(()),
        },
        OutputFormat::Json | OutputFormat::Yaml => match document(format, vec![ended.document()], 1) {
            Some(text) => super::print(text.as_bytes()),
            None => Ok(()),
        },
    }
}

fn show(progress: &ProgressPrinter, shown: EventLines) {
    progress.lines(&shown.lines);
    match shown.running {
        Some(label) => progress.run(&label),
        None => progress.stop(),
    }
}
