//! Finished programs as tools: found by their tasks, run as `kubectl-codegen local run` runs them.

mod call;

use std::collections::BTreeMap;

use super::error::AskError;
use super::pick::Picked;
use crate::local::objects::Objects;
use crate::local::prepare::agent_of;
use crate::local::run::{FinishedTask, LocalRunError};
use crate::local::runner::output_folder;
use crate::local::trust::Trust;
use codegen_api::CodeGenTask;
use codegen_api::code_mode::ToolSource;
use codegen_api::common::LocalRef;
use codegen_core::code_mode::{SourcedTool, ToolOrigin, program_tool};
use codegen_core::digest::sha256_hex_of_parts;
use codegen_core::task::{FrozenFiles, resolve};
use codegen_sources::renamed_text;

pub(super) use self::call::ProgramCaller;

/// Finished programs by the name of their task.
pub(super) type Programs = BTreeMap<String, FinishedTask>;

/// The tool that a task's program is, with that program.
pub(super) async fn program(
    source: &ToolSource,
    task: &LocalRef,
    picked: &Picked<'_>,
    objects: &Objects,
    trust: &Trust,
) -> Result<(SourcedTool, FinishedTask), AskError> {
    let finished = finished(&source.name, &task.name, picked, objects, trust).await?;
    let origin = ToolOrigin::Task {
        name: task.name.clone(),
        program: digest(&finished),
    };
    Ok((program_tool(source, origin, &finished.task, true), finished))
}

/// The programs of a question that goes on; they must be those that it began with.
pub(super) async fn same_programs(
    tools: &[SourcedTool],
    before: &BTreeMap<String, String>,
    picked: &Picked<'_>,
    objects: &Objects,
    trust: &Trust,
) -> Result<Programs, AskError> {
    let mut programs = Programs::new();
    for SourcedTool { tool, origin, .. } in tools {
        let ToolOrigin::Task { name, .. } = origin else {
            continue;
        };
        let finished = finished(&tool.name, name, picked, objects, trust).await?;
        if before.get(name) != Some(&digest(&finished)) {
            return Err(AskError::Request(format!(
                "taskRef of tool `{}`: the program of CodeGenTask {name} is another one than when this was asked; --fresh asks with the new one",
                tool.name
            )));
        }
        programs.insert(name.clone(), finished);
    }
    Ok(programs)
}

/// Returns the digests that distinguish programs from those of other revisions of their tasks, by the name of the task.
pub(super) fn digests(programs: &Programs) -> BTreeMap<String, String> {
    let digests = programs.iter();
    digests
        .map(|(task, finished)| (task.clone(), digest(finished)))
        .collect()
}

/// The program, and the samples that it runs with where nothing else is given.
fn digest(finished: &FinishedTask) -> String {
    sha256_hex_of_parts(&[&finished.program, &finished.task.decisive_hash()])
}

/// Reads what the task left in the folder of its results, if it is finished as it stands in the manifests.
async fn finished(
    tool: &str,
    task: &str,
    picked: &Picked<'_>,
    objects: &Objects,
    trust: &Trust,
) -> Result<FinishedTask, AskError> {
    let object = find(tool, task, picked.namespace(), objects)?;
    // Among all tasks of the manifests, as `local` has named the folders.
    let every: Vec<&CodeGenTask> = objects.tasks.iter().collect();
    let folder = output_folder(None, object, &every);
    let unfinished = |why: String| {
        AskError::Request(format!(
            "taskRef of tool `{tool}`: CodeGenTask {task} is not finished, {why}; finish it with: kubectl-codegen local {} --task {task}",
            picked.manifests
        ))
    };
    let finished = match FinishedTask::open(&folder, trust).await {
        Ok(finished) => finished,
        Err(LocalRunError::NoTask { folder }) => {
            return Err(unfinished(format!("there is no program in {}", folder.display())));
        }
        Err(LocalRunError::NotSucceeded { stage, .. }) => {
            return Err(unfinished(format!("it is in stage {stage}")));
        }
        Err(error) => return Err(AskError::Program(Box::new(error))),
    };
    if !is_of(&finished, object, objects)? {
        return Err(unfinished(
            "its manifest has changed since its program passed the tests".to_owned(),
        ));
    }
    Ok(finished)
}

fn find<'a>(
    tool: &str,
    task: &str,
    namespace: &str,
    objects: &'a Objects,
) -> Result<&'a CodeGenTask, AskError> {
    let space = |task: &CodeGenTask| {
        let namespace = task.metadata.namespace.clone();
        namespace.unwrap_or_else(|| "default".to_owned())
    };
    let is_meant =
        |object: &&CodeGenTask| space(object) == namespace && object.metadata.name.as_deref() == Some(task);
    objects.tasks.iter().find(is_meant).ok_or_else(|| {
        let named = |task: &'a CodeGenTask| {
            let name = task.metadata.name.clone().unwrap_or_default();
            ((space(task), name), task)
        };
        let present: BTreeMap<_, _> = objects.tasks.iter().map(named).collect();
        AskError::Request(format!(
            "taskRef of tool `{tool}` refers to CodeGenTask {task}, which is not among the manifests{}: add its document with -f",
            renamed_text(&present, namespace, task)
        ))
    })
}

/// Reports whether the task is still what its program was written for. Its data and its model may be others: the command line of `local`
/// may have given them.
fn is_of(finished: &FinishedTask, object: &CodeGenTask, objects: &Objects) -> Result<bool, AskError> {
    let before = &finished.task;
    let data = FrozenFiles {
        samples: before.samples.clone(),
        input_files: before.input_files.clone(),
        acceptance_tests: before.acceptance_tests.clone(),
        model: None,
    };
    // Samples and inputs that the task had not before leave it open.
    let Ok(mut now) = resolve(object, agent_of(object, objects)?, data) else {
        return Ok(false);
    };
    now.model = before.model.clone();
    Ok(now.decisive_hash() == before.decisive_hash())
}
