//! Input of a run from the command line: its program, its inputs with their files read, and the destination of its outputs.

use std::collections::BTreeMap;
use std::path::Path;

use kube::ResourceExt as _;

use crate::cli::args::RunArgs;
use crate::cli::command::CommandError;
use crate::cli::run::request::{InputContent, RequestedRun};
use crate::controller::sources::downloads::LARGEST_FILE;
use crate::local::run::given::{GivenFile, GivenInputs, file_name, sort, stdin};
use crate::local::run::write;
use codegen_api::CodeGenTask;
use codegen_api::common::LocalRef;
use codegen_api::run::{CodeGenRunSpec, OutputClaim, RunOutputs};
use codegen_api::sandbox::Sandbox;
use codegen_core::run::ProgramOptions;
use codegen_core::stage::Stage;
use codegen_sources::remedy;

/// Seconds after which a run is deleted that nobody keeps.
const TTL_SECONDS: i32 = 3600;

/// Returns the run that is meant, without its inputs.
fn spec(args: &RunArgs) -> CodeGenRunSpec {
    let named = |name: &String| LocalRef { name: name.clone() };
    let outputs = args.output_claim.clone().map(|(claim_name, path)| RunOutputs {
        persistent_volume_claim: Some(OutputClaim {
            claim_name,
            path,
            fs_group: None,
        }),
    });
    CodeGenRunSpec {
        task_ref: args.name.as_ref().map(named),
        program_image: args.image.clone(),
        pull_secret_ref: args.pull_secret.as_ref().map(named),
        sandbox: args.program.timeout.clone().map(|timeout| Sandbox {
            timeout: Some(timeout),
            ..Sandbox::default()
        }),
        validation: args.program.validation.map(Into::into),
        outputs,
        ttl_seconds_after_finished: (!args.keep).then_some(TTL_SECONDS),
        ..CodeGenRunSpec::default()
    }
}

/// Returns the inputs for the program of a task, where they are those that it takes.
pub(super) fn given_to_task(args: &RunArgs, task: &CodeGenTask) -> Result<GivenInputs, CommandError> {
    if let Some(status) = task
        .status
        .as_ref()
        .filter(|status| status.stage.as_deref() == Some(Stage::Failed.as_str()))
    {
        let why = status.message.as_deref().unwrap_or_default();
        return Err(CommandError::usage(format!(
            "the task {} has failed, so it has no program to run: {why}",
            task.name_any()
        )));
    }
    // Before anything is created in the cluster.
    if let Some(folder) = &args.program.output_dir {
        write::check(folder, &task.spec.outputs).map_err(CommandError::usage)?;
    }
    Ok(sort(&ProgramOptions::from(&task.spec), &args.program.inputs)?)
}

/// The command line with its files read.
pub(super) fn asked(args: &RunArgs, given: GivenInputs) -> Result<RequestedRun, CommandError> {
    let GivenInputs { values, files } = given;
    let mut contents = Vec::new();
    for (name, file) in files {
        let content = match file {
            GivenFile::Stdin => InputContent::File(name.clone(), stdin(&name).map_err(CommandError::usage)?),
            GivenFile::Path(path) => content(&name, &path).map_err(CommandError::usage)?,
        };
        contents.push((name, content));
    }
    Ok(RequestedRun {
        spec: spec(args),
        values,
        contents,
    })
}

fn unreadable(name: &str, path: &Path, error: &std::io::Error) -> String {
    format!(
        "{name}: cannot read {}: {error}; {}",
        path.display(),
        remedy(error)
    )
}

/// Reads the content at a path. A file that is too large is not read.
fn content(name: &str, path: &Path) -> Result<InputContent, String> {
    let unreadable = |path: &Path, error: std::io::Error| unreadable(name, path, &error);
    let too_large = |bytes: u64| {
        format!(
            "{name}: {} has {bytes} bytes, and at most {LARGEST_FILE} go to a cluster from here: put it on a PersistentVolumeClaim, and \
             name that in a CodeGenRun of your own (inputs[].source.persistentVolumeClaim)",
            path.display()
        )
    };
    let file = |path: &Path| {
        let size = std::fs::metadata(path)
            .map_err(|error| unreadable(path, error))?
            .len();
        if size > LARGEST_FILE as u64 {
            return Err(too_large(size));
        }
        std::fs::read(path).map_err(|error| unreadable(path, error))
    };
    let metadata = std::fs::metadata(path).map_err(|error| unreadable(path, error))?;
    if !metadata.is_dir() {
        return Ok(InputContent::File(file_name(path, name), file(path)?));
    }
    let mut files = BTreeMap::new();
    for entry in std::fs::read_dir(path).map_err(|error| unreadable(path, error))? {
        let entry = entry.map_err(|error| unreadable(path, error))?;
        // A link may lead to a file that the user never meant to give.
        if !entry.file_type().is_ok_and(|kind| kind.is_file()) {
            return Err(format!(
                "{name}: {} is no plain file, and a folder goes to a cluster as a ConfigMap, which holds files alone: put it on a \
                 PersistentVolumeClaim",
                entry.path().display()
            ));
        }
        files.insert(
            entry.file_name().to_string_lossy().into_owned(),
            file(&entry.path())?,
        );
    }
    Ok(InputContent::Folder(files))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_read_without_what_is_no_file() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.txt"), "x").unwrap();
        let files = BTreeMap::from([("a.txt".to_owned(), b"x".to_vec())]);
        assert_eq!(
            content("notes", folder.path()).unwrap(),
            InputContent::Folder(files)
        );
        std::fs::create_dir(folder.path().join("inner")).unwrap();
        let refusal = content("notes", folder.path()).unwrap_err();
        assert!(refusal.contains("inner is no plain file"), "{refusal}");
        let absent = content("notes", &folder.path().join("absent")).unwrap_err();
        assert!(
            absent.starts_with("notes: cannot read") && absent.ends_with("; correct the path"),
            "{absent}"
        );
    }

    #[test]
    fn of_a_file_that_may_not_be_read_the_path_is_not_called_wrong() {
        let error = std::io::ErrorKind::PermissionDenied.into();
        let refused = unreadable("notes", Path::new("a.txt"), &error);
        assert!(
            refused.contains("chmod u+r") && !refused.contains("correct the path"),
            "{refused}"
        );
    }
}
