//! `kubectl-codegen export`: everything that a task in a cluster left, as a folder like that of a local run.

use std::path::{Path, PathBuf};

use super::args::{Color, ExportArgs};
use super::cluster::Cluster;
use super::command::{TASK_FAILED, USAGE, fail, runtime, warning};
use super::ended::{Absent, ended};
use super::paint::{Line, Mark};
use super::progress::Progress;
use super::recorded::{Place, RecordedTask, from_cluster};
use crate::api::CodeGenTask;
use crate::engine::results::{Files, collect, without_data};
use crate::ledger::MemoryStore;
use crate::local::folder::TaskFolder;
use crate::pipeline::causes::with_causes;

/// Runs the command.
pub(super) fn run(args: &ExportArgs) -> i32 {
    let progress = Progress::new(Color::Auto);
    let runtime = match runtime() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&progress, &format!("cannot start: {error}"), TASK_FAILED),
    };
    let folder = args
        .output
        .clone()
        .unwrap_or_else(|| PathBuf::from(&args.task.name));
    let written = runtime
        .block_on(everything(args))
        .and_then(|exported| exported.write(&folder));
    match written {
        Ok((count, cautions)) => {
            let done = format!("{count} files in {}", folder.display());
            progress.lines(&[Line::new(Mark::Done, done)]);
            for caution in &cautions {
                progress.lines(&warning(&caution.text));
            }
            let is_passed = !cautions.iter().any(|caution| caution.is_failure);
            if is_passed { 0 } else { TASK_FAILED }
        }
        Err(Absent { message, code }) => fail(&progress, &message, code),
    }
}

/// Something that whoever uses the folder must know.
struct Caution {
    text: String,
    /// Whether the program did not pass.
    is_failure: bool,
}

impl Caution {
    const fn note(text: String) -> Self {
        Self {
            text,
            is_failure: false,
        }
    }
}

struct Exported {
    files: Files,
    cautions: Vec<Caution>,
    command: String,
}

async fn everything(args: &ExportArgs) -> Result<Exported, Absent> {
    let unreachable = |message| Absent::new(message, USAGE);
    let cluster = Cluster::connect(&args.task.cluster).await.map_err(unreachable)?;
    let recorded = from_cluster(&cluster, &args.task.name).await?;
    let (object, left_out, mut files) = files(&recorded).await?;
    let mut cautions = Vec::new();
    if !left_out.is_empty() {
        cautions.push(Caution::note(format!(
            "the task's exposure is SchemaOnly, so what holds its data is left out: {}",
            left_out.join(", ")
        )));
    }
    cautions.extend(doubt(&recorded, object).map(|text| Caution {
        text,
        is_failure: true,
    }));
    files.extend(documents(object.clone()).map_err(unreachable)?);
    Ok(Exported {
        files,
        cautions,
        command: format!("kubectl-codegen export {}", args.task.name),
    })
}

/// The object of a task, the files that hold its data and are left out, and the others.
async fn files(recorded: &RecordedTask) -> Result<(&CodeGenTask, Vec<String>, Files), Absent> {
    let nothing = || {
        let message = format!(
            "nothing is recorded of {} yet; {}",
            recorded.name,
            recorded.standing()
        );
        Absent::new(message, TASK_FAILED)
    };
    recorded.readable()?;
    let Place::Cluster { object, .. } = &recorded.place else {
        return Err(nothing());
    };
    // One that has ended before there was a program says why.
    if recorded.has_ended() {
        ended(object)?;
    }
    let (Some(task), Some(progress)) = (&recorded.task, &recorded.progress) else {
        return Err(nothing());
    };
    let store = MemoryStore::holding(recorded.documents.clone());
    let collected = collect(task, progress, &store, &recorded.entries()?).await;
    let collected = collected.map_err(|error| Absent::new(with_causes(&error), USAGE))?;
    let mut files = collected.files;
    let left_out = without_data(task, &mut files);
    Ok((object, left_out, files))
}

/// Why the program is not one to rely on.
fn doubt(recorded: &RecordedTask, object: &CodeGenTask) -> Option<String> {
    if recorded.has_ended() {
        return ended(object).ok()?.caution;
    }
    Some(format!(
        "{}, so this is what there is of it so far: export it again when it has ended",
        recorded
            .standing()
            .replacen("it is", &format!("{} is", recorded.name), 1)
    ))
}

impl Exported {
    fn write(self, folder: &Path) -> Result<(usize, Vec<Caution>), Absent> {
        let refused = |error: &dyn std::fmt::Display| Absent::new(error.to_string(), USAGE);
        let target = TaskFolder::open(folder, &self.command).map_err(|error| refused(&error))?;
        let moved = target.publish(&self.files).map_err(|error| refused(&error))?;
        let edited = moved
            .iter()
            .map(|path| Caution::note(format!("your edited file is now {}", path.display())));
        Ok((self.files.len(), edited.chain(self.cautions).collect()))
    }
}

/// The manifest, as it can be applied again, and the status without the operator's own state.
fn documents(mut object: CodeGenTask) -> Result<Files, String> {
    let mut status = object.status.take().unwrap_or_default();
    status.progress = None;
    let metadata = std::mem::take(&mut object.metadata);
    object.metadata.name = metadata.name;
    object.metadata.namespace = metadata.namespace;
    object.metadata.labels = metadata.labels;
    let texts = [
        ("task.yaml", serde_saphyr::to_string(&object)),
        ("status.yaml", serde_saphyr::to_string(&status)),
    ];
    texts
        .into_iter()
        .map(|(path, text)| match text {
            Ok(text) => Ok((path.to_owned(), text.into_bytes())),
            Err(error) => Err(format!("{path} cannot be written as YAML: {error}")),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::CodeGenTaskSpec;
    use crate::api::status::CodeGenTaskStatus;

    #[test]
    fn the_manifest_can_be_applied_again_and_the_status_has_no_state_of_the_operator() {
        let mut object = CodeGenTask::new(
            "sum",
            CodeGenTaskSpec {
                prompt: "Add.".to_owned(),
                ..CodeGenTaskSpec::default()
            },
        );
        object.metadata.uid = Some("1".to_owned());
        object.metadata.resource_version = Some("2".to_owned());
        object.status = Some(CodeGenTaskStatus {
            stage: Some("Succeeded".to_owned()),
            progress: Some(serde_json::Map::from_iter([("stage".to_owned(), "x".into())])),
            ..CodeGenTaskStatus::default()
        });
        let files = documents(object).unwrap();
        let text = |path: &str| String::from_utf8(files[path].clone()).unwrap();
        let task: serde_json::Value = serde_saphyr::from_str(&text("task.yaml")).unwrap();
        assert_eq!(task["kind"], "CodeGenTask");
        assert_eq!(task["spec"]["prompt"], "Add.");
        assert_eq!(task["metadata"], serde_json::json!({"name": "sum"}));
        assert!(text("status.yaml").contains("stage: Succeeded"));
        assert!(!text("status.yaml").contains("progress"));
    }
}
