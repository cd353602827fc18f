//! `kubectl-codegen local`: from the command line to tasks run one after another.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::approve::trust;
use super::args::{LocalArgs, ManifestArgs, OutputFormat};
use super::command::{
    self, CommandError, TASK_FAILED, document, exit_code, fail, given, is_interactive, listen, model_options,
    print, print_lines, read, warning,
};
use super::paint::{Mark, PaintedLine};
use super::progress::ProgressPrinter;
use super::replace::replace;
use super::replay;
use super::summary::summary;
use crate::local::approval::Approvals;
use crate::local::commands::Commands;
use crate::local::interrupt::{INTERRUPTED, StopSignal};
use crate::local::kustomize::is_kustomization;
use crate::local::objects::Objects;
use crate::local::opens::{not_shown_before, of_task};
use crate::local::options::{EarlierResult, TaskOptions};
use crate::local::runner::{TaskOutcome, output_folder, run_task};
use codegen_api::CodeGenTask;
use codegen_core::retry::Retry;

/// Runs the command; the exit code is the worst of its tasks.
pub(super) fn run(args: &LocalArgs) -> i32 {
    match &args.again {
        Some(folder) => replay::run(args, folder),
        None => run_after(args, ""),
    }
}

/// Runs the command after calls of another one, whose replies, as `--replay` reads them, are the first of `--record`.
pub(super) fn run_after(args: &LocalArgs, replies: &str) -> i32 {
    command::run(args.color, async |progress| {
        log(args.verbose, progress);
        let objects = read(&manifests(args)?, progress)?;
        let picked = objects.pick(args.manifests.task.as_deref());
        let tasks = picked.map_err(CommandError::usage)?;
        let options = options(args, &tasks)?;
        let said = Arc::clone(progress);
        let stop = listen(move || {
            said.lines(&warning(
                "stopping; a model call in flight is waited for, so that its reply is not lost; Ctrl-C again leaves at once",
            ));
        })?;
        Box::pin(run_all(
            args, &options, &objects, &tasks, replies, progress, &stop,
        ))
        .await
    })
}

/// The manifests that are named, else those of the folder that is meant, as kustomization or one by one.
fn manifests(args: &LocalArgs) -> Result<ManifestArgs, CommandError> {
    let mut manifests = args.manifests.clone();
    if !manifests.files.is_empty() || !manifests.kustomize.is_empty() {
        return Ok(manifests);
    }
    let place = args.place.clone().unwrap_or_else(|| PathBuf::from("."));
    if !place.exists() {
        return Err(CommandError::usage(format!(
            "{} is not there: name a folder with manifests, or a manifest",
            place.display()
        )));
    }
    if is_kustomization(&place) {
        manifests.kustomize.push(place);
    } else {
        manifests.files.push(place.display().to_string());
    }
    Ok(manifests)
}

/// Log records go to stderr, and only when asked for.
pub(super) fn log(verbose: u8, progress: &ProgressPrinter) {
    let level = match verbose {
        0 => return,
        1 => "codegen=debug",
        _ => "codegen=trace,reqwest=debug",
    };
    // Fails only when there is a subscriber already, which is as good.
    let _ = tracing_subscriber::fmt()
        .with_env_filter(level)
        .with_writer(std::io::stderr)
        .with_ansi(progress.colours_stderr())
        .try_init();
}

async fn run_all(
    args: &LocalArgs,
    options: &TaskOptions,
    objects: &Objects,
    tasks: &[&CodeGenTask],
    replies: &str,
    progress: &ProgressPrinter,
    stop: &StopSignal,
) -> Result<i32, CommandError> {
    let mut code = 0;
    let mut printed = Vec::new();
    let mut replayed = 0;
    let recording = args.model.record.as_deref();
    let recording = recording.map(|path| Recording::open(path, replies)).transpose();
    let mut recording = recording.map_err(CommandError::usage)?;
    for (number, task) in (1..).zip(tasks) {
        let name = task.metadata.name.as_deref().unwrap_or_default();
        if tasks.len() > 1 {
            progress.lines(&[
                PaintedLine::new(Mark::Heading, ""),
                PaintedLine::new(Mark::Heading, name),
            ]);
        }
        let output = output_folder(args.output.as_deref(), task, tasks);
        if task.spec.publish.is_some() {
            progress.lines(&warning(&format!(
                "spec.publish is for a cluster: the program of {name} stays in {}, and no image is pushed",
                output.display()
            )));
        }
        // The command line may name another model, or none.
        let asks_a_model = options.replay.is_none() && options.model.base_url.is_none();
        for line in not_shown_before(of_task(task, objects, asks_a_model)) {
            progress.lines(&warning(&line));
        }
        let running = run_task(task, objects, options, &output, &mut replayed, progress, stop);
        let ended = Box::pin(running).await;
        progress.stop();
        match ended {
            Ok(ended) => {
                if let Some(stopped) = &ended.stopped {
                    code = code.max(fail(progress, stopped, stopped.exit_code()));
                } else if !ended.succeeded() {
                    code = code.max(TASK_FAILED);
                }
                // After each task, so that a kill during a later one loses nothing of this one.
                if let Some(Err(message)) = recording.as_mut().map(|open| open.add(&ended.recording)) {
                    code = code.max(fail(progress, &message, TASK_FAILED));
                }
                report(args.format, &ended, progress);
                printed.push(serde_json::to_value(&ended.task).unwrap_or_default());
            }
            Err(error) => code = code.max(exit_code(progress, Err(error.into()))),
        }
        if stop.is_requested() && number < tasks.len() {
            code = INTERRUPTED;
            break;
        }
    }
    let text = document(args.format, printed, tasks.len()).unwrap_or_default();
    Ok(code.max(exit_code(progress, print(text.as_bytes()).map(|()| 0))))
}

/// Reads what the command line says about each of its `tasks`.
fn options(args: &LocalArgs, tasks: &[&CodeGenTask]) -> Result<TaskOptions, CommandError> {
    Ok(TaskOptions {
        given: given(&args.manifests.data, tasks)?,
        earlier: EarlierResult::of(args.fresh),
        allowed_hosts: args.network.allow_host.clone(),
        approvals: Approvals {
            given: args.approve.iter().map(|gate| (*gate).into()).collect(),
            calls: BTreeMap::new(),
            ask: is_interactive().then_some(super::approve::ask),
        },
        commands: Commands {
            ask: is_interactive().then_some(super::approve::is_allowed),
            ..Commands::default()
        },
        trust: trust(args.trust),
        // The folder of a single task may lie anywhere.
        has_neighbours: args.output.is_none() || tasks.len() > 1,
        retry: args.retry.then(|| Retry {
            replan: args.replan,
            hint: args.hint.clone(),
        }),
        ..model_options(&args.model)
    })
}

/// The file of `--record`: every reply of the command's tasks, also of those that earlier runs began.
pub(super) struct Recording<'a> {
    path: &'a Path,
    replies: String,
}

impl<'a> Recording<'a> {
    /// Refuses what cannot be written before anything is paid for; what the file holds stays until there is a reply beside those
    /// of `earlier` calls.
    pub(super) fn open(path: &'a Path, earlier: &str) -> Result<Self, String> {
        match OpenOptions::new().create(true).append(true).open(path) {
            Ok(_) => Ok(Self {
                path,
                replies: earlier.to_owned(),
            }),
            Err(error) => Err(cannot_record(path, &error)),
        }
    }

    pub(super) fn add(&mut self, replies: &str) -> Result<(), String> {
        self.replies.push_str(replies);
        if self.replies.is_empty() {
            return Ok(());
        }
        // What it holds of earlier tasks was paid for: it is never shorter for a moment.
        replace(self.path, self.replies.as_bytes()).map_err(|error| cannot_record(self.path, &error))
    }
}

fn cannot_record(path: &Path, error: &std::io::Error) -> String {
    format!("cannot write {}, which --record names: {error}", path.display())
}

/// The summary is what `-o text` prints; with the other formats it goes where everything for people goes.
fn report(format: OutputFormat, ended: &TaskOutcome, progress: &ProgressPrinter) {
    let lines = summary(ended);
    if format != OutputFormat::Text {
        progress.lines(&lines);
        return;
    }
    // A closed stdout ends no task.
    let _ = print_lines(progress, lines);
}
