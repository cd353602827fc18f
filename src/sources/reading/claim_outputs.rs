//! What a program wrote to a claim: hashed, and held to its declared type and the constraints, like what a sandbox brings back.

use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::path::Path;

use super::{ClaimReader, Found, ReadError, is_link_or_socket, path_of};
use crate::api::values::{Output, ValueType};
use crate::data::DataError;
use crate::data::source::Source;
use crate::data::worker::{Client, Limits};
use crate::engine::run_data::{Columns, RunData};
use crate::pipeline::sandbox::MAX_OUTPUT_BYTES;
use crate::sandbox::kubernetes::{ClaimOutput, ClaimOutputs, ClaimSource, ReadReport, ReadSource};

/// Time to check one of the largest files.
const SECONDS: u64 = 600;

/// Why an output cannot be checked now.
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

/// Checks every output that `asked` names.
pub(super) async fn read(asked: &ClaimOutputs, worker: &Client) -> ReadReport {
    let worker = worker.clone().with_limits(Limits {
        seconds: SECONDS,
        ..Limits::default()
    });
    let data = RunData {
        client: &worker,
        columns: &Columns::new(),
        checks: &asked.checks,
    };
    let mut found = Vec::new();
    for declared in &asked.outputs {
        match output(asked, declared, &data).await {
            Ok(output) => found.push(output),
            Err(Failed::Read(error)) => return ReadReport::Failed(error.to_string()),
            Err(Failed::Data(error)) => return ReadReport::Failed(error.to_string()),
        }
    }
    ReadReport::Outputs(found)
}

async fn output(asked: &ClaimOutputs, declared: &Output, data: &RunData<'_>) -> Result<ClaimOutput, Failed> {
    let Found { what, files, file } = match find(asked, declared) {
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
                Err(problem) => return Ok(ClaimOutput::Wrong(problem)),
            }
        }
        // Such a value is read into memory whole.
        (Some(_), type_) if bytes > MAX_OUTPUT_BYTES => {
            return Ok(ClaimOutput::Wrong(format!(
                "a value of type {type_} has at most {MAX_OUTPUT_BYTES} bytes, this one has {bytes}: declare it as a File"
            )));
        }
        (Some(file), _) => match data.value(declared, &content(file)).await? {
            Ok(text) => value = text,
            Err(problem) => return Ok(ClaimOutput::Wrong(problem)),
        },
        (None, _) => {}
    }
    Ok(ClaimOutput::Read {
        sha256,
        bytes,
        files,
        value,
        findings,
    })
}

/// Reads an output where the program was to write it. No link is followed: a name of an output has no slash, so its place is the
/// folder that is mounted.
fn find(asked: &ClaimOutputs, declared: &Output) -> Result<Found, ReadError> {
    let source = ClaimSource {
        name: declared.name.clone(),
        claim: asked.written_to.claim.clone(),
        folder: asked.folder.clone(),
        path: declared.name.clone(),
        is_dir: declared.type_ == ValueType::Dir,
        sha256: None,
    };
    (ClaimReader { source: &source }).read_at(Path::new(&declared.name))
}

/// What is said of an output that cannot be read; the error is that it may be at another time.
fn not_found(error: ReadError, declared: &Output) -> Result<ClaimOutput, Failed> {
    Ok(match error {
        ReadError::TooLarge { .. } => ClaimOutput::TooLarge(None),
        ReadError::Read { source, .. } if is_link_or_socket(&source) => {
            ClaimOutput::Wrong("it is a link or a socket".to_owned())
        }
        ReadError::Read { source, .. } if source.kind() == io::ErrorKind::NotFound => {
            ClaimOutput::Wrong("it is not on the claim any more".to_owned())
        }
        error if error.is_passing() => return Err(Failed::Read(error)),
        error => {
            let words = error.to_string();
            let name = format!("{}: ", declared.name);
            ClaimOutput::Wrong(words.strip_prefix(&name).unwrap_or(&words).to_owned())
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
