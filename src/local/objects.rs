//! Documents to objects: tasks, agents, `ConfigMap`s and `Secret`s by namespace and name.

use std::collections::BTreeMap;
use std::fmt;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::Value;
use thiserror::Error;

use super::manifest::{Document, Origin};
use crate::api::validate::{self, Manifest};
use crate::api::{CodeGenAgent, CodeGenTask, GROUP, VERSION};
use crate::sources::{Keys, ObjectKey};

/// What is wrong with one field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The document that it stands in.
    pub origin: Origin,
    /// The field (`spec.samples[0].url`), empty for the whole document.
    pub path: String,
    /// What is wrong, and what to write instead.
    pub message: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.as_str() {
            "" => write!(f, "{}: {}", self.origin, self.message),
            path => write!(f, "{} {path}: {}", self.origin, self.message),
        }
    }
}

/// Manifests with faults: all of them, one a line.
#[derive(Debug, Error, PartialEq)]
#[error("{}", .0.iter().map(Fault::to_string).collect::<Vec<_>>().join("\n"))]
pub struct Faults(pub Vec<Fault>);

/// Everything that the manifests hold.
#[derive(Clone, Debug, Default)]
pub struct Objects {
    /// Tasks in the order of the documents.
    pub tasks: Vec<CodeGenTask>,
    /// Agents.
    pub agents: BTreeMap<ObjectKey, CodeGenAgent>,
    /// `ConfigMap`s.
    pub config_maps: BTreeMap<ObjectKey, Keys>,
    /// Secrets.
    pub secrets: BTreeMap<ObjectKey, Keys>,
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
    pub fn collect(documents: Vec<Document>) -> Result<Self, Faults> {
        let mut objects = Self::default();
        let mut faults = Vec::new();
        let mut seen: BTreeMap<(String, ObjectKey), Origin> = BTreeMap::new();
        for document in documents {
            let Some(kind) = used_kind(&document) else {
                objects.notices.push(notice(&document));
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
            Err(Faults(faults))
        }
    }

    fn add(&mut self, kind: &str, key: ObjectKey, document: &Document) -> Result<(), Vec<Fault>> {
        match kind {
            "CodeGenTask" => {
                if let Manifest::Task(mut task) = understand(document)? {
                    // A manifest without one means `default`.
                    task.metadata.namespace = Some(key.0);
                    self.tasks.push(*task);
                }
            }
            "CodeGenAgent" => {
                if let Manifest::Agent(agent) = understand(document)? {
                    self.agents.insert(key, *agent);
                }
            }
            "ConfigMap" => {
                self.config_maps
                    .insert(key, keys(document, ("data", "binaryData"))?);
            }
            _ => {
                self.secrets.insert(key, keys(document, ("stringData", "data"))?);
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

fn used_kind(document: &Document) -> Option<&'static str> {
    let ours = document.api_version().split('/').next() == Some(GROUP);
    match document.kind() {
        "CodeGenTask" if ours => Some("CodeGenTask"),
        "CodeGenAgent" if ours => Some("CodeGenAgent"),
        "ConfigMap" if document.api_version() == "v1" => Some("ConfigMap"),
        "Secret" if document.api_version() == "v1" => Some("Secret"),
        _ => None,
    }
}

fn notice(document: &Document) -> String {
    let origin = &document.origin;
    match (document.kind(), document.api_version()) {
        ("", _) => format!("{origin}: has no kind, so it is ignored"),
        ("Kustomization", _) => {
            format!("{origin}: Kustomization is ignored by -f: render its folder with -k")
        }
        (kind @ ("CodeGenTask" | "CodeGenAgent"), version) => {
            format!("{origin}: {kind} of {version:?} is ignored: write apiVersion: {GROUP}/{VERSION}")
        }
        (kind @ ("ConfigMap" | "Secret"), version) => {
            format!("{origin}: {kind} of {version:?} is ignored: write apiVersion: v1")
        }
        (kind, _) => format!("{origin}: {kind} is ignored, a local run does not use it"),
    }
}

fn key_of(document: &Document, kind: &str) -> Result<ObjectKey, Fault> {
    if let Some(name) = document.name() {
        return Ok((document.namespace().to_owned(), name.to_owned()));
    }
    let metadata = &document.value["metadata"];
    let message = if metadata["generateName"].is_string() {
        format!("a local run gives no names: write metadata.name of the {kind} instead of generateName")
    } else {
        format!("the {kind} has no name: write metadata: {{name: my-name}}")
    };
    Err(Fault {
        origin: document.origin.clone(),
        path: "metadata.name".to_owned(),
        message,
    })
}

/// Reads one of our own kinds as an API server would.
fn understand(document: &Document) -> Result<Manifest, Vec<Fault>> {
    validate::manifest(&document.value).map_err(|faults| {
        let here = |fault: validate::Fault| Fault {
            origin: document.origin.clone(),
            path: fault.path,
            message: fault.message,
        };
        faults.into_iter().map(here).collect()
    })
}

fn whole(document: &Document, message: String) -> Fault {
    Fault {
        origin: document.origin.clone(),
        path: String::new(),
        message,
    }
}

/// The keys of a ConfigMap or Secret; those of the text field win, as in an API server.
fn keys(document: &Document, (first, second): (&str, &str)) -> Result<Keys, Vec<Fault>> {
    let mut keys = BTreeMap::new();
    let mut faults = Vec::new();
    // `data` of a Secret and `binaryData` are base64, `data` of a ConfigMap and `stringData` are text.
    for (field, is_text) in [(second, false), (first, true)] {
        let entries = match &document.value[field] {
            Value::Null => continue,
            Value::Object(entries) => entries,
            _ => {
                let message = "must be keys with a text each".to_owned();
                faults.push(Fault {
                    origin: document.origin.clone(),
                    path: field.to_owned(),
                    message,
                });
                continue;
            }
        };
        for (key, value) in entries {
            match decode(value, is_text) {
                Ok(bytes) => {
                    keys.insert(key.clone(), bytes);
                }
                Err(message) => faults.push(Fault {
                    origin: document.origin.clone(),
                    path: format!("{field}[{key}]"),
                    message: message.to_owned(),
                }),
            }
        }
    }
    if faults.is_empty() {
        Ok(Keys(keys))
    } else {
        Err(faults)
    }
}

fn decode(value: &Value, is_text: bool) -> Result<Vec<u8>, &'static str> {
    let Some(text) = value.as_str() else {
        return Err("must be a text: put the value in quotes");
    };
    if is_text {
        return Ok(text.as_bytes().to_vec());
    }
    // Base64 in YAML may be wrapped, and the API server ignores line breaks in it.
    let packed: String = text.split_ascii_whitespace().collect();
    STANDARD.decode(packed).map_err(|_| "is not base64: encode it with `base64 -w0`, or write plain text under stringData (Secret) or data (ConfigMap)")
}

#[cfg(test)]
mod tests {
    use super::super::manifest::parse;
    use super::*;

    fn collect(text: &str) -> Result<Objects, Faults> {
        Objects::collect(parse("a.yaml", text).unwrap())
    }

    const TASK: &str = "apiVersion: codegen-operator.dev/v1alpha1\nkind: CodeGenTask\nmetadata: {name: sum}\nspec: {prompt: add, model: {name: m}}\n";

    fn key(name: &str) -> ObjectKey {
        ("default".to_owned(), name.to_owned())
    }

    #[test]
    fn a_secret_gives_text_and_base64_and_text_wins() {
        let objects = collect(
            "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: {a: eA==, b: eQ==}\nstringData: {b: z}\n",
        )
        .unwrap();
        let keys = &objects.secrets[&key("s")].0;
        assert_eq!((&keys["a"][..], &keys["b"][..]), (&b"x"[..], &b"z"[..]));
    }

    #[test]
    fn a_config_map_gives_text_and_bytes() {
        let objects = collect(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {t: x}\nbinaryData: {b: AP8=}\n",
        )
        .unwrap();
        let keys = &objects.config_maps[&key("c")].0;
        assert_eq!((&keys["t"][..], &keys["b"][..]), (&b"x"[..], &[0, 255][..]));
    }

    #[test]
    fn data_that_is_no_base64_is_named_without_its_value() {
        let error = collect("apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: {a: hunter2!}\n")
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("a.yaml (document 1) data[a]: is not base64"),
            "{error}"
        );
        assert!(!error.contains("hunter2"), "{error}");
    }

    #[test]
    fn a_task_without_a_namespace_lies_in_default() {
        assert_eq!(
            collect(TASK).unwrap().tasks[0].metadata.namespace.as_deref(),
            Some("default")
        );
    }

    #[test]
    fn every_fault_of_every_document_is_reported() {
        let error = collect(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {}\n---\napiVersion: codegen-operator.dev/v1alpha1\nkind: CodeGenTask\nmetadata: {generateName: x-}\nspec: {prompt: p}\n",
        )
        .unwrap_err()
        .to_string();
        assert_eq!(
            error,
            "a.yaml (document 1) metadata.name: the ConfigMap has no name: write metadata: {name: my-name}\n\
             a.yaml (document 2) metadata.name: a local run gives no names: write metadata.name of the CodeGenTask instead of generateName"
        );
    }

    #[test]
    fn a_fault_of_a_task_names_document_and_field() {
        let error = collect(&TASK.replace("prompt:", "promt: x, prompt:"))
            .unwrap_err()
            .to_string();
        assert!(error.starts_with("a.yaml (document 1) spec.promt: "), "{error}");
    }

    #[test]
    fn an_object_that_stands_twice_names_both_places() {
        let error = collect(&format!("{TASK}---\n{TASK}")).unwrap_err().to_string();
        assert!(
            error.contains("(document 2)") && error.contains("already at a.yaml (document 1)"),
            "{error}"
        );
    }

    #[test]
    fn each_unused_document_is_reported_in_one_line() {
        let objects = collect(
            "apiVersion: v1\nkind: Service\nmetadata: {name: x}\n---\napiVersion: v2\nkind: CodeGenTask\n",
        )
        .unwrap();
        assert_eq!(
            objects.notices,
            [
                "a.yaml (document 1): Service is ignored, a local run does not use it",
                "a.yaml (document 2): CodeGenTask of \"v2\" is ignored: write apiVersion: codegen-operator.dev/v1alpha1",
            ]
        );
    }

    #[test]
    fn one_task_of_several_is_picked_by_name() {
        let objects = collect(&format!("{TASK}---\n{}", TASK.replace("sum", "mean"))).unwrap();
        assert_eq!(objects.pick(None).unwrap().len(), 2);
        assert_eq!(objects.pick(Some("mean")).unwrap().len(), 1);
        assert_eq!(
            objects.pick(Some("max")).unwrap_err().to_string(),
            "the manifests hold no CodeGenTask named max: there is sum, mean"
        );
        assert_eq!(Objects::default().pick(None).unwrap_err(), PickError::NoTask);
    }
}
