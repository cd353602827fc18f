//! Everything that a run reads: what it gives itself, and the task's own where it gives nothing.

use std::collections::{BTreeMap, BTreeSet};

use kube::ResourceExt as _;

use super::program::FinishedProgram;
use super::source::{SourcedInput, invalid};
use crate::controller::claims;
use crate::controller::context::Context;
use crate::controller::error::ReconcileError;
use crate::controller::hold::{Blocked, misconfigured};
use crate::controller::record::own;
use crate::controller::record::parts::Contents;
use crate::controller::record::snapshot::{ReadSources, contents};
use crate::controller::sources::read::{check_total, digest_of, read_sources};
use codegen_api::run::RunSource;
use codegen_api::source::ContentSource;
use codegen_api::values::ValueType;
use codegen_api::{CodeGenRun, CodeGenTask};
use codegen_core::run::{ResolvedRun, RunFault, RunSettings, resolve};
use codegen_core::task::{FrozenFile, Task};
use codegen_sandbox::Progressing;
use codegen_sandbox::kubernetes::Owner;
use codegen_sources::with_sources_of;

/// A run that can begin.
pub struct PreparedRun {
    /// With every question answered.
    pub run: ResolvedRun,
    /// The contents of its files and folders, by the name of the input.
    pub contents: BTreeMap<String, Contents>,
}

/// Reads the inputs of `object`, once the Pod has ended that reads those on claims.
pub async fn read_inputs(
    context: &Context,
    object: &CodeGenRun,
    task: Option<&CodeGenTask>,
    program: &FinishedProgram,
    owner: &Owner,
) -> Result<Progressing<PreparedRun>, ReconcileError> {
    let inputs = &object.spec.inputs;
    // Only decides, up to here by what the spec says alone.
    let values: BTreeMap<String, String> = inputs
        .iter()
        .filter_map(|input| Some((input.name.clone(), input.value.clone()?)))
        .collect();
    let settings = RunSettings::from(&object.spec);
    // What is wrong shows before anything is read.
    let supposed: Vec<FrozenFile> = inputs
        .iter()
        .filter_map(|input| Some(supposed(&program.task, &input.name, input.source.as_ref()?)))
        .collect();
    resolve(&program.task, &values, &supposed, settings).map_err(|faults| refused(&faults))?;

    let given: BTreeSet<String> = inputs.iter().map(|input| input.name.clone()).collect();
    // Reads, first what needs no Pod.
    let mut sources = Box::pin(read_here(context, object, task, program, &given)).await?;
    // A reader describes samples, and a run has none.
    let reading = Task {
        samples: Vec::new(),
        ..program.task.clone()
    };
    let read = Box::pin(claims::read(context, owner, &reading, &mut sources)).await?;
    if let Err(progress) = read.done() {
        return Ok(progress);
    }
    let read = sources.files.input_files;
    if let Some(task) = task {
        unchanged(task, program, &given, &read)?;
    }
    let own: Vec<FrozenFile> = read
        .into_iter()
        .filter(|file| given.contains(&file.name))
        .collect();
    // Resolved again, now with the digests and sizes of what was read.
    let run = resolve(&program.task, &values, &own, settings).map_err(|faults| refused(&faults))?;
    Ok(Progressing::Done(PreparedRun {
        run,
        contents: sources.contents,
    }))
}

/// Reads what the run gives itself, and the task's own where it gives nothing; all but the contents of claims.
async fn read_here(
    context: &Context,
    object: &CodeGenRun,
    task: Option<&CodeGenTask>,
    program: &FinishedProgram,
    given: &BTreeSet<String>,
) -> Result<ReadSources, ReconcileError> {
    let mut sources = ReadSources::default();
    for (index, input) in object.spec.inputs.iter().enumerate() {
        let Some(source) = &input.source else { continue };
        let given = SourcedInput {
            object,
            index,
            input,
            source,
            is_dir: takes_folder(&program.task, &input.name),
        };
        add(&mut sources, Box::pin(given.read(context)).await?);
    }
    // An image has no samples.
    if let Some(task) = task {
        for default in Box::pin(defaults(context, object, task, program, given)).await? {
            add(&mut sources, default);
        }
    }
    check_total(&sources)?;
    Ok(sources)
}

fn add(sources: &mut ReadSources, (file, contents): (FrozenFile, Contents)) {
    sources.contents.insert(file.name.clone(), contents);
    sources.files.input_files.push(file);
}

/// A file or folder that is not read yet.
fn supposed(task: &Task, name: &str, source: &RunSource) -> FrozenFile {
    let is_dir = match source.content() {
        Some(ContentSource::ConfigMap(_)) => true,
        Some(ContentSource::Inline(_) | ContentSource::ConfigMapKey(_) | ContentSource::Url(_)) => false,
        Some(ContentSource::Claim(_)) | None => takes_folder(task, name),
    };
    FrozenFile {
        name: name.to_owned(),
        file_name: name.to_owned(),
        sha256: String::new(),
        bytes: 0,
        is_dir,
    }
}

fn takes_folder(task: &Task, name: &str) -> bool {
    let mut inputs = task.inputs.iter();
    inputs.any(|input| input.name == name && input.type_ == ValueType::Dir)
}

fn refused(faults: &[RunFault]) -> Blocked {
    let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
    invalid(format!(
        "{}; a run stays as it was made: make another one",
        faults.join("; ")
    ))
}

/// Reads what the run does not give itself: the samples and inputs that the task was tested with.
async fn defaults(
    context: &Context,
    object: &CodeGenRun,
    task: &CodeGenTask,
    program: &FinishedProgram,
    given: &BTreeSet<String>,
) -> Result<Vec<(FrozenFile, Contents)>, ReconcileError> {
    let frozen = program.task.frozen_inputs().map(|file| &file.name);
    let mut wanted: BTreeSet<&String> = frozen.filter(|name| !given.contains(*name)).collect();
    let mut defaults = from_snapshot(context, task, &wanted).await?;
    wanted.retain(|name| !defaults.iter().any(|(file, _)| file.name == **name));
    // What lies on a claim was never copied, and a task that adopted its program has no snapshot.
    if !wanted.is_empty() {
        defaults.extend(Box::pin(from_sources(context, object, task, &wanted)).await?);
    }
    Ok(defaults)
}

/// Finds these inputs in the snapshot of the task.
async fn from_snapshot(
    context: &Context,
    task: &CodeGenTask,
    wanted: &BTreeSet<&String>,
) -> Result<Vec<(FrozenFile, Contents)>, ReconcileError> {
    let snapshot = task.status.as_ref().and_then(|status| status.snapshot.as_ref());
    let Some(snapshot) = snapshot.filter(|_| !wanted.is_empty()) else {
        return Ok(Vec::new());
    };
    let namespace = task.namespace().unwrap_or_default();
    let is_wanted = |name: &str| wanted.iter().any(|wanted| *wanted == name);
    let found = contents(&context.client, &namespace, &snapshot.name, is_wanted).await?;
    for (file, contents) in &found {
        if digest_of(contents.files(), file.is_dir) != file.sha256 {
            return Err(own::replaced(format!("Secret {namespace}/{}", snapshot.name)).into());
        }
    }
    Ok(found)
}

/// Reads these inputs from the sources of the task as they are now.
async fn from_sources(
    context: &Context,
    object: &CodeGenRun,
    task: &CodeGenTask,
    wanted: &BTreeSet<&String>,
) -> Result<Vec<(FrozenFile, Contents)>, Blocked> {
    let mut asked = with_sources_of(task, |name| wanted.iter().any(|wanted| *wanted == name));
    asked.spec.acceptance_tests = None;
    // Downloads are remembered for whom they were made.
    asked.metadata.uid.clone_from(&object.metadata.uid);
    let read = read_sources(&context.client, &context.downloads, &asked).await;
    let mut read = read.map_err(|Blocked(mut hold)| {
        hold.message = format!("the CodeGenTask {}: {}", task.name_any(), hold.message);
        Blocked(hold)
    })?;
    let files = read.files.samples.into_iter().chain(read.files.input_files);
    Ok(files
        .filter(|file| wanted.contains(&file.name))
        .filter_map(|file| {
            let contents = read.contents.remove(&file.name)?;
            Some((file, contents))
        })
        .collect())
}

/// The task's own files must be those that its program was tested on.
fn unchanged(
    task: &CodeGenTask,
    program: &FinishedProgram,
    given: &BTreeSet<String>,
    read: &[FrozenFile],
) -> Result<(), Blocked> {
    let own = program.task.frozen_inputs();
    for frozen in own.filter(|file| !given.contains(&file.name)) {
        let found = read.iter().find(|file| file.name == frozen.name);
        let found = found.map_or("nothing", |file| file.sha256.as_str());
        if found != frozen.sha256 {
            let name = &frozen.name;
            return Err(misconfigured(format!(
                "the content of {name} has changed since the CodeGenTask {} succeeded (sha256 {found}, it was {}): bring it back, or \
                 make another run that gives {name} itself",
                task.name_any(),
                frozen.sha256
            )));
        }
    }
    Ok(())
}
