//! One task on this machine, start to end: prepare, execute, publish.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::error::TaskError;
use super::execute::execute;
use super::folder::DEFAULT_OUTPUT;
use super::interrupt::StopSignal;
use super::objects::Objects;
use super::options::TaskOptions;
use super::prepare::prepare;
use super::results::collect;
use codegen_api::CodeGenTask;
use codegen_api::values::{FileFormat, Output};
use codegen_core::stage::Stage;
use codegen_engine::event::Observer;
use codegen_ledger::export_replies;

/// Folder of the outputs in that of the results.
const OUTPUTS: &str = "outputs";
/// Rows of a table that are shown behind its header, and bytes in which they are looked for.
const MOST_ROWS: usize = 5;
const MOST_SHOWN_BYTES: u64 = 8 * 1024;

/// Outcome of one task.
#[derive(Debug)]
pub struct TaskOutcome {
    /// The task with its status.
    pub task: CodeGenTask,
    /// Folder of its results.
    pub folder: PathBuf,
    /// Outputs on the samples in the order of the spec: name and value, or what is in it.
    pub outputs: Vec<(String, String)>,
    /// The first lines of outputs that are tables, by name.
    pub first_rows: BTreeMap<String, Vec<String>>,
    /// Examples that the last attempt failed: name, and what was expected and came.
    pub failed_examples: Vec<(String, String)>,
    /// Further notices for a person: where an earlier run or an edited file lies now.
    pub notices: Vec<String>,
    /// Every reply so far, as `--replay` reads them.
    pub recording: String,
    /// Error that stopped it before its end; `None` when it ended, or waits for something.
    pub stopped: Option<TaskError>,
}

impl TaskOutcome {
    /// Reports whether the task succeeded.
    #[must_use]
    pub fn succeeded(&self) -> bool {
        self.is_in(Stage::Succeeded)
    }

    /// Reports whether it failed for good, or until a limit is raised: not when it waits or was stopped.
    #[must_use]
    pub fn failed(&self) -> bool {
        self.is_in(Stage::Failed)
    }

    fn is_in(&self, stage: Stage) -> bool {
        let status = self.task.status.as_ref();
        status.and_then(|status| status.stage.as_deref()) == Some(stage.as_str())
    }
}

/// Returns the folder for the results of a task: `--output` itself for the only task, a folder in it for one of several. A name that
/// several of the `selected` tasks have gets the namespace too.
#[must_use]
pub fn output_folder(output: Option<&Path>, task: &CodeGenTask, selected: &[&CodeGenTask]) -> PathBuf {
    let name = task.metadata.name.as_deref().unwrap_or_default();
    let of_this_name = selected
        .iter()
        .filter(|other| other.metadata.name == task.metadata.name)
        .count();
    let name = if of_this_name > 1 {
        let namespace = task.metadata.namespace.as_deref().unwrap_or("default");
        format!("{namespace}-{name}")
    } else {
        name.to_owned()
    };
    match output {
        Some(output) if selected.len() == 1 => output.to_owned(),
        Some(output) => output.join(name),
        None => Path::new(DEFAULT_OUTPUT).join(name),
    }
}

/// Runs one task to its end. Its events go to `observer`; after a request to stop, the call in flight is recorded and
/// nothing new starts. `replayed` counts the recorded replies that earlier tasks of the command have used up.
pub async fn run_task(
    object: &CodeGenTask,
    objects: &Objects,
    options: &TaskOptions,
    output: &Path,
    replayed: &mut usize,
    observer: &dyn Observer,
    stop: &StopSignal,
) -> Result<TaskOutcome, TaskError> {
    let prepared = prepare(object, objects, options, output).await?;
    let executed = Box::pin(execute(&prepared, options, replayed, observer, stop)).await?;
    let results = collect(&prepared, &executed, object).await?;
    let published = prepared.folder.publish_with(&results.files, &results.large);
    let (moved, stopped) = match (published, executed.stopped) {
        (Ok(moved), stopped) => (moved, stopped),
        // What stopped the task (a full disk) often keeps its results from being written too, and says more.
        (Err(_), Some(stopped)) => (Vec::new(), Some(stopped)),
        (Err(error), None) => (Vec::new(), Some(TaskError::Stopped(error.to_string()))),
    };
    let earlier = prepared
        .set_aside
        .iter()
        .map(|path| format!("the earlier run is now {}", path.display()));
    let predecessor = prepared.replaced.iter().map(|other| {
        format!(
            "{} held the results of the task {other}, which these replace: give each task a folder of its own with --output; the same \
             command for {other} brings its results back without a call",
            output.display()
        )
    });
    let changed = prepared.former.iter().map(|former| {
        format!(
            "changed since the run before: {}; what that came to is in {}",
            prepared.changed.join(", "),
            former.root().display()
        )
    });
    let edited = moved
        .iter()
        .map(|path| format!("your edited file is now {}", path.display()));
    let had_ended = executed.had_ended.then(|| {
        "this is the end of an earlier run: nothing was called or run now; --retry tries again, --fresh starts over".to_owned()
    });
    let notices = earlier
        .chain(predecessor)
        .chain(changed)
        .chain(edited)
        .chain(had_ended)
        .chain(executed.notices)
        .collect();
    Ok(TaskOutcome {
        task: results.task,
        folder: output.to_owned(),
        first_rows: first_rows(object, &results.outputs, &output.join(OUTPUTS)),
        outputs: results.outputs,
        failed_examples: results.failed_examples,
        notices,
        recording: export_replies(&executed.entries),
        stopped,
    })
}

/// The header and the first rows of outputs that are tables of text; nothing of what cannot be read, or was there before.
fn first_rows(
    task: &CodeGenTask,
    published: &[(String, String)],
    folder: &Path,
) -> BTreeMap<String, Vec<String>> {
    let is_table = |output: &&Output| {
        let is_published = published.iter().any(|(name, _)| *name == output.name);
        is_published && matches!(output.format, Some(FileFormat::CSV | FileFormat::TSV))
    };
    let tables = task.spec.outputs.iter().filter(is_table);
    let read = |output: &Output| {
        let ending = output.format.map_or("", FileFormat::ending);
        let file = File::open(folder.join(format!("{}{ending}", output.name))).ok()?;
        let mut start = Vec::new();
        file.take(MOST_SHOWN_BYTES).read_to_end(&mut start).ok()?;
        let text = String::from_utf8_lossy(&start);
        let lines: Vec<String> = text.lines().take(1 + MOST_ROWS).map(str::to_owned).collect();
        (!lines.is_empty()).then(|| (output.name.clone(), lines))
    };
    tables.filter_map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use codegen_api::CodeGenTaskSpec;

    #[test]
    fn one_task_has_the_output_folder_for_itself() {
        let task = CodeGenTask::new("sum", CodeGenTaskSpec::default());
        let out = Path::new("out");
        let other = CodeGenTask::new("mean", CodeGenTaskSpec::default());
        assert_eq!(output_folder(Some(out), &task, &[&task]), out);
        assert_eq!(output_folder(Some(out), &task, &[&task, &other]), out.join("sum"));
        assert_eq!(output_folder(None, &task, &[&task]), Path::new("codegen-out/sum"));
    }

    #[test]
    fn tasks_of_one_name_in_two_namespaces_have_a_folder_each() {
        let first = CodeGenTask::new("sum", CodeGenTaskSpec::default());
        let mut second = first.clone();
        second.metadata.namespace = Some("lab".to_owned());
        let selected = [&first, &second];
        let folder = |task| output_folder(None, task, &selected);
        assert_eq!(folder(&first), Path::new("codegen-out/default-sum"));
        assert_eq!(folder(&second), Path::new("codegen-out/lab-sum"));
    }
}
