//! Reading of what the command line names: files with their places in the folder, and the model.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::error::DraftError;
use super::{DataFile, DraftInput, FilePlace, KUSTOMIZATION, TASK, names};
use crate::local::execute::check_acceptance_tests;
use crate::local::options::ModelOverrides;
use codegen_api::common::{ClaimPath, ConfigMapKeyRef, SecretKeyRef};
use codegen_api::model::{Model, Provider};
use codegen_api::values::{AcceptanceTests, Input, InputSource, Sample, ValueType};
use codegen_sources::{GivenFiles, sample_names, usable};

/// The option of acceptance tests.
const ACCEPT: &str = "--accept";
/// Most bytes of a ConfigMap's values: what an API server takes.
const LARGEST_CONFIG_MAP: u64 = 1024 * 1024;

/// Reads files, with names of their own for each.
pub(super) struct Reader<'a> {
    /// Prefix of the names of `ConfigMap`s.
    prefix: &'a str,
    file_names: BTreeSet<String>,
    config_maps: BTreeSet<String>,
    /// Files that were read.
    pub files: Vec<DataFile>,
    /// Files of the claim as they lie now.
    pub given: GivenFiles,
    /// Errors that were found.
    pub errors: Vec<DraftError>,
}

impl<'a> Reader<'a> {
    pub fn new(prefix: &'a str) -> Self {
        let reserved = [TASK, KUSTOMIZATION, "kustomization.yml", "kustomization"];
        Self {
            prefix,
            file_names: reserved.map(str::to_owned).into(),
            config_maps: BTreeSet::new(),
            files: Vec::new(),
            given: GivenFiles::default(),
            errors: Vec::new(),
        }
    }

    pub fn samples(&mut self, given: &[PathBuf]) -> Vec<Sample> {
        let given: Vec<(Option<String>, PathBuf)> = given.iter().map(|path| name_and_file(path)).collect();
        // Names that are given go before those that are made.
        let names = given.iter().filter_map(|(name, _)| name.as_ref());
        let mut taken: BTreeSet<String> = names.map(|name| name.to_ascii_lowercase()).collect();
        let mut samples = Vec::new();
        for (name, path) in given {
            let name = name.unwrap_or_else(|| {
                let made = sample_names(std::slice::from_ref(&path))
                    .pop()
                    .unwrap_or_default();
                names::free(&made, "_", &mut taken)
            });
            let mut sample = Sample {
                name: name.clone(),
                ..Sample::default()
            };
            if let Some(file) = self.file("--sample", &path, &name, format!("sample {name}")) {
                sample.config_map_key_ref = file.key();
                sample.persistent_volume_claim = file.claim();
            }
            if sample.persistent_volume_claim.is_some() {
                self.given.samples.insert(name, path);
            }
            samples.push(sample);
        }
        samples
    }

    pub fn input(&mut self, given: &DraftInput) -> Input {
        let mut input = Input {
            name: given.name.clone(),
            type_: given.type_,
            default: None,
            example: None,
            description: None,
            source: None,
        };
        match (given.type_, &given.value) {
            (_, None) => {}
            (ValueType::File, Some(path)) => {
                // As `run` has it: the @ says that a file is meant.
                let path = Path::new(path.strip_prefix('@').unwrap_or(path));
                let what = format!("input {}", given.name);
                let mut source = InputSource::default();
                if let Some(file) = self.file("--input", path, &given.name, what) {
                    source.config_map_key_ref = file.key();
                    source.persistent_volume_claim = file.claim();
                }
                if source.persistent_volume_claim.is_some() {
                    self.given.inputs.insert(given.name.clone(), path.to_owned());
                }
                input.source = Some(source);
            }
            (_, Some(value)) => input.default = Some(value.clone()),
        }
        input
    }

    pub fn acceptance_tests(&mut self, path: &Path) -> AcceptanceTests {
        let what = "your acceptance tests".to_owned();
        let file = self.file(ACCEPT, path, "acceptance", what);
        let config_map_key_ref = file.and_then(DataFile::key);
        if let Some(FilePlace::ConfigMap { bytes, .. }) = file.map(|file| &file.place) {
            let path = path.to_owned();
            let checked = match std::str::from_utf8(bytes) {
                Err(_) => Err(DraftError::NotText { path }),
                Ok(text) => {
                    check_acceptance_tests(text).map_err(|why| DraftError::AcceptanceTests { path, why })
                }
            };
            self.errors.extend(checked.err());
        }
        AcceptanceTests {
            config_map_key_ref,
            ..AcceptanceTests::default()
        }
    }

    /// Takes a file into the folder. What cannot be had is an error, and refers to nothing.
    fn file(&mut self, option: &'static str, path: &Path, name: &str, what: String) -> Option<&DataFile> {
        let content = match read(option, path) {
            Ok(content) => content,
            Err(error) => {
                self.errors.push(error);
                return None;
            }
        };
        let found = path.file_name().unwrap_or_default().to_string_lossy();
        let file_name = self.file_name(&usable(&found, name), name);
        let place = match content {
            Some(bytes) => FilePlace::ConfigMap {
                name: names::config_map(self.prefix, name, &mut self.config_maps),
                bytes,
            },
            None => FilePlace::Claim {
                name: format!("{}-data", self.prefix),
                source: path.to_owned(),
            },
        };
        self.files.push(DataFile {
            what,
            file_name,
            place,
        });
        self.files.last()
    }

    /// The name of a file in the folder: its own, else that of the sample with the same ending.
    fn file_name(&mut self, found: &str, name: &str) -> String {
        let ending = found.rfind('.').map_or("", |dot| &found[dot..]);
        let numbered = (2_u32..).map(|number| format!("{name}_{number}{ending}"));
        let own = [found.to_owned(), format!("{name}{ending}")];
        let mut candidates = own.into_iter().chain(numbered);
        candidates
            .find(|name| self.file_names.insert(name.to_ascii_lowercase()))
            .unwrap_or_default()
    }

    pub fn model(&mut self, given: &ModelOverrides) -> Model {
        let provider = given.provider.unwrap_or_default();
        if let Some(address) = &given.base_url {
            if given.name.is_none() {
                self.errors.push(DraftError::NoModel);
            }
            let is_plain = reqwest::Url::parse(address).is_ok_and(|url| {
                url.username().is_empty() && url.password().is_none() && url.query().is_none()
            });
            if !is_plain {
                self.errors.push(DraftError::SecretAddress);
            }
        }
        // Servers of one's own need no key, unless one is named.
        let has_key = given.base_url.is_none() || given.key_variable.is_some();
        let (name, secret) = match provider {
            Provider::OpenAI => ("gpt-5", "openai"),
            Provider::Anthropic => ("claude-sonnet-5", "anthropic"),
        };
        Model {
            provider: Some(provider),
            name: Some(given.name.clone().unwrap_or_else(|| name.to_owned())),
            base_url: given.base_url.clone(),
            api_key_secret_ref: has_key.then(|| SecretKeyRef {
                name: secret.to_owned(),
                key: "api-key".to_owned(),
            }),
            ..Model::default()
        }
    }
}

/// `NAME=FILE` or `FILE`; a file may have an `=` in its name.
fn name_and_file(given: &Path) -> (Option<String>, PathBuf) {
    let bytes = given.as_os_str().as_bytes();
    let divided = bytes.iter().position(|byte| *byte == b'=').and_then(|at| {
        let (name, file) = (std::str::from_utf8(&bytes[..at]).ok()?, &bytes[at + 1..]);
        (!name.contains('/') && !name.is_empty())
            .then(|| (name.to_owned(), PathBuf::from(OsStr::from_bytes(file))))
    });
    match divided {
        Some((name, file)) if !given.exists() => (Some(name), file),
        _ => (None, given.to_owned()),
    }
}

impl DataFile {
    /// Reference of the task to a file in a `ConfigMap`.
    fn key(&self) -> Option<ConfigMapKeyRef> {
        match &self.place {
            FilePlace::ConfigMap { name, .. } => Some(ConfigMapKeyRef {
                name: name.clone(),
                key: self.file_name.clone(),
            }),
            FilePlace::Claim { .. } => None,
        }
    }

    /// Reference of the task to a file on its claim.
    fn claim(&self) -> Option<ClaimPath> {
        match &self.place {
            FilePlace::Claim { name, .. } => Some(ClaimPath {
                claim_name: name.clone(),
                path: self.file_name.clone(),
            }),
            FilePlace::ConfigMap { .. } => None,
        }
    }
}

/// The content of a file, pipe or device; `None` of a file that can be copied and is more than a ConfigMap can hold.
fn read(option: &'static str, path: &Path) -> Result<Option<Vec<u8>>, DraftError> {
    let path_of = || path.to_owned();
    let unreadable = |source: io::Error| DraftError::Read {
        option,
        path: path_of(),
        source,
    };
    let metadata = fs::metadata(path).map_err(unreadable)?;
    if metadata.is_dir() {
        return Err(DraftError::Folder {
            option,
            path: path_of(),
        });
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(unreadable)?;
    // One byte more shows that there is more. A device may have no end.
    file.take(LARGEST_CONFIG_MAP + 1)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    if bytes.is_empty() {
        return Err(DraftError::Empty {
            option,
            path: path_of(),
        });
    }
    if bytes.len() as u64 <= LARGEST_CONFIG_MAP {
        return Ok(Some(bytes));
    }
    let remedy = if option == ACCEPT {
        "give fewer tests, or less data in them"
    } else if metadata.is_file() {
        return Ok(None);
    } else {
        "save it to a file and give that"
    };
    Err(DraftError::TooLarge {
        option,
        path: path_of(),
        remedy,
    })
}
