//! `kubectl-codegen local`: from the command line to tasks run one after another.

use std::fmt::Display;
use std::fs::{self, OpenOptions};
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::runtime;

use super::args::{Format, LocalArgs};
use super::paint::{Line, Mark};
use super::progress::Progress;
use super::summary::summary;
use super::text::{MAX_COLUMNS, wrap};
use crate::api::CodeGenTask;
use crate::local::interrupt::{self, INTERRUPTED, Stop};
use crate::local::objects::Objects;
use crate::local::prepare::{ModelOverrides, RunOptions};
use crate::local::runner::{Ended, output_folder, run_task};
use crate::local::sources::Given;
use crate::local::{files, kustomize};

/// Exit code of a task that failed.
const TASK_FAILED: i32 = 1;
/// Exit code of a manifest or command line that is wrong.
const USAGE: i32 = 2;

/// Runs the command; the exit code is the worst of its tasks.
pub(super) fn run(args: &LocalArgs) -> i32 {
    let progress = Arc::new(Progress::new(args.color));
    log(args.verbose);
    let objects = match read(args) {
        Ok(objects) => objects,
        Err(message) => return fail(&progress, &message, USAGE),
    };
    for notice in &objects.notices {
        progress.lines(&warning(notice));
    }
    let tasks = match objects.pick(args.task.as_deref()) {
        Ok(tasks) => tasks,
        Err(error) => return fail(&progress, &error, USAGE),
    };
    // Fails only when a provider is installed already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = match runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => return fail(&progress, &format!("cannot start: {error}"), TASK_FAILED),
    };
    runtime.block_on(async {
        let told = Arc::clone(&progress);
        let listening = interrupt::listen(move || {
            told.lines(&warning(
                "stopping; a model call in flight is waited for, so that its reply is not lost; Ctrl-C again leaves at once",
            ));
        });
        match listening {
            Ok(stop) => Box::pin(run_all(args, &objects, &tasks, &progress, &stop)).await,
            Err(error) => fail(&progress, &format!("cannot listen for Ctrl-C: {error}"), TASK_FAILED),
        }
    })
}

/// Log records go to stderr, and only when asked for.
fn log(verbose: u8) {
    let level = match verbose {
        0 => return,
        1 => "codegen_operator=debug",
        _ => "codegen_operator=trace,reqwest=debug",
    };
    // Fails only when there is a subscriber already, which is as good.
    let _ = tracing_subscriber::fmt()
        .with_env_filter(level)
        .with_writer(std::io::stderr)
        .try_init();
}

fn read(args: &LocalArgs) -> Result<Objects, Box<dyn Display>> {
    let mut documents = files::load(&args.files).map_err(boxed)?;
    for folder in &args.kustomize {
        documents.extend(kustomize::render(folder).map_err(boxed)?);
    }
    Objects::collect(documents).map_err(boxed)
}

fn boxed(error: impl Display + 'static) -> Box<dyn Display> {
    Box::new(error)
}

async fn run_all(
    args: &LocalArgs,
    objects: &Objects,
    tasks: &[&CodeGenTask],
    progress: &Progress,
    stop: &Stop,
) -> i32 {
    let options = options(args);
    let mut code = 0;
    let mut printed = Vec::new();
    let mut replayed = 0;
    let mut recording = match args.model.record.as_deref().map(Recording::open).transpose() {
        Ok(recording) => recording,
        Err(message) => return fail(progress, &message, USAGE),
    };
    for (number, task) in (1..).zip(tasks) {
        let name = task.metadata.name.as_deref().unwrap_or_default();
        if tasks.len() > 1 {
            progress.lines(&[Line::new(Mark::Heading, format!("\n{name}"))]);
        }
        let output = output_folder(args.output.as_deref(), task, tasks);
        let running = run_task(task, objects, &options, &output, &mut replayed, progress, stop);
        let ended = Box::pin(running).await;
        progress.stop();
        match ended {
            Ok(ended) => {
                if let Some(stopped) = &ended.stopped {
                    code = code.max(fail(progress, stopped, stopped.exit_code()));
                } else if !ended.succeeded() {
                    code = code.max(TASK_FAILED);
                }
                if let Some(Err(message)) = recording.as_mut().map(|open| open.add(&ended.recording)) {
                    code = code.max(fail(progress, &message, TASK_FAILED));
                }
                report(args.format, &ended, progress);
                printed.push(serde_json::to_value(&ended.task).unwrap_or_default());
            }
            Err(error) => code = code.max(fail(progress, &error, error.exit_code())),
        }
        if stop.is_requested() && number < tasks.len() {
            code = INTERRUPTED;
            break;
        }
    }
    match document(args.format, printed, tasks.len()).map(|text| super::print(text.as_bytes())) {
        Some(Err(error)) => fail(
            progress,
            &format!("cannot write to stdout: {error}"),
            code.max(TASK_FAILED),
        ),
        Some(Ok(())) | None => code,
    }
}

fn options(args: &LocalArgs) -> RunOptions {
    RunOptions {
        given: Given {
            samples: args.samples.iter().cloned().collect(),
            inputs: args.inputs.iter().cloned().collect(),
            claims: args.claims.iter().cloned().collect(),
        },
        model: ModelOverrides {
            base_url: args.model.model_url.clone(),
            name: args.model.model.clone(),
            provider: args.model.provider.map(Into::into),
            key_variable: args.model.model_key_env.clone(),
        },
        replay: args.model.replay.clone(),
        replay_strict: args.model.replay_strict,
        model_timeout: args.model.model_timeout,
        fresh: args.fresh,
    }
}

/// The file of `--record`: every reply of the command's tasks, also of those that earlier runs began.
struct Recording<'a> {
    path: &'a Path,
    replies: String,
}

impl<'a> Recording<'a> {
    /// Refuses what cannot be written before anything is paid for; what the file holds stays until there is a reply.
    fn open(path: &'a Path) -> Result<Self, String> {
        match OpenOptions::new().create(true).append(true).open(path) {
            Ok(_) => Ok(Self {
                path,
                replies: String::new(),
            }),
            Err(error) => Err(cannot_record(path, &error)),
        }
    }

    fn add(&mut self, replies: &str) -> Result<(), String> {
        self.replies.push_str(replies);
        if self.replies.is_empty() {
            return Ok(());
        }
        fs::write(self.path, &self.replies).map_err(|error| cannot_record(self.path, &error))
    }
}

fn cannot_record(path: &Path, error: &std::io::Error) -> String {
    format!("cannot write {}, which --record names: {error}", path.display())
}

/// The summary is what `-o text` prints; with the other formats it goes where everything for people goes.
fn report(format: Format, ended: &Ended, progress: &Progress) {
    let lines = summary(ended);
    if format != Format::Text {
        progress.lines(&lines);
        return;
    }
    let text: String = lines
        .iter()
        .map(|line| super::paint::paint(line, progress.colours_stdout()) + "\n")
        .collect();
    let _ = super::print(text.as_bytes());
}

/// The one document on stdout: the task, or a list when there are several.
fn document(format: Format, mut tasks: Vec<Value>, wanted: usize) -> Option<String> {
    if tasks.is_empty() {
        return None;
    }
    let value = match (wanted, tasks.pop()) {
        (1, Some(task)) => task,
        (_, last) => {
            tasks.extend(last);
            json!({"apiVersion": "v1", "kind": "List", "items": tasks})
        }
    };
    match format {
        Format::Text => None,
        Format::Json => serde_json::to_string_pretty(&value).ok().map(|text| text + "\n"),
        Format::Yaml => serde_saphyr::to_string(&value).ok(),
    }
}

fn warning(text: &str) -> Vec<Line> {
    wrap(text, MAX_COLUMNS - 2)
        .into_iter()
        .enumerate()
        .map(|(index, text)| Line::new(if index == 0 { Mark::Warning } else { Mark::Detail }, text))
        .collect()
}

/// Says what is wrong, one line each, and gives the exit code.
fn fail(progress: &Progress, message: &dyn Display, code: i32) -> i32 {
    for line in message.to_string().lines() {
        progress.lines(&[Line::new(Mark::Heading, format!("error: {line}"))]);
    }
    code
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_task_is_printed_as_itself_and_several_as_a_list() {
        let one = document(Format::Json, vec![json!({"kind": "A"})], 1).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&one).unwrap()["kind"], "A");
        let two = document(Format::Json, vec![json!({"n": 1}), json!({"n": 2})], 2).unwrap();
        assert_eq!(
            serde_json::from_str::<Value>(&two).unwrap()["items"],
            json!([{"n": 1}, {"n": 2}])
        );
        assert_eq!(document(Format::Text, vec![json!({})], 1), None);
    }

    #[test]
    fn yaml_reads_back_as_the_same_task() {
        let task = json!({"kind": "A", "spec": {"prompt": "line one\nline: two\n", "n": "1"}});
        let text = document(Format::Yaml, vec![task.clone()], 1).unwrap();
        assert_eq!(serde_saphyr::from_str::<Value>(&text).unwrap(), task);
    }
}
