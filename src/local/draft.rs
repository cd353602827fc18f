//! A task that does not exist yet: what the command line says of it, as manifests with their data in a folder.

mod error;
mod names;
mod read;
mod render;
mod write;

use std::path::PathBuf;

use self::read::Reader;
use super::manifest;
use super::objects::Objects;
use super::options::ModelOverrides;
use codegen_api::common::Exposure;
use codegen_api::values::{Input, Output, ValueType};
use codegen_api::{CodeGenTask, CodeGenTaskSpec};
use codegen_sources::GivenFiles;

pub use error::DraftError;

/// The manifest of the task.
pub const TASK: &str = "task.yaml";
/// Kustomization that is applied with it.
pub const KUSTOMIZATION: &str = "kustomization.yaml";
/// Most bytes of a ConfigMap as JSON that `kubectl apply` can repeat in an annotation, with room for its name.
const LARGEST_ANNOTATION: usize = 262_144 - 1024;

/// Options of a task on the command line.
#[derive(Clone, Debug, Default)]
pub struct DraftOptions {
    /// Instruction: what the program shall do.
    pub prompt: String,
    /// Name of the task. Default: the first words of the prompt.
    pub name: Option<String>,
    /// Sample data, each `FILE` or `NAME=FILE`.
    pub samples: Vec<PathBuf>,
    /// Further options of the program.
    pub inputs: Vec<DraftInput>,
    /// Outputs that it writes.
    pub outputs: Vec<Output>,
    /// Rules that data must keep.
    pub constraints: Vec<String>,
    /// Tests of the user's.
    pub acceptance_tests: Option<PathBuf>,
    /// Part of the samples that the model may see.
    pub exposure: Option<Exposure>,
    /// The model.
    pub model: ModelOverrides,
}

/// An option of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DraftInput {
    /// Its name.
    pub name: String,
    /// Its type.
    pub type_: ValueType,
    /// Its default; of a `File` the path of one.
    pub value: Option<String>,
}

/// A task as manifests, with the files that it refers to.
#[derive(Clone, Debug)]
pub struct Draft {
    /// The task.
    pub task: CodeGenTask,
    /// Files of its `ConfigMap`s and its claim.
    pub files: Vec<DataFile>,
    /// Files of its claim as they lie before the folder is written.
    pub given: GivenFiles,
}

/// A file of the folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataFile {
    /// Description of the file (`sample penguins`).
    pub what: String,
    /// Name in the folder, and key in the ConfigMap or path on the claim.
    pub file_name: String,
    /// Its place in a cluster.
    pub place: FilePlace,
}

/// Place of a file in a cluster, with its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FilePlace {
    /// In a ConfigMap of its own.
    ConfigMap {
        /// Its name.
        name: String,
        /// The content.
        bytes: Vec<u8>,
    },
    /// On the task's claim, for no ConfigMap holds as much.
    Claim {
        /// The claim.
        name: String,
        /// The file to copy.
        source: PathBuf,
    },
}

impl Draft {
    /// Reads every file, or says everything that is wrong with files and options.
    pub fn read(options: &DraftOptions) -> Result<Self, Vec<DraftError>> {
        let name = options
            .name
            .clone()
            .unwrap_or_else(|| names::task_name(&options.prompt));
        // A name that no object can have is refused as such, and not for what is named after it.
        let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b".-".contains(&byte);
        let prefix = if name.bytes().all(is_plain) {
            name.clone()
        } else {
            names::task_name(&name)
        };
        let mut reader = Reader::new(&prefix);
        let samples = reader.samples(&options.samples);
        let inputs: Vec<Input> = options.inputs.iter().map(|each| reader.input(each)).collect();
        let acceptance_tests = options
            .acceptance_tests
            .as_ref()
            .map(|path| reader.acceptance_tests(path));
        let model = reader.model(&options.model);
        if !reader.errors.is_empty() {
            return Err(reader.errors);
        }
        let spec = CodeGenTaskSpec {
            prompt: options.prompt.clone(),
            model: Some(model),
            exposure: options.exposure,
            samples,
            constraints: options.constraints.clone(),
            inputs,
            outputs: options.outputs.clone(),
            acceptance_tests,
            ..CodeGenTaskSpec::default()
        };
        Ok(Self {
            task: CodeGenTask::new(&name, spec),
            files: reader.files,
            given: reader.given,
        })
    }

    /// The claim of the files that no ConfigMap holds, and their names.
    #[must_use]
    pub fn claim(&self) -> Option<(&str, Vec<&str>)> {
        let on_claim = self.files.iter().filter_map(|file| match &file.place {
            FilePlace::Claim { name, .. } => Some((name.as_str(), file.file_name.as_str())),
            FilePlace::ConfigMap { .. } => None,
        });
        let (names, files): (Vec<_>, Vec<_>) = on_claim.unzip();
        Some((*names.first()?, files))
    }

    /// The objects that the folder comes to, or everything that an API server would say against them.
    pub fn objects(&self) -> Result<Objects, Vec<String>> {
        let documents = manifest::parse(TASK, &self.task_yaml()).map_err(|error| vec![error.to_string()])?;
        let mut objects = Objects::collect(documents).map_err(|faults| {
            let faults = faults.0.iter();
            faults
                .map(|fault| format!("{}: {}", self.place(&fault.path), fault.message))
                .collect::<Vec<_>>()
        })?;
        for file in &self.files {
            if let FilePlace::ConfigMap { name, bytes } = &file.place {
                let key = ("default".to_owned(), name.clone());
                let keys = objects.config_maps.entry(key).or_default();
                keys.0.insert(file.file_name.clone(), bytes.clone());
            }
        }
        Ok(objects)
    }

    /// The text of [`TASK`].
    #[must_use]
    pub fn task_yaml(&self) -> String {
        render::task(&self.task, self.claim().map(|(name, _)| name))
    }

    /// The text of [`KUSTOMIZATION`].
    #[must_use]
    pub fn kustomization_yaml(&self) -> String {
        render::kustomization(&self.files)
    }

    /// Reports whether `kubectl apply` needs `--server-side`: without it, all of an object is repeated in an annotation.
    #[must_use]
    pub fn needs_server_side_apply(&self) -> bool {
        self.files.iter().any(|file| {
            let FilePlace::ConfigMap { bytes, .. } = &file.place else {
                return false;
            };
            let length = match std::str::from_utf8(bytes) {
                Ok(text) => serde_json::to_string(text).map_or(usize::MAX, |text| text.len()),
                Err(_) => bytes.len().div_ceil(3) * 4,
            };
            length > LARGEST_ANNOTATION
        })
    }

    /// Returns the name of a field on the command line (`--input decimals` for `spec.inputs[0]`), with what is left of its path.
    #[must_use]
    pub fn place(&self, path: &str) -> String {
        let spec = &self.task.spec;
        let fields = [
            ("metadata.name", "--name"),
            ("spec.prompt", "the prompt"),
            ("spec.model.name", "--model"),
            ("spec.model.baseURL", "--model-url"),
            ("spec.acceptanceTests", "--accept"),
            ("spec.samples", "--sample"),
            ("spec.inputs", "--input"),
            ("spec.outputs", "--output"),
            ("spec.constraints", "--constraint"),
        ];
        if path == "spec" {
            return "the task".to_owned();
        }
        let Some((option, rest)) = fields
            .iter()
            .find_map(|(field, option)| Some((*option, path.strip_prefix(field)?)))
        else {
            return path.to_owned();
        };
        let entry = rest.strip_prefix('[').and_then(|rest| rest.split_once(']'));
        let Some((index, rest)) = entry else {
            return format!("{option}{rest}");
        };
        let index: usize = index.parse().unwrap_or(usize::MAX);
        let name = match option {
            "--sample" => spec.samples.get(index).map(|each| &each.name),
            "--input" => spec.inputs.get(index).map(|each| &each.name),
            "--output" => spec.outputs.get(index).map(|each| &each.name),
            _ => spec.constraints.get(index),
        };
        format!("{option} {}{rest}", name.map(String::as_str).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests;
