//! `kubectl-codegen local run`: the program of a finished task, on this machine.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use super::for_each::for_each;
use super::print::{Only, Outputs, ended};
use crate::cli::approve::trust;
use crate::cli::args::{ForEachArgs, LocalRunArgs, ManifestArgs};
use crate::cli::command::{self, CommandError, listen, read, warning};
use crate::cli::progress::ProgressPrinter;
use crate::local::interrupt::INTERRUPTED;
use crate::local::objects::Objects;
use crate::local::run::{
    FinishedTask, ForEachOptions, LocalRunOptions, RunOutcome, run as run_program, write,
};
use crate::local::runner::output_folder;
use codegen_api::values::ValueType;
use codegen_core::run::RunEnd;

/// Runs the command.
pub(in crate::cli) fn run(args: &LocalRunArgs) -> i32 {
    command::run(args.program.color, async |progress| {
        let (folder, objects) = which(args, progress)?;
        let mut stop = listen(|| {})?;
        tokio::select! {
            ran = Box::pin(run_and_write(args, &folder, &objects, progress)) => ran,
            () = stop.requested() => {
                let is_recorded = args.each.for_each.is_some() && args.program.output_dir.is_some();
                let next = if is_recorded { "; the same command goes on" } else { "" };
                Err(CommandError::new(format!("interrupted{next}"), INTERRUPTED))
            }
        }
    })
}

/// The folder that is meant, and the objects of the manifests.
fn which(args: &LocalRunArgs, progress: &ProgressPrinter) -> Result<(PathBuf, Objects), CommandError> {
    let manifests = ManifestArgs {
        files: args.files.clone(),
        kustomize: args.kustomize.clone(),
        task: args.task.clone(),
        ..ManifestArgs::default()
    };
    let objects = if manifests.files.is_empty() && manifests.kustomize.is_empty() {
        Objects::default()
    } else {
        read(&manifests, progress)?
    };
    if let Some(folder) = &args.folder {
        return Ok((folder.clone(), objects));
    }
    let tasks = objects.pick(args.task.as_deref()).map_err(CommandError::usage)?;
    let [task] = tasks.as_slice() else {
        let names: Vec<&str> = tasks
            .iter()
            .filter_map(|task| task.metadata.name.as_deref())
            .collect();
        let message = format!(
            "the manifests hold several tasks: say with --task which one, of {}",
            names.join(", ")
        );
        return Err(CommandError::usage(message));
    };
    // Among all tasks of the manifests, as `local` has named the folders.
    let every: Vec<_> = objects.tasks.iter().collect();
    let folder = output_folder(None, task, &every);
    Ok((folder, objects))
}

/// The options about many files, where there are some.
fn each(args: &ForEachArgs) -> Option<ForEachOptions> {
    let (input, pattern) = args.for_each.clone()?;
    let cores = || std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    Some(ForEachOptions {
        input,
        pattern,
        parallelism: args.parallelism.unwrap_or_else(cores),
        failed: args.failed,
    })
}

async fn run_and_write(
    args: &LocalRunArgs,
    folder: &std::path::Path,
    objects: &Objects,
    progress: &ProgressPrinter,
) -> Result<i32, CommandError> {
    let finished = FinishedTask::open(folder, &trust(args.trust)).await?;
    let options = LocalRunOptions {
        inputs: args.program.inputs.clone(),
        validation: args.program.validation.map(Into::into),
        timeout: args.program.timeout.clone(),
        output_dir: args.program.output_dir.clone(),
        allowed_hosts: args.network.allow_host.clone(),
    };
    for notice in &finished.notices {
        progress.lines(&warning(notice));
    }
    if let Some(each) = each(&args.each) {
        let format = args.program.format;
        return Box::pin(for_each(&finished, &options, &each, objects, (progress, format))).await;
    }
    let target = args.program.output_dir.as_deref();
    let _held = target.map(write::hold).transpose()?;
    if let Some(target) = target {
        write::check(target, &finished.task.outputs)?;
    }
    let RunOutcome {
        object,
        end,
        notices,
        disk,
    } = Box::pin(run_program(&finished, &options, objects, &|label| {
        progress.run(label);
    }))
    .await?;
    for notice in &notices {
        progress.lines(&warning(notice));
    }
    let mut shown = Outputs::default();
    if let RunEnd::Succeeded(outputs) = end {
        match (target, outputs.as_slice()) {
            (Some(target), outputs) => {
                shown.places = write::write(target, outputs).map_err(CommandError::usage)?;
            }
            (None, [only]) if only.type_ == ValueType::File => {
                shown.only = Only::of(only);
            }
            (None, _) => {}
        }
    }
    let code = ended(progress, args.program.format, &object, &shown);
    // Large outputs that were not written lie there until now.
    drop(disk);
    code
}
