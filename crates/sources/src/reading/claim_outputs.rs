//! Outputs of a program on a disk: hashed, and held to its declared type and the constraints, like what a sandbox brings back. No link is
//! followed, and nothing is read into memory as a whole.

use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::path::Path;

use super::{ClaimReader, Found, ReadError, is_link_or_socket, path_of};
use codegen_api::values::{Output, ValueType};
use codegen_core::sandbox::MAX_OUTPUT_BYTES;
use codegen_core::stored_outputs::{FoundOutput, OutputsAsked};
use codegen_data::DataError;
use codegen_data::source::Source;
use codegen_data::worker::{ChildLimits, WorkerClient};
use codegen_engine::run_data::{ColumnsByInput, RunData};
use codegen_sandbox::kubernetes::{ClaimOutputs, ClaimSource, ReadReport, ReadSource};

/// Time to check one of the largest files.
const SECONDS: u64 = 600;

/// Message about a folder with a name in it that no list can hold, as the harness and the check of a report say it.
pub(super) const NOT_TEXT: &str =
    "declared as a folder, but a folder with a name that is not UTF-8 in it is there";

/// Reason for which an output cannot be checked now.
enum Failed {
    /// The volume does not answer.
    Read(ReadError),
    /// No child could be had.
    Data(DataError),
}

impl From<DataError> for Failed {
    fn from(error: DataError) -> Self {
        Self::Data(error)
    }
}

/// Checks every output that `asked` names, on its claim.
pub(super) async fn read(asked: &ClaimOutputs, worker: &WorkerClient) -> ReadReport {
    match check(Path::new(&asked.folder), &asked.asked, worker).await {
        Ok(found) => ReadReport::Outputs(found),
        Err(words) => ReadReport::Failed(words),
    }
}

/// Checks every output that `asked` names, in the folder that the program wrote to. The error is that it cannot be done now.
pub async fn check(
    folder: &Path,
    asked: &OutputsAsked,
    worker: &WorkerClient,
) -> Result<Vec<FoundOutput>, String> {
    let worker = worker.clone().with_limits(ChildLimits {
        seconds: SECONDS,
        ..ChildLimits::default()
    });
    let data = RunData {
        client: &worker,
        columns: &ColumnsByInput::new(),
        checks: &asked.checks,
    };
    let mut found = Vec::new();
    for declared in &asked.outputs {
        match output(folder, asked, declared, &data).await {
            Ok(output) => found.push(output),
            Err(Failed::Read(error)) => return Err(error.to_string()),
            Err(Failed::Data(error)) => return Err(error.to_string()),
        }
    }
    Ok(found)
}

async fn output(
    folder: &Path,
    asked: &OutputsAsked,
    declared: &Output,
    data: &RunData<'_>,
) -> Result<FoundOutput, Failed> {
    let Found { what, files, file } = match find(folder, declared) {
        Ok(found) => found,
        Err(error) => return not_found(error, declared),
    };
    let ReadSource { sha256, bytes } = what;
    let mut value = None;
    let mut findings = Vec::new();
    match (file, declared.type_) {
        (Some(file), ValueType::File) => {
            let held = data.file(declared, asked.severity, || Source::path(&path_of(&file)));
            match held.await? {
                Ok(broken) => findings = broken,
                Err(problem) => return Ok(FoundOutput::Wrong(problem)),
            }
        }
        // Such a value is read into memory whole.
        (Some(_), type_) if bytes > MAX_OUTPUT_BYTES => {
            return Ok(FoundOutput::Wrong(format!(
                "a value of type {type_} has at most {MAX_OUTPUT_BYTES} bytes, this one has {bytes}: declare it as a File"
            )));
        }
        (Some(file), _) => match data.value(declared, &content(file)).await? {
            Ok(text) => value = text,
            Err(problem) => return Ok(FoundOutput::Wrong(problem)),
        },
        (None, _) => {}
    }
    Ok(FoundOutput::Read {
        sha256,
        bytes,
        files,
        value,
        findings,
    })
}

/// Reads an output where the program was to write it. No link is followed: a name of an output has no slash, so its place is the
/// folder that is mounted.
fn find(folder: &Path, declared: &Output) -> Result<Found, ReadError> {
    let source = ClaimSource {
        name: declared.name.clone(),
        folder: folder.to_string_lossy().into_owned(),
        path: declared.name.clone(),
        is_dir: declared.type_ == ValueType::Dir,
        ..ClaimSource::default()
    };
    ClaimReader::of_output(&source).read_at(Path::new(&declared.name))
}

/// Returns the finding about an output that cannot be read; fails where it may be readable at another time.
fn not_found(error: ReadError, declared: &Output) -> Result<FoundOutput, Failed> {
    if error.is_passing() && !matches!(&error, ReadError::Read { source, .. } if is_link_or_socket(source)) {
        return Err(Failed::Read(error));
    }
    Ok(match error {
        ReadError::TooLarge { .. } => FoundOutput::TooLarge(None),
        ReadError::NotText { .. } => FoundOutput::Wrong(NOT_TEXT.to_owned()),
        ReadError::Read { source, .. } if is_link_or_socket(&source) => {
            FoundOutput::Wrong("it is a link or a socket".to_owned())
        }
        ReadError::Read { source, .. } if source.kind() == io::ErrorKind::NotFound => {
            FoundOutput::Wrong("it is not there any more".to_owned())
        }
        ReadError::Read { path, source, .. } => {
            FoundOutput::Wrong(format!("{path} cannot be read: {source}"))
        }
        ReadError::WrongKind { path, wanted, .. } => FoundOutput::Wrong(format!("{path} is not a {wanted}")),
        error @ (ReadError::Outside { .. } | ReadError::Digest { .. }) => {
            let words = error.to_string();
            let name = format!("{}: ", declared.name);
            FoundOutput::Wrong(words.strip_prefix(&name).unwrap_or(&words).to_owned())
        }
    })
}

/// The bytes of a small file that was read before; what is not there any more is no value of any type.
fn content(mut file: File) -> Vec<u8> {
    let mut bytes = Vec::new();
    // It may have grown since it was hashed.
    let read = file
        .rewind()
        .and_then(|()| file.take(MAX_OUTPUT_BYTES + 1).read_to_end(&mut bytes));
    read.map_or_else(|_| Vec::new(), |_| bytes)
}

#[cfg(test)]
mod tests;
