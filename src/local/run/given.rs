//! The inputs of a command line: texts for values, `@PATH` for files and folders, `@-` for standard input.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::error::LocalRunError;
use crate::local::freeze::{DownloadAccess, INPUTS, freeze};
use codegen_api::values::ValueType;
use codegen_core::run::{GivenInput, InputFault, ProgramOptions, RunFault, faults};
use codegen_core::task::{FrozenFile, Task};
use codegen_sources::{LARGEST_SOURCE, ReadPlan, SourceOrigin, WantedSource, remedy};

/// Inputs that are what the program takes, as far as that shows before a file is read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GivenInputs {
    /// Values by name.
    pub values: BTreeMap<String, String>,
    /// Files and folders by name, in the order of the command line.
    pub files: Vec<(String, GivenFile)>,
}

/// A file or folder of the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GivenFile {
    /// Path of the file or folder.
    Path(PathBuf),
    /// Standard input.
    Stdin,
}

/// Distinguishes values and files by what the program takes: a value may begin with `@`, a file must.
pub fn sort(options: &ProgramOptions, inputs: &[(String, String)]) -> Result<GivenInputs, LocalRunError> {
    let mut sorted = GivenInputs::default();
    let mut found = Vec::new();
    for (name, text) in inputs {
        let declared = options.inputs.iter().find(|input| input.name == *name);
        let takes_file = declared.is_none_or(|input| matches!(input.type_, ValueType::File | ValueType::Dir));
        let file = text
            .strip_prefix('@')
            .filter(|path| takes_file && !path.is_empty());
        match file {
            Some("-") => {
                found.push((name.as_str(), Ok(GivenInput::File)));
                sorted.files.push((name.clone(), GivenFile::Stdin));
            }
            Some(path) => {
                found.push((name.as_str(), shape(Path::new(path))));
                sorted.files.push((name.clone(), GivenFile::Path(path.into())));
            }
            None => {
                found.push((name.as_str(), Ok(GivenInput::Text(text))));
                sorted.values.insert(name.clone(), text.clone());
            }
        }
    }
    let given: Vec<(&str, GivenInput<'_>)> = found
        .iter()
        .map(|(name, found)| {
            (
                *name,
                found
                    .as_ref()
                    .map_or_else(|why| GivenInput::Unreadable(why), |given| *given),
            )
        })
        .collect();
    let faults = faults(options, &given);
    if !faults.is_empty() {
        return Err(LocalRunError::Faults(
            faults.into_iter().map(RunFault::Input).collect(),
        ));
    }
    reads_stdin_once(sorted)
}

/// [`sort`] for a program of which nothing is known here: what begins with `@` is a file. Whoever runs it says what is wrong; here, a
/// name that is given twice is.
pub fn sort_unknown(inputs: &[(String, String)]) -> Result<GivenInputs, LocalRunError> {
    let mut sorted = GivenInputs::default();
    let mut names = BTreeSet::new();
    for (name, text) in inputs {
        if !names.insert(name) {
            return Err(LocalRunError::Faults(vec![RunFault::Input(InputFault::Twice {
                name: name.clone(),
            })]));
        }
        match text.strip_prefix('@').filter(|path| !path.is_empty()) {
            Some("-") => sorted.files.push((name.clone(), GivenFile::Stdin)),
            Some(path) => sorted.files.push((name.clone(), GivenFile::Path(path.into()))),
            None => {
                sorted.values.insert(name.clone(), text.clone());
            }
        }
    }
    reads_stdin_once(sorted)
}

fn reads_stdin_once(sorted: GivenInputs) -> Result<GivenInputs, LocalRunError> {
    let mut from_stdin = sorted.files.iter().filter(|(_, file)| *file == GivenFile::Stdin);
    if let (Some((first, _)), Some((second, _))) = (from_stdin.next(), from_stdin.next()) {
        return Err(LocalRunError::StdinTwice {
            first: first.clone(),
            second: second.clone(),
        });
    }
    Ok(sorted)
}

/// Looks up what lies there, or why it cannot be read.
fn shape(path: &Path) -> Result<GivenInput<'static>, String> {
    let inspect = || {
        let metadata = fs::metadata(path)?;
        if metadata.is_dir() {
            return fs::read_dir(path).map(|_| GivenInput::Folder);
        }
        // Opening a pipe would wait for a writer.
        if metadata.is_file() {
            File::open(path)?;
        }
        Ok(GivenInput::File)
    };
    inspect().map_err(|error| format!("cannot read {}: {error}; {}", path.display(), remedy(&error)))
}

/// Copies what was given below `folder`, so that it does not change while the run goes on.
pub(super) async fn freeze_given(
    task: &Task,
    given: &GivenInputs,
    folder: &Path,
) -> Result<Vec<FrozenFile>, LocalRunError> {
    // What was given is not downloaded.
    let downloads = DownloadAccess::new(folder.to_owned(), &[]);
    let mut files = Vec::new();
    for (name, file) in &given.files {
        let is_dir = task
            .inputs
            .iter()
            .any(|input| input.name == *name && input.type_ == ValueType::Dir);
        let (file_name, source) = match file {
            GivenFile::Path(path) if is_dir => (name.clone(), SourceOrigin::Folder(path.clone())),
            GivenFile::Path(path) => (file_name(path, name), SourceOrigin::File(path.clone())),
            GivenFile::Stdin => (name_of_sample(task, name), SourceOrigin::Bytes(stdin(name)?)),
        };
        let plan = ReadPlan {
            inputs: vec![WantedSource {
                name: name.clone(),
                file_name,
                source,
                sha256: None,
            }],
            ..ReadPlan::default()
        };
        // A folder each: two files may have the same name.
        let frozen = freeze(&plan, &folder.join(name), &downloads).await?;
        files.extend(frozen.input_files);
    }
    Ok(files)
}

/// Returns the path at which [`freeze_given`] put a file.
pub(super) fn path(folder: &Path, file: &FrozenFile) -> PathBuf {
    folder.join(&file.name).join(INPUTS).join(&file.file_name)
}

/// The name of a file, whose ending gives its format.
#[must_use]
pub fn file_name(path: &Path, input: &str) -> String {
    path.file_name()
        .map_or_else(|| input.to_owned(), |name| name.to_string_lossy().into_owned())
}

/// Returns the sample's file name, for data that comes without one: it is of the sample's format, as far as anyone knows.
#[must_use]
pub fn name_of_sample(task: &Task, input: &str) -> String {
    task.frozen_inputs()
        .find(|file| file.name == input)
        .map_or_else(|| input.to_owned(), |file| file.file_name.clone())
}

/// All of standard input, up to what a source may have.
pub fn stdin(name: &str) -> Result<Vec<u8>, LocalRunError> {
    let mut bytes = Vec::new();
    std::io::stdin()
        .lock()
        .take(LARGEST_SOURCE + 1)
        .read_to_end(&mut bytes)
        .map_err(|source| LocalRunError::Stdin {
            name: name.to_owned(),
            source,
        })?;
    Ok(bytes)
}
