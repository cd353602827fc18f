//! `kubectl-codegen new`: a task from a sentence and data, as a folder for `local`, kubectl and git.

use std::path::PathBuf;

use tokio::sync::oneshot;

use super::approve::{answer, is_yes};
use super::args::{DataArgs, LocalArgs, ManifestArgs, NetworkArgs, NewArgs};
use super::command::{
    self, CommandError, TASK_FAILED, USAGE, is_interactive, listen, model_options, print_lines, warning,
};
use super::local::{Recording, log, run_after};
use super::paint::{Mark, PaintedLine};
use super::progress::ProgressPrinter;
use super::render::named_paragraph;
use super::text::{count, shell_word};
use crate::local::context::{ContextOverrides, TaskContext, context_of};
use crate::local::draft::{Draft, DraftOptions, FilePlace, KUSTOMIZATION, TASK};
use crate::local::error::TaskError;
use crate::local::interrupt::INTERRUPTED;
use crate::local::objects::Objects;
use crate::local::prepare::downloads;
use crate::local::propose::{Proposal, check_key, propose};
use codegen_api::values::Output;

/// A folder that is there.
struct Created {
    draft: Draft,
    folder: PathBuf,
    /// Replies to calls that were made for it.
    recording: String,
}

/// Runs the command.
pub(super) fn run(args: &NewArgs) -> i32 {
    let mut to_run = None;
    let code = command::run(args.color, async |progress| {
        log(args.verbose, progress);
        let created = Box::pin(create(args, progress)).await?;
        if args.run {
            progress.lines(&summary(&created));
            to_run = Some(created);
        } else {
            // A closed stdout does not take the folder away.
            let _ = print_lines(progress, summary(&created).into_iter().chain(next(&created)));
        }
        Ok(0)
    });
    match to_run {
        Some(created) => run_after(&local_args(args, &created), &created.recording),
        None => code,
    }
}

/// Reads, checks and completes the task before anything of it is written.
async fn create(args: &NewArgs, progress: &ProgressPrinter) -> Result<Created, CommandError> {
    if args.outputs.is_empty() && !args.yes && !is_interactive() {
        let message = "no outputs are given, and there is no terminal to ask at about those that a model proposes: \
            name them with --output, for example --output summary:CSV, or take what is proposed with --yes";
        return Err(CommandError::usage(message));
    }
    let invalid = |messages| CommandError {
        messages,
        code: USAGE,
    };
    let draft = Draft::read(&options(args));
    let mut draft = draft.map_err(|errors| invalid(errors.iter().map(ToString::to_string).collect()))?;
    let name = draft.task.metadata.name.clone().unwrap_or_default();
    let folder = args.folder.clone().unwrap_or_else(|| PathBuf::from(name));
    if args.outputs.is_empty() && !args.force {
        draft.take_outputs(&folder);
    }
    let objects = draft.objects().map_err(invalid)?;
    if !args.force {
        // Before a call is paid for.
        draft.check_folder(&folder).map_err(CommandError::usage)?;
    }
    let recording = match complete(args, &draft, &objects, progress).await? {
        Some(Proposal {
            outputs, recording, ..
        }) => {
            draft.task.spec.outputs = outputs;
            draft.objects().map_err(invalid)?;
            recording
        }
        None => String::new(),
    };
    draft.write(&folder).map_err(CommandError::usage)?;
    Ok(Created {
        draft,
        folder,
        recording,
    })
}

fn options(args: &NewArgs) -> DraftOptions {
    DraftOptions {
        prompt: args.prompt.clone(),
        name: args.name.clone(),
        samples: args.samples.clone(),
        inputs: args.inputs.clone(),
        outputs: args.outputs.clone(),
        constraints: args.constraints.clone(),
        acceptance_tests: args.acceptance_tests.clone(),
        exposure: args.exposure.map(Into::into),
        model: model_options(&args.model).model,
    }
}

/// Describes the samples as a run would, and has outputs proposed where none are given.
async fn complete(
    args: &NewArgs,
    draft: &Draft,
    objects: &Objects,
    progress: &ProgressPrinter,
) -> Result<Option<Proposal>, CommandError> {
    // A file is read by a child that Ctrl-C does not reach.
    let mut stop = listen(|| {})?;
    let completing = Box::pin(async {
        let context = described(draft, objects, progress).await?;
        if draft.task.spec.outputs.is_empty() {
            return proposed(args, &context, objects, progress).await.map(Some);
        }
        if args.run {
            // Before anything is written.
            check_key(&context, objects, &model_options(&args.model)).await?;
        }
        Ok(None)
    });
    tokio::select! {
        completed = completing => completed,
        () = stop.requested() => Err(CommandError::new("interrupted; nothing was written", INTERRUPTED)),
    }
}

async fn described(
    draft: &Draft,
    objects: &Objects,
    progress: &ProgressPrinter,
) -> Result<TaskContext, CommandError> {
    progress.run("reading the samples");
    // Not the draft's own task: that of the manifest has its namespace.
    let task = objects.tasks.first().unwrap_or(&draft.task);
    let described = context_of(
        task,
        objects,
        &draft.given,
        ContextOverrides::default(),
        &downloads(&[]),
    )
    .await;
    progress.stop();
    let context = described.map_err(|error| refused(draft, &error))?;
    if context.failed.is_empty() {
        return Ok(context);
    }
    let codes = context.failed.iter().map(|(_, error)| error.exit_code());
    Err(CommandError {
        messages: context
            .failed
            .iter()
            .map(|(_, error)| error.to_string())
            .collect(),
        code: codes.max().unwrap_or(TASK_FAILED),
    })
}

/// An error in the words of the command line.
fn refused(draft: &Draft, error: &TaskError) -> CommandError {
    let messages = match error {
        TaskError::Unresolved(faults) => faults
            .iter()
            .map(|fault| format!("{}: {}", draft.place(&fault.path), fault.problem))
            .collect(),
        error => error.messages(),
    };
    CommandError {
        messages,
        code: error.exit_code(),
    }
}

async fn proposed(
    args: &NewArgs,
    context: &TaskContext,
    objects: &Objects,
    progress: &ProgressPrinter,
) -> Result<Proposal, CommandError> {
    let record = args.model.record.as_deref();
    let recording = record.map(|path| Recording::open(path, ""));
    let recording = recording.transpose().map_err(CommandError::usage)?;
    let options = model_options(&args.model);
    let proposal = propose(context, objects, &options, progress).await;
    progress.stop();
    let proposal = proposal?;
    if let Some(mut recording) = recording {
        recording.add(&proposal.recording).map_err(CommandError::usage)?;
    }
    if let Some(caution) = &proposal.caution {
        progress.lines(&warning(caution));
    }
    progress.lines(&shown(&proposal.outputs));
    if args.yes || confirmed().await {
        return Ok(proposal);
    }
    let flags = proposal
        .outputs
        .iter()
        .map(|output| format!("--output {}", short(output)));
    let flags: Vec<String> = flags.collect();
    let message = format!(
        "nothing was written; name the outputs that you want, for example {}",
        flags.join(" ")
    );
    Err(CommandError::failed(message))
}

fn shown(outputs: &[Output]) -> Vec<PaintedLine> {
    let mut lines = Vec::new();
    for (index, output) in outputs.iter().enumerate() {
        let name = if index == 0 { "proposed" } else { "" };
        let text = match output.description.as_deref() {
            Some(meaning) => format!("{}={meaning}", short(output)),
            None => short(output),
        };
        lines.extend(named_paragraph(Mark::Detail, name, &text, usize::MAX).lines);
    }
    lines
}

/// An output as `--output` takes it.
fn short(output: &Output) -> String {
    match output.format {
        Some(format) => format!("{}:{format:?}", output.name),
        None => format!("{}:{}", output.name, output.type_),
    }
}

/// Asks at the terminal.
async fn confirmed() -> bool {
    let (answered, said) = oneshot::channel();
    // A thread of its own: a runtime waits for its blocking ones, and this one may wait for a key for ever.
    std::thread::spawn(move || answered.send(is_yes(&answer("Write the task with these outputs? [y/N] "))));
    said.await.unwrap_or(false)
}

/// Lists the files that were written, and their places.
fn summary(created: &Created) -> Vec<PaintedLine> {
    let Created { draft, folder, .. } = created;
    let name = draft.task.metadata.name.as_deref().unwrap_or_default();
    let files = count(draft.files.len() as u64 + 2, "file");
    let mut lines = vec![PaintedLine::new(
        Mark::Done,
        format!("{name}: {files} in {}", folder.display()),
    )];
    let mut field = |name: &str, text: &str| {
        lines.push(PaintedLine::new(Mark::Detail, format!("{name:<20} {text}")));
    };
    for file in &draft.files {
        match &file.place {
            FilePlace::ConfigMap { .. } => field(&file.file_name, &file.what),
            FilePlace::Claim { name, .. } => {
                field(
                    &file.file_name,
                    &format!("{}, on the claim {name} in a cluster", file.what),
                );
            }
        }
    }
    let outputs: Vec<String> = draft.task.spec.outputs.iter().map(short).collect();
    field(
        TASK,
        &format!("the task, with the outputs {}", outputs.join(", ")),
    );
    field(KUSTOMIZATION, "what kubectl applies");
    lines
}

/// Lists the next commands for it.
fn next(created: &Created) -> Vec<PaintedLine> {
    let folder = shell_word(&created.folder);
    let server_side = if created.draft.needs_server_side_apply() {
        "--server-side "
    } else {
        ""
    };
    let claim = created.draft.claim();
    let stands_for = claim
        .as_ref()
        .map(|(name, _)| format!(" --claim {name}={folder}"));
    let filled = claim.map(|(name, files)| {
        let files = files.join(" and ");
        (
            "before that",
            format!("a claim {name} that has {files} (docs/new.md)"),
        )
    });
    let local = format!(
        "kubectl-codegen local -k {folder}{}",
        stands_for.unwrap_or_default()
    );
    let apply = format!("kubectl apply {server_side}-k {folder}");
    [("on this machine", local), ("in a cluster", apply)]
        .into_iter()
        .chain(filled)
        .map(|(place, command)| PaintedLine::new(Mark::Detail, format!("{place:<20} {command}")))
        .collect()
}

/// Builds the arguments of `local` for the folder.
fn local_args(args: &NewArgs, created: &Created) -> LocalArgs {
    let folder = &created.folder;
    let claim = created.draft.claim();
    LocalArgs {
        again: None,
        index_url: None,
        command: None,
        place: None,
        manifests: ManifestArgs {
            kustomize: vec![folder.clone()],
            data: DataArgs {
                claims: claim
                    .map(|(name, _)| (name.to_owned(), folder.clone()))
                    .into_iter()
                    .collect(),
                ..DataArgs::default()
            },
            ..ManifestArgs::default()
        },
        network: NetworkArgs::default(),
        model: args.model.clone(),
        output: args.results.clone(),
        trust: false,
        fresh: args.fresh,
        retry: false,
        replan: false,
        hint: None,
        approve: args.approve.clone(),
        format: args.format,
        verbose: args.verbose,
        color: args.color,
    }
}
