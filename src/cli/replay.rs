//! `kubectl-codegen local --again`: a result that has ended, once more on this machine and on its recorded replies.

mod compare;
mod inputs;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;

use self::compare::{ReplayEnd, first_difference, is_same_end};
use self::inputs::freeze_inputs;
use super::approve::trust;
use super::args::LocalArgs;
use super::command::{self, CommandError, TASK_FAILED, listen, print_lines, read, warning};
use super::paint::{Mark, PaintedLine};
use super::progress::ProgressPrinter;
use super::recorded::{RecordedTask, from_folder};
use crate::local::credentials::sandbox_variables;
use crate::local::error::TaskError;
use crate::local::execute::{ExecutedTask, execute};
use crate::local::folder::{TASK, TaskFolder};
use crate::local::interrupt::StopSignal;
use crate::local::options::TaskOptions;
use crate::local::prepare::Prepared;
use crate::local::results::in_files;
use codegen_api::conditions::reason;
use codegen_api::retry::RetryStatus;
use codegen_core::causes::with_causes;
use codegen_core::retry::Retry;
use codegen_core::sandbox::NetworkAccess;
use codegen_core::status::{StatusContext, status};
use codegen_core::task::Task;
use codegen_engine::results;
use codegen_ledger::{Entry, export_replies};
use codegen_sandbox::SandboxError;

/// Runs the result in `folder` once more.
pub(super) fn run(args: &LocalArgs, folder: &Path) -> i32 {
    command::run(args.color, async |progress| {
        let shown = Arc::clone(progress);
        let stop = listen(move || shown.lines(&warning("stopping")))?;
        let Replayed { lines, is_same } = Box::pin(replay(args, folder, progress, &stop)).await?;
        progress.stop();
        print_lines(progress, lines)?;
        Ok(if is_same { 0 } else { TASK_FAILED })
    })
}

/// Result of a replay.
struct Replayed {
    lines: Vec<PaintedLine>,
    is_same: bool,
}

async fn replay(
    args: &LocalArgs,
    folder: &Path,
    progress: &ProgressPrinter,
    stop: &StopSignal,
) -> Result<Replayed, CommandError> {
    let recorded = from_folder(folder).await?;
    check_origin(&recorded, folder, args.trust).await?;
    let (mut task, entries) = replayable(&recorded)?;
    let retries = recorded.retries()?;
    match args.index_url.as_deref() {
        None => {}
        Some("-") => task.image.index_url = None,
        Some(url) => task.image.index_url = Some(url.to_owned()),
    }
    let temporary = tempfile::tempdir();
    let temporary = temporary.map_err(TaskError::NoTemporaryFolder)?;
    let replies = temporary.path().join("replies.jsonl");
    fs::write(&replies, export_replies(&entries))
        .map_err(|error| CommandError::usage(format!("cannot write {}: {error}", replies.display())))?;
    let place = temporary.path().join("replay");
    let output = args.output.as_deref().unwrap_or(&place);
    let prepared = Box::pin(prepare(folder, task, args, output, progress)).await?;
    let again = |retry: &RetryStatus| Retry {
        replan: retry.replan,
        hint: retry.hint.clone(),
    };
    let options = TaskOptions {
        replay: Some(replies),
        retries: retries.iter().map(again).collect(),
        allowed_hosts: args.network.allow_host.clone(),
        ..TaskOptions::default()
    };
    let executed = Box::pin(execute(&prepared, &options, &mut 0, progress, stop)).await?;
    if args.output.is_some() {
        publish(&prepared, &executed).await?;
    }
    if let Some(stopped) = executed.stopped {
        return Err(stopped.into());
    }
    let shown = status(
        &prepared.task,
        &executed.progress,
        StatusContext::default(),
        Timestamp::now(),
    );
    let before = ReplayEnd::of(&recorded.status, recorded.progress.as_ref(), &entries);
    let after = ReplayEnd::of(&shown, Some(&executed.progress), &executed.entries);
    Ok(verdict(&recorded.name, &before, &after))
}

/// Refuses records that were made elsewhere, unless somebody says that they are gone by.
async fn check_origin(recorded: &RecordedTask, folder: &Path, is_trusted: bool) -> Result<(), CommandError> {
    let Some(elsewhere) = &recorded.foreign else {
        return Ok(());
    };
    if trust(is_trusted).allows(folder).await {
        return Ok(());
    }
    Err(CommandError::usage(format!(
        "{elsewhere}; look at them, then repeat with --trust"
    )))
}

/// The task and its calls, where there is something to replay.
fn replayable(recorded: &RecordedTask) -> Result<(Task, Vec<Entry>), CommandError> {
    let name = &recorded.name;
    let wrong = |why: String| Err(CommandError::usage(format!("{name} cannot be replayed: {why}")));
    if !recorded.has_ended() {
        return wrong(format!("{}, and a replay compares ends", recorded.standing()));
    }
    if recorded.status.reason.as_deref() == Some(reason::REJECTED) {
        return wrong("a person has rejected it at a gate, which no reply has decided".to_owned());
    }
    let Some(mut task) = recorded.task.clone() else {
        return wrong("its record does not say what it was asked for".to_owned());
    };
    let entries = recorded.entries()?;
    if entries.is_empty() {
        return wrong("no reply of a model is recorded".to_owned());
    }
    // What was approved of is what is replayed, and nothing leaves this machine.
    task.approvals.clear();
    task.publish = None;
    // An image of a registry is none of this machine, which installs what the program imports.
    task.image.reference = None;
    if matches!(task.sandbox.network, NetworkAccess::List(_)) {
        return wrong(SandboxError::NetworkList.to_string());
    }
    Ok((task, entries))
}

/// The task with its inputs in a folder, ready for the engine.
async fn prepare(
    again: &Path,
    task: Task,
    args: &LocalArgs,
    output: &Path,
    progress: &ProgressPrinter,
) -> Result<Prepared, CommandError> {
    let objects = read(&args.manifests, progress)?;
    let secret_variables = sandbox_variables(&task.sandbox.secrets, &task.namespace, &objects);
    let secret_variables = secret_variables.map_err(CommandError::usage)?;
    let command = format!("kubectl-codegen local --again {},", again.display());
    let folder = TaskFolder::open(output, &command).map_err(CommandError::usage)?;
    let staging = folder.staging().map_err(CommandError::usage)?;
    freeze_inputs(again, &task, args, &staging).await?;
    let hash = task.decisive_hash();
    // A replay begins anew, also where an earlier one of it lies.
    let set_aside = folder.set_aside(&hash).map_err(CommandError::usage)?;
    let run = folder.revision(&hash, &staging).map_err(CommandError::usage)?;
    // Plain data with string keys: writing it to memory cannot fail.
    let bytes = serde_json::to_vec(&task).unwrap_or_default();
    run.write(TASK, &bytes).map_err(CommandError::usage)?;
    Ok(Prepared {
        task,
        folder,
        run,
        credentials: Vec::new(),
        secret_variables,
        set_aside,
        replaced: None,
        former: None,
        changed: Vec::new(),
        is_suspended: false,
    })
}

async fn publish(prepared: &Prepared, executed: &ExecutedTask) -> Result<(), CommandError> {
    let ExecutedTask {
        progress,
        store,
        entries,
        ..
    } = executed;
    let collected = results::collect(&prepared.task, progress, store, entries).await;
    let collected = collected.map_err(|error| CommandError::usage(with_causes(&error)))?;
    let large = in_files(prepared, &collected.large);
    let large = large.map_err(CommandError::usage)?;
    let published = prepared.folder.publish_with(&collected.files, &large);
    published.map(drop).map_err(CommandError::usage)
}

/// Compares two ends.
fn verdict(name: &str, before: &ReplayEnd, after: &ReplayEnd) -> Replayed {
    let difference = first_difference(before, after);
    if is_same_end(before, after) {
        let calls = match before.calls.len() {
            1 => "1 recorded reply".to_owned(),
            calls => format!("{calls} recorded replies"),
        };
        let mut lines = vec![PaintedLine::new(
            Mark::Done,
            format!("{name} came to the same end on {calls}: {}", before.words()),
        )];
        // The same end by another way: it is worth a line.
        lines.extend(
            difference.map(|text| PaintedLine::new(Mark::Warning, format!("on the way there {text}"))),
        );
        return Replayed { lines, is_same: true };
    }
    let mut lines = vec![
        PaintedLine::new(Mark::Failed, format!("{name} came to another end")),
        PaintedLine::new(Mark::Detail, format!("recorded: {}", before.words())),
        PaintedLine::new(Mark::Detail, format!("replayed: {}", after.words())),
    ];
    lines.extend(difference.map(|text| PaintedLine::new(Mark::Detail, format!("first difference: {text}"))));
    Replayed {
        lines,
        is_same: false,
    }
}

#[cfg(test)]
mod tests;
