//! Inputs that a replay reads: those that the task had, from its folder or its snapshot, else from where its manifest finds them.

use std::collections::BTreeMap;
use std::path::Path;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;

use crate::cli::args::ReplayArgs;
use crate::cli::cluster::{Cluster, unreadable};
use crate::cli::command::{USAGE, in_place};
use crate::cli::ended::Absent;
use crate::cli::recorded::{Place, RecordedTask};
use crate::controller::record::parts::SourceFile;
use crate::controller::record::snapshot;
use crate::controller::sources::read::{config_maps, keys};
use crate::local::folder::RevisionFolder;
use crate::local::freeze::freeze;
use crate::local::objects::Objects;
use crate::local::prepare::downloads;
use codegen_api::CodeGenTask;
use codegen_core::task::{FrozenFile, FrozenFiles, Task};
use codegen_sources::{
    GivenFiles, ObjectData, ObjectKey, ReadPlan, SourceOrigin, WantedSource, plan, with_sources_of,
};

/// Freezes what the task had into `staging`; an error where it cannot be had as it was.
pub(super) async fn freeze_inputs(
    recorded: &RecordedTask,
    task: &Task,
    objects: &Objects,
    args: &ReplayArgs,
    staging: &Path,
) -> Result<(), Absent> {
    let given = in_place(&args.data).map_err(|faults| wrong(&faults.join("\n")))?;
    let plan = match &recorded.place {
        Place::Folder(_) if given != GivenFiles::default() => {
            return Err(wrong(
                &"a local result has the samples and inputs that it ran with: leave out --sample, --input and --claim",
            ));
        }
        Place::Folder(folder) => {
            let revision = RevisionFolder::latest(folder).map_err(|error| wrong(&error))?;
            of_folder(&revision.ok_or_else(|| wrong(&"the result is gone"))?, task)
        }
        Place::Cluster { object, .. } => {
            let connected = Cluster::connect(&args.record.cluster).await;
            let cluster = connected.map_err(|message| wrong(&message))?;
            of_cluster(&cluster, object, task, &objects.config_maps, &given).await?
        }
    };
    let frozen = freeze(&plan, staging, &downloads(&args.network.allow_host)).await;
    let frozen = frozen.map_err(|error| wrong(&error))?;
    match changed(task, &frozen) {
        Some(message) => Err(Absent::new(message, USAGE)),
        None => Ok(()),
    }
}

fn wrong(error: &dyn std::fmt::Display) -> Absent {
    Absent::new(error.to_string(), USAGE)
}

/// Plans with the files that are frozen in the folder of a local result.
fn of_folder(revision: &RevisionFolder, task: &Task) -> ReadPlan {
    let wanted = |file: &FrozenFile, path: std::path::PathBuf| {
        let source = if file.is_dir {
            SourceOrigin::Folder(path)
        } else {
            SourceOrigin::File(path)
        };
        as_it_was(file, source)
    };
    let inputs = |files: &[FrozenFile]| {
        let files = files.iter();
        files
            .map(|file| wanted(file, revision.input(&file.file_name)))
            .collect()
    };
    let tests = task.acceptance_tests.as_ref();
    ReadPlan {
        samples: inputs(&task.samples),
        inputs: inputs(&task.input_files),
        acceptance_tests: tests.map(|file| wanted(file, revision.acceptance(&file.file_name))),
    }
}

/// A file from here under the name that it had. What it holds is compared with the task when all are there.
fn as_it_was(file: &FrozenFile, source: SourceOrigin) -> WantedSource {
    WantedSource {
        name: file.name.clone(),
        file_name: file.file_name.clone(),
        source,
        sha256: None,
    }
}

/// Plans with the files that the task had: those of the command line, else those in its snapshot, else those that its manifest finds now.
async fn of_cluster(
    cluster: &Cluster,
    object: &CodeGenTask,
    task: &Task,
    given_maps: &BTreeMap<ObjectKey, ObjectData>,
    given: &GivenFiles,
) -> Result<ReadPlan, Absent> {
    let is_given = |name: &str| given.samples.contains_key(name) || given.inputs.contains_key(name);
    let (mut inputs, tests) = in_snapshot(cluster, object, task, is_given).await?;
    // Only what is nowhere else is looked for where it was.
    let mut rest = with_sources_of(object, |name| !inputs.contains_key(name));
    if tests.is_some() {
        rest.spec.acceptance_tests = None;
    }
    let maps = in_cluster(cluster, &rest, given_maps).await;
    let found = plan(&rest, &maps, given).map_err(|error| wrong(&error))?;
    let others = found.samples.into_iter().chain(found.inputs);
    let others = others.map(|wanted| (wanted.name.clone(), wanted));
    let mut others: BTreeMap<String, WantedSource> = others.collect();
    let mut placed = |file: &FrozenFile| match inputs.remove(&file.name) {
        Some(source) => Some(as_it_was(file, source)),
        // The program knows it by this name, whatever the file is called that stands in its place.
        None => others.remove(&file.name).map(|wanted| WantedSource {
            file_name: file.file_name.clone(),
            ..wanted
        }),
    };
    let samples = task.samples.iter().filter_map(&mut placed).collect();
    let inputs = task.input_files.iter().filter_map(&mut placed).collect();
    let wanted = task.acceptance_tests.as_ref();
    Ok(ReadPlan {
        samples,
        inputs,
        acceptance_tests: wanted.and_then(|file| match tests {
            Some(bytes) => Some(as_it_was(file, SourceOrigin::Bytes(bytes))),
            None => found.acceptance_tests.map(|tests| WantedSource {
                file_name: file.file_name.clone(),
                ..tests
            }),
        }),
    })
}

/// Returns the samples and inputs in the snapshot of a task, by name, and its acceptance tests. Files on a claim are not in it.
async fn in_snapshot(
    cluster: &Cluster,
    object: &CodeGenTask,
    task: &Task,
    is_given: impl Fn(&str) -> bool,
) -> Result<(BTreeMap<String, SourceOrigin>, Option<Vec<u8>>), Absent> {
    let status = object.status.as_ref();
    let Some(snapshot) = status.and_then(|status| status.snapshot.as_ref()) else {
        return Ok((BTreeMap::new(), None));
    };
    let (client, namespace, name) = (&cluster.client, &cluster.namespace, &snapshot.name);
    let unread = |error| wrong(&unreadable(&error));
    let found = snapshot::contents(client, namespace, name, |name| !is_given(name)).await;
    let found = found.map_err(unread)?.into_iter();
    let inputs = found.map(|(file, contents)| {
        let source = source(contents.into_files(), file.is_dir);
        (file.name, source)
    });
    let tests = match &task.acceptance_tests {
        Some(_) => snapshot::acceptance_tests(client, namespace, name).await,
        None => Ok(None),
    };
    Ok((inputs.collect(), tests.map_err(unread)?))
}

fn source(files: Vec<SourceFile>, is_dir: bool) -> SourceOrigin {
    let mut files = files.into_iter();
    if is_dir {
        return SourceOrigin::Files(files.map(|file| (file.path, file.bytes)).collect());
    }
    SourceOrigin::Bytes(files.next().map(|file| file.bytes).unwrap_or_default())
}

/// The `ConfigMap`s that a task refers to: those of the command line, else those of the cluster.
async fn in_cluster(
    cluster: &Cluster,
    object: &CodeGenTask,
    given: &BTreeMap<ObjectKey, ObjectData>,
) -> BTreeMap<ObjectKey, ObjectData> {
    let mut maps = given.clone();
    let namespace = object.metadata.namespace.clone().unwrap_or_default();
    let api: Api<ConfigMap> = Api::namespaced(cluster.client.clone(), &namespace);
    for (_, name) in config_maps(object) {
        let key = (namespace.clone(), name);
        if maps.contains_key(&key) {
            continue;
        }
        // One that is gone or may not be read is no matter where a file stands in its place.
        if let Ok(Some(map)) = api.get_opt(&key.1).await {
            maps.insert(key, keys(map));
        }
    }
    maps
}

/// Says what is not as it was when the task ran.
fn changed(task: &Task, frozen: &FrozenFiles) -> Option<String> {
    let pairs = [
        (&task.samples[..], &frozen.samples[..], "sample"),
        (&task.input_files[..], &frozen.input_files[..], "input"),
        (
            task.acceptance_tests.as_slice(),
            frozen.acceptance_tests.as_slice(),
            "acceptance test file",
        ),
    ];
    pairs.into_iter().find_map(|(before, now, what)| {
        before.iter().find_map(|file| {
            let found = now.iter().find(|found| found.name == file.name);
            let is_same = found.is_some_and(|found| found.sha256 == file.sha256);
            (!is_same).then(|| differs(file, found, what))
        })
    })
}

fn differs(file: &FrozenFile, found: Option<&FrozenFile>, what: &str) -> String {
    let name = &file.name;
    let now = match found {
        Some(found) => format!("it has the SHA-256 {} now", found.sha256),
        None => "the task does not name it any more".to_owned(),
    };
    let remedy = match what {
        "sample" => format!("give the file that it was with --sample {name}=PATH"),
        "input" => format!("give what it was with --input {name}=PATH"),
        _ => "give the ConfigMap that it was in with -f FILE".to_owned(),
    };
    format!(
        "the {what} {name} is not what the task ran with: it had the SHA-256 {}, and {now}; {remedy}",
        file.sha256
    )
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;

    use super::*;
    use crate::cli::recorded::from_cluster;
    use crate::controller::tests::api_server::NAMESPACE;
    use crate::controller::tests::world::World;
    use codegen_core::test_support;

    const TESTS: &str = "def test_words():\n    pass\n";

    /// A finished task whose sample, folder and acceptance tests were in `ConfigMap`s, which are gone.
    async fn with_sources_gone() -> World {
        let mut world = World::new().await;
        for (name, keys) in [
            ("texts", json!({"a.txt": "two words\n"})),
            ("tests", json!({"test_words.py": TESTS})),
            ("notes", json!({"one.txt": "1\n", "two.txt": "2\n"})),
        ] {
            world.server.create(json!({
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": NAMESPACE}, "data": keys,
            }));
        }
        let spec = json!({
            "samples": [{"name": "text", "configMapKeyRef": {"name": "texts", "key": "a.txt"}}],
            "inputs": [{"name": "notes", "type": "Dir", "source": {"configMapRef": {"name": "notes"}}}],
            "acceptanceTests": {"configMapKeyRef": {"name": "tests", "key": "test_words.py"}},
        });
        world.apply_task("words", &spec);
        world.settle::<CodeGenTask>("words").await;
        for name in ["texts", "tests", "notes"] {
            world.server.remove("configmaps", name);
        }
        world
    }

    /// Returns the files that are frozen for a replay of the task, by path.
    async fn frozen(world: &World, given: &GivenFiles) -> Result<BTreeMap<String, String>, Absent> {
        let cluster = Cluster {
            client: world.server.client(),
            namespace: NAMESPACE.to_owned(),
        };
        let recorded = Box::pin(from_cluster(&cluster, "words")).await?;
        let Place::Cluster { object, .. } = &recorded.place else {
            panic!("it is in a cluster")
        };
        let task = recorded.task.as_ref().unwrap();
        let plan = Box::pin(of_cluster(&cluster, object, task, &BTreeMap::new(), given)).await?;
        let folder = tempfile::tempdir().unwrap();
        let frozen = Box::pin(freeze(&plan, folder.path(), &downloads(&[])))
            .await
            .unwrap();
        assert_eq!(changed(task, &frozen), None);
        let paths = [
            "inputs/a.txt",
            "inputs/notes/one.txt",
            "inputs/notes/two.txt",
            "acceptance/test_words.py",
        ];
        let read = |path: &str| {
            Some((
                path.to_owned(),
                fs::read_to_string(folder.path().join(path)).ok()?,
            ))
        };
        Ok(paths.into_iter().filter_map(read).collect())
    }

    #[tokio::test]
    async fn what_a_task_ran_with_is_taken_from_its_snapshot_when_its_config_maps_are_gone() {
        let world = with_sources_gone().await;
        let files = frozen(&world, &GivenFiles::default()).await.unwrap();
        let texts: Vec<&str> = files.values().map(String::as_str).collect();
        assert_eq!(texts, [TESTS, "two words\n", "1\n", "2\n"]);
    }

    #[tokio::test]
    async fn a_file_that_stands_in_the_place_of_a_sample_has_the_name_that_the_program_knows() {
        let world = with_sources_gone().await;
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), "two words\n").unwrap();
        let given = GivenFiles {
            samples: BTreeMap::from([("text".to_owned(), file.path().to_owned())]),
            ..GivenFiles::default()
        };
        assert_eq!(
            frozen(&world, &given).await.unwrap()["inputs/a.txt"],
            "two words\n"
        );
    }

    #[tokio::test]
    async fn what_is_in_no_snapshot_and_no_config_map_says_what_to_give() {
        let world = with_sources_gone().await;
        for snapshot in world.server.of_component("secrets", "snapshot") {
            let name = snapshot["metadata"]["name"].as_str().unwrap();
            world.server.remove("secrets", name);
        }
        let absent = frozen(&world, &GivenFiles::default()).await.unwrap_err();
        assert!(
            absent.message.contains("--sample text=PATH"),
            "{}",
            absent.message
        );
    }

    fn file(name: &str, sha256: &str) -> FrozenFile {
        FrozenFile {
            name: name.to_owned(),
            file_name: format!("{name}.csv"),
            sha256: sha256.to_owned(),
            bytes: 3,
            is_dir: false,
        }
    }

    #[test]
    fn a_sample_that_was_changed_since_is_named_with_what_to_do_and_the_same_one_is_taken() {
        let mut task = test_support::task();
        task.samples = vec![file("a", "0c1")];
        let now = |sha256| FrozenFiles {
            samples: vec![file("a", sha256)],
            ..FrozenFiles::default()
        };
        assert_eq!(changed(&task, &now("0c1")), None);
        let message = changed(&task, &now("7d2")).unwrap();
        assert!(
            message.contains("sample a") && message.contains("--sample a=PATH"),
            "{message}"
        );
        let gone = changed(&task, &FrozenFiles::default()).unwrap();
        assert!(gone.contains("does not name it any more"), "{gone}");
    }
}
