//! What a replay reads: the inputs that the task had, from its folder or from where its manifest finds them.

use std::collections::BTreeMap;
use std::path::Path;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;

use crate::api::CodeGenTask;
use crate::cli::args::ReplayArgs;
use crate::cli::cluster::Cluster;
use crate::cli::command::{USAGE, in_place};
use crate::cli::ended::Absent;
use crate::cli::recorded::{Place, RecordedTask};
use crate::controller::sources::read::{config_maps, keys};
use crate::local::folder::RevisionFolder;
use crate::local::freeze::freeze;
use crate::local::objects::Objects;
use crate::local::prepare::download_cache;
use crate::pipeline::task::{FrozenFile, FrozenFiles, Task};
use crate::sources::{Given, Keys, ObjectKey, Plan, Source, Wanted, plan};

/// Freezes what the task had into `staging`; an error where it cannot be had as it was.
pub(super) async fn freeze_inputs(
    recorded: &RecordedTask,
    task: &Task,
    objects: &Objects,
    args: &ReplayArgs,
    staging: &Path,
) -> Result<(), Absent> {
    let wrong = |error: &dyn std::fmt::Display| Absent::new(error.to_string(), USAGE);
    let given = in_place(&args.data).map_err(|faults| wrong(&faults.join("\n")))?;
    let plan = match &recorded.place {
        Place::Folder(_) if given != Given::default() => {
            return Err(wrong(
                &"a local result has the samples and inputs that it ran with: leave out --sample, --input and --claim",
            ));
        }
        Place::Folder(folder) => {
            let revision = RevisionFolder::latest(folder).map_err(|error| wrong(&error))?;
            of_folder(&revision.ok_or_else(|| wrong(&"the result is gone"))?, task)
        }
        Place::Cluster { object, .. } => {
            let maps = in_cluster(object, objects, args).await?;
            plan(object, &maps, &given).map_err(|error| wrong(&error))?
        }
    };
    let frozen = freeze(&plan, staging, &download_cache()).await;
    let frozen = frozen.map_err(|error| wrong(&error))?;
    match changed(task, &frozen) {
        Some(message) => Err(Absent::new(message, USAGE)),
        None => Ok(()),
    }
}

/// What is frozen in the folder of a local result.
fn of_folder(revision: &RevisionFolder, task: &Task) -> Plan {
    let wanted = |file: &FrozenFile, path: std::path::PathBuf| Wanted {
        name: file.name.clone(),
        file_name: file.file_name.clone(),
        source: if file.is_dir {
            Source::Folder(path)
        } else {
            Source::File(path)
        },
        // They are compared with the task when all are there.
        sha256: None,
    };
    let inputs = |files: &[FrozenFile]| {
        let files = files.iter();
        files
            .map(|file| wanted(file, revision.input(&file.file_name)))
            .collect()
    };
    let tests = task.acceptance_tests.as_ref();
    Plan {
        samples: inputs(&task.samples),
        inputs: inputs(&task.input_files),
        acceptance_tests: tests.map(|file| wanted(file, revision.acceptance(&file.file_name))),
    }
}

/// The `ConfigMap`s that a task refers to: those of the command line, else those of the cluster.
async fn in_cluster(
    object: &CodeGenTask,
    objects: &Objects,
    args: &ReplayArgs,
) -> Result<BTreeMap<ObjectKey, Keys>, Absent> {
    let mut maps = objects.config_maps.clone();
    let wanted = config_maps(object);
    let namespace = object.metadata.namespace.clone().unwrap_or_default();
    let is_given = |name: &str| maps.contains_key(&(namespace.clone(), name.to_owned()));
    let missing: Vec<String> = wanted
        .into_iter()
        .map(|(_, name)| name)
        .filter(|name| !is_given(name))
        .collect();
    if missing.is_empty() {
        return Ok(maps);
    }
    let connected = Cluster::connect(&args.record.cluster).await;
    let cluster = connected.map_err(|message| Absent::new(message, USAGE))?;
    let api: Api<ConfigMap> = Api::namespaced(cluster.client.clone(), &namespace);
    for name in missing {
        // One that is gone or may not be read is no matter where a file stands in its place.
        if let Ok(Some(map)) = api.get_opt(&name).await {
            maps.insert((namespace.clone(), name), keys(map));
        }
    }
    Ok(maps)
}

/// What is not as it was when the task ran.
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
    use super::*;
    use crate::pipeline::test_support;

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
