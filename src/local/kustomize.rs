//! `-k FOLDER`: reads the resources of a kustomization and what its generators make under plain names; a folder that uses more is rendered
//! by `kustomize` or `kubectl kustomize`. In either case what a kustomization names is read here first: a folder of somebody else has a
//! tool fetch nothing and read nothing of the user's.

mod file;
mod generate;
mod tool;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

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
    /// There is no such folder.
    #[error("{folder} is not there: correct the path", folder = folder.display())]
    NoFolder {
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

/// Reports whether a folder is one of a kustomization.
#[must_use]
pub fn is_kustomization(folder: &Path) -> bool {
    file::find(folder).is_some()
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
    let mut all = Accumulated::default();
    accumulate(folder, 0, &mut all)?;
    match all.beyond {
        None => Ok(all.documents),
        Some((file, field)) => tool::render(folder, file, field),
    }
}

/// Content of a kustomization and of those below it.
#[derive(Default)]
struct Accumulated {
    documents: Vec<ManifestDocument>,
    /// The first field that takes the tool, and the file that it stands in.
    beyond: Option<(PathBuf, String)>,
}

fn accumulate(folder: &Path, depth: usize, all: &mut Accumulated) -> Result<(), KustomizeError> {
    let file = file::find(folder).ok_or_else(|| {
        let folder = folder.to_owned();
        if folder.exists() {
            KustomizeError::NoKustomization { folder }
        } else {
            KustomizeError::NoFolder { folder }
        }
    })?;
    if depth > MAX_DEPTH {
        let message = format!("is more than {MAX_DEPTH} kustomizations deep: does one name itself?");
        return Err(KustomizeError::Invalid { file, message });
    }
    let kustomization = file::read(&file)?;
    if all.beyond.is_none() {
        all.beyond = kustomization.beyond().map(|field| (file.clone(), field));
    }
    if let Some(address) = kustomization.address() {
        return Err(KustomizeError::Outside {
            file,
            path: address.to_owned(),
        });
    }
    for resource in kustomization.paths() {
        let path = folder.join(resource);
        if path.is_dir() {
            accumulate(&path, depth + 1, all)?;
        } else {
            let path = inside(&file, folder, resource)?;
            all.documents.extend(load_file_as(YamlDialect::Kustomize, &path)?);
        }
    }
    for (kind, generators) in kustomization.object_generators() {
        for (index, generator) in generators.iter().enumerate() {
            let options = &kustomization.generator_options;
            all.documents
                .push(generate::object(kind, generator, options, index, &file, folder)?);
        }
    }
    Ok(())
}

/// The path of a file that must lie in the kustomization's folder: a manifest of somebody else could otherwise send any
/// file of the user to a model.
fn inside(file: &Path, folder: &Path, path: &str) -> Result<PathBuf, KustomizeError> {
    let outside = || KustomizeError::Outside {
        file: file.to_owned(),
        path: path.to_owned(),
    };
    if path.contains("://") {
        return Err(outside());
    }
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
    Err(outside())
}

#[cfg(test)]
mod tests;
