//! Inputs that a replay reads: those that lie in the result, else those of the command line.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::cli::args::LocalArgs;
use crate::cli::command::{CommandError, in_place};
use crate::local::folder::RevisionFolder;
use crate::local::freeze::freeze;
use crate::local::prepare::downloads;
use codegen_core::task::{FrozenFile, FrozenFiles, Task};
use codegen_sources::{GivenFiles, ReadPlan, SourceOrigin, WantedSource};

/// Freezes what the task had into `staging`; an error where it cannot be had as it was.
pub(super) async fn freeze_inputs(
    folder: &Path,
    task: &Task,
    args: &LocalArgs,
    staging: &Path,
) -> Result<(), CommandError> {
    let given = in_place(&args.manifests.data)?;
    let revision = RevisionFolder::latest(folder).map_err(CommandError::usage)?;
    let revision = revision.ok_or_else(|| CommandError::usage("the result is gone"))?;
    let plan = planned(&revision, task, &given);
    let frozen = freeze(&plan, staging, &downloads(&args.network.allow_host)).await;
    let frozen = frozen.map_err(CommandError::usage)?;
    match changed(task, &frozen) {
        Some(message) => Err(CommandError::usage(message)),
        None => Ok(()),
    }
}

/// Plans with the files that are frozen in the folder of a local result, and with those of the command line in their place.
fn planned(revision: &RevisionFolder, task: &Task, given: &GivenFiles) -> ReadPlan {
    let inputs = |files: &[FrozenFile], given: &BTreeMap<String, PathBuf>| {
        let path = |file: &FrozenFile| {
            let given = given.get(&file.name).cloned();
            given.unwrap_or_else(|| revision.input(&file.file_name))
        };
        files.iter().map(|file| as_it_was(file, path(file))).collect()
    };
    let tests = task.acceptance_tests.as_ref();
    ReadPlan {
        samples: inputs(&task.samples, &given.samples),
        inputs: inputs(&task.input_files, &given.inputs),
        acceptance_tests: tests.map(|file| as_it_was(file, revision.acceptance(&file.file_name))),
    }
}

/// A file from here under the name that it had. What it holds is compared with the task when all are there.
fn as_it_was(file: &FrozenFile, path: PathBuf) -> WantedSource {
    WantedSource {
        name: file.name.clone(),
        file_name: file.file_name.clone(),
        source: if file.is_dir {
            SourceOrigin::Folder(path)
        } else {
            SourceOrigin::File(path)
        },
        sha256: None,
    }
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
        None => "it is not there any more".to_owned(),
    };
    let remedy = match what {
        "sample" => format!("give the file that it was with --sample {name}=PATH"),
        "input" => format!("give what it was with --input {name}=PATH"),
        _ => "restore the folder of the result".to_owned(),
    };
    format!(
        "the {what} {name} is not what the task ran with: it had the SHA-256 {}, and {now}; {remedy}",
        file.sha256
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use codegen_core::test_support;

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
        assert!(gone.contains("is not there any more"), "{gone}");
    }
}
