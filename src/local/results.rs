//! Results that a task leaves where a person looks: the engine's results and the status.

use std::collections::BTreeMap;
use std::io;

use jiff::Timestamp;

use super::error::{TaskError, stopped};
use super::execute::ExecutedTask;
use super::large::LargeResults;
use super::prepare::Prepared;
use codegen_api::CodeGenTask;
use codegen_core::status::{Hold, StatusContext, status};
use codegen_engine::results::{self, LargeOutput};

/// Everything that is published, and the task with its status.
pub struct PublishedResults {
    /// Files by path below the output folder.
    pub files: BTreeMap<String, Vec<u8>>,
    /// Those that lie in files already.
    pub large: LargeResults,
    /// The task with its status.
    pub task: CodeGenTask,
    /// Outputs on the samples: name and value, of files and folders their size.
    pub outputs: Vec<(String, String)>,
    /// Examples that the last attempt failed: name, and what was expected and came.
    pub failed_examples: Vec<(String, String)>,
}

/// Collects the results of a task that has ended, or waits.
pub async fn collect(
    prepared: &Prepared,
    executed: &ExecutedTask,
    object: &CodeGenTask,
) -> Result<PublishedResults, TaskError> {
    let results::Results {
        mut files,
        artifacts,
        outputs,
        failed_examples,
        large,
    } = results::collect(
        &prepared.task,
        &executed.progress,
        &executed.store,
        &executed.entries,
    )
    .await
    .map_err(stopped)?;
    let mut task = object.clone();
    let before = task
        .status
        .take()
        .map(|status| status.conditions)
        .unwrap_or_default();
    let hold = prepared.is_suspended.then(Hold::suspended);
    let around = StatusContext {
        artifacts,
        generation: task.metadata.generation,
        before: &before,
        hold: hold.as_ref(),
        isolation: None,
    };
    task.status = Some(status(
        &prepared.task,
        &executed.progress,
        around,
        Timestamp::now(),
    ));
    let text =
        serde_saphyr::to_string(&task.status).map_err(|error| TaskError::Stopped(error.to_string()))?;
    files.insert("status.yaml".into(), text.into_bytes());
    let large = in_files(prepared, &large);
    Ok(PublishedResults {
        files,
        large: large.map_err(|error| TaskError::Stopped(error.to_string()))?,
        task,
        outputs,
        failed_examples,
    })
}

/// The results that lie in files: large outputs, and what the task ran with, unless no model was to see more than its schema.
pub fn in_files(prepared: &Prepared, outputs: &[LargeOutput]) -> io::Result<LargeResults> {
    let mut large = LargeResults::find(&prepared.run.stored(), outputs)?;
    let task = &prepared.task;
    if !results::is_private(task) {
        for file in task.frozen_inputs() {
            let name = format!("{}/{}", results::INPUTS, file.file_name);
            large.add_input(&name, prepared.run.input(&file.file_name), file)?;
        }
    }
    Ok(large)
}
