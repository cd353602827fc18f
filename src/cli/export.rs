//! `kubectl-codegen export`: everything that a task or a question in a cluster left, as a folder like that of a local run.

mod question;
mod record;

use std::path::{Path, PathBuf};

use kube::api::ObjectMeta;
use serde::Serialize;

use self::record::TaskRecord;
use super::args::{Color, ExportArgs, question_name};
use super::cluster::Cluster;
use super::command::{self, CommandError, TASK_FAILED, warning};
use super::ended::ended;
use super::paint::{Mark, PaintedLine};
use super::recorded::{Place, RecordedTask, from_cluster};
use crate::controller::record::parts::{Contents, SourceFile};
use crate::controller::record::snapshot;
use crate::controller::sources::read::digest_of;
use crate::local::folder::TaskFolder;
use codegen_api::{CodeGenTask, Namespaced};
use codegen_core::causes::with_causes;
use codegen_core::task::FrozenFile;
use codegen_engine::results::{Files, INPUTS, collect, without_data};
use codegen_ledger::MemoryStore;

/// Runs the command.
pub(super) fn run(args: &ExportArgs) -> i32 {
    let name = question_name(&args.task.name).unwrap_or(&args.task.name);
    let folder = args.output.clone().unwrap_or_else(|| PathBuf::from(name));
    command::run(Color::Auto, async |progress| {
        let exported = Box::pin(everything(args)).await?;
        let (count, cautions) = exported.write(&folder).await?;
        let done = format!("{count} files in {}", folder.display());
        progress.lines(&[PaintedLine::new(Mark::Done, done)]);
        for caution in &cautions {
            progress.lines(&warning(&caution.text));
        }
        let is_passed = !cautions.iter().any(|caution| caution.is_failure);
        Ok(if is_passed { 0 } else { TASK_FAILED })
    })
}

/// Something that whoever uses the folder must know.
struct Caution {
    text: String,
    /// True where the program did not pass.
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
    /// Record that makes a local result of the folder.
    record: Option<TaskRecord>,
    command: String,
}

async fn everything(args: &ExportArgs) -> Result<Exported, CommandError> {
    let cluster = Cluster::connect(&args.task.cluster).await?;
    if let Some(name) = question_name(&args.task.name) {
        return question::from_question(&cluster, name).await;
    }
    Box::pin(from_task(&cluster, &args.task.name)).await
}

async fn from_task(cluster: &Cluster, name: &str) -> Result<Exported, CommandError> {
    let recorded = from_cluster(cluster, name).await?;
    let inputs = inputs(cluster, &recorded).await?;
    let (object, left_out, mut files) = files(&recorded, inputs.files).await?;
    let record = TaskRecord::of(&recorded, inputs.acceptance_tests);
    let mut cautions: Vec<Caution> = inputs.missing.into_iter().map(Caution::note).collect();
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
    files.extend(documents(object.clone())?);
    Ok(Exported {
        files,
        cautions,
        record,
        command: format!("kubectl-codegen export {name}"),
    })
}

/// Inputs that the task ran with.
#[derive(Debug, Default)]
struct Inputs {
    /// By path.
    files: Files,
    /// Those that are not here, each in a sentence.
    missing: Vec<String>,
    acceptance_tests: Option<Vec<u8>>,
}

/// The samples and inputs that the task ran with, as its snapshot has them.
async fn inputs(cluster: &Cluster, recorded: &RecordedTask) -> Result<Inputs, CommandError> {
    let Some(task) = recorded.task.as_ref().filter(|_| recorded.withheld.is_none()) else {
        return Ok(Inputs::default());
    };
    let (client, namespace) = (&cluster.client, &cluster.namespace);
    let mut inputs = Inputs::default();
    let mut found = Vec::new();
    if let Some(snapshot) = &recorded.status.snapshot {
        let (contents, tests) = tokio::try_join!(
            snapshot::contents(client, namespace, &snapshot.name, |_| true),
            snapshot::acceptance_tests(client, namespace, &snapshot.name),
        )?;
        found = contents;
        inputs.acceptance_tests = tests;
    }
    for file in task.frozen_inputs() {
        let is_it = |(found, contents): &&(FrozenFile, Contents)| {
            found.name == file.name && digest_of(contents.files(), file.is_dir) == file.sha256
        };
        match found.iter().find(is_it) {
            Some((_, contents)) => inputs.add(file, contents.files()),
            None => inputs.missing.push(format!(
                "{} is not among the files: its bytes lie on a claim, or are not kept with the task; it has the SHA-256 {}",
                file.name, file.sha256
            )),
        }
    }
    Ok(inputs)
}

impl Inputs {
    fn add(&mut self, file: &FrozenFile, contents: &[SourceFile]) {
        let top = format!("{INPUTS}/{}", file.file_name);
        for SourceFile { path, bytes } in contents {
            let path = if file.is_dir {
                format!("{top}/{path}")
            } else {
                top.clone()
            };
            self.files.insert(path, bytes.clone());
        }
    }
}

/// The object of a task, the files that hold its data and are left out, and the others, with what it ran with.
async fn files(
    recorded: &RecordedTask,
    inputs: Files,
) -> Result<(&CodeGenTask, Vec<String>, Files), CommandError> {
    let nothing = || {
        let message = format!(
            "nothing is recorded of {} yet; {}",
            recorded.name,
            recorded.standing()
        );
        CommandError::failed(message)
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
    let store = <MemoryStore>::holding(recorded.documents.clone());
    let collected = collect(task, progress, &store, &recorded.entries()?).await;
    let collected = collected.map_err(|error| CommandError::usage(with_causes(&error)))?;
    let mut files = collected.files;
    files.extend(inputs);
    let left_out = without_data(task, &mut files);
    Ok((object, left_out, files))
}

/// Says why the program is not one to rely on.
fn doubt(recorded: &RecordedTask, object: &CodeGenTask) -> Option<String> {
    if recorded.has_ended() {
        return ended(object).ok()?;
    }
    Some(format!(
        "{}, so this is what there is of it so far: export it again when it has ended",
        recorded
            .standing()
            .replacen("it is", &format!("{} is", recorded.name), 1)
    ))
}

impl Exported {
    async fn write(self, folder: &Path) -> Result<(usize, Vec<Caution>), CommandError> {
        let target = TaskFolder::open(folder, &self.command).map_err(CommandError::usage)?;
        let moved = target.publish(&self.files).map_err(CommandError::usage)?;
        if let Some(record) = &self.record {
            record.write(&target, &self.files).await?;
        }
        let edited = moved
            .iter()
            .map(|path| Caution::note(format!("your edited file is now {}", path.display())));
        Ok((self.files.len(), edited.chain(self.cautions).collect()))
    }
}

/// The manifest, as it can be applied again, and the status without the operator's own state.
fn documents(mut object: CodeGenTask) -> Result<Files, CommandError> {
    let mut status = object.status.take().unwrap_or_default();
    status.progress = None;
    Ok(Files::from([
        ("task.yaml".to_owned(), manifest("task.yaml", object)?),
        ("status.yaml".to_owned(), yaml("status.yaml", &status)?),
    ]))
}

/// An object without status, as it can be applied again.
fn manifest<K: Namespaced>(path: &str, mut object: K) -> Result<Vec<u8>, CommandError> {
    let metadata = std::mem::take(object.meta_mut());
    *object.meta_mut() = ObjectMeta {
        name: metadata.name,
        namespace: metadata.namespace,
        labels: metadata.labels,
        ..ObjectMeta::default()
    };
    yaml(path, &object)
}

fn yaml(path: &str, value: &impl Serialize) -> Result<Vec<u8>, CommandError> {
    let text = serde_saphyr::to_string(value);
    let text =
        text.map_err(|error| CommandError::usage(format!("{path} cannot be written as YAML: {error}")))?;
    Ok(text.into_bytes())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::cli::recorded::from_folder;
    use crate::controller::tests::api_server::NAMESPACE;
    use crate::controller::tests::world::World;
    use crate::local::run::FinishedTask;
    use crate::local::trust::Trust;
    use codegen_api::CodeGenTaskSpec;
    use codegen_api::status::CodeGenTaskStatus;

    /// A task that ran on a text and a folder, whose `ConfigMap`s are gone.
    async fn finished(exposure: &str) -> World {
        let mut world = World::new().await;
        for (name, keys) in [
            ("texts", json!({"a.txt": "two words\n"})),
            ("notes", json!({"one.txt": "1\n"})),
        ] {
            world.server.create(json!({
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": NAMESPACE}, "data": keys,
            }));
        }
        // Names that stand in the program of this world, for it must take each.
        let spec = json!({
            "exposure": exposure,
            "outputs": [{"name": "words", "type": "Int"}],
            "testing": {"cases": "Off"},
            "samples": [{"name": "text", "configMapKeyRef": {"name": "texts", "key": "a.txt"}}],
            "inputs": [{"name": "count", "type": "Dir", "source": {"configMapRef": {"name": "notes"}}}],
        });
        world.node.outputs.insert("words".to_owned(), "2\n".to_owned());
        world.apply_task("words", &spec);
        world.ends_well("words").await;
        for name in ["texts", "notes"] {
            world.server.remove("configmaps", name);
        }
        world
    }

    /// Collects what is exported of the task, and what is said of it.
    async fn exported(world: &World) -> (Exported, Vec<String>) {
        let cluster = Cluster {
            client: world.server.client(),
            namespace: NAMESPACE.to_owned(),
        };
        let exported = Box::pin(from_task(&cluster, "words")).await.unwrap();
        let said = exported.cautions.iter().map(|caution| caution.text.clone());
        let said = said.collect();
        (exported, said)
    }

    fn has_inputs(exported: &Exported) -> bool {
        exported.files.keys().any(|path| path.starts_with("inputs/"))
    }

    #[tokio::test]
    async fn what_a_task_ran_with_is_exported_though_its_config_maps_are_gone() {
        let (exported, said) = exported(&finished("Rows").await).await;
        assert_eq!(exported.files["inputs/a.txt"], b"two words\n");
        assert_eq!(exported.files["inputs/count/one.txt"], b"1\n");
        assert!(
            !said
                .iter()
                .any(|text| text.contains("left out") || text.contains("not among")),
            "{said:?}"
        );
    }

    #[tokio::test]
    async fn an_exported_folder_is_a_result_whose_program_runs_on_what_its_task_ran_with() {
        let world = finished("Rows").await;
        let folder = tempfile::tempdir().unwrap();
        // Twice: another export of the same finds its own.
        for _ in 0..2 {
            let (exported, _) = exported(&world).await;
            exported.write(folder.path()).await.unwrap();
        }
        let finished = FinishedTask::open(folder.path(), &Trust::default())
            .await
            .unwrap();
        assert_eq!(finished.notices, [""; 0]);
        let read = |path: &str| std::fs::read_to_string(finished.run.input(path)).unwrap();
        assert_eq!(
            (read("a.txt").as_str(), read("count/one.txt").as_str()),
            ("two words\n", "1\n")
        );
        let here = from_folder(folder.path()).await.unwrap();
        assert_eq!(here.entries().unwrap().len(), 3);
        assert_eq!(here.status.stage.as_deref(), Some("Succeeded"));
        let names = std::fs::read_dir(folder.path().join(".runs")).unwrap();
        let aside = names.filter(|entry| {
            let name = entry.as_ref().unwrap().file_name();
            name.to_string_lossy().contains(".old-")
        });
        assert_eq!(aside.count(), 0);
    }

    #[tokio::test]
    async fn samples_of_which_no_model_saw_more_than_the_schema_are_left_out() {
        let (exported, said) = exported(&finished("SchemaOnly").await).await;
        assert!(!has_inputs(&exported), "{:?}", exported.files.keys());
        assert!(said.iter().any(|text| text.contains("inputs/a.txt")), "{said:?}");
        assert!(exported.record.is_none(), "the record holds what tests printed");
    }

    #[tokio::test]
    async fn an_input_whose_bytes_are_not_there_is_named_with_its_digest() {
        let world = finished("Rows").await;
        let name = world.status_of("words").snapshot.unwrap().name;
        world.server.remove("secrets", &name);
        let (exported, said) = exported(&world).await;
        assert!(!has_inputs(&exported));
        for name in ["text", "count"] {
            let sentence = format!("{name} is not among the files");
            assert!(said.iter().any(|text| text.starts_with(&sentence)), "{said:?}");
        }
    }

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
