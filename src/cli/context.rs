//! `kubectl-codegen context`: what the model would see of sample data, before anything is paid for.

use std::io::IsTerminal as _;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use super::args::{ContextArgs, ContextFormat, OutputFormat};
use super::command::{
    self, CommandError, USAGE, document, exit_code, fail, fail_each, given, listen, paragraph, print, read,
};
use super::paint::{Mark, PaintedLine};
use super::plot::{self, Screen};
use super::progress::ProgressPrinter;
use super::text::{count, spelled_out, thousands};
use crate::local::context::{ContextOverrides, TaskContext, context_of, task_of_files};
use crate::local::data_files::DataFiles;
use crate::local::interrupt::{INTERRUPTED, StopSignal};
use crate::local::objects::Objects;
use crate::local::prepare::downloads;
use codegen_api::CodeGenTask;
use codegen_data::exposure::Exposed;
use codegen_data::joins::JoinProfile;
use codegen_data::profile::SampleProfile;
use codegen_data::schema::infer_all;
use codegen_data::schema::pandera::to_pandera;
use codegen_sources::GivenFiles;

/// Time that reading may take before it is said that it goes on.
const PATIENCE: Duration = Duration::from_secs(1);

/// Runs the command; the exit code is the worst of its samples.
pub(super) fn run(args: &ContextArgs) -> i32 {
    command::run(args.color, async |progress| {
        Box::pin(print_all(args, progress)).await
    })
}

async fn print_all(args: &ContextArgs, progress: &ProgressPrinter) -> Result<i32, CommandError> {
    if args.plot && args.format != ContextFormat::Text {
        return Err(CommandError::usage("--plot draws into the text: leave out -o"));
    }
    let objects = read(&args.manifests, progress)?;
    // Before signals are listened to: whoever waits for a pipe that nobody writes to leaves at once.
    let data = DataFiles::find(&args.data);
    let messages: Vec<String> = data.errors.iter().map(ToString::to_string).collect();
    let code = if messages.is_empty() {
        0
    } else {
        fail_each(progress, &messages, USAGE)
    };
    if data.paths.is_empty() && code != 0 {
        return Ok(code);
    }
    let of_files = (!data.paths.is_empty()).then(|| task_of_files(&data.paths));
    let (tasks, given) = if let Some((task, files)) = &of_files {
        (vec![task], files.clone())
    } else {
        let picked = objects.pick(args.manifests.task.as_deref());
        let tasks = picked.map_err(CommandError::usage)?;
        let given = given(&args.manifests.data, &tasks)?;
        (tasks, given)
    };
    let printer = ContextPrinter {
        args,
        objects: &objects,
        given: &given,
        progress,
    };
    // A file is read by a child that Ctrl-C does not reach.
    let stop = listen(|| {})?;
    Ok(code.max(printer.print_all(&tasks, stop).await))
}

struct ContextPrinter<'a> {
    args: &'a ContextArgs,
    objects: &'a Objects,
    given: &'a GivenFiles,
    progress: &'a ProgressPrinter,
}

impl ContextPrinter<'_> {
    async fn print_all(&self, tasks: &[&CodeGenTask], mut stop: StopSignal) -> i32 {
        let mut code = 0;
        let mut found = Vec::new();
        for task in tasks {
            let looked = tokio::select! {
                looked = self.describe(task) => looked,
                () = stop.requested() => {
                    self.progress.stop();
                    return INTERRUPTED;
                }
            };
            self.progress.stop();
            match looked {
                Ok(context) => {
                    for (_, error) in &context.failed {
                        code = code.max(fail(self.progress, error, error.exit_code()));
                    }
                    found.push(context);
                }
                Err(error) => code = code.max(fail_each(self.progress, &error.messages(), error.exit_code())),
            }
        }
        let text = self.text(&found, tasks.len());
        for context in &found {
            self.summary(context, tasks.len());
        }
        code.max(exit_code(self.progress, print(text.as_bytes()).map(|()| 0)))
    }

    async fn describe(&self, task: &CodeGenTask) -> Result<TaskContext, crate::local::error::TaskError> {
        let overrides = ContextOverrides {
            max_sample_rows: self.args.max_sample_rows,
            max_context_tokens: self.args.max_context_tokens,
            exposure: self.args.exposure.map(Into::into),
        };
        let downloads = downloads(&self.args.network.allow_host);
        let reading = context_of(task, self.objects, self.given, overrides, &downloads);
        tokio::pin!(reading);
        if let Ok(done) = tokio::time::timeout(PATIENCE, &mut reading).await {
            return done;
        }
        let samples = task.spec.samples.len() as u64;
        self.progress
            .run(&format!("reading {}", count(samples, "sample")));
        reading.await
    }

    /// Everything that goes to stdout.
    fn text(&self, found: &[TaskContext], wanted: usize) -> String {
        match self.args.format {
            ContextFormat::Text => found.iter().map(|one| self.plain(one, wanted)).collect(),
            ContextFormat::Json => self.document(OutputFormat::Json, found, wanted),
            ContextFormat::Yaml => self.document(OutputFormat::Yaml, found, wanted),
            ContextFormat::Pandera => {
                let profiles = found.iter().flat_map(|one| &one.profiles);
                let schemas: Vec<_> = profiles.flat_map(|profile| infer_all(profile, &[])).collect();
                to_pandera(&schemas, &[])
            }
        }
    }

    fn plain(&self, found: &TaskContext, wanted: usize) -> String {
        let heading = if wanted > 1 {
            format!("==> {} <==\n", found.task.name)
        } else {
            String::new()
        };
        let mut text = heading + &found.context.text;
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        // A sample may hold characters that a terminal obeys; a file or a pipe gets them as they are.
        if std::io::stdout().is_terminal() {
            text = spelled_out(&text);
        }
        if self.args.plot {
            let screen = Screen::of_stdout(self.progress.colours_stdout());
            text = plot::annotate(&text, &found.profiles, found.task.exposure, screen);
        }
        text
    }

    fn document(&self, format: OutputFormat, found: &[TaskContext], wanted: usize) -> String {
        let values: Vec<Value> = found
            .iter()
            .map(|one| serde_json::to_value(self.report(one)).unwrap_or_default())
            .collect();
        document(format, values, wanted).unwrap_or_default()
    }

    fn report<'b>(&self, found: &'b TaskContext) -> Report<'b> {
        Report {
            task: self.args.data.is_empty().then_some(found.task.name.as_str()),
            max_sample_rows: found.task.max_sample_rows,
            max_context_tokens: found.task.limits.max_context_tokens,
            estimated_tokens: found.context.estimated_tokens,
            cut: &found.context.cut,
            text: &found.context.text,
            exposure: found.task.exposure.as_str(),
            samples: shown_profiles(found),
            joins: &found.joins,
            failed: found
                .failed
                .iter()
                .map(|(sample, error)| Failed {
                    sample,
                    message: error.to_string(),
                })
                .collect(),
        }
    }

    /// Prints the summary that a person wants besides; a script reads `-o json`.
    fn summary(&self, found: &TaskContext, wanted: usize) {
        if std::io::stderr().is_terminal() {
            let name = (wanted > 1).then_some(found.task.name.as_str());
            self.progress.lines(&summary(found, name));
        }
    }
}

fn summary(found: &TaskContext, name: Option<&str>) -> Vec<PaintedLine> {
    let context = &found.context;
    let remarks: usize = found.profiles.iter().map(|profile| profile.remarks.len()).sum();
    let text = format!(
        "{}about {} tokens of at most {} in every call; {}, {}",
        name.map(|name| format!("{name}: ")).unwrap_or_default(),
        thousands(context.estimated_tokens),
        thousands(found.task.limits.max_context_tokens),
        count(found.profiles.len() as u64, "sample"),
        count(remarks as u64, "remark"),
    );
    let mark = if context.cut.is_empty() {
        Mark::Done
    } else {
        Mark::Warning
    };
    let mut lines = paragraph(mark, &text);
    let cut = context.cut.iter().map(|what| format!("left out of {what}"));
    let next = context.is_over_budget().then(|| {
        "limits.maxContextTokens (--max-context-tokens) makes room, at its price in every call".to_owned()
    });
    for text in cut.chain(next) {
        lines.extend(paragraph(Mark::Detail, &text));
    }
    lines
}

/// Returns what the text says of the samples, as data: no more than may reach the model.
fn shown_profiles(found: &TaskContext) -> Vec<SampleProfile> {
    let exposed = Exposed::all(&found.profiles, found.task.exposure);
    exposed.into_iter().map(Exposed::into_profile).collect()
}

/// The document of `-o json` and `-o yaml`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Report<'a> {
    task: Option<&'a str>,
    max_sample_rows: usize,
    max_context_tokens: u64,
    estimated_tokens: u64,
    cut: &'a [String],
    text: &'a str,
    exposure: &'static str,
    samples: Vec<SampleProfile>,
    joins: &'a [JoinProfile],
    failed: Vec<Failed<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Failed<'a> {
    sample: &'a str,
    message: String,
}
