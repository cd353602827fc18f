//! Where the bytes of samples, inputs and acceptance tests come from: decided here, read by whoever runs the task.

pub(crate) mod digest;
mod error;
mod names;
mod objects;
pub mod reading;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

pub(crate) use self::error::SourceError;
pub(crate) use self::error::keys_text;
use self::names::name_files;
pub(crate) use self::names::sample_names;
pub(crate) use self::names::{last_segment, usable};
pub(crate) use self::objects::{Keys, ObjectKey, find};
use crate::api::CodeGenTask;
use crate::api::common::{ClaimPath, ConfigMapKeyRef};
use crate::api::values::{AcceptanceTests, Input, InputSource, Sample, ValueType};
pub(crate) use crate::pipeline::mounts::ending_of_text;

/// Largest file or folder that a task may read, bytes.
pub(crate) const LARGEST_SOURCE: u64 = 1024 * 1024 * 1024;
/// Most files of a folder.
pub(crate) const MOST_FOLDER_FILES: usize = 10_000;

/// Files given on the command line in place of what the manifest refers to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Given {
    /// Samples by name.
    pub samples: BTreeMap<String, PathBuf>,
    /// `File` and `Dir` inputs by name.
    pub inputs: BTreeMap<String, PathBuf>,
    /// What stands for a `PersistentVolumeClaim`.
    pub claims: Claims,
}

/// What stands for a `PersistentVolumeClaim`.
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

/// Where bytes come from.
#[derive(Clone, PartialEq, Eq)]
pub enum Source {
    /// They are here.
    Bytes(Vec<u8>),
    /// A file on this machine.
    File(PathBuf),
    /// A folder on this machine.
    Folder(PathBuf),
    /// Files of a folder by name.
    Files(BTreeMap<String, Vec<u8>>),
    /// A file elsewhere.
    Download(String),
    /// A file or folder on a claim of the cluster.
    Claim {
        /// Name of the `PersistentVolumeClaim`.
        claim: String,
        /// Path on it, relative and without `.` and `..`; empty for all of it.
        path: String,
        /// Whether a folder must lie there.
        is_dir: bool,
    },
}

/// One thing to freeze.
#[derive(Clone, PartialEq, Eq)]
pub struct Wanted {
    /// Name of the sample or input.
    pub name: String,
    /// File name with its ending; equal to `name` for folders.
    pub file_name: String,
    /// Where its bytes come from.
    pub source: Source,
    /// Digest that they must have, hex.
    pub sha256: Option<String>,
}

/// Everything that a task reads.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Plan {
    /// Samples in the order of the spec.
    pub samples: Vec<Wanted>,
    /// Contents of `File` and `Dir` inputs that are no samples.
    pub inputs: Vec<Wanted>,
    /// The user's acceptance tests.
    pub acceptance_tests: Option<Wanted>,
}

/// Decides where everything that `task` reads comes from.
pub fn plan(
    task: &CodeGenTask,
    config_maps: &BTreeMap<ObjectKey, Keys>,
    given: &Given,
) -> Result<Plan, SourceError> {
    let spec = &task.spec;
    let namespace = task.metadata.namespace.as_deref().unwrap_or("default");
    let resolver = Resolver {
        config_maps,
        namespace,
        given,
    };
    check_given(&spec.samples, &spec.inputs, given)?;
    let mut plan = Plan::default();
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

fn check_given(samples: &[Sample], inputs: &[Input], given: &Given) -> Result<(), SourceError> {
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

struct Resolver<'a> {
    config_maps: &'a BTreeMap<ObjectKey, Keys>,
    namespace: &'a str,
    given: &'a Given,
}

impl Resolver<'_> {
    fn sample(&self, index: usize, sample: &Sample) -> Result<Wanted, SourceError> {
        let field = format!("spec.samples[{index}] ({})", sample.name);
        let option = format!("--sample {}=PATH", sample.name);
        let given = self.given.samples.get(&sample.name);
        let (source, found_name) = if let Some(path) = given {
            (Source::File(path.clone()), last_segment(&path.to_string_lossy()))
        } else if let Some(text) = &sample.inline {
            (
                Source::Bytes(text.clone().into_bytes()),
                format!("{}{}", sample.name, ending_of_text(text)),
            )
        } else if let Some(reference) = &sample.config_map_key_ref {
            (
                Source::Bytes(self.key(reference, &field, &option)?),
                reference.key.clone(),
            )
        } else if let Some(url) = &sample.url {
            let path = url.split(['?', '#']).next().unwrap_or_default();
            (Source::Download(url.clone()), last_segment(path))
        } else if let Some(claim) = &sample.persistent_volume_claim {
            (
                self.claim(claim, false, &field, &option)?,
                last_segment(&claim.path),
            )
        } else {
            return Err(SourceError::NoSource { field, option });
        };
        Ok(Wanted {
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

    fn input(&self, index: usize, input: &Input) -> Result<Option<Wanted>, SourceError> {
        let field = format!("spec.inputs[{index}] ({})", input.name);
        let option = format!("--input {}=PATH", input.name);
        let is_dir = input.type_ == ValueType::Dir;
        let none = InputSource::default();
        let from = input.source.as_ref().unwrap_or(&none);
        let (source, found_name) = if let Some(path) = self.given.inputs.get(&input.name) {
            (
                on_disk(path.clone(), is_dir),
                last_segment(&path.to_string_lossy()),
            )
        } else if let Some(reference) = &from.config_map_key_ref {
            (
                Source::Bytes(self.key(reference, &field, &option)?),
                reference.key.clone(),
            )
        } else if let Some(reference) = &from.config_map_ref {
            let (_, keys) = find(self.config_maps, self.namespace, &reference.name).ok_or_else(|| {
                SourceError::NoConfigMap {
                    field,
                    name: reference.name.clone(),
                    option,
                }
            })?;
            (Source::Files(keys.0.clone()), String::new())
        } else if let Some(claim) = &from.persistent_volume_claim {
            (
                self.claim(claim, is_dir, &field, &option)?,
                last_segment(&claim.path),
            )
        } else {
            return Ok(None);
        };
        let file_name = if is_dir {
            input.name.clone()
        } else {
            usable(&found_name, &input.name)
        };
        Ok(Some(Wanted {
            name: input.name.clone(),
            file_name,
            source,
            sha256: None,
        }))
    }

    fn acceptance_tests(&self, tests: &AcceptanceTests) -> Result<Wanted, SourceError> {
        let field = "spec.acceptanceTests".to_owned();
        let option = "spec.acceptanceTests.inline".to_owned();
        let (bytes, found_name) = if let Some(text) = &tests.inline {
            (text.clone().into_bytes(), "test_acceptance.py".to_owned())
        } else if let Some(reference) = &tests.config_map_key_ref {
            (self.key(reference, &field, &option)?, reference.key.clone())
        } else {
            return Err(SourceError::NoSource { field, option });
        };
        let is_test_file = found_name.starts_with("test_")
            && Path::new(&found_name).extension().is_some_and(|end| end == "py");
        let file_name = if is_test_file {
            usable(&found_name, "acceptance")
        } else {
            "test_acceptance.py".to_owned()
        };
        Ok(Wanted {
            name: "acceptance".to_owned(),
            file_name,
            source: Source::Bytes(bytes),
            sha256: None,
        })
    }

    fn key(&self, reference: &ConfigMapKeyRef, field: &str, option: &str) -> Result<Vec<u8>, SourceError> {
        let (field, option, name) = (field.to_owned(), option.to_owned(), reference.name.clone());
        let Some((_, keys)) = find(self.config_maps, self.namespace, &reference.name) else {
            return Err(SourceError::NoConfigMap { field, name, option });
        };
        keys.0
            .get(&reference.key)
            .cloned()
            .ok_or_else(|| SourceError::NoKey {
                field,
                name,
                key: reference.key.clone(),
                present: keys.0.keys().cloned().collect(),
                option: (self.given.claims != Claims::Mounted).then_some(option),
            })
    }

    fn claim(
        &self,
        claim: &ClaimPath,
        is_dir: bool,
        field: &str,
        option: &str,
    ) -> Result<Source, SourceError> {
        let path = inside(&claim.path).ok_or_else(|| SourceError::OutsideClaim {
            field: field.to_owned(),
            path: claim.path.clone(),
        });
        let folders = match &self.given.claims {
            Claims::Mounted => {
                return Ok(Source::Claim {
                    claim: claim.claim_name.clone(),
                    path: path?,
                    is_dir,
                });
            }
            Claims::Folders(folders) => folders,
        };
        let Some(folder) = folders.get(&claim.claim_name) else {
            return Err(SourceError::NoClaim {
                field: field.to_owned(),
                claim: claim.claim_name.clone(),
                option: option.to_owned(),
            });
        };
        Ok(on_disk(folder.join(path?), is_dir))
    }
}

fn on_disk(path: PathBuf, is_dir: bool) -> Source {
    if is_dir {
        Source::Folder(path)
    } else {
        Source::File(path)
    }
}

/// A path on a claim without what says nothing; `None` where it leaves the claim.
pub(crate) fn inside(path: &str) -> Option<String> {
    let mut names = Vec::new();
    for part in Path::new(path).components() {
        match part {
            Component::Normal(name) => names.push(name.to_str()?),
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::ParentDir => return None,
        }
    }
    Some(names.join("/"))
}

#[cfg(test)]
mod tests;
