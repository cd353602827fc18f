//! `-k FOLDER`: renders a kustomization. What people ship tasks with is done here (resources, generators, prefixes,
//! namespace, labels); a folder that uses more is passed to `kubectl kustomize` or `kustomize`.

mod generate;
mod transform;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;
use serde_json::{Map, Value};
use thiserror::Error;

use super::files::{FilesError, load_file};
use super::manifest::{self, Document, ParseError};

/// Kustomizations may lie in one another this deep.
const MAX_DEPTH: usize = 16;

/// A kustomization that cannot be rendered.
#[derive(Debug, Error)]
pub enum KustomizeError {
    /// The folder holds no kustomization.
    #[error("{folder} holds no kustomization.yaml: write one, or read its manifests with -f {folder}", folder = folder.display())]
    NoKustomization {
        /// The folder.
        folder: PathBuf,
    },
    /// The kustomization itself is not one.
    #[error("{file}: {message}", file = file.display())]
    Invalid {
        /// The file.
        file: PathBuf,
        /// What is wrong.
        message: String,
    },
    /// A field that is not rendered here, and no tool that renders it.
    #[error("{file}: {field} needs kustomize: install kubectl or kustomize, or render the folder elsewhere and pass the result with -f", file = file.display())]
    NeedsTool {
        /// The file.
        file: PathBuf,
        /// The field.
        field: String,
    },
    /// The tool failed.
    #[error("{tool} cannot render {folder}: {message}", folder = folder.display())]
    Tool {
        /// The tool.
        tool: String,
        /// The folder.
        folder: PathBuf,
        /// What it says.
        message: String,
    },
    /// A file outside of the kustomization's folder.
    #[error("{file}: {path} lies outside of the kustomization's folder: copy it into the folder", file = file.display())]
    Outside {
        /// The kustomization.
        file: PathBuf,
        /// The path that it names.
        path: String,
    },
    /// The operating system refuses.
    #[error("cannot read {path}: {source}", path = path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A resource cannot be read.
    #[error(transparent)]
    Files(#[from] FilesError),
    /// What a tool printed is no manifest.
    #[error(transparent)]
    Parse(#[from] ParseError),
}

/// The fields that are rendered here. Everything else lands in `other`.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Kustomization {
    resources: Vec<String>,
    config_map_generator: Vec<generate::Generator>,
    secret_generator: Vec<generate::Generator>,
    name_prefix: String,
    name_suffix: String,
    namespace: String,
    common_labels: BTreeMap<String, String>,
    common_annotations: BTreeMap<String, String>,
    labels: Vec<transform::Labels>,
    #[serde(flatten)]
    other: Map<String, Value>,
}

/// Fields that change nothing that a local run reads: hashes, order, and which fields are references.
const WITHOUT_EFFECT: [&str; 9] = [
    "apiVersion",
    "kind",
    "metadata",
    "generatorOptions",
    "sortOptions",
    "buildMetadata",
    "configurations",
    "crds",
    "openapi",
];

/// Renders the kustomization of `folder`.
pub fn render(folder: &Path) -> Result<Vec<Document>, KustomizeError> {
    match render_here(folder, 0)? {
        Rendered::Documents(documents) => Ok(documents),
        Rendered::Beyond { file, field } => render_with_tool(folder, file, field),
    }
}

enum Rendered {
    Documents(Vec<Document>),
    Beyond { file: PathBuf, field: String },
}

fn render_here(folder: &Path, depth: usize) -> Result<Rendered, KustomizeError> {
    let file = kustomization_file(folder)?;
    if depth > MAX_DEPTH {
        let message = format!("is more than {MAX_DEPTH} kustomizations deep: does one name itself?");
        return Err(KustomizeError::Invalid { file, message });
    }
    let kustomization = read(&file)?;
    // Only decides, before any resource is read.
    if let Some(field) = beyond(&kustomization) {
        return Ok(Rendered::Beyond { file, field });
    }
    let mut documents = Vec::new();
    for resource in &kustomization.resources {
        let path = folder.join(resource);
        if path.is_dir() {
            match render_here(&path, depth + 1)? {
                Rendered::Documents(found) => documents.extend(found),
                beyond @ Rendered::Beyond { .. } => return Ok(beyond),
            }
        } else {
            documents.extend(load_file(&inside(&file, folder, resource)?)?);
        }
    }
    for (kind, generators) in [
        ("ConfigMap", &kustomization.config_map_generator),
        ("Secret", &kustomization.secret_generator),
    ] {
        for (index, generator) in generators.iter().enumerate() {
            documents.push(generate::object(kind, generator, index, &file, folder)?);
        }
    }
    // After the folders below, whose names get this prefix beside their own.
    transform::apply(&kustomization, &mut documents);
    Ok(Rendered::Documents(documents))
}

fn kustomization_file(folder: &Path) -> Result<PathBuf, KustomizeError> {
    ["kustomization.yaml", "kustomization.yml", "Kustomization"]
        .iter()
        .map(|name| folder.join(name))
        .find(|path| path.is_file())
        .ok_or_else(|| KustomizeError::NoKustomization {
            folder: folder.to_owned(),
        })
}

fn read(file: &Path) -> Result<Kustomization, KustomizeError> {
    let mut documents = load_file(file)?;
    let invalid = |message: String| KustomizeError::Invalid {
        file: file.to_owned(),
        message,
    };
    match (documents.pop(), documents.is_empty()) {
        (Some(document), true) => {
            serde_json::from_value(document.value).map_err(|error| invalid(error.to_string()))
        }
        (None, _) => Ok(Kustomization::default()),
        (Some(_), false) => Err(invalid("holds more than one document: keep one".to_owned())),
    }
}

/// The first field that needs the real tool.
fn beyond(kustomization: &Kustomization) -> Option<String> {
    if let Some(field) = kustomization
        .other
        .keys()
        .find(|field| !WITHOUT_EFFECT.contains(&field.as_str()))
    {
        return Some(field.clone());
    }
    let is_remote = |resource: &&String| resource.contains("://") || resource.starts_with("github.com/");
    if let Some(resource) = kustomization.resources.iter().find(is_remote) {
        return Some(format!("the remote resource {resource}"));
    }
    for (field, generators) in [
        ("configMapGenerator", &kustomization.config_map_generator),
        ("secretGenerator", &kustomization.secret_generator),
    ] {
        if let Some(beyond) = generators.iter().find_map(generate::Generator::beyond) {
            return Some(format!("{field}.{beyond}"));
        }
    }
    None
}

/// The path of a file that must lie in the kustomization's folder: a manifest of somebody else could otherwise send any
/// file of the user to a model.
fn inside(file: &Path, folder: &Path, path: &str) -> Result<PathBuf, KustomizeError> {
    let canonical = |path: &Path| {
        fs::canonicalize(path).map_err(|source| KustomizeError::Io {
            path: path.to_owned(),
            source,
        })
    };
    let joined = folder.join(path);
    if canonical(&joined)?.starts_with(canonical(folder)?) {
        return Ok(joined);
    }
    Err(KustomizeError::Outside {
        file: file.to_owned(),
        path: path.to_owned(),
    })
}

fn render_with_tool(folder: &Path, file: PathBuf, field: String) -> Result<Vec<Document>, KustomizeError> {
    for (tool, arguments) in [("kustomize", "build"), ("kubectl", "kustomize")] {
        let output = match Command::new(tool).arg(arguments).arg(folder).output() {
            Ok(output) => output,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(source) => {
                return Err(KustomizeError::Io {
                    path: PathBuf::from(tool),
                    source,
                });
            }
        };
        if output.status.success() {
            let name = format!("{} by {tool}", folder.display());
            return Ok(manifest::parse(&name, &String::from_utf8_lossy(&output.stdout))?);
        }
        let message = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(KustomizeError::Tool {
            tool: tool.to_owned(),
            folder: folder.to_owned(),
            message,
        });
    }
    Err(KustomizeError::NeedsTool { file, field })
}

#[cfg(test)]
mod tests;
