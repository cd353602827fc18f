//! Documents to objects: tasks, agents, questions, `ConfigMap`s and `Secret`s by namespace and name.

use std::collections::BTreeMap;
use std::fmt;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use thiserror::Error;

use super::manifest::{DocumentOrigin, ManifestDocument};
use codegen_api::validate::{self, Manifest};
use codegen_api::{CodeGenAgent, CodeGenTask, CodeModeAgent, CodeModeRun, GROUP, VERSION};
use codegen_sources::{ObjectData, ObjectKey};

/// Fault of one field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectFault {
    /// The document that it stands in.
    pub origin: DocumentOrigin,
    /// The field (`spec.samples[0].url`), empty for the whole document.
    pub path: String,
    /// Description of the fault, and of what to write instead.
    pub message: String,
}

impl fmt::Display for ObjectFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.as_str() {
            "" => write!(f, "{}: {}", self.origin, self.message),
            path => write!(f, "{} {path}: {}", self.origin, self.message),
        }
    }
}

/// Manifests with faults: all of them, one a line.
#[derive(Debug, Error, PartialEq)]
#[error("{}", .0.iter().map(ObjectFault::to_string).collect::<Vec<_>>().join("\n"))]
pub struct ManifestFaults(pub Vec<ObjectFault>);

/// Everything that the manifests hold.
#[derive(Clone, Debug, Default)]
pub struct Objects {
    /// Tasks in the order of the documents.
    pub tasks: Vec<CodeGenTask>,
    /// Agents.
    pub agents: BTreeMap<ObjectKey, CodeGenAgent>,
    /// Agents of code mode.
    pub code_mode_agents: BTreeMap<ObjectKey, CodeModeAgent>,
    /// Questions to them, in the order of the documents.
    pub code_mode_runs: Vec<CodeModeRun>,
    /// `ConfigMap`s.
    pub config_maps: BTreeMap<ObjectKey, ObjectData>,
    /// Secrets.
    pub secrets: BTreeMap<ObjectKey, ObjectData>,
    /// Metadata and type of each, without values, as their owners wrote them.
    pub secret_labels: BTreeMap<ObjectKey, Secret>,
    /// One sentence for each document that no local run uses.
    pub notices: Vec<String>,
}

/// A task that cannot be picked.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum PickError {
    /// There is no task.
    #[error(
        "the manifests hold no CodeGenTask: write one with apiVersion {GROUP}/{VERSION} and kind CodeGenTask"
    )]
    NoTask,
    /// There is none of that name.
    #[error("the manifests hold no CodeGenTask named {name}: there is {}", .present.join(", "))]
    NoSuchTask {
        /// The name asked for.
        name: String,
        /// The names that there are.
        present: Vec<String>,
    },
}

impl Objects {
    /// Sorts documents by kind. Finds every fault of every document before it gives up.
    pub fn collect(documents: Vec<ManifestDocument>) -> Result<Self, ManifestFaults> {
        let mut objects = Self::default();
        let mut faults = Vec::new();
        let mut seen: BTreeMap<(String, ObjectKey), DocumentOrigin> = BTreeMap::new();
        for document in documents {
            let origin = &document.origin;
            let read = document.notices.iter();
            objects
                .notices
                .extend(read.map(|notice| format!("{origin}: {notice}")));
            let Some(kind) = used_kind(&document) else {
                match unused(&document) {
                    Ok(notice) => objects.notices.push(notice),
                    Err(fault) => faults.push(fault),
                }
                continue;
            };
            let key = match key_of(&document, kind) {
                Ok(key) => key,
                Err(fault) => {
                    faults.push(fault);
                    continue;
                }
            };
            if let Some(first) = seen.insert((kind.to_owned(), key.clone()), document.origin.clone()) {
                let message = format!(
                    "{kind} {} in namespace {} stands already at {first}: remove one or rename it",
                    key.1, key.0
                );
                faults.push(whole(&document, message));
                continue;
            }
            if let Err(found) = objects.add(kind, key, &document) {
                faults.extend(found);
            }
        }
        if faults.is_empty() {
            Ok(objects)
        } else {
            Err(ManifestFaults(faults))
        }
    }

    fn add(
        &mut self,
        kind: &str,
        key: ObjectKey,
        document: &ManifestDocument,
    ) -> Result<(), Vec<ObjectFault>> {
        match kind {
            "CodeGenTask" => {
                if let Manifest::Task(mut task) = understand(document)? {
                    task.metadata = of_the_user(task.metadata, key.0);
                    task.status = None;
                    self.tasks.push(*task);
                }
            }
            "CodeGenAgent" => {
                if let Manifest::Agent(mut agent) = understand(document)? {
                    agent.metadata = of_the_user(agent.metadata, key.0.clone());
                    self.agents.insert(key, *agent);
                }
            }
            "CodeModeAgent" => {
                if let Manifest::CodeModeAgent(mut agent) = understand(document)? {
                    agent.metadata = of_the_user(agent.metadata, key.0.clone());
                    agent.status = None;
                    self.code_mode_agents.insert(key, *agent);
                }
            }
            "CodeModeRun" => {
                if let Manifest::CodeModeRun(mut run) = understand(document)? {
                    run.metadata = of_the_user(run.metadata, key.0);
                    run.status = None;
                    self.code_mode_runs.push(*run);
                }
            }
            "ConfigMap" => {
                self.config_maps
                    .insert(key, keys(document, ("data", "binaryData"))?);
            }
            _ => {
                self.secrets
                    .insert(key.clone(), keys(document, ("stringData", "data"))?);
                self.secret_labels.insert(key, labels(document));
            }
        }
        Ok(())
    }

    /// The tasks to run: the one named, or all in the order of the documents.
    pub fn pick(&self, name: Option<&str>) -> Result<Vec<&CodeGenTask>, PickError> {
        if self.tasks.is_empty() {
            return Err(PickError::NoTask);
        }
        let name_of = |task: &CodeGenTask| task.metadata.name.clone().unwrap_or_default();
        let Some(name) = name else {
            return Ok(self.tasks.iter().collect());
        };
        let found: Vec<_> = self.tasks.iter().filter(|task| name_of(task) == name).collect();
        if found.is_empty() {
            let present = self.tasks.iter().map(name_of).collect();
            return Err(PickError::NoSuchTask {
                name: name.to_owned(),
                present,
            });
        }
        Ok(found)
    }
}

fn used_kind(document: &ManifestDocument) -> Option<&'static str> {
    let ours = document.api_version().split('/').next() == Some(GROUP);
    match document.kind() {
        "CodeGenTask" if ours => Some("CodeGenTask"),
        "CodeGenAgent" if ours => Some("CodeGenAgent"),
        "CodeModeAgent" if ours => Some("CodeModeAgent"),
        "CodeModeRun" if ours => Some("CodeModeRun"),
        "ConfigMap" if document.api_version() == "v1" => Some("ConfigMap"),
        "Secret" if document.api_version() == "v1" => Some("Secret"),
        _ => None,
    }
}

/// Returns what is said of a document that a local run does not use: a sentence, or the fault for which no cluster takes it either.
fn unused(document: &ManifestDocument) -> Result<String, ObjectFault> {
    let origin = &document.origin;
    let fault = |path: &str, message: String| ObjectFault {
        origin: origin.clone(),
        path: path.to_owned(),
        message,
    };
    let (kind, version) = (document.kind(), document.api_version());
    let (group, _) = version.split_once('/').unwrap_or(("", version));
    let wrong_version = |right: &str| format!("{kind} has no version {version:?}: write {right}");
    // It may leave out its kind, as kustomize lets it.
    let is_kustomization = kind == "Kustomization" || kind.is_empty() && is_kustomization_file(&origin.file);
    match kind {
        _ if is_kustomization => Ok(format!(
            "{origin}: Kustomization is ignored by -f: render its folder with -k"
        )),
        "" => {
            let message = "Required value: say what the document is, like kind: CodeGenTask".to_owned();
            Err(fault("kind", message))
        }
        "CodeGenTask" | "CodeGenAgent" | "CodeModeAgent" | "CodeModeRun" => {
            Err(fault("apiVersion", wrong_version(&format!("{GROUP}/{VERSION}"))))
        }
        "ConfigMap" | "Secret" => Err(fault("apiVersion", wrong_version("v1"))),
        _ if version.is_empty() => {
            let message = format!("Required value: say which version of {kind} it is, like v1");
            Err(fault("apiVersion", message))
        }
        "CodeGenRun" | "CodeGenApproval" if group == GROUP => Ok(format!(
            "{origin}: {kind} is ignored, a local run does not use it"
        )),
        _ if group == GROUP => Err(fault("kind", validate::unknown_kind(kind))),
        _ => Ok(format!(
            "{origin}: {kind} is ignored, a local run does not use it"
        )),
    }
}

fn is_kustomization_file(file: &str) -> bool {
    let name = file.rsplit('/').next().unwrap_or_default();
    matches!(name, "kustomization.yaml" | "kustomization.yml")
}

fn key_of(document: &ManifestDocument, kind: &str) -> Result<ObjectKey, ObjectFault> {
    let name_fault = |message: String| ObjectFault {
        origin: document.origin.clone(),
        path: "metadata.name".to_owned(),
        message,
    };
    if let Some(name) = document.name() {
        // Of our own kinds it is said with everything else that is wrong.
        let refused = match kind {
            "ConfigMap" | "Secret" => validate::name_fault(name),
            _ => None,
        };
        return match refused {
            Some(message) => Err(name_fault(message)),
            None => Ok((document.namespace().to_owned(), name.to_owned())),
        };
    }
    let metadata = &document.value["metadata"];
    Err(name_fault(if metadata["generateName"].is_string() {
        format!("a local run gives no names: write metadata.name of the {kind} instead of generateName")
    } else if metadata["name"].is_number() || metadata["name"].is_boolean() {
        "Invalid value: a name is a text: write it in quotes, as it stands in the file".to_owned()
    } else {
        format!("the {kind} has no name: write metadata: {{name: my-name}}")
    }))
}

/// The metadata that the writer of a manifest has given an object. What a cluster has added says nothing here, and annotations of ours ask the operator for
/// something that a command line says here.
fn of_the_user(metadata: ObjectMeta, namespace: String) -> ObjectMeta {
    let is_theirs = |key: &String| key.split('/').next() != Some(GROUP);
    let annotations = metadata.annotations.map(|annotations| {
        let theirs = annotations.into_iter().filter(|(key, _)| is_theirs(key));
        theirs.collect()
    });
    ObjectMeta {
        name: metadata.name,
        // A manifest without one means `default`.
        namespace: Some(namespace),
        labels: metadata.labels,
        annotations,
        ..ObjectMeta::default()
    }
}

/// Reads one of our own kinds as an API server would.
fn understand(document: &ManifestDocument) -> Result<Manifest, Vec<ObjectFault>> {
    validate::manifest(&document.value).map_err(|faults| at(document, faults))
}

fn refused(document: &ManifestDocument, faults: Vec<validate::SpecFault>) -> Result<(), Vec<ObjectFault>> {
    if faults.is_empty() {
        return Ok(());
    }
    Err(at(document, faults))
}

/// Faults with the place of their document.
fn at(document: &ManifestDocument, faults: Vec<validate::SpecFault>) -> Vec<ObjectFault> {
    let here = |fault: validate::SpecFault| ObjectFault {
        origin: document.origin.clone(),
        path: fault.path,
        message: fault.message,
    };
    faults.into_iter().map(here).collect()
}

fn whole(document: &ManifestDocument, message: String) -> ObjectFault {
    ObjectFault {
        origin: document.origin.clone(),
        path: String::new(),
        message,
    }
}

/// The keys of a ConfigMap or Secret; those of the text field win, as in an API server.
fn keys(document: &ManifestDocument, (first, second): (&str, &str)) -> Result<ObjectData, Vec<ObjectFault>> {
    refused(document, validate::data_object(&document.value))?;
    let mut keys = BTreeMap::new();
    let mut faults = Vec::new();
    // `data` of a Secret and `binaryData` are base64, `data` of a ConfigMap and `stringData` are text.
    for (field, is_text) in [(second, false), (first, true)] {
        for (key, value) in document.value[field].as_object().into_iter().flatten() {
            let decoded = if is_key(key) {
                // As an API server reads it, null is an empty text.
                decode(value.as_str().unwrap_or_default(), is_text)
            } else {
                Err("write a key in letters, digits, ., _ and -, like penguins.csv")
            };
            match decoded {
                Ok(bytes) => {
                    keys.insert(key.clone(), bytes);
                }
                Err(message) => faults.push(validate::SpecFault {
                    path: format!("{field}[{key}]"),
                    message: message.to_owned(),
                }),
            }
        }
    }
    refused(document, faults)?;
    Ok(ObjectData(keys))
}

/// Metadata and type of a Secret that was found to be one.
fn labels(document: &ManifestDocument) -> Secret {
    let metadata = serde_json::from_value(document.value["metadata"].clone());
    let mut secret = Secret {
        metadata: metadata.unwrap_or_default(),
        type_: document.value["type"].as_str().map(str::to_owned),
        ..Secret::default()
    };
    // A manifest without one means `default`.
    secret.metadata.namespace = Some(document.namespace().to_owned());
    secret
}

/// Reports whether an API server takes a key.
fn is_key(key: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    (1..=253).contains(&key.len()) && key.bytes().all(plain) && key != "." && !key.starts_with("..")
}

fn decode(text: &str, is_text: bool) -> Result<Vec<u8>, &'static str> {
    if is_text {
        return Ok(text.as_bytes().to_vec());
    }
    // Base64 in YAML may be wrapped, and the API server ignores line breaks in it.
    let packed = text.replace(['\r', '\n'], "");
    STANDARD.decode(packed).map_err(|_| "is not base64: encode it with `base64 -w0`, or write plain text under stringData (Secret) or data (ConfigMap)")
}

#[cfg(test)]
mod tests;
