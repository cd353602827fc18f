//! Origins of the bytes of samples, inputs and acceptance tests: decided here, read by whoever runs the task.

pub mod digest;
mod error;
mod names;
mod objects;
mod place;
pub mod reading;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

pub use self::error::SourceError;
pub use self::error::{keys_text, remedy, text_of_key};
use self::names::last_segment;
use self::names::name_files;
pub use self::names::{sample_names, usable};
pub use self::objects::{ObjectData, ObjectKey, find, renamed_text};
pub use self::place::{NotFound, place};
use codegen_api::CodeGenTask;
use codegen_api::source::ContentSource;
use codegen_api::values::{AcceptanceTests, Input, InputSource, Sample, ValueType};

/// Largest file or folder that a task may read, bytes.
pub const LARGEST_SOURCE: u64 = 1024 * 1024 * 1024;
/// Most files of a folder.
pub const MOST_FOLDER_FILES: usize = 10_000;

/// Files given on the command line in place of what the manifest refers to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GivenFiles {
    /// Samples by name.
    pub samples: BTreeMap<String, PathBuf>,
    /// `File` and `Dir` inputs by name.
    pub inputs: BTreeMap<String, PathBuf>,
    /// Replacement of each `PersistentVolumeClaim`.
    pub claims: Claims,
}

/// Replacement of each `PersistentVolumeClaim`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claims {
    /// A folder on this machine each, by claim name.
    Folders(BTreeMap<String, PathBuf>),
    /// The claim itself: a cluster mounts it.
    Mounted,
}

impl Default for Claims {
    fn default() -> Self {
        Self::Folders(BTreeMap::new())
    }
}

/// Origin of bytes.
#[derive(Clone, PartialEq, Eq)]
pub enum SourceOrigin {
    /// They are here.
    Bytes(Vec<u8>),
    /// A file on this machine.
    File(PathBuf),
    /// A folder on this machine.
    Folder(PathBuf),
    /// Files of a folder by name.
    Files(BTreeMap<String, Vec<u8>>),
    /// A file at an address.
    Download(String),
    /// A file or folder on a claim of the cluster.
    Claim {
        /// Name of the `PersistentVolumeClaim`.
        claim: String,
        /// Path on it, relative and without `.` and `..`; empty for all of it.
        path: String,
        /// True where a folder must lie there.
        is_dir: bool,
    },
}

/// One thing to freeze.
#[derive(Clone, PartialEq, Eq)]
pub struct WantedSource {
    /// Name of the sample or input.
    pub name: String,
    /// File name with its ending; equal to `name` for folders.
    pub file_name: String,
    /// Origin of its bytes.
    pub source: SourceOrigin,
    /// Digest that they must have, hex.
    pub sha256: Option<String>,
}

/// Everything that a task reads.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct ReadPlan {
    /// Samples in the order of the spec.
    pub samples: Vec<WantedSource>,
    /// Contents of `File` and `Dir` inputs that are no samples.
    pub inputs: Vec<WantedSource>,
    /// The user's acceptance tests.
    pub acceptance_tests: Option<WantedSource>,
}

/// Decides where everything that `task` reads comes from.
pub fn plan(
    task: &CodeGenTask,
    config_maps: &BTreeMap<ObjectKey, ObjectData>,
    given: &GivenFiles,
) -> Result<ReadPlan, SourceError> {
    let spec = &task.spec;
    let namespace = task.metadata.namespace.as_deref().unwrap_or("default");
    let resolver = Resolver {
        config_maps,
        namespace,
        given,
    };
    // An option with a slip in its name would have no effect otherwise.
    check_given(&spec.samples, &spec.inputs, given)?;
    let mut plan = ReadPlan::default();
    for (index, sample) in spec.samples.iter().enumerate() {
        plan.samples.push(resolver.sample(index, sample)?);
    }
    let is_sample = |input: &&Input| spec.samples.iter().any(|sample| sample.name == input.name);
    for (index, input) in spec
        .inputs
        .iter()
        .enumerate()
        .filter(|(_, input)| !is_sample(input))
    {
        plan.inputs.extend(resolver.input(index, input)?);
    }
    if let Some(tests) = &spec.acceptance_tests {
        plan.acceptance_tests = Some(resolver.acceptance_tests(tests)?);
    }
    let explicit: BTreeSet<String> = spec
        .samples
        .iter()
        .filter(|sample| sample.file_name.is_some())
        .map(|sample| sample.name.clone())
        .collect();
    name_files(&mut plan, &explicit)?;
    Ok(plan)
}

fn check_given(samples: &[Sample], inputs: &[Input], given: &GivenFiles) -> Result<(), SourceError> {
    let present: Vec<String> = samples.iter().map(|sample| sample.name.clone()).collect();
    if let Some(name) = given.samples.keys().find(|name| !present.contains(name)) {
        return Err(SourceError::Unknown {
            option: format!("--sample {name}=..."),
            what: "sample",
            present,
        });
    }
    let present: Vec<String> = inputs
        .iter()
        .filter(|input| {
            matches!(input.type_, ValueType::File | ValueType::Dir) && !present.contains(&input.name)
        })
        .map(|input| input.name.clone())
        .collect();
    match given.inputs.keys().find(|name| !present.contains(name)) {
        Some(name) => Err(SourceError::Unknown {
            option: format!("--input {name}=..."),
            what: "File or Dir input without a sample",
            present,
        }),
        None => Ok(()),
    }
}

/// Refuses a folder for a claim that none of `tasks` reads: a slip in its name would have no effect otherwise.
pub fn unclaimed(claims: &BTreeMap<String, PathBuf>, tasks: &[&CodeGenTask]) -> Result<(), SourceError> {
    let read: BTreeSet<&str> = tasks.iter().flat_map(|task| claims_of(task)).collect();
    match claims.keys().find(|name| !read.contains(name.as_str())) {
        Some(name) => Err(SourceError::UnknownClaim {
            name: name.clone(),
            present: read.into_iter().map(str::to_owned).collect(),
        }),
        None => Ok(()),
    }
}

/// The claims that a task reads.
fn claims_of(task: &CodeGenTask) -> impl Iterator<Item = &str> {
    let spec = &task.spec;
    let samples = spec.samples.iter().filter_map(Sample::source);
    let inputs = spec
        .inputs
        .iter()
        .filter_map(|input| input.source.as_ref()?.content());
    let tests = spec.acceptance_tests.iter().filter_map(AcceptanceTests::source);
    samples
        .chain(inputs)
        .chain(tests)
        .filter_map(|source| match source {
            ContentSource::Claim(claim) => Some(claim.claim_name.as_str()),
            _ => None,
        })
}

/// The task with no other sources of samples and inputs than those that are `wanted`, each where it was.
pub fn with_sources_of(task: &CodeGenTask, wanted: impl Fn(&str) -> bool) -> CodeGenTask {
    let mut task = task.clone();
    for sample in &mut task.spec.samples {
        if !wanted(&sample.name) {
            // A sample needs a source, and without this one the index of the others in messages would be another.
            *sample = Sample {
                name: sample.name.clone(),
                inline: Some(String::new()),
                ..Sample::default()
            };
        }
    }
    for input in &mut task.spec.inputs {
        if !wanted(&input.name) {
            input.source = None;
        }
    }
    task
}

struct Resolver<'a> {
    config_maps: &'a BTreeMap<ObjectKey, ObjectData>,
    namespace: &'a str,
    given: &'a GivenFiles,
}

impl Resolver<'_> {
    fn sample(&self, index: usize, sample: &Sample) -> Result<WantedSource, SourceError> {
        let at = At {
            field: format!("spec.samples[{index}] ({})", sample.name),
            option: format!("--sample {}=PATH", sample.name),
            name: &sample.name,
            is_dir: false,
        };
        let given = self.given.samples.get(&sample.name);
        let (source, found_name) = match (given, sample.source()) {
            (Some(path), _) => (
                SourceOrigin::File(path.clone()),
                last_segment(&path.to_string_lossy()),
            ),
            (None, Some(source)) => self.place(source, &at)?,
            (None, None) => {
                let At { field, option, .. } = at;
                return Err(SourceError::NoSource { field, option });
            }
        };
        Ok(WantedSource {
            name: sample.name.clone(),
            file_name: sample
                .file_name
                .clone()
                .unwrap_or_else(|| usable(&found_name, &sample.name)),
            source,
            // Another file in the sample's place has another digest on purpose.
            sha256: if given.is_some() {
                None
            } else {
                sample.sha256.clone()
            },
        })
    }

    fn input(&self, index: usize, input: &Input) -> Result<Option<WantedSource>, SourceError> {
        let is_dir = input.type_ == ValueType::Dir;
        let at = At {
            field: format!("spec.inputs[{index}] ({})", input.name),
            option: format!("--input {}=PATH", input.name),
            name: &input.name,
            is_dir,
        };
        let declared = input.source.as_ref().and_then(InputSource::content);
        let (source, found_name) = match (self.given.inputs.get(&input.name), declared) {
            (Some(path), _) => (
                on_disk(path.clone(), is_dir),
                last_segment(&path.to_string_lossy()),
            ),
            (None, Some(source)) => self.place(source, &at)?,
            (None, None) => return Ok(None),
        };
        let file_name = if is_dir {
            input.name.clone()
        } else {
            usable(&found_name, &input.name)
        };
        Ok(Some(WantedSource {
            name: input.name.clone(),
            file_name,
            source,
            sha256: None,
        }))
    }

    fn acceptance_tests(&self, tests: &AcceptanceTests) -> Result<WantedSource, SourceError> {
        let name = "acceptance";
        let at = At {
            field: "spec.acceptanceTests".to_owned(),
            option: "spec.acceptanceTests.inline".to_owned(),
            name,
            is_dir: false,
        };
        let Some(source) = tests.source() else {
            let At { field, option, .. } = at;
            return Err(SourceError::NoSource { field, option });
        };
        let (source, found_name) = self.place(source, &at)?;
        // Pytest collects files by such names.
        let is_test_file = found_name.starts_with("test_")
            && Path::new(&found_name).extension().is_some_and(|end| end == "py");
        let file_name = if is_test_file {
            usable(&found_name, name)
        } else {
            "test_acceptance.py".to_owned()
        };
        Ok(WantedSource {
            name: name.to_owned(),
            file_name,
            source,
            sha256: None,
        })
    }

    /// Finds the bytes: those of a claim in the folder that stands for it.
    fn place(&self, source: ContentSource<'_>, at: &At<'_>) -> Result<(SourceOrigin, String), SourceError> {
        let keys = |name: &str| find(self.config_maps, self.namespace, name);
        let (source, file_name) =
            place(source, at.name, at.is_dir, keys).map_err(|fault| self.error(fault, at))?;
        let source = match (source, &self.given.claims) {
            (SourceOrigin::Claim { claim, path, is_dir }, Claims::Folders(folders)) => {
                let folder = folders.get(&claim).ok_or_else(|| SourceError::NoClaim {
                    field: at.field.clone(),
                    claim: claim.clone(),
                    option: at.option.clone(),
                })?;
                on_disk(folder.join(path), is_dir)
            }
            (source, _) => source,
        };
        Ok((source, file_name))
    }

    fn error(&self, fault: NotFound, at: &At<'_>) -> SourceError {
        let (field, option) = (at.field.clone(), at.option.clone());
        match fault {
            NotFound::ConfigMap { name } => SourceError::NoConfigMap {
                renamed: renamed_text(self.config_maps, self.namespace, &name),
                field,
                name,
                option,
            },
            NotFound::Key { name, key, present } => SourceError::NoKey {
                field,
                name,
                key,
                present,
                // In a cluster there is no command line that could give it.
                option: (self.given.claims != Claims::Mounted).then_some(option),
            },
            NotFound::OutsideClaim { path } => SourceError::OutsideClaim { field, path },
        }
    }
}

/// Item of the task that a source belongs to.
struct At<'a> {
    /// The field of the manifest.
    field: String,
    /// Command-line option that gives the file instead.
    option: String,
    name: &'a str,
    is_dir: bool,
}

fn on_disk(path: PathBuf, is_dir: bool) -> SourceOrigin {
    if is_dir {
        SourceOrigin::Folder(path)
    } else {
        SourceOrigin::File(path)
    }
}

#[cfg(test)]
mod tests;
