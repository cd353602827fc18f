//! `-k FOLDER`: renders a kustomization as `kubectl apply -k` does. What people ship tasks with is done here (resources, generators,
//! prefixes, namespace, labels, references that a configuration names); a folder that uses more is passed to `kubectl kustomize` or
//! `kustomize`.

mod file;
mod generate;
mod hash;
mod references;
mod resource;
mod tool;
mod transform;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use self::file::Kustomization;
use self::references::{NameReference, Unclear};
use self::resource::Resource;
use super::files::{FilesError, load_file_as};
use super::manifest::{ManifestDocument, ParseError, YamlDialect};

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
    /// A file where a folder is wanted.
    #[error("{path} is a file, and -k takes the folder of a kustomization: write -k {folder}", path = path.display(), folder = folder.display())]
    NotAFolder {
        /// The file.
        path: PathBuf,
        /// The folder that it lies in.
        folder: PathBuf,
    },
    /// The kustomization itself is not one.
    #[error("{file}: {message}", file = file.display())]
    Invalid {
        /// The file.
        file: PathBuf,
        /// Description of the fault.
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
        /// Message of the tool.
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
    /// A reference that may mean several objects.
    #[error("{folder}: {unclear}", folder = folder.display())]
    Unclear {
        /// The folder.
        folder: PathBuf,
        /// Reference that is unclear.
        unclear: Unclear,
    },
    /// The operating system refuses.
    #[error("cannot read {path}: {source}", path = path.display())]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// Cause of the failure.
        source: io::Error,
    },
    /// A resource cannot be read.
    #[error(transparent)]
    Files(#[from] FilesError),
    /// Output of a tool that is no manifest.
    #[error(transparent)]
    Parse(#[from] ParseError),
}

/// Renders the kustomization of `folder`.
pub fn render(folder: &Path) -> Result<Vec<ManifestDocument>, KustomizeError> {
    if folder.is_file() {
        let parent = folder.parent().filter(|parent| !parent.as_os_str().is_empty());
        return Err(KustomizeError::NotAFolder {
            path: folder.to_owned(),
            folder: parent.unwrap_or(Path::new(".")).to_owned(),
        });
    }
    match accumulate(folder, 0)? {
        Rendered::Here(accumulated) => {
            let documents = references::finish(accumulated.resources, &accumulated.references);
            documents.map_err(|unclear| KustomizeError::Unclear {
                folder: folder.to_owned(),
                unclear,
            })
        }
        Rendered::Beyond { file, field } => tool::render(folder, file, field),
    }
}

/// Content of a kustomization and of those below it.
#[derive(Default)]
struct Accumulated {
    resources: Vec<Resource>,
    /// Fields that hold names. As in kustomize those of every folder hold for all.
    references: Vec<NameReference>,
}

enum Rendered {
    Here(Accumulated),
    Beyond { file: PathBuf, field: String },
}

fn accumulate(folder: &Path, depth: usize) -> Result<Rendered, KustomizeError> {
    let file = file::find(folder)?;
    if depth > MAX_DEPTH {
        let message = format!("is more than {MAX_DEPTH} kustomizations deep: does one name itself?");
        return Err(KustomizeError::Invalid { file, message });
    }
    let kustomization = file::read(&file)?;
    // Only decides, before any resource is read.
    if let Some(field) = kustomization.beyond() {
        return Ok(Rendered::Beyond { file, field });
    }
    let mut all = Accumulated::default();
    for resource in &kustomization.resources {
        let path = folder.join(resource);
        if path.is_dir() {
            match accumulate(&path, depth + 1)? {
                Rendered::Here(found) => {
                    all.resources.extend(found.resources);
                    all.references.extend(found.references);
                }
                beyond @ Rendered::Beyond { .. } => return Ok(beyond),
            }
        } else {
            let found = load_file_as(YamlDialect::Kustomize, &inside(&file, folder, resource)?)?;
            all.resources.extend(found.into_iter().map(Resource::new));
        }
    }
    for path in &kustomization.configurations {
        let Some(found) = references::read(&file, &inside(&file, folder, path)?)? else {
            let field = format!("the configuration {path}");
            return Ok(Rendered::Beyond { file, field });
        };
        all.references.extend(found);
    }
    all.resources.extend(generated(&kustomization, &file, folder)?);
    // After the folders below, whose names get this prefix beside their own.
    transform::apply(&kustomization, &mut all.resources);
    Ok(Rendered::Here(all))
}

fn generated(
    kustomization: &Kustomization,
    file: &Path,
    folder: &Path,
) -> Result<Vec<Resource>, KustomizeError> {
    let mut resources = Vec::new();
    for (kind, generators) in [
        ("ConfigMap", &kustomization.config_map_generator),
        ("Secret", &kustomization.secret_generator),
    ] {
        for (index, generator) in generators.iter().enumerate() {
            let options = &kustomization.generator_options;
            resources.push(generate::resource(kind, generator, options, index, file, folder)?);
        }
    }
    Ok(resources)
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

#[cfg(test)]
mod tests;
