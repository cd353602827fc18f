//! The data context of a task, without running it: its samples are frozen in a folder that is gone afterwards.

use std::path::PathBuf;

use super::error::TaskError;
use super::execute::worker;
use super::freeze::{DownloadAccess, INPUTS, freeze};
use super::objects::Objects;
use super::prepare::agent_of;
use codegen_api::common::Exposure;
use codegen_api::limits::Limits;
use codegen_api::model::Model;
use codegen_api::values::Sample;
use codegen_api::{CodeGenTask, CodeGenTaskSpec};
use codegen_core::task::{Task, resolve};
use codegen_data::context::DataContext;
use codegen_data::joins::JoinProfile;
use codegen_data::profile::SampleProfile;
use codegen_engine::data::{DataReader as _, Described};
use codegen_engine::reader::WorkerReader;
use codegen_sources::{GivenFiles, ReadPlan, plan, sample_names};

/// Context of a task: what it would send of its samples.
#[derive(Debug)]
pub struct TaskContext {
    /// The task, whose settings hold.
    pub task: Task,
    /// The text and its budget; empty without samples.
    pub context: DataContext,
    /// Profiles of the samples: what is known of each.
    pub profiles: Vec<SampleProfile>,
    /// Columns on which they may be joined, as far as may be shown.
    pub joins: Vec<JoinProfile>,
    /// Samples that cannot be had or described, by name. The context is that of the others.
    pub failed: Vec<(String, TaskError)>,
}

/// Settings in the place of those that the task has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ContextOverrides {
    /// Representative rows of a sample.
    pub max_sample_rows: Option<i32>,
    /// Tokens of the context.
    pub max_context_tokens: Option<i32>,
    /// Parts that may be shown.
    pub exposure: Option<Exposure>,
}

impl ContextOverrides {
    fn apply(self, spec: &mut CodeGenTaskSpec) {
        if self.max_sample_rows.is_some() {
            spec.max_sample_rows = self.max_sample_rows;
        }
        if self.exposure.is_some() {
            spec.exposure = self.exposure;
        }
        if self.max_context_tokens.is_some() {
            spec.limits.get_or_insert_with(Limits::default).max_context_tokens = self.max_context_tokens;
        }
    }
}

/// A task whose samples are these files, and where they lie.
#[must_use]
pub fn task_of_files(paths: &[PathBuf]) -> (CodeGenTask, GivenFiles) {
    let names = sample_names(paths);
    let sample = |name: &String| Sample {
        name: name.clone(),
        ..Sample::default()
    };
    let spec = CodeGenTaskSpec {
        samples: names.iter().map(sample).collect(),
        // It is never called; a task has one.
        model: Some(Model {
            name: Some("none".to_owned()),
            ..Model::default()
        }),
        ..CodeGenTaskSpec::default()
    };
    let given = GivenFiles {
        samples: names.into_iter().zip(paths.iter().cloned()).collect(),
        ..GivenFiles::default()
    };
    (CodeGenTask::new("files", spec), given)
}

/// Freezes the sources of a task and describes its samples as a run would. One that cannot be read does not hide the
/// others.
pub async fn context_of(
    object: &CodeGenTask,
    objects: &Objects,
    given: &GivenFiles,
    overrides: ContextOverrides,
    downloads: &DownloadAccess,
) -> Result<TaskContext, TaskError> {
    let mut object = object.clone();
    overrides.apply(&mut object.spec);
    let agent = agent_of(&object, objects)?;
    let mut sources = plan(&object, &objects.config_maps, given)?;
    let folder = tempfile::tempdir().map_err(TaskError::NoTemporaryFolder)?;
    // One by one below, so that a sample that cannot be read is left out alone.
    let samples = std::mem::take(&mut sources.samples);
    let mut frozen = freeze(&sources, folder.path(), downloads).await?;
    let mut failed = Vec::new();
    for sample in samples {
        let name = sample.name.clone();
        let alone = ReadPlan {
            samples: vec![sample],
            ..ReadPlan::default()
        };
        match freeze(&alone, folder.path(), downloads).await {
            Ok(one) => frozen.samples.extend(one.samples),
            Err(error) => {
                object.spec.samples.retain(|sample| sample.name != name);
                failed.push((name, error.into()));
            }
        }
    }
    let task = resolve(&object, agent, frozen).map_err(TaskError::Unresolved)?;
    let sources = task.samples.iter().map(|sample| {
        (
            sample.name.clone(),
            folder.path().join(INPUTS).join(&sample.file_name),
        )
    });
    let reader = WorkerReader {
        client: worker()?,
        sources: sources.collect(),
        profiles: None,
    };
    let (task, described) = describe(&reader, task, &mut failed).await;
    Ok(TaskContext {
        task,
        context: described.context,
        joins: described.joins,
        profiles: serde_json::from_slice(&described.profiles).unwrap_or_default(),
        failed,
    })
}

/// Describes all samples at once, as a run does. When that fails, those that cannot be described alone are left out.
async fn describe(
    reader: &WorkerReader,
    mut task: Task,
    failed: &mut Vec<(String, TaskError)>,
) -> (Task, Described) {
    let error = match reader.describe(&task).await {
        Ok(described) => return (task, described),
        Err(error) => error,
    };
    // It was alone already: another try would fail alike.
    if let [only] = task.samples.as_slice() {
        let name = only.name.clone();
        failed.push((name.clone(), TaskError::Sample { name, source: error }));
        task.samples.clear();
        return (task, Described::default());
    }
    let all = std::mem::take(&mut task.samples);
    let before = failed.len();
    // Only to find those that fail: the description is that of all others together.
    for sample in &all {
        task.samples = vec![sample.clone()];
        match reader.describe(&task).await {
            Ok(_) => {}
            Err(source) => {
                let name = sample.name.clone();
                failed.push((name.clone(), TaskError::Sample { name, source }));
            }
        }
    }
    let is_readable = |name: &str| failed.iter().all(|(other, _)| other != name);
    task.samples = all;
    task.samples.retain(|sample| is_readable(&sample.name));
    match reader.describe(&task).await {
        Ok(described) if failed.len() > before => (task, described),
        // Each can be described alone and all together cannot, as in a run.
        Ok(_) | Err(_) => {
            let names: Vec<_> = task.samples.iter().map(|sample| sample.name.as_str()).collect();
            let name = names.join(", ");
            failed.push((name.clone(), TaskError::Sample { name, source: error }));
            task.samples.clear();
            (task, Described::default())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use codegen_core::task::{FrozenFile, FrozenFiles};
    use codegen_data::worker::WorkerClient;

    #[tokio::test]
    async fn a_single_sample_that_cannot_be_described_is_tried_once() {
        let folder = tempfile::tempdir().unwrap();
        let started = folder.path().join("started");
        let script = format!("echo started >> {}; exit 1", started.display());
        let reader = WorkerReader {
            client: WorkerClient::new("/bin/sh".as_ref(), ["-c", script.as_str()]),
            sources: [("orders".to_owned(), folder.path().join("orders.csv"))].into(),
            profiles: None,
        };
        let (object, _) = task_of_files(&["orders.csv".into()]);
        let mut files = FrozenFiles::default();
        files.samples.push(FrozenFile {
            name: "orders".to_owned(),
            file_name: "orders.csv".to_owned(),
            sha256: String::new(),
            bytes: 0,
            is_dir: false,
        });
        let task = resolve(&object, None, files).unwrap();
        let mut failed = Vec::new();
        let (task, _) = describe(&reader, task, &mut failed).await;
        assert_eq!(task.samples.len(), 0);
        assert_eq!(failed.len(), 1);
        assert_eq!(std::fs::read_to_string(started).unwrap().lines().count(), 1);
    }

    #[test]
    fn files_are_the_samples_of_a_task_that_is_named_after_them() {
        let (task, given) = task_of_files(&["b/orders.csv".into(), "a/orders.tsv".into()]);
        let names: Vec<_> = task
            .spec
            .samples
            .iter()
            .map(|sample| sample.name.as_str())
            .collect();
        assert_eq!(names, ["orders", "orders_2"]);
        assert_eq!(given.samples["orders_2"], PathBuf::from("a/orders.tsv"));
    }
}
