//! Fetches what a run wrote.

use k8s_openapi::api::core::v1::Secret;
use kube::{Api, ResourceExt as _};

use crate::cli::args::{ProgramArgs, RunArgs, RunFormat};
use crate::cli::cluster::Cluster;
use crate::cli::command::CommandError;
use crate::cli::run::print::{Only, Outputs};
use crate::controller::runs::outputs::{MOST_FILES, read};
use crate::local::run::write;
use codegen_api::run_status::RunOutputStatus;
use codegen_api::values::ValueType;
use codegen_api::{CodeGenRun, CodeGenRunStatus};
use codegen_core::causes::with_causes;
use codegen_core::run::{OutputFile, TypedOutput};

/// Reads what the run wrote, as far as it is wanted here.
pub(super) async fn fetch(
    cluster: &Cluster,
    args: &RunArgs,
    mut run: CodeGenRun,
) -> Result<(CodeGenRun, Outputs), CommandError> {
    let mut outputs = Outputs::default();
    let name = run.name_any();
    let secrets = cluster.api::<Secret>();
    let Some(status) = &mut run.status else {
        return Ok((run, outputs));
    };
    if let Some(message) = too_many_files(&name, status) {
        return Err(CommandError::usage(message));
    }
    let folder = args.program.output_dir.as_deref();
    // Of a task the folders were checked before the run; of an image they show only now.
    if let Some(folder) = folder.filter(|_| args.image.is_some()) {
        let folders = status
            .outputs
            .iter()
            .filter(|output| output.type_ == ValueType::Dir);
        let checked = write::check_folders(folder, folders.map(|output| output.name.as_str()));
        checked.map_err(|error| CommandError::usage(format!("the run {name} has succeeded, and {error}")))?;
    }
    let is_only = status.outputs.len() == 1;
    let mut written = Vec::new();
    for output in &mut status.outputs {
        let Some(wanted) = wanted(output, &args.program, is_only) else {
            continue;
        };
        let files = files_of(&secrets, &name, output).await?;
        match wanted {
            Wanted::Value => output.value = text(&files),
            Wanted::Bytes => outputs.only = files.into_iter().next().map(|file| Only::Bytes(file.bytes)),
            Wanted::Files => written.push(TypedOutput {
                name: output.name.clone(),
                type_: output.type_,
                value: None,
                file_name: output.file_name.clone(),
                files,
                stored: None,
            }),
        }
    }
    // After everything is read, so that an output that is gone leaves the folder as it was.
    if let Some(folder) = folder {
        outputs.places = write::write(folder, &written).map_err(CommandError::usage)?;
    }
    Ok((run, outputs))
}

/// As what an output is read.
enum Wanted {
    /// As a value, which is too long for the status.
    Value,
    /// As the bytes of the only file, for stdout.
    Bytes,
    /// As files of a folder.
    Files,
}

/// As what an output is read; `None` where nobody asked for it, or it is at hand.
fn wanted(output: &RunOutputStatus, args: &ProgramArgs, is_only: bool) -> Option<Wanted> {
    // It is as large as a volume may be, and mounted by who needs it.
    if output.claim.is_some() {
        return None;
    }
    match output.type_ {
        ValueType::File | ValueType::Dir if args.output_dir.is_some() => Some(Wanted::Files),
        ValueType::File if is_only && args.format == RunFormat::Value => Some(Wanted::Bytes),
        ValueType::File | ValueType::Dir => None,
        _ => output.value.is_none().then_some(Wanted::Value),
    }
}

/// The files of an output, of the Secrets that its status names.
async fn files_of(
    secrets: &Api<Secret>,
    run: &str,
    output: &RunOutputStatus,
) -> Result<Vec<OutputFile>, CommandError> {
    match read(secrets, output).await {
        Ok(Some(files)) => Ok(files),
        Ok(None) => Err(CommandError::failed(format!(
            "the output {} of the run {run} is gone: its Secret was deleted; run it again",
            output.name
        ))),
        Err(error) => Err(CommandError::usage(format!(
            "the run {run} succeeded, and its output {} cannot be read: {}; what a run wrote may hold data, so it is a Secret",
            output.name,
            with_causes(&error)
        ))),
    }
}

/// Returns the reason for which the files of a run are not read, where its status names more of them than the operator writes.
fn too_many_files(run: &str, status: &CodeGenRunStatus) -> Option<String> {
    let files: usize = status.outputs.iter().map(|output| output.files.len()).sum();
    (files > MOST_FILES).then(|| {
        format!(
            "the run {run} has succeeded, and its status names {files} files, where the operator writes no more than {MOST_FILES}: somebody has changed it; see who may write the status of runs here, and run it again"
        )
    })
}

/// A value that is too long for a status.
fn text(files: &[OutputFile]) -> Option<String> {
    files
        .first()
        .map(|file| String::from_utf8_lossy(&file.bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_status_with_more_files_than_the_operator_writes_is_not_followed() {
        let status = |files: usize| {
            let file = json!({"path": "a", "secret": "s", "key": "file.1"});
            let output = json!({"name": "d", "type": "Dir", "sha256": "", "bytes": 0, "fileName": "d", "files": vec![file; files]});
            serde_json::from_value::<CodeGenRunStatus>(json!({"outputs": [output]})).unwrap()
        };
        assert_eq!(too_many_files("a", &status(MOST_FILES)), None);
        let message = too_many_files("a", &status(MOST_FILES + 1)).unwrap();
        assert!(
            message.starts_with("the run a ") && message.contains("129 files"),
            "{message}"
        );
    }
}
