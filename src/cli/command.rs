//! Parts that commands share: objects of manifests, runtime, complaints, what goes to stdout.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};
use std::io::{self, IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};

use super::args::{Color, DataArgs, ManifestArgs, ModelArgs, OutputFormat};
use super::paint::{Mark, PaintedLine, paint};
use super::progress::ProgressPrinter;
use super::text::{columns, shortened, spelled_out, thousands, wrap};
use crate::local::code_mode::error::AskError;
use crate::local::error::TaskError;
use crate::local::interrupt::{self, INTERRUPTED, StopSignal};
use crate::local::objects::{ObjectFault, Objects};
use crate::local::options::{ModelOverrides, TaskOptions};
use crate::local::run::LocalRunError;
use crate::local::{files, kustomize};
use codegen_api::CodeGenTask;
use codegen_sources::{Claims, GivenFiles, unclaimed};

/// Exit code of a task that failed, and of a sample that cannot be described.
pub(super) const TASK_FAILED: i32 = 1;
/// Exit code of a manifest or command line that is wrong.
pub(super) const USAGE: i32 = 2;

/// Most messages that one command ends with.
const MOST_MESSAGES: usize = 100;

/// Reason that a command has nothing to show: everything that is wrong, and the exit code that says so.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CommandError {
    pub messages: Vec<String>,
    pub code: i32,
}

impl CommandError {
    /// Something has to be changed first: the command line, a manifest, a right.
    pub fn usage(message: impl Display) -> Self {
        Self::new(message, USAGE)
    }

    /// What was asked for is not there, or did not succeed.
    pub fn failed(message: impl Display) -> Self {
        Self::new(message, TASK_FAILED)
    }

    /// A message with an exit code of its own.
    pub fn new(message: impl Display, code: i32) -> Self {
        Self {
            messages: vec![message.to_string()],
            code,
        }
    }
}

impl Display for CommandError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.messages.join("\n"))
    }
}

impl From<TaskError> for CommandError {
    fn from(error: TaskError) -> Self {
        Self {
            messages: error.messages(),
            code: error.exit_code(),
        }
    }
}

impl From<AskError> for CommandError {
    fn from(error: AskError) -> Self {
        Self {
            messages: error.to_string().lines().map(str::to_owned).collect(),
            code: error.exit_code(),
        }
    }
}

impl From<LocalRunError> for CommandError {
    fn from(error: LocalRunError) -> Self {
        Self {
            messages: error.messages(),
            code: error.exit_code(),
        }
    }
}

/// Text that a command prints, notes for whoever reads it, and the exit code.
#[derive(Debug, Default)]
pub(super) struct Printout {
    pub text: String,
    pub notes: Vec<String>,
    pub code: i32,
}

impl Printout {
    /// Prints all of it.
    pub fn print(self, progress: &ProgressPrinter) -> Result<i32, CommandError> {
        print_as_it_is(self.text.as_bytes())?;
        for note in &self.notes {
            progress.lines(&warning(note));
        }
        Ok(self.code)
    }
}

/// Runs a command, and gives its exit code.
pub(super) fn run<C>(color: Color, command: C) -> i32
where
    C: AsyncFnOnce(&Arc<ProgressPrinter>) -> Result<i32, CommandError>,
{
    let progress = Arc::new(ProgressPrinter::new(color));
    let ended = runtime().and_then(|runtime| runtime.block_on(command(&progress)));
    progress.stop();
    exit_code(&progress, ended)
}

/// Says what is wrong, if anything is, and gives the exit code.
pub(super) fn exit_code(progress: &ProgressPrinter, ended: Result<i32, CommandError>) -> i32 {
    ended.unwrap_or_else(|error| fail_each(progress, &error.messages, error.code))
}

/// Does what Ctrl-C ends at once; `message` says what goes on then.
pub(super) async fn interruptible<T>(
    work: impl Future<Output = Result<T, CommandError>>,
    message: impl FnOnce() -> String,
) -> Result<T, CommandError> {
    tokio::select! {
        done = work => done,
        _ = tokio::signal::ctrl_c() => Err(CommandError::new(message(), INTERRUPTED)),
    }
}

/// Listens for Ctrl-C; `say` is called at the first one.
pub(super) fn listen(say: impl Fn() + Send + 'static) -> Result<StopSignal, CommandError> {
    let listening = interrupt::listen(say);
    listening.map_err(|error| CommandError::failed(format!("cannot listen for Ctrl-C: {error}")))
}

/// Writes to stdout. A reader that has had enough is no error.
pub(super) fn print(bytes: &[u8]) -> Result<(), CommandError> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(unprinted(&error)),
        _ => Ok(()),
    }
}

/// Writes what a program or a model wrote: to a file or a pipe as it is, to a terminal with nothing that it would obey.
pub(super) fn print_as_it_is(bytes: &[u8]) -> Result<(), CommandError> {
    match std::str::from_utf8(bytes) {
        Ok(text) if io::stdout().is_terminal() => print(spelled_out(text).as_bytes()),
        _ => print(bytes),
    }
}

/// Writes lines for people to stdout.
pub(super) fn print_lines(
    progress: &ProgressPrinter,
    lines: impl IntoIterator<Item = PaintedLine>,
) -> Result<(), CommandError> {
    let is_coloured = progress.colours_stdout();
    let lines = lines.into_iter().map(|line| paint(&line, is_coloured) + "\n");
    print(lines.collect::<String>().as_bytes())
}

/// Returns the error about a stdout that takes nothing.
pub(super) fn unprinted(error: &io::Error) -> CommandError {
    CommandError::failed(format!("cannot write to stdout: {error}"))
}

/// The objects of the manifests, or everything that is wrong with them. Documents that the local command does not use are reported.
pub(super) fn read(args: &ManifestArgs, progress: &ProgressPrinter) -> Result<Objects, CommandError> {
    let mut documents = files::load(&args.files).map_err(CommandError::usage)?;
    for folder in &args.kustomize {
        documents.extend(kustomize::render(folder).map_err(CommandError::usage)?);
    }
    let collected = Objects::collect(documents);
    let objects = collected.map_err(|faults| CommandError {
        messages: faults.0.iter().map(ObjectFault::to_string).collect(),
        code: USAGE,
    })?;
    for notice in &objects.notices {
        progress.lines(&warning(notice));
    }
    Ok(objects)
}

/// Finds what stands in the place of the data of `tasks`; the error says what is wrong with it.
pub(super) fn given(args: &DataArgs, tasks: &[&CodeGenTask]) -> Result<GivenFiles, CommandError> {
    let given = in_place(args)?;
    if let Claims::Folders(claims) = &given.claims {
        unclaimed(claims, tasks).map_err(CommandError::usage)?;
    }
    Ok(given)
}

/// Returns what stands in the place of data, each once.
pub(super) fn in_place(args: &DataArgs) -> Result<GivenFiles, CommandError> {
    Ok(GivenFiles {
        samples: by_name("--sample", &args.samples)?,
        inputs: by_name("--input", &args.inputs)?,
        claims: Claims::Folders(by_name("--claim", &args.claims)?),
    })
}

/// Of an option that is given twice for one name, neither value is the one that is meant for sure.
fn by_name(option: &str, given: &[(String, PathBuf)]) -> Result<BTreeMap<String, PathBuf>, CommandError> {
    let mut paths = BTreeMap::new();
    for (name, path) in given {
        if let Some(first) = paths.insert(name.clone(), path.clone()) {
            let (first, second) = (first.display(), path.display());
            return Err(CommandError::usage(format!(
                "{option} {name} is given twice, as {first} and as {second}: keep one"
            )));
        }
    }
    Ok(paths)
}

/// Returns the options by which calls of the model go.
pub(super) fn model_options(args: &ModelArgs) -> TaskOptions {
    TaskOptions {
        model: ModelOverrides {
            base_url: args.model_url.clone(),
            name: args.model.clone(),
            provider: args.provider.map(Into::into),
            key_variable: args.model_key_env.clone(),
        },
        replay: args.replay.clone(),
        replay_strict: args.replay_strict,
        model_timeout: args.model_timeout,
        ..TaskOptions::default()
    }
}

/// Reports whether somebody can be asked.
pub(super) fn is_interactive() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// A runtime that can reach the network.
pub(super) fn runtime() -> Result<Runtime, CommandError> {
    // Fails only when a provider is installed already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let built = Builder::new_multi_thread().worker_threads(2).enable_all().build();
    built.map_err(|error| CommandError::failed(format!("cannot start: {error}")))
}

/// The one document on stdout: what there is of a task, or a list when several were wanted.
pub(super) fn document(format: OutputFormat, mut items: Vec<Value>, wanted: usize) -> Option<String> {
    if items.is_empty() {
        return None;
    }
    // By how many were asked for: whoever asks for several tasks gets a list, even of one.
    let value = match (wanted, items.pop()) {
        (1, Some(item)) => item,
        (_, last) => {
            items.extend(last);
            json!({"apiVersion": "v1", "kind": "List", "items": items})
        }
    };
    match format {
        OutputFormat::Text => None,
        OutputFormat::Json => serde_json::to_string_pretty(&value).ok().map(|text| text + "\n"),
        OutputFormat::Yaml => serde_saphyr::to_string(&value).ok(),
    }
}

/// A paragraph with the mark of a warning.
pub(super) fn warning(text: &str) -> Vec<PaintedLine> {
    paragraph(Mark::Warning, text)
}

/// A paragraph with a mark.
pub(super) fn paragraph(mark: Mark, text: &str) -> Vec<PaintedLine> {
    let marks = std::iter::once(mark).chain(std::iter::repeat(Mark::Detail));
    let lines = wrap(text, columns() - 2);
    marks
        .zip(lines)
        .map(|(mark, text)| PaintedLine::new(mark, text))
        .collect()
}

/// Says what is wrong, and gives the exit code.
pub(super) fn fail(progress: &ProgressPrinter, message: &dyn Display, code: i32) -> i32 {
    fail_each(progress, &[message.to_string()], code)
}

/// Says everything that is wrong, and gives the exit code.
pub(super) fn fail_each(progress: &ProgressPrinter, messages: &[String], code: i32) -> i32 {
    progress.lines(&complaints(messages));
    code
}

/// One line for each message. Further lines of one, which somebody else may have written, are indented below it.
fn complaints(messages: &[String]) -> Vec<PaintedLine> {
    let mut lines = Vec::new();
    for message in messages.iter().take(MOST_MESSAGES) {
        let mut mark = "error:";
        for line in shortened(message).lines() {
            lines.push(format!("{mark:<6} {line}"));
            mark = "";
        }
    }
    if let Some(more @ 1..) = messages.len().checked_sub(MOST_MESSAGES) {
        lines.push(format!("error: and {} more of the kind", thousands(more as u64)));
    }
    lines
        .into_iter()
        .map(|line| PaintedLine::new(Mark::Heading, line))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_that_is_given_twice_for_a_name_is_refused() {
        let path = |name: &str, path: &str| (name.to_owned(), PathBuf::from(path));
        let given = [path("a", "1.csv"), path("b", "1.csv"), path("a", "2.csv")];
        assert_eq!(by_name("--sample", &given[..2]).unwrap().len(), 2);
        assert_eq!(
            by_name("--sample", &given).unwrap_err().to_string(),
            "--sample a is given twice, as 1.csv and as 2.csv: keep one"
        );
    }

    fn printed(messages: &[&str]) -> Vec<String> {
        let messages: Vec<String> = messages.iter().map(ToString::to_string).collect();
        let lines = complaints(&messages);
        lines.iter().map(|line| paint(line, false)).collect()
    }

    #[test]
    fn a_line_break_in_an_error_begins_no_other_error() {
        let hostile = "the cluster refuses: no\nerror: all is lost\r\n! pay here";
        assert!(
            format!("error: {hostile}")
                .lines()
                .any(|line| line == "error: all is lost")
        );
        let lines = printed(&[hostile, "b"]);
        let expected = [
            "error: the cluster refuses: no",
            "       error: all is lost",
            "       ! pay here",
            "error: b",
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn errors_without_an_end_are_cut() {
        let lines = printed(&[&"x".repeat(2_000_000)]);
        assert!(lines.len() == 1 && lines[0].len() < 2_200, "{}", lines[0].len());
        let lines = printed(&vec!["x"; 100_000]);
        assert_eq!(lines.len(), 101);
        assert_eq!(lines[100], "error: and 99,900 more of the kind");
        assert!(warning(&"word ".repeat(200_000)).len() < 30);
    }

    #[test]
    fn one_task_is_printed_as_itself_and_several_as_a_list() {
        let one = document(OutputFormat::Json, vec![json!({"kind": "A"})], 1).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&one).unwrap()["kind"], "A");
        let two = document(OutputFormat::Json, vec![json!({"n": 1}), json!({"n": 2})], 2).unwrap();
        assert_eq!(
            serde_json::from_str::<Value>(&two).unwrap()["items"],
            json!([{"n": 1}, {"n": 2}])
        );
        assert_eq!(document(OutputFormat::Text, vec![json!({})], 1), None);
    }

    #[test]
    fn yaml_reads_back_as_the_same_task() {
        let task = json!({"kind": "A", "spec": {"prompt": "line one\nline: two\n", "n": "1"}});
        let text = document(OutputFormat::Yaml, vec![task.clone()], 1).unwrap();
        assert_eq!(serde_saphyr::from_str::<Value>(&text).unwrap(), task);
    }
}
